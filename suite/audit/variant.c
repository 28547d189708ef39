#include "suite/audit/variant.h"

#include "base/json_writer.h"
#include "suite/cases/document.h"
#include "suite/launch/one_case.h"

#include <stdio.h>
#include <string.h>

enum { ITERATIONS = 3 };

static void set_number(dit_json_writer *w, cJSON *object, const char *key, double value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    dit_json_put_number(w, object, key, value);
}

static void change_run(dit_json_writer *w, const suite_variant *variant, cJSON *run)
{
    set_number(w, run, "num_inference_steps", variant->steps);
    if (variant->seed) set_number(w, run, "seed", dit_json_number_or(run, "seed", 0) + variant->seed);
    if (variant->height) set_number(w, run, "height_px", dit_json_number_or(run, "height_px", 0) * variant->height);
}

/* The case with the variant's changes; the caller deletes it. */
static dit_status make_document(const suite_case *one, const suite_variant *variant, cJSON **out)
{
    dit_json_writer w = {0};
    *out = cJSON_Duplicate(one->document, true);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    cJSON *measure = cJSON_GetObjectItemCaseSensitive(*out, "measure");
    change_run(&w, variant, cJSON_GetObjectItemCaseSensitive(*out, "run"));
    cJSON_DeleteItemFromObjectCaseSensitive(measure, "trace");
    set_number(&w, measure, "warmup_runs", variant->cold ? 0 : 1);
    set_number(&w, measure, "iterations", variant->cold ? 1 : ITERATIONS);
    if (variant->alone) {
        cJSON_DeleteItemFromObjectCaseSensitive(*out, "parallel");
        cJSON_DeleteItemFromObjectCaseSensitive(*out, "attention");
    }
    return w.status;
}

/* Of the iterations the one whose steps took least; without steps the least latency. */
static double least_steps_ns(const cJSON *samples)
{
    const cJSON *iteration, *step;
    double least = 0;
    cJSON_ArrayForEach(iteration, dit_json_member(samples, "step_ns"))
    {
        double sum = 0;
        cJSON_ArrayForEach(step, iteration) sum += step->valuedouble;
        if (sum > 0 && (least <= 0 || sum < least)) least = sum;
    }
    if (least > 0) return least;
    cJSON_ArrayForEach(iteration,
                       dit_json_member(samples, "latency_ns")) if (least <= 0 || iteration->valuedouble < least) least =
        iteration->valuedouble;
    return least;
}

static void read_work(const cJSON *record, suite_work *out)
{
    const cJSON *flops = dit_json_member(record, "flops");
    const char *digest = dit_json_text_or(dit_json_member(record, "validation"), "latent_digest", "");
    out->ran = true;
    out->exact = dit_json_is_true(record, "exact");
    out->linear = dit_json_number_or(flops, "linear", 0);
    out->attention = dit_json_number_or(flops, "attention", 0);
    out->total = out->linear + out->attention + dit_json_number_or(flops, "convolution", 0);
    out->steps_ns = least_steps_ns(dit_json_member(record, "samples"));
    snprintf(out->digest, sizeof out->digest, "%s", digest);
}

static void read_outcome(const suite_outcome *outcome, suite_work *out)
{
    *out = (suite_work){0};
    if (outcome->status == DIT_OUTCOME_OK && outcome->record)
        read_work(outcome->record, out);
    else
        snprintf(out->reason, sizeof out->reason, "%.190s", suite_outcome_failure(outcome).message);
}

dit_status suite_variant_run(const suite_case *one, const suite_variant *variant, const suite_audit_params *params,
                             suite_work *out)
{
    cJSON *document = NULL;
    suite_outcome outcome = {0};
    const suite_single_params single = {
        .engine = params->engine,
        .deadline_s = params->deadline_s > 0 ? params->deadline_s : (double)one->deadline_s,
        .world_size = variant->alone ? 1 : one->world_size,
        .threads_per_rank = suite_case_threads(one->document),
        .tick = params->tick,
        .context = params->context,
    };
    dit_status st = make_document(one, variant, &document);
    if (st == DIT_OK) st = suite_single_run(document, &single, &outcome);
    if (st == DIT_OK) read_outcome(&outcome, out);
    suite_outcome_release(&outcome);
    cJSON_Delete(document);
    return st;
}
