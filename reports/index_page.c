/* The index page: a card for each session of a root, newest first, with its first figure and a link to its page. */
#include "reports/page/html.h"
#include "reports/page/html_link.h"
#include "reports/page/html_pieces.h"
#include "reports/sessions.h"

#include "base/file.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int count_at(const cJSON *object, const char *key)
{
    return (int)dit_json_number_or(object, key, 0);
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

typedef struct {
    int measured, simulated, without_page, holds, partly, fails, undecided;
} index_counts;

static void count_session(const report_session *session, index_counts *counts)
{
    const cJSON *claims = dit_json_member(session->facts.root, "claims");
    const char *evidence = report_session_fact(session, "evidence");
    counts->without_page += session->head.root && !session->facts.root;
    counts->measured += strstr(evidence, "measured") != NULL;
    counts->simulated += strstr(evidence, "simulated") != NULL;
    counts->holds += count_at(claims, "holds");
    counts->partly += count_at(claims, "partly");
    counts->fails += count_at(claims, "fails");
    counts->undecided += count_at(claims, "undecided");
}

/* "3 hold, 1 fails"; counts of 0 are left out. */
static void put_verdicts(const index_counts *counts, dit_buffer *out)
{
    const struct {
        int count;
        const char *one, *several;
    } verdicts[] = {{counts->holds, "holds", "hold"},
                    {counts->partly, "holds in part", "hold in part"},
                    {counts->fails, "fails", "fail"},
                    {counts->undecided, "is undecided", "are undecided"}};
    bool any = false;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (verdicts[i].count == 0) continue;
        dit_buffer_printf(out, "%s%d %s", any ? ", " : " Claims: ", verdicts[i].count,
                          verdicts[i].count == 1 ? verdicts[i].one : verdicts[i].several);
        any = true;
    }
    if (any) put(out, ".");
}

/* Whether `ditbench history --page` has written its page beside the sessions. */
static bool has_history(const report_sessions *sessions)
{
    char path[REPORT_PATH];
    return snprintf(path, sizeof path, "%.4000s/history.html", sessions->root) < REPORT_PATH && access(path, R_OK) == 0;
}

static void put_lead(const report_sessions *sessions, dit_buffer *out)
{
    index_counts counts = {0};
    for (int i = 0; i < sessions->count; i++) count_session(&sessions->rows[i], &counts);
    dit_buffer_printf(out,
                      "<p class=\"lead\">%d session%s, newest first: %d with measured and %d with simulated cases.",
                      sessions->count, sessions->count == 1 ? "" : "s", counts.measured, counts.simulated);
    put_verdicts(&counts, out);
    if (counts.without_page) {
        dit_buffer_printf(out, " %d session%s no page yet: <code>ditbench report --all</code> writes it.",
                          counts.without_page, counts.without_page == 1 ? " has" : "s have");
    }
    if (has_history(sessions)) put(out, " <a href=\"history.html\">How numbers went from session to session</a>.");
    put(out, "</p>\n");
}

/* ---- one card ---------------------------------------------------------------------------------------------------- */

static void put_title(const report_session *session, dit_buffer *out)
{
    const char *title = report_session_fact(session, "title");
    if (!title[0]) title = report_session_fact(session, "workload");
    char *href = report_session_href(session, true);
    if (!href) out->failed = true;
    put(out, "<h2>");
    if (session->facts.root && href) {
        put(out, "<a href=\"");
        put_text(out, href);
        put(out, "\">");
        put_text(out, title[0] ? title : session->name);
        put(out, "</a>");
    } else {
        put_text(out, title[0] ? title : session->name);
    }
    put(out, "</h2>\n");
    free(href);
}

/* The first figure, a file beside the session's page; its text is escaped where it was made. */
static void put_thumbnail(const report_session *session, dit_buffer *out)
{
    const cJSON *figures = dit_json_member(session->facts.root, "figures");
    const cJSON *first = cJSON_GetArrayItem(figures, 0);
    const char *id = dit_json_text_or(first, "id", NULL);
    const char *text = dit_json_text_or(first, "text", NULL);
    if (!id) return;
    put(out, "<img loading=\"lazy\" alt=\"");
    put_text(out, text && text[0] ? text : "The session's first figure");
    put(out, "\" src=\"");
    html_append_path(out, session->name);
    put(out, "/report/");
    html_append_path(out, id);
    put(out, ".svg\">\n");
}

static void put_count(const char *class, const char *word, int count, dit_buffer *out)
{
    char text[64];
    if (count == 0) return;
    snprintf(text, sizeof text, "%d %s", count, word);
    put_badge(out, class, text);
}

