/* ditbench show: a session as a table, or one case in full. */
#include "base/json_writer.h"
#include "reports/text.h"
#include "suite/cases/document.h"
#include "suite/compare/nodes.h"
#include "suite/console/cli.h"
#include "suite/console/terminal.h"
#include "suite/session/history.h"
#include "suite/session/result_table.h"
#include "suite/session/session.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Shows a session (default: latest) as a table of its cases, sorted by model, size, ranks and latency. Latency\n"
    "is the median over processes, with its interval; * marks the fastest of several cases that differ in method\n"
    "and mesh only. speed-up compares with the case on one rank. published is what a source printed for the case,\n"
    "and error how far the latency is from it. sent is what one rank sends, peak is its memory. \"to one rank\" is\n"
    "the distance to the one-rank result; approximate methods must match their oracle instead (\"to oracle\"). A\n"
    "column has one unit; GB is 10^9 bytes.\n"
    "A terminal ($COLUMNS, or its own width) leaves out columns for which it is too narrow and names them; a pipe\n"
    "gets all of them. Where processes ran on changing nodes, a line for each node says how slow it is beside the\n"
    "others; one that is slower with 99 % confidence is suspect. With CASE (the beginning of a case id) each process "
    "of\n"
    "that case is shown. --json prints the result lines themselves.";
static const char examples[] =
    "ditbench show\n"
    "ditbench show latest 3fa9\n"
    "ditbench show --sort -speedup --columns model,size,mesh,latency,speedup,images_per_hour\n"
    "ditbench show 20260131T12 --csv >results.csv\n"
    "ditbench show 20260131T12 --json";

typedef struct {
    suite_cli cli;
    suite_result_table table;
} show_call;

/* Member by path "record/memory/total_bytes"; NULL when absent. */
static const cJSON *member(const cJSON *object, const char *path)
{
    char key[64];
    while (object && *path) {
        size_t length = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        object = dit_json_member(object, key);
        path += length + (path[length] == '/');
    }
    return object;
}

/* What was simulated has one value, no interval, and says so. */
static bool is_simulated(const suite_history_result *result)
{
    return suite_case_simulated(member(result->document, "case"));
}

/* ---- table of cases ---------------------------------------------------------------------------------------------- */

static void print_head(const suite_session *session, const suite_history *history)
{
    const char *word = history->complete ? "" : suite_journal_locked(session->journal) ? "running" : "unfinished";
    printf("session  %s%s%s%s%s%s\n", session->dir, *word ? "  (" : "", suite_colour_start(stdout, word), word,
           suite_colour_end(stdout, word), *word ? ")" : "");
    printf("workload %s  %s\n", dit_json_text_or(dit_json_member(history->session, "workload"), "name", ""),
           dit_json_text_or(dit_json_member(history->session, "workload"), "title", ""));
    char machine[256];
    report_hardware_words(dit_json_member(history->session, "hardware"), sizeof machine, machine);
    printf("started  %s on %s, version %s\n", dit_json_text_or(history->session, "started", ""), machine,
           dit_json_text_or(dit_json_member(history->session, "suite"), "version", ""));
    suite_results_print_software(history->session, NULL, "", stdout);
}

/* What the placements of a session tell of its nodes. */
static dit_status print_nodes(const report_table *table)
{
    suite_nodes nodes;
    DIT_TRY(suite_nodes_estimate(table, &nodes));
    suite_nodes_print(&nodes, stdout);
    suite_nodes_release(&nodes);
    return DIT_OK;
}

