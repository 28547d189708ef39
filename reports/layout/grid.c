#include "base/json.h"
#include "base/method.h"
#include "reports/figures/figure.h"
#include "reports/records/agreement.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRID_CELLS = 400, GRID_PAIRS = 10000, GRID_PANELS = 24, GRID_KEY = 512, GRID_TRIES = 32 };

/* Tag lists that place a case. */
typedef struct {
    char panel[GRID_KEY], x[GRID_KEY], series[GRID_KEY];
    bool stacked;     /* series has no colour of its own: it goes into x */
    const char *best; /* name of the series of the best; NULL: none */
} grid_keys;

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Methods in the order the papers show them; anything else comes after, by name with numbers in order. */
static int known_order(const char *text)
{
    char name[DIT_METHOD_NAME];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text); /* "usp" of "usp · u2 r2" */
    const dit_method_row *method = dit_method_row_find(name);
    return method && method->chart_place ? method->chart_place : INT_MAX;
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
    if (!order) order = (a->published != NULL) - (b->published != NULL); /* a published point after its case */
    if (!order) order = strcmp(a->kase->label, b->kase->label);
    return order ? order : strcmp(a->kase->case_id, b->kase->case_id);
}

static int compare_names(const void *a, const void *b)
{
    return compare_texts(*(char *const *)a, *(char *const *)b);
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

/* The case's values of the tags in `list` ("a, b"), joined; from malloc, NULL without memory. */
static char *join_tags(const report_grid *grid, const report_case *kase, const char *list)
{
    dit_buffer text = {0};
    char tag[64], value[REPORT_TAG_TEXT];
    dit_buffer_text(&text, "");
    while (*list) {
        size_t skip = strspn(list, ", "), length = strcspn(list + skip, ", ");
        snprintf(tag, sizeof tag, "%.*s", (int)length, list + skip);
        list += skip + length;
        if (!length || !report_case_tag(kase, tag, value, sizeof value) || !value[0]) continue;
        bool number = cJSON_IsNumber(dit_json_member(kase->tags, tag));
        if (text.used) dit_buffer_text(&text, " · ");
        if (text.used && number) dit_buffer_printf(&text, "%s ", report_grid_tag_title(grid, tag));
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

static void sort_cells(report_grid *grid)
{
    if (grid->count) qsort(grid->cells, (size_t)grid->count, sizeof *grid->cells, compare_cells);
}

static bool names_tag(const char *list, const char *wanted)
{
    char tag[64];
    while (*list) {
        size_t skip = strspn(list, ", "), length = strcspn(list + skip, ", ");
        snprintf(tag, sizeof tag, "%.*s", (int)length, list + skip);
        if (strcmp(tag, wanted) == 0) return true;
        list += skip + length;
    }
    return false;
}

/* A series for each method or mesh: the best is one more series. Otherwise each series is the best of its own. */
static bool best_is_a_series(const grid_keys *keys)
{
    return keys->best && (names_tag(keys->series, "method") || names_tag(keys->series, "mesh"));
}

/* "hybrid", or where evidences are mixed "hybrid · simulated". */
static dit_status name_best(const report_cell *cell, const grid_keys *keys, char **out)
{
    dit_buffer text = {0};
    dit_buffer_text(&text, keys->best);
    if (names_tag(keys->series, "evidence")) dit_buffer_printf(&text, " · %s", cell->kase->evidence);
    if (text.failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    free(*out);
    *out = text.data;
    return DIT_OK;
}

/* "u2 r2" and "cfg2 pp4": what only a search finds; a mesh of one axis is a series of its own. */
static bool has_several_axes(const report_case *kase)
{
    const char *mesh = dit_json_text_or(kase->tags, "mesh", NULL);
    return mesh && strchr(mesh, ' ');
}

/* What a source shows as its best: without the mesh, or with one that only a search finds. */
static bool is_of_search(const report_published *point)
{
    return report_published_is_search(point) ||
           (has_several_axes(&point->kase) && report_case_is_searched(&point->kase));
}

static dit_status place_cell(const report_grid *grid, report_cell *cell, const grid_keys *keys)
{
    const report_case *kase = cell->kase;
    cell_release(cell);
    cell->panel = join_tags(grid, kase, keys->panel);
    cell->x = join_tags(grid, kase, keys->x);
    cell->series = join_tags(grid, kase, keys->series);
    if (!cell->panel || !cell->x || !cell->series) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    bool searched = cell->published && best_is_a_series(keys) && is_of_search(cell->published);
    if (searched) DIT_TRY(name_best(cell, keys, &cell->series));
    cell->x_number = NAN;
    if (!report_case_number(kase, keys->x, &cell->x_number) && strncmp(keys->x, "mesh", 4) == 0) {
        cell->x_number = (double)kase->world_size;
    }
    return DIT_OK;
}

static dit_status place_cells(report_grid *grid, const grid_keys *keys)
{
    for (int i = 0; i < grid->count; i++) DIT_TRY(place_cell(grid, &grid->cells[i], keys));
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

static bool is_at(const report_cell *a, const report_cell *b)
{
    return strcmp(a->panel, b->panel) == 0 && strcmp(a->x, b->x) == 0 && strcmp(a->series, b->series) == 0;
}

/* Two results that would cover each other: a published point may stand over a case, or over another point. */
static bool same_place(const report_cell *a, const report_cell *b)
{
    return !a->published && !b->published && !a->best && !b->best && is_at(a, b);
}

/* Adds to the panels the tag that tells apart two cells on one place; false when none does. */
static bool tell_panels_apart(const report_grid *grid, grid_keys *keys)
{
    static const char *const tags[] = {
        "program",        "model",       "resolution", "num_frames", "num_layers", "steps",          "num_images",
        "guidance_scale", "text_tokens", "tiling",     "platform",   "seed",       "tokens",         "batch",
        "causal",         "layout",      "packed",     "profile",    "element",    "true_cfg_scale", NULL};
    for (int i = 1; i < grid->count; i++) {
        const report_cell *a = &grid->cells[i - 1], *b = &grid->cells[i];
        const char *tag = same_place(a, b) ? telling_tag(a->kase, b->kase, tags) : NULL;
        if (tag) return add_tag(keys->panel, tag), true;
    }
    return false;
}

/* Lengthens a name of a cell ("usp") by the value of a tag ("usp · u2 r2"). */
static dit_status lengthen(const report_grid *grid, char **name, const report_case *kase, const char *tag)
{
    dit_buffer text = {0};
    char *value = join_tags(grid, kase, tag);
    if (!value) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    if (!*value) return free(value), DIT_OK;
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
        "evidence",       "method",       "mesh",       "cache",     "num_pipeline_patch", "attn_layer_num_for_pp",
        "patch_fraction", "warmup_steps", "joint_text", "vae_split", "attention",          "threads_per_rank",
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
        bool named = here && !cell->best && strncmp(*place, name, sizeof name - 1) == 0;
        if (named) DIT_TRY(lengthen(grid, place, cell->kase, tag));
    }
    sort_cells(grid);
    return DIT_OK;
}

/* Measured and simulated numbers are never one series. */
static void separate_evidence(const report_grid *grid, grid_keys *keys)
{
    bool measured = false, simulated = false;
    for (int i = 0; i < grid->count; i++) {
        const report_case *kase = grid->cells[i].kase;
        if (report_case_is_published(kase)) continue;
        *(report_case_is_simulated(kase) ? &simulated : &measured) = true;
    }
    if (measured && simulated) add_tag(keys->stacked ? keys->x : keys->series, "evidence");
}

/* ---- selecting and measuring ------------------------------------------------------------------------------------- */

static dit_status case_variable(void *context, const char *name, dit_value *out)
{
    return report_case_value(context, name, out);
}

static dit_status is_wanted(const report_case *kase, const char *where, bool *out)
{
    const dit_expr_scope scope = {.variable = case_variable, .context = (void *)(uintptr_t)kase};
    *out = true;
    return where && *where ? dit_expr_test(where, &scope, out) : DIT_OK;
}

/* Ranks are GPUs where some case says so and none is of a processor's cores. */
static void find_devices(report_grid *grid)
{
    bool cores = false;
    for (int i = 0; i < grid->count; i++) {
        grid->devices = grid->devices || grid->cells[i].kase->place == REPORT_ON_GPUS;
        cores = cores || grid->cells[i].kase->place == REPORT_ON_CORES;
    }
    grid->devices = grid->devices && !cores;
}

/* Converged references are in no figure but where pictures themselves are shown, whatever `where` says. */
static bool is_shown_reference(const report_case *kase, const report_figure_kind *kind)
{
    return kind->drawing == REPORT_DRAW_CONTACT && kase->shown.rows && report_case_is_oracle(kase);
}

static dit_status select_cells(const report_table *table, const char *where, const report_figure_kind *kind,
                               report_grid *grid)
{
    size_t most =
        2 * (size_t)table->case_count + (size_t)table->published_count; /* each may be the best of its place */
    grid->cells = calloc(most + 1, sizeof *grid->cells);
    grid->unplaced = calloc((size_t)table->published_count + 1, sizeof *grid->unplaced);
    if (!grid->cells || !grid->unplaced) {
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure of %d cases", table->case_count);
    }
    for (int i = 0; i < table->case_count; i++) {
        bool wanted = is_shown_reference(&table->cases[i], kind);
        if (report_case_is_oracle(&table->cases[i]) && !wanted) continue;
        if (!wanted) DIT_TRY(is_wanted(&table->cases[i], where, &wanted));
        if (wanted) grid->cells[grid->count++].kase = &table->cases[i];
    }
    return DIT_OK;
}

static void leave_out(report_grid *grid, const report_published *point, const char *format, const char *detail)
{
    report_unplaced *unplaced = &grid->unplaced[grid->unplaced_count++];
    unplaced->point = point;
    snprintf(unplaced->reason, sizeof unplaced->reason, format, detail);
}

/* A point whose tags do not answer `where` stands nowhere. */
static dit_status select_published(const report_table *table, const char *where, const report_figure_kind *kind,
                                   report_grid *grid)
{
    for (int i = 0; i < table->published_count; i++) {
        const report_published *point = &table->published[i];
        bool wanted = false, speedup = kind->published == REPORT_SPEEDUP;
        if (!kind->takes_published || point->metric != (speedup ? REPORT_LATENCY : kind->published)) continue;
        if (speedup && report_published_has_value(point) && point->kase.metric[REPORT_SPEEDUP].n == 0) {
            leave_out(grid, point, "%s", "its source has no one-device number to divide by");
            continue;
        }
        dit_status st = is_wanted(&point->kase, where, &wanted);
        if (st == DIT_ERR_MEMORY) return st;
        if (st != DIT_OK) leave_out(grid, point, "where: %.200s", dit_error_last()->message);
        dit_error_clear();
        if (st != DIT_OK || !wanted) continue;
        report_cell *cell = &grid->cells[grid->count++];
        cell->kase = &point->kase;
        cell->published = point;
    }
    return DIT_OK;
}

/* ---- published points: which have a place ------------------------------------------------------------------------ */

/* A tag of `list` that cases of the figure have and the point lacks. */
static bool lacks_tag(const report_grid *grid, const report_case *point, const char *list, char tag[64])
{
    char value[REPORT_TAG_TEXT];
    while (*list) {
        size_t skip = strspn(list, ", "), length = strcspn(list + skip, ", ");
        snprintf(tag, 64, "%.*s", (int)length, list + skip);
        list += skip + length;
        if (!length || report_case_tag(point, tag, value, sizeof value)) continue;
        for (int i = 0; i < grid->count; i++) {
            const report_cell *cell = &grid->cells[i];
            if (!cell->published && report_case_tag(cell->kase, tag, value, sizeof value)) return true;
        }
    }
    return false;
}

/* Whether the cases of the point's panel have the tag, and none the point's value of it. */
static bool contradicts_panel(const report_grid *grid, const report_cell *point, const char *tag)
{
    char own[REPORT_TAG_TEXT], other[REPORT_TAG_TEXT];
    bool any = false;
    if (!report_case_tag(point->kase, tag, own, sizeof own)) return false;
    for (int i = 0; i < grid->count; i++) {
        const report_cell *cell = &grid->cells[i];
        if (cell->published || strcmp(cell->panel, point->panel) != 0) continue;
        if (!report_case_tag(cell->kase, tag, other, sizeof other)) continue;
        if (strcmp(own, other) == 0) return false;
        any = true;
    }
    return any;
}

static bool has_panel(const report_grid *grid, const report_cell *point)
{
    for (int i = 0; i < grid->count; i++) {
        if (!grid->cells[i].published && strcmp(grid->cells[i].panel, point->panel) == 0) return true;
    }
    return false;
}

/* False, with the reason noted, when the point can stand in no panel. */
static bool has_place(report_grid *grid, const report_cell *point, const grid_keys *keys)
{
    static const char *const setting[] = {"platform", "profile", "steps", "num_inference_steps", "num_frames"};
    char tag[64];
    bool lacks = lacks_tag(grid, point->kase, keys->panel, tag) || lacks_tag(grid, point->kase, keys->x, tag);
    if (!lacks && !best_is_a_series(keys)) lacks = lacks_tag(grid, point->kase, keys->series, tag);
    if (lacks)
        return leave_out(grid, point->published, "it says nothing of %s", report_grid_tag_title(grid, tag)), false;
    if (!has_panel(grid, point)) return leave_out(grid, point->published, "no case stands in %s", point->panel), false;
    for (size_t i = 0; i < sizeof setting / sizeof *setting; i++) {
        if (!contradicts_panel(grid, point, setting[i])) continue;
        return leave_out(grid, point->published, "the cases of its panel differ in %s", setting[i]), false;
    }
    return true;
}

static void drop_unplaced(report_grid *grid, const grid_keys *keys)
{
    int kept = 0;
    for (int i = 0; i < grid->count; i++) {
        if (grid->cells[i].published && !has_place(grid, &grid->cells[i], keys)) {
            grid->cells[i].kase = NULL; /* of a place that counts no more; freed below */
        }
    }
    for (int i = 0; i < grid->count; i++) {
        if (grid->cells[i].kase)
            grid->cells[kept++] = grid->cells[i];
        else
            cell_release(&grid->cells[i]);
    }
    grid->count = kept;
}

/* ---- the best of a search ---------------------------------------------------------------------------------------- */

static bool is_better(const report_figure_kind *kind, const report_cell *a, const report_cell *b)
{
    double x = a->bar.part[0], y = b->bar.part[0];
    if ((a->bar.n > 0) != (b->bar.n > 0)) return a->bar.n > 0;
    return kind->unit == REPORT_UNIT_FACTOR ? x > y : x < y;
}

/* Cells of one place in a search: equal in panel, x and evidence, of several series where the best is a series. */
static bool competes(const report_cell *a, const report_cell *b, bool across_series)
{
    if (a->published || b->published || strcmp(a->panel, b->panel) != 0 || strcmp(a->x, b->x) != 0) return false;
    if (strcmp(a->kase->evidence, b->kase->evidence) != 0) return false;
    if (!report_case_is_searched(a->kase) || !report_case_is_searched(b->kase)) return false;
    return across_series || strcmp(a->series, b->series) == 0;
}

/* Whether no other cell of its place is better; of equal ones the first counts. */
static bool is_winner(const report_grid *grid, int count, int at, const report_figure_kind *kind, bool across_series)
{
    const report_cell *cell = &grid->cells[at];
    for (int i = 0; i < count; i++) {
        const report_cell *other = &grid->cells[i];
        if (i == at || !competes(cell, other, across_series)) continue;
        if (is_better(kind, other, cell) || (i < at && !is_better(kind, cell, other))) return false;
    }
    return !cell->published && report_case_is_searched(cell->kase);
}

static dit_status add_best(report_grid *grid, int at, const grid_keys *keys)
{
    report_cell *best = &grid->cells[grid->count++];
    *best = grid->cells[at];
    best->best = true;
    best->series = NULL;
    best->panel = report_copy(grid->cells[at].panel);
    best->x = report_copy(grid->cells[at].x);
    if (!best->panel || !best->x) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    return name_best(best, keys, &best->series);
}

/* Cells that only a search gives leave the picture; the best stay. */
static void keep_winners(report_grid *grid, const bool *winner, bool a_series)
{
    int kept = 0;
    for (int i = 0; i < grid->count; i++) {
        report_cell *cell = &grid->cells[i];
        bool gone = a_series ? has_several_axes(cell->kase) : !winner[i];
        if (gone && !cell->best && !cell->published) {
            cell_release(cell);
            continue;
        }
        if (!a_series && winner[i]) cell->best = true;
        grid->cells[kept++] = *cell;
    }
    grid->count = kept;
}

static dit_status find_best(report_grid *grid, const grid_keys *keys, const report_figure_kind *kind)
{
    bool a_series = best_is_a_series(keys);
    int count = grid->count;
    dit_status st = DIT_OK;
    if (!keys->best) return DIT_OK;
    bool *winner = calloc((size_t)count + 1, sizeof *winner);
    if (!winner) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    for (int i = 0; i < count; i++) winner[i] = is_winner(grid, count, i, kind, a_series);
    for (int i = 0; i < count && a_series && st == DIT_OK; i++) {
        if (winner[i]) st = add_best(grid, i, keys);
    }
    if (st == DIT_OK) keep_winners(grid, winner, a_series);
    free(winner);
    sort_cells(grid);
    return st;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static void explain_gap(report_cell *cell)
{
    const report_failure *failure = &cell->kase->failure;
    char *reason = cell->bar.reason;
    if (reason[0]) return;
    if (report_case_is_published(cell->kase))
        snprintf(reason, REPORT_REASON_TEXT, "published: out of memory");
    else if (cell->kase->ok_count)
        snprintf(reason, REPORT_REASON_TEXT, "its records do not hold this number");
    else if (!failure->code || !failure->code[0]) {
        snprintf(reason, REPORT_REASON_TEXT, "%s", dit_outcome_name(cell->kase->status));
    } else {
        snprintf(reason, REPORT_REASON_TEXT, "%.60s: %.180s", failure->code, failure->message ? failure->message : "");
    }
}

/* A printed number has one part, and its reading error as interval. */
static void measure_published(const report_published *point, report_metric metric, report_bar *out)
{
    const dit_summary *value = &point->kase.metric[metric];
    out->n = value->n;
    out->part[0] = value->median;
    out->has_interval = value->n > 0 && value->high > value->low;
    out->low = value->low;
    out->high = value->high;
}

static void measure_cells(report_grid *grid, const report_figure_kind *kind)
{
    for (int i = 0; i < grid->count; i++) {
        report_cell *cell = &grid->cells[i];
        if (report_case_is_published(cell->kase))
            measure_published(cell->published, kind->published, &cell->bar);
        else
            kind->measure(cell->kase, &cell->bar);
        if (cell->bar.n == 0) explain_gap(cell);
    }
}

bool report_cell_is_oom(const report_cell *cell)
{
    return cell->bar.n == 0 && cell->kase->status == DIT_OUTCOME_OOM;
}

static void count_cell(report_grid *grid, const report_cell *cell)
{
    bool published = report_case_is_published(cell->kase), simulated = report_case_is_simulated(cell->kase);
    grid->published = grid->published || published || cell->published;
    grid->simulated = grid->simulated || simulated;
    grid->measured = grid->measured || !(published || simulated) || cell->twin;
    if (cell->bar.n == 0) return;
    grid->drawn_count++;
    grid->low_n = grid->low_n || cell->bar.low_n;
    grid->oversubscribed = grid->oversubscribed || cell->kase->oversubscribed;
    int n = cell->twin ? cell->twin->metric[REPORT_LATENCY].n : cell->bar.n;
    if (published || (simulated && !cell->twin)) return;
    if (grid->n_max == 0 || n < grid->n_min) grid->n_min = n;
    if (n > grid->n_max) grid->n_max = n;
}

static void count_cells(report_grid *grid)
{
    for (int i = 0; i < grid->count; i++) {
        report_cell *cell = &grid->cells[i];
        bool fresh = i == 0 || strcmp(cell->panel, grid->cells[i - 1].panel) != 0;
        grid->panel_count += fresh;
        cell->shares = !fresh && report_case_is_published(cell->kase) && is_at(cell, cell - 1);
        count_cell(grid, cell);
    }
}

/* A picture holds so much: what stands after GRID_PANELS panels or GRID_CELLS cells is left out and counted. */
static void cut_to_size(report_grid *grid, int most)
{
    int keep = 0, panels = 0;
    while (keep < grid->count && keep < most) {
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
    free(grid->unplaced);
    *grid = (report_grid){0};
}

static dit_status build(const report_table *table, const report_plot *plot, grid_keys *keys,
                        const report_figure_kind *kind, report_grid *grid)
{
    DIT_TRY(select_cells(table, plot->where, kind, grid));
    find_devices(grid);
    DIT_TRY(select_published(table, plot->where, kind, grid));
    separate_evidence(grid, keys);
    measure_cells(grid, kind);
    DIT_TRY(place_cells(grid, keys));
    for (int i = 0; i < GRID_TRIES && tell_panels_apart(grid, keys); i++) DIT_TRY(place_cells(grid, keys));
    drop_unplaced(grid, keys);
    DIT_TRY(find_best(grid, keys, kind));
    bool found = true;
    for (int i = 0; i < GRID_TRIES && found; i++) DIT_TRY(tell_series_apart(grid, keys->stacked, &found));
    cut_to_size(grid, GRID_CELLS);
    count_cells(grid);
    return collect_series(grid);
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

/* One pair: the simulated case, and the number that it is held against. */
static void add_pair(report_grid *grid, const report_case *kase, const report_published *point, const report_case *twin)
{
    const dit_summary *reference = point ? &point->kase.metric[REPORT_LATENCY] : &twin->metric[REPORT_LATENCY];
    report_cell *cell = &grid->cells[grid->count];
    if (reference->n == 0 || reference->low <= 0 || kase->metric[REPORT_LATENCY].n == 0) return;
    *cell = (report_cell){.kase = kase, .published = point, .twin = twin};
    grid->count++;
}

static dit_status select_pairs(const report_table *table, const report_plot *plot, const report_case *const *twins,
                               report_grid *grid)
{
    size_t most = (size_t)table->case_count + (size_t)table->published_count + 1;
    grid->cells = calloc(most, sizeof *grid->cells);
    grid->unplaced = calloc(1, sizeof *grid->unplaced);
    if (!grid->cells || !grid->unplaced) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    for (int i = 0; i < table->case_count; i++) {
        bool wanted = false;
        if (twins[i]) DIT_TRY(is_wanted(&table->cases[i], plot->where, &wanted));
        if (wanted) add_pair(grid, &table->cases[i], NULL, twins[i]);
    }
    for (int i = 0; i < table->published_count; i++) {
        const report_published *point = &table->published[i];
        bool wanted = false;
        if (point->twin && point->metric == REPORT_LATENCY) DIT_TRY(is_wanted(point->twin, plot->where, &wanted));
        if (wanted) add_pair(grid, point->twin, point, NULL);
    }
    return DIT_OK;
}

static dit_status place_pairs(report_grid *grid, const grid_keys *keys, const report_figure_kind *kind)
{
    for (int i = 0; i < grid->count; i++) {
        report_cell *cell = &grid->cells[i];
        const dit_summary *reference =
            cell->published ? &cell->published->kase.metric[REPORT_LATENCY] : &cell->twin->metric[REPORT_LATENCY];
        kind->measure(cell->kase, &cell->bar);
        DIT_TRY(place_cell(grid, cell, keys));
        cell->x_number = reference->median;
        cell->x_low = reference->low;
        cell->x_high = reference->high;
    }
    sort_cells(grid);
    return DIT_OK;
}

static dit_status build_pairs(const report_table *table, const report_plot *plot, const grid_keys *keys,
                              const report_figure_kind *kind, report_grid *grid)
{
    const report_case **twins = NULL;
    DIT_TRY(report_agreement_twins(table, plot->pair ? plot->pair : "", &twins));
    dit_status st = select_pairs(table, plot, twins, grid);
    free(twins);
    DIT_TRY(st);
    DIT_TRY(place_pairs(grid, keys, kind));
    cut_to_size(grid, GRID_PAIRS);
    count_cells(grid);
    return collect_series(grid);
}

dit_status report_grid_build(const report_table *table, const report_plot *plot, const report_figure_kind *kind,
                             report_grid *out)
{
    grid_keys keys = {.stacked = kind->parts != NULL};
    *out = (report_grid){0};
    snprintf(keys.panel, sizeof keys.panel, "%s", plot->panel);
    snprintf(keys.x, sizeof keys.x, "%s", plot->x);
    if (kind->drawing == REPORT_DRAW_LINES && plot->best && plot->best[0]) keys.best = plot->best;
    if (!keys.stacked)
        snprintf(keys.series, sizeof keys.series, "%s", plot->series);
    else if (plot->series[0])
        add_tag(keys.x, plot->series);
    dit_status st = kind->drawing == REPORT_DRAW_AGREEMENT ? build_pairs(table, plot, &keys, kind, out)
                                                           : build(table, plot, &keys, kind, out);
    if (st != DIT_OK) report_grid_release(out);
    return st;
}

dit_status report_grid_published(const report_grid *grid, const report_published ***out, int *count)
{
    *count = 0;
    *out = calloc((size_t)grid->count + 1, sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for published points");
    for (int i = 0; i < grid->count; i++) {
        if (grid->cells[i].published) (*out)[(*count)++] = grid->cells[i].published;
    }
    return DIT_OK;
}
