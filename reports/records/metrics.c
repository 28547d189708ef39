#include "reports/records/metrics.h"

#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double metrics_largest = 1e30; /* beyond any machine; keeps hostile sums finite */
static const double metrics_s_per_ns = 1e-9;

static const report_metric_info metrics[REPORT_METRIC_COUNT] = {
#define METRIC_ROW(id, name, unit, better, repeats, comparison, path, factor, meaning)                                 \
    {name, REPORT_UNIT_##unit, REPORT_BETTER_##better, REPORT_REPEATS_##repeats, comparison, path, factor, meaning},
    REPORT_METRIC_LIST(METRIC_ROW)
#undef METRIC_ROW
};

const report_metric_info *report_metric_get(report_metric metric)
{
    return &metrics[metric];
}

bool report_metric_from_name(const char *name, report_metric *out)
{
    for (int i = 0; i < REPORT_METRIC_COUNT; i++) {
        if (strcmp(metrics[i].name, name) == 0) return *out = (report_metric)i, true;
    }
    return false;
}

bool report_metric_is_of_one_case(report_metric metric)
{
    return !metrics[metric].comparison && metric != REPORT_SPEEDUP && metric != REPORT_EFFICIENCY &&
           metric != REPORT_SPEEDUP_PRODUCT;
}

const char *report_better_name(report_better better)
{
    static const char *const names[] = {"lower", "higher", "neither"};
    return names[better];
}

/* ---- reading one record ------------------------------------------------------------------------------------------ */

typedef struct {
    const dit_json *doc;
    const cJSON *record;
    const char *pointer;
} record_view;

static dit_status read_path(const record_view *view, const char *path, double *out)
{
    char object_key[32], pointer[256], at[256];
    const cJSON *object = view->record;
    const double least = strncmp(path, "quality/", 8) == 0 ? -metrics_largest : 0; /* KID may be below 0 */
    snprintf(pointer, sizeof pointer, "%s", view->pointer);
    for (const char *slash; object && (slash = strchr(path, '/')); path = slash + 1) {
        const cJSON *parent = object;
        snprintf(object_key, sizeof object_key, "%.*s", (int)(slash - path), path);
        snprintf(at, sizeof at, "%s", pointer);
        object = NULL;
        DIT_TRY(dit_json_optional_object(view->doc, parent, at, object_key, &object));
        dit_json_pointer_join(pointer, sizeof pointer, at, object_key);
    }
    if (!object) return DIT_OK;
    return dit_json_optional_number(view->doc, object, pointer, path, least, metrics_largest, out);
}

/* Appends the numbers of `array`, and of arrays inside it. */
static dit_status collect_numbers(const record_view *view, const cJSON *array, double *values, int *count)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        if (cJSON_IsArray(item)) {
            DIT_TRY(collect_numbers(view, item, values, count));
        } else if (!cJSON_IsNumber(item) || item->valuedouble < 0) {
            return dit_json_fail(view->doc, view->pointer, DIT_ERR_JSON_TYPE, "samples must be numbers, not negative");
        } else {
            values[(*count)++] = item->valuedouble;
        }
    }
    return DIT_OK;
}

static int count_leaves(const cJSON *array)
{
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, array) count += cJSON_IsArray(item) ? count_leaves(item) : 1;
    return count;
}

/* Median of samples/KEY in seconds. */
static dit_status read_samples(const record_view *view, const char *key, double *out)
{
    const cJSON *samples = NULL, *array = NULL;
    char pointer[256];
    snprintf(pointer, sizeof pointer, "%s/samples", view->pointer);
    DIT_TRY(dit_json_optional_object(view->doc, view->record, view->pointer, "samples", &samples));
    if (!samples) return DIT_OK;
    DIT_TRY(dit_json_optional_array(view->doc, samples, pointer, key, &array));
    int capacity = count_leaves(array), count = 0;
    if (capacity == 0) return DIT_OK;
    double *values = malloc((size_t)capacity * sizeof *values);
    if (!values) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d samples", capacity);
    dit_status st = collect_numbers(view, array, values, &count);
    if (st == DIT_OK) *out = dit_stats_median(values, count) * metrics_s_per_ns;
    free(values);
    return st;
}

/* Sums KEY over the rows that stand at `pointer`; stays as it is without them. */
static dit_status sum_rows(const dit_json *doc, const cJSON *rows, const char *pointer, const char *key, double *out)
{
    const cJSON *row;
    char at[512];
    int index = 0;
    if (rows) *out = 0;
    cJSON_ArrayForEach(row, rows)
    {
        double value = 0;
        snprintf(at, sizeof at, "%s/%d", pointer, index++);
        if (!cJSON_IsObject(row)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "expected an object");
        DIT_TRY(dit_json_optional_number(doc, row, at, key, 0, metrics_largest, &value));
        *out += value;
    }
    return DIT_OK;
}

