/* Results of the cases as a table, and what gave no number: failures and dropped cells. */
#include "reports/page/html.h"

#include "reports/page/html_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_ROWS = 5000 };

/* ---- results ----------------------------------------------------------------------------------------------------- */

static const report_metric result_metrics[] = {
    REPORT_LATENCY,     REPORT_SPEEDUP, REPORT_EXPOSED_COMMUNICATION, REPORT_COMMUNICATION_BYTES, REPORT_TOTAL_BYTES,
    REPORT_GFLOP_PER_S, REPORT_REL_L2};
enum { RESULT_METRICS = (int)(sizeof result_metrics / sizeof result_metrics[0]) };

static const html_column result_columns[] = {
    {"case", false, false},         {"status", false, false},     {"n", true, false},
    {"latency", true, false},       {"speedup", true, false},     {"exposed comm.", true, false},
    {"sent per rank", true, false}, {"peak memory", true, false}, {"GFLOP/s", true, false},
    {"rel. L2", true, false}};

static void add_tag(const report_case *kase, const char *tag, const char *before, char out[HTML_GROUP])
{
    char value[REPORT_TAG_TEXT];
    size_t used = strlen(out);
    if (!report_case_tag(kase, tag, value, sizeof value) || !value[0]) return;
    snprintf(out + used, HTML_GROUP - used, "%s%s", used ? before : "", value);
}

void html_group_of(const report_case *kase, char out[HTML_GROUP])
{
    out[0] = '\0';
    add_tag(kase, "model", "", out);
    add_tag(kase, "resolution", " · ", out);
    if (!report_case_is_simulated(kase)) return;
    add_tag(kase, "platform", " · simulated on ", out);
    add_tag(kase, "profile", " with software ", out);
}

static int compare_groups(const void *a, const void *b)
{
    const report_case *x = *(const report_case *const *)a, *y = *(const report_case *const *)b;
    char group_x[HTML_GROUP], group_y[HTML_GROUP];
    html_group_of(x, group_x);
    html_group_of(y, group_y);
    int order = strverscmp(group_x, group_y);
    return order ? order : (x > y) - (x < y); /* the table's own order */
}

static void put_metric(html_table *table, const report_case *kase, report_metric metric)
{
    const dit_summary *s = &kase->metric[metric];
    const report_metric_info *info = report_metric_get(metric);
    char median[REPORT_NUMBER_TEXT], low[REPORT_NUMBER_TEXT], high[REPORT_NUMBER_TEXT];
    if (s->n == 0) {
        html_cell_none(table);
        return;
    }
    if (info->unit == REPORT_UNIT_GFLOP_PER_S)
        report_format_plain(s->median, median); /* the column says it */
    else
        report_format(info->unit, s->median, median);
    html_cell_open(table);
    put_text(table->out, median);
    if (metric == REPORT_LATENCY && s->n > 1) {
        report_format(info->unit, s->low, low);
        report_format(info->unit, s->high, high);
        dit_buffer_printf(table->out, "<span class=\"range\">%s%s – %s</span>", s->low_n ? "range " : "", low, high);
    }
    html_cell_close(table);
}

/* The label without the "model resolution " that the group's heading says already. */
static const char *html_short_label(const report_case *kase)
{
    char model[REPORT_TAG_TEXT], resolution[REPORT_TAG_TEXT], prefix[2 * REPORT_TAG_TEXT + 4];
    report_case_tag(kase, "model", model, sizeof model);
    report_case_tag(kase, "resolution", resolution, sizeof resolution);
    snprintf(prefix, sizeof prefix, "%s %s ", model, resolution);
    size_t length = strlen(prefix);
    bool shorter = model[0] && resolution[0] && strncmp(kase->label, prefix, length) == 0 && kase->label[length];
    return kase->label + (shorter ? length : 0);
}

static void put_status(html_table *table, const report_case *kase)
{
    dit_buffer *out = table->out;
    char evidence[192];
    html_cell_open(table);
    put_badge(out, dit_outcome_name(kase->status), dit_outcome_name(kase->status));
    snprintf(evidence, sizeof evidence, "%s%s%s", kase->evidence, kase->engine ? " by " : "",
             kase->engine ? kase->engine : "");
    put_element(out, "span class=\"small\"", "span", evidence);
    if (kase->oversubscribed) put(out, "<div class=\"small\">ranks share cores</div>");
    if (kase->warning[0]) put_element(out, "div class=\"warning small\"", "div", kase->warning);
    if (kase->communication_mismatch) put(out, "<div class=\"small\">bytes differ from the closed form</div>");
    html_cell_close(table);
}

static void put_count(html_table *table, const report_case *kase)
{
    int n = kase->metric[REPORT_LATENCY].n;
    html_cell_open(table);
    dit_buffer_printf(table->out, "%d", n);
    if (kase->ok_count != kase->process_count) dit_buffer_printf(table->out, " of %d", kase->process_count);
    if (kase->metric[REPORT_LATENCY].low_n && n > 0)
        put(table->out, " <span class=\"verdict lown\" title=\"n &lt; 6: a range, never a verdict\">low n</span>");
    html_cell_close(table);
}

