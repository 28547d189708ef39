/* The emulated link of an item: made for one launch, probed before and after it, its bytes held against those that the
 * ranks counted. */
#include "suite/run/state.h"

#include "base/json_writer.h"
#include "suite/session/plan.h"
#include "suite/workload/workload.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double DRIFT = 0.05;

void suite_run_plan_wire(const suite_case *one, suite_run_wire *out)
{
    suite_wire_shape shape;
    *out = (suite_run_wire){0};
    out->planned = one->world_size > 1 && suite_wire_shape_of(one->document, &shape);
    if (out->planned) suite_wire_plan(&shape, &out->wire);
}

bool suite_run_wire_refusal(const suite_run_state *run, const suite_case *one, suite_outcome *outcome)
{
    suite_run_wire planned;
    suite_run_plan_wire(one, &planned);
    if (!planned.planned || strcmp(run->launcher->name, "mpirun") == 0) return false;
    suite_outcome_skip(outcome, "an emulated link needs launcher mpirun", "leave --launcher out");
    return true;
}

bool suite_run_open_wire(suite_run_wire *wire, suite_outcome *outcome)
{
    if (!wire->planned) return true;
    dit_status st = suite_wire_open(&wire->wire);
    if (st == DIT_OK) {
        st = suite_wire_probe(&wire->wire, &wire->before);
        if (st == DIT_OK) st = suite_wire_sent(&wire->wire, wire->sent_before);
        if (st != DIT_OK) suite_wire_close(&wire->wire);
    }
    if (st == DIT_OK) return true;
    suite_outcome_skip(outcome, dit_error_last()->message,
                       "it takes root, iproute2, and a kernel with network namespaces, veth and sch_tbf");
    dit_error_clear();
    return false;
}

void suite_run_close_wire(suite_run_wire *wire)
{
    int64_t sent[SUITE_WIRE_ENDS];
    if (!wire->planned) return;
    wire->known = suite_wire_sent(&wire->wire, sent) == DIT_OK;
    for (int end = 0; end < SUITE_WIRE_ENDS && wire->known; end++) wire->sent[end] = sent[end] - wire->sent_before[end];
    if (wire->known) wire->known = suite_wire_probe(&wire->wire, &wire->after) == DIT_OK;
    if (!wire->known) dit_error_clear();
    suite_wire_close(&wire->wire);
}

/* Bytes that the ranks of one end counted, over all runs of the loop. Of two ranks all of them cross the wire. */
static double counted(const suite_outcome *outcome, const suite_case *one, int end)
{
    const cJSON *measure = dit_json_member(one->document, "measure"), *rank, *item;
    double runs = dit_json_number_or(measure, "warmup_runs", 0) + dit_json_number_or(measure, "iterations", 1) +
                  dit_json_is_true(measure, "trace");
    double bytes = 0;
    cJSON_ArrayForEach(rank, dit_json_member(outcome->record, "ranks"))
    {
        if (dit_json_int_or(rank, "rank", -1) != end) continue;
        cJSON_ArrayForEach(item, dit_json_member(rank, "communication")) bytes += dit_json_number_or(item, "bytes", 0);
    }
    return bytes * runs;
}

static void put_rate(dit_json_writer *w, cJSON *link, const char *key, const suite_wire_rate *rate)
{
    cJSON *object = dit_json_put_object(w, link, key);
    dit_json_put_number(w, object, "bits_per_s", round(rate->bits_per_s));
    dit_json_put_number(w, object, "round_trip_s", rate->round_trip_s);
}

static void put_bytes(dit_json_writer *w, cJSON *link, const suite_run_wire *wire, const suite_case *one,
                      const suite_outcome *outcome)
{
    cJSON *sent = dit_json_put_array(w, link, "sent_bytes"), *said = NULL;
    for (int end = 0; end < SUITE_WIRE_ENDS; end++) dit_json_put_int(w, sent, NULL, wire->sent[end]);
    if (one->world_size != SUITE_WIRE_ENDS || !outcome->record) return;
    said = dit_json_put_array(w, link, "counted_bytes");
    for (int end = 0; end < SUITE_WIRE_ENDS; end++) dit_json_put_number(w, said, NULL, counted(outcome, one, end));
}

/* Fewer bytes on the wire than the ranks counted: some went another way, and the times are not those of the link. */
static void warn_of_bytes(dit_json_writer *w, cJSON *line, const suite_run_wire *wire, const suite_case *one,
                          const suite_outcome *outcome)
{
    char text[160];
    for (int end = 0; end < SUITE_WIRE_ENDS && one->world_size == SUITE_WIRE_ENDS && outcome->record; end++) {
        double bytes = counted(outcome, one, end);
        if ((double)wire->sent[end] >= bytes) continue;
        snprintf(text, sizeof text, "unstable: rank %d counted %.0f bytes, and only %lld crossed the emulated link",
                 end, bytes, (long long)wire->sent[end]);
        suite_run_add_warning(w, line, text);
    }
}

void suite_run_add_wire(dit_json_writer *w, cJSON *line, const suite_run_wire *wire, const suite_case *one,
                        const suite_outcome *outcome)
{
    const suite_wire_rate *before = &wire->before, *after = &wire->after;
    char text[160];
    if (!wire->planned || before->bits_per_s <= 0) return;
    cJSON *link = dit_json_put_object(w, line, "link");
    dit_json_put_string(w, link, "shaping", wire->wire.shaping);
    put_rate(w, link, "before", before);
    if (!wire->known) {
        suite_run_add_warning(w, line, "unstable: the emulated link did not answer after the run");
        return;
    }
    put_rate(w, link, "after", after);
    put_bytes(w, link, wire, one, outcome);
    warn_of_bytes(w, line, wire, one, outcome);
    if (fabs(after->bits_per_s / before->bits_per_s - 1) <= DRIFT) return;
    snprintf(text, sizeof text, "unstable: the emulated link gave %.2f Gb/s before the run and %.2f Gb/s after it",
             before->bits_per_s * 1e-9, after->bits_per_s * 1e-9);
    suite_run_add_warning(w, line, text);
}
