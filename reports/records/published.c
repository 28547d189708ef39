#include "reports/records/published.h"

#include "reports/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double published_largest = 1e30;
enum { PUBLISHED_RANKS = 1 << 24, PUBLISHED_WARNINGS = 64 };

static dit_status copy_text(const char *text, char **out)
{
    *out = report_copy(text);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a published point");
}

static dit_status read_text(const dit_json *doc, const char *key, char **out)
{
    const char *text = "";
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", key, &text));
    return copy_text(text, out);
}

static dit_status read_metric(const dit_json *doc, report_metric *out)
{
    const char *word = NULL;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "metric", &word));
    if (strcmp(word, "latency_s") == 0) return *out = REPORT_LATENCY, DIT_OK;
    if (strcmp(word, "peak_memory_bytes") == 0) return *out = REPORT_TOTAL_BYTES, DIT_OK;
    return dit_json_fail(doc, "/metric", DIT_ERR_JSON_VALUE, "no metric \"%.60s\" of published points", word);
}

/* A number with its reading error, or that there was none for lack of memory. */
static dit_status read_value(const dit_json *doc, report_published *out)
{
    bool out_of_memory = false;
    out->value = NAN;
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "value", 0, published_largest, &out->value));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "rounding", 0, published_largest, &out->rounding));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "out_of_memory", &out_of_memory));
    if (out_of_memory == (out->value > 0)) {
        return dit_json_fail(doc, "", DIT_ERR_JSON_VALUE, "a published point has a value above 0 or out_of_memory");
    }
    out->kase.status = out_of_memory ? DIT_OUTCOME_OOM : DIT_OUTCOME_OK;
    out->kase.ok_count = !out_of_memory;
    if (out_of_memory) return DIT_OK;
    dit_summary *summary = &out->kase.metric[out->metric];
    *summary = dit_stats_summarise(&out->value, 1);
    summary->low_n = false;
    summary->low = fmax(out->value - out->rounding, 0);
    summary->high = out->value + out->rounding;
    return DIT_OK;
}

static dit_status read_warnings(const dit_json *doc, report_published *out)
{
    const cJSON *warnings = NULL, *item;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "warnings", &warnings));
    if (!warnings) return DIT_OK;
    out->warnings = calloc(PUBLISHED_WARNINGS, sizeof *out->warnings);
    if (!out->warnings) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a published point");
    cJSON_ArrayForEach(item, warnings)
    {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/warnings/%d", out->warning_count);
        if (!cJSON_IsString(item)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "expected a text");
        if (out->warning_count == PUBLISHED_WARNINGS) {
            return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "more than %d warnings", PUBLISHED_WARNINGS);
        }
        DIT_TRY(copy_text(item->valuestring, &out->warnings[out->warning_count]));
        out->warning_count++;
    }
    return DIT_OK;
}

static dit_status read_tags(const dit_json *doc, report_case *kase)
{
    const cJSON *tags = NULL;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "tags", &tags));
    DIT_TRY(report_tags_check(doc, tags, "/tags"));
    kase->world_size = 1;
    DIT_TRY(dit_json_optional_int(doc, tags, "/tags", "world_size", 1, PUBLISHED_RANKS, &kase->world_size));
    kase->tags = cJSON_Duplicate(tags, 1);
    return kase->tags ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for tags");
}

static dit_status read_names(const dit_json *doc, report_published *out)
{
    const char *file = NULL, *source = NULL, *label;
    char id[512];
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "file", &file));
    DIT_TRY(dit_json_require_int(doc, doc->root, "", "index", 0, INT64_C(1) << 53, &out->index));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "source", &source));
    snprintf(id, sizeof id, "%.400s#%lld", file, (long long)out->index);
    DIT_TRY(copy_text(id, &out->kase.case_id));
    DIT_TRY(copy_text("published", &out->kase.evidence));
    DIT_TRY(copy_text(file, &out->file));
    DIT_TRY(copy_text(source, &out->source));
    label = source;
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "label", &label));
    DIT_TRY(copy_text(label, &out->kase.label));
    DIT_TRY(read_text(doc, "provenance", &out->provenance));
    DIT_TRY(read_text(doc, "status", &out->status));
    DIT_TRY(read_text(doc, "not_compared", &out->not_compared));
    return read_text(doc, "case_id", &out->twin_id);
}

dit_status report_published_read(const dit_json *doc, report_published *out)
{
    DIT_TRY(read_names(doc, out));
    DIT_TRY(read_tags(doc, &out->kase));
    DIT_TRY(read_metric(doc, &out->metric));
    DIT_TRY(read_value(doc, out));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "in_fit", &out->in_fit));
    return read_warnings(doc, out);
}
