/* Mesh options: declares the options of degrees, pipelines and displaced patches, as documents and as xDiT spell them,
 * and of weights that do not stay, and makes a configuration of them.
 */
#ifndef DIT_SUITE_VERBS_MESH_OPTIONS_H
#define DIT_SUITE_VERBS_MESH_OPTIONS_H

#include "base/parallel.h"
#include "base/residency.h"
#include "suite/console/cli.h"

enum {
    SUITE_DEGREE_OPTIONS = 2 * DIT_AXIS_COUNT,
    SUITE_DISPLACED_OPTIONS = 10,
    SUITE_OFFLOAD_OPTIONS = 4,
    SUITE_SHARD_OPTIONS = 3
};

/* Fills one row for the degree of each axis, and one more where xDiT has another name for it; no ending row. A degree
 * that is not given stays 0. Returns how many rows there are, at most SUITE_DEGREE_OPTIONS. */
int suite_degree_options(int64_t degree[DIT_AXIS_COUNT], suite_option *options);

/* Of weights in shards, as they were given; begin with prefetch -1. */
typedef struct {
    int64_t degree, prefetch; /* 0, -1: not said */
} suite_shards;
/* Fills SUITE_SHARD_OPTIONS rows; no ending row. */
void suite_shard_options(suite_shards *shards, suite_option *options);
/* Sets the shards of `out`. Errors: DIT_ERR_USAGE for a prefetch of whole weights. */
dit_status suite_shards_settle(const suite_shards *shards, dit_parallel *out);

/* The values that were given; begin with SUITE_DISPLACED_UNSAID. */
typedef struct {
    int64_t num_pipeline_patch, warmup_steps; /* 0, -1: not said */
    double patch_fraction;                    /* 0: not said     */
    int64_t halo_frames, global_frames;       /* -1: not said    */
    int64_t block_frames, context_frames;     /* 0, -1: not said */
    const char *patch_method, *stage_method, *stage_blocks;
} suite_displaced;
#define SUITE_DISPLACED_UNSAID                                                                                         \
    {                                                                                                                  \
        .warmup_steps = -1, .halo_frames = -1, .global_frames = -1, .context_frames = -1                               \
    }

/* Fills SUITE_DISPLACED_OPTIONS rows; no ending row. */
void suite_displaced_options(suite_displaced *displaced, suite_option *options);
/* Sets the options of pipelines and patches in `out`, whose degrees are set already. An option without effect on this
 * mesh is noted in the log and left out. Errors: DIT_ERR_USAGE. */
dit_status suite_displaced_settle(const suite_displaced *displaced, dit_parallel *out);

/* Takes the method of the ring that --attention names; other policies follow from the degrees. */
void suite_attention_settle(const char *attention, dit_parallel *out);

/* The words and numbers that were given; zeroed: none. */
typedef struct {
    const char *tier, *policy;
    int64_t resident_weights, depth;
} suite_offload;
/* Fills SUITE_OFFLOAD_OPTIONS rows; no ending row. */
void suite_offload_options(suite_offload *offload, suite_option *options);
/* Makes settings of them. Errors: DIT_ERR_USAGE for unknown words, and for a policy or a room of weights that stay. */
dit_status suite_offload_settle(const suite_offload *offload, dit_offload *out);

#endif
