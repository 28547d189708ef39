#include "reports/html.h"

#include "reports/html_pieces.h"
#include "reports/html_style.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HTML_ROWS = 5000, HTML_FACTS = 300 };

static void put_base64(dit_buffer *out, const char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = (const unsigned char *)bytes;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned group = (unsigned)b[i] << 16 | (left > 1 ? (unsigned)b[i + 1] << 8 : 0) | (left > 2 ? b[i + 2] : 0);
        char four[4] = {digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
                        left > 2 ? digits[group & 63] : '='};
        dit_buffer_append(out, four, sizeof four);
    }
}

/* ---- head -------------------------------------------------------------------------------------------------------- */

static const char *page_title(const report_page *page)
{
    const char *title = report_session_text(page->table, "workload/title");
    return title[0] ? title : report_session_text(page->table, "workload/name");
}

static void put_tile(dit_buffer *out, const char *number, const char *what)
{
    put(out, "<div class=\"tile\">");
    put_element(out, "b", "b", number);
    put_element(out, "span", "span", what);
    put(out, "</div>\n");
}

static bool has_simulated(const report_table *table)
{
    for (int i = 0; i < table->case_count; i++) {
        if (report_case_is_simulated(&table->cases[i])) return true;
    }
    return false;
}

static bool has_measured(const report_table *table)
{
    bool any = table->case_count == 0;
    for (int i = 0; i < table->case_count; i++) any = any || !report_case_is_simulated(&table->cases[i]);
    return any;
}

static void put_tiles(const report_page *page, dit_buffer *out)
{
    const report_summary *s = page->summary;
    char text[64];
    put(out, "<div class=\"tiles\">\n");
    snprintf(text, sizeof text, "%d of %d", s->cases_ok, s->cases);
    put_tile(out, text, "cases ok");
    snprintf(text, sizeof text, "%d", s->results);
    put_tile(out, text, "processes run");
    snprintf(text, sizeof text, "%d", s->dropped);
    put_tile(out, text, "cells dropped, with reason");
    if (has_simulated(page->table) || s->claims_partly) {
        snprintf(text, sizeof text, "%d / %d / %d / %d", s->claims_held, s->claims_partly, s->claims_failed,
                 s->claims_undecided);
        put_tile(out, text, "claims reproduced / partly / not / undecided");
    } else {
        snprintf(text, sizeof text, "%d / %d / %d", s->claims_held, s->claims_failed, s->claims_undecided);
        put_tile(out, text, "claims hold / fail / undecided");
    }
    put(out, "</div>\n");
}

static const char *state_of(const report_table *table)
{
    if (table->torn) return "not complete: the journal's last line was cut, what stands before it counts";
    if (table->complete) return "complete";
    return table->end_reason[0] ? "not complete: ended early" : "not complete: still running, or killed";
}

/* The kinds of evidence in the session; more than one is said loudly. */
static void put_evidence(const report_table *table, dit_buffer *out)
{
    const char *first = table->case_count ? table->cases[0].evidence : "";
    bool mixed = false;
    for (int i = 1; i < table->case_count; i++) mixed = mixed || strcmp(table->cases[i].evidence, first) != 0;
    put(out, "Evidence: ");
    put_element(out, "strong", "strong", mixed ? "mixed, see the labels" : first);
    put(out, ". ");
}

