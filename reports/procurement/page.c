#include "reports/procurement/page.h"

#include "reports/page/html_table.h"

#include <stdio.h>
#include <string.h>

enum { TEXT = 160 };

static const cJSON *question_of(const page_room *page)
{
    return dit_json_member(page->document, "question");
}

/* Three digits; all of a number of hundreds and more. */
static void write_number(double number, char out[TEXT])
{
    snprintf(out, TEXT, number >= 100 ? "%.0f" : "%.3g", number);
}

static void write_range(const split_range *range, char out[TEXT])
{
    char low[TEXT], high[TEXT];
    out[0] = '\0';
    if (range->low <= 0 && range->high <= 0) return;
    write_number(range->low, low);
    write_number(range->high, high);
    snprintf(out, TEXT, "%.40s to %.40s", range->low > 0 ? low : "0", range->high > 0 ? high : "no end");
}

/* ---- head -------------------------------------------------------------------------------------------------------------- */

static void put_bound(const page_room *page, dit_buffer *out)
{
    const cJSON *question = question_of(page);
    double bound = dit_json_number_or(question, "slo_s", 0), times = dit_json_number_or(question, "slo_times_alone", 0);
    double quantile = dit_json_number_or(question, "quantile", 0),
           rate = dit_json_number_or(question, "images_per_hour", 0);
    if (rate > 0) dit_buffer_printf(out, ", %.4g images an hour", rate);
    if (bound <= 0 && times <= 0) return;
    put(out, ", ");
    if (quantile > 0) dit_buffer_printf(out, "p%g of the latency ", 100 * quantile);
    dit_buffer_printf(out, "within %g %s", bound > 0 ? bound : times, bound > 0 ? "s" : "times one device alone");
    int spares = (int)dit_json_number_or(question, "spares", 0);
    if (spares) dit_buffer_printf(out, " while %d machine%s down", spares, spares == 1 ? " is" : "s are");
}

static void put_lead(const page_room *page, dit_buffer *out)
{
    const cJSON *question = question_of(page), *run = dit_json_member(page->document, "run");
    put(out, "<p class=\"lead\">");
    put_text(out, dit_json_text_or(question, "model", ""));
    if (run) {
        dit_buffer_printf(out, " at %.0fx%.0f", dit_json_number_or(run, "width_px", 0),
                          dit_json_number_or(run, "height_px", 0));
        if (dit_json_number_or(run, "num_frames", 1) > 1)
            dit_buffer_printf(out, ", %.0f frames", dit_json_number_or(run, "num_frames", 1));
        dit_buffer_printf(out, ", %.0f steps", dit_json_number_or(run, "num_inference_steps", 0));
    }
    dit_buffer_printf(out, ": scenario ");
    put_text(out, dit_json_text_or(question, "scenario", ""));
    put_bound(page, out);
    put(out, "; ranked by ");
    put_text(out, dit_json_text_or(question, "goal", ""));
    put(out, ".</p>\n");
}

static void put_fact(dit_buffer *out, const char *name, const char *text)
{
    put_element(out, "dt", "dt", name);
    put_element(out, "dd", "dd", text);
}

static void put_facts(const page_room *page, dit_buffer *out)
{
    const cJSON *question = question_of(page), *software = dit_json_member(page->document, "software");
    const cJSON *prices = dit_json_member(question, "prices");
    char text[TEXT];
    put(out, "<dl class=\"facts\"><div>");
    put_fact(out, "software", dit_json_text_or(question, "profile", ""));
    put(out, "</div><div>");
    put_fact(out, "scope", dit_json_text_or(question, "scope", ""));
    put(out, "</div><div>");
    put_fact(out, "element", dit_json_text_or(question, "element", ""));
    put(out, "</div><div>");
    snprintf(text, sizeof text, "%s, %s, %s", dit_json_text_or(prices, "kind", ""),
             dit_json_text_or(prices, "currency", ""), dit_json_text_or(prices, "date", ""));
    put_fact(out, "prices", text);
    put(out, "</div></dl>\n");
    if (software && !cJSON_IsTrue(dit_json_member(software, "measured")))
        put(out, "<div class=\"notice\">Projection: too little of this software has been measured on GPUs.</div>\n");
    const char *command = dit_json_text_or(question, "command", "");
    if (!command[0]) return;
    put(out, "<p class=\"small\">Asked by <code>");
    put_text(out, command);
    put(out, "</code></p>\n");
}

