/* Partition: which tokens and which batch rows this rank holds, and how shards are put together again.
 *
 *   image tokens  are cut into contiguous chunks over the sequence ranks (patch slowest, then ring, ulysses fastest).
 *                 Where attention is per frame (segments), each frame is cut, and a rank holds its piece of every
 *                 frame, in order. A pipeline first cuts bands, and each band over the sequence ranks: a rank's rows
 *                 are its pieces of band 0, 1, ...
 *                 Video-Infinity gives each rank whole frames instead: a run of them, and those are its segments.
 *   a reference   picture, whose tokens stand behind those of the latent, is cut as the latent is: every band of a rank
 *                 has its piece of the latent and, behind it, its piece of the reference.
 *   joint text    is cut like an image where the mesh splits it; else every sequence rank holds all of it.
 *   batch rows    are branch-major (negative guidance branch first) and cut over cfg; images are cut over data.
 * Every pipeline stage sees the same rows.
 */
#ifndef DIT_ENGINE_PARTITION_H
#define DIT_ENGINE_PARTITION_H

#include "engine/runtime/runtime.h"

typedef struct {
    int64_t image_tokens, image_count;         /* S, and how many of its rows this rank holds       */
    int64_t segments, segment_tokens;          /* parts that are each cut over the ranks: 1, or frames */
    int64_t segment_count;                     /* this rank's rows of each segment                  */
    int64_t segment_first;                     /* the frame that the first segment is; 0 where each is cut */
    bool whole_segments;                       /* ranks have whole frames: segments are this rank's */
    int64_t reference_tokens, reference_count; /* the last of image_tokens, and this rank's of them, which are not
                                                    denoised; there is one segment then */
    int64_t held_count;                        /* the first of this rank's rows: tokens that are given
                                                    (dit_facts.held_tokens); there is one segment then */
    int64_t window_count;                      /* image rows that a forward has at most: all, or of a stream's block */
    int64_t bands;                             /* parts of these rows, by dit_band_cut; 0: one      */
    int64_t sequence_rank, sequence_degree;    /* among the ranks that share the rows               */
    int64_t text_tokens, text_begin, text_count; /* rows of text, and this rank's; all if replicated    */
    bool text_replicated;                        /* joint text held by every sequence rank             */
    int64_t images, image_first;                 /* this data rank's images                            */
    int64_t branches, branch_first;              /* this cfg rank's guidance branches                  */
    int64_t batch;                               /* branches * images                                  */
} dit_partition;

dit_partition dit_partition_of(const dit_runtime *rt);
/* Returns the partition of the rows that are denoised, or of those of the reference, by themselves. */
dit_partition dit_partition_of_latents(const dit_partition *part);
dit_partition dit_partition_of_references(const dit_partition *part);
/* Returns the token of the whole image that a local row holds. */
int64_t dit_partition_token(const dit_partition *part, int64_t row);
/* Rows that are consecutive both here and in the image. */
typedef struct {
    int64_t row, token, count;
} dit_run;
/* Returns the number of runs that a rank's rows consist of: the bands of each segment, in order; of a band that of the
 * latent and that of the reference, where there is one. */
int64_t dit_partition_runs(const dit_partition *part);
dit_run dit_partition_run(const dit_partition *part, int64_t index);
/* Copies this rank's rows out of [rows_of_image = S, cols] into [image_count, cols]. */
void dit_partition_take(const dit_partition *part, const float *whole, int64_t cols, float *local);

/* How a tensor is spread over the ranks. */
typedef enum {
    DIT_LAYOUT_IMAGE,  /* [batch, image_count, cols]              */
    DIT_LAYOUT_ACROSS, /* as IMAGE, collected as [batch, segment_tokens, segments, cols]: attention over time */
    DIT_LAYOUT_PLANES, /* as IMAGE, collected as [batch, cols, S], the layout of a convolution's output */
    DIT_LAYOUT_TEXT,   /* [batch, text_count, cols], joint text   */
    DIT_LAYOUT_JOINT,  /* [batch, text_count + image_count, cols] */
    DIT_LAYOUT_GLOBAL, /* [batch, 1, cols], equal on all sequence ranks */
    DIT_LAYOUT_COUNT
} dit_layout;

/* One local tensor to collect. Rows of a batch entry are ld floats apart, batch entries batch_stride apart. */
typedef struct {
    dit_layout layout;
    const float *data;
    int64_t rows; /* only for GLOBAL; other layouts imply theirs */
    int64_t cols, ld, batch_stride;
    bool batched; /* false: one entry that all batch rows share (rotary tables), whatever batch and cfg are */
} dit_shards;

/* Collects the whole tensor on every rank, [batch of all cfg ranks, rows, cols], in serial order. Collective over the
 * sequence and cfg axes; data ranks keep their own images; pipelines are not supported. Messages count under the
 * current phase. *out is malloc'ed. */
dit_status dit_partition_collect(dit_runtime *rt, const dit_partition *part, const dit_shards *shards, float **out,
                                 int64_t *elements);
/* Gathers the final latents: [images, image_count, cols] of this rank become `full` [num_images, S, cols] on every
 * rank. `full` and `scratch`, of one size, belong to the caller. Gathers over ulysses, ring, patch and data;
 * counted. */
dit_status dit_partition_gather_latents(dit_runtime *rt, const dit_partition *part, const float *local, int64_t cols,
                                        float *scratch, float *full);

#endif
