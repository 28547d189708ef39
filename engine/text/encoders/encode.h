/* Encode: a text encoder from its folder to embeddings, in one call and in any way of sharing it between ranks.
 *
 * The call has a runtime of its own, which it releases before it returns: nothing of the encoder is left when the
 * transformer loads, and peaks of memory are those of this phase. Call it before the runtime of the transformer exists.
 */
#ifndef DIT_ENGINE_TEXT_ENCODE_H
#define DIT_ENGINE_TEXT_ENCODE_H

#include "engine/text/encoders/encoder.h"

typedef struct {
    const char *folder; /* config.json, and model.safetensors or its shards unless `seeded` */
    bool seeded;        /* weights are random numbers, by `seed`                            */
    uint64_t seed;
    const char *backend; /* as dit_runtime_params */
    dit_dtype dtype;
    int threads;
    bool counting;   /* computes and sends nothing, for `rank` of `ranks` ranks that need not run */
    int rank, ranks; /* read only when counting; else the ranks are those of the run               */
    dit_text_parallel way;
    int64_t batch, tokens; /* prompts, with those of one guidance branch after those of the other, the negative ones
                              first; tokens of each */
    dit_text_input input;  /* [batch, tokens], equal on all ranks; empty when counting */
    int64_t skip, crop;    /* these and the rest: as dit_text_encoder_params */
    dit_text_states states;
    bool pooled, zero_padding, streamed;
    bool sees; /* these: as dit_text_encoder_params */
    int64_t grid_height, grid_width;
    int runs; /* how often the batch is encoded, with equal results; 0: once */
} dit_text_encode_params;

/* Reads what is taken of an encoder, "skip", "states" (a list), "crop", "pooled" and "zero_padding", each of which may be
 * absent. Errors: DIT_ERR_JSON_*. */
dit_status dit_text_encode_read(const dit_config *from, dit_text_encode_params *params);

/* What a call made, and what it took on this rank. */
typedef struct {
    float *hidden;       /* [batch, tokens, width], malloc'ed host memory, equal on every rank; NULL when counting */
    float *pooled;       /* [batch, pooled_width], likewise; NULL: none */
    const char *kernels; /* of the runtime that computed: "cpu", "cuda" */
    int64_t batch, tokens, width, pooled_width; /* tokens without the cropped ones; width of all states */
    int64_t load_ns, run_ns; /* run_ns: of the last run; a streamed encoder loads its blocks within it */
    int64_t *each_ns;        /* [runs] of each run, from a barrier to one, malloc'ed; NULL when counting   */
    int64_t parameters;      /* elements of weights that this rank read            */
    dit_flops flops;         /* of one run */
    int64_t peak_bytes[DIT_MEMORY_CLASS_COUNT], total_peak_bytes; /* of this rank's arenas */
    dit_comm_counters sent;     /* in one run; counting leaves out what a broadcast sends */
    dit_volume_table predicted; /* what `sent` must be (engine/results/record.h checks it) */
} dit_text_encoding;

/* Does all that the header says. Collective over the world, unless it counts. The caller releases *out, also after an
 * error. Errors: those of encoder.h; DIT_ERR_IO for the folder's files; DIT_ERR_CONSTRAINT_* for a way that the ranks
 * cannot go; those of dit_runtime_init. */
dit_status dit_text_encode(const dit_text_encode_params *params, dit_text_encoding *out);
void dit_text_encoding_release(dit_text_encoding *encoding); /* accepts a zeroed one */

#endif