static void put_claims(const report_session *session, dit_buffer *out)
{
    const cJSON *claims = dit_json_member(session->facts.root, "claims");
    int holds = count_at(claims, "holds"), fails = count_at(claims, "fails");
    put(out, "<p class=\"badges\"><span class=\"soft\">Claims: </span>");
    put_count("holds", holds == 1 ? "holds" : "hold", holds, out);
    put_count("partly", "in part", count_at(claims, "partly"), out);
    put_count("fails", fails == 1 ? "fails" : "fail", fails, out);
    put_count("undecided", "undecided", count_at(claims, "undecided"), out);
    if (holds + fails + count_at(claims, "partly") + count_at(claims, "undecided") == 0) put(out, "none");
    put(out, "</p>\n");
}

static void put_fact(const char *name, const char *value, dit_buffer *out)
{
    if (!value[0]) return;
    dit_buffer_printf(out, "<div><dt>%s</dt><dd>", name);
    put_text(out, value);
    put(out, "</dd></div>\n");
}

static void put_cases(const report_session *session, dit_buffer *out)
{
    const cJSON *facts = session->facts.root, *agreement = dit_json_member(facts, "agreement");
    char text[96];
    if (!facts) return;
    snprintf(text, sizeof text, "%d of %d ok%s", count_at(facts, "cases_ok"), count_at(facts, "cases"),
             dit_json_is_true(facts, "complete") ? "" : ", not complete");
    put_fact("cases", text, out);
    if (!agreement) return;
    snprintf(text, sizeof text, "%.1f %% over %d point%s", 100 * dit_json_number_or(agreement, "median_error", 0),
             count_at(agreement, "compared"), count_at(agreement, "compared") == 1 ? "" : "s");
    put_fact("median error to published", text, out);
}

static void put_facts(const report_session *session, dit_buffer *out)
{
    const char *evidence = report_session_fact(session, "evidence"), *id = report_session_fact(session, "hardware_id");
    bool measured = !strstr(evidence, "simulated") || strstr(evidence, "measured");
    char hardware[256];
    snprintf(hardware, sizeof hardware, "%.120s%s%.12s%s", report_session_fact(session, "hardware"), id[0] ? " (" : "",
             id, id[0] ? ")" : "");
    put(out, "<dl class=\"facts\">\n");
    put_fact("name", report_session_fact(session, "name"), out);
    put_fact("note", report_session_fact(session, "note"), out);
    put_fact("workload", report_session_fact(session, "workload"), out);
    put_fact("started", report_session_fact(session, "started"), out);
    put_fact("commit", report_session_fact(session, "commit"), out);
    put_fact("evidence", evidence, out);
    put_fact("platform", report_session_fact(session, "platforms"), out);
    put_fact("software", report_session_fact(session, "profiles"), out);
    if (measured) put_fact("hardware", hardware, out);
    put_cases(session, out);
    put_fact("session", session->name, out);
    put(out, "</dl>\n");
}

static void put_state(const report_session *session, dit_buffer *out)
{
    const cJSON *projection = dit_json_member(session->facts.root, "projection");
    if (cJSON_IsTrue(projection)) {
        put(out, "<p class=\"notice small\">Projection: too little of this software has been measured on GPUs.</p>\n");
    }
    if (session->facts.root) return;
    put(out, "<p class=\"small\">");
    put(out, session->head.root ? "It has no page yet: <code>ditbench report "
                                : "The first line of its journal cannot be read: <code>ditbench verify ");
    put_text(out, session->name);
    put(out, "</code>.</p>\n");
}

static void put_card(const report_session *session, dit_buffer *out)
{
    put(out, "<article class=\"card\">\n");
    put_title(session, out);
    put_thumbnail(session, out);
    if (session->facts.root) put_claims(session, out);
    put_state(session, out);
    put_facts(session, out);
    put(out, "</article>\n");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void put_page(const report_sessions *sessions, dit_buffer *out)
{
    html_put_opening("sessions", out);
    put(out, "<header>\n<h1>ditbench sessions</h1>\n");
    put_lead(sessions, out);
    put(out, "</header>\n<main>\n<div class=\"cards\">\n");
    for (int i = 0; i < sessions->count; i++) put_card(&sessions->rows[i], out);
    put(out, "</div>\n</main>\n</body>\n</html>\n");
}

dit_status report_index_write(const report_sessions *sessions, char path[REPORT_PATH])
{
    dit_buffer html = {0};
    int length = snprintf(path, REPORT_PATH, "%.4000s/index.html", sessions->root);
    if (length >= REPORT_PATH) return DIT_FAIL(DIT_ERR_IO, "the path of the index page is too long");
    put_page(sessions, &html);
    const dit_file_piece piece = {html.data, html.used};
    dit_status st = html.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", path) : dit_file_write(path, &piece, 1);
    dit_buffer_release(&html);
    return st;
}
