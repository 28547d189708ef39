/* ditbench report: a session's journal as figures, tables and one HTML page. The work is in reports/. */
#include "reports/report.h"
#include "suite/cli.h"
#include "suite/session.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>

static const char purpose[] =
    "Draws a session (default: latest): figures as SVG, PNG and CSV, and one self-contained HTML page, into its "
    "folder\n"
    "report/ or the one that --output names. Measures nothing.\n"
    "--width, --height, --font and --no-title draw for a document: figures alone, into report/paper/, PDF unless "
    "--format says otherwise.\n"
    "Exit: 0; 1 a claim does not hold; 5 a claim is undecided; 4 without gnuplot or when a figure cannot be drawn.";
static const char examples[] = "ditbench report\nditbench report 20260131T12 --output /tmp/page\n"
                               "ditbench report --format pdf --width 3.3in --font 8 --no-title";

static int exit_code_of(const report_summary *summary)
{
    if (summary->figures_failed) return DIT_EXIT_ENVIRONMENT;
    if (summary->claims_failed) return DIT_EXIT_GATE;
    return summary->claims_undecided ? DIT_EXIT_UNDECIDED : DIT_EXIT_OK;
}

static void print_text(const report_summary *summary)
{
    char partly[32] = "";
    if (summary->claims_partly) snprintf(partly, sizeof partly, "%d partly, ", summary->claims_partly);
    printf("%d of %d cases ok, %d figures, claims: %d hold, %s%d fail, %d undecided%s\n%s\n", summary->cases_ok,
           summary->cases, summary->figures, summary->claims_held, partly, summary->claims_failed,
           summary->claims_undecided, summary->complete ? "" : "; the session is unfinished", summary->page);
}

static void print_json(const suite_session *session, const report_summary *summary)
{
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "session", session->dir);
    cJSON_AddStringToObject(document, "page", summary->page);
    const struct {
        const char *key;
        int value;
    } numbers[] = {{"cases", summary->cases},
                   {"cases_ok", summary->cases_ok},
                   {"results", summary->results},
                   {"dropped", summary->dropped},
                   {"figures", summary->figures},
                   {"figures_failed", summary->figures_failed},
                   {"claims_held", summary->claims_held},
                   {"claims_partly", summary->claims_partly},
                   {"claims_failed", summary->claims_failed},
                   {"claims_undecided", summary->claims_undecided}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cJSON_AddNumberToObject(document, numbers[i].key, numbers[i].value);
    cJSON_AddBoolToObject(document, "complete", summary->complete);
    suite_cli_print_json("report", document);
    cJSON_Delete(document);
}

static void print_plan(const suite_cli *cli, const suite_session *session)
{
    char folder[SUITE_PATH + 8];
    snprintf(folder, sizeof folder, "%s%s", cli->output ? cli->output : session->dir, cli->output ? "" : "/report");
    if (!cli->json) {
        printf("would write %s\n", folder);
        return;
    }
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "session", session->dir);
    cJSON_AddStringToObject(document, "would_write", folder);
    suite_cli_print_json("report-plan", document);
    cJSON_Delete(document);
}

/* What the options say of figures. */
static dit_status read_style(const char *formats, const char *width, const char *height, report_style *out)
{
    if (formats) DIT_TRY(report_formats_parse(formats, &out->formats));
    if (width) DIT_TRY(report_length_parse(width, &out->width));
    if (height) DIT_TRY(report_length_parse(height, &out->height));
    if (out->font == 0 || (out->font >= 4 && out->font <= 40)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--font %g is not from 4 to 40 points", out->font), "--font 8");
}

int suite_verb_report(int argc, char **argv)
{
    suite_cli cli;
    suite_session session;
    report_summary summary = {0};
    const char *gnuplot = NULL, *formats = NULL, *width = NULL, *height = NULL;
    report_style style = {0};
    const suite_option table[] = {
        {"format", 0, SUITE_OPTION_STRING, "LIST", "svg, png, pdf, eps: of figures, beside what a page needs", &formats, 0,
         0},
        {"width", 0, SUITE_OPTION_STRING, "LENGTH", "of a figure: 3.3in, 84mm, 240pt", &width, 0, 0},
        {"height", 0, SUITE_OPTION_STRING, "LENGTH", "of a figure (default: follows its content)", &height, 0, 0},
        {"font", 0, SUITE_OPTION_NUMBER, "POINTS", "size of a figure's text (default with --width: 8)", &style.font, 0, 0},
        {"no-title", 0, SUITE_OPTION_FLAG, NULL, "no title, no line of commit and session", &style.bare, 0, 0},
        {"gnuplot", 0, SUITE_OPTION_STRING, "PATH", "gnuplot program", &gnuplot, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"report", "[SESSION]", purpose, examples, table, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = read_style(formats, width, height, &style);
    if (st == DIT_OK) st = suite_session_find(cli.operands[0], &session);
    if (st == DIT_OK) suite_session_tell_latest(cli.operands[0], &session);
    report_options options = {
        .session_folder = session.dir, .output_folder = cli.output, .gnuplot = gnuplot, .quiet = cli.quiet || cli.json,
        .style = style};
    if (st == DIT_OK && cli.dry_run) {
        print_plan(&cli, &session);
    } else {
        if (st == DIT_OK) st = report_write(&options, &summary);
        if (st == DIT_OK) (cli.json ? print_json(&session, &summary) : print_text(&summary));
    }
    code = st == DIT_OK ? exit_code_of(&summary) : suite_cli_fail(&cli, st);
    suite_cli_release(&cli);
    return code;
}