/* Who is first in at least 5 % of draws. */
static void put_leaders(const page_room *page, dit_buffer *out)
{
    int leaders = 0, ranked = 0;
    bool licensed = cJSON_IsTrue(split_part(page->document, "checked", "verdicts"));
    for (int i = 0; i < page->count; i++) {
        const cJSON *rank = dit_json_member(page->rows[i].row, "rank");
        ranked += rank != NULL;
        leaders += rank && cJSON_IsTrue(dit_json_member(rank, "leads"));
    }
    if (!ranked || !licensed) {
        put_element(out, "div class=\"notice\"", "div",
                    !ranked ? "Nothing is ranked: no answer has both a number to rank by and an interval."
                            : "No verdicts: intervals or verdicts did not hold when they were checked.");
        return;
    }
    dit_buffer_printf(out, "<p>%s of %d: ", leaders == 1 ? "<strong>Best</strong>" : "<strong>May be best</strong>",
                      ranked);
    for (int i = 0, told = 0; i < page->count; i++) {
        const split_row *split = &page->rows[i];
        if (!cJSON_IsTrue(split_part(split->row, "rank", "leads"))) continue;
        put(out, told++ ? ", " : "");
        put_text(out, split->name);
        put(out, " <code>");
        put_text(out, split->mesh);
        put(out, "</code>");
    }
    put(out, leaders == 1 ? ".</p>\n" : ". Each is first in at least 5 % of draws from held-out errors.</p>\n");
}

void page_put_head(const page_room *page, dit_buffer *out)
{
    put(out, "<header>\n<h1>Which machine</h1>\n");
    put_lead(page, out);
    put_leaders(page, out);
    put(out,
        "<p class=\"small soft\">Times are <strong>predicted</strong>: simulated, with the interval that errors on "
        "held-out published times support. Prices are <strong>quoted</strong>. Watts are predicted from published "
        "fits, or assumed. Nothing here was measured.</p>\n");
    put_facts(page, out);
    put(out, "</header>\n");
}

/* ---- the table ----------------------------------------------------------------------------------------------------------- */

static void put_cell(html_table *table, const char *text)
{
    if (text[0])
        html_cell(table, text);
    else
        html_cell_none(table);
}

static void put_number(html_table *table, double number)
{
    char text[TEXT] = "";
    if (number > 0) write_number(number, text);
    put_cell(table, text);
}

static void put_range(html_table *table, const split_range *range)
{
    char text[TEXT];
    write_range(range, text);
    put_cell(table, text);
}

static const char *class_of(const char *verdict)
{
    if (strcmp(verdict, "meets") == 0) return "holds";
    if (strcmp(verdict, "misses") == 0) return "fails";
    return "undecided";
}

static void put_verdict(html_table *table, const split_row *split)
{
    const cJSON *slo = dit_json_member(split->row, "slo");
    const char *verdict = dit_json_text_or(slo, "verdict", "");
    if (!slo) {
        html_cell_none(table);
        return;
    }
    html_cell_open(table);
    dit_buffer_printf(table->out, "<span class=\"verdict %s\">", class_of(verdict));
    put_text(table->out, verdict);
    put(table->out, "</span>");
    if (dit_json_number_or(slo, "p_within", -1) >= 0 && strcmp(verdict, "meets") != 0 && strcmp(verdict, "misses") != 0)
        dit_buffer_printf(table->out, "%.0f %%", 100 * dit_json_number_or(slo, "p_within", 0));
    html_cell_close(table);
}

