/* Layers: the fastest choice of one strategy for each layer of a chain, within a budget of memory. Pure.
 *
 * Every layer has the same list of strategies. A choice takes the time of its layers and of the conversions between
 * neighbours; it needs what all of its layers hold, and what the layer that works with most needs beside that. The
 * problem is that of Galvatron (arXiv:2211.13878) and of OSDP (arXiv:2209.13258), with any conversion between
 * neighbours. A chain needs no integer programme.
 */
#ifndef DIT_SUITE_LAYERS_LAYERS_H
#define DIT_SUITE_LAYERS_LAYERS_H

#include "base/status.h"

#include <stdint.h>

enum {
    SUITE_LAYERS_MOST = 4096,             /* layers of a chain                                    */
    SUITE_LAYERS_STRATEGIES = 64,         /* strategies of a layer                                */
    SUITE_LAYERS_CELLS = 65536,           /* of the grid of memory                                */
    SUITE_LAYERS_TABLE = 1 << 28,         /* bytes of a table of choices                          */
    SUITE_LAYERS_EXHAUSTIVE = 2 * 1000000 /* choices that are tried one by one                    */
};

/* What one strategy of one layer costs. */
typedef struct {
    double seconds;       /* INFINITY: the layer has no such strategy                             */
    double held_bytes;    /* until the end: states, activations                                   */
    double working_bytes; /* only while the layer works: weights that were gathered               */
} suite_layer_cost;

/* Asked now and then while something is searched: a status that is not DIT_OK ends the search and is its result. */
typedef struct {
    dit_status (*ask)(void *context);
    void *context;
} suite_layers_watch;
/* Asks; DIT_OK without a watch. */
dit_status suite_layers_ask(const suite_layers_watch *watch);

/* A chain. Arrays stay the caller's. */
typedef struct {
    int layers, strategies;
    const suite_layer_cost *costs; /* [layers][strategies]                                        */
    const double *conversion_s;    /* [strategies][strategies], from one to the next; NULL: 0     */
    double budget_bytes;
    const suite_layers_watch *watch; /* NULL: nobody asks */
    int cells;       /* of the grid of memory; 0: 1024, and more where that is too coarse                  */
    double enough_s; /* no finer grid where no choice can be faster than this; 0: whatever the time        */
} suite_layers;

/* A choice, and what is known of all choices. */
typedef struct {
    bool fits;                                 /* false: no choice was found within the budget   */
    double seconds, held_bytes, working_bytes; /* exact sums and maximum of the choice           */
    double bound_s;                            /* no choice within the budget is faster          */
    double least_bytes;                        /* no choice needs less                           */
} suite_layers_plan;

/* Checks numbers and sizes of a chain. Errors: DIT_ERR_USAGE for a count outside its range, DIT_ERR_NONFINITE for a
 * time or a size that is negative or no number, DIT_ERR_UNSUPPORTED for a table that would be too large. */
dit_status suite_layers_check(const suite_layers *chain);

/* Fills *out and choice [layers] with the fastest choice, by dynamic programming over layers and cells of memory. What
 * layers hold is rounded up to cells, so that a choice that is said to fit does fit; it may therefore be slower than
 * the best, and bound_s, which comes from the same programme with sizes rounded down, says by how much at most. With
 * cells 0 the grid becomes finer, up to 16384 cells, while that is more than a thousandth. Time grows with layers *
 * strategies^2 * cells * (distinct working sizes). Errors: as suite_layers_check; DIT_ERR_MEMORY. */
dit_status suite_layers_solve(const suite_layers *chain, suite_layers_plan *out, int *choice);

/* As suite_layers_solve for the first 1, 2, ... layers of the chain, all at once: seconds [layers] gets the time of
 * each best choice, INFINITY where none was found, and choices [layers][layers] has that of the first i + 1 layers in
 * row i. There are no bounds. */
dit_status suite_layers_prefixes(const suite_layers *chain, double *seconds, uint8_t *choices);

/* Tries every choice, in exact memory: the oracle of the others. bound_s is the optimum. Errors: as suite_layers_check;
 * DIT_ERR_UNSUPPORTED for more than SUITE_LAYERS_EXHAUSTIVE choices. */
dit_status suite_layers_try_all(const suite_layers *chain, suite_layers_plan *out, int *choice);
/* Whether suite_layers_try_all can. */
bool suite_layers_is_small(const suite_layers *chain);

/* Adds up what a choice costs: seconds, held_bytes, working_bytes and fits of *out. */
void suite_layers_weigh(const suite_layers *chain, const int *choice, suite_layers_plan *out);

#endif
