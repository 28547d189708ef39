/* The dynamic programme of layers.h: best[s][m] is the least time of the layers so far, of which the last has strategy
 * s, in m cells of memory. The working memory is a maximum and no sum, so the programme is run once for each size that
 * may be the greatest, with the strategies that need no more and the budget that is left. */
#include "suite/layers/layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_LEAST = 1024, CELLS_FINER = 4, CELLS_MOST = 16384 };

typedef struct {
    const suite_layers *chain;
    int cells;
    bool rounds_down;     /* sizes to cells: what comes out is a bound, and no choice  */
    double *now, *before; /* [strategies][cells + 1]                                   */
    uint8_t *from;        /* [layers][strategies][cells + 1]: the strategy before      */
    double *sizes;        /* [size_count]: the distinct working sizes, descending      */
    int size_count;
    double working, budget; /* of this run: the greatest size, and what is left beside it */
} programme;

/* ---- what is allowed --------------------------------------------------------------------------------------------- */

static const suite_layer_cost *cost_of(const suite_layers *chain, int layer, int strategy)
{
    return &chain->costs[layer * chain->strategies + strategy];
}

static bool is_allowed(const programme *p, int layer, int strategy)
{
    const suite_layer_cost *cost = cost_of(p->chain, layer, strategy);
    return isfinite(cost->seconds) && cost->working_bytes <= p->working;
}

/* The cells that a size takes; more than there are where it does not fit. Whole cells stay whole: the product comes
 * before the division. What is rounded down leaves room for the rounding of the division itself. */
static int cells_of(const programme *p, double bytes)
{
    static const double rounding = 1e-9;
    if (bytes <= 0) return 0;
    if (p->budget <= 0) return p->cells + 1;
    double cells = bytes * p->cells / p->budget;
    cells = p->rounds_down ? floor(cells * (1 - rounding)) : ceil(cells);
    return cells > p->cells ? p->cells + 1 : (int)cells;
}

/* ---- one layer --------------------------------------------------------------------------------------------------- */

static void forbid(const programme *p, double *row)
{
    for (int m = 0; m <= p->cells; m++) row[m] = INFINITY;
}

static void first_layer(const programme *p, double *row, int strategy)
{
    const suite_layer_cost *cost = cost_of(p->chain, 0, strategy);
    int taken = is_allowed(p, 0, strategy) ? cells_of(p, cost->held_bytes) : p->cells + 1;
    forbid(p, row);
    for (int m = taken; m <= p->cells; m++) row[m] = cost->seconds;
}

/* Takes the way from strategy `from` of the layer before where it is the shortest so far. */
static void relax(const double *restrict before, double seconds, int count, int from, double *restrict row,
                  uint8_t *restrict choice)
{
    for (int m = 0; m < count; m++) {
        double time = before[m] + seconds;
        bool better = time < row[m];
        row[m] = better ? time : row[m];
        choice[m] = better ? (uint8_t)from : choice[m];
    }
}

static void next_layer(const programme *p, int layer, int strategy)
{
    const suite_layers *chain = p->chain;
    const suite_layer_cost *cost = cost_of(chain, layer, strategy);
    size_t width = (size_t)p->cells + 1;
    double *row = p->now + (size_t)strategy * width;
    uint8_t *choice = p->from + ((size_t)layer * (size_t)chain->strategies + (size_t)strategy) * width;
    int taken = is_allowed(p, layer, strategy) ? cells_of(p, cost->held_bytes) : p->cells + 1;
    forbid(p, row);
    for (int s = 0; s < chain->strategies && taken <= p->cells; s++) {
        double conversion = chain->conversion_s ? chain->conversion_s[s * chain->strategies + strategy] : 0;
        if (is_allowed(p, layer - 1, s))
            relax(p->before + (size_t)s * width, conversion + cost->seconds, p->cells + 1 - taken, s, row + taken,
                  choice + taken);
    }
}

/* The strategy of the last layer with the least time in all cells. */
static int best_last(const programme *p)
{
    int best = 0;
    for (int s = 1; s < p->chain->strategies; s++)
        if (p->now[(size_t)s * ((size_t)p->cells + 1) + (size_t)p->cells] <
            p->now[(size_t)best * ((size_t)p->cells + 1) + (size_t)p->cells])
            best = s;
    return best;
}