static void put_price(html_table *table, const split_row *split)
{
    const cJSON *cost = dit_json_member(split->row, "cost");
    char text[TEXT];
    if (!cost) {
        html_cell(table, "none");
        return;
    }
    snprintf(text, sizeof text, "%.4g (%s%s)", dit_json_number_or(cost, "per_hour", 0),
             dit_json_text_or(cost, "newest", ""), cJSON_IsTrue(dit_json_member(cost, "derived")) ? ", derived" : "");
    html_cell(table, text);
}

static void put_fleet(html_table *table, const split_row *split)
{
    const cJSON *fleet = dit_json_member(split->row, "fleet");
    char text[TEXT] = "";
    double low = dit_json_number_or(fleet, "lo", 0), high = dit_json_number_or(fleet, "hi", 0);
    if (fleet && high > 0)
        snprintf(text, sizeof text, "%.0f (%.0f to %.0f)", dit_json_number_or(fleet, "machines", 0), low, high);
    else if (fleet)
        snprintf(text, sizeof text, "%.0f or more", dit_json_number_or(fleet, "machines", 0));
    put_cell(table, text);
}

static void put_supply(html_table *table, const split_row *split)
{
    const cJSON *supply = dit_json_member(split->row, "supply");
    char text[TEXT] = "";
    if (supply) snprintf(text, sizeof text, "%.0f", dit_json_number_or(supply, "machines", 0));
    put_cell(table, text);
}

static void put_even(html_table *table, const split_row *split)
{
    const cJSON *even = split_part(split->row, "own", "break_even");
    const char *kind = dit_json_text_or(even, "kind", "");
    char text[TEXT] = "";
    if (strcmp(kind, "at") == 0)
        snprintf(text, sizeof text, "above %.0f h a month", dit_json_number_or(even, "hours", 0));
    else if (even)
        snprintf(text, sizeof text, "%s", strcmp(kind, "own") == 0 ? "always" : "never");
    put_cell(table, text);
}

static void put_rank(html_table *table, const split_row *split)
{
    const cJSON *rank = dit_json_member(split->row, "rank");
    double low = dit_json_number_or(rank, "lo", 0), high = dit_json_number_or(rank, "hi", 0);
    char text[TEXT] = "";
    if (rank) snprintf(text, sizeof text, low == high ? "%.0f" : "%.0f to %.0f", low, high);
    put_cell(table, text);
}

static void put_name(html_table *table, const split_row *split)
{
    html_cell(table, split->name);
}
static void put_mesh(html_table *table, const split_row *split)
{
    html_cell(table, split->mesh);
}
static void put_replicas(html_table *table, const split_row *split)
{
    put_number(table, split->replicas);
}
static void put_latency(html_table *table, const split_row *split)
{
    put_number(table, split->service.value);
}
static void put_interval(html_table *table, const split_row *split)
{
    if (split->service.low > 0)
        put_range(table, &split->service);
    else
        html_cell(table, "none");
}
static void put_base(html_table *table, const split_row *split)
{
    put_number(table, dit_json_number_or(dit_json_member(split->row, "base"), "seconds", 0));
}
static void put_rate(html_table *table, const split_row *split)
{
    put_number(table, split->rate.value);
}
static void put_per_1000(html_table *table, const split_row *split)
{
    put_number(table, split->per_1000.value);
}
static void put_costs(html_table *table, const split_row *split)
{
    put_range(table, &split->per_1000);
}
static void put_own_1000(html_table *table, const split_row *split)
{
    put_number(table, split->own_1000.value);
}
static void put_watts(html_table *table, const split_row *split)
{
    put_number(table, dit_json_number_or(dit_json_member(split->row, "power"), "server_w", 0));
}
static void put_kwh(html_table *table, const split_row *split)
{
    put_number(table, dit_json_number_or(dit_json_member(split->row, "power"), "images_per_kwh", 0));
}
static void put_memory(html_table *table, const split_row *split)
{
    put_number(table, dit_json_number_or(split->row, "memory_bytes", 0) / 0x1p30);
}

