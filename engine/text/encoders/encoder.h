/* Text encoders: transformers' architectures, from token ids to embeddings, and CLIP's from a picture. Each has a file and a row in encoder.c.
 *
 * An encoder serves one shape of call. Model code is serial: with tensor ranks (the runtime's mesh) it loads and runs
 * this rank's heads and columns, and every rank gets the result. It never loads a whole table of token embeddings: it
 * reads the rows of the ids. With `streamed` it holds the weights of one block at a time, which it reads anew in every
 * run, so that a model whose file is larger than memory runs, in fp32 from a file in bf16.
 *
 * encode.h loads, runs and frees an encoder in one call, in any way of base/text_parallel.h.
 */
#ifndef DIT_ENGINE_TEXT_ENCODER_H
#define DIT_ENGINE_TEXT_ENCODER_H

#include "base/text_parallel.h"
#include "engine/files/config.h"
#include "engine/runtime/weights.h"
#include "engine/text/pictures/places.h"

/* What a config tells. */
typedef struct {
    int64_t layers, width, heads, key_heads, head_dim, inner; /* inner: of an MLP */
    int64_t vocabulary, max_tokens;                           /* max_tokens 0: any number */
    int64_t pooled;                                           /* width of the pooled text; 0: this encoder has none */
    int64_t image_size,
        patch;         /* of an encoder of pictures, in pixels: it takes max_tokens tokens; 0: it encodes text */
    int64_t merge;     /* so many patches by so many become one embedding, and pictures have any size; 0: they do not */
    int64_t out_width; /* of an embedding, where it is not `width`; 0: it is                    */
    int64_t picture_token; /* the id that stands for an embedding of a picture; 0: texts alone are read */
} dit_text_encoder_facts;

/* Hidden states that are laid beside each other: those after so many blocks (hidden_states[k] of transformers), in rising
 * order; that after the last block has gone through the final norm. */
enum { DIT_TEXT_STATES = 4 };
typedef struct {
    int count; /* 0: one state, by `skip` */
    int64_t after[DIT_TEXT_STATES];
} dit_text_states;

typedef struct {
    dit_runtime *rt;
    dit_config config; /* transformers' config.json */
    const dit_weights *weights;
    int64_t batch, tokens; /* of every run                                                                         */
    int64_t skip; /* 0: the last hidden state, after the final norm; n: that of n blocks before the end, without it
                     (hidden_states[-(n + 1)] of transformers). SD3 takes 1, HunyuanVideo's Llama 2              */
    dit_text_states states; /* instead of one (FLUX.2)                                                            */
    bool pooled;  /* also makes the pooled text: at the end token, projected where the class says so (CLIP)       */
    int64_t crop; /* so many first tokens are left out of the embeddings (HunyuanVideo's template)                */
    bool zero_padding; /* embeddings of masked tokens are zeros (Wan)                                            */
    bool streamed;
    bool sees; /* the part of the model that sees pictures, one picture a run; else the one that reads */
    int64_t grid_height, grid_width; /* of the picture, in patches; `tokens` is their product          */
} dit_text_encoder_params;

/* One batch, in host memory of the caller. */
typedef struct {
    const int32_t *ids;  /* [batch, tokens] */
    const int32_t *mask; /* [batch, tokens], 0: padding, which no token sees; NULL: all tokens count */
    const float *
        pixels; /* or of an encoder of pictures: planes [batch, 3, image_size, image_size], or of the size of its grid */
    dit_text_pictures pictures; /* that every text of the batch shows, at equal places */
} dit_text_input;

typedef struct dit_text_encoder dit_text_encoder;

/* Reads the facts. Errors: DIT_ERR_JSON_*; DIT_ERR_UNSUPPORTED for architectures that are not built (it names those
 * that are) and for values that would change results and are not implemented. */
dit_status dit_text_encoder_read_facts(const dit_config *config, dit_text_encoder_facts *out);
/* The same of the model's part that sees pictures. Errors: DIT_ERR_UNSUPPORTED, too, where none is built. */
dit_status dit_text_encoder_read_tower_facts(const dit_config *config, dit_text_encoder_facts *out);
/* What the closed forms need of a call. */
dit_text_facts dit_text_encoder_call(const dit_text_encoder_params *params, const dit_text_encoder_facts *facts);

/* Loads the weights (all but those of blocks if `streamed`) and takes all memory from the runtime's arenas; the arenas
 * keep it until they are released. Errors: as dit_text_encoder_read_facts; DIT_ERR_TENSOR_MISSING, DIT_ERR_SHAPE,
 * DIT_ERR_NONFINITE, DIT_ERR_MEMORY; DIT_ERR_CONSTRAINT_* for tensor ranks that do not divide it. */
dit_status dit_text_encoder_create(const dit_text_encoder_params *params, dit_text_encoder **out);
void dit_text_encoder_free(dit_text_encoder *encoder); /* accepts NULL; the arenas keep the memory */
const dit_text_encoder_facts *dit_text_encoder_get_facts(const dit_text_encoder *encoder);

/* Encodes a batch. hidden [batch, tokens - crop, states * width] and pooled [batch, pooled] are host memory of the caller;
 * pooled is NULL where it was not asked for. A row that sees no token (padding on the left) is what a block makes of
 * attention that gives zeros. Of a model that merges patches there is one row for each of its embeddings. Collective over
 * the tensor ranks. Errors: DIT_ERR_SHAPE for an id outside of the vocabulary, and for texts that show other pictures; if `streamed`, those of reading weights; those of messages and devices. */
dit_status dit_text_encoder_run(dit_text_encoder *encoder, const dit_text_input *input, float *hidden, float *pooled);

#endif
