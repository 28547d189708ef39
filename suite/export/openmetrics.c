/* OpenMetrics text: a gauge for each metric, a sample for each case, with its evidence and main tags as labels. */
#include "suite/export/export.h"

#include <stdio.h>
#include <string.h>

/* "latency_s" is ditbench_latency_seconds: OpenMetrics wants base units in full, as suffixes. */
static void name_of(report_metric metric, char out[96], const char **unit)
{
    const report_metric_info *info = report_metric_get(metric);
    size_t length = strlen(info->name);
    bool seconds = info->unit == REPORT_UNIT_SECONDS && length > 2 && strcmp(info->name + length - 2, "_s") == 0;
    *unit = seconds ? "seconds" : info->unit == REPORT_UNIT_BYTES ? "bytes" : "";
    snprintf(out, 96, "ditbench_%.*s%s", (int)(seconds ? length - 2 : length), info->name, seconds ? "_seconds" : "");
}

static void put_label(dit_buffer *out, const char *name, const char *value, bool first)
{
    dit_buffer_printf(out, "%s%s=\"", first ? "" : ",", name);
    for (; *value; value++) {
        if (*value == '\n') dit_buffer_text(out, "\\n");
        if (*value == '"' || *value == '\\') dit_buffer_char(out, '\\');
        if (*value != '\n') dit_buffer_char(out, *value);
    }
    dit_buffer_char(out, '"');
}

static void put_sample(const report_case *kase, const char *name, double value, dit_buffer *out)
{
    static const char *const tags[] = {"model",      "resolution", "method",  "mesh",
                                       "world_size", "platform",   "profile", "engine"};
    char text[256];
    dit_buffer_printf(out, "%s{", name);
    put_label(out, "case", kase->label, true);
    put_label(out, "case_id", kase->case_id, false);
    put_label(out, "evidence", kase->evidence, false);
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (report_case_tag(kase, tags[i], text, sizeof text)) put_label(out, tags[i], text, false);
    dit_buffer_printf(out, "} %.17g\n", value);
}

static void put_family(const report_table *table, report_metric metric, dit_buffer *out)
{
    char name[96];
    const char *unit;
    bool any = false;
    name_of(metric, name, &unit);
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        if (report_case_is_oracle(kase) || !suite_export_has(kase, metric)) continue;
        if (!any) {
            dit_buffer_printf(out, "# TYPE %s gauge\n", name);
            if (*unit) dit_buffer_printf(out, "# UNIT %s %s\n", name, unit);
            dit_buffer_printf(out, "# HELP %s %s; better: %s.\n", name, report_metric_get(metric)->meaning,
                              report_better_name(report_metric_get(metric)->better));
        }
        any = true;
        put_sample(kase, name, kase->metric[metric].median, out);
    }
}

static dit_status write_openmetrics(const report_table *table, const char *session, dit_buffer *out)
{
    (void)session;
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) put_family(table, (report_metric)m, out);
    dit_buffer_text(out, "# EOF\n");
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the export") : DIT_OK;
}

const suite_export_format suite_export_openmetrics = {
    .name = "openmetrics", .meaning = "OpenMetrics text, for Prometheus", .write = write_openmetrics};
