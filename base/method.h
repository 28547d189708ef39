/* Methods: what papers call the ways to share a model, and which axes each divides its ranks over. One row each in
 * method.c. Several methods joined with "+" are a method too: "cfg+pipefusion+ulysses".
 */
#ifndef DIT_BASE_METHOD_H
#define DIT_BASE_METHOD_H

#include "base/axis.h"
#include "base/dtype.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the ranks of the patch axis know of each other's K and V, after the synchronous steps. */
typedef enum {
    DIT_PATCH_DISTRIFUSION, /* all of it, a step late                                       */
    DIT_PATCH_PCPP,         /* of the two neighbours the rows next to the own, a step late  */
    DIT_PATCH_NAIVE,        /* nothing                                                      */
    DIT_PATCH_FRAMES,       /* Video-Infinity: some frames of a clip, of this step; patches are runs of frames */
    DIT_PATCH_METHOD_COUNT
} dit_patch_method;
/* Its row's name below. */
const char *dit_patch_method_name(dit_patch_method method);
bool dit_patch_method_from_name(const char *name, dit_patch_method *out);
/* All of them, NULL at the end. */
const char *const *dit_patch_method_names(void);

/* What the ranks of the pipefusion axis share, and what passes between them. */
typedef enum {
    DIT_STAGE_PIPEFUSION, /* layers; bands of rows of one step, with K and V of other bands a step late              */
    DIT_STAGE_DUALPARAL,  /* layers; blocks of frames at rising noise, each with a step of its own (base/stream.h)   */
    DIT_STAGE_TPP,        /* steps; blocks of frames, which go from rank to rank as they lose noise (base/stream.h)  */
    DIT_STAGE_METHOD_COUNT
} dit_stage_method;
/* Its row's name below. */
const char *dit_stage_method_name(dit_stage_method method);
bool dit_stage_method_from_name(const char *name, dit_stage_method *out);
/* All of them, NULL at the end. */
const char *const *dit_stage_method_names(void);

/* How ranks communicate around a ring, by the name of the attention policy. Models have the first ones, one attention
 * layer alone (base/layer.h) has all. */
typedef enum {
    DIT_RING_MERGE,  /* k and v travel together, results merge by their log-sum-exp                          */
    DIT_RING_GATHER, /* every rank gathers all k and v, then computes (arXiv:2407.21783)                     */
    DIT_RING_DOUBLE, /* LoongTrain: rings of near ranks, and a ring of those rings (arXiv:2406.18485)        */
    DIT_RING_SWITCH, /* DSP: whole frames in blocks within frames, all frames of a part in others (arXiv:2403.10266) */
    DIT_RING_OF_MODELS, /* how many models have                                                                 */
    DIT_RING_WHOLE_ROWS = DIT_RING_OF_MODELS, /* Ring Self-Attention: keys, then values, with whole rows of scores
                                                 between (arXiv:2105.13120)                                           */
    DIT_RING_QUERIES, /* TokenRing: q travels, results return to their owner (arXiv:2412.20501)               */
    DIT_RING_HELPED,  /* LightSeq: causal, ranks without work compute for late ones (arXiv:2310.03294)        */
    DIT_RING_METHOD_COUNT
} dit_ring_method;
const char *dit_ring_method_name(dit_ring_method method); /* "ring", "token-ring", ... */
bool dit_ring_method_from_name(const char *name, dit_ring_method *out);
/* Those of models, NULL at the end. */
const char *const *dit_ring_method_names_of_models(void);

enum { DIT_METHOD_AXES = 2, DIT_METHOD_NAME = 64 };

typedef struct {
    const char *name;
    int axis_count;
    dit_axis axes[DIT_METHOD_AXES]; /* all above one rank          */
    dit_patch_method patch_method;  /* where one is the patch axis */
    dit_ring_method ring_method;    /* where one is the ring       */
    dit_stage_method stage_method;  /* where one is the pipeline   */
    int chart_place;                /* from 1: order in charts, as papers show them; 0: behind those, by name */
    const char *colour;             /* in charts: a name of the palette; NULL: the next one                   */
} dit_method_row;
/* The row at `index` from 0; NULL behind the last. */
const dit_method_row *dit_method_get(int index);
const dit_method_row *dit_method_row_find(const char *name);

/* A method by its name: one row or several. */
typedef struct {
    char name[DIT_METHOD_NAME];
    bool axes[DIT_GROUP_COUNT]; /* above one rank */
    dit_patch_method patch_method;
    dit_ring_method ring_method;
    dit_stage_method stage_method;
} dit_method;

/* Errors: DIT_ERR_NOT_FOUND when there is no such method, or its parts do not go together in this order; the hint has
 * the nearest name. */
dit_status dit_method_from_name(const char *name, dit_method *out);
/* The name of the method that divides its ranks over these axes, from the slowest to the fastest: "cfg+usp"; "single"
 * for none. */
void dit_method_name(const bool axes[DIT_GROUP_COUNT], dit_patch_method patch_method, dit_ring_method ring_method,
                     dit_stage_method stage_method, char out[DIT_METHOD_NAME]);
/* Whether a method gives the one-rank result whatever its warm-up; the others do where every step is synchronous. */
bool dit_method_is_exact(const dit_method *method);
/* How far an exact method may be from the one-rank result in fp32: the relative L2 distance that other orders of sums
 * make over all steps of a run. */
#define DIT_METHOD_EXACT_REL_L2 1e-5
/* Returns how far an exact method may be from the one-rank run of its case in the same dtype: only the order of sums,
 * and the roundings in between, differ. guidance: the scale that combines two forwards, 1 where there is only one. */
double dit_method_tolerance(dit_dtype dtype, double guidance);
/* The fewest ranks above one on which a method is all that its name says; 1 for single. A double ring has two rings of
 * two ranks. */
int dit_method_least_ranks(const dit_method *method);

#ifdef __cplusplus
}
#endif
#endif
