#include "suite/compare/side.h"

#include "base/stats.h"
#include "reports/records/journal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURE_BYTES = 400 };

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the cases of a comparison");
}

void suite_side_release(suite_side *side)
{
    for (int i = 0; i < side->case_count; i++) {
        suite_side_case *kase = &side->cases[i];
        free(kase->label);
        free(kase->failure);
        free(kase->processes);
        free(kase->other_shares);
        cJSON_Delete(kase->tags);
        cJSON_Delete(kase->counts);
        for (int m = 0; m < REPORT_METRIC_COUNT; m++) free(kase->values[m]);
    }
    free(side->cases);
    cJSON_Delete(side->session);
    *side = (suite_side){0};
}

dit_status suite_side_set_values(suite_side_case *kase, report_metric metric, double *values)
{
    double *present = malloc(((size_t)kase->process_count + 1) * sizeof *present);
    int count = 0;
    free(kase->values[metric]);
    kase->values[metric] = values;
    if (!present) return no_memory();
    for (int i = 0; i < kase->process_count; i++)
        if (isfinite(values[i])) present[count++] = values[i];
    kase->medians[metric] = count ? dit_stats_median(present, count) : NAN;
    free(present);
    return DIT_OK;
}

double suite_side_median(const suite_side_case *kase, report_metric metric)
{
    return kase->values[metric] ? kase->medians[metric] : NAN;
}

bool suite_side_has_failures(const suite_side *side)
{
    for (int i = 0; i < side->case_count; i++) {
        dit_outcome status = side->cases[i].status;
        bool verdict = side->cases[i].simulated && status == DIT_OUTCOME_OOM;
        if (status != DIT_OUTCOME_OK && status != DIT_OUTCOME_SKIPPED && !verdict) return true;
    }
    return false;
}

const suite_side_case *suite_side_find(const suite_side *side, const char *case_id)
{
    for (int i = 0; i < side->case_count; i++)
        if (strcmp(side->cases[i].case_id, case_id) == 0) return &side->cases[i];
    return NULL;
}

/* ---- a session --------------------------------------------------------------------------------------------------- */

static char *failure_text(const report_case *kase)
{
    char text[FAILURE_BYTES] = "";
    if (kase->status != DIT_OUTCOME_OK)
        snprintf(text, sizeof text, "%s: %s", kase->failure.code ? kase->failure.code : dit_outcome_name(kase->status),
                 kase->failure.message ? kase->failure.message : "");
    return strdup(text);
}

static int compare_processes(const void *left, const void *right)
{
    const report_process *a = *(const report_process *const *)left, *b = *(const report_process *const *)right;
    return (a->process > b->process) - (a->process < b->process);
}

static dit_status take_metric(const report_process *const *processes, report_metric metric, suite_side_case *out)
{
    bool present = false;
    for (int i = 0; i < out->process_count; i++) present |= isfinite(processes[i]->metric[metric]);
    if (!present) return DIT_OK;
    double *values = malloc((size_t)out->process_count * sizeof *values);
    if (!values) return no_memory();
    for (int i = 0; i < out->process_count; i++) values[i] = processes[i]->metric[metric];
    return suite_side_set_values(out, metric, values);
}

static dit_status take_processes(const report_case *kase, suite_side_case *out)
{
    const report_process **ok = malloc(((size_t)kase->process_count + 1) * sizeof *ok);
    out->processes = malloc(((size_t)kase->process_count + 1) * sizeof *out->processes);
    out->other_shares = malloc(((size_t)kase->process_count + 1) * sizeof *out->other_shares);
    dit_status st = ok && out->processes && out->other_shares ? DIT_OK : no_memory();
    for (int i = 0; st == DIT_OK && i < kase->process_count; i++)
        if (kase->processes[i].status == DIT_OUTCOME_OK) ok[out->process_count++] = &kase->processes[i];
    if (st == DIT_OK && out->process_count) qsort(ok, (size_t)out->process_count, sizeof *ok, compare_processes);
    for (int i = 0; st == DIT_OK && i < out->process_count; i++) {
        out->processes[i] = ok[i]->process;
        out->other_shares[i] = ok[i]->other_share;
    }
    for (int m = 0; st == DIT_OK && m < REPORT_METRIC_COUNT; m++) st = take_metric(ok, (report_metric)m, out);
    free(ok);
    return st;
}

static dit_status take_case(const report_case *kase, suite_side_case *out)
{
    snprintf(out->case_id, sizeof out->case_id, "%s", kase->case_id);
    out->label = strdup(kase->label);
    out->failure = failure_text(kase);
    out->tags = cJSON_Duplicate(kase->tags, true);
    out->counts = kase->counts ? cJSON_Duplicate(kase->counts, true) : NULL;
    out->simulated = report_case_is_simulated(kase);
    out->status = kase->status;
    if (!out->label || !out->failure || !out->tags || (kase->counts && !out->counts)) return no_memory();
    return take_processes(kase, out);
}

/* Sessions that `ab` made say so in their first line. */
static void take_pairing(suite_side *side)
{
    const cJSON *pairs = dit_json_member(side->session, "ab");
    int64_t looks = dit_json_int_or(pairs, "looks", 1);
    snprintf(side->pairing, sizeof side->pairing, "%s", dit_json_text_or(pairs, "id", ""));
    snprintf(side->across, sizeof side->across, "%s", dit_json_text_or(pairs, "across", ""));
    side->busy_limit = dit_json_number_or(pairs, "busy_limit", 0);
    side->looks = looks >= 1 && looks <= 1000 ? (int)looks : 1;
}

/* Oracles are no results of anybody's software. */
static dit_status take_table(const report_table *table, suite_side *out)
{
    out->session = cJSON_Duplicate(table->session.root, true);
    out->cases = calloc((size_t)table->case_count + 1, sizeof *out->cases);
    if (!out->session || !out->cases) return no_memory();
    DIT_TRY(report_gate_read(&table->session, dit_json_member(out->session, "workload"), "/workload", &out->gate));
    take_pairing(out);
    for (int i = 0; i < table->case_count; i++) {
        if (report_case_is_oracle(&table->cases[i])) continue;
        out->case_count++;
        DIT_TRY(take_case(&table->cases[i], &out->cases[out->case_count - 1]));
    }
    return DIT_OK;
}

dit_status suite_side_load_session(const char *journal, const char *name, suite_side *out)
{
    report_table table = {0};
    *out = (suite_side){0};
    DIT_TRY(report_table_read(journal, &table));
    snprintf(out->name, sizeof out->name, "%s", name);
    dit_status st = take_table(&table, out);
    report_table_release(&table);
    if (st != DIT_OK) suite_side_release(out);
    return st;
}
