/* ditbench report: journals of sessions as figures, tables and HTML pages. The work is in reports/. */
#include "base/json_writer.h"
#include "base/log.h"
#include "suite/console/cli.h"
#include "suite/paths.h"
#include "suite/session/pages.h"
#include "suite/session/session.h"
#include "suite/verbs/verbs.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Draws sessions (default: latest). Each gets figures as SVG, PNG and CSV, tables, and one self-contained HTML\n"
    "page, in the session's folder report/ or the one that --output names. The index.html of the folder around it\n"
    "lists all sessions. A report measures nothing.\n"
    "With --all it writes the page of every session under results/local (or FOLDER) that has no page, or whose page\n"
    "was made from another journal or by another version of this program, and ends with the path of the index.\n"
    "Without gnuplot it writes everything but the pictures.\n"
    "--width, --height, --font and --no-title draw for a document: figures alone, into report/paper/, as PDF unless\n"
    "--format says otherwise.\n"
    "Exit: 0; 1 a claim does not hold; 5 a claim is undecided; 4 without gnuplot or when a figure cannot be drawn.\n"
    "With --all verdicts stand in the index and do not change the exit code.";
static const char examples[] = "ditbench report\n"
                               "ditbench report 20260131T12 --output /tmp/page\n"
                               "ditbench report 20260131T12 20260131T14\n"
                               "ditbench report --all\n"
                               "ditbench report --all --since 2h\n"
                               "ditbench report --format pdf --width 3.3in --font 8 --no-title";

/* One call of the verb. */
typedef struct {
    suite_cli cli;
    bool all;
    const char *since, *gnuplot;
    report_style style; /* of figures for a document: then no page is written */
    cJSON *reports;     /* with --json: what print_json makes of each */
    char index[REPORT_PATH];
    int written, current;
    int code; /* the worst so far */
} report_call;

/* ---- exit codes -------------------------------------------------------------------------------------------------- */

/* Of two exit codes the one that counts: what is broken before what is missing before what is claimed. */
static int worse(int a, int b)
{
    static const int order[] = {DIT_EXIT_USAGE, DIT_EXIT_VERIFICATION, DIT_EXIT_ENVIRONMENT, DIT_EXIT_GATE,
                                DIT_EXIT_UNDECIDED};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (a == order[i] || b == order[i]) return order[i];
    }
    return a ? a : b;
}

