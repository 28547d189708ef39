/* Request: what a case says of a request beside its denoising (how much of it is timed, its text encoders, a decode that
 * ranks share), and the closed form of what each rank sends for that.
 *
 * A case has "measure": {"scope"}, "conditions": {"text_encoder_parallel"}, "vae", and "text_encoders": [{"name",
 * "layers", "width", "heads", "head_dim", "feed_forward", "gated", "tokens", "runs", "key_heads"?, "skip"?, "crop"?,
 * "pooled"?}]. runs: texts of one image, 2 with a negative prompt. The last four count where ranks share the encoders:
 * heads of keys and values; blocks before the end whose hidden state is taken; first tokens that are left out of the
 * embeddings; width of the pooled text. */
#ifndef DIT_BASE_REQUEST_H
#define DIT_BASE_REQUEST_H

#include "base/json.h"
#include "base/rows.h"
#include "base/text_parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a time covers. */
typedef enum {
    DIT_SCOPE_DENOISE,  /* the denoising steps              */
    DIT_SCOPE_LATENTS,  /* text encoders before them, too   */
    DIT_SCOPE_PIPELINE, /* and the decode: prompt to picture */
    DIT_SCOPE_COUNT
} dit_request_scope;
const char *const *dit_request_scopes(void); /* their names, NULL-terminated */

enum { DIT_REQUEST_ENCODERS = 4 };

/* One text encoder. The name belongs to the document; NULL: it has none. */
typedef struct {
    const char *name;
    int64_t layers, width, heads, head_dim, feed_forward, tokens, runs, key_heads, skip, crop, pooled;
    int64_t states, last; /* hidden states beside each other, and the block after which the last one is; 0: by skip */
    bool gated;           /* an MLP has three matrices (T5 1.1, Llama), else two */
} dit_request_encoder;

typedef struct {
    dit_request_scope scope;
    dit_text_parallel way; /* of sharing every text encoder */
    int64_t prompts;       /* different ones in a batch     */
    int encoder_count;
    dit_request_encoder encoders[DIT_REQUEST_ENCODERS];
    int decode_ranks;    /* that share every decode; 1: rank 0 decodes */
    dit_rows_facts rows; /* of a shared decode                         */
} dit_request;

/* Reads "states" of a text encoder's object, the blocks after which hidden states are taken, of `layers`: how many there
 * are, and the last one; 0 where it is absent. Errors: DIT_ERR_JSON_*. */
dit_status dit_request_read_states(const dit_json *doc, const cJSON *object, const char *at, int64_t layers,
                                   int64_t *states, int64_t *last);
/* Reads all of it from the case at the root of `doc`. `ranks` share a decode where its "parallel" has rows_degree.
 * Errors: DIT_ERR_JSON_*; those of dit_rows_read. */
dit_status dit_request_read(const dit_json *doc, dit_request *out);
/* Returns what the closed forms of sharing an encoder need, with activations of so many bytes. */
dit_text_facts dit_request_text(const dit_request *request, int encoder, int64_t element_bytes);
/* Checks that `ranks` ranks can share encoders and decode as the case says. Errors: DIT_ERR_CONSTRAINT_*,
 * DIT_ERR_UNSUPPORTED. */
dit_status dit_request_check(const dit_request *request, int ranks);
/* Adds what `rank` of `ranks` sends beside its denoising, exactly. */
void dit_request_predict(const dit_request *request, int ranks, int rank, int64_t element_bytes, dit_volume_table *out);

#ifdef __cplusplus
}
#endif
#endif