static dit_status print_session(const show_call *call, const suite_session *session, const suite_history *history)
{
    enum { MOST_FAILURES = 8 };
    suite_results results;
    dit_status st = suite_results_load(session->journal, &results);
    if (st == DIT_OK) st = suite_result_table_check(&call->table, &results);
    if (st == DIT_OK && !call->table.csv) {
        print_head(session, history);
        suite_results_print_settings(&results, stdout);
        printf("\n");
    }
    if (st == DIT_OK) st = suite_result_table_print(&call->table, &results, stdout);
    if (st == DIT_OK && !call->table.csv) {
        suite_results_print_failures(&results, stdout, MOST_FAILURES);
        suite_results_print_warnings(&results, stdout);
        if (history->dropped_count)
            printf("%d cell%s of the workload %s dropped: ditbench report names %s\n", history->dropped_count,
                   suite_plural(history->dropped_count), history->dropped_count == 1 ? "was" : "were",
                   history->dropped_count == 1 ? "it" : "them");
    }
    if (st == DIT_OK && !call->table.csv) st = print_nodes(&results.table);
    suite_results_release(&results);
    return st;
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *title, *path;
    report_unit unit;
    double factor; /* to seconds and bytes */
} process_rows[] = {
    {"compute", "record/time_split/compute_ns", REPORT_UNIT_SECONDS, 1e-9},
    {"exposed communication", "record/time_split/exposed_communication_ns", REPORT_UNIT_SECONDS, 1e-9},
    {"other", "record/time_split/other_ns", REPORT_UNIT_SECONDS, 1e-9},
    {"weights", "record/memory/weights_bytes", REPORT_UNIT_BYTES, 1},
    {"activations", "record/memory/activations_bytes", REPORT_UNIT_BYTES, 1},
    {"peak memory", "record/memory/total_bytes", REPORT_UNIT_BYTES, 1},
    {"relative L2 to one rank", "record/validation/rel_l2", REPORT_UNIT_RELATIVE, 1},
    {"PSNR to one rank", "record/validation/psnr_db", REPORT_UNIT_DECIBEL, 1},
    {"relative L2 to its oracle", "record/validation/oracle_rel_l2", REPORT_UNIT_RELATIVE, 1},
};

static void print_samples(const suite_history_result *result)
{
    const cJSON *samples = member(result->document, "record/samples/latency_ns"), *sample;
    char text[REPORT_NUMBER_TEXT];
    if (!cJSON_IsArray(samples)) return;
    printf("  %-26s", "latency");
    cJSON_ArrayForEach(sample, samples)
    {
        report_format(REPORT_UNIT_SECONDS, sample->valuedouble * 1e-9, text);
        printf(" %s%s", text, sample->next ? "," : "");
    }
    printf("\n");
}

static void print_process(const suite_history_result *result)
{
    printf("process %d  %s%s%s  journal line %d\n", result->process, dit_outcome_name(result->status),
           is_simulated(result) ? " (simulated)" : "", result->superseded ? " (superseded)" : "", result->line);
    print_samples(result);
    for (size_t i = 0; i < sizeof process_rows / sizeof *process_rows; i++) {
        const cJSON *item = member(result->document, process_rows[i].path);
        char text[REPORT_NUMBER_TEXT];
        if (!cJSON_IsNumber(item)) continue;
        report_format(process_rows[i].unit, item->valuedouble * process_rows[i].factor, text);
        printf("  %-26s %s\n", process_rows[i].title, text);
    }
    const char *code = dit_json_text_or(dit_json_member(result->document, "error"), "code", "");
    if (*code)
        printf("  %s: %s\n%s\n", code, dit_json_text_or(dit_json_member(result->document, "error"), "message", ""),
               dit_json_text_or(dit_json_member(result->document, "error"), "log", ""));
}

static bool matches(const suite_history_result *result, const char *case_prefix)
{
    return !case_prefix || strncmp(result->case_id, case_prefix, strlen(case_prefix)) == 0;
}

static dit_status check_prefix(const suite_history *history, const char *case_prefix)
{
    for (int i = 0; i < history->result_count; i++) {
        if (matches(&history->results[i], case_prefix)) return DIT_OK;
    }
    if (!case_prefix) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_NOT_FOUND, "no session and no case of the latest one starts with '%s'", case_prefix),
        "`ditbench list` and `ditbench show` name them");
}

