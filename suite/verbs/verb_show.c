/* ditbench show: a session as a table, or one case in full. */
#include "base/stats.h"
#include "suite/cli.h"
#include "suite/history.h"
#include "suite/session.h"
#include "suite/schedule.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Shows a session (default: latest) as a table of its cases: status, latency as the median over processes with its\n"
    "interval, bytes sent by rank 0, peak memory, distance to the one-rank image, and of approximate methods to what\n"
    "their oracle computes, which is what they must agree with. With CASE (the beginning of a case id), each process "
    "of\n"
    "that case. --json prints the result lines themselves.";
static const char examples[] = "ditbench show\nditbench show latest 3fa9\nditbench show 20260131T12 --json";

/* Member by path "record/memory/total_bytes"; NULL when absent. */
static const cJSON *member(const cJSON *object, const char *path)
{
    char key[64];
    while (object && *path) {
        size_t length = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        object = cJSON_GetObjectItemCaseSensitive(object, key);
        path += length + (path[length] == '/');
    }
    return object;
}

static const char *text_of(const cJSON *object, const char *path)
{
    const char *text = cJSON_GetStringValue(member(object, path));
    return text ? text : "";
}

static void format_number(const cJSON *object, const char *path, double scale, const char *format, char out[32])
{
    const cJSON *item = member(object, path);
    if (cJSON_IsNumber(item)) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(out, 32, format, item->valuedouble * scale);
#pragma GCC diagnostic pop
    } else {
        snprintf(out, 32, "-");
    }
}

/* Bytes one rank sent in one image, all collectives. */
static void format_bytes(const cJSON *result, char out[32])
{
    const cJSON *list = member(result, "record/communication"), *row;
    double bytes = 0;
    cJSON_ArrayForEach(row, list) bytes += cJSON_IsNumber(member(row, "bytes")) ? member(row, "bytes")->valuedouble : 0;
    if (list)
        snprintf(out, 32, "%.2f", bytes / (1 << 20));
    else
        snprintf(out, 32, "-");
}

/* ---- table of cases ---------------------------------------------------------------------------------------------- */

/* What was simulated has one value, no interval, and says so. */
static bool is_simulated(const suite_history_result *result)
{
    return suite_case_simulated(member(result->document, "case"));
}

/* Latency of a case: median over processes, and its interval. */
static void format_latency(const suite_history *history, const char *case_id, char out[64])
{
    double *values = malloc(sizeof *values * (size_t)(history->result_count + 1));
    bool simulated = false;
    int count = 0;
    for (int i = 0; values && i < history->result_count; i++) {
        const suite_history_result *result = &history->results[i];
        if (result->superseded || result->status != SUITE_OUTCOME_OK || strcmp(result->case_id, case_id) != 0) continue;
        simulated = is_simulated(result);
        double latency_ns = suite_history_latency_ns(result->document);
        if (latency_ns >= 0) values[count++] = latency_ns * 1e-6;
    }
    dit_summary summary = dit_stats_summarise(values, count);
    if (count && simulated)
        snprintf(out, 64, "%.2f simulated", summary.median);
    else if (count)
        snprintf(out, 64, "%.2f [%.2f, %.2f]%s", summary.median, summary.low, summary.high,
                 summary.low_n ? " low_n" : "");
    else
        snprintf(out, 64, "-");
    free(values);
}

static bool seen_before(const suite_history *history, int index)
{
    for (int i = 0; i < index; i++) {
        if (strcmp(history->results[i].case_id, history->results[index].case_id) == 0) return true;
    }
    return false;
}

/* Newest results of a case: how many, how many ok, and a representative (an ok one when there is one). */
static const suite_history_result *survey(const suite_history *history, const char *case_id, int *all, int *good)
{
    const suite_history_result *best = NULL;
    *all = *good = 0;
    for (int i = 0; i < history->result_count; i++) {
        const suite_history_result *result = &history->results[i];
        if (result->superseded || strcmp(result->case_id, case_id) != 0) continue;
        ++*all;
        *good += result->status == SUITE_OUTCOME_OK;
        if (!best || (best->status != SUITE_OUTCOME_OK && result->status == SUITE_OUTCOME_OK)) best = result;
    }
    return best;
}

static void print_case_row(const suite_history *history, const char *case_id)
{
    char latency[64], bytes[32], memory[32], distance[32], oracle[32], status[32];
    int all, good;
    const suite_history_result *result = survey(history, case_id, &all, &good);
    format_latency(history, case_id, latency);
    format_bytes(result->document, bytes);
    format_number(result->document, "record/memory/total_bytes", 1.0 / (1 << 20), "%.1f", memory);
    format_number(result->document, "record/validation/rel_l2", 1, "%.1e", distance);
    format_number(result->document, "record/validation/oracle_rel_l2", 1, "%.1e", oracle);
    if (good == all)
        snprintf(status, sizeof status, "ok");
    else
        snprintf(status, sizeof status, "%d/%d ok", good, all);
    printf("%.8s  %-60.60s %-8s %-30s %9s %9s %9s %9s\n", case_id, text_of(result->document, "label"), status, latency,
           bytes, memory, distance, oracle);
    if (good < all) {
        for (int i = 0; i < history->result_count; i++) {
            const suite_history_result *one = &history->results[i];
            if (one->superseded || one->status == SUITE_OUTCOME_OK || strcmp(one->case_id, case_id) != 0) continue;
            printf("          process %d %s: %s: %s\n", one->process, suite_outcome_name(one->status),
                   text_of(one->document, "error/code"), text_of(one->document, "error/message"));
        }
    }
}

