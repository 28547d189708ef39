/* Chunks: a decode whose frames are dealt over ranks. Says which rank decodes which chunk of latent frames, and (the
 * closed form) what each rank sends. engine/vae/relay.c runs it.
 *
 * A causal decoder walks a video chunk by chunk: every convolution over time sees the last frames of the chunk before,
 * which it keeps. Chunk i is rank i mod N's. What a convolution keeps goes on to the rank of the next chunk as soon as
 * it is there, so that ranks work on following chunks at one time, each a few layers behind the one before:
 * 2 C h w e bytes a convolution and chunk, whatever the number of ranks, and sums in the order of one rank. At the end
 * the frames are gathered. Every rank holds what one rank alone would hold.
 *
 * AutoencoderKLWan has chunks of one latent frame, AutoencoderKLCogVideoX and AutoencoderKLMochi of two.
 * AutoencoderKLHunyuanVideo15 has them of one behind its middle block, which every rank decodes whole.
 * AutoencoderKLHunyuanVideo has norms and an attention over all frames, AutoencoderKLLTXVideo sees frames behind, and 2-D decoders have no time: they are shared by rows. */
#ifndef DIT_BASE_CHUNKS_H
#define DIT_BASE_CHUNKS_H

#include "base/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if the decoder walks a video in chunks. */
bool dit_chunks_has(dit_rows_decoder decoder);
/* Returns the chunks of `frames` latent frames. */
int64_t dit_chunks_count(dit_rows_decoder decoder, int64_t frames);
/* Returns how many frames the chunk becomes. */
int64_t dit_chunk_frames(const dit_rows_facts *facts, int64_t first);
/* Returns DIT_OK, or why the frames cannot be dealt over `degree` ranks: DIT_ERR_UNSUPPORTED for a decoder without
 * chunks, DIT_ERR_CONSTRAINT_DEGREE when a rank would have none. */
dit_status dit_chunks_check(int degree, const dit_rows_facts *facts);
/* Predicts what `rank` sends for all videos, under DIT_AXIS_WORLD and DIT_PHASE_DECODE; nothing with one rank. */
void dit_chunks_predict(const dit_rows_facts *facts, int degree, int rank, dit_volume_table *out);

#ifdef __cplusplus
}
#endif
#endif