static int exit_code_of(const report_call *call, const report_summary *summary)
{
    if (summary->figures_failed || summary->figures_missing) return DIT_EXIT_ENVIRONMENT;
    if (call->all) return DIT_EXIT_OK;
    if (summary->claims_failed) return DIT_EXIT_GATE;
    return summary->claims_undecided ? DIT_EXIT_UNDECIDED : DIT_EXIT_OK;
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

/* Each line of `text` under what stands before it. */
static void print_indented(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        printf("    %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* The claims that do not hold, with the numbers that decided, or why nothing could. */
static void print_claims(const report_summary *summary)
{
    const cJSON *claim;
    cJSON_ArrayForEach(claim, summary->claims)
    {
        const char *verdict = dit_json_text_or(claim, "verdict", "");
        if (strcmp(verdict, "holds") == 0) continue;
        printf("%s: %s: %s\n", strcmp(verdict, "partly") == 0 ? "holds in part" : verdict,
               dit_json_text_or(claim, "id", ""), dit_json_text_or(claim, "claim", ""));
        print_indented(dit_json_text_or(claim, "reason", ""));
        print_indented(dit_json_text_or(claim, "numbers", ""));
    }
}

static void print_summary(const report_summary *s)
{
    char partly[48] = "", missing[48] = "";
    if (s->claims_partly) snprintf(partly, sizeof partly, "%d in part, ", s->claims_partly);
    if (s->figures_missing) snprintf(missing, sizeof missing, " (%d not drawn)", s->figures_missing);
    printf("%d of %d case%s ok, %d figure%s%s, claims: %d hold, %s%d fail, %d undecided%s\n", s->cases_ok, s->cases,
           s->cases == 1 ? "" : "s", s->figures, s->figures == 1 ? "" : "s", missing, s->claims_held, partly,
           s->claims_failed, s->claims_undecided, s->complete ? "" : "; the session is unfinished");
}

static void print_text(const report_call *call, const suite_session *session, const report_summary *summary)
{
    if (call->all || call->cli.operand_count > 1) printf("%s: ", session->name);
    print_summary(summary);
    if (call->all) return;
    print_claims(summary);
    printf("%s\n", summary->page);
}

/* Of a session whose page could not be written only its folder; the error follows. */
static cJSON *summary_json(dit_json_writer *w, const suite_session *session, const report_summary *summary,
                           bool written)
{
    cJSON *document = dit_json_new_object(w);
    dit_json_put_string(w, document, "session", session->dir);
    if (!written) return document;
    dit_json_put_string(w, document, "page", summary->page);
    const struct {
        const char *key;
        int value;
    } numbers[] = {{"cases", summary->cases},
                   {"cases_ok", summary->cases_ok},
                   {"results", summary->results},
                   {"dropped", summary->dropped},
                   {"figures", summary->figures},
                   {"figures_failed", summary->figures_failed},
                   {"figures_missing", summary->figures_missing},
                   {"claims_held", summary->claims_held},
                   {"claims_partly", summary->claims_partly},
                   {"claims_failed", summary->claims_failed},
                   {"claims_undecided", summary->claims_undecided}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dit_json_put_number(w, document, numbers[i].key, numbers[i].value);
    dit_json_put_bool(w, document, "complete", summary->complete);
    dit_json_put_copy(w, document, "claims", summary->claims);
    return document;
}

/* An error of one session: in its document, or on stderr. */
static void say_error(dit_json_writer *w, report_call *call, cJSON *document, dit_status st)
{
    call->code = worse(call->code, dit_status_exit_code(st));
    if (document)
        suite_cli_put_error(w, document);
    else
        dit_error_print("ditbench");
    dit_error_clear();
}

/* ---- one session ------------------------------------------------------------------------------------------------- */

/* Where the page of a session goes, without writing it. */
static void say_plan(dit_json_writer *w, report_call *call, const suite_session *session)
{
    char folder[SUITE_PATH + 16];
    snprintf(folder, sizeof folder, "%s%s", call->cli.output ? call->cli.output : session->dir,
             call->cli.output ? "" : "/report");
    if (!call->cli.json) {
        printf("would write %s\n", folder);
        return;
    }
    cJSON *plan = dit_json_put_object(w, call->reports, NULL);
    dit_json_put_string(w, plan, "session", session->dir);
    dit_json_put_string(w, plan, "would_write", folder);
}

static void write_page(dit_json_writer *w, report_call *call, const suite_session *session,
                       const report_sessions *sessions)
{
    report_summary summary;
    const report_options options = {.output_folder = call->cli.output,
                                    .gnuplot = call->gnuplot,
                                    .style = call->style,
                                    .quiet = call->cli.quiet || call->cli.json || call->all};
    const report_sessions *around = call->cli.output ? NULL : sessions;
    dit_status st = suite_pages_write(session, around, call->all, options, &summary);
    bool written = st == DIT_OK || summary.figures_missing > 0;
    cJSON *document = call->cli.json ? summary_json(w, session, &summary, written) : NULL;
    if (document) dit_json_put_item(w, call->reports, NULL, document);
    if (st != DIT_OK) say_error(w, call, document, st);
    if (written) call->code = worse(call->code, exit_code_of(call, &summary));
    if (written && !document) print_text(call, session, &summary);
    call->written += written;
    report_summary_release(&summary);
}

/* ---- several ----------------------------------------------------------------------------------------------------- */

/* A session's page is not lost because the list of all of them could not be written. */
static void refresh_index(report_call *call, const char *root)
{
    if (suite_pages_index(root, call->index) == DIT_OK) return;
    call->index[0] = '\0';
    dit_log_warning("the index of all sessions was not written: %s", dit_error_last()->message);
    dit_error_clear();
}

static dit_status report_operand(report_call *call, const char *name)
{
    dit_json_writer w = {0};
    suite_session session;
    report_sessions sessions = {0};
    char root[SUITE_PATH];
    DIT_TRY(suite_session_find(name, &session));
    suite_session_tell_latest(name, &session);
    if (call->cli.dry_run) return say_plan(&w, call, &session), w.status;
    bool listed = suite_pages_root(&session, root);
    if (listed) DIT_TRY(report_sessions_read(root, DITBENCH_VERSION, &sessions));
    write_page(&w, call, &session, listed ? &sessions : NULL);
    report_sessions_release(&sessions);
    if (listed && !call->cli.output && !report_style_is_paper(&call->style)) refresh_index(call, root);
    return w.status;
}

static dit_status report_row(report_call *call, const report_sessions *sessions, int row)
{
    dit_json_writer w = {0};
    suite_session session;
    char folder[SUITE_PATH];
    DIT_TRY(suite_path(folder, "%s/%s", sessions->root, sessions->rows[row].name));
    DIT_TRY(suite_session_find(folder, &session));
    if (call->cli.dry_run) return say_plan(&w, call, &session), w.status;
    dit_log_info("session %d of %d: %s", sessions->count - row, sessions->count, session.name);
    write_page(&w, call, &session, sessions);
    return w.status;
}

static dit_status report_rows(report_call *call, const report_sessions *sessions)
{
    dit_json_writer w = {0};
    char since[32];
    DIT_TRY(suite_pages_since(call->since, since));
    for (int i = sessions->count - 1; i >= 0; i--) { /* the oldest first */
        const report_session *session = &sessions->rows[i];
        if (strcmp(report_session_fact(session, "started"), since) < 0) continue;
        if (session->current && !report_style_is_paper(&call->style)) {
            call->current++;
            continue;
        }
        dit_status st = report_row(call, sessions, i);
        if (st != DIT_OK) say_error(&w, call, NULL, st);
    }
    return w.status;
}

static dit_status report_all(report_call *call)
{
    char root[SUITE_PATH];
    report_sessions sessions;
    const char *folder = call->cli.operands[0];
    DIT_TRY(folder ? suite_path(root, "%s", folder) : suite_session_root(root));
    DIT_TRY(report_sessions_read(root, DITBENCH_VERSION, &sessions));
    dit_status st = DIT_OK;
    if (sessions.count == 0) {
        st = dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no session under %s", root), "`ditbench run smoke` makes one");
    }
    if (st == DIT_OK) st = report_rows(call, &sessions);
    if (st == DIT_OK && !call->cli.dry_run) st = suite_pages_index(root, call->index);
    if (st == DIT_OK && !call->cli.json && !call->cli.dry_run) {
        printf("%d session%s: %d page%s written, %d current\n%s\n", sessions.count, sessions.count == 1 ? "" : "s",
               call->written, call->written == 1 ? "" : "s", call->current, call->index);
    }
    report_sessions_release(&sessions);
    return st;
}

static dit_status check_options(report_call *call)
{
    if (call->since) call->all = true;
    if (call->cli.output && (call->all || call->cli.operand_count > 1)) {
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--output names the folder of one session's page"),
                              "leave it out: each page goes into its session's folder report/");
    }
    if (!call->all || call->cli.operand_count < 2) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_USAGE, "--all takes one folder of sessions, not %d", call->cli.operand_count),
        "`ditbench report A B` reports two sessions");
}

static dit_status report_operands(report_call *call)
{
    int count = call->cli.operand_count ? call->cli.operand_count : 1;
    for (int i = 0; i < count; i++) DIT_TRY(report_operand(call, call->cli.operands[i]));
    return DIT_OK;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* Of one session its own document; of several a list of them, and the index. */
static dit_status print_json(report_call *call)
{
    dit_json_writer w = {0};
    bool plan = call->cli.dry_run;
    if (!call->all && cJSON_GetArraySize(call->reports) == 1) {
        cJSON *only = cJSON_GetArrayItem(call->reports, 0);
        if (call->index[0]) dit_json_put_string(&w, only, "index", call->index);
        return w.status == DIT_OK ? suite_cli_print_json(plan ? "report-plan" : "report", only) : w.status;
    }
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_copy(&w, document, "reports", call->reports);
    dit_json_put_number(&w, document, "current", call->current);
    if (!plan) dit_json_put_number(&w, document, "written", call->written);
    if (call->index[0]) dit_json_put_string(&w, document, "index", call->index);
    return suite_cli_finish_json(&w, plan ? "reports-plan" : "reports", document);
}

/* What the options say of figures. */
static dit_status read_style(const char *formats, const char *width, const char *height, report_style *out)
{
    if (formats) DIT_TRY(report_formats_parse(formats, &out->formats));
    if (width) DIT_TRY(report_length_parse(width, &out->width));
    if (height) DIT_TRY(report_length_parse(height, &out->height));
    if (out->font == 0 || (out->font >= 4 && out->font <= 40)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--font takes 4 to 40 points, not %g", out->font), "--font 8");
}

int suite_verb_report(int argc, char **argv)
{
    report_call call = {0};
    const char *formats = NULL, *width = NULL, *height = NULL;
    const suite_option table[] = {
        {"all", 0, SUITE_OPTION_FLAG, NULL,
         "report every session under results/local or FOLDER that lacks a current page", &call.all, 0, 0},
        {"since", 0, SUITE_OPTION_STRING, "WHEN", "with --all: sessions from 2026-01-31 on, or of the last 90m, 2h, 7d",
         &call.since, 0, 0},
        {"format", 0, SUITE_OPTION_STRING, "LIST",
         "formats of figures beside those that a page needs: svg, png, pdf, eps", &formats, 0, 0},
        {"width", 0, SUITE_OPTION_STRING, "LENGTH", "of a figure: 3.3in, 84mm, 240pt", &width, 0, 0},
        {"height", 0, SUITE_OPTION_STRING, "LENGTH", "height of a figure (default: follows its content)", &height, 0,
         0},
        {"font", 0, SUITE_OPTION_NUMBER, "POINTS", "size of a figure's text (default with --width: 8)",
         &call.style.font, 0, 0},
        {"no-title", 0, SUITE_OPTION_FLAG, NULL, "no title, no line of commit and session", &call.style.bare, 0, 0},
        {"gnuplot", 0, SUITE_OPTION_STRING, "PATH", "gnuplot program", &call.gnuplot, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"report", "[SESSION]... | --all [FOLDER]", purpose, examples, table, 0, -1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_json_writer w = {0};
    call.reports = dit_json_new_array(&w);
    dit_status st = w.status;
    if (st == DIT_OK) st = read_style(formats, width, height, &call.style);
    if (st == DIT_OK) st = check_options(&call);
    if (st == DIT_OK) st = call.all ? report_all(&call) : report_operands(&call);
    if (st == DIT_OK && call.cli.json) st = print_json(&call);
    if (st != DIT_OK) call.code = worse(call.code, suite_cli_fail(&call.cli, st));
    cJSON_Delete(call.reports);
    suite_cli_release(&call.cli);
    return call.code;
}
