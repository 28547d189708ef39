/* CSV: a line for each case and metric, with unit, direction, median and interval; a line without a metric for a case
 * that has no numbers. */
#include "suite/export/export.h"

#include "reports/text.h"

static void put_head(const report_case *kase, dit_buffer *out)
{
    const char *const cells[] = {kase->case_id, kase->label, kase->evidence, dit_outcome_name(kase->status)};
    for (int i = 0; i < 4; i++) {
        report_append_csv(out, cells[i]);
        dit_buffer_char(out, ',');
    }
}

static void put_metric(const report_case *kase, report_metric metric, dit_buffer *out)
{
    const report_metric_info *info = report_metric_get(metric);
    const dit_summary *s = &kase->metric[metric];
    put_head(kase, out);
    dit_buffer_printf(out, "%s,%s,%s,%d,%.17g,%.17g,%.17g,%.17g,%.17g\n", info->name, report_unit_name(info->unit),
                      report_better_name(info->better), s->n, s->median, s->low, s->high, s->min, s->max);
}

static dit_status write_csv(const report_table *table, const char *session, dit_buffer *out)
{
    (void)session;
    dit_buffer_text(out, "case_id,case,evidence,status,metric,unit,better,n,median,low,high,min,max\n");
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        bool any = false;
        if (report_case_is_oracle(kase)) continue;
        for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
            if (!suite_export_has(kase, (report_metric)m)) continue;
            put_metric(kase, (report_metric)m, out);
            any = true;
        }
        if (any) continue;
        put_head(kase, out);
        dit_buffer_text(out, ",,,0,,,,,\n");
    }
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the export") : DIT_OK;
}

const suite_export_format suite_export_csv = {
    .name = "csv", .meaning = "a line for each case and metric", .write = write_csv};
