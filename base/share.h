/* Share: one rank's part of a run. The closed forms of volumes and of memory are written in these sizes. */
#ifndef DIT_BASE_SHARE_H
#define DIT_BASE_SHARE_H

#include "base/facts.h"
#include "base/parallel.h"
#include "base/stream.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Forwards of all rows, and stale steps, which go band by band. */
typedef struct {
    int64_t whole, stale, bands;
    int64_t text; /* forwards of joint text: one per stale step, or one per band */
} dit_passes;

typedef struct {
    int64_t u, r, t, patch, stages, cfg, data; /* degrees */
    int64_t images, batch;                     /* of the rank; batch: images times its guidance branches */
    int64_t segments;                          /* that a rank has a piece of; where it has whole frames, these */
    int64_t frames;                            /* of tokens that a rank has, where patches are runs of frames; else 0 */
    int64_t image_rows, moving_rows, replicated_rows; /* moving: image and split text; replicated: text */
    int64_t reference_rows;                           /* of a reference picture, among the image rows  */
    int64_t hidden;                                   /* of a tensor rank                           */
    int64_t state;        /* floats of linear attention's sums, of a tensor rank and a batch row; else 0 */
    int64_t edge;         /* elements of a row of pixels that a convolution needs, likewise           */
    int64_t neighbours;   /* sequence ranks whose rows of pixels lie next to this one's               */
    int64_t element;      /* bytes of an activation                     */
    int64_t stage, part;  /* this rank on the pipefusion and patch axes */
    dit_passes passes;    /* of a run, the fill included; of a stream: the stage's steps, block by block */
    dit_stream stream;    /* zeroed where stages stream nothing         */
    dit_block_run blocks; /* of its stage, summed                       */
} dit_share;

/* Returns the share of `rank`. The configuration must be legal. */
dit_share dit_share_of(const dit_parallel *parallel, const dit_facts *facts, int rank);
/* Returns the sum of the blocks of pipeline stage `stage`. */
dit_block_run dit_share_stage_blocks(const dit_parallel *parallel, const dit_facts *facts, int stage);

#ifdef __cplusplus
}
#endif
#endif