static void put_result(html_table *table, const report_case *kase)
{
    html_row_open(table);
    html_cell(table, html_short_label(kase));
    put_status(table, kase);
    put_count(table, kase);
    for (int i = 0; i < RESULT_METRICS; i++) put_metric(table, kase, result_metrics[i]);
    html_row_close(table);
}

static void put_result_rows(html_table *table, const report_case *const *cases, int count)
{
    char group[HTML_GROUP], previous[HTML_GROUP] = "", rest[96];
    for (int i = 0; i < count && i < RESULT_ROWS; i++) {
        html_group_of(cases[i], group);
        if (group[0] && strcmp(group, previous) != 0) html_row_across(table, "sub", group);
        memcpy(previous, group, sizeof previous);
        put_result(table, cases[i]);
    }
    if (count <= RESULT_ROWS) return;
    snprintf(rest, sizeof rest, "%d further cases are in results.csv", count - RESULT_ROWS);
    html_row_across(table, "", rest);
}

void html_put_results(const report_page *page, dit_buffer *out)
{
    const report_table *records = page->table;
    const report_case **cases = malloc(((size_t)records->case_count + 1) * sizeof *cases);
    html_table table = {.out = out, HTML_COLUMNS(result_columns)};
    put(out, "<p class=\"soft\">Each value is the median over the case's processes. The range under a latency is its "
             "interval (exact order statistics, at least 95 %); with fewer than 6 processes it is the range of all "
             "values. Speedup is the latency of the one-rank case over this latency. A mesh names the degree of each "
             "axis: <code>u</code> Ulysses, <code>r</code> ring, <code>pp</code> pipeline stages, <code>tp</code> "
             "tensor, <code>cfg</code> guidance branches, <code>dp</code> images; <code>M</code> is the number of "
             "patches of a pipeline and <code>W</code> the number of its synchronous warm-up steps. All metrics are in "
             "<a href=\"results.csv\">results.csv</a>.</p>\n");
    html_table_open(&table, "One row for each case.");
    if (!cases) out->failed = true;
    for (int i = 0; cases && i < records->case_count; i++) cases[i] = &records->cases[i];
    if (cases && records->case_count) qsort(cases, (size_t)records->case_count, sizeof *cases, compare_groups);
    if (cases) put_result_rows(&table, cases, records->case_count);
    html_table_close(&table);
    free(cases);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void put_error(html_table *table, const report_failure *failure)
{
    dit_buffer *out = table->out;
    html_cell_open(table);
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
    html_cell_close(table);
}

static void put_failure(html_table *table, const report_case *kase)
{
    html_row_open(table);
    html_cell(table, kase->label);
    html_cell_open(table);
    put_badge(table->out, dit_outcome_name(kase->status), dit_outcome_name(kase->status));
    html_cell_close(table);
    html_cell_open(table);
    dit_buffer_printf(table->out, "%d of %d", kase->process_count - kase->ok_count, kase->process_count);
    html_cell_close(table);
    put_error(table, &kase->failure);
    html_row_close(table);
}

int html_count_failures(const report_page *page)
{
    int count = 0;
    for (int i = 0; i < page->table->case_count; i++) count += page->table->cases[i].status != DIT_OUTCOME_OK;
    return count;
}

void html_put_failures(const report_page *page, dit_buffer *out)
{
    static const html_column columns[] = {
        {"case", false, false}, {"status", false, false}, {"processes", true, false}, {"error", false, true}};
    html_table table = {.out = out, HTML_COLUMNS(columns)};
    html_table_open(&table, "Cases with a process that did not end ok.");
    for (int i = 0; i < page->table->case_count; i++) {
        if (page->table->cases[i].status != DIT_OUTCOME_OK) put_failure(&table, &page->table->cases[i]);
    }
    html_table_close(&table);
}

/* ---- dropped cells ----------------------------------------------------------------------------------------------- */

int html_count_dropped(const report_page *page)
{
    return page->table->dropped_count;
}

void html_put_dropped(const report_page *page, dit_buffer *out)
{
    static const html_column columns[] = {{"cell", false, false}, {"code", false, false}, {"reason", false, false}};
    const report_table *records = page->table;
    html_table table = {.out = out, HTML_COLUMNS(columns)};
    dit_buffer_printf(out,
                      "<details><summary>%d cell%s that the axes of the workload declare and that did not run, "
                      "with the reasons</summary>\n",
                      records->dropped_count, records->dropped_count == 1 ? "" : "s");
    html_table_open(&table, "One row for each dropped cell.");
    for (int i = 0; i < records->dropped_count && i < RESULT_ROWS; i++) {
        html_row_open(&table);
        html_cell(&table, records->dropped[i].cell);
        html_cell_open(&table);
        put_element(out, "code", "code", records->dropped[i].code);
        html_cell_close(&table);
        html_cell(&table, records->dropped[i].reason);
        html_row_close(&table);
    }
    html_table_close(&table);
    put(out, "</details>\n");
}