static void trace_back(const programme *p, int last_layer, int strategy, int *choice)
{
    size_t width = (size_t)p->cells + 1;
    int left = p->cells;
    for (int layer = last_layer; layer >= 0; layer--) {
        choice[layer] = strategy;
        if (layer == 0) break;
        size_t row = ((size_t)layer * (size_t)p->chain->strategies + (size_t)strategy) * width;
        int before = p->from[row + (size_t)left];
        left -= cells_of(p, cost_of(p->chain, layer, strategy)->held_bytes);
        strategy = before;
    }
}

/* ---- all layers -------------------------------------------------------------------------------------------------- */

/* Called behind each layer: seconds of the best choice up to there, and its last strategy. */
typedef void (*after_layer)(const programme *p, int layer, int strategy, double seconds, void *context);

static dit_status run(programme *p, after_layer after, void *context)
{
    size_t width = (size_t)p->cells + 1;
    for (int layer = 0; layer < p->chain->layers; layer++) {
        DIT_TRY(suite_layers_ask(p->chain->watch));
        for (int s = 0; s < p->chain->strategies; s++) {
            if (layer == 0)
                first_layer(p, p->now + (size_t)s * width, s);
            else
                next_layer(p, layer, s);
        }
        int best = best_last(p);
        after(p, layer, best, p->now[(size_t)best * width + (size_t)p->cells], context);
        double *swap = p->now;
        p->now = p->before;
        p->before = swap;
    }
    return DIT_OK;
}

/* The least time of the layers with these strategies if memory were no object. */
static double free_seconds(const programme *p)
{
    double before[SUITE_LAYERS_STRATEGIES], now[SUITE_LAYERS_STRATEGIES], least = INFINITY;
    int count = p->chain->strategies;
    for (int layer = 0; layer < p->chain->layers; layer++) {
        for (int s = 0; s < count; s++) {
            double best = layer ? INFINITY : 0;
            for (int from = 0; layer && from < count; from++)
                best =
                    fmin(best, before[from] + (p->chain->conversion_s ? p->chain->conversion_s[from * count + s] : 0));
            now[s] = is_allowed(p, layer, s) ? best + cost_of(p->chain, layer, s)->seconds : INFINITY;
        }
        memcpy(before, now, sizeof before);
    }
    for (int s = 0; s < count; s++) least = fmin(least, before[s]);
    return least;
}

/* ---- working sizes ----------------------------------------------------------------------------------------------- */

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void list_sizes(programme *p)
{
    int all = p->chain->layers * p->chain->strategies, kept = 0;
    for (int i = 0; i < all; i++) p->sizes[i] = p->chain->costs[i].working_bytes;
    qsort(p->sizes, (size_t)all, sizeof *p->sizes, descending);
    for (int i = 0; i < all; i++)
        if (!kept || p->sizes[i] != p->sizes[kept - 1]) p->sizes[kept++] = p->sizes[i];
    p->size_count = kept;
}

/* What all layers hold at least with working sizes up to this one, and that size. */
static double least_with(const programme *p)
{
    double sum = p->working;
    for (int layer = 0; layer < p->chain->layers; layer++) {
        double least = INFINITY;
        for (int s = 0; s < p->chain->strategies; s++)
            if (is_allowed(p, layer, s)) least = fmin(least, cost_of(p->chain, layer, s)->held_bytes);
        sum += least;
    }
    return sum;
}

static void take_size(programme *p, int index)
{
    p->working = p->sizes[index];
    p->budget = p->chain->budget_bytes - p->working;
}

/* ---- memory of a programme --------------------------------------------------------------------------------------- */

static void close_programme(programme *p)
{
    free(p->now);
    free(p->before);
    free(p->from);
    free(p->sizes);
}

/* `chain` is the caller's with its number of cells, and outlives the programme. */
static dit_status open_programme(suite_layers *chain, programme *out)
{
    if (!chain->cells) chain->cells = CELLS_FINER * CELLS_LEAST;
    DIT_TRY(suite_layers_check(chain));
    size_t width = (size_t)chain->cells + 1, rows = (size_t)chain->strategies;
    *out = (programme){.chain = chain,
                       .cells = chain->cells,
                       .now = malloc(rows * width * sizeof(double)),
                       .before = malloc(rows * width * sizeof(double)),
                       .from = calloc((size_t)chain->layers * rows * width, 1),
                       .sizes = malloc((size_t)chain->layers * rows * sizeof(double))};
    if (out->now && out->before && out->from && out->sizes) return list_sizes(out), DIT_OK;
    close_programme(out);
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table of %d layers x %d strategies x %d cells", chain->layers,
                    chain->strategies, chain->cells);
}

