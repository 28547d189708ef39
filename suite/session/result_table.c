#include "suite/session/result_table.h"

#include "base/words.h"
#include "suite/console/quantity.h"
#include "suite/console/table.h"
#include "suite/workload/tags.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64, TITLE_BYTES = 48, CELL_BYTES = 256, MOST_VARYING = 8 };

typedef enum {
    FROM_BEST,
    FROM_TAG,
    FROM_MESH,
    FROM_STATUS,
    FROM_METRIC,
    FROM_INTERVAL,
    FROM_LOW,
    FROM_HIGH,
    FROM_PUBLISHED,
    FROM_ERROR,
    FROM_CASE,
} column_source;

/* Where a column stands when none is named. */
typedef enum { USUAL, USUAL_FOR_PEOPLE, USUAL_IN_CSV } column_use;

typedef struct {
    const char *key, *csv_key, *title;
    column_source source;
    bool is_text;
    int spare;            /* suite_column */
    const char *tag;      /* FROM_TAG     */
    report_metric metric; /* FROM_METRIC  */
    column_use use;
} column_row;

/* In the order in which they stand; tags that vary come behind the size. */
static const column_row rows[] = {
    {"model", "model", "model", FROM_TAG, true, 0, "model", 0, USUAL},
    {"size", "resolution", "size", FROM_TAG, true, 0, "resolution", 0, USUAL},
    {"ranks", "world_size", "ranks", FROM_TAG, false, 0, "world_size", 0, USUAL},
    {"profile", "profile", "profile", FROM_TAG, true, 11, "profile", 0, USUAL_IN_CSV},
    {"method", "method", "method", FROM_TAG, true, 5, "method", 0, USUAL},
    {"mesh", "mesh", "mesh", FROM_MESH, true, 0, NULL, 0, USUAL},
    {"status", "status", "status", FROM_STATUS, true, 0, NULL, 0, USUAL},
    {"latency", "latency_s", "latency", FROM_METRIC, false, 0, NULL, REPORT_LATENCY, USUAL},
    {"best", "best", "", FROM_BEST, true, 0, NULL, 0, USUAL},
    {"interval", "interval_s", "interval", FROM_INTERVAL, false, 4, NULL, 0, USUAL_FOR_PEOPLE},
    {"low", "low_s", "low", FROM_LOW, false, 4, NULL, 0, USUAL_IN_CSV},
    {"high", "high_s", "high", FROM_HIGH, false, 4, NULL, 0, USUAL_IN_CSV},
    {"speedup", "speedup", "speed-up", FROM_METRIC, false, 1, NULL, REPORT_SPEEDUP, USUAL},
    {"published", "published_s", "published", FROM_PUBLISHED, false, 2, NULL, 0, USUAL},
    {"error", "error_to_published", "error", FROM_ERROR, false, 3, NULL, 0, USUAL},
    {"sent", "communication_bytes", "sent", FROM_METRIC, false, 7, NULL, REPORT_COMMUNICATION_BYTES, USUAL},
    {"memory", "total_bytes", "peak", FROM_METRIC, false, 6, NULL, REPORT_TOTAL_BYTES, USUAL},
    {"rel_l2", "rel_l2", "to one rank", FROM_METRIC, false, 8, NULL, REPORT_REL_L2, USUAL},
    {"oracle", "oracle_rel_l2", "to oracle", FROM_METRIC, false, 9, NULL, REPORT_ORACLE_REL_L2, USUAL},
    {"case", "case_id", "case", FROM_CASE, true, 10, NULL, 0, USUAL},
};
enum { ROW_COUNT = (int)(sizeof rows / sizeof *rows), BEHIND_SIZE = 2 };

/* The columns of one printing. */
typedef struct {
    column_row column[MOST_COLUMNS];
    int count;
} column_list;

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* Numbers stand right, where the first case has one. */
static column_row tag_column(const suite_results *results, const char *tag)
{
    double number;
    bool numbers = results->count && report_case_number(results->rows[0].kase, tag, &number);
    return (column_row){tag, tag, tag, FROM_TAG, !numbers, 11, tag, 0, USUAL};
}

static column_row metric_column(report_metric metric)
{
    const char *name = report_metric_get(metric)->name;
    return (column_row){name, name, name, FROM_METRIC, false, 11, NULL, metric, USUAL};
}

