/* ditbench history: how a number of each case went from session to session. */
#include "base/clock.h"
#include "base/log.h"
#include "suite/console/cli.h"
#include "suite/console/terminal.h"
#include "suite/session/index.h"
#include "suite/session/pages.h"
#include "suite/session/session.h"
#include "suite/trend/confirm.h"
#include "suite/trend/trend_print.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Shows how a number of each case went from session to session, by commit: where its level changed, and whether "
    "the\n"
    "newest value sticks out of those before it. A time that sticks out once is suspect: run that commit again, as "
    "the\n"
    "last lines say, or let --confirm do it; the next session makes it worse or better when it agrees. Numbers that "
    "repeat to the last digit\n"
    "need no second session. Series are kept apart by hardware, simulated ones by software and calibration.\n"
    "CASE is the beginning of a case id or a label, and shows every session. What people know is kept in a file of\n"
    "JSON lines, in git: --accept COMMIT begins a new level there, --remark COMMIT is shown beside it, and\n"
    "--mark-release COMMIT is what slow creep is held against.\n"
    "Exit: 0; with --check 1 where anything became worse, 5 where a case is suspect.";
static const char examples[] = "ditbench history\n"
                               "ditbench history 3fa9 --metric total_bytes\n"
                               "ditbench history --filter \"model == 'flux.1-dev'\" --since 30d --check\n"
                               "ditbench history 3fa9 --accept 631fa91 --note \"the new kernel pads heads\"\n"
                               "ditbench history --page";

typedef struct {
    suite_cli cli;
    suite_trend_params params;
    suite_annotations annotations;
    suite_trends trends;
    const char *metric, *since, *file, *accept, *remark, *mark_release, *note, *author;
    bool check, page, confirm;
    double margin_percent;
} history_call;

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static dit_status read_words(history_call *call, char since[32])
{
    int annotating = (call->accept != NULL) + (call->remark != NULL) + (call->mark_release != NULL);
    call->params.metric = REPORT_LATENCY;
    if (call->metric && !report_metric_from_name(call->metric, &call->params.metric))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "there is no metric \"%.60s\"", call->metric),
                              "`ditbench list metrics` names them");
    if (!report_metric_is_of_one_case(call->params.metric))
        return DIT_FAIL(DIT_ERR_USAGE, "%s is of several cases, and no case has a history of it", call->metric);
    if (annotating > 1) return DIT_FAIL(DIT_ERR_USAGE, "one of --accept, --remark and --mark-release at a time");
    if (annotating && !call->note)
        return DIT_FAIL(DIT_ERR_USAGE, "an annotation needs --note: whoever reads it wants to know why");
    DIT_TRY(suite_pages_since(call->since, since));
    call->params.since = since;
    call->params.name = call->cli.operands[0];
    call->params.margin = call->margin_percent / 100;
    call->params.annotations = &call->annotations;
    call->params.without_changes = annotating;
    return suite_annotations_read(call->file, &call->annotations);
}

static dit_status read_trends(history_call *call, const char *root)
{
    suite_index *index = NULL;
    if (suite_index_save(root) != DIT_OK) dit_error_clear(); /* it only makes the next call faster */
    DIT_TRY(suite_index_read(root, &index));
    dit_status st = suite_trends_read(index, &call->params, &call->trends);
    suite_index_close(index);
    return st;
}

/* ---- annotating -------------------------------------------------------------------------------------------------- */

static const char *author_of(const history_call *call, char out[128])
{
    const char *user = getenv("USER");
    out[0] = '\0';
    if (call->author) return call->author;
    FILE *git = popen("git config user.name 2>/dev/null", "re");
    if (git && fgets(out, 128, git)) out[strcspn(out, "\n")] = '\0';
    if (git) pclose(git);
    return out[0] ? out : user ? user : "";
}

static bool has_commit(const report_trend *trend, const char *commit)
{
    for (int i = 0; i < trend->point_count; i++)
        if (suite_annotation_same_commit(trend->points[i].commit, commit)) return true;
    return false;
}

static dit_status write_row(const history_call *call, const suite_annotation *row, const char *label)
{
    DIT_TRY(suite_annotations_append(call->file, row));
    dit_log_info("%s: %s at %s of %s", call->file, suite_annotation_kind_name(row->kind), row->commit, label);
    return DIT_OK;
}

