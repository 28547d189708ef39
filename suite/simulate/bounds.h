/* Bounds: times that no simulation of a case goes below, for many cases in one start of the engine. */
#ifndef DIT_SUITE_SIMULATE_BOUNDS_H
#define DIT_SUITE_SIMULATE_BOUNDS_H

#include "suite/simulate/shape_cache.h"

enum { SUITE_BOUND_BLOCKS = 128 };

/* engine/bound/bounds.h says what each bound is. Memory is what a simulation would report. */
typedef struct {
    dit_status status; /* of what the engine said of the case */
    char message[300];
    double seconds; /* the largest, with a little slack for the rounding of simulations */
    char largest[8];
    double device_s, host_s, wire_s, chain_s, floor_s;
    int64_t memory_bytes;
    int block_count;                    /* where they were asked for, and are no more than that; else 0 */
    double block_s[SUITE_BOUND_BLOCKS]; /* in each block of the model, as engine/bound/bounds.h says    */
} suite_bounds;

/* Computes the bounds of all cases, [count], on one platform with one profile, or takes them from `cache` (NULL: neither
 * that nor kept there), which was opened with these parameters, platform and profile. Bounds of which
 * one is DIT_ERR_MEMORY are not kept. Errors: those of suite_simulate_check,
 * DIT_ERR_MEMORY, DIT_ERR_IO, DIT_ERR_TIMEOUT, DIT_ERR_INTERRUPTED; what is wrong with one case is told in its entry. */
dit_status suite_bounds_of(const suite_simulate_params *params, const suite_simulate_bounded *cases, int count,
                           const char *platform, const char *profile, const suite_shape_cache *cache,
                           suite_bounds *out);

#endif
