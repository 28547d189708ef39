#include "suite/mix/mix_answer.h"

#include "suite/procure/answer.h"

#include <math.h>

static void put_classes(dit_json_writer *w, cJSON *document, const suite_traffic *traffic)
{
    cJSON *list = dit_json_put_array(w, document, "classes");
    for (int k = 0; k < traffic->count; k++) {
        const suite_traffic_class *class = &traffic->classes[k];
        cJSON *one = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, one, "name", class->name);
        dit_json_put_number(w, one, "share", suite_traffic_share(traffic, k));
        dit_json_put_number(w, one, "bound_s", class->bound_s);
        if (class->width_px) dit_json_put_int(w, one, "width_px", class->width_px);
        if (class->height_px) dit_json_put_int(w, one, "height_px", class->height_px);
        if (class->num_frames) dit_json_put_int(w, one, "num_frames", class->num_frames);
        if (class->steps) dit_json_put_int(w, one, "steps", class->steps);
    }
}

/* What a class takes on each number of devices. */
static void put_times(dit_json_writer *w, cJSON *row, const suite_traffic *traffic, const suite_mix_machine *machine)
{
    cJSON *list = dit_json_put_array(w, row, "times");
    for (int k = 0; k < traffic->count; k++) {
        for (int d = 0; d < SUITE_PARTITION_DEGREES; d++) {
            const suite_mix_cell *cell = &machine->cells[k][d];
            if (!cell->chosen) continue;
            cJSON *one = dit_json_put_object(w, list, NULL);
            dit_json_put_string(w, one, "class", traffic->classes[k].name);
            dit_json_put_int(w, one, "devices", 1 << d);
            dit_json_put_string(w, one, "mesh", cell->chosen->mesh);
            dit_json_put_number(w, one, "seconds", cell->chosen->seconds);
            dit_json_put_string(w, one, "evidence", "simulated");
            dit_json_put_string(w, one, "case_id", cell->chosen->kase->case_id);
            if (!cell->forecast.has_interval) continue;
            dit_json_put_number(w, one, "lo", cell->forecast.low);
            dit_json_put_number(w, one, "hi", cell->forecast.high);
            dit_json_put_number(w, one, "level", cell->forecast.interval.level);
        }
    }
}

static void put_routes(dit_json_writer *w, cJSON *groups, const suite_traffic *traffic, const suite_division *division)
{
    for (int d = 0; d < SUITE_PARTITION_DEGREES; d++) {
        if (!division->partition.groups[d]) continue;
        cJSON *one = dit_json_put_object(w, groups, NULL);
        dit_json_put_int(w, one, "replicas", division->partition.groups[d]);
        dit_json_put_int(w, one, "devices", 1 << d);
        cJSON *classes = dit_json_put_array(w, one, "classes");
        for (int k = 0; k < traffic->count; k++)
            if (division->routes[k] & 1u << d) dit_json_put_string(w, classes, NULL, traffic->classes[k].name);
    }
}

static void put_division(dit_json_writer *w, cJSON *row, const char *key, const suite_traffic *traffic,
                         const suite_division *division)
{
    char text[64];
    if (!division->there) return;
    cJSON *one = dit_json_put_object(w, row, key);
    suite_division_text(division, text);
    dit_json_put_string(w, one, "division", text);
    put_routes(w, dit_json_put_array(w, one, "groups"), traffic, division);
    dit_json_put_number(w, one, "requests_per_hour", 3600 * division->rate);
    dit_json_put_number(w, one, "busy", division->run.busy);
    cJSON *classes = dit_json_put_array(w, one, "classes");
    for (int k = 0; k < traffic->count; k++) {
        cJSON *class = dit_json_put_object(w, classes, NULL);
        dit_json_put_string(w, class, "name", traffic->classes[k].name);
        dit_json_put_number(w, class, "p95_s", division->run.class_p95[k]);
        dit_json_put_number(w, class, "mean_s", division->run.class_mean[k]);
    }
}

static void put_batch(dit_json_writer *w, cJSON *row, const suite_mix_batch *batch)
{
    if (batch->adaptive_s <= 0) return;
    cJSON *one = dit_json_put_object(w, row, "batch");
    dit_json_put_int(w, one, "requests", SUITE_MIX_BATCH);
    dit_json_put_number(w, one, "adaptive_s", batch->adaptive_s);
    if (isfinite(batch->static_s)) dit_json_put_number(w, one, "static_s", batch->static_s);
    dit_json_put_number(w, one, "bound_s", batch->bound_s);
}

static void put_machine(dit_json_writer *w, cJSON *list, const suite_procure_request *request,
                        const suite_traffic *traffic, const suite_mix_machine *machine)
{
    const suite_priced_machine *priced = &request->machines[machine->machine].priced;
    cJSON *row = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, row, "platform", priced->machine.name);
    dit_json_put_string(w, row, "accelerator", priced->machine.accelerator);
    dit_json_put_int(w, row, "devices", machine->devices);
    put_times(w, row, traffic, machine);
    put_batch(w, row, &machine->batch);
    if (machine->reason[0]) {
        suite_answer_absent(w, row, "division", machine->reason);
        return;
    }
    const suite_divided *divided = &machine->divided;
    put_division(w, row, "one", traffic, &divided->one);
    put_division(w, row, "equal", traffic, &divided->equal);
    put_division(w, row, "best", traffic, &divided->groups);
    dit_json_put_int(w, row, "rules", divided->looked_at);
    suite_answer_ranged(w, row, "requests_per_hour", &machine->per_hour);
    if (machine->price.absence == SUITE_PRICE_THERE) {
        dit_json_put_number(w, row, "per_hour", machine->price.median);
        suite_answer_ranged(w, row, "per_1000", &machine->per_1000);
    } else
        suite_answer_absent(w, row, "cost", machine->price.reason);
}

void suite_mixed_put(dit_json_writer *w, cJSON *document, const suite_procure_request *request,
                     const suite_traffic *traffic, const suite_mixed *mixed)
{
    dit_json_put_string(w, document, "schema", "ditbench.mix/1");
    suite_answer_question(w, document, request);
    dit_json_put_string(w, document, "traffic", traffic->name);
    dit_json_put_string(w, document, "title", traffic->title);
    suite_answer_arrivals(w, document, &traffic->arrivals);
    dit_json_put_string(w, document, "policy", suite_queue_policy_names()[traffic->policy]);
    put_classes(w, document, traffic);
    cJSON *list = dit_json_put_array(w, document, "machines");
    for (int i = 0; i < mixed->count; i++) put_machine(w, list, request, traffic, &mixed->machines[i]);
    cJSON *meshes = dit_json_put_object(w, document, "meshes");
    dit_json_put_int(w, meshes, "simulated", mixed->simulated);
    dit_json_put_int(w, meshes, "kept", mixed->kept);
}