/* A line for each case that is named and has the commit, or one for all cases. */
static dit_status annotate(const history_call *call)
{
    char now[32], author[128];
    const char *commit = call->accept ? call->accept : call->remark ? call->remark : call->mark_release;
    bool all = !call->params.name && !call->params.filter;
    int written = 0;
    suite_annotation row = {
        .kind = call->accept   ? SUITE_ANNOTATION_SHIFT
                : call->remark ? SUITE_ANNOTATION_NOTE
                               : SUITE_ANNOTATION_RELEASE,
        .note = (char *)call->note,
        .author = (char *)author_of(call, author),
        .at = now,
    };
    dit_clock_utc(now);
    snprintf(row.commit, sizeof row.commit, "%s", commit);
    if (call->metric || row.kind == SUITE_ANNOTATION_SHIFT)
        snprintf(row.metric, sizeof row.metric, "%s", report_metric_get(call->params.metric)->name);
    for (int i = 0; i < call->trends.count; i++) {
        const report_trend *trend = &call->trends.rows[i];
        if (!has_commit(trend, commit) || (all && written)) continue;
        if (!all) snprintf(row.case_id, sizeof row.case_id, "%s", trend->case_id);
        DIT_TRY(write_row(call, &row, all ? "all cases" : trend->label));
        written++;
    }
    return written ? DIT_OK : DIT_FAIL(DIT_ERR_NOT_FOUND, "no session of these cases is of commit %.60s", commit);
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

static int exit_code(const history_call *call)
{
    int worse = 0, suspect = 0;
    for (int i = 0; i < call->trends.count; i++) {
        worse +=
            call->trends.rows[i].verdict == REPORT_TREND_WORSE || call->trends.rows[i].verdict == REPORT_TREND_CHANGED;
        suspect += call->trends.rows[i].verdict == REPORT_TREND_SUSPECT;
    }
    if (!call->check) return DIT_EXIT_OK;
    return worse ? DIT_EXIT_GATE : suspect ? DIT_EXIT_UNDECIDED : DIT_EXIT_OK;
}

static dit_status write_page(const history_call *call, const char *root)
{
    char path[SUITE_PATH];
    if (call->cli.output)
        DIT_TRY(suite_path(path, "%s", call->cli.output));
    else
        DIT_TRY(suite_path(path, "%s/history.html", root));
    DIT_TRY(report_trend_page_write(call->trends.rows, call->trends.count, path));
    dit_log_info("page %s", path);
    return DIT_OK;
}

static void print_word(const char *word)
{
    bool plain = word[0] && !strpbrk(word, " \t\n'\"\\$&;()<>|*?`#~!{}[]");
    if (plain)
        printf(" %s", word);
    else if (!strchr(word, '\'')) /* a word with a quote of its own is left for the reader to quote */
        printf(" '%s'", word);
    else
        printf(" \"%s\"", word);
}

/* Prints the command that made a session, but for its place: what confirms a suspect, or clears it. */
static dit_status print_again(const char *name)
{
    cJSON *words = NULL;
    const cJSON *word;
    DIT_TRY(suite_confirm_words(name, &words));
    if (words) printf("run again: ditbench");
    cJSON_ArrayForEach(word, words) print_word(word->valuestring);
    if (words) printf("\n");
    cJSON_Delete(words);
    return DIT_OK;
}

static const char *newest_session(const report_trend *trend)
{
    return trend->points[trend->point_count - 1].session;
}

/* A session that made a suspect is named once, however many cases of it are. */
static bool is_first_suspect(const suite_trends *trends, int index)
{
    bool first = trends->rows[index].verdict == REPORT_TREND_SUSPECT;
    for (int i = 0; i < index && first; i++)
        first = trends->rows[i].verdict != REPORT_TREND_SUSPECT ||
                strcmp(newest_session(&trends->rows[i]), newest_session(&trends->rows[index])) != 0;
    return first;
}

/* A suspect needs a second session. */
static dit_status print_reruns(const suite_trends *trends)
{
    int suspects = 0;
    for (int i = 0; i < trends->count; i++) {
        if (!is_first_suspect(trends, i)) continue;
        DIT_TRY(print_again(newest_session(&trends->rows[i])));
        suspects++;
    }
    if (suspects) printf("then:      ditbench history --check\n");
    return DIT_OK;
}

/* Runs again what made suspects, once. *runs: how many sessions that were. */
static dit_status confirm(const suite_trends *trends, int *runs)
{
    int code = 0;
    *runs = 0;
    for (int i = 0; i < trends->count; i++) {
        if (!is_first_suspect(trends, i)) continue;
        DIT_TRY(suite_confirm_run(newest_session(&trends->rows[i]), &code));
        if (code > 128) return DIT_FAIL(DIT_ERR_INTERRUPTED, "the second run was stopped");
        if (code) dit_log_warning("the second run ended with %d", code);
        ++*runs;
    }
    return DIT_OK;
}

static dit_status answer(const history_call *call, const char *root)
{
    cJSON *document = NULL;
    int width = suite_terminal_width(stdout);
    if (call->page) DIT_TRY(write_page(call, root));
    if (call->cli.json) {
        DIT_TRY(suite_trends_json(&call->trends, call->params.metric, &document));
        suite_cli_print_json("history", document);
        cJSON_Delete(document);
        return DIT_OK;
    }
    if (!call->params.name) DIT_TRY(suite_trends_print(&call->trends, stdout, width));
    for (int i = 0; call->params.name && i < call->trends.count; i++)
        DIT_TRY(suite_trend_print(&call->trends.rows[i], stdout, width));
    return print_reruns(&call->trends);
}

static dit_status read_again(history_call *call, const char *root)
{
    suite_trends_release(&call->trends);
    call->params.without_changes = false;
    return read_trends(call, root);
}

static dit_status history(history_call *call, int *code)
{
    char root[SUITE_PATH], since[32];
    int runs = 0;
    DIT_TRY(read_words(call, since));
    DIT_TRY(suite_session_root(root));
    DIT_TRY(read_trends(call, root));
    if (call->accept || call->remark || call->mark_release) {
        DIT_TRY(annotate(call));
        suite_annotations_release(&call->annotations);
        DIT_TRY(suite_annotations_read(call->file, &call->annotations));
        DIT_TRY(read_again(call, root));
    }
    if (call->confirm) DIT_TRY(confirm(&call->trends, &runs));
    if (runs) DIT_TRY(read_again(call, root));
    *code = exit_code(call);
    return answer(call, root);
}

int suite_verb_history(int argc, char **argv)
{
    history_call call = {.file = "annotations.jsonl"};
    const suite_option options[] = {
        {"filter", 'f', SUITE_OPTION_STRING, "EXPR", "only cases whose tags satisfy EXPR", &call.params.filter, 0, 0},
        {"metric", 'm', SUITE_OPTION_STRING, "NAME", "which number (latency_s)", &call.metric, 0, 0},
        {"since", 0, SUITE_OPTION_STRING, "TIME", "only sessions since a date, or of the last 7d", &call.since, 0, 0},
        {"margin", 0, SUITE_OPTION_NUMBER, "PERCENT", "a smaller change is none (2)", &call.margin_percent, 0, 0},
        {"release", 0, SUITE_OPTION_STRING, "COMMIT", "what creep is held against (the newest that is marked)",
         &call.params.release, 0, 0},
        {"check", 0, SUITE_OPTION_FLAG, NULL, "exit 1 where something is worse, 5 where it is suspect", &call.check, 0,
         0},
        {"confirm", 0, SUITE_OPTION_FLAG, NULL, "run again, once, what made suspects, and judge anew", &call.confirm, 0,
         0},
        {"page", 0, SUITE_OPTION_FLAG, NULL, "write history.html beside the sessions, or to --output FILE", &call.page,
         0, 0},
        {"annotations", 0, SUITE_OPTION_STRING, "FILE", "what people know (annotations.jsonl)", &call.file, 0, 0},
        {"accept", 0, SUITE_OPTION_STRING, "COMMIT", "a new level begins there, and is meant", &call.accept, 0, 0},
        {"remark", 0, SUITE_OPTION_STRING, "COMMIT", "say something about a commit", &call.remark, 0, 0},
        {"mark-release", 0, SUITE_OPTION_STRING, "COMMIT", "hold later commits against this one", &call.mark_release, 0,
         0},
        {"note", 0, SUITE_OPTION_STRING, "TEXT", "why; kept in the file", &call.note, 0, 0},
        {"author", 0, SUITE_OPTION_STRING, "NAME", "who says so (git's user.name)", &call.author, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"history", "[CASE]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    code = DIT_EXIT_OK;
    dit_status st = history(&call, &code);
    if (st != DIT_OK) code = suite_cli_fail(&call.cli, st);
    suite_trends_release(&call.trends);
    suite_annotations_release(&call.annotations);
    suite_cli_release(&call.cli);
    return code;
}