static void put_head(const report_page *page, dit_buffer *out)
{
    const report_table *table = page->table;
    put(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>ditbench: ");
    put_text(out, page_title(page));
    put(out, "</title>\n<style>\n");
    put(out, html_style);
    put(out, "</style>\n</head>\n<body>\n<main>\n");
    put_element(out, "h1", "h1", page_title(page));
    put(out, "<p class=\"soft\">Session <code>");
    put_text(out, report_session_text(table, "session_id"));
    put(out, "</code>, started ");
    put_text(out, report_session_text(table, "started"));
    put(out, ". ");
    put_text(out, report_session_text(table, "hardware/cpu"));
    put(out, ", hardware <code>");
    put_text(out, report_session_text(table, "hardware/hardware_id"));
    put(out, "</code>, commit <code>");
    put_text(out, report_session_text(table, "suite/commit"));
    put(out, "</code>. ");
    put_evidence(table, out);
    put(out, "The session is ");
    put_element(out, "strong", "strong", state_of(table));
    put(out, ".</p>\n");
    put_tiles(page, out);
    html_put_agreement(page->table, out);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static void put_claim(const report_claim *claim, const report_judgement *judgement, dit_buffer *out)
{
    put(out, "<tr><td>");
    put_badge(out, report_verdict_name(judgement->verdict),
              judgement->simulated ? report_verdict_reproduction(judgement->verdict)
                                   : report_verdict_name(judgement->verdict));
    put(out, "</td>");
    put_cell(out, report_judgement_evidence(judgement));
    put(out, "<td>");
    put_text(out, claim->claim);
    if (claim->source[0]) put_element(out, "div class=\"soft small\"", "div", claim->source);
    put(out, "<details><summary class=\"small\">expression</summary><pre>");
    put_text(out, claim->expr);
    if (claim->requires) put(out, "\nrequires ");
    put_text(out, claim->requires);
    if (claim->partly) put(out, "\npartly ");
    put_text(out, claim->partly);
    put(out, "</pre></details></td><td>");
    if (judgement->reason[0]) put_element(out, "div", "div", judgement->reason);
    if (claim->because && judgement->verdict != REPORT_CLAIM_HOLDS) put_element(out, "div", "div", claim->because);
    put_element(out, "pre", "pre", judgement->numbers.data);
    put(out, "</td></tr>\n");
}

static void put_claims(const report_page *page, dit_buffer *out)
{
    if (page->claim_count == 0) return;
    put(out,
        "<h2 id=\"claims\">Claims</h2>\n<p class=\"soft\">What the workload expects, judged on these records. A "
        "verdict on "
        "measured time needs at least 6 processes a case and must hold at both ends of every interval; simulated time "
        "is "
        "exact, and what it says of the real machine is no more than the agreement shown here.</p>\n"
        "<div "
        "class=\"scroll\"><table><thead><tr><th>verdict</th><th>evidence</th><th>claim</th><th>numbers</th></tr></"
        "thead><tbody>\n");
    for (int i = 0; i < page->claim_count; i++) put_claim(&page->claims[i], &page->judgements[i], out);
    put(out, "</tbody></table></div>\n");
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static void put_gaps(const report_grid *grid, dit_buffer *out)
{
    bool any = false;
    for (int i = 0; i < grid->count; i++) {
        const report_cell *cell = &grid->cells[i];
        if (cell->bar.n > 0) continue;
        if (!any) put(out, "<p>Gaps in this figure:</p><ul class=\"gaps\">\n");
        any = true;
        put(out, "<li><strong>");
        put_text(out, cell->kase->label);
        put(out, "</strong>: ");
        put_text(out, cell->bar.reason);
        put(out, "</li>\n");
    }
    if (any) put(out, "</ul>\n");
}

static void put_figure(const report_page *page, const report_drawing_result *figure, dit_buffer *out)
{
    put(out, "<figure>\n");
    if (figure->svg) {
        dit_buffer_printf(out, "<img width=\"%d\" alt=\"", figure->width);
        put_text(out, figure->plot.title);
        put(out, "\" src=\"data:image/svg+xml;base64,");
        put_base64(out, figure->svg, strlen(figure->svg));
        put(out, "\">\n");
    } else {
        put_element(out, "h3", "h3", figure->plot.title);
        put_element(out, "p", "p", figure->error);
    }
    put(out, "<figcaption>");
    if (figure->kind) put_element(out, "p", "p", figure->kind->reading);
    put(out, "<p>Records: <code>");
    put_text(out, report_session_text(page->table, "session_id"));
    put(out, "/journal.jsonl</code>");
    if (figure->svg) {
        const char *id = figure->id; /* letters, digits, - and _ */
        dit_buffer_printf(
            out, ". Files: <a href=\"%s.csv\">CSV</a>, <a href=\"%s.svg\">SVG</a>, <a href=\"%s.png\">PNG</a>, ", id,
            id, id);
        dit_buffer_printf(out, "<a href=\"%s.gp\">script</a>, <a href=\"%s.dat\">data</a>", id, id);
    }
    put(out, ".</p>\n");
    html_put_figure_agreement(&figure->grid, out);
    if (figure->grid.left_out) {
        dit_buffer_printf(out, "<p>One picture holds so much: %d further cases are not drawn.</p>\n",
                          figure->grid.left_out);
    }
    put_gaps(&figure->grid, out);
    put(out, "</figcaption>\n</figure>\n");
}

static void put_figures(const report_page *page, dit_buffer *out)
{
    int shown = 0;
    put(out, "<h2 id=\"figures\">Figures</h2>\n");
    for (int i = 0; i < page->figure_count; i++) {
        if (page->figures[i].left_out) continue;
        put_figure(page, &page->figures[i], out);
        shown++;
    }
    if (shown == 0) put(out, "<p>None: no case has numbers to draw.</p>\n");
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static const report_metric result_columns[] = {
    REPORT_LATENCY,     REPORT_SPEEDUP, REPORT_EXPOSED_COMMUNICATION, REPORT_COMMUNICATION_BYTES, REPORT_TOTAL_BYTES,
    REPORT_GFLOP_PER_S, REPORT_REL_L2};
static const char *const result_titles[] = {"latency",     "speedup", "exposed comm.", "sent per rank",
                                            "peak memory", "GFLOP/s", "rel. L2"};
enum { RESULT_COLUMNS = (int)(sizeof result_columns / sizeof result_columns[0]) };

/* What cases are grouped under: model and resolution. */
static void group_of(const report_case *kase, char *out, size_t capacity)
{
    char model[REPORT_TAG_TEXT], resolution[REPORT_TAG_TEXT];
    report_case_tag(kase, "model", model, sizeof model);
    report_case_tag(kase, "resolution", resolution, sizeof resolution);
    snprintf(out, capacity, "%s%s%s", model, resolution[0] ? " · " : "", resolution);
}

static int compare_groups(const void *a, const void *b)
{
    const report_case *x = *(const report_case *const *)a, *y = *(const report_case *const *)b;
    char group_x[2 * REPORT_TAG_TEXT + 8], group_y[2 * REPORT_TAG_TEXT + 8];
    group_of(x, group_x, sizeof group_x);
    group_of(y, group_y, sizeof group_y);
    int order = strverscmp(group_x, group_y);
    return order ? order : (x > y) - (x < y); /* the table's own order */
}

static void put_metric(const report_case *kase, report_metric metric, dit_buffer *out)
{
    const dit_summary *s = &kase->metric[metric];
    const report_metric_info *info = report_metric_get(metric);
    char median[REPORT_NUMBER_TEXT], low[REPORT_NUMBER_TEXT], high[REPORT_NUMBER_TEXT];
    if (s->n == 0) {
        put_number(out, "–");
        return;
    }
    if (info->unit == REPORT_UNIT_GFLOP_PER_S)
        report_format_plain(s->median, median); /* the column says it */
    else
        report_format(info->unit, s->median, median);
    put(out, "<td class=\"num\">");
    put_text(out, median);
    if (metric == REPORT_LATENCY && s->n > 1) {
        report_format(info->unit, s->low, low);
        report_format(info->unit, s->high, high);
        dit_buffer_printf(out, "<span class=\"range\">%s%s – %s</span>", s->low_n ? "range " : "", low, high);
    }
    put(out, "</td>");
}

/* The label without the "model resolution " that the group's heading says already. */
static const char *short_label(const report_case *kase)
{
    char model[REPORT_TAG_TEXT], resolution[REPORT_TAG_TEXT], prefix[2 * REPORT_TAG_TEXT + 4];
    report_case_tag(kase, "model", model, sizeof model);
    report_case_tag(kase, "resolution", resolution, sizeof resolution);
    snprintf(prefix, sizeof prefix, "%s %s ", model, resolution);
    size_t length = strlen(prefix);
    bool shorter = model[0] && resolution[0] && strncmp(kase->label, prefix, length) == 0 && kase->label[length];
    return kase->label + (shorter ? length : 0);
}

static void put_result(const report_case *kase, dit_buffer *out)
{
    int n = kase->metric[REPORT_LATENCY].n;
    put(out, "<tr>");
    put_element(out, "td class=\"label\"", "td", short_label(kase));
    put(out, "<td>");
    put_badge(out, report_status_name(kase->status), report_status_name(kase->status));
    put_element(out, "div class=\"small\"", "div", kase->evidence);
    if (kase->oversubscribed) put(out, "<div class=\"small\">ranks share cores</div>");
    if (kase->warning[0]) put_element(out, "div class=\"warning small\"", "div", kase->warning);
    if (kase->communication_mismatch) put(out, "<div class=\"small\">bytes differ from the closed form</div>");
    dit_buffer_printf(out, "</td><td class=\"num\">%d", n);
    if (kase->ok_count != kase->process_count) dit_buffer_printf(out, " of %d", kase->process_count);
    if (kase->metric[REPORT_LATENCY].low_n && n > 0)
        put(out, " <span class=\"verdict lown\" title=\"n &lt; 6: a range, never a verdict\">low n</span>");
    put(out, "</td>");
    for (int i = 0; i < RESULT_COLUMNS; i++) put_metric(kase, result_columns[i], out);
    put(out, "</tr>\n");
}

static void put_result_rows(const report_case *const *cases, int count, dit_buffer *out)
{
    char group[2 * REPORT_TAG_TEXT + 8], previous[2 * REPORT_TAG_TEXT + 8] = "";
    for (int i = 0; i < count && i < HTML_ROWS; i++) {
        group_of(cases[i], group, sizeof group);
        if (group[0] && strcmp(group, previous) != 0) {
            dit_buffer_printf(out, "<tr><td class=\"sub\" colspan=\"%d\">", RESULT_COLUMNS + 3);
            put_text(out, group);
            put(out, "</td></tr>\n");
        }
        memcpy(previous, group, sizeof previous);
        put_result(cases[i], out);
    }
    if (count > HTML_ROWS) {
        dit_buffer_printf(out, "<tr><td colspan=\"%d\">%d further cases are in results.csv</td></tr>\n",
                          RESULT_COLUMNS + 3, count - HTML_ROWS);
    }
}

static void put_results(const report_page *page, dit_buffer *out)
{
    const report_table *table = page->table;
    const report_case **cases = malloc(((size_t)table->case_count + 1) * sizeof *cases);
    put(out,
        "<h2 id=\"results\">Results</h2>\n<p class=\"soft\">One row a case: median over its processes. Under a latency "
        "stands "
        "its interval (exact order statistics, at least 95 %), or with fewer than 6 processes the range. Speedup is "
        "the "
        "ratio of median latencies to the one-rank case. All metrics: <a href=\"results.csv\">results.csv</a>.</p>\n"
        "<div class=\"scroll\"><table><thead><tr><th>case</th><th>status</th><th class=\"num\">n</th>");
    for (int i = 0; i < RESULT_COLUMNS; i++) put_element(out, "th class=\"num\"", "th", result_titles[i]);
    put(out, "</tr></thead><tbody>\n");
    if (!cases) out->failed = true;
    for (int i = 0; cases && i < table->case_count; i++) cases[i] = &table->cases[i];
    if (cases && table->case_count) qsort(cases, (size_t)table->case_count, sizeof *cases, compare_groups);
    if (cases) put_result_rows(cases, table->case_count, out);
    put(out, "</tbody></table></div>\n");
    free(cases);
}

/* ---- what gave no number ----------------------------------------------------------------------------------------- */

static void put_failure(const report_case *kase, dit_buffer *out)
{
    const report_failure *failure = &kase->failure;
    put(out, "<tr>");
    put_cell(out, kase->label);
    put(out, "<td>");
    put_badge(out, report_status_name(kase->status), report_status_name(kase->status));
    dit_buffer_printf(out, "</td><td class=\"num\">%d of %d</td><td>", kase->process_count - kase->ok_count,
                      kase->process_count);
    put_element(out, "code", "code", failure->code);
    if (failure->phase && failure->phase[0]) put_element(out, "span class=\"soft\"", "span", " in ");
    put_text(out, failure->phase);
    put(out, "<br>");
    put_text(out, failure->message);
    if (failure->hint && failure->hint[0]) put_element(out, "div class=\"soft\"", "div", failure->hint);
    if (failure->log && failure->log[0]) {
        put(out, "<details><summary class=\"small\">log</summary><pre>");
        put_text(out, failure->log);
        put(out, "</pre></details>");
    }
    put(out, "</td></tr>\n");
}

static void put_failures(const report_page *page, dit_buffer *out)
{
    bool any = false;
    for (int i = 0; i < page->table->case_count; i++) {
        const report_case *kase = &page->table->cases[i];
        if (kase->status == REPORT_STATUS_OK) continue;
        if (!any) {
            put(out, "<h2 id=\"failures\">Failures</h2>\n<div "
                     "class=\"scroll\"><table><thead><tr><th>case</th><th>status</th>"
                     "<th class=\"num\">processes</th><th>error</th></tr></thead><tbody>\n");
        }
        any = true;
        put_failure(kase, out);
    }
    if (any) put(out, "</tbody></table></div>\n");
}

static void put_dropped(const report_page *page, dit_buffer *out)
{
    const report_table *table = page->table;
    if (table->dropped_count == 0) return;
    put(out,
        "<h2 id=\"dropped\">Dropped cells</h2>\n<p class=\"soft\">Declared by the workload's axes, but not run.</p>\n"
        "<div class=\"scroll\"><table><thead><tr><th>cell</th><th>code</th><th>reason</th></tr></thead><tbody>\n");
    for (int i = 0; i < table->dropped_count && i < HTML_ROWS; i++) {
        put(out, "<tr>");
        put_cell(out, table->dropped[i].cell);
        put(out, "<td>");
        put_element(out, "code", "code", table->dropped[i].code);
        put(out, "</td>");
        put_cell(out, table->dropped[i].reason);
        put(out, "</tr>\n");
    }
    put(out, "</tbody></table></div>\n");
}

/* ---- method and environment -------------------------------------------------------------------------------------- */

static void put_simulation(dit_buffer *out)
{
    static const char *const paragraphs[] = {
        "Simulated cases ran the engine's own code, methods and messages, on a declared machine that is not here: each "
        "operator charges the time that a cost model gives it to its rank's virtual clock, messages share the links of "
        "the declared network. Their latency is virtual time, the same in every run, so n is 1 and no interval is "
        "shown. Memory is counted, not allocated, in the element type of the simulation.",
        "Published numbers are what others printed, with the reading error of the source. They are drawn as hollow "
        "points and enter no median, no claim and no line.",
    };
    put(out, "<h2 id=\"simulation\">How it was simulated</h2>\n");
    for (size_t i = 0; i < sizeof paragraphs / sizeof paragraphs[0]; i++) put_element(out, "p", "p", paragraphs[i]);
    put(out, "\n");
}

static void put_method(dit_buffer *out)
{
    static const char *const paragraphs[] = {
        "An iteration is one whole batch of images: preparing the text, all denoising steps, collecting the latents. "
        "Its "
        "clock (monotonic) starts after a barrier of all ranks and stops, on each rank, when the rank has its result; "
        "the "
        "value is the maximum over ranks. Loading weights, making the initial noise and the warm-up runs are outside.",
        "The unit of replication is a fresh group of processes; its value is the median of its iterations. n counts "
        "such "
        "groups, which ran in randomised blocks. The point estimate is the median over them. The interval consists of "
        "exact order statistics, with a coverage of at least 95 % from n = 6; below that the range is shown, marked "
        "low "
        "n, and never decides. Intervals of speedups combine the far ends of both intervals.",
        "Communication counts what one rank sends in one iteration, and must equal the closed form of the method. "
        "Memory "
        "is the peak by class of lifetime, maximum over ranks. Rel. L2 is the distance of the final latents to those "
        "of "
        "one rank. Only processes that ended ok give numbers.",
    };
    put(out, "<h2 id=\"method\">How it was measured</h2>\n");
    for (size_t i = 0; i < sizeof paragraphs / sizeof paragraphs[0]; i++) put_element(out, "p", "p", paragraphs[i]);
    put(out, "\n");
}

static void put_fact(const char *name, const cJSON *value, dit_buffer *out)
{
    char number[REPORT_NUMBER_TEXT];
    put(out, "<tr>");
    put_cell(out, name);
    put(out, "<td class=\"mono\">");
    if (cJSON_IsString(value)) put_text(out, value->valuestring);
    if (cJSON_IsNumber(value)) snprintf(number, sizeof number, "%.12g", value->valuedouble), put(out, number);
    if (cJSON_IsBool(value)) put(out, cJSON_IsTrue(value) ? "yes" : "no");
    put(out, "</td></tr>\n");
}

/* One row per leaf: "hardware.caches.0.bytes". */
static void put_facts(const char *prefix, const cJSON *node, int *left, dit_buffer *out)
{
    const cJSON *item;
    int index = 0;
    cJSON_ArrayForEach(item, node)
    {
        char name[256];
        if (item->string)
            snprintf(name, sizeof name, "%.160s.%.80s", prefix, item->string);
        else
            snprintf(name, sizeof name, "%.160s.%d", prefix, index);
        index++;
        if ((*left)-- <= 0) return;
        if (cJSON_IsObject(item) || cJSON_IsArray(item))
            put_facts(name, item, left, out);
        else
            put_fact(name, item, out);
    }
}

static void put_environment(const report_page *page, dit_buffer *out)
{
    static const char *const groups[] = {"suite", "hardware", "environment", "plan", "cmdline"};
    const cJSON *session = page->table->session.root;
    int left = HTML_FACTS;
    put(out, "<h2 id=\"environment\">Environment</h2>\n<div class=\"scroll\"><table><tbody>\n");
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        put_facts(groups[i], cJSON_GetObjectItemCaseSensitive(session, groups[i]), &left, out);
    }
    const cJSON *workload = cJSON_GetObjectItemCaseSensitive(session, "workload"), *item;
    cJSON_ArrayForEach(item, workload)
    {
        char name[128];
        snprintf(name, sizeof name, "workload.%.80s", item->string ? item->string : "");
        if (cJSON_IsString(item)) put_fact(name, item, out);
    }
    put(out, "</tbody></table></div>\n");
}

void report_html_write(const report_page *page, dit_buffer *out)
{
    put_head(page, out);
    put_claims(page, out);
    put_figures(page, out);
    html_put_published(page, out);
    put_results(page, out);
    put_failures(page, out);
    put_dropped(page, out);
    if (has_measured(page->table)) put_method(out);
    if (has_simulated(page->table)) put_simulation(out);
    put_environment(page, out);
    put(out, "</main>\n</body>\n</html>\n");
}
