#include "reports/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRID_CELLS = 400, GRID_PANELS = 24, GRID_KEY = 512, GRID_TRIES = 32 };

/* Tag lists that place a case. */
typedef struct {
    char panel[GRID_KEY], x[GRID_KEY], series[GRID_KEY];
    bool stacked; /* series has no colour of its own: it goes into x */
} grid_keys;

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Methods in the order the papers show them; anything else comes after, by name with numbers in order. */
static int known_order(const char *text)
{
    static const char *const order[] = {"single", "data", "cfg",        "tensor",      "ulysses",
                                        "ring",   "usp",  "pipefusion", "distrifusion"};
    int i = 0, count = (int)(sizeof order / sizeof order[0]);
    while (i < count && strcmp(order[i], text) != 0) i++;
    return i;
}

static int compare_texts(const char *a, const char *b)
{
    int order = known_order(a) - known_order(b);
    return order ? order : strverscmp(a, b);
}

/* Configurations ("u2 r2") are ordered by how many ranks they need, which `x_number` holds for them. */
static int compare_x(const report_cell *a, const report_cell *b)
{
    bool number_a = isfinite(a->x_number), number_b = isfinite(b->x_number);
    if (number_a != number_b) return number_a ? -1 : 1;
    if (number_a && a->x_number != b->x_number) return a->x_number < b->x_number ? -1 : 1;
    return compare_texts(a->x, b->x);
}

static int compare_cells(const void *left, const void *right)
{
    const report_cell *a = left, *b = right;
    int order = compare_texts(a->panel, b->panel);
    if (!order) order = compare_x(a, b);
    if (!order) order = compare_texts(a->series, b->series);
    if (!order) order = strcmp(a->kase->label, b->kase->label);
    return order ? order : strcmp(a->kase->case_id, b->kase->case_id);
}

static int compare_names(const void *a, const void *b)
{
    return compare_texts(*(char *const *)a, *(char *const *)b);
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

/* The case's values of the tags in `list` ("a, b"), joined; from malloc, NULL without memory. */
static char *join_tags(const report_case *kase, const char *list)
{
    dit_buffer text = {0};
    char tag[64], value[REPORT_TAG_TEXT];
    dit_buffer_text(&text, "");
    while (*list) {
        size_t skip = strspn(list, ", "), length = strcspn(list + skip, ", ");
        snprintf(tag, sizeof tag, "%.*s", (int)length, list + skip);
        list += skip + length;
        if (!length || !report_case_tag(kase, tag, value, sizeof value) || !value[0]) continue;
        bool number = cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(kase->tags, tag));
        if (text.used) dit_buffer_text(&text, " · ");
        if (text.used && number) dit_buffer_printf(&text, "%s ", report_tag_title(tag));
        dit_buffer_text(&text, value);
    }
    if (!text.failed) return text.data;
    dit_buffer_release(&text);
    return NULL;
}

static void cell_release(report_cell *cell)
{
    free(cell->panel);
    free(cell->x);
    free(cell->series);
}

static dit_status place_cell(report_cell *cell, const grid_keys *keys)
{
    const report_case *kase = cell->kase;
    cell_release(cell);
    cell->panel = join_tags(kase, keys->panel);
    cell->x = join_tags(kase, keys->x);
    cell->series = join_tags(kase, keys->series);
    if (!cell->panel || !cell->x || !cell->series) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    cell->x_number = NAN;
    if (!report_case_number(kase, keys->x, &cell->x_number) && strncmp(keys->x, "mesh", 4) == 0) {
        cell->x_number = (double)kase->world_size;
    }
    return DIT_OK;
}

static void sort_cells(report_grid *grid)
{
    if (grid->count) qsort(grid->cells, (size_t)grid->count, sizeof *grid->cells, compare_cells);
}

static dit_status place_cells(report_grid *grid, const grid_keys *keys)
{
    for (int i = 0; i < grid->count; i++) DIT_TRY(place_cell(&grid->cells[i], keys));
    sort_cells(grid);
    return DIT_OK;
}

static void add_tag(char list[GRID_KEY], const char *tag)
{
    size_t used = strlen(list);
    snprintf(list + used, GRID_KEY - used, "%s%s", used ? ", " : "", tag);
}

/* A tag whose values differ between the two cases; NULL when none does. */
static const char *telling_tag(const report_case *a, const report_case *b, const char *const *tags)
{
    char x[REPORT_TAG_TEXT], y[REPORT_TAG_TEXT];
    for (; *tags; tags++) {
        report_case_tag(a, *tags, x, sizeof x);
        report_case_tag(b, *tags, y, sizeof y);
        if (strcmp(x, y) != 0) return *tags;
    }
    return NULL;
}