static void put_batch(html_table *table, const split_row *split)
{
    put_number(table, dit_json_number_or(split->row, "batch", 0));
}
static void put_exact(html_table *table, const split_row *split)
{
    put_number(table, dit_json_number_or(split->row, "exact_s", 0));
}
static void put_pictures(html_table *table, const split_row *split)
{
    bool exact = cJSON_IsTrue(dit_json_member(split->row, "exact"));
    html_cell(table, exact ? "fp8, quality unknown" : "stale, quality unknown");
}

/* needs: a member that some row must have, else the column is left out; NULL: none. */
typedef struct {
    html_column column;
    const char *needs;
    void (*put)(html_table *table, const split_row *split);
} answer_column;

static const answer_column all_columns[] = {
    {{"machine", false, false}, NULL, put_name},
    {{"mesh", false, false}, NULL, put_mesh},
    {{"pictures", false, false}, "quality", put_pictures},
    {{"replicas", true, false}, NULL, put_replicas},
    {{"batch", true, false}, "batch", put_batch},
    {{"latency s", true, false}, NULL, put_latency},
    {{"exact s", true, false}, "exact_s", put_exact},
    {{"interval s", false, false}, NULL, put_interval},
    {{"base s", true, false}, "base", put_base},
    {{"bound", false, false}, "slo", put_verdict},
    {{"images/h", true, false}, NULL, put_rate},
    {{"machines", false, false}, "fleet", put_fleet},
    {{"supply", true, false}, "supply", put_supply},
    {{"price/h", false, false}, NULL, put_price},
    {{"per 1,000", true, false}, "cost", put_per_1000},
    {{"lo to hi", false, false}, "cost", put_costs},
    {{"own per 1,000", true, false}, "own", put_own_1000},
    {{"own pays", false, false}, "own", put_even},
    {{"server W", true, false}, "power", put_watts},
    {{"images/kWh", true, false}, "power", put_kwh},
    {{"rank", false, false}, "rank", put_rank},
    {{"GiB", true, false}, NULL, put_memory},
};
enum { COLUMNS = sizeof all_columns / sizeof *all_columns };

static bool is_needed(const page_room *page, const answer_column *column)
{
    for (int i = 0; column->needs && i < page->count; i++)
        if (dit_json_member(page->rows[i].row, column->needs)) return true;
    return !column->needs;
}

static void put_table(const page_room *page, bool all, const char *caption, dit_buffer *out)
{
    html_column columns[COLUMNS];
    const answer_column *chosen[COLUMNS];
    html_table table = {.out = out, .columns = columns};
    for (int i = 0; i < COLUMNS; i++) {
        if (!is_needed(page, &all_columns[i])) continue;
        chosen[table.count] = &all_columns[i];
        columns[table.count++] = all_columns[i].column;
    }
    html_table_open(&table, caption);
    for (int i = 0; i < page->count; i++) {
        if (!all && !page->rows[i].answers) continue;
        html_row_open(&table);
        for (int j = 0; j < table.count; j++) chosen[j]->put(&table, &page->rows[i]);
        html_row_close(&table);
    }
    html_table_close(&table);
}

/* ---- two machines, and what the first hangs on ----------------------------------------------------------------------------- */

static const char *name_at(const page_room *page, const char *key)
{
    const cJSON *versus = dit_json_member(page->document, "versus");
    const cJSON *row =
        cJSON_GetArrayItem(dit_json_member(page->document, "splits"), (int)dit_json_number_or(versus, key, -1));
    for (int i = 0; i < page->count; i++)
        if (page->rows[i].row == row) return page->rows[i].name;
    return "";
}

