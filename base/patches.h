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
/* Returns piece `index` of `total` things that are cut into `pieces` nearly equal pieces. */
dit_range dit_range_cut(int64_t total, int64_t pieces, int64_t index);
/* Returns band `index` of a rank's rows of a segment, of which `references` are of a reference picture: its piece of the
 * latent's rows, and behind them its piece of the reference's. */
dit_range dit_band_cut(int64_t rows, int64_t references, int64_t bands, int64_t index);
/* True if the stages of the mesh stream blocks of frames (base/stream.h). */
bool dit_parallel_streams(const dit_parallel *parallel);
/* Returns the transformer blocks of pipeline stage `stage`. */
dit_range dit_parallel_stage(const dit_parallel *parallel, const dit_facts *facts, int stage);
/* Returns how many bands of rows a pipeline has: as many as asked for, at most one per row of a rank's latent; 1 without a
 * pipeline. Band `index` of a rank is dit_band_cut of every segment. A band of all sequence ranks together is one piece
 * of the image (and one of its reference): their bands 0 are its top. Of a stream (base/stream.h): its blocks of frames. */
int64_t dit_parallel_bands(const dit_parallel *parallel, const dit_facts *facts);
/* Returns how many steps use K and V of the step before; 0: the run is exact. */
int dit_parallel_stale_steps(const dit_parallel *parallel, const dit_facts *facts);
/* True if a synchronous forward fills the stores before the first step. */
bool dit_parallel_has_fill(const dit_parallel *parallel, const dit_facts *facts);
/* Returns how many of the `rows` rows of a segment that a PCPP rank has each neighbour gets, where all are of the latent,
 * or all of its reference. */
int64_t dit_parallel_shared_rows(const dit_parallel *parallel, int64_t rows);
/* True if patches are runs of a clip's frames, of equal length in the order of ranks (Video-Infinity). */
bool dit_parallel_cuts_frames(const dit_parallel *parallel);
/* Returns how many it gets of `rows` rows of which `references` are of a reference: some of each. */
int64_t dit_parallel_shared_beside(const dit_parallel *parallel, int64_t rows, int64_t references);
/* Returns the canonical form of an approximate run: only what decides its numbers. Configurations with equal latents
 * have one such form, and an oracle that emulates it checks all of them. The form of a pipeline has 2 stages, its bands
 * and, as ring_degree, the ranks that share rows. That of a stream has 2 stages, its method and its frames. That of patches has their degree, method, layout of text, for PCPP
 * the fraction, and for Video-Infinity the frames. Otherwise all degrees are 1. The configuration must be legal; the
 * result is legal, too. */
dit_parallel dit_parallel_emulated(const dit_parallel *parallel, const dit_facts *facts);
/* True if every rank's attention reads the keys of all rows; PCPP, naive patches and Video-Infinity read a part of
 * them. */
bool dit_parallel_sees_all(const dit_parallel *parallel);
/* Returns split or replicate, which AUTO stands for. Without joint attention it is DIT_JOINT_TEXT_REPLICATE. */
dit_joint_text dit_parallel_joint_text(const dit_parallel *parallel, const dit_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
