#include "base/redundancy.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

static int64_t cells_of(const dit_redundancy_map *map)
{
    return (int64_t)map->layers * map->steps;
}

static dit_status check(const dit_redundancy_map *map)
{
    int64_t cells = cells_of(map);
    if (map->prompts < 1 || map->layers < 1 || map->steps < 1)
        return DIT_FAIL(DIT_ERR_SHAPE, "a map of %d prompts, %d layers and %d steps is empty", map->prompts,
                        map->layers, map->steps);
    for (int64_t i = 0; i < map->prompts * cells; i++) {
        if (map->values[i] > 0 && isfinite(map->values[i])) continue;
        return DIT_FAIL(DIT_ERR_NONFINITE, "prompt %lld changes by %g in layer %lld and step %lld, not by more than 0",
                        (long long)(i / cells), map->values[i], (long long)(i % cells / map->steps),
                        (long long)(i % map->steps + 1));
    }
    return DIT_OK;
}

/* ---- over prompts ------------------------------------------------------------------------------------------------ */

typedef struct {
    const double *values; /* [prompts][cells] */
    int64_t cells;
} over_prompts;

/* The sum over prompts of times x, and of times x squared. */
static void sums_of(const over_prompts *p, const int *times, int prompts, int64_t cell, double *sum, double *squares)
{
    *sum = *squares = 0;
    for (int i = 0; i < prompts; i++) {
        double x = p->values[i * p->cells + cell];
        *sum += times[i] * x;
        *squares += times[i] * x * x;
    }
}

static double explained(const void *context, const int *times, int prompts)
{
    const over_prompts *p = context;
    double total = 0, squares = 0, within = 0;
    for (int64_t cell = 0; cell < p->cells; cell++) {
        double sum, square;
        sums_of(p, times, prompts, cell, &sum, &square);
        within += square - sum * sum / prompts; /* a draw has as many prompts as there are */
        total += sum;
        squares += square;
    }
    double all = squares - total * total / ((double)prompts * (double)p->cells);
    return all > 1e-12 * squares ? 1 - within / all : NAN;
}

dit_status dit_redundancy_explained(const dit_redundancy_map *map, dit_interval *out)
{
    *out = (dit_interval){0};
    DIT_TRY(check(map));
    int64_t count = map->prompts * cells_of(map);
    double *logs = malloc((size_t)count * sizeof *logs);
    if (!logs) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld changes", (long long)count);
    for (int64_t i = 0; i < count; i++) logs[i] = log(map->values[i]);
    dit_status st = dit_bootstrap(map->prompts, explained, &(over_prompts){logs, cells_of(map)}, out);
    free(logs);
    return st;
}

static double variation(const void *context, const int *times, int prompts)
{
    const over_prompts *p = context;
    double all = 0;
    for (int64_t cell = 0; cell < p->cells; cell++) {
        double sum, square;
        sums_of(p, times, prompts, cell, &sum, &square);
        double mean = sum / prompts, variance = square / prompts - mean * mean;
        all += sqrt(fmax(variance, 0)) / mean;
    }
    return all / (double)p->cells;
}

dit_status dit_redundancy_variation(const dit_redundancy_map *map, dit_interval *out)
{
    *out = (dit_interval){0};
    DIT_TRY(check(map));
    return dit_bootstrap(map->prompts, variation, &(over_prompts){map->values, cells_of(map)}, out);
}

/* ---- between maps ------------------------------------------------------------------------------------------------ */

/* A place between two entries of a list: (1 - share) of `at`, share of the next. */
typedef struct {
    int at;
    double share;
} between;

/* What two maps are compared at, and room for it. */
typedef struct {
    const dit_redundancy_map *maps[2];
    int layers, steps;           /* of the grid               */
    between *layer[2], *step[2]; /* where they lie in each map */
    double *mean;                /* [cells of the larger map]  */
    double *read[2];             /* [layers * steps]           */
    dit_placed *scratch;
    double *ranks;
} comparison;

static between place_layer(int layer, int of, int layers)
{
    double at = of > 1 ? (double)layer / (of - 1) * (layers - 1) : (layers - 1) / 2.0;
    int first = (int)at < layers - 1 ? (int)at : layers > 1 ? layers - 2 : 0;
    return (between){first, at - first};
}

/* False where the place lies outside of the map. */
static bool place_step(const dit_redundancy_map *map, double place, between *out)
{
    for (int i = 0; i + 1 < map->steps; i++) {
        double a = map->places[i], b = map->places[i + 1];
        if ((place - a) * (place - b) > 0 || a == b) continue;
        *out = (between){i, (place - a) / (b - a)};
        return true;
    }
    return false;
}

static void place_grid(comparison *c)
{
    const dit_redundancy_map *coarse = c->maps[c->maps[0]->steps > c->maps[1]->steps];
    for (int layer = 0; layer < c->layers; layer++)
        for (int i = 0; i < 2; i++) c->layer[i][layer] = place_layer(layer, c->layers, c->maps[i]->layers);
    for (int step = 0; step < coarse->steps; step++) {
        double place = coarse->places[step];
        bool both = place_step(c->maps[0], place, &c->step[0][c->steps]);
        both = place_step(c->maps[1], place, &c->step[1][c->steps]) && both;
        c->steps += both;
    }
}

