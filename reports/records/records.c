#include "reports/records/records.h"

#include "base/axis.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- giving back ------------------------------------------------------------------------------------------------- */

void report_traffic_release(report_case *kase)
{
    for (int i = 0; i < kase->traffic_count; i++) {
        free(kase->traffic[i].axis);
        free(kase->traffic[i].collective);
        free(kase->traffic[i].phase);
    }
    free(kase->traffic);
    kase->traffic = NULL;
    kase->traffic_count = 0;
}

void report_probe_file_release(report_probe_file *probe)
{
    free(probe->path);
    free(probe->digest);
    *probe = (report_probe_file){0};
}

void report_decisions_release(report_decisions *decisions)
{
    free(decisions->digits);
    free(decisions->reasons);
    *decisions = (report_decisions){0};
}

void report_trace_release(report_trace *trace)
{
    free(trace->path);
    free(trace->digest);
    *trace = (report_trace){0};
}

static void report_failure_release(report_failure *failure)
{
    free(failure->code);
    free(failure->message);
    free(failure->hint);
    free(failure->phase);
    free(failure->log);
    *failure = (report_failure){0};
}

static void report_case_release(report_case *kase)
{
    report_traffic_release(kase);
    report_trace_release(&kase->trace);
    report_probe_file_release(&kase->probe);
    report_shown_release(&kase->shown);
    report_decisions_release(&kase->decisions);
    report_failure_release(&kase->failure);
    cJSON_Delete(kase->tags);
    for (int i = 0; i < kase->process_count; i++) free(kase->processes[i].hosts);
    free(kase->processes);
    cJSON_Delete(kase->counts);
    free(kase->case_id);
    free(kase->label);
    free(kase->evidence);
    free(kase->engine);
}

void report_published_release(report_published *point)
{
    report_case_release(&point->kase);
    for (int i = 0; i < point->warning_count; i++) free(point->warnings[i]);
    free(point->warnings);
    free(point->file);
    free(point->source);
    free(point->provenance);
    free(point->status);
    free(point->twin_id);
    free(point->not_compared);
    free(point->panel);
    *point = (report_published){0};
}

bool report_published_has_value(const report_published *point)
{
    return point->kase.status == DIT_OUTCOME_OK;
}

bool report_published_is_search(const report_published *point)
{
    const char *method = dit_json_text_or(point->kase.tags, "method", NULL);
    return method && strcmp(method, "hybrid") == 0;
}

void report_table_release(report_table *table)
{
    for (int i = 0; i < table->case_count; i++) report_case_release(&table->cases[i]);
    for (int i = 0; i < table->dropped_count; i++) {
        free(table->dropped[i].code);
        free(table->dropped[i].reason);
        free(table->dropped[i].cell);
    }
    for (int i = 0; i < table->published_count; i++) report_published_release(&table->published[i]);
    free(table->published);
    free(table->cases);
    free(table->dropped);
    free(table->end_reason);
    free(table->buckets);
    dit_json_release(&table->session);
    *table = (report_table){0};
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

dit_status report_tags_check(const dit_json *doc, const cJSON *tags, const char *pointer)
{
    static const char *const reserved[] = {"status", "evidence", "label"};
    const cJSON *tag;
    cJSON_ArrayForEach(tag, tags)
    {
        report_metric metric;
        bool taken = report_metric_from_name(tag->string, &metric);
        for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
            taken = taken || strcmp(tag->string, reserved[i]) == 0;
        }
        if (taken) {
            return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "\"%.60s\" comes from records, it is no tag",
                                 tag->string);
        }
    }
    return DIT_OK;
}

bool report_case_same_work(const report_case *one, const report_case *other)
{
    static const char *const same[] = {"program",    "model",  "resolution", "height_px",        "width_px",
                                       "num_frames", "steps",  "seed",       "num_images",       "guidance_scale",
                                       "num_layers", "tiling", "platform",   "threads_per_rank", "tokens",
                                       "batch",      "causal", "profile",    "element",          "true_cfg_scale"};
    char x[128], y[128];
    if (strcmp(one->evidence, other->evidence) != 0) return false;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        bool has_x = report_case_tag(one, same[i], x, sizeof x), has_y = report_case_tag(other, same[i], y, sizeof y);
        if (has_x != has_y || (has_x && strcmp(x, y) != 0)) return false;
    }
    return true;
}

