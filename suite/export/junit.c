/* JUnit XML: a case is a test. A crash, a timeout and memory that ran out are errors, wrong numbers are a failure; what
 * was skipped or dropped by a constraint is skipped with its reason. */
#include "suite/export/export.h"

#include "reports/text.h"

static void put_attribute(dit_buffer *out, const char *name, const char *value)
{
    dit_buffer_printf(out, " %s=\"", name);
    report_append_html(out, value);
    dit_buffer_char(out, '"');
}

static void put_outcome(const report_case *kase, dit_buffer *out)
{
    char why[600];
    const char *element = kase->status == DIT_OUTCOME_SKIPPED   ? "skipped"
                          : kase->status == DIT_OUTCOME_INVALID ? "failure"
                                                                : "error";
    suite_export_failure(kase, why, sizeof why);
    dit_buffer_printf(out, "    <%s", element);
    put_attribute(out, "message", why);
    if (kase->status != DIT_OUTCOME_SKIPPED) put_attribute(out, "type", dit_outcome_name(kase->status));
    dit_buffer_text(out, "/>\n");
}

static void put_case(const report_case *kase, dit_buffer *out)
{
    char name[SUITE_EXPORT_NAME];
    suite_export_case_name(kase, name);
    dit_buffer_text(out, "  <testcase classname=\"ditbench\"");
    put_attribute(out, "name", name);
    if (suite_export_has(kase, REPORT_LATENCY))
        dit_buffer_printf(out, " time=\"%.9g\"", kase->metric[REPORT_LATENCY].median);
    dit_buffer_text(out, ">\n    <properties><property name=\"evidence\"");
    put_attribute(out, "value", kase->evidence);
    dit_buffer_text(out, "/><property name=\"case_id\"");
    put_attribute(out, "value", kase->case_id);
    dit_buffer_text(out, "/></properties>\n");
    if (kase->status != DIT_OUTCOME_OK) put_outcome(kase, out);
    dit_buffer_text(out, "  </testcase>\n");
}

static void put_dropped(const report_dropped *dropped, dit_buffer *out)
{
    dit_buffer_text(out, "  <testcase classname=\"ditbench.dropped\"");
    put_attribute(out, "name", dropped->cell ? dropped->cell : "");
    dit_buffer_text(out, "><skipped");
    put_attribute(out, "message", dropped->reason ? dropped->reason : "");
    dit_buffer_text(out, "/></testcase>\n");
}

static dit_status write_junit(const report_table *table, const char *session, dit_buffer *out)
{
    int tests = table->dropped_count, errors = 0, failures = 0, skipped = table->dropped_count;
    for (int i = 0; i < table->case_count; i++) {
        dit_outcome status = table->cases[i].status;
        if (report_case_is_oracle(&table->cases[i])) continue;
        tests++;
        skipped += status == DIT_OUTCOME_SKIPPED;
        failures += status == DIT_OUTCOME_INVALID;
        errors += status != DIT_OUTCOME_OK && status != DIT_OUTCOME_SKIPPED && status != DIT_OUTCOME_INVALID;
    }
    dit_buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite");
    put_attribute(out, "name", session);
    put_attribute(out, "timestamp", report_session_text(table, "started"));
    dit_buffer_printf(out, " tests=\"%d\" errors=\"%d\" failures=\"%d\" skipped=\"%d\">\n", tests, errors, failures,
                      skipped);
    for (int i = 0; i < table->case_count; i++)
        if (!report_case_is_oracle(&table->cases[i])) put_case(&table->cases[i], out);
    for (int i = 0; i < table->dropped_count; i++) put_dropped(&table->dropped[i], out);
    dit_buffer_text(out, "</testsuite>\n</testsuites>\n");
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the export") : DIT_OK;
}

const suite_export_format suite_export_junit = {
    .name = "junit", .meaning = "JUnit XML: cases as tests, for pages of CI systems", .write = write_junit};
