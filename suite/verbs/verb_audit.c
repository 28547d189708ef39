/* ditbench audit: did the fast run do the work? */
#include "base/json_writer.h"
#include "suite/audit/audit.h"
#include "suite/console/cli.h"
#include "suite/console/table.h"
#include "suite/console/terminal.h"
#include "suite/session/schedule.h"
#include "suite/session/session.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"
#include "suite/workload/load.h"
#include "suite/workload/settings.h"

#include <stdio.h>
#include <string.h>

static const char purpose[] =
    "Runs variants of every measured case and holds what they did against each other: the same case again and in a "
    "cold\n"
    "process, another seed, twice the steps, two and three times the height, one rank. Flops, which operators count "
    "as\n"
    "they run, must grow exactly with steps and height; latents must repeat, and differ with the seed; no time may be\n"
    "shorter than its work asks for. Takes a workload, or a session whose cases are run again.\n"
    "Exit: 0 every check holds; 6 one fails; 77 there is nothing to audit.";

static const char examples[] = "ditbench audit smoke --exact-only\n"
                               "ditbench audit cpu/quick --filter \"method == 'ring'\"\n"
                               "ditbench audit latest --margin 30 --json";

typedef struct {
    suite_cli cli;
    suite_strings settings;
    const char *filter;
    double margin_percent;
    suite_audit_params params;
    suite_schedule schedule;
    dit_json_writer writer;
    cJSON *cases; /* of the answer */
    int checks, failed, left_out;
} audit_call;

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static dit_status take_workload(audit_call *call)
{
    suite_workload workload = {0};
    dit_status st = suite_workload_load_set(call->cli.operands[0], &call->settings, &workload);
    if (st == DIT_OK) st = suite_workload_require_cases(&workload);
    if (st == DIT_OK) st = suite_schedule_make(&workload, call->filter, &call->schedule);
    suite_workload_release(&workload);
    return st;
}

/* A session's cases run as they were planned. */
static dit_status take_session(audit_call *call, const suite_session *session)
{
    if (!call->filter && !call->settings.count) return suite_schedule_load(session, &call->schedule);
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_USAGE, "--filter and --set are for workloads, and %s is a session", session->name),
        "audit the workload");
}

static dit_status take_cases(audit_call *call)
{
    suite_session session;
    if (suite_session_find(call->cli.operands[0], &session) == DIT_OK) return take_session(call, &session);
    dit_error_clear();
    return take_workload(call);
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

static void put_case(audit_call *call, const suite_case *one, const suite_audit_row *rows, int count)
{
    dit_json_writer *w = &call->writer;
    cJSON *object = dit_json_put_object(w, call->cases, NULL), *list;
    dit_json_put_string(w, object, "case_id", one->case_id);
    suite_text_put(w, object, "label", one->label);
    list = dit_json_put_array(w, object, "checks");
    for (int i = 0; i < count; i++) {
        cJSON *row = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, row, "check", rows[i].check);
        dit_json_put_string(w, row, "claim", rows[i].claim);
        suite_text_put(w, row, "found", rows[i].found);
        dit_json_put_string(w, row, "verdict", suite_audit_verdict_name(rows[i].verdict));
    }
}

static dit_status print_case(const suite_case *one, const suite_audit_row *rows, int count)
{
    static const suite_column columns[] = {{"check", "check", true, 0},
                                           {"verdict", "", true, 0},
                                           {"found", "found", true, 0},
                                           {"claim", "claim", true, 1}};
    suite_table table = {.columns = columns, .column_count = sizeof columns / sizeof *columns};
    dit_status st = DIT_OK;
    for (int i = 0; st == DIT_OK && i < count; i++) {
        const char *const cells[] = {rows[i].check, suite_audit_verdict_name(rows[i].verdict), rows[i].found,
                                     rows[i].claim};
        st = suite_table_add_cells(&table, cells, table.column_count);
    }
    printf("%s\n", one->label);
    if (st == DIT_OK) suite_table_print(&table, stdout, suite_terminal_width(stdout));
    fflush(stdout);
    suite_table_release(&table);
    return st;
}

static dit_status audit_one(audit_call *call, const suite_case *one)
{
    suite_audit_row rows[SUITE_AUDIT_MOST_ROWS];
    int count = 0;
    DIT_TRY(suite_audit_case(one, &call->params, rows, &count));
    for (int i = 0; i < count; i++) {
        call->checks++;
        call->failed += rows[i].verdict == SUITE_AUDIT_FAILED;
        call->left_out += rows[i].verdict == SUITE_AUDIT_LEFT_OUT;
    }
    if (!call->cli.json) return print_case(one, rows, count);
    put_case(call, one, rows, count);
    return call->writer.status;
}

/* A dry run tells which cases would be audited. */
static dit_status audit_all(audit_call *call)
{
    for (int i = 0; i < call->schedule.case_count; i++) {
        const suite_case *one = &call->schedule.cases[i];
        if (!suite_audit_takes(one)) continue;
        if (!call->cli.dry_run)
            DIT_TRY(audit_one(call, one));
        else if (call->cli.json)
            put_case(call, one, NULL, 0);
        else
            printf("%s\n", one->label);
        if (call->cli.dry_run) call->checks++;
    }
    return DIT_OK;
}

static int answer(audit_call *call)
{
    int code = !call->checks ? DIT_EXIT_SKIPPED : call->failed ? DIT_EXIT_VERIFICATION : DIT_EXIT_OK;
    if (call->cli.json) {
        cJSON *document = dit_json_new_object(&call->writer);
        dit_json_put_item(&call->writer, document, "cases", call->cases);
        call->cases = NULL;
        dit_json_put_int(&call->writer, document, "failed", call->failed);
        dit_json_put_int(&call->writer, document, "left_out", call->left_out);
        dit_json_put_int(&call->writer, document, "exit_code", code);
        return suite_cli_answer(&call->writer, "audit", document, code);
    }
    if (!call->checks) printf("no case to audit: it takes measured cases of program denoise\n");
    if (call->checks && !call->cli.dry_run)
        printf("%d check%s, %d failed, %d left out\n", call->checks, suite_plural(call->checks), call->failed,
               call->left_out);
    return code;
}

static dit_status audit(audit_call *call)
{
    if (!(call->margin_percent >= 0 && call->margin_percent < 100))
        return DIT_FAIL(DIT_ERR_USAGE, "--margin %g is no percentage from 0 to 100", call->margin_percent);
    call->params.margin = call->margin_percent / 100;
    DIT_TRY(take_cases(call));
    return audit_all(call);
}

int suite_verb_audit(int argc, char **argv)
{
    audit_call call = {.margin_percent = 25};
    const suite_option options[] = {
        {"filter", 'f', SUITE_OPTION_STRING, "EXPR", "only cases whose tags satisfy EXPR", &call.filter, 0, 0},
        SUITE_OPTION_SET(&call.settings),
        {"exact-only", 0, SUITE_OPTION_FLAG, NULL, "judge no time", &call.params.exact_only, 0, 0},
        {"margin", 0, SUITE_OPTION_NUMBER, "PERCENT", "so much shorter than its work asks for may a time be (25)",
         &call.margin_percent, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline of every run", &call.params.deadline_s, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.params.engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"audit", "WORKLOAD|SESSION", purpose, examples, options, 1, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.cases = dit_json_new_array(&call.writer);
    dit_status st = audit(&call);
    code = st == DIT_OK ? answer(&call) : suite_cli_fail(&call.cli, st);
    cJSON_Delete(call.cases);
    suite_schedule_release(&call.schedule);
    suite_cli_release(&call.cli);
    return code;
}
