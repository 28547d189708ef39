/* GitHub annotations: lines of a job's log that GitHub shows beside the commit. */
#include "suite/export/export.h"

#include <stdio.h>

/* GitHub's escapes for the text of a command. */
static void put_data(dit_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '%' || *text == '\r' || *text == '\n')
            dit_buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
        else
            dit_buffer_char(out, *text);
    }
}

static void put_annotation(const char *level, const char *name, const char *text, dit_buffer *out)
{
    dit_buffer_printf(out, "::%s title=ditbench::", level);
    put_data(out, name);
    dit_buffer_text(out, ": ");
    put_data(out, text);
    dit_buffer_char(out, '\n');
}

static dit_status write_github(const report_table *table, const char *session, dit_buffer *out)
{
    int ok = 0, simulated = 0, cases = 0;
    char text[600], name[SUITE_EXPORT_NAME];
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        if (report_case_is_oracle(kase)) continue;
        cases++;
        ok += kase->status == DIT_OUTCOME_OK;
        simulated += report_case_is_simulated(kase);
        suite_export_case_name(kase, name);
        suite_export_failure(kase, text, sizeof text);
        if (text[0]) put_annotation(kase->status == DIT_OUTCOME_SKIPPED ? "notice" : "error", name, text, out);
        if (kase->warning[0]) put_annotation("warning", name, kase->warning, out);
    }
    snprintf(text, sizeof text, "%d of %d cases ended ok, %d measured, %d simulated", ok, cases, cases - simulated,
             simulated);
    put_annotation("notice", session, text, out);
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the export") : DIT_OK;
}

const suite_export_format suite_export_github = {
    .name = "github", .meaning = "annotations for the log of a GitHub job", .write = write_github};