dit_status report_busiest_rank(const dit_json *doc, const cJSON *record, const char *pointer, report_rank_rows *out)
{
    const cJSON *ranks = NULL, *rank;
    double most = -1;
    int index = 0;
    *out = (report_rank_rows){0};
    snprintf(out->pointer, sizeof out->pointer, "%s/communication", pointer);
    DIT_TRY(dit_json_optional_array(doc, record, pointer, "communication", &out->rows));
    DIT_TRY(dit_json_optional_array(doc, record, pointer, "ranks", &ranks));
    cJSON_ArrayForEach(rank, ranks)
    {
        report_rank_rows own = {0};
        char at[sizeof own.pointer];
        double bytes = -1;
        snprintf(at, sizeof at, "%.200s/ranks/%d", pointer, index++);
        snprintf(own.pointer, sizeof own.pointer, "%.230s/communication", at);
        if (!cJSON_IsObject(rank)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "expected an object");
        DIT_TRY(dit_json_optional_array(doc, rank, at, "communication", &own.rows));
        DIT_TRY(sum_rows(doc, own.rows, own.pointer, "bytes", &bytes));
        if (bytes > most) most = bytes, *out = own;
    }
    return DIT_OK;
}

static dit_status read_communication(const record_view *view, double out[REPORT_METRIC_COUNT])
{
    report_rank_rows busiest;
    const char *at = busiest.pointer;
    DIT_TRY(report_busiest_rank(view->doc, view->record, view->pointer, &busiest));
    DIT_TRY(sum_rows(view->doc, busiest.rows, at, "bytes", &out[REPORT_COMMUNICATION_BYTES]));
    DIT_TRY(sum_rows(view->doc, busiest.rows, at, "messages", &out[REPORT_COMMUNICATION_MESSAGES]));
    return sum_rows(view->doc, busiest.rows, at, "predicted_bytes", &out[REPORT_PREDICTED_BYTES]);
}

/* All calls of operators; stays as it is where the record counts none. */
static dit_status read_calls(const record_view *view, double *out)
{
    const cJSON *calls = NULL, *item;
    char pointer[256];
    snprintf(pointer, sizeof pointer, "%.200s/operator_calls", view->pointer);
    DIT_TRY(dit_json_optional_object(view->doc, view->record, view->pointer, "operator_calls", &calls));
    if (calls) *out = 0;
    cJSON_ArrayForEach(item, calls)
    {
        double value = 0;
        DIT_TRY(dit_json_optional_number(view->doc, calls, pointer, item->string, 0, metrics_largest, &value));
        *out += value;
    }
    return DIT_OK;
}

/* Simulated records from before 2026-11-26 have the parts of a request in other places. */
static dit_status read_former(const record_view *view, double out[REPORT_METRIC_COUNT])
{
    static const struct {
        report_metric metric;
        const char *path;
    } former[] = {
        {REPORT_TEXT_ENCODER, "simulation/text_encoder_ns"},
        {REPORT_DENOISE, "simulation/denoise_ns"},
        {REPORT_VAE_DECODE, "simulation/vae_decode_ns"},
    };
    for (size_t i = 0; i < sizeof former / sizeof *former; i++) {
        double *value = &out[former[i].metric];
        if (!isnan(*value)) continue;
        DIT_TRY(read_path(view, former[i].path, value));
        *value *= metrics[former[i].metric].factor;
    }
    return DIT_OK;
}

dit_status report_metrics_read(const dit_json *doc, const cJSON *record, const char *pointer, double num_images,
                               double out[REPORT_METRIC_COUNT])
{
    const record_view view = {doc, record, pointer};
    for (int i = 0; i < REPORT_METRIC_COUNT; i++) {
        out[i] = NAN;
        if (metrics[i].path) DIT_TRY(read_path(&view, metrics[i].path, &out[i]));
        if (metrics[i].path) out[i] *= metrics[i].factor;
    }
    DIT_TRY(read_former(&view, out));
    DIT_TRY(read_samples(&view, "latency_ns", &out[REPORT_LATENCY]));
    DIT_TRY(read_samples(&view, "step_ns", &out[REPORT_STEP]));
    DIT_TRY(read_communication(&view, out));
    DIT_TRY(read_calls(&view, &out[REPORT_OPERATOR_CALLS]));
    if (out[REPORT_LATENCY] > 0) {
        out[REPORT_GFLOP_PER_S] = out[REPORT_FLOPS] / out[REPORT_LATENCY] * 1e-9;
        out[REPORT_IMAGES_PER_HOUR] = num_images * 3600 / out[REPORT_LATENCY];
    }
    return DIT_OK;
}
