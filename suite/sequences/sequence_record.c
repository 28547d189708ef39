#include "suite/sequences/sequence_record.h"

#include "suite/layers/plan_record.h"
#include "suite/paths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double gib = 1024.0 * 1024 * 1024;

static void put_batches(dit_json_writer *w, const suite_sequence_plan *plan, cJSON *object)
{
    cJSON *list = dit_json_put_array(w, object, "batches");
    char text[SUITE_CUT_TEXT];
    for (int i = 0; i < plan->count; i++) {
        const suite_sequence_batch *batch = &plan->batches[i];
        cJSON *row = dit_json_put_object(w, list, NULL);
        suite_cut_text(&batch->cut, text);
        dit_json_put_string(w, row, "cut", text);
        dit_json_put_number(w, row, "seconds", batch->seconds);
        dit_json_put_number(w, row, "bound_s", batch->bound_s);
        if (isfinite(batch->one_s)) dit_json_put_number(w, row, "one_s", batch->one_s);
        if (batch->changed) dit_json_put_bool(w, row, "changed", true);
    }
}

/* The batch in which the plan does worst beside groups of one size that never change. */
static double worst_over_one(const suite_sequence_plan *plan)
{
    double worst = 0;
    for (int i = 0; i < plan->count; i++) worst = fmax(worst, plan->batches[i].seconds / plan->batches[i].one_s);
    return worst;
}

static void put_plan(dit_json_writer *w, const suite_sequence_question *question, const suite_sequence_plan *plan,
                     cJSON *record)
{
    cJSON *object = dit_json_put_object(w, record, "plan");
    dit_json_put_number(w, object, "sequences_per_s", (double)question->batch * question->batches / plan->seconds);
    dit_json_put_number(w, object, "memory_share", plan->fullest_bytes / (question->memory_limit_gib * gib));
    dit_json_put_number(w, object, "over_bound", plan->seconds / plan->bound_s);
    if (isfinite(plan->one_s)) {
        dit_json_put_number(w, object, "over_one_size", plan->seconds / plan->one_s);
        dit_json_put_number(w, object, "worst_over_one_size", worst_over_one(plan));
    }
    dit_json_put_int(w, object, "changes", plan->changes);
    put_batches(w, plan, object);
}

static dit_status write_record(const suite_sequence_question *question, const suite_sequence_plan *plan,
                               const char *path)
{
    dit_json_writer w = {0};
    if (plan->seconds * 1e9 >= SUITE_PLAN_MOST_WHOLE)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "the planned batches take %.3g s, more than a record holds",
                        plan->seconds);
    cJSON *record = suite_plan_begin_record(&w, "sequence_plan", question->devices);
    cJSON *latency = dit_json_put_array(&w, dit_json_put_object(&w, record, "samples"), "latency_ns");
    dit_json_put_int(&w, latency, NULL, (int64_t)llround(plan->seconds * 1e9));
    cJSON *memory = dit_json_put_object(&w, record, "memory");
    suite_plan_put_bytes(&w, memory, "state_bytes", plan->state_bytes);
    suite_plan_put_bytes(&w, memory, "activations_bytes", plan->fullest_bytes - plan->state_bytes);
    suite_plan_put_bytes(&w, memory, "total_bytes", plan->fullest_bytes);
    dit_json_put_number(&w, dit_json_put_object(&w, record, "flops"), "total", plan->flops);
    put_plan(&w, question, plan, record);
    dit_json_put_string(&w, dit_json_put_object(&w, record, "validation"), "reason",
                        "a plan is what a model of costs says; nothing was computed that could be compared");
    return dit_json_finish_file(&w, record, path, false);
}

/* ---- nothing fits -------------------------------------------------------------------------------------------------- */

static dit_status write_needed(const suite_sequence_question *question, const suite_sequence_plan *plan,
                               const char *path)
{
    dit_json_writer w = {0};
    cJSON *record = suite_plan_begin_record(&w, "sequence_plan", question->devices);
    suite_plan_put_bytes(&w, dit_json_put_object(&w, record, "memory"), "total_bytes", plan->fullest_bytes);
    return dit_json_finish_file(&w, record, path, false);
}

static dit_status write_error(const suite_sequence_question *question, const suite_sequence_plan *plan,
                              const char *path)
{
    dit_json_writer w = {0};
    char message[200];
    cJSON *error = dit_json_new_object(&w);
    snprintf(
        message, sizeof message,
        "the longest sequence needs %.2f GiB a device on all %d, and groups of another size more; the limit is %.2f "
        "GiB",
        plan->fullest_bytes / gib, question->devices, question->memory_limit_gib);
    dit_json_put_string(&w, error, "code", dit_status_name(DIT_ERR_MEMORY));
    dit_json_put_string(&w, error, "message", message);
    return dit_json_finish_file(&w, error, path, false);
}

static dit_status leave(const suite_sequence_question *question, const suite_sequence_plan *plan, const char *folder,
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

dit_status suite_sequence_leave_record(const dit_json *document, const suite_cluster *cluster,
                                       const suite_layers_watch *watch, const char *folder, int *exit_code)
{
    suite_sequence_question question;
    suite_sequence_plan plan;
    suite_plan_costs costs;
    DIT_TRY(suite_sequence_question_read(document, &question));
    DIT_TRY(suite_sequence_question_check(&question));
    DIT_TRY(suite_plan_read_costs(document, folder, &costs));
    const suite_plan_machine machine = {&costs.device, &costs.profile, cluster, watch};
    DIT_TRY(suite_sequence_plan_make(&question, &machine, &plan));
    dit_status st = leave(&question, &plan, folder, exit_code);
    suite_sequence_plan_release(&plan);
    return st;
}
