/* adaLN-single: what PixArt, Latte and Sana share. Patches get a sine-cosine table; all blocks share one modulation by the
 * timestep, which each block shifts by a table of its own; blocks attend to projected captions; both have one head.
 * Source: Chen et al., PixArt-alpha (arXiv:2310.00426), section 2.3; parameter names and arithmetic of diffusers 0.33.1
 * AdaLayerNormSingle and BasicTransformerBlock ("ada_norm_single").
 *
 * The family decides how a block's tokens attend to each other:
 *   qkv = adaln_before_attention(); attention of qkv into `attended`; adaln_after_attention().
 * Where a cache has the attention's output, adaln_modulate() stands for the first two. adaln_block_forward() is all of it where
 * the model's first policy has every token attend to all.
 */
#ifndef DIT_ENGINE_ADALN_H
#define DIT_ENGINE_ADALN_H

#include "engine/models/embed.h"
#include "engine/models/modules.h"

typedef struct {
    int64_t H, D, patch, in_channels, out_channels, text_dim, sample_size;
    double eps, interpolation_scale;
    int64_t cross_H, cross_D; /* heads of cross-attention; 0: those of self-attention                       */
    const char *patch_name;   /* of the parameters of patches; NULL: "pos_embed"                           */
    const char *time_name;    /* of those of the timestep; NULL: "adaln_single"                            */
    bool unplaced;            /* patches get no table                                                      */
    bool normed_text;         /* projected captions are normalised (RMS)                                   */
    bool unbiased;            /* seeded q, k and v of self-attention have no bias                          */
    int64_t inner;            /* of a feed-forward network of the family's own; 0: an MLP of 4 C           */
} adaln_config;

typedef struct {
    dit_linear qkv, cross_q, cross_kv; /* cross: only in blocks with text                         */
    dit_joined out, cross_out;
    dit_mlp mlp;
    const float *table; /* [6, C]                                                  */
    float *text_kv;     /* [batch, text tokens, 2 cross_A], in rt->image; NULL: no text */
    int64_t index;      /* of the whole model                                      */
} adaln_block;

typedef struct {
    adaln_config c;
    int64_t C, B, segments, text_tokens; /* hidden; whole batch; frames of the rows                     */
    const dit_partition *view;           /* the model's: n and batch below are those of its window, but for
                                            the text's, which have the whole batch                      */
    int64_t H, A, inner;                 /* of this tensor rank: heads, their width, an MLP's width     */
    /* The family's own feed-forward network: adds gate times what it makes of `normed` to x, by module_add; `normed` is not
     * computed where the module is taken. NULL: an MLP. */
    dit_status (*feed_forward)(dit_model *model, int64_t index, dit_rows normed, dit_rows x, const float *gate,
                               int64_t gate_stride);
    int64_t cross_H, cross_A; /* heads of its cross-attention: as above, or all of them      */
    dit_linear patch_proj, modulation, proj_out;
    embed_mlp timestep_mlp, caption_mlp;
    const float *table;                              /* [2, C]: shift, scale of the head                   */
    const float *text_norm;                          /* [C], or NULL                                       */
    float *position;                                 /* [n / segments, C], in rt->image                    */
    float *text_bias;                                /* [batch, text tokens] on the logits, in rt->image   */
    const float *bias;                               /* text_bias, or NULL without a mask                  */
    float *x, *normed, *attended;                    /* [batch, n, C]; attended A, or cross_A              */
    float *wide;                                     /* [batch, n, 3A or inner]: qkv or MLP                */
    float *text, *text_hidden;                       /* [batch, text tokens, C]                            */
    float *sinusoid, *hidden, *embedded, *activated; /* [batch, 256 or C]                                  */
    float *modulated, *gates;                        /* [batch, 6C] of the step; of a block                */
} adaln;

/* Loads everything but the blocks, and makes the buffers (rt->image, rt->step), the position table and the model's
 * stream. `a` has its config. Errors: those of loading weights. */
dit_status adaln_create(dit_model *model, adaln *a);
/* Loads a block of the scope; a block with text gets memory for its K and V. */
dit_status adaln_load_block(const dit_scope *scope, const adaln *a, int64_t index, bool text, adaln_block *block);

/* Projects the captions, and their K and V for every block of the stage, once per image. Taps
 * aux.caption_projection. */
dit_status adaln_prepare(dit_model *model, adaln *a, adaln_block *blocks, int64_t count,
                         const dit_condition *condition);

/* Makes the modulation of the step; `added` [whole batch, C] (or NULL) is added to the timestep's embedding. Taps
 * aux.adaln_single.0, .1. */
dit_status adaln_begin(dit_model *model, adaln *a, const float *timestep, const float *added);
/* Embeds patches into x. Taps aux.pos_embed. */
dit_status adaln_embed(dit_model *model, adaln *a, const float *latents);
/* Makes the block's shifts, scales and gates, which are valid until the next call. */
void adaln_modulate(dit_runtime *rt, adaln *a, const adaln_block *block);
/* Writes x, normalised and modulated, to y [batch, n, C]. The block's gates are valid until the next call. */
void adaln_norm(dit_runtime *rt, adaln *a, const adaln_block *block, dit_rows y);
/* Normalises, modulates and projects x: returns [batch, n, 3A]. The block's gates are valid until the next call. */
dit_rows adaln_before_attention(dit_runtime *rt, adaln *a, const adaln_block *block);
/* Adds the output of the attention, which is a module of that kind, then cross-attention where there is text, then the
 * MLP. Taps attn1, attn2 of block 0. */
dit_status adaln_after_attention(dit_model *model, adaln *a, const adaln_block *block, dit_module kind, bool tapped);
/* Runs a block whose tokens attend to each other by model->attention[0]. Taps its keys and its rows. */
dit_status adaln_block_forward(dit_model *model, adaln *a, const adaln_block *block);
/* Writes output [batch, n, out_channels patch^2]. */
void adaln_head(dit_runtime *rt, adaln *a, float *output);

#endif