/* With the software that it was simulated in. */
static void print_title(const suite_history *history, const suite_history_result *result)
{
    const cJSON *kase = member(result->document, "case");
    printf("case %s  %s\n", result->case_id, dit_json_text_or(result->document, "label", ""));
    if (is_simulated(result))
        suite_results_print_software(history->session, suite_case_platform(kase, "profile"), "", stdout);
}

static void print_case(const suite_history *history, const char *case_prefix)
{
    const char *shown = NULL;
    for (int i = 0; i < history->result_count; i++) {
        const suite_history_result *result = &history->results[i];
        if (!matches(result, case_prefix)) continue;
        if (!shown || strcmp(shown, result->case_id) != 0) print_title(history, result);
        shown = result->case_id;
        print_process(result);
    }
}

static void put_nodes(dit_json_writer *w, cJSON *document, const suite_session *session)
{
    report_table table = {0};
    suite_nodes nodes = {0};
    dit_status st = report_table_read(session->journal, &table);
    if (st == DIT_OK) st = suite_nodes_estimate(&table, &nodes);
    if (st == DIT_OK) suite_nodes_put(w, document, &nodes);
    if (st != DIT_OK) dit_error_clear(); /* the lines are printed as they are, also those that no table takes */
    suite_nodes_release(&nodes);
    report_table_release(&table);
}

static dit_status print_json(const suite_session *session, const suite_history *history, const char *case_prefix)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_string(&w, document, "path", session->dir);
    dit_json_put_bool(&w, document, "complete", history->complete);
    dit_json_put_copy(&w, document, "session", history->session);
    cJSON *results = dit_json_put_array(&w, document, "results");
    for (int i = 0; i < history->result_count; i++) {
        const suite_history_result *result = &history->results[i];
        if (!result->superseded && matches(result, case_prefix)) dit_json_put_copy(&w, results, NULL, result->document);
    }
    put_nodes(&w, document, session);
    return suite_cli_finish_json(&w, "show", document);
}

static dit_status show(show_call *call)
{
    const suite_cli *cli = &call->cli;
    suite_session session;
    suite_history history = {0};
    const char *name = cli->operands[0], *case_prefix = cli->operand_count > 1 ? cli->operands[1] : NULL;
    dit_status st = suite_session_find(name, &session);
    if (st == DIT_ERR_NOT_FOUND && cli->operand_count == 1) { /* perhaps a case of the latest session */
        case_prefix = name;
        st = suite_session_find(NULL, &session);
    }
    DIT_TRY(st);
    DIT_TRY(suite_history_load(session.journal, &history));
    st = check_prefix(&history, case_prefix);
    if (st == DIT_OK && cli->json)
        st = print_json(&session, &history, case_prefix);
    else if (st == DIT_OK && case_prefix)
        print_case(&history, case_prefix);
    else if (st == DIT_OK)
        st = print_session(call, &session, &history);
    suite_history_release(&history);
    return st;
}

int suite_verb_show(int argc, char **argv)
{
    show_call call = {.table = {0}};
    const suite_option options[] = {
        {"sort", 0, SUITE_OPTION_STRING, "COLUMN", "sort by this column; -COLUMN: the greatest first", &call.table.sort,
         0, 0},
        {"columns", 0, SUITE_OPTION_STRING, "A,B,C", "show these columns, tags (profile) or metrics (images_per_hour)",
         &call.table.columns, 0, 0},
        {"csv", 0, SUITE_OPTION_FLAG, NULL, "print comma-separated values, in seconds and bytes", &call.table.csv, 0,
         0},
        {0},
    };
    const suite_cli_spec spec = {"show", "[SESSION] [CASE]", purpose, examples, options, 0, 2};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.table.width = suite_terminal_width(stdout);
    dit_status st = show(&call);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&call.cli, st);
    suite_cli_release(&call.cli);
    return code;
}
