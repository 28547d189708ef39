/* What LTX-Video and LTX-2's video have around and inside their blocks: rotary tables as wide as all heads together, K and V
 * of masked text that are made once per clip, crossed blocks (crossed.h).
 *
 * A class reads its config, and says where tokens lie in a clip and which frequencies turn them.
 */
#ifndef DIT_ENGINE_LTX_STACK_H
#define DIT_ENGINE_LTX_STACK_H

#include "engine/models/crossed.h"

enum { LTX_AXES = 3 };

typedef struct ltx_stack ltx_stack;

typedef struct {
    int64_t layers, H, D, channels, text_dim;
    double eps;               /* of the norms in blocks                                                      */
    float heads_eps;          /* of the norms of q and k                                                     */
    bool halves;              /* positions turn entries that are half a head apart; else neighbours          */
    bool norms_queries;       /* the stream is normalised for the queries of the text                        */
    bool as_wide;             /* text comes as wide as the stream and is not projected                       */
    bool plain_mlp;           /* MLPs have no biases                                                          */
    dit_condition_kind scale; /* what tells the class how long a frame lasts, and how much of it             */
    int64_t scales;
    /* Where the latent's cell at [frame, row, column] lies in the base clip, from -1 to 1, in the library's float32; told: the
     * condition above. */
    void (*place)(const dit_model *model, const float *told, const int64_t cell[LTX_AXES], float place[LTX_AXES]);
    /* Returns frequency `index` of `count`, which multiplies a place. */
    float (*frequency)(const dit_model *model, int64_t index, int64_t count);
    const void *own; /* the class's numbers, for these two */
} ltx_kind;

typedef struct {
    crossed_block s;
    dit_linear qkv, cross_q, cross_kv;
    const float *norm_q, *norm_k, *cross_norm_q, *cross_norm_k; /* [A]: over all heads together  */
    float *text_kv; /* [batch, text tokens, 2A] K, normalised, and V of the text, in rt->image   */
} ltx_block;

struct ltx_stack {
    ltx_kind kind;
    crossed s;
    int64_t T; /* text tokens               */
    int64_t H; /* heads of this tensor rank */
    dit_linear proj_in, proj_out;
    embed_mlp caption_mlp;
    ltx_block *blocks;
    float *cosines, *sines;    /* [image_count, A]: every head has angles of its own */
    float *text_bias;          /* [batch, T]: 0 or -10000                            */
    const float *bias;         /* text_bias, or NULL without a mask                  */
    float *text, *text_hidden; /* [batch, T, C]                                      */
};

/* Checks what a class has read, whose text and output have these widths (out_channels 0: as the input), and that the config has no other
 * values than those that are built. Errors: DIT_ERR_SHAPE,
 * DIT_ERR_UNSUPPORTED. */
dit_status ltx_kind_check(const dit_config *config, const ltx_kind *kind, int64_t cross_dim, int64_t out_channels);
/* The entries of dit_model_ops that both classes have; create takes what the class read from its config, whose strings and
 * numbers must live as long as the model. */
dit_status ltx_stack_create(const dit_model_params *params, const ltx_kind *kind, dit_model *model);
dit_status ltx_stack_prepare(dit_model *model, const dit_condition *condition);
dit_status ltx_stack_begin(dit_model *model, const float *timestep);
dit_status ltx_stack_embed(dit_model *model, const float *latents);
dit_status ltx_stack_attention_input(dit_model *model, float *out);
dit_status ltx_stack_block(dit_model *model, int64_t index);
dit_status ltx_stack_head(dit_model *model, float *output);

/* Returns entry `index` of a float32 linspace(0, 1, count), computed from its nearer end with one rounding: angles go up to
 * 15,700, where a last bit of the exponent would turn a pair by 0.01. */
float ltx_spread(int64_t index, int64_t count);
/* Returns the class's numbers of a model. */
const void *ltx_stack_own(const dit_model *model);

#endif
