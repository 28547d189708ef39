#include "reports/procurement/mix.h"

#include "reports/page/html.h"
#include "reports/page/html_table.h"
#include "reports/procurement/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 96, MACHINES = 40, CLASSES = 8 };

typedef struct {
    const cJSON *document;
    const report_procurement_options *options;
    chart_pictures pictures[2]; /* of rates, of waits */
    int drawn;
    char missing[512]; /* why there are no figures; "" */
} work;

static const char *const ways[] = {"one", "equal", "best"};
static const char *const way_names[] = {"one mesh", "replicas alike", "groups"};
static const char *const ids[] = {"rates", "waits"};
static const char *const titles[] = {"Requests an hour with every class in time",
                                     "How long each class waits, at that rate"};

static const cJSON *member_of(const cJSON *row, const char *key, const char *inner)
{
    const cJSON *one = dit_json_member(row, key);
    return one ? dit_json_member(one, inner) : NULL;
}

/* ---- figures ------------------------------------------------------------------------------------------------------------ */

static dit_status draw(work *w, int which, chart_rows *chart, const char *words)
{
    char footer[160];
    const cJSON *question = dit_json_member(w->document, "question");
    snprintf(footer, sizeof footer, "predicted (simulated, waiting by discrete events), software %.60s",
             dit_json_text_or(question, "profile", ""));
    chart->id = ids[which], chart->title = titles[which], chart->footer = footer, chart->words = words;
    if (chart->count == 0) return DIT_OK;
    dit_status st = chart_rows_draw(chart, w->options->folder, w->options->gnuplot, &w->pictures[which]);
    w->drawn += w->pictures[which].wide != NULL;
    return st;
}

/* A row a machine and way; the interval is that of the best way. */
static dit_status draw_rates(work *w)
{
    chart_row rows[3 * MACHINES];
    char labels[3 * MACHINES][TEXT], texts[3 * MACHINES][TEXT];
    const cJSON *machine;
    int count = 0;
    cJSON_ArrayForEach(machine, dit_json_member(w->document, "machines"))
    {
        for (int way = 0; way < 3 && count < 3 * MACHINES; way++) {
            const cJSON *division = dit_json_member(machine, ways[way]),
                        *rate = dit_json_member(machine, "requests_per_hour");
            double value = dit_json_number_or(division, "requests_per_hour", 0);
            if (value <= 0) continue;
            snprintf(labels[count], TEXT, "%.50s, %s", dit_json_text_or(machine, "platform", ""), way_names[way]);
            snprintf(texts[count], TEXT, "%.0f  %.40s", value, dit_json_text_or(division, "division", ""));
            rows[count] = (chart_row){.label = labels[count], .text = texts[count], .value = value, .hollow = way != 2};
            if (way == 2)
                rows[count].low = dit_json_number_or(rate, "lo", 0),
                rows[count].high = dit_json_number_or(rate, "hi", 0);
            count++;
        }
    }
    chart_rows chart = {.x_label = "requests an hour",
                        .x_log = true,
                        .rows = rows,
                        .count = count,
                        .value_name = "groups (others hollow)"};
    return draw(w, 0, &chart,
                "Requests an hour of each machine as one mesh, as replicas that are alike, and as groups by class.");
}

/* A row a machine and class of the best way: the 95th percentile, and the bound in words. */
static dit_status draw_waits(work *w)
{
    chart_row rows[CLASSES * MACHINES];
    char labels[CLASSES * MACHINES][TEXT], texts[CLASSES * MACHINES][TEXT];
    const cJSON *machine, *one, *classes = dit_json_member(w->document, "classes");
    int count = 0;
    cJSON_ArrayForEach(machine, dit_json_member(w->document, "machines"))
    {
        int k = 0;
        cJSON_ArrayForEach(one, member_of(machine, "best", "classes"))
        {
            double bound = dit_json_number_or(cJSON_GetArrayItem(classes, k++), "bound_s", 0);
            double p95 = dit_json_number_or(one, "p95_s", 0);
            if (count == CLASSES * MACHINES || p95 <= 0 || bound <= 0) continue;
            snprintf(labels[count], TEXT, "%.50s, %.30s", dit_json_text_or(machine, "platform", ""),
                     dit_json_text_or(one, "name", ""));
            snprintf(texts[count], TEXT, "%.3g s of %.3g s", p95, bound);
            rows[count] = (chart_row){.label = labels[count], .text = texts[count], .value = p95 / bound};
            count++;
        }
    }
    chart_rows chart = {.x_label = "95th percentile of the latency over its bound",
                        .rows = rows,
                        .count = count,
                        .value_name = "p95",
                        .interval_name = "",
                        .rule = {.at = 1, .label = "bound", .upright = true}};
    return draw(w, 1, &chart, "The 95th percentile of the latency of each class over its bound, for each machine.");
}

static dit_status draw_all(work *w)
{
    dit_status st = draw_rates(w);
    if (st == DIT_OK) st = draw_waits(w);
    if (st != DIT_ERR_ENVIRONMENT) return st;
    snprintf(w->missing, sizeof w->missing, "%s", dit_error_last()->message);
    dit_error_clear();
    return DIT_OK;
}