static void put_versus(const page_room *page, dit_buffer *out)
{
    static const char *const words[] = {"faster", "cheaper"};
    static const char *const evens[] = {"even_per_hour_a", "even_per_hour_b"};
    const cJSON *versus = dit_json_member(page->document, "versus");
    const char *a = name_at(page, "a"), *b = name_at(page, "b");
    if (!versus) return;
    put(out, "<h2>One against the other</h2>\n<ul class=\"plain\">\n");
    for (int i = 0; i < 2; i++) {
        const cJSON *judged = dit_json_member(versus, words[i]);
        if (!judged) continue;
        put(out, "<li>");
        put_text(out, a);
        dit_buffer_printf(out, " is %s than ", words[i]);
        put_text(out, b);
        dit_buffer_printf(out, " with %.0f %%: ", 100 * dit_json_number_or(judged, "p_a", 0));
        put_text(out, dit_json_text_or(judged, "verdict", "no verdict"));
        put(out, ".</li>\n");
    }
    for (int i = 0; i < 2; i++) {
        double even = dit_json_number_or(versus, evens[i], 0);
        if (even <= 0) continue;
        put(out, "<li>It turns where ");
        put_text(out, i ? b : a);
        dit_buffer_printf(out, " costs %.4g an hour.</li>\n", even);
    }
    put(out, "</ul>\n");
}

static void put_sensitivities(const page_room *page, dit_buffer *out)
{
    const cJSON *list = dit_json_member(page->document, "sensitivity"), *one;
    bool cost = strcmp(dit_json_text_or(question_of(page), "goal", ""), "cost") == 0;
    int told = 0;
    if (cJSON_GetArraySize(list) == 0) return;
    dit_buffer_printf(out, "<p>%s of the first would be ", cost ? "Cost" : "Time");
    cJSON_ArrayForEach(one, list)
    {
        if (told == 3) break;
        dit_buffer_printf(out, "%s%+.0f %% with ", told++ ? ", " : "",
                          100 * (dit_json_number_or(one, "factor", 1) - 1));
        put_text(out, dit_json_text_or(one, "what", ""));
    }
    put(out, ". Parts of the machine are changed in lower bounds alone.</p>\n");
}

/* Of the answers, and of machines without any, what there is none of. */
static void put_absent(const page_room *page, dit_buffer *out)
{
    const cJSON *list = dit_json_member(page->document, "splits"), *row, *reason;
    put(out, "<details><summary>What is missing, and why</summary>\n<ul class=\"plain\">\n");
    cJSON_ArrayForEach(row, list)
    {
        bool answers = cJSON_IsTrue(dit_json_member(row, "answers"));
        if (dit_json_member(row, "service_s") && !answers) continue;
        cJSON_ArrayForEach(reason, dit_json_member(row, "absent"))
        {
            put(out, "<li><strong>");
            put_text(out, dit_json_text_or(row, "platform", ""));
            dit_buffer_printf(out, "@%.0f</strong>, ", dit_json_number_or(row, "devices", 0));
            put_text(out, strcmp(reason->string, "service_s") == 0 ? "time" : reason->string);
            put(out, ": ");
            put_text(out, cJSON_GetStringValue(reason));
            put(out, "</li>\n");
        }
    }
    put(out, "</ul></details>\n");
}

/* Other pictures than those of the answers, in a table of their own. */
static void put_other(const page_room *page, dit_buffer *out)
{
    const page_room other = {.document = page->document, .rows = page->other, .count = page->other_count};
    if (page->other_count == 0) return;
    put(out, "<h2 id=\"other\">If pictures may differ</h2>\n<p>Pipelines, displaced patches and fp8. No score of these "
             "pictures was read or measured, and they are ranked with nobody.</p>\n");
    put_table(&other, true, "A row is a number of devices of a machine, and a way that gives other pictures.", out);
}

void page_put_answers(const page_room *page, dit_buffer *out)
{
    put(out, "<h2 id=\"answers\">Answers</h2>\n");
    put_table(
        page, false,
        "A row is a machine with the number of its devices that answers: the fewest within the bound, else the best.",
        out);
    put_sensitivities(page, out);
    put_versus(page, out);
    put(out, "<details><summary>Every number of devices</summary>\n");
    put_table(page, true, "A row is a number of devices of a machine.", out);
    put(out, "</details>\n");
    put_absent(page, out);
    put_other(page, out);
}

