/* Pipelines and patches: which blocks a stage has, which rows a band, where joint text lies, how many steps are stale,
 * and which plain run must give the same. */
#ifndef DIT_BASE_PATCHES_H
#define DIT_BASE_PATCHES_H

#include "base/facts.h"
#include "base/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A piece of something that is numbered from 0. */
typedef struct {
    int64_t first, count;
} dit_range;
/* Piece `index` of `total` things cut into `pieces` parts as even as it goes. */
dit_range dit_range_cut(int64_t total, int64_t pieces, int64_t index);
/* Transformer blocks of pipeline stage `stage`. */
dit_range dit_parallel_stage(const dit_parallel *parallel, const dit_facts *facts, int stage);
/* How many bands of rows a pipeline has: what was asked for, at most one per row of a rank; 1 without a pipeline. Band
 * `index` of a rank is dit_range_cut(rows of a segment, bands, index) of every segment; the bands of all sequence ranks
 * lie together in the image, so that band 0 of all of them is its top. */
int64_t dit_parallel_bands(const dit_parallel *parallel, const dit_facts *facts);
/* Steps that run on K and V of the step before; 0: the run is exact. */
int dit_parallel_stale_steps(const dit_parallel *parallel, const dit_facts *facts);
/* Whether stores are filled by a synchronous forward before the first step. */
bool dit_parallel_has_fill(const dit_parallel *parallel, const dit_facts *facts);
/* Rows of a segment, of `rows` that a PCPP rank has, that each neighbour gets. */
int64_t dit_parallel_shared_rows(const dit_parallel *parallel, int64_t rows);
/* What decides the numbers of an approximate run, and nothing else: configurations whose latents agree have one such
 * form, and an oracle that emulates it checks them all. A pipeline has 2 stages, its bands, and as ring_degree the
 * ranks that share rows; patches their degree, method, layout of text and, of PCPP, the fraction. Without either:
 * all 1. The configuration must be legal; so is the result. */
dit_parallel dit_parallel_emulated(const dit_parallel *parallel, const dit_facts *facts);
/* Whether the attention of every rank reads the keys of all rows; PCPP's and naive patches read a part. */
bool dit_parallel_sees_all(const dit_parallel *parallel);
/* split or replicate: what AUTO becomes. For models without joint attention: DIT_JOINT_TEXT_REPLICATE. */
dit_joint_text dit_parallel_joint_text(const dit_parallel *parallel, const dit_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
