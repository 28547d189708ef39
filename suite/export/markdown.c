/* Markdown: a table of latencies, measured and simulated apart, for a page or a job's summary. */
#include "suite/export/export.h"

#include "reports/text.h"

#include <stdio.h>
#include <string.h>

static void put_cell(dit_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<' || *text == '`') dit_buffer_char(out, '\\');
        dit_buffer_char(out, *text == '\n' ? ' ' : *text);
    }
    dit_buffer_text(out, " | ");
}

static void put_case(const report_case *kase, dit_buffer *out)
{
    const dit_summary *latency = &kase->metric[REPORT_LATENCY];
    char text[600], low[REPORT_NUMBER_TEXT], high[REPORT_NUMBER_TEXT];
    dit_buffer_text(out, "| ");
    put_cell(out, kase->label);
    snprintf(text, sizeof text, "%lld", (long long)kase->world_size);
    put_cell(out, text);
    text[0] = '\0';
    if (latency->n) report_format(REPORT_UNIT_SECONDS, latency->median, text);
    put_cell(out, text);
    report_format(REPORT_UNIT_SECONDS, latency->low, low);
    report_format(REPORT_UNIT_SECONDS, latency->high, high);
    snprintf(text, sizeof text, "%s%s%s", low, " to ", high);
    put_cell(out, latency->n > 1 ? text : "");
    snprintf(text, sizeof text, "%d%s", latency->n, latency->low_n && latency->n > 1 ? " (range)" : "");
    put_cell(out, text);
    suite_export_failure(kase, text, sizeof text);
    put_cell(out, text[0] ? text : "ok");
    out->used--; /* the blank behind the last bar */
    dit_buffer_char(out, '\n');
}

static void put_part(const report_table *table, bool simulated, dit_buffer *out)
{
    bool any = false;
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        if (report_case_is_oracle(kase) || report_case_is_simulated(kase) != simulated) continue;
        if (!any)
            dit_buffer_printf(out,
                              "\n%s:\n\n| case | ranks | latency | interval | n | outcome |\n"
                              "| --- | --: | --: | --- | --: | --- |\n",
                              simulated ? "Simulated" : "Measured");
        any = true;
        put_case(kase, out);
    }
}

static dit_status write_markdown(const report_table *table, const char *session, dit_buffer *out)
{
    const char *title = report_session_text(table, "workload/title");
    dit_buffer_printf(out, "### %s\n\nSession %s, commit %s.\n", title[0] ? title : session, session,
                      report_session_text(table, "suite/commit"));
    put_part(table, false, out);
    put_part(table, true, out);
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the export") : DIT_OK;
}

const suite_export_format suite_export_markdown = {
    .name = "markdown", .meaning = "a table for a page or a job's summary", .write = write_markdown};
