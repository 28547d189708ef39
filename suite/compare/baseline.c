#include "suite/compare/baseline.h"

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "reports/records/ranks.h"
#include "suite/machine/contention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char baseline_schema[] = "ditbench.baseline/1";
static const double baseline_largest = 1e30;
enum { BASELINE_PROCESSES = 1000 };

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Times of a clock are kept for the metrics that are judged: the usual one, and those that the workload names. What a
 * process happens to occupy is kept only where the workload names it. */
static bool is_kept(const suite_side *side, const suite_side_case *kase, report_metric metric)
{
    const report_metric_info *info = report_metric_get(metric);
    if (!kase->values[metric] || !report_metric_is_of_one_case(metric)) return false;
    if (side->gate.rules[metric].named) return true;
    if (info->repeats == REPORT_REPEATS_LOOSELY) return false;
    return info->repeats != REPORT_REPEATS_CLOCK || metric == REPORT_LATENCY || (kase->simulated && info->path);
}

static bool all_equal(const suite_side_case *kase, report_metric metric)
{
    const double *values = kase->values[metric];
    bool equal = true;
    for (int i = 0; i < kase->process_count; i++) equal &= isfinite(values[i]) && values[i] == values[0];
    return equal;
}

/* A time beside which other processes used the cores is none to hold others to. */
static bool is_busy(const suite_side_case *kase, int process)
{
    return !kase->simulated && kase->other_shares && kase->other_shares[process] > SUITE_CONTENTION_LIMIT;
}

static void tell_busy(const suite_side *side)
{
    int busy = 0;
    for (int i = 0; i < side->case_count; i++)
        for (int p = 0; p < side->cases[i].process_count; p++) busy += is_busy(&side->cases[i], p);
    if (busy)
        dit_log_warning("the times of %d process%s are left out of the baseline: other processes used the cores "
                        "meanwhile",
                        busy, busy == 1 ? "" : "es");
}

static void put_metric(dit_json_writer *w, cJSON *metrics, const suite_side_case *kase, report_metric metric)
{
    const report_metric_info *info = report_metric_get(metric);
    bool clock = info->repeats == REPORT_REPEATS_CLOCK && !kase->simulated;
    if (!clock && all_equal(kase, metric)) {
        dit_json_put_number(w, metrics, info->name, kase->values[metric][0]);
        return;
    }
    cJSON *list = dit_json_put_array(w, metrics, info->name);
    for (int i = 0; i < kase->process_count; i++)
        if (isfinite(kase->values[metric][i]) && !(clock && is_busy(kase, i)))
            dit_json_put_number(w, list, NULL, kase->values[metric][i]);
}

static void put_case(dit_json_writer *w, cJSON *list, const suite_side *side, const suite_side_case *kase)
{
    cJSON *one = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, one, "case_id", kase->case_id);
    dit_json_put_string(w, one, "label", kase->label);
    dit_json_put_string(w, one, "evidence", kase->simulated ? "simulated" : "measured");
    dit_json_put_string(w, one, "status", dit_outcome_name(kase->status));
    if (kase->failure[0]) dit_json_put_string(w, one, "failure", kase->failure);
    if (kase->noise > 0) dit_json_put_number(w, one, "noise", kase->noise);
    dit_json_put_copy(w, one, "tags", kase->tags);
    cJSON *metrics = dit_json_put_object(w, one, "metrics");
    for (int m = 0; m < REPORT_METRIC_COUNT; m++)
        if (is_kept(side, kase, (report_metric)m)) put_metric(w, metrics, kase, (report_metric)m);
    dit_json_put_copy(w, one, "counts", kase->counts);
}

/* What says whose numbers these are. The machine matters where it was measured, and its environment is what may explain
 * a difference; virtual time knows neither. */
