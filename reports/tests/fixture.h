/* Fixture: what the tests of reports/ share. The journal in tests/fixture/ is made-up test data. */
#ifndef DIT_REPORTS_TESTS_FIXTURE_H
#define DIT_REPORTS_TESTS_FIXTURE_H

#include "base/file.h"
#include "base/tests/test.h"
#include "reports/records/journal.h"
#include "reports/records/records.h"
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIXTURE_FOLDER DITBENCH_SOURCE_DIR "/reports/tests/fixture"
#define GOLDEN_FOLDER  DITBENCH_SOURCE_DIR "/reports/tests/golden"

static inline void fixture_table(report_table *table)
{
    dit_status st = report_table_read(FIXTURE_FOLDER "/journal.jsonl", table);
    if (st != DIT_OK) fail_msg("%s", dit_error_last()->message);
}

/* A journal of one session line (with `workload` as its workload) and the given lines, parsed. */
static inline dit_status fixture_parse(const char *workload, const char *lines, report_table *table)
{
    dit_buffer text = {0};
    dit_buffer_printf(
        &text, "{\"kind\":\"session\",\"schema\":\"ditbench.journal/1\",\"session_id\":\"s\",\"workload\":%s}\n%s",
        workload, lines);
    dit_status st = report_table_parse(text.data, text.used, "test", table);
    dit_buffer_release(&text);
    return st;
}

static inline const report_case *fixture_case(const report_table *table, const char *label)
{
    for (int i = 0; i < table->case_count; i++) {
        if (strcmp(table->cases[i].label, label) == 0) return &table->cases[i];
    }
    fail_msg("no case %s", label);
    return NULL;
}

#endif