/* The software of simulated cases, as the session's first line tells of it. */
static void print_software(const suite_history *history)
{
    const cJSON *simulation = cJSON_GetObjectItemCaseSensitive(history->session, "simulation"), *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(simulation, "profiles"))
    {
        bool measured = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(one, "measured"));
        printf("software %s (simulated)%s\n", one->string,
               measured ? "" : ": a projection, this software has not been measured on a GPU");
    }
}

static void print_session(const suite_session *session, const suite_history *history)
{
    printf("session  %s%s\n", session->dir, history->complete ? "" : "  (unfinished)");
    printf("workload %s  %s\n", text_of(history->session, "workload/name"),
           text_of(history->session, "workload/title"));
    printf("started  %s on %s, version %s\n", text_of(history->session, "started"),
           text_of(history->session, "hardware/cpu"), text_of(history->session, "suite/version"));
    print_software(history);
    printf("\n");
    printf("%-8s  %-60s %-8s %-30s %9s %9s %9s %9s\n", "case", "label", "status", "latency ms [interval]", "sent MiB",
           "peak MiB", "rel. L2", "to oracle");
    for (int i = 0; i < history->result_count; i++) {
        if (!seen_before(history, i)) print_case_row(history, history->results[i].case_id);
    }
    if (history->dropped_count) printf("%d cells of the workload were dropped\n", history->dropped_count);
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

static void print_process(const suite_history_result *result)
{
    const cJSON *samples = member(result->document, "record/samples/latency_ns"), *sample;
    printf("process %d  %s%s%s  journal line %d\n", result->process, suite_outcome_name(result->status),
           is_simulated(result) ? " (simulated)" : "", result->superseded ? " (superseded)" : "", result->line);
    if (cJSON_IsArray(samples)) {
        printf("  latency ms ");
        cJSON_ArrayForEach(sample, samples) printf(" %.3f", sample->valuedouble * 1e-6);
        printf("\n");
    }
    static const struct {
        const char *title, *path, *format;
        double scale;
    } rows[] = {
        {"compute ms", "record/time_split/compute_ns", "%.3f", 1e-6},
        {"exposed communication ms", "record/time_split/exposed_communication_ns", "%.3f", 1e-6},
        {"other ms", "record/time_split/other_ns", "%.3f", 1e-6},
        {"weights MiB", "record/memory/weights_bytes", "%.2f", 1.0 / (1 << 20)},
        {"activations MiB", "record/memory/activations_bytes", "%.2f", 1.0 / (1 << 20)},
        {"peak MiB", "record/memory/total_bytes", "%.2f", 1.0 / (1 << 20)},
        {"relative L2 to one rank", "record/validation/rel_l2", "%.2e", 1},
        {"PSNR to one rank, dB", "record/validation/psnr_db", "%.1f", 1},
        {"relative L2 to its oracle", "record/validation/oracle_rel_l2", "%.2e", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[32];
        format_number(result->document, rows[i].path, rows[i].scale, rows[i].format, text);
        if (strcmp(text, "-") != 0) printf("  %-26s %s\n", rows[i].title, text);
    }
    const char *code = text_of(result->document, "error/code");
    if (*code)
        printf("  %s: %s\n%s\n", code, text_of(result->document, "error/message"),
               text_of(result->document, "error/log"));
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

static void print_case(const suite_history *history, const char *case_prefix)
{
    const char *shown = NULL;
    for (int i = 0; i < history->result_count; i++) {
        const suite_history_result *result = &history->results[i];
        if (!matches(result, case_prefix)) continue;
        if (!shown || strcmp(shown, result->case_id) != 0)
            printf("case %s  %s\n", result->case_id, text_of(result->document, "label"));
        shown = result->case_id;
        print_process(result);
    }
}

static void print_json(const suite_session *session, const suite_history *history, const char *case_prefix)
{
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "path", session->dir);
    cJSON_AddBoolToObject(document, "complete", history->complete);
    cJSON_AddItemToObject(document, "session", cJSON_Duplicate(history->session, true));
    cJSON *results = cJSON_AddArrayToObject(document, "results");
    for (int i = 0; i < history->result_count; i++) {
        const suite_history_result *result = &history->results[i];
        if (!result->superseded && matches(result, case_prefix))
            cJSON_AddItemToArray(results, cJSON_Duplicate(result->document, true));
    }
    suite_cli_print_json("show", document);
    cJSON_Delete(document);
}

static dit_status show(const suite_cli *cli)
{
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
        print_json(&session, &history, case_prefix);
    else if (st == DIT_OK && case_prefix)
        print_case(&history, case_prefix);
    else if (st == DIT_OK)
        print_session(&session, &history);
    suite_history_release(&history);
    return st;
}

int suite_verb_show(int argc, char **argv)
{
    suite_cli cli;
    const suite_cli_spec spec = {"show", "[SESSION] [CASE]", purpose, examples, NULL, 0, 2};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = show(&cli);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&cli, st);
    suite_cli_release(&cli);
    return code;
}