/* Reads a map's mean over the drawn prompts at the grid, between its layers and steps along straight lines. */
static void read_map(const comparison *c, int which, const int *times)
{
    const dit_redundancy_map *map = c->maps[which];
    int64_t cells = cells_of(map);
    for (int64_t cell = 0; cell < cells; cell++) {
        c->mean[cell] = 0;
        for (int i = 0; i < map->prompts; i++) c->mean[cell] += times[i] * map->values[i * cells + cell];
    }
    for (int layer = 0; layer < c->layers; layer++) {
        between l = c->layer[which][layer];
        int below = map->layers > 1 ? map->steps : 0;
        for (int step = 0; step < c->steps; step++) {
            between s = c->step[which][step];
            const double *at = c->mean + (int64_t)l.at * map->steps + s.at;
            c->read[which][layer * c->steps + step] = (1 - l.share) * ((1 - s.share) * at[0] + s.share * at[1]) +
                                                      l.share * ((1 - s.share) * at[below] + s.share * at[below + 1]);
        }
    }
}

static double rank_correlation(const void *context, const int *times, int prompts)
{
    const comparison *c = context;
    (void)prompts;
    for (int i = 0; i < 2; i++) read_map(c, i, times);
    return dit_stats_rank_correlation(c->read[0], c->read[1], c->layers * c->steps, c->scratch, c->ranks);
}

static dit_status take_room(comparison *c)
{
    int steps = c->maps[0]->steps < c->maps[1]->steps ? c->maps[0]->steps : c->maps[1]->steps;
    int64_t cells = (int64_t)c->layers * steps, most = cells_of(c->maps[0]);
    if (cells_of(c->maps[1]) > most) most = cells_of(c->maps[1]);
    bool full = false;
    for (int i = 0; i < 2; i++) {
        c->layer[i] = malloc((size_t)c->layers * sizeof *c->layer[i]);
        c->step[i] = malloc((size_t)steps * sizeof *c->step[i]);
        c->read[i] = malloc((size_t)cells * sizeof *c->read[i]);
        full = full || !c->layer[i] || !c->step[i] || !c->read[i];
    }
    c->mean = malloc((size_t)most * sizeof *c->mean);
    c->scratch = malloc((size_t)cells * sizeof *c->scratch);
    c->ranks = malloc((size_t)cells * 2 * sizeof *c->ranks);
    if (full || !c->mean || !c->scratch || !c->ranks)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory to compare two maps of %lld cells", (long long)most);
    return DIT_OK;
}

static void give_room(comparison *c)
{
    for (int i = 0; i < 2; i++) {
        free(c->layer[i]);
        free(c->step[i]);
        free(c->read[i]);
    }
    free(c->mean);
    free(c->scratch);
    free(c->ranks);
}

dit_status dit_redundancy_rank_correlation(const dit_redundancy_map *one, const dit_redundancy_map *other,
                                           dit_interval *out)
{
    comparison c = {.maps = {one, other}, .layers = one->layers < other->layers ? one->layers : other->layers};
    *out = (dit_interval){0};
    DIT_TRY(check(one));
    DIT_TRY(check(other));
    if (one->prompts != other->prompts)
        return DIT_FAIL(DIT_ERR_SHAPE, "one map has %d prompts, the other has %d", one->prompts, other->prompts);
    dit_status st = take_room(&c);
    if (st == DIT_OK) place_grid(&c);
    if (st == DIT_OK && c.steps < 2)
        st = DIT_FAIL(DIT_ERR_SHAPE, "the maps share fewer than two steps, from %g to %g and from %g to %g",
                      one->places[0], one->places[one->steps - 1], other->places[0], other->places[other->steps - 1]);
    if (st == DIT_OK) st = dit_bootstrap(one->prompts, rank_correlation, &c, out);
    give_room(&c);
    return st;
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

/* Room for the best ways to have computed k steps, the newest of which is step i. */
typedef struct {
    double *least; /* [computed][steps]: of all steps before i             */
    int *before;   /* [computed][steps]: the computed step before i        */
} ways;

static void find_ways(const double *cost, int steps, int computed, const ways *w)
{
    for (int k = 0; k < computed; k++)
        for (int i = 0; i < steps; i++) {
            double *least = &w->least[k * steps + i];
            *least = k == 0 && i == 0 ? 0 : INFINITY;
            for (int from = 0; k > 0 && from < i; from++) {
                double sum = w->least[(k - 1) * steps + from];
                for (int j = from + 1; j < i; j++) sum += cost[from * steps + j];
                if (sum < *least) *least = sum, w->before[k * steps + i] = from;
            }
        }
}

static void follow(const double *cost, int steps, int computed, const ways *w, char *out, double *sum)
{
    int last = 0;
    *sum = INFINITY;
    for (int i = computed > 1 ? steps - 1 : 0; i < steps; i++) {
        double all = w->least[(computed - 1) * steps + i];
        for (int j = i + 1; j < steps; j++) all += cost[i * steps + j];
        if (all < *sum) *sum = all, last = i;
    }
    for (int i = 0; i < steps; i++) out[i] = '0';
    out[steps] = '\0';
    for (int k = computed - 1, i = last; k >= 0; i = w->before[k * steps + i], k--) out[i] = '1';
}

dit_status dit_redundancy_schedule(const double *cost, int steps, int computed, char *out, double *sum)
{
    if (steps < 1 || computed < 1 || computed > steps)
        return DIT_FAIL(DIT_ERR_SHAPE, "%d of %d steps cannot be computed", computed, steps);
    size_t count = (size_t)computed * (size_t)steps;
    ways w = {malloc(count * sizeof *w.least), calloc(count, sizeof *w.before)};
    dit_status st = w.least && w.before ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %zu schedules", count);
    if (st == DIT_OK) {
        find_ways(cost, steps, computed, &w);
        follow(cost, steps, computed, &w, out, sum);
    }
    free(w.least);
    free(w.before);
    return st;
}
