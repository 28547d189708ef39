#include "suite/layers/plan_record.h"

#include "kernels/cost/read.h"
#include "suite/cases/document.h"
#include "suite/paths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what was planned -------------------------------------------------------------------------------------------- */

static const char *part_name(unsigned parts)
{
    static const char *const names[SUITE_PART_COUNT] = {"embedding", "attention",   "projection",
                                                        "expansion", "contraction", "head"};
    if (parts == SUITE_PARTS_OF_A_LAYER) return "layer";
    for (int part = 0; part < SUITE_PART_COUNT; part++)
        if (parts == 1u << part) return names[part];
    return "";
}

static bool is_same(const suite_plan *plan, int one, int other)
{
    return plan->parts[one] == plan->parts[other] &&
           memcmp(&plan->chosen[one], &plan->chosen[other], sizeof plan->chosen[one]) == 0;
}

/* Runs of equal elements with one strategy. */
static void put_elements(dit_json_writer *w, const suite_plan *plan, const suite_stage_plan *stage, cJSON *object)
{
    cJSON *list = dit_json_put_array(w, object, "strategies");
    for (int i = stage->first, next; i < stage->first + stage->count; i = next) {
        char text[SUITE_STRATEGY_TEXT];
        for (next = i + 1; next < stage->first + stage->count && is_same(plan, i, next);) next++;
        suite_strategy_text(&plan->chosen[i], text);
        cJSON *row = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, row, "part", part_name(plan->parts[i]));
        dit_json_put_int(w, row, "count", next - i);
        dit_json_put_string(w, row, "strategy", text);
    }
}

static void put_stages(dit_json_writer *w, const suite_plan *plan, cJSON *object)
{
    cJSON *list = dit_json_put_array(w, object, "stages");
    for (int i = 0; i < plan->stages; i++) {
        const suite_stage_plan *stage = &plan->stage[i];
        cJSON *row = dit_json_put_object(w, list, NULL);
        dit_json_put_number(w, row, "microbatch_s", stage->micro_s);
        dit_json_put_number(w, row, "step_s", stage->step_s);
        dit_json_put_number(w, row, "bytes", ceil(stage->total_bytes));
        put_elements(w, plan, stage, row);
    }
}

static void put_ratio(dit_json_writer *w, cJSON *object, const char *key, double value, double to)
{
    if (isfinite(to) && to > 0) dit_json_put_number(w, object, key, value / to);
}

static void put_plan(dit_json_writer *w, const suite_layer_question *question, const suite_plan *plan, cJSON *record)
{
    static const double gib = 1024.0 * 1024 * 1024;
    cJSON *object = dit_json_put_object(w, record, "plan");
    dit_json_put_int(w, object, "micro_batches", plan->micro_batches);
    dit_json_put_number(w, object, "sequences_per_s", (double)question->batch / plan->seconds);
    dit_json_put_number(w, object, "memory_share", suite_plan_fullest_bytes(plan) / (question->memory_limit_gib * gib));
    put_ratio(w, object, "over_bound", plan->seconds, plan->bound_s);
    put_ratio(w, object, "over_exhaustive", plan->seconds, plan->exhaustive_s);
    if (plan->stages > 1) dit_json_put_number(w, object, "time_imbalance", suite_plan_time_imbalance(plan));
    if (plan->stages > 1) dit_json_put_number(w, object, "memory_imbalance", suite_plan_memory_imbalance(plan));
    put_stages(w, plan, object);
}

/* ---- a record ---------------------------------------------------------------------------------------------------- */

dit_status suite_plan_read_costs(const dit_json *document, const char *folder, suite_plan_costs *out)
{
    const char *element = suite_case_platform(document->root, "element");
    char accelerator[SUITE_PATH], stack[SUITE_PATH];
    DIT_TRY(suite_path(accelerator, "%s/accelerator.json", folder));
    DIT_TRY(suite_path(stack, "%s/profile.json", folder));
    DIT_TRY(dit_cost_profile_read(stack, &out->profile));
    return dit_cost_device_read(accelerator, element, &out->profile, &out->device);
}

cJSON *suite_plan_begin_record(dit_json_writer *w, const char *program, int devices)
{
    cJSON *record = dit_json_new_object(w);
    dit_json_put_string(w, record, "schema", "ditbench.record/1");
    dit_json_put_string(w, record, "evidence", "simulated");
    dit_json_put_string(w, record, "program", program);
    dit_json_put_int(w, record, "world_size", devices);
    dit_json_put_int(w, record, "threads_per_rank", 1);
    return record;
}

void suite_plan_put_bytes(dit_json_writer *w, cJSON *memory, const char *key, double bytes)
{
    if (bytes < SUITE_PLAN_MOST_WHOLE) dit_json_put_int(w, memory, key, (int64_t)ceil(bytes));
}

