/* Token refiner: the blocks that HunyuanVideo and HunyuanVideo 1.5 run over their text before it joins the video.
 *
 * It attends over the whole text and sees the timestep, so every rank of the first stage refines all of the text at
 * every step, with all heads. Source: parameter names and arithmetic of diffusers 0.33.1 HunyuanVideoTokenRefiner and
 * 0.42.1 HunyuanVideo15TokenRefiner.
 */
#ifndef DIT_ENGINE_TOKEN_REFINER_H
#define DIT_ENGINE_TOKEN_REFINER_H

#include "engine/models/embed.h"
#include "engine/models/joint.h"

typedef struct {
    dit_linear modulation;
    joint_attention attention; /* without norms of q and k */
    dit_mlp mlp;
    const float *norm_weight[2], *norm_bias[2]; /* [C] before attention, before the MLP */
} token_refiner_block;

/* The model sets the first group of members. */
typedef struct {
    int64_t count, H, C, text_dim, B, St; /* blocks; heads; widths; batch; tokens of the whole text      */
    float eps;
    bool padding_sees_first; /* a row of padding attends to the first key alone; else nobody reads such a row */

    embed_combined time_text; /* timestep, mean token */
    dit_linear text_in;
    token_refiner_block *blocks;
    const float *mask;                         /* [B, St] of the condition, or NULL: all tokens count */
    float *bias;                               /* [B, St] on the logits, image's life                 */
    float *mean;                               /* [B, text_dim] mean token                            */
    float *projected;                          /* [B, St, C]: text before the refiner                 */
    float *text, *text_normed, *text_attended; /* [B, St, C]                                          */
    float *text_wide;                          /* [B, St, 4C]: q, k, v, or MLP                        */
    float *gates;                              /* [B, 2C]                                             */
} token_refiner;

/* Loads context_embedder.*; `j` has the model's heads. */
dit_status token_refiner_load(const dit_model_params *params, const joint *j, token_refiner *r);
/* Takes the buffers, of the image's life and of a step's. */
dit_status token_refiner_take(const dit_model_params *params, token_refiner *r);
/* True if a token of the text counts. */
bool token_refiner_keeps(const token_refiner *r, int64_t b, int64_t token);
/* Reads the text [B, St, text_dim] and its mask, once per image: which keys count, and the mean of the kept tokens. */
dit_status token_refiner_read(dit_runtime *rt, token_refiner *r, const float *text, const float *mask);
/* Projects the text and embeds the mean token, once per image; the first stage calls it after the above. */
void token_refiner_prepare(dit_runtime *rt, token_refiner *r, const float *text);
/* Refines the text for the step of time_text: r->text [B, St, C]. Taps aux.refiner_block_i and aux.context_embedder. */
dit_status token_refiner_run(dit_model *model, token_refiner *r);

#endif
