/* Bencher Metric Format: {case: {measure: {value, lower_value, upper_value}}}. Bencher's own measure "latency" is in
 * nanoseconds; other measures keep our names and units. */
#include "suite/export/export.h"

#include "base/json_writer.h"

#include <stdlib.h>

static void put_measure(dit_json_writer *w, cJSON *one, const report_case *kase, report_metric metric)
{
    const dit_summary *s = &kase->metric[metric];
    double factor = metric == REPORT_LATENCY ? 1e9 : 1;
    cJSON *measure =
        dit_json_put_object(w, one, metric == REPORT_LATENCY ? "latency" : report_metric_get(metric)->name);
    dit_json_put_number(w, measure, "value", s->median * factor);
    if (s->n < 2) return;
    dit_json_put_number(w, measure, "lower_value", s->low * factor);
    dit_json_put_number(w, measure, "upper_value", s->high * factor);
}

static dit_status write_bmf(const report_table *table, const char *session, dit_buffer *out)
{
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w);
    (void)session;
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        char name[SUITE_EXPORT_NAME];
        if (report_case_is_oracle(kase) || kase->ok_count == 0) continue;
        suite_export_case_name(kase, name);
        cJSON *one = dit_json_put_object(&w, root, name);
        for (int m = 0; m < REPORT_METRIC_COUNT; m++)
            if (suite_export_has(kase, (report_metric)m)) put_measure(&w, one, kase, (report_metric)m);
    }
    return suite_export_document(&w, root, out);
}

const suite_export_format suite_export_bmf = {
    .name = "bmf", .meaning = "Bencher Metric Format, for bencher.dev", .write = write_bmf};