/* ---- one chain --------------------------------------------------------------------------------------------------- */

typedef struct {
    double seconds;
    int *choice;
} best_choice;

static void keep_best(const programme *p, int layer, int strategy, double seconds, void *context)
{
    best_choice *best = context;
    if (layer != p->chain->layers - 1 || !(seconds < best->seconds)) return;
    best->seconds = seconds;
    if (!p->rounds_down) trace_back(p, layer, strategy, best->choice);
}

static dit_status over_all_sizes(programme *p, bool rounds_down, best_choice *best, double *least_bytes)
{
    p->rounds_down = rounds_down;
    for (int i = 0; i < p->size_count; i++) {
        take_size(p, i);
        double least = least_with(p);
        *least_bytes = fmin(*least_bytes, least);
        if (p->budget < 0 || least > p->chain->budget_bytes || free_seconds(p) >= best->seconds) continue;
        DIT_TRY(run(p, keep_best, best));
    }
    return DIT_OK;
}

/* One grid: `bound_s` of *out is the best bound of all grids so far. */
static dit_status solve_on_grid(const suite_layers *chain, int cells, suite_layers_plan *out, int *choice)
{
    suite_layers own = *chain;
    programme p;
    best_choice best = {INFINITY, choice}, bound = {INFINITY, NULL};
    double least = INFINITY, before = out->bound_s;
    own.cells = cells;
    DIT_TRY(open_programme(&own, &p));
    dit_status st = over_all_sizes(&p, false, &best, &least);
    if (st == DIT_OK) st = over_all_sizes(&p, true, &bound, &least);
    close_programme(&p);
    DIT_TRY(st);
    *out = (suite_layers_plan){.seconds = INFINITY};
    if (isfinite(best.seconds)) suite_layers_weigh(chain, choice, out);
    out->bound_s = fmin(fmax(bound.seconds, before), out->seconds);
    out->least_bytes = least;
    return DIT_OK;
}

/* Whether a finer grid could tell more: the plan is slower than its bound by more than a thousandth, or there is none
 * although there may be one. */
static bool is_coarse(const suite_layers *chain, const suite_layers_plan *plan)
{
    if (chain->enough_s > 0 && plan->bound_s >= chain->enough_s) return false;
    return isfinite(plan->bound_s) && plan->seconds > 1.001 * plan->bound_s;
}

dit_status suite_layers_solve(const suite_layers *chain, suite_layers_plan *out, int *choice)
{
    *out = (suite_layers_plan){0};
    if (chain->cells) return solve_on_grid(chain, chain->cells, out, choice);
    DIT_TRY(solve_on_grid(chain, CELLS_LEAST, out, choice));
    for (int cells = CELLS_FINER * CELLS_LEAST; cells <= CELLS_MOST && is_coarse(chain, out); cells *= CELLS_FINER)
        DIT_TRY(solve_on_grid(chain, cells, out, choice));
    return DIT_OK;
}

/* ---- all beginnings of a chain ----------------------------------------------------------------------------------- */

typedef struct {
    double *seconds;
    uint8_t *choices;
    int trace[SUITE_LAYERS_MOST];
} all_beginnings;

static void keep_beginning(const programme *p, int layer, int strategy, double seconds, void *context)
{
    all_beginnings *all = context;
    if (!(seconds < all->seconds[layer])) return;
    all->seconds[layer] = seconds;
    trace_back(p, layer, strategy, all->trace);
    for (int i = 0; i <= layer; i++)
        all->choices[(size_t)layer * (size_t)p->chain->layers + (size_t)i] = (uint8_t)all->trace[i];
}

dit_status suite_layers_prefixes(const suite_layers *chain, double *seconds, uint8_t *choices)
{
    suite_layers own = *chain;
    programme p;
    all_beginnings all = {.seconds = seconds, .choices = choices};
    DIT_TRY(open_programme(&own, &p));
    for (int i = 0; i < chain->layers; i++) seconds[i] = INFINITY;
    dit_status st = DIT_OK;
    for (int i = 0; i < p.size_count && st == DIT_OK; i++) {
        take_size(&p, i);
        if (p.budget >= 0) st = run(&p, keep_beginning, &all);
    }
    close_programme(&p);
    return st;
}
