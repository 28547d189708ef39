/* Parallel configuration: how many ranks share what, as in a case document. */
#ifndef DIT_BASE_PARALLEL_H
#define DIT_BASE_PARALLEL_H

#include "base/axis.h"
#include "base/habits.h"
#include "base/json.h"
#include "base/method.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the text of joint attention is laid out over the sequence ranks. */
typedef enum {
    DIT_JOINT_TEXT_AUTO,      /* split when text tokens divide, else replicate */
    DIT_JOINT_TEXT_SPLIT,     /* each sequence rank holds a share of the text  */
    DIT_JOINT_TEXT_REPLICATE, /* every sequence rank holds all of the text     */
    DIT_JOINT_TEXT_COUNT
} dit_joint_text;
const char *dit_joint_text_name(dit_joint_text layout);
const char *const *dit_joint_text_names(void); /* all of them, NULL at the end */
bool dit_joint_text_from_name(const char *name, dit_joint_text *out);

enum { DIT_MAX_STAGES = 64, DIT_MAX_BLOCKS = 10000 };

/* Degrees; 0 is read as 1. */
typedef struct {
    int degree[DIT_AXIS_COUNT];
    dit_joint_text joint_text;
    /* Of methods that work with K and V of the step before (degree of pipefusion or patch above 1); otherwise 0. */
    int warmup_steps;                 /* so many first steps are synchronous, and exact; 0: an uncounted synchronous
                                         forward fills the stores, so that nothing depends on the request before */
    int num_pipeline_patch;           /* bands of rows that follow each other through the stages; 0: one per stage */
    int stage_blocks[DIT_MAX_STAGES]; /* blocks of each stage, attn_layer_num_for_pp; [0] = 0: nearly equal stages */
    dit_patch_method patch_method;    /* of the patch axis */
    double patch_fraction;            /* share of a neighbour's rows that PCPP gets, in (0, 1]; 0: a half */
    int halo_frames;                  /* Video-Infinity: frames of each neighbour that a rank sees               */
    int global_frames;             /* and frames that all ranks see, as many of each rank; patch_degree divides them */
    dit_stage_method stage_method; /* of the pipefusion axis                                                          */
    int block_frames;              /* of its streams (base/stream.h): frames of tokens of a block                     */
    int context_frames;            /* and frames of blocks beside it that a block sees                                */
    dit_ring_method ring_method;   /* of the ring axis of a model; that of a layer is in base/layer.h */
    int inner_ring;                /* of its double ring: ranks of an inner ring; 0: dit_parallel_inner_ring's choice */
    bool context_first;            /* ring ranks are nearer to each other than Ulysses ranks */
    dit_habits habits;             /* of the software whose run is predicted; no document has them */
    int rows_degree;   /* ranks that share the rows of a decode (base/rows.h): 1, or all. No axis: the ranks are the
                          mesh's, and where there is no mesh, so many */
    int fsdp_degree;   /* ranks that hold the weights of blocks in shards. No axis: they are ranks of other axes */
    int fsdp_prefetch; /* blocks whose weights are gathered ahead of their use; where fsdp_degree is 1: 0 */
} dit_parallel;

/* Reads {"ulysses_degree":2,...,"joint_text":"auto","rows_degree":1}; absent degrees are 1, unknown keys are errors. To
 * JSON, rows_degree and fsdp_degree are left out where they are 1, and fsdp_prefetch where it is 1. */
dit_status dit_parallel_from_json(const dit_json *doc, const cJSON *object, const char *pointer, dit_parallel *out);
dit_status dit_parallel_to_json(const dit_parallel *parallel, cJSON *object);
/* Returns the number of ranks along `axis`, at least 1; along DIT_AXIS_WORLD it is rows_degree, along
 * DIT_AXIS_FSDP fsdp_degree. */
int dit_parallel_degree(const dit_parallel *parallel, dit_axis axis);
/* True if K and V of the step before are used: with stages, or with displaced patches. */
bool dit_parallel_is_displaced(const dit_parallel *parallel);
int dit_parallel_world_size(const dit_parallel *parallel);
/* Returns how many ranks an inner ring of the double ring has: inner_ring, or where that is 0 the greatest divisor of the
 * ring degree whose square is no greater than it. Without a double ring: all of the ring. */
int dit_parallel_inner_ring(const dit_parallel *parallel);
/* Checks that inner rings of `inner_ring` ranks, 0 for unsaid, make up a ring. Errors: DIT_ERR_CONSTRAINT_PRODUCT. */
dit_status dit_inner_ring_check(int64_t ring_degree, int64_t inner_ring);
/* Returns patch * ring * ulysses, the number of ranks that share the rows of an image. */
int dit_parallel_sequence_degree(const dit_parallel *parallel);
/* Returns how many ranks hold equal weights: all but tensor ranks and stages. */
int dit_parallel_equal_ranks(const dit_parallel *parallel);

#ifdef __cplusplus
}
#endif
#endif