static bool same_place(const report_cell *a, const report_cell *b)
{
    return strcmp(a->panel, b->panel) == 0 && strcmp(a->x, b->x) == 0 && strcmp(a->series, b->series) == 0;
}

/* Adds to the panels the tag that tells apart two cells on one place; false when none does. */
static bool tell_panels_apart(const report_grid *grid, grid_keys *keys)
{
    static const char *const tags[] = {
        "program",    "model",          "resolution",  "num_frames", "num_layers", "steps",
        "num_images", "guidance_scale", "text_tokens", "tiling",     "platform",   "seed",
        "tokens",     "batch",          "causal",      "layout",     "packed",     NULL};
    for (int i = 1; i < grid->count; i++) {
        const report_cell *a = &grid->cells[i - 1], *b = &grid->cells[i];
        const char *tag = same_place(a, b) ? telling_tag(a->kase, b->kase, tags) : NULL;
        if (tag) return add_tag(keys->panel, tag), true;
    }
    return false;
}

/* Lengthens a name of a cell ("usp") by the value of a tag ("usp · u2 r2"). */
static dit_status lengthen(char **name, const report_case *kase, const char *tag)
{
    dit_buffer text = {0};
    char *value = join_tags(kase, tag);
    if (!value) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    dit_buffer_printf(&text, "%s%s%s", *name, **name ? " · " : "", value);
    free(value);
    if (text.failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    free(*name);
    *name = text.data;
    return DIT_OK;
}

/* Lengthens the series that two cells on one place share, in all panels, so that its colour stays its own; for stacked
 * kinds the place along x, in that panel. *found is false when all places are distinct, or no tag helps. */
static dit_status tell_series_apart(report_grid *grid, bool stacked, bool *found)
{
    static const char *const tags[] = {
        "evidence",       "method",       "mesh",       "num_pipeline_patch", "attn_layer_num_for_pp",
        "patch_fraction", "warmup_steps", "joint_text", "attention",          "threads_per_rank",
        "world_size",     "label",        NULL};
    char name[GRID_KEY] = "", panel[GRID_KEY] = "";
    const char *tag = NULL;
    for (int i = 1; i < grid->count && !tag; i++) {
        const report_cell *a = &grid->cells[i - 1], *b = &grid->cells[i];
        if (same_place(a, b)) tag = telling_tag(a->kase, b->kase, tags);
        snprintf(name, sizeof name, "%s", stacked ? a->x : a->series);
        snprintf(panel, sizeof panel, "%s", a->panel);
    }
    *found = tag != NULL;
    for (int i = 0; i < grid->count && tag; i++) {
        report_cell *cell = &grid->cells[i];
        char **place = stacked ? &cell->x : &cell->series;
        bool here = !stacked || strncmp(cell->panel, panel, sizeof panel - 1) == 0;
        if (here && strncmp(*place, name, sizeof name - 1) == 0) DIT_TRY(lengthen(place, cell->kase, tag));
    }
    sort_cells(grid);
    return DIT_OK;
}

/* Numbers of different evidence never share a colour. */
static void separate_evidence(const report_grid *grid, grid_keys *keys)
{
    for (int i = 1; i < grid->count; i++) {
        if (strcmp(grid->cells[i].kase->evidence, grid->cells[0].kase->evidence) == 0) continue;
        add_tag(keys->stacked ? keys->x : keys->series, "evidence");
        return;
    }
}

/* ---- selecting and measuring ------------------------------------------------------------------------------------- */

static dit_status case_variable(void *context, const char *name, dit_value *out)
{
    return report_case_value(context, name, out);
}

static dit_status select_cells(const report_table *table, const char *where, report_grid *grid)
{
    grid->cells = calloc((size_t)table->case_count + 1, sizeof *grid->cells);
    if (!grid->cells) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure of %d cases", table->case_count);
    for (int i = 0; i < table->case_count; i++) {
        const dit_expr_scope scope = {.variable = case_variable, .context = &table->cases[i]};
        bool wanted = true;
        if (report_case_is_oracle(&table->cases[i])) continue;
        if (where && *where) DIT_TRY(dit_expr_test(where, &scope, &wanted));
        if (wanted) grid->cells[grid->count++].kase = &table->cases[i];
    }
    return DIT_OK;
}

static void explain_gap(report_cell *cell)
{
    const report_failure *failure = &cell->kase->failure;
    char *reason = cell->bar.reason;
    if (reason[0]) return;
    if (cell->kase->ok_count)
        snprintf(reason, REPORT_REASON_TEXT, "its records do not hold this number");
    else if (!failure->code || !failure->code[0]) {
        snprintf(reason, REPORT_REASON_TEXT, "%s", report_status_name(cell->kase->status));
    } else {
        snprintf(reason, REPORT_REASON_TEXT, "%.60s: %.180s", failure->code, failure->message ? failure->message : "");
    }
}

static void measure_cells(report_grid *grid, const report_figure_kind *kind)
{
    for (int i = 0; i < grid->count; i++) {
        report_cell *cell = &grid->cells[i];
        kind->measure(cell->kase, &cell->bar);
        if (cell->bar.n == 0) explain_gap(cell);
        grid->panel_count += i == 0 || strcmp(cell->panel, grid->cells[i - 1].panel) != 0;
        if (cell->bar.n == 0) continue;
        grid->drawn_count++;
        grid->low_n = grid->low_n || cell->bar.low_n;
        grid->oversubscribed = grid->oversubscribed || cell->kase->oversubscribed;
        if (grid->n_max == 0 || cell->bar.n < grid->n_min) grid->n_min = cell->bar.n;
        if (cell->bar.n > grid->n_max) grid->n_max = cell->bar.n;
    }
}

/* A picture holds so much: what stands after GRID_PANELS panels or GRID_CELLS cells is left out and counted. */
static void cut_to_size(report_grid *grid)
{
    int keep = 0, panels = 0;
    while (keep < grid->count && keep < GRID_CELLS) {
        panels += keep == 0 || strcmp(grid->cells[keep].panel, grid->cells[keep - 1].panel) != 0;
        if (panels > GRID_PANELS) break;
        keep++;
    }
    for (int i = keep; i < grid->count; i++) cell_release(&grid->cells[i]);
    grid->left_out = grid->count - keep;
    grid->count = keep;
}

static int find_series(const report_grid *grid, const char *name)
{
    int i = 0;
    while (i < grid->series_count && strcmp(grid->series[i], name) != 0) i++;
    return i;
}

static dit_status collect_series(report_grid *grid)
{
    grid->series = calloc((size_t)grid->count + 1, sizeof *grid->series);
    if (!grid->series) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    for (int i = 0; i < grid->count; i++) {
        const char *name = grid->cells[i].series;
        if (find_series(grid, name) < grid->series_count) continue;
        grid->series[grid->series_count] = report_copy(name);
        if (!grid->series[grid->series_count++]) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    }
    if (grid->series_count) qsort(grid->series, (size_t)grid->series_count, sizeof *grid->series, compare_names);
    for (int i = 0; i < grid->count; i++) grid->cells[i].series_index = find_series(grid, grid->cells[i].series);
    return DIT_OK;
}

void report_grid_release(report_grid *grid)
{
    for (int i = 0; i < grid->count; i++) cell_release(&grid->cells[i]);
    for (int i = 0; i < grid->series_count; i++) free(grid->series[i]);
    free(grid->cells);
    free(grid->series);
    *grid = (report_grid){0};
}

static dit_status build(const report_table *table, const report_plot *plot, grid_keys *keys,
                        const report_figure_kind *kind, report_grid *grid)
{
    DIT_TRY(select_cells(table, plot->where, grid));
    separate_evidence(grid, keys);
    DIT_TRY(place_cells(grid, keys));
    for (int i = 0; i < GRID_TRIES && tell_panels_apart(grid, keys); i++) DIT_TRY(place_cells(grid, keys));
    bool found = true;
    for (int i = 0; i < GRID_TRIES && found; i++) DIT_TRY(tell_series_apart(grid, keys->stacked, &found));
    cut_to_size(grid);
    measure_cells(grid, kind);
    return collect_series(grid);
}

dit_status report_grid_build(const report_table *table, const report_plot *plot, const report_figure_kind *kind,
                             report_grid *out)
{
    grid_keys keys = {.stacked = kind->parts != NULL};
    *out = (report_grid){0};
    snprintf(keys.panel, sizeof keys.panel, "%s", plot->panel);
    snprintf(keys.x, sizeof keys.x, "%s", plot->x);
    if (!keys.stacked)
        snprintf(keys.series, sizeof keys.series, "%s", plot->series);
    else if (plot->series[0])
        add_tag(keys.x, plot->series);
    dit_status st = build(table, plot, &keys, kind, out);
    if (st != DIT_OK) report_grid_release(out);
    return st;
}