/* ---- the page --------------------------------------------------------------------------------------------------------------- */

static void put_head(const work *w, dit_buffer *out)
{
    const cJSON *question = dit_json_member(w->document, "question"), *one;
    char text[TEXT];
    put(out, "<header>\n<h1>Which machine for mixed traffic</h1>\n<p class=\"lead\">");
    put_text(out, dit_json_text_or(question, "model", ""));
    put(out, ", ");
    put_text(out, dit_json_text_or(w->document, "title", ""));
    put(out, ".</p>\n<ul class=\"plain\">\n");
    cJSON_ArrayForEach(one, dit_json_member(w->document, "classes"))
    {
        put(out, "<li><strong>");
        put_text(out, dit_json_text_or(one, "name", ""));
        snprintf(text, sizeof text, "</strong>: %.0f %% of requests, 95 %% of them within %g s</li>\n",
                 100 * dit_json_number_or(one, "share", 0), dit_json_number_or(one, "bound_s", 0));
        put(out, text);
    }
    put(out, "</ul>\n<p class=\"small soft\">Times are <strong>predicted</strong>: simulated, with the interval that "
             "errors on "
             "held-out published times support; software ");
    put_text(out, dit_json_text_or(question, "profile", ""));
    put(out, ". Machines are in order of requests an hour; where intervals overlap that is no order.</p>\n");
    put(out, "<p class=\"small\">Asked by <code>");
    put_text(out, dit_json_text_or(question, "command", ""));
    put(out, "</code></p>\n</header>\n");
}

static void put_text_cell(html_table *table, const char *format, double number)
{
    char text[TEXT];
    snprintf(text, sizeof text, format, number);
    if (number > 0)
        html_cell(table, text);
    else
        html_cell_none(table);
}

static void put_machine(html_table *table, const cJSON *machine)
{
    const cJSON *rate = dit_json_member(machine, "requests_per_hour"), *absent = dit_json_member(machine, "absent");
    char text[TEXT];
    html_row_open(table);
    html_cell(table, dit_json_text_or(machine, "platform", ""));
    for (int way = 0; way < 3; way++) {
        const cJSON *division = dit_json_member(machine, ways[way]);
        snprintf(text, sizeof text, "%.0f (%.40s)", dit_json_number_or(division, "requests_per_hour", 0),
                 dit_json_text_or(division, "division", ""));
        if (division)
            html_cell(table, text);
        else
            html_cell_none(table);
    }
    snprintf(text, sizeof text, "%.3g to %.3g", dit_json_number_or(rate, "lo", 0), dit_json_number_or(rate, "hi", 0));
    if (dit_json_number_or(rate, "hi", 0) > 0)
        html_cell(table, text);
    else
        html_cell_none(table);
    put_text_cell(table, "%.4g", dit_json_number_or(machine, "per_hour", 0));
    put_text_cell(table, "%.3g", dit_json_number_or(dit_json_member(machine, "per_1000"), "value", 0));
    html_cell(table, dit_json_text_or(absent, "division", dit_json_text_or(absent, "cost", "")));
    html_row_close(table);
}

static void put_figures(const work *w, dit_buffer *out)
{
    put(out, "<h2 id=\"figures\">Figures</h2>\n");
    if (w->missing[0]) put_element(out, "div class=\"notice\"", "div", w->missing);
    for (int i = 0; i < 2; i++)
        if (w->pictures[i].wide) picture_put(ids[i], titles[i], NULL, &w->pictures[i], out);
}

static dit_status write_page(const work *w)
{
    static const html_column columns[] = {{"machine", false, false},  {"one mesh/h", false, false},
                                          {"alike/h", false, false},  {"groups/h", false, false},
                                          {"interval", false, false}, {"price/h", true, false},
                                          {"per 1,000", true, false}, {"why not", false, true}};
    dit_buffer out = {0};
    const cJSON *machine;
    html_table table = {.out = &out, HTML_COLUMNS(columns)};
    html_put_opening_with("mixed traffic", "tbody th{white-space:nowrap}", &out);
    put_head(w, &out);
    put(&out, "<main>\n<h2 id=\"machines\">Machines</h2>\n");
    html_table_open(&table,
                    "A row is a machine with all its devices: requests an hour that each way of cutting it bears.");
    cJSON_ArrayForEach(machine, dit_json_member(w->document, "machines")) put_machine(&table, machine);
    html_table_close(&table);
    put_figures(w, &out);
    put(&out, "<p class=\"small soft\">All of it as data: <a href=\"mix.json\">mix.json</a>. Written by ditbench ");
    put_text(&out, w->options->program);
    put(&out, ".</p>\n</main>\n</body>\n</html>\n");
    return picture_page_write(&out, w->options->folder, "mix");
}

dit_status report_mix_write(const cJSON *document, const report_procurement_options *options, int *drawn)
{
    work w = {.document = document, .options = options};
    dit_status st = draw_all(&w);
    if (st == DIT_OK) st = write_page(&w);
    for (int i = 0; i < 2; i++) chart_pictures_release(&w.pictures[i]);
    *drawn = w.drawn;
    if (st == DIT_OK && w.missing[0]) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "no figures: %s", w.missing);
    return st;
}