/* Of the fullest device, in the classes of other records: states are gradients, moments and fp32 weights. */
static void put_memory(dit_json_writer *w, const suite_plan *plan, cJSON *record)
{
    const suite_stage_plan *fullest = &plan->stage[0];
    for (int i = 1; i < plan->stages; i++)
        if (plan->stage[i].total_bytes > fullest->total_bytes) fullest = &plan->stage[i];
    cJSON *memory = dit_json_put_object(w, record, "memory");
    suite_plan_put_bytes(w, memory, "weights_bytes", fullest->weight_bytes);
    suite_plan_put_bytes(w, memory, "state_bytes", fullest->state_bytes - fullest->weight_bytes);
    suite_plan_put_bytes(w, memory, "activations_bytes", fullest->activation_bytes);
    suite_plan_put_bytes(w, memory, "communication_bytes", fullest->working_bytes);
    suite_plan_put_bytes(w, memory, "total_bytes", fullest->total_bytes);
}

static dit_status write_record(const suite_layer_question *question, const suite_plan *plan, const char *path)
{
    if (plan->seconds * 1e9 >= SUITE_PLAN_MOST_WHOLE)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "a planned step takes %.3g s, more than a record holds", plan->seconds);
    dit_json_writer w = {0};
    cJSON *record = suite_plan_begin_record(&w, "layer_plan", question->devices);
    cJSON *latency = dit_json_put_array(&w, dit_json_put_object(&w, record, "samples"), "latency_ns");
    dit_json_put_int(&w, latency, NULL, (int64_t)llround(plan->seconds * 1e9));
    put_memory(&w, plan, record);
    dit_json_put_number(&w, dit_json_put_object(&w, record, "flops"), "total", plan->flops);
    put_plan(&w, question, plan, record);
    dit_json_put_string(&w, dit_json_put_object(&w, record, "validation"), "reason",
                        "a plan is what a model of costs says; nothing was computed that could be compared");
    return dit_json_finish_file(&w, record, path, false);
}

/* ---- no plan ----------------------------------------------------------------------------------------------------- */

static dit_status write_needed(const suite_layer_question *question, const suite_plan *plan, const char *path)
{
    dit_json_writer w = {0};
    cJSON *record = suite_plan_begin_record(&w, "layer_plan", question->devices);
    if (isfinite(plan->least_bytes))
        suite_plan_put_bytes(&w, dit_json_put_object(&w, record, "memory"), "total_bytes", plan->least_bytes);
    return dit_json_finish_file(&w, record, path, false);
}

static dit_status write_error(const suite_layer_question *question, const suite_plan *plan, const char *path)
{
    static const double gib = 1024.0 * 1024 * 1024;
    dit_json_writer w = {0};
    char message[200];
    bool known = isfinite(plan->least_bytes);
    cJSON *error = dit_json_new_object(&w);
    snprintf(message, sizeof message,
             known ? "no plan fits %.2f GiB a device: the least one needs %.2f GiB"
                   : "no plan fits %.2f GiB a device: the batch cannot be shared",
             question->memory_limit_gib, known ? plan->least_bytes / gib : 0);
    dit_json_put_string(&w, error, "code", dit_status_name(known ? DIT_ERR_MEMORY : DIT_ERR_CONSTRAINT_BATCH));
    dit_json_put_string(&w, error, "message", message);
    return dit_json_finish_file(&w, error, path, false);
}

static dit_status leave(const suite_layer_question *question, const suite_plan *plan, const char *folder,
                        int *exit_code)
{
    char record[SUITE_PATH], error[SUITE_PATH];
    DIT_TRY(suite_path(record, "%s/record.json", folder));
    DIT_TRY(suite_path(error, "%s/error.json", folder));
    *exit_code = plan->found ? DIT_EXIT_OK : dit_status_exit_code(DIT_ERR_MEMORY);
    if (plan->found) return write_record(question, plan, record);
    DIT_TRY(write_needed(question, plan, record));
    return write_error(question, plan, error);
}

dit_status suite_plan_leave_record(const dit_json *document, const suite_cluster *cluster,
                                   const suite_layers_watch *watch, const char *folder, int *exit_code)
{
    suite_layer_question question;
    suite_plan_costs costs;
    DIT_TRY(suite_layer_question_read(document, &question));
    DIT_TRY(suite_layer_question_check(&question));
    DIT_TRY(suite_plan_read_costs(document, folder, &costs));
    suite_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a plan");
    const suite_plan_machine machine = {&costs.device, &costs.profile, cluster, watch};
    dit_status st = suite_plan_make(&question, &machine, plan);
    if (st == DIT_OK) st = leave(&question, plan, folder, exit_code);
    free(plan);
    return st;
}