static const char *known_tag(const char *name)
{
    for (const char *const *tag = suite_tag_names(); *tag; tag++)
        if (strcmp(*tag, name) == 0) return *tag;
    return NULL;
}

static dit_status unknown_column(const char *name)
{
    const char *words[ROW_COUNT + REPORT_METRIC_COUNT + 1];
    char list[512];
    int count = 0;
    for (int i = 0; i < ROW_COUNT; i++) words[count++] = rows[i].key;
    for (int i = 0; i < REPORT_METRIC_COUNT; i++) words[count++] = report_metric_get((report_metric)i)->name;
    words[count] = NULL;
    const char *near = dit_nearest_word(name, words);
    words[ROW_COUNT] = NULL;
    dit_words_join(words, list, sizeof list);
    dit_status st = DIT_FAIL(DIT_ERR_NOT_FOUND, "no column \"%s\"", name);
    return dit_error_hint(st, "%s%s%scolumns are %s, and every tag and metric", near ? "did you mean " : "",
                          near ? near : "", near ? "? " : "", list);
}

static dit_status find_column(const suite_results *results, const char *name, column_row *out)
{
    report_metric metric;
    const char *tag = known_tag(name);
    for (int i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].key, name) == 0) return *out = rows[i], DIT_OK;
    if (report_metric_from_name(name, &metric)) return *out = metric_column(metric), DIT_OK;
    if (tag) return *out = tag_column(results, tag), DIT_OK;
    return unknown_column(name);
}

static dit_status choose_named(const suite_results *results, const char *list, column_list *out)
{
    char name[64];
    while (*list) {
        size_t length = strcspn(list, ", ");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), list);
        if (out->count == MOST_COLUMNS) return DIT_FAIL(DIT_ERR_USAGE, "more than %d columns", MOST_COLUMNS);
        DIT_TRY(find_column(results, name, &out->column[out->count++]));
        list += length;
        list += strspn(list, ", ");
    }
    for (int i = 0; i < out->count; i++) out->column[i].spare = 0; /* what was asked for stays */
    return DIT_OK;
}

static bool is_among(const char *const *words, int count, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0) return true;
    return false;
}

