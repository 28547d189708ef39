/* Parts: what a request takes beside its denoising: prompts to embeddings before it, latents to pictures and files after
 * it. A case whose scope is latents or pipeline has them timed.
 *
 * Each part is run as often as the case has warm-up runs and iterations, before the next one begins: an encoder is loaded
 * once and freed before the transformer is loaded, so the memory of a part is what it needs by itself. Loading counts in
 * no part, as in a server whose weights stay. Every run goes from a barrier to one (the denoising to its gathered
 * latents), so that ranks without a part in something count as long as the others. */
#ifndef DIT_ENGINE_PARTS_H
#define DIT_ENGINE_PARTS_H

#include "engine/prompts/prompts.h"
#include "engine/results/decode.h"
#include "engine/results/measure.h"

enum { DIT_PARTS_PATH = 4096 };

typedef struct {
    int runs;                        /* warm-ups and iterations of each part                               */
    char embeddings[DIT_PARTS_PATH]; /* the file that the prompts became; "": conditions are others         */
    dit_prompts_account prompts;
    dit_first_frame first_frame; /* what the picture that a clip begins with became, once             */
    dit_decoder decoder;
    int64_t *decode_each, *write_each; /* [runs]; NULL: nothing is decoded                                  */
    int64_t *decode_busy;              /* [runs] of decode_each, what this rank did not wait                 */
    int64_t decode_peak;
    dit_flops decode_flops;
    dit_comm_counters decode_sent;
    dit_volume_table decode_predicted;
} dit_parts;

/* Turns the prompts of a case, and the picture that its clip begins with, into a file of embeddings in `folder`, the prompts
 * `runs` times; does nothing where its conditions are others. Call it before a runtime exists. Collective. The caller
 * releases *out, also after an error. Errors: those of the case and of dit_prompts_encode. */
dit_status dit_parts_encode(const dit_json *doc, const char *folder, int runs, dit_parts *out);
/* Adds what this rank sends in a decode that ranks share, by the closed form and without the frames that only fill up a
 * patch; nothing where one rank decodes. Errors: DIT_ERR_JSON_*; those of dit_shared_decode_check. */
dit_status dit_parts_predict_decode(const dit_pipeline *pipeline, dit_volume_table *out);
/* Decodes the latents of the pipeline's last run, and writes image.png (image-N.png of several, clips as animated PNG)
 * into `folder`, `runs` times. Rank 0 decodes, or all ranks with rows_degree. Collective. Errors: DIT_ERR_UNSUPPORTED
 * without a VAE; those of the decoder and of files; DIT_ERR_BYTES_MISMATCH where a shared decode did not send its closed
 * form. */
dit_status dit_parts_decode(dit_pipeline *pipeline, const char *folder, dit_parts *parts);
/* Puts the parts into this rank's measurement, whose iterations are those of the denoising: their latency becomes that
 * of the request, without writing files. */
void dit_parts_take(const dit_parts *parts, const dit_pipeline *pipeline, dit_measurement *measurement);
void dit_parts_release(dit_parts *parts); /* accepts a zeroed one */

#endif