/* ---- what it rests on --------------------------------------------------------------------------------------------------------- */

static void put_check(const page_room *page, const char *key, const char *name, dit_buffer *out)
{
    const cJSON *check = split_part(page->document, "checked", key);
    put(out, "<li>");
    dit_buffer_printf(
        out,
        "Checked on %s: intervals that promise %.0f %% hold %.0f %% of %.0f groups (%.0f points); of %.0f "
        "verdicts on pairs %.0f are right (at least %.0f %%; %.0f %% where pairs of two groups count once).",
        name, 100 * dit_json_number_or(check, "promised", 0), 100 * dit_json_number_or(check, "covered_groups", 0),
        dit_json_number_or(check, "groups", 0), dit_json_number_or(check, "points", 0),
        dit_json_number_or(check, "verdicts", 0), dit_json_number_or(check, "right", 0),
        100 * dit_json_number_or(check, "right_at_least", 0),
        100 * dit_json_number_or(check, "right_at_least_by_groups", 0));
    if (!cJSON_IsTrue(dit_json_member(check, "allowed"))) {
        put(out, " No verdicts: ");
        put_text(out, dit_json_text_or(check, "why", ""));
    }
    put(out, "</li>\n");
}

/* Each class of errors once. */
static void put_classes(const page_room *page, dit_buffer *out)
{
    for (int i = 0; i < page->count; i++) {
        const cJSON *service = dit_json_member(page->rows[i].row, "service_s");
        const char *class = dit_json_text_or(service, "class", "");
        bool known = class[0] == '\0';
        for (int j = 0; j < i && !known; j++)
            known = strcmp(dit_json_text_or(dit_json_member(page->rows[j].row, "service_s"), "class", ""), class) == 0;
        if (known) continue;
        dit_buffer_printf(out, "<li>Intervals at %.0f %%: errors of “", 100 * dit_json_number_or(service, "level", 0));
        put_text(out, class);
        dit_buffer_printf(out, "”, %.0f points of %.0f groups.</li>\n", dit_json_number_or(service, "points", 0),
                          dit_json_number_or(service, "groups", 0));
    }
}

static void put_price_files(const page_room *page, dit_buffer *out)
{
    static const html_column price_columns[] = {
        {"file", false, false}, {"quotes from", false, false}, {"to", false, false}, {"SHA", false, false}};
    const cJSON *list = dit_json_member(page->document, "prices"), *row;
    html_table table = {.out = out, HTML_COLUMNS(price_columns)};
    html_table_open(&table, "A row is a file of prices.");
    cJSON_ArrayForEach(row, list)
    {
        char sha[16];
        snprintf(sha, sizeof sha, "%.12s", dit_json_text_or(row, "sha", ""));
        html_row_open(&table);
        html_cell(&table, dit_json_text_or(row, "file", ""));
        put_cell(&table, dit_json_text_or(row, "oldest", ""));
        put_cell(&table, dit_json_text_or(row, "newest", ""));
        html_cell(&table, sha);
        html_row_close(&table);
    }
    html_table_close(&table);
}

void page_put_rest(const page_room *page, const char *program, dit_buffer *out)
{
    const cJSON *question = question_of(page);
    put(out, "<h2 id=\"rests\">What it rests on</h2>\n<ul class=\"plain\">\n");
    put_classes(page, out);
    put_check(page, "left_out", "machines left out of the fit", out);
    put_check(page, "fitted", "fitted machines", out);
    put(out, "<li>Fitted values: <code>");
    put_text(out, dit_json_text_or(question, "calibration", ""));
    put(out, "</code>. Loading a model and cold starts are not counted.</li>\n</ul>\n");
    put(out, "<h2>Prices</h2>\n");
    put_price_files(page, out);
    put(out,
        "<p class=\"small soft\">All of it as data: <a href=\"procure.json\">procure.json</a>. Written by ditbench ");
    put_text(out, program ? program : "");
    put(out, ".</p>\n");
}
