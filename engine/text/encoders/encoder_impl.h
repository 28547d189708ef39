/* What the files of this room share: an architecture as data, and the encoder that runs it.
 *
 * An architecture's file says what its parameters are called (text_names) and reads its config into a shape
 * (text_shape); encoder.c and block.c do the rest for all of them.
 */
#ifndef DIT_ENGINE_TEXT_ENCODER_IMPL_H
#define DIT_ENGINE_TEXT_ENCODER_IMPL_H

#include "engine/models/layers.h"
#include "engine/text/encoders/encoder.h"
#include "engine/text/pictures/grid.h"

enum { TEXT_MOST_WINDOWS = 256 };

/* How an encoder computes, as its config says. */
typedef struct {
    dit_text_encoder_facts facts;
    dit_norm_kind norm;
    double eps;
    bool norm_after; /* a block is x = norm(x + f(x)), as BERT has it; else x = x + f(norm(x)) */
    bool causal;     /* a token sees those before it, and itself */
    bool gated;      /* an MLP is down(activation(in x) * up x); else down(activation(in x)) */
    bool biases;     /* linear layers of blocks have them, seeded ones too; a file says so itself */
    bool qkv_biases; /* seeded q, k and v of rotary encoders have them */
    dit_activation activation;
    float slope;                    /* s of activation(s x) / s, which quick_gelu has; 0: 1 */
    double scale;                   /* of the logits; 0: 1 / sqrt(head_dim) */
    double cap;                     /* of the logits, as dit_attention_args has it; 0: none */
    double embedding_scale;         /* embeddings are multiplied by it; 0: they are not */
    bool norms_add_one;             /* a norm's weights are stored less 1 */
    bool norms_outputs;             /* a block is x = x + norm(f(norm(x))) */
    int64_t window;                 /* in blocks that `slides` names, a token sees itself and window - 1 before it */
    bool slides[TEXT_MOST_WINDOWS]; /* by block; window 0: none does */
    double theta;                   /* of rotary positions over halves of a head; 0: none */
    int64_t buckets, max_distance;  /* of a bias of distances on the logits; 0: none */
    bool bias_per_block;            /* every block has a table of biases; else the first one's serves all */
    int64_t positions, types;       /* rows of the tables that are added to embeddings; 0: there is none */
    bool paired_axes;    /* rotary positions are a patch's row, then its column, each for half of the angles */
    int64_t sections[3]; /* so many angles are those of time, row and column of a token's place; 0: all alike */
    int64_t copies;      /* of a patch that its layer takes one after the other; 0: one */
    int64_t window_side; /* merged patches of a window, outside of which blocks see nothing; 0: they see all */
    bool sees_all[TEXT_MOST_WINDOWS]; /* blocks that see all nevertheless */
    int64_t end_token;                /* pooled text is taken at the first such token; 0: at the largest id */
    bool projected;                   /* pooled text goes through a projection */
} text_shape;

/* Names of parameters. Those of a block stand behind its prefix, e.g. "encoder.block.3."; lists end with NULL. */
typedef struct {
    const char *tokens[3]; /* the table of token embeddings: the first that a file has; of pictures, the class's */
    const char *patches;   /* the layer over a patch, of an encoder of pictures */
    const char *positions, *types, *embedding_norm;
    const char *block;
    const char *qkv_fused;               /* q, k and v one after the other; NULL: see qkv */
    const char *qkv[4], *out, *norms[2]; /* norms: of attention, of the MLP */
    const char *output_norms[2];         /* of what they give, where the shape has such norms */
    const char *head_norms[2];           /* of q, of k, over a head, before they are rotated; NULL: none */
    const char *in[3], *down;            /* in: where gated, the layer that is activated comes first */
    const char *ungated;                 /* instead of `in` where an MLP is not gated; NULL: `in` */
    const char *distances;
    const char *final_norm, *projection;
    const char *merge_in, *merge_out; /* layers over merged patches */
} text_names;

typedef struct text_class text_class;
struct text_class {
    const char *architectures[8]; /* entries of a config's "architectures", with NULL at the end */
    const char *model_type;       /* of a config that names no such architecture */
    const char *prefixes[6];      /* what may stand before every name: the first that fits a file */
    text_names names;
    dit_status (*read)(const dit_config *config, text_shape *out);
    const text_class *tower; /* what sees pictures for this one, in the same files; NULL: there is none */
};
extern const text_class text_t5, text_umt5, text_mt5, text_clip, text_clip_projected, text_clip_vision, text_bert,
    text_llama, text_qwen3, text_qwen25_vl, text_qwen25_vision, text_mistral3, text_gemma2;