bool report_case_number(const report_case *kase, const char *tag, double *out)
{
    const cJSON *item = dit_json_member(kase->tags, tag);
    if (!cJSON_IsNumber(item)) return false;
    *out = item->valuedouble;
    return true;
}

bool report_case_is_simulated(const report_case *kase)
{
    return strcmp(kase->evidence, "simulated") == 0;
}

bool report_takes_fake(void)
{
    const char *testing = getenv("DITBENCH_HARNESS_TEST");
    return testing && strcmp(testing, "1") == 0;
}

bool report_case_is_fake(const report_case *kase)
{
    return strcmp(kase->evidence, DIT_EVIDENCE_FAKE) == 0;
}

bool report_case_is_published(const report_case *kase)
{
    return strcmp(kase->evidence, "published") == 0;
}

bool report_case_is_searched(const report_case *kase)
{
    double degree;
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) {
        bool tried = dit_axis_get((dit_axis)axis)->searched || axis == DIT_AXIS_DATA;
        if (!tried && report_case_number(kase, dit_axis_key((dit_axis)axis), &degree) && degree > 1) return false;
    }
    return true;
}

bool report_case_is_oracle(const report_case *kase)
{
    const char *method = dit_json_text_or(kase->tags, "method", NULL);
    return method && (strcmp(method, "oracle") == 0 || strcmp(method, "converged") == 0);
}

bool report_case_tag(const report_case *kase, const char *tag, char *out, size_t capacity)
{
    const cJSON *item = dit_json_member(kase->tags, tag);
    out[0] = '\0';
    if (cJSON_IsString(item))
        snprintf(out, capacity, "%s", item->valuestring);
    else if (cJSON_IsNumber(item))
        snprintf(out, capacity, "%.15g", item->valuedouble);
    else if (cJSON_IsBool(item))
        snprintf(out, capacity, "%s", cJSON_IsTrue(item) ? "true" : "false");
    else if (strcmp(tag, "status") == 0)
        snprintf(out, capacity, "%s", dit_outcome_name(kase->status));
    else if (strcmp(tag, "evidence") == 0)
        snprintf(out, capacity, "%s", kase->evidence);
    else if (strcmp(tag, "label") == 0)
        snprintf(out, capacity, "%s", kase->label);
    else
        return false;
    return true;
}

dit_status report_case_value(const report_case *kase, const char *name, dit_value *out)
{
    const cJSON *item = dit_json_member(kase->tags, name);
    report_metric metric;
    *out = (dit_value){DIT_VALUE_STRING, 0, NULL};
    if (cJSON_IsString(item)) return out->string = item->valuestring, DIT_OK;
    if (cJSON_IsNumber(item)) return *out = (dit_value){DIT_VALUE_NUMBER, item->valuedouble, NULL}, DIT_OK;
    if (cJSON_IsBool(item)) return *out = (dit_value){DIT_VALUE_BOOL, cJSON_IsTrue(item), NULL}, DIT_OK;
    if (strcmp(name, "status") == 0) return out->string = dit_outcome_name(kase->status), DIT_OK;
    if (strcmp(name, "evidence") == 0) return out->string = kase->evidence, DIT_OK;
    if (strcmp(name, "label") == 0) return out->string = kase->label, DIT_OK;
    if (!report_metric_from_name(name, &metric) || kase->metric[metric].n == 0) return DIT_ERR_NOT_FOUND;
    *out = (dit_value){DIT_VALUE_NUMBER, kase->metric[metric].median, NULL};
    return DIT_OK;
}

const char *report_session_text(const report_table *table, const char *path)
{
    const cJSON *item = table->session.root;
    while (item && *path) {
        char key[64];
        size_t length = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        item = dit_json_member(item, key);
        path += length + (path[length] == '/');
    }
    return cJSON_IsString(item) ? item->valuestring : "";
}