static void put_session(dit_json_writer *w, cJSON *root, const suite_side *side)
{
    static const char *const workload_keys[] = {"name", "title", "hash", "parameters", "set", "gate"};
    bool measured = false;
    cJSON *session = dit_json_put_object(w, root, "session"), *workload = NULL;
    for (int i = 0; i < side->case_count; i++) measured |= !side->cases[i].simulated;
    dit_json_put_copy(w, session, "suite", dit_json_member(side->session, "suite"));
    dit_json_put_copy(w, session, "simulation", dit_json_member(side->session, "simulation"));
    if (measured) dit_json_put_copy(w, session, "hardware", dit_json_member(side->session, "hardware"));
    if (measured) dit_json_put_copy(w, session, "environment", dit_json_member(side->session, "environment"));
    const cJSON *said = dit_json_member(side->session, "workload");
    workload = dit_json_put_object(w, session, "workload");
    for (size_t i = 0; i < sizeof workload_keys / sizeof *workload_keys; i++)
        dit_json_put_copy(w, workload, workload_keys[i], dit_json_member(said, workload_keys[i]));
}

dit_status suite_baseline_write(const suite_side *side, const char *path, const char *reason)
{
    dit_json_writer w = {0};
    char now[32];
    cJSON *root = dit_json_new_object(&w), *document = NULL;
    dit_clock_utc(now);
    dit_json_put_string(&w, root, "schema", baseline_schema);
    dit_json_put_string(&w, root, "reason", reason);
    dit_json_put_string(&w, root, "written", now);
    dit_json_put_string(&w, root, "source", side->name);
    put_session(&w, root, side);
    tell_busy(side);
    cJSON *cases = dit_json_put_array(&w, root, "cases");
    for (int i = 0; i < side->case_count; i++) put_case(&w, cases, side, &side->cases[i]);
    DIT_TRY(dit_json_finish(&w, root, &document));
    dit_status st = dit_json_write_file(document, path, false);
    cJSON_Delete(document);
    return st;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const dit_json *doc;
    const cJSON *object;
    char pointer[128];
} place;

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a baseline");
}

static dit_status copy_text(const char *text, char **out)
{
    *out = strdup(text);
    return *out ? DIT_OK : no_memory();
}

static int most_values(const cJSON *metrics)
{
    int most = 1;
    const cJSON *item;
    cJSON_ArrayForEach(item, metrics) if (cJSON_GetArraySize(item) > most) most = cJSON_GetArraySize(item);
    return most;
}

static dit_status check_value(const place *at, const cJSON *metrics, const cJSON *value)
{
    bool fine = cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble <= baseline_largest;
    char pointer[256];
    dit_json_pointer_join(pointer, sizeof pointer, at->pointer, metrics->string);
    return fine ? DIT_OK
                : dit_json_fail(at->doc, pointer, DIT_ERR_JSON_VALUE, "a metric is a number from 0, or a list of them");
}

/* One number stands for every process; a list for as many as it has. */
static dit_status read_metric(const place *at, const cJSON *item, suite_side_case *out)
{
    report_metric metric;
    if (!report_metric_from_name(item->string, &metric)) return DIT_OK; /* of a later ditbench */
    double *values = malloc((size_t)out->process_count * sizeof *values);
    if (!values) return no_memory();
    bool list = cJSON_IsArray(item);
    const cJSON *value = list ? item->child : item;
    for (int i = 0; i < out->process_count; i++) {
        values[i] = NAN;
        if (!value) continue;
        dit_status st = check_value(at, item, value);
        if (st != DIT_OK) return free(values), st;
        values[i] = value->valuedouble;
        if (list) value = value->next;
    }
    return suite_side_set_values(out, metric, values);
}

static dit_status read_metrics(const place *at, suite_side_case *out)
{
    const cJSON *metrics = NULL, *item;
    place inside = *at;
    DIT_TRY(dit_json_require_object(at->doc, at->object, at->pointer, "metrics", &metrics));
    dit_json_pointer_join(inside.pointer, sizeof inside.pointer, at->pointer, "metrics");
    out->process_count = most_values(metrics);
    if (out->process_count > BASELINE_PROCESSES)
        return dit_json_fail(at->doc, inside.pointer, DIT_ERR_JSON_VALUE, "more than %d processes", BASELINE_PROCESSES);
    out->processes = malloc((size_t)out->process_count * sizeof *out->processes);
    if (!out->processes) return no_memory();
    for (int i = 0; i < out->process_count; i++) out->processes[i] = i;
    cJSON_ArrayForEach(item, metrics) DIT_TRY(read_metric(&inside, item, out));
    return DIT_OK;
}

