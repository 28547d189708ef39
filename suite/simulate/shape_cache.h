/* Shape cache: keeps what simulations gave, one file each, in the user's cache folder, so that nothing is simulated
 * twice: not by another command, nor for another number of steps.
 *
 * The key is a hash of all that the result depends on: the case without its number of steps, the ranks, the files that
 * a simulation starts from (platform, accelerator and profile with the fitted values laid over them), what a case is
 * told of the links beside them, the counted operators that the profile names, and the programs that simulate: the
 * engine by the sources and flags that it is made of, not by its commit. What nobody asks for in 60 days is deleted
 * (shape_prune.h). A file that is torn, damaged or of another key counts as missing. Files get their names when they are whole, so several
 * processes may keep the same shape at once.
 */
#ifndef DIT_SUITE_SIMULATE_SHAPE_CACHE_H
#define DIT_SUITE_SIMULATE_SHAPE_CACHE_H

#include "base/hash.h"
#include "suite/simulate/simulate.h"

/* What simulations on one platform with one profile have in common. */
typedef struct {
    char folder[SUITE_PATH];
    char ground[DIT_HASH_HEX];
} suite_shape_cache;

/* Opens the cache; `document`, of `world_size` ranks, is one of the cases that will be asked for, and any will do.
 * Errors: those of suite_simulate_prepare; DIT_ERR_ENVIRONMENT without a cache folder. */
dit_status suite_shape_cache_open(const suite_simulate_params *params, const cJSON *document, int world_size,
                                  const char *platform, const char *profile, suite_shape_cache *out);
/* Gives the name of a case's file in the cache, without the folder. Errors: DIT_ERR_MEMORY. */
dit_status suite_shape_cache_key(const suite_shape_cache *cache, const cJSON *document, int world_size,
                                 char out[DIT_HASH_HEX]);
/* Returns true if the case is known: itself, or with another number of steps, where those that were left out tell what
 * one more takes; then out->sent_bytes is 0. */
bool suite_shape_cache_find(const suite_shape_cache *cache, const cJSON *document, int world_size,
                            suite_simulated *out);
/* Keeps what a case gave. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status suite_shape_cache_keep(const suite_shape_cache *cache, const cJSON *document, int world_size,
                                  const suite_simulated *simulated);

/* Gives key and path of the file that keeps the bounds of these cases, [count], each with its number of steps. Errors:
 * DIT_ERR_MEMORY. */
dit_status suite_shape_cache_bounds(const suite_shape_cache *cache, const suite_simulate_bounded *cases, int count,
                                    char key[DIT_HASH_HEX], char path[SUITE_PATH]);

#endif