static void choose_usual(const suite_results *results, bool csv, column_list *out)
{
    const char *varying[MOST_VARYING];
    int count = suite_results_varying(results, varying, MOST_VARYING);
    for (int i = 0; i < ROW_COUNT; i++) {
        if (i == BEHIND_SIZE)
            for (int t = 0; t < count; t++) {
                out->column[out->count] = tag_column(results, varying[t]);
                out->column[out->count++].spare = 0;
            }
        bool varies = rows[i].tag && is_among(varying, count, rows[i].tag);
        if (rows[i].use != (csv ? USUAL_FOR_PEOPLE : USUAL_IN_CSV) && !varies) out->column[out->count++] = rows[i];
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static double published_error(const suite_result *row)
{
    const dit_summary *latency = &row->kase->metric[REPORT_LATENCY];
    return row->published && latency->n ? latency->median / row->published->value - 1 : NAN;
}

/* The column's number of a row; NAN when it has none or is of words. */
static double number_of(const suite_result *row, const column_row *column)
{
    const report_case *kase = row->kase;
    double number;
    switch (column->source) {
    case FROM_TAG: return report_case_number(kase, column->tag, &number) ? number : NAN;
    case FROM_METRIC: return kase->metric[column->metric].n ? kase->metric[column->metric].median : NAN;
    case FROM_PUBLISHED: return row->published ? row->published->value : NAN;
    case FROM_ERROR: return published_error(row);
    case FROM_LOW: return kase->metric[REPORT_LATENCY].n > 1 ? kase->metric[REPORT_LATENCY].low : NAN;
    case FROM_HIGH: return kase->metric[REPORT_LATENCY].n > 1 ? kase->metric[REPORT_LATENCY].high : NAN;
    case FROM_BEST: return row->best;
    default: return NAN;
    }
}

static void status_text(const report_case *kase, char out[CELL_BYTES])
{
    if (kase->ok_count && kase->ok_count < kase->process_count)
        snprintf(out, CELL_BYTES, "%d of %d ok", kase->ok_count, kase->process_count);
    else
        snprintf(out, CELL_BYTES, "%s", dit_outcome_name(kase->status));
}

/* The column's words; "" when the row has none. */
static void text_of(const suite_result *row, const column_row *column, char out[CELL_BYTES])
{
    out[0] = '\0';
    switch (column->source) {
    case FROM_TAG: report_case_tag(row->kase, column->tag, out, CELL_BYTES); break;
    case FROM_MESH: suite_result_mesh(row->kase, out, CELL_BYTES); break;
    case FROM_STATUS: status_text(row->kase, out); break;
    case FROM_CASE: snprintf(out, CELL_BYTES, "%.8s", row->kase->case_id); break;
    case FROM_BEST: snprintf(out, CELL_BYTES, "%s", row->best ? "*" : ""); break;
    default: break;
    }
}

/* ---- units ------------------------------------------------------------------------------------------------------- */

static report_unit unit_of(const column_row *column)
{
    if (column->source == FROM_METRIC) return report_metric_get(column->metric)->unit;
    return column->source == FROM_TAG || column->source == FROM_ERROR ? REPORT_UNIT_COUNT : REPORT_UNIT_SECONDS;
}

/* Latencies, their intervals and printed latencies are read against each other: they have one unit. */
static bool is_latency(const column_row *column)
{
    return column->source == FROM_PUBLISHED || column->source == FROM_INTERVAL || column->source == FROM_LOW ||
           column->source == FROM_HIGH || (column->source == FROM_METRIC && column->metric == REPORT_LATENCY);
}

static suite_quantity quantity_of(const suite_results *results, const column_row *column)
{
    static const column_row latency = {.source = FROM_METRIC, .metric = REPORT_LATENCY};
    static const column_row published = {.source = FROM_PUBLISHED};
    suite_quantity quantity = {0};
    for (int i = 0; i < results->count; i++) {
        const suite_result *row = &results->rows[i];
        if (report_case_is_oracle(row->kase)) continue;
        suite_quantity_see(&quantity, number_of(row, is_latency(column) ? &latency : column));
        if (is_latency(column)) suite_quantity_see(&quantity, number_of(row, &published));
    }
    suite_quantity_choose(&quantity, unit_of(column));
    return quantity;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* "0.47 to 0.52"; of fewer than six processes it is the range, and says so. */
static void interval_text(const suite_result *row, const suite_quantity *quantity, char out[CELL_BYTES])
{
    const dit_summary *latency = &row->kase->metric[REPORT_LATENCY];
    char low[REPORT_NUMBER_TEXT], high[REPORT_NUMBER_TEXT];
    out[0] = '\0';
    if (latency->n < 2) return;
    suite_quantity_format(quantity, latency->low, low);
    suite_quantity_format(quantity, latency->high, high);
    snprintf(out, CELL_BYTES, "%s to %s%s", low, high, latency->low_n ? ", range" : "");
}

static void number_text(const column_row *column, const suite_quantity *quantity, double number, char out[CELL_BYTES])
{
    char text[REPORT_NUMBER_TEXT] = "";
    if (isnan(number))
        text[0] = '\0';
    else if (column->source == FROM_ERROR)
        snprintf(text, sizeof text, "%+.0f %%", number * 100);
    else if (column->source == FROM_TAG)
        snprintf(text, sizeof text, "%.10g", number);
    else
        suite_quantity_format(quantity, number, text);
    snprintf(out, CELL_BYTES, "%s", text);
}

static void shown_cell(const suite_result *row, const column_row *column, const suite_quantity *quantity,
                       char out[CELL_BYTES])
{
    if (column->source == FROM_INTERVAL)
        interval_text(row, quantity, out);
    else if (column->is_text)
        text_of(row, column, out);
    else
        number_text(column, quantity, number_of(row, column), out);
}

/* Unscaled. */
static void csv_cell(const suite_result *row, const column_row *column, char out[CELL_BYTES])
{
    double number = number_of(row, column);
    text_of(row, column, out);
    if (column->source == FROM_CASE)
        snprintf(out, CELL_BYTES, "%s", row->kase->case_id);
    else if (!column->is_text && !isnan(number))
        snprintf(out, CELL_BYTES, "%.9g", number);
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const suite_result *row;
    const column_row *column;
    bool downward;
    int place; /* before sorting: equals keep their order */
} sort_entry;

static int compare_values(const sort_entry *a, const sort_entry *b)
{
    double x = number_of(a->row, a->column), y = number_of(b->row, b->column);
    char p[CELL_BYTES], q[CELL_BYTES];
    if (!isnan(x) && !isnan(y)) return (x > y) - (x < y);
    if (!a->column->is_text) return isnan(x) - isnan(y) == 0 ? 0 : (isnan(x) - isnan(y)) * (a->downward ? -1 : 1);
    text_of(a->row, a->column, p);
    text_of(b->row, b->column, q);
    return strverscmp(p, q);
}

static int compare_entries(const void *left, const void *right)
{
    const sort_entry *a = left, *b = right;
    int order = compare_values(a, b);
    if (a->downward) order = -order;
    return order ? order : a->place - b->place;
}

/* Rows without a number come last, whichever way it goes. */
static dit_status sort_by(suite_results *results, const char *key)
{
    bool downward = key[0] == '-';
    column_row column;
    DIT_TRY(find_column(results, key + downward, &column));
    sort_entry *entries = calloc((size_t)results->count + 1, sizeof *entries);
    suite_result *sorted = calloc((size_t)results->count + 1, sizeof *sorted);
    for (int i = 0; entries && i < results->count; i++)
        entries[i] = (sort_entry){&results->rows[i], &column, downward, i};
    if (entries && sorted && results->count) qsort(entries, (size_t)results->count, sizeof *entries, compare_entries);
    for (int i = 0; entries && sorted && i < results->count; i++) sorted[i] = *entries[i].row;
    bool done = entries && sorted;
    if (done) memcpy(results->rows, sorted, sizeof *sorted * (size_t)results->count);
    free(entries);
    free(sorted);
    return done ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory to sort %d results", results->count);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void write_title(const column_row *column, const suite_quantity *quantity, char out[TITLE_BYTES])
{
    bool scaled = !column->is_text && column->source != FROM_TAG && column->source != FROM_ERROR && quantity->most > 0;
    bool named = unit_of(column) == REPORT_UNIT_FACTOR || unit_of(column) == REPORT_UNIT_PER_HOUR; /* by its title */
    const char *symbol = scaled && !named ? quantity->symbol : "";
    snprintf(out, TITLE_BYTES, "%s%s%s", column->title, symbol[0] ? " " : "", symbol);
}

static dit_status fill_row(suite_table *table, const column_list *list, const suite_quantity *quantities,
                           const suite_result *row, bool csv)
{
    char text[CELL_BYTES];
    DIT_TRY(suite_table_add_row(table));
    for (int i = 0; i < list->count; i++) {
        if (csv)
            csv_cell(row, &list->column[i], text);
        else
            shown_cell(row, &list->column[i], &quantities[i], text);
        DIT_TRY(suite_table_set(table, i, text));
    }
    return DIT_OK;
}

static dit_status print_list(const suite_result_table *params, const suite_results *results, const column_list *list,
                             FILE *out)
{
    suite_column columns[MOST_COLUMNS];
    suite_quantity quantities[MOST_COLUMNS];
    char titles[MOST_COLUMNS][TITLE_BYTES];
    suite_table table = {.columns = columns, .column_count = list->count};
    dit_status st = DIT_OK;
    for (int i = 0; i < list->count; i++) {
        const column_row *column = &list->column[i];
        quantities[i] = quantity_of(results, column);
        write_title(column, &quantities[i], titles[i]);
        columns[i] =
            (suite_column){params->csv ? column->csv_key : column->key, titles[i], column->is_text, column->spare};
    }
    for (int i = 0; i < results->count && st == DIT_OK; i++)
        st = fill_row(&table, list, quantities, &results->rows[i], params->csv);
    if (st == DIT_OK && params->csv) st = suite_table_print_csv(&table, out);
    if (st == DIT_OK && !params->csv) suite_table_print(&table, out, params->width);
    suite_table_release(&table);
    return st;
}

static dit_status choose(const suite_result_table *params, const suite_results *results, column_list *out)
{
    out->count = 0;
    if (params->columns) return choose_named(results, params->columns, out);
    choose_usual(results, params->csv, out);
    return DIT_OK;
}

dit_status suite_result_table_check(const suite_result_table *params, const suite_results *results)
{
    column_list list;
    column_row column;
    if (params->sort) DIT_TRY(find_column(results, params->sort + (params->sort[0] == '-'), &column));
    return choose(params, results, &list);
}

dit_status suite_result_table_print(const suite_result_table *params, suite_results *results, FILE *out)
{
    column_list list;
    if (params->sort) DIT_TRY(sort_by(results, params->sort));
    DIT_TRY(choose(params, results, &list));
    return print_list(params, results, &list, out);
}
