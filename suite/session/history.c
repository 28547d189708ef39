#include "suite/session/history.h"

#include "base/json.h"
#include "base/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dit_status incomplete(const dit_json *document, int line, const char *what)
{
    return DIT_FAIL(DIT_ERR_JOURNAL, "%s:%d: %s", document->path, line, what);
}

static dit_status take_result(suite_history *history, int line, const dit_json *document)
{
    const char *case_id = dit_json_text_or(document->root, "case_id", NULL),
               *status = dit_json_text_or(document->root, "status", NULL);
    const cJSON *process = dit_json_member(document->root, "process");
    suite_history_result result = {.line = line};
    if (!case_id || strlen(case_id) != DIT_HASH_HEX - 1 || !cJSON_IsNumber(process) || !status ||
        !dit_outcome_from_name(status, &result.status))
        return incomplete(document, line, "a result needs case_id, process and a known status");
    if (history->result_count == history->capacity) {
        int capacity = history->capacity * 2 + 64;
        suite_history_result *grown = realloc(history->results, sizeof *grown * (size_t)capacity);
        if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d results", capacity);
        history->results = grown;
        history->capacity = capacity;
    }
    memcpy(result.case_id, case_id, sizeof result.case_id);
    result.process = process->valueint;
    result.document = cJSON_Duplicate(document->root, true);
    if (!result.document) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a result");
    history->results[history->result_count++] = result;
    return DIT_OK;
}

static dit_status take_session(suite_history *history, int line, const dit_json *document)
{
    const char *schema = dit_json_text_or(document->root, "schema", "");
    char message[320];
    if (line != 1) return incomplete(document, line, "a second session line");
    if (!dit_schema_accepts(schema, "ditbench.journal/1", message, sizeof message))
        return incomplete(document, line, message);
    history->session = cJSON_Duplicate(document->root, true);
    return history->session ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a journal");
}

dit_status suite_history_visit(void *context, int line, const dit_json *document)
{
    suite_history *history = context;
    const char *kind = dit_json_text_or(document->root, "kind", NULL);
    history->complete = false; /* only an end line at the very end counts */
    if (strcmp(kind, "session") == 0) return take_session(history, line, document);
    if (line == 1) return incomplete(document, line, "the first line must be of kind session");
    if (strcmp(kind, "result") == 0) return take_result(history, line, document);
    if (strcmp(kind, "dropped") == 0) history->dropped_count++;
    if (strcmp(kind, "published") == 0) history->published_count++;
    if (strcmp(kind, "end") == 0) {
        const char *ended = dit_json_text_or(document->root, "ended", NULL);
        history->complete = dit_json_is_true(document->root, "complete");
        const char *reason = dit_json_text_or(document->root, "end_reason", "");
        history->decided = strcmp(reason, "decided") == 0 || strcmp(reason, "precise") == 0;
        snprintf(history->ended, sizeof history->ended, "%s", ended ? ended : "");
    }
    return DIT_OK; /* kinds of later versions are kept and not understood */
}

static int compare_results(const void *left, const void *right, void *context)
{
    const suite_history_result *results = context, *a = &results[*(const int *)left],
                               *b = &results[*(const int *)right];
    int order = memcmp(a->case_id, b->case_id, sizeof a->case_id);
    if (order == 0) order = (a->process > b->process) - (a->process < b->process);
    return order ? order : a->line - b->line;
}

static bool same_run(const suite_history_result *a, const suite_history_result *b)
{
    return strcmp(a->case_id, b->case_id) == 0 && a->process == b->process;
}

void suite_history_finish(suite_history *history)
{
    suite_history_result *results = history->results;
    int count = history->result_count;
    free(history->sorted);
    history->sorted = malloc(((size_t)count + 1) * sizeof *history->sorted);
    if (!history->sorted) return;
    for (int i = 0; i < count; i++) history->sorted[i] = i;
    if (count) qsort_r(history->sorted, (size_t)count, sizeof *history->sorted, compare_results, results);
    for (int i = 0; i + 1 < count; i++) {
        suite_history_result *one = &results[history->sorted[i]];
        one->superseded = same_run(one, &results[history->sorted[i + 1]]);
    }
}

dit_status suite_history_load(const char *journal_path, suite_history *out)
{
    *out = (suite_history){0};
    dit_status st = suite_journal_read(journal_path, suite_history_visit, out, &out->extent);
    if (st == DIT_OK && !out->session) st = DIT_FAIL(DIT_ERR_JOURNAL, "%s holds no session yet", journal_path);
    if (st == DIT_OK)
        suite_history_finish(out);
    else
        suite_history_release(out);
    return st;
}

const suite_history_result *suite_history_find(const suite_history *history, const char *case_id, int process)
{
    const suite_history_result *found = NULL;
    int low = 0, high = history->sorted ? history->result_count : 0;
    while (low < high) { /* the last one that is not behind (case, process) */
        int middle = low + (high - low) / 2;
        const suite_history_result *result = &history->results[history->sorted[middle]];
        int order = strcmp(result->case_id, case_id);
        if (order == 0) order = (result->process > process) - (result->process < process);
        if (order == 0) found = result;
        if (order <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return found;
}

void suite_history_release(suite_history *history)
{
    for (int i = 0; i < history->result_count; i++) cJSON_Delete(history->results[i].document);
    free(history->results);
    free(history->sorted);
    cJSON_Delete(history->session);
    *history = (suite_history){0};
}

double suite_history_latency_ns(const cJSON *result)
{
    return suite_record_latency_ns(dit_json_member(result, "record"));
}

double suite_record_latency_ns(const cJSON *record)
{
    const cJSON *samples = dit_json_member(record, "samples");
    const cJSON *list = dit_json_member(samples, "latency_ns"), *item;
    int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0, used = 0;
    double *values = count ? malloc(sizeof *values * (size_t)count) : NULL;
    if (!values) return -1;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsNumber(item)) values[used++] = item->valuedouble;
    }
    double median = used ? dit_stats_median(values, used) : -1;
    free(values);
    return median;
}

static bool warns_of_unsteady(const cJSON *warnings)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, warnings)
    {
        const char *text = cJSON_IsString(item) ? item->valuestring : "";
        if (strncmp(text, "unstable:", 9) == 0) return true;
        if (strncmp(text, "throttled:", 10) == 0 && strcmp(text, "throttled: power_cap") != 0) return true;
    }
    return false;
}

bool suite_history_is_unsteady(const cJSON *result)
{
    const cJSON *record = dit_json_member(result, "record");
    return warns_of_unsteady(dit_json_member(result, "warnings")) ||
           warns_of_unsteady(dit_json_member(record, "warnings"));
}