/* One block's weights. */
typedef struct {
    bool windowed;          /* rows see those of their window alone */
    dit_linear qkv, values; /* values: of rotary encoders, whose q and k are packed in an order of their own */
    dit_joined out, down;
    dit_linear in;
    const float *norm_weight[2], *norm_bias[2];
    const float *output_norm[2]; /* NULL: none */
    const float *head_norm[2];   /* [head_dim] in the order of the packed q and k; NULL: none */
    const float *relative;       /* [H, 2 tokens - 1] of dit_attention_args, or NULL; of windows [2 tokens - 1] */
} text_block;

struct dit_text_encoder {
    const text_class *klass;
    text_shape shape;
    dit_text_encoder_params params;
    dit_weights weights;         /* the caller's; seeded layers have biases as the shape says */
    dit_scope root;              /* of all parameters, with this rank's share */
    const char *tokens;          /* name of the table of token embeddings */
    int64_t H, key_heads, inner; /* of this rank */
    int64_t blocks_run;
    dit_text_states states;                         /* the caller's, or that which is taken beside pooled text */
    bool ends_normed;                               /* the last state that is taken has gone through the final norm */
    text_block *blocks;                             /* [blocks_run], or 1 if streamed */
    const float *relative;                          /* of all blocks, or of those with a window; NULL */
    const float *embedding_norm[2], *final_norm[2]; /* weight, bias; NULL: none */
    dit_linear projection, patch, merge_in, merge_out;
    text_grid grid;  /* of a picture whose patches are merged */
    float *merged;   /* [tokens / merge^2, merge^2 width], or NULL */
    float *embedded; /* [tokens / merge^2, out_width], or NULL */
    float *patches;  /* [batch, tokens - 1, 3 patch patch], or of merged ones [tokens, 3 copies patch patch], or NULL */
    float *stream, *normed;      /* [batch, tokens, width] */
    float *wide;                 /* [batch, tokens, q, k, v side by side, or the inner width, twice if gated] */
    float *attended;             /* [batch, tokens, H D] */
    float *kept;                 /* [states, batch, tokens, width] hidden states that later blocks go on from */
    float *pooled_rows, *pooled; /* [batch, width], [batch, facts.pooled] */
    float *mask;                 /* [batch, tokens] on the logits */
    float *cosines, *sines;      /* [tokens, head_dim] */
    int32_t *positions;          /* [tokens] 0, 1, ... */
    bool masked;                 /* the run has a mask */
};

/* ---- activation.c ------------------------------------------------------------------------------------------------ */

/* Sets activation and slope by transformers' name; gated is set before. Errors: DIT_ERR_UNSUPPORTED, naming the key. */
dit_status text_activation_find(const char *key, const char *name, text_shape *shape);
/* The same by the config's hidden_act, or `usual` where it is absent. */
dit_status text_activation_read(const dit_config *config, const char *usual, text_shape *shape);

/* ---- rotation.c -------------------------------------------------------------------------------------------------- */

/* Reads rope_scaling and rope_parameters, which may be absent; *theta stays where neither has it. Errors:
 * DIT_ERR_UNSUPPORTED for rotations that are not the plain one. */
dit_status text_rotation_read(const dit_config *config, double *theta);

/* ---- block.c ----------------------------------------------------------------------------------------------------- */

/* Loads block `index`, this rank's share, into rt->run. Errors: those of weights. */
dit_status text_block_load(dit_text_encoder *encoder, int64_t index, text_block *block);
/* Runs a block on the stream. Collective over the tensor ranks. */
dit_status text_block_run(dit_text_encoder *encoder, const text_block *block);
/* Loads weight and, where the shape's norm has one, bias of a norm of the encoder's width. */
dit_status text_norm_load(const dit_text_encoder *encoder, const dit_scope *scope, const char *name,
                          const float **weight, const float **bias);
/* y = norm(x) of all rows. */
void text_norm_run(const dit_text_encoder *encoder, const float *x, const float *weight, const float *bias, float *y);
/* Makes biases of distances that leave each token the keys of its window: *out [2 tokens - 1] in rt->run. */
dit_status text_window_make(const dit_text_encoder *encoder, const float **out);
/* Loads a table of biases, [buckets, heads], and spreads it over distances: *out [H, 2 tokens - 1] in rt->run. */
dit_status text_distances_load(const dit_text_encoder *encoder, const dit_scope *scope, const float **out);

#endif