/* What was done of each kind, and the digest of the plan. */
static dit_status read_counts(const place *at, suite_side_case *out)
{
    const cJSON *counts = NULL, *item;
    place inside = *at;
    DIT_TRY(dit_json_optional_object(at->doc, at->object, at->pointer, "counts", &counts));
    dit_json_pointer_join(inside.pointer, sizeof inside.pointer, at->pointer, "counts");
    cJSON_ArrayForEach(item, counts)
    {
        const char *plan;
        if (strcmp(item->string, REPORT_COUNTS_PLAN) == 0)
            DIT_TRY(dit_json_optional_string(at->doc, counts, inside.pointer, REPORT_COUNTS_PLAN, &plan));
        else
            DIT_TRY(check_value(&inside, item, item));
    }
    out->counts = counts ? cJSON_Duplicate(counts, true) : NULL;
    return counts && !out->counts ? no_memory() : DIT_OK;
}

static dit_status read_word(const place *at, const char *key, const char *const *words, const char **out)
{
    char pointer[256];
    DIT_TRY(dit_json_require_string(at->doc, at->object, at->pointer, key, out));
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], *out) == 0) return DIT_OK;
    dit_json_pointer_join(pointer, sizeof pointer, at->pointer, key);
    return dit_json_fail_word(at->doc, pointer, key, *out, words);
}

static dit_status read_case(const place *at, suite_side_case *out)
{
    static const char *const evidences[] = {"measured", "simulated", NULL};
    const char *id, *label, *evidence, *status, *failure = "";
    const cJSON *tags = NULL;
    DIT_TRY(dit_json_require_string(at->doc, at->object, at->pointer, "case_id", &id));
    DIT_TRY(dit_json_require_string(at->doc, at->object, at->pointer, "label", &label));
    DIT_TRY(dit_json_optional_string(at->doc, at->object, at->pointer, "failure", &failure));
    DIT_TRY(read_word(at, "evidence", evidences, &evidence));
    DIT_TRY(read_word(at, "status", dit_outcome_names(), &status));
    DIT_TRY(dit_json_optional_number(at->doc, at->object, at->pointer, "noise", 0, 10, &out->noise));
    DIT_TRY(dit_json_require_object(at->doc, at->object, at->pointer, "tags", &tags));
    snprintf(out->case_id, sizeof out->case_id, "%s", id);
    out->simulated = strcmp(evidence, "simulated") == 0;
    dit_outcome_from_name(status, &out->status);
    DIT_TRY(copy_text(label, &out->label));
    DIT_TRY(copy_text(failure, &out->failure));
    out->tags = cJSON_Duplicate(tags, true);
    if (!out->tags) return no_memory();
    DIT_TRY(read_counts(at, out));
    return read_metrics(at, out);
}

static dit_status read_document(const dit_json *doc, suite_side *out)
{
    const cJSON *cases = NULL, *session = NULL, *one;
    dit_status st = dit_json_require_schema(doc, baseline_schema);
    if (st != DIT_OK) return dit_error_hint(st, "a baseline file is written by `ditbench gate --update`");
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "session", &session));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "cases", &cases));
    out->session = cJSON_Duplicate(session, true);
    out->cases = calloc((size_t)cJSON_GetArraySize(cases) + 1, sizeof *out->cases);
    if (!out->session || !out->cases) return no_memory();
    DIT_TRY(report_gate_read(doc, dit_json_member(session, "workload"), "/session/workload", &out->gate));
    cJSON_ArrayForEach(one, cases)
    {
        place at = {doc, one, ""};
        snprintf(at.pointer, sizeof at.pointer, "/cases/%d", out->case_count);
        DIT_TRY(read_case(&at, &out->cases[out->case_count++]));
    }
    return DIT_OK;
}

dit_status suite_baseline_load(const char *path, suite_side *out)
{
    dit_json doc = {0};
    *out = (suite_side){.is_baseline = true};
    DIT_TRY(dit_json_read_file(path, &doc));
    snprintf(out->name, sizeof out->name, "%s", path);
    dit_status st = read_document(&doc, out);
    dit_json_release(&doc);
    if (st != DIT_OK) suite_side_release(out);
    return st;
}
