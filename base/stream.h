/* Streams: clips that come block by block of frames out of the stages of a pipeline. Which step of which block a stage
 * computes when, which rows a block sees, and what it sends, as data: the executor, the closed forms and the timetable
 * of `explain` all read it here.
 *
 * Blocks of block_frames frames of tokens are numbered in the order of the clip. Every block has a step of its own.
 *
 *   dualparal   Stages have layers. All blocks of a queue take one step a turn: a block enters it at step 0 in each turn,
 *               and leaves it after its last step. A turn goes from the newest block, which has most noise, to the oldest.
 *               A forward is about a block and the last context_frames frames before it, as they are now: these are
 *               computed again, at the block's step, and dropped. It also attends to K and V of the first context_frames
 *               frames of the block behind it, which went by just before, a step noisier.
 *   tpp         Stages have steps: all layers of them. A stage makes its steps of one block after the other, and hands
 *               the block on. A block attends to K and V of the context_frames frames before it, of its own step, which
 *               the stage has kept of the blocks before.
 */
#ifndef DIT_BASE_STREAM_H
#define DIT_BASE_STREAM_H

#include "base/facts.h"
#include "base/parallel.h"
#include "base/patches.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stream as one stage sees it. Rows are image tokens. */
typedef struct {
    dit_stage_method method;
    int64_t blocks, block_rows, context_rows;
    int64_t all_steps; /* of a block                       */
    dit_range steps;   /* those of them that this stage makes */
} dit_stream;

typedef struct {
    int64_t step, block;
} dit_stream_task;

/* The configuration must be legal, and a stream. */
dit_stream dit_stream_of(const dit_parallel *parallel, const dit_facts *facts, int64_t stage);
/* The first forward of the stage. */
dit_stream_task dit_stream_first(const dit_stream *stream);
/* Makes *task the one after; false behind the last. */
bool dit_stream_next(const dit_stream *stream, dit_stream_task *task);
/* The rows that a forward about the block computes: its own, and those before it that are computed again. */
dit_range dit_stream_window(const dit_stream *stream, int64_t block);
int64_t dit_stream_window_most(const dit_stream *stream);
/* Rows of K and V that a block at `step` takes from what the stage has kept. */
int64_t dit_stream_context(const dit_stream *stream, dit_stream_task task);
/* Whether new latents of the block leave the last stage for the first one (dualparal), or the stage for the next one
 * (tpp; `last`: there is none), after this forward. */
bool dit_stream_hands_on(const dit_stream *stream, dit_stream_task task, bool last);

#ifdef __cplusplus
}
#endif
#endif
