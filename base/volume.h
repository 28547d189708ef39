/* Volumes: what each rank must send with each method. */
#ifndef DIT_BASE_VOLUME_H
#define DIT_BASE_VOLUME_H

#include "base/cache.h"
#include "base/facts.h"
#include "base/parallel.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The collectives that closed forms and counters distinguish. */
typedef enum {
    DIT_COLLECTIVE_ALL_TO_ALL,
    DIT_COLLECTIVE_ALL_GATHER,
    DIT_COLLECTIVE_SEND_RECV,
    DIT_COLLECTIVE_ALL_REDUCE,
    DIT_COLLECTIVE_COUNT
} dit_collective;
typedef enum {
    DIT_PHASE_STEP,
    DIT_PHASE_GATHER,
    DIT_PHASE_DECODE,
    DIT_PHASE_TEXT,
    DIT_PHASE_COUNT
} dit_phase; /* the sampling loop; collecting latents; latents to images; prompts to embeddings */
const char *dit_collective_name(dit_collective collective);
const char *dit_phase_name(dit_phase phase);

/* A place in a table of all traffic. One index, below DIT_VOLUME_PLACES, visits the places axis by axis, in each
 * collective by collective, in each phase by phase; DIT_VOLUME_AT points to a place's entry
 * in any such table; `place` is a variable, because the macro reads it three times. */
typedef struct {
    dit_axis axis;
    dit_collective collective;
    dit_phase phase;
} dit_volume_place;
enum { DIT_VOLUME_PLACES = (int)DIT_GROUP_COUNT * (int)DIT_COLLECTIVE_COUNT * (int)DIT_PHASE_COUNT };
dit_volume_place dit_volume_place_of(int index);
/* Finds the place that a row of a record names; false when a name is NULL or unknown. */
bool dit_volume_place_from_names(const char *axis, const char *collective, const char *phase, dit_volume_place *out);
#define DIT_VOLUME_AT(table, place) (&(table)->at[(place).axis][(place).collective][(place).phase])

/* What a rank sends for one whole image (all steps). */
typedef struct {
    int64_t bytes, messages;
} dit_volume;
typedef struct {
    dit_volume at[DIT_GROUP_COUNT][DIT_COLLECTIVE_COUNT][DIT_PHASE_COUNT];
} dit_volume_table;

/* Predicts everything that `rank` sends, exactly, by the closed forms at the top of volume.c. The configuration must be
 * legal. Ranks differ where there are pipeline stages or PCPP's neighbours. */
void dit_volume_predict(const dit_parallel *parallel, const dit_facts *facts, int rank, dit_volume_table *out);
/* Predicts what `rank` sends in a cached run: skipped blocks and modules send nothing, and at each test ranks exchange two sums. The
 * mesh must be one that a cache allows (dit_cache_check). A use of zeros, which is that of a run without a cache, gives
 * what dit_volume_predict gives. */
void dit_volume_predict_cached(const dit_parallel *parallel, const dit_facts *facts, const dit_cache_use *use, int rank,
                               dit_volume_table *out);
/* Adds what `rank` sends of its shard of weights, where fsdp_degree is above 1. block_bytes: of each of the `count` blocks
 * of its stage, as they lie in memory; NULL: an estimate from the facts stands for them. */
void dit_volume_predict_shards(const dit_parallel *parallel, const dit_facts *facts, int rank,
                               const int64_t *block_bytes, int64_t count, dit_volume_table *out);
int64_t dit_volume_total_bytes(const dit_volume_table *table);
/* Scales bytes of fp32 to elements of `element_bytes`, because a simulation counts everything in its own dtype. */
void dit_volume_resize(dit_volume_table *table, int element_bytes);
/* Adds the second table to the first. */
void dit_volume_add(dit_volume_table *table, const dit_volume_table *more);

#ifdef __cplusplus
}
#endif
#endif
