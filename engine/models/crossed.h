/* Crossed: what Wan and LTX-Video share. Blocks attend to all tokens, then to the text, then run an MLP; one modulation
 * of the timestep serves all of them, shifted by a table of each; the head is modulated by the timestep's embedding
 * itself.
 *
 * The family makes its attentions, what they need, and everything once per clip. Rows of a latent frame that is given
 * (dit_partition.held_count) have a timestep of their own, 0, and so a modulation, gates and a head of their own; which they
 * are, is known before the first step.
 */
#ifndef DIT_ENGINE_CROSSED_H
#define DIT_ENGINE_CROSSED_H

#include "engine/models/embed.h"
#include "engine/models/modules.h"

enum { CROSSED_MODULATIONS = 6 };

/* What the rows have whose timestep is always 0. */
typedef struct {
    int64_t rows;                /* of this rank, the first ones; 0: there are none, and no memory */
    float *time;                 /* [1]                                                            */
    float *embedded, *modulated; /* [C], [6C]: of all steps                                        */
    float *gates;                /* [6C] of a block                                                */
} crossed_held;

typedef struct {
    int64_t B, C, n;       /* batch; hidden; image rows of this rank                        */
    int64_t A, inner;      /* of this tensor rank: width of its heads, of an MLP            */
    int64_t frequencies;   /* of the timestep                                               */
    dit_norm_kind norm;    /* of the stream in blocks; the head's is a layer norm           */
    float eps, last_eps;   /* of blocks; of the head                                        */
    dit_linear modulation; /* [6C, C]                                                       */
    embed_mlp timestep_mlp;
    const float *table;                              /* [2, C]: shift, scale of the head     */
    float *x, *normed, *attended;                    /* [batch, n, C]; attended A            */
    float *wide;                                     /* [batch, n, 3A or inner]: qkv, q, MLP */
    float *sinusoid, *hidden, *embedded, *activated; /* [batch, frequencies or C]            */
    float *modulated, *gates;                        /* [batch, 6C] of the step; of a block  */
    crossed_held held;
} crossed;

typedef struct {
    dit_joined out, cross_out;
    dit_mlp mlp;
    const float *table; /* [6, C] */
} crossed_block;

/* Attention of block `index` about x [batch, rows, C], to out [batch, rows, A]. */
typedef dit_status (*crossed_attention)(dit_model *model, int64_t index, dit_rows x, dit_rows out);

/* Takes the arrays (rt->step), and makes x the model's stream. Everything but tables, weights and arrays is set. Errors:
 * DIT_ERR_MEMORY. */
dit_status crossed_take(dit_model *model, crossed *s);
/* States what a clip needs that begins with a latent frame that is given. beside: the model's input has more channels than
 * its latents. Errors: DIT_ERR_UNSUPPORTED for both. */
dit_status crossed_hold(dit_model *model, bool beside);
/* Makes the embedding and the modulation of rows whose timestep is 0, once per clip. */
dit_status crossed_prepare(dit_runtime *rt, const crossed *s);
/* Makes the step's embedding, `embedded`, and its modulation, `modulated`. */
void crossed_begin(dit_runtime *rt, const crossed *s, const float *timestep);
/* Writes x, normalised and modulated for the self-attention, to y. The block's gates are valid until the next call. */
void crossed_norm(const dit_model *model, const crossed *s, const crossed_block *block, dit_rows x, dit_rows y);
/* Runs one block on the window's rows. Taps attn1 and attn2 of block 0, and the block. Errors: those of the attentions and
 * of messages. */
dit_status crossed_forward(dit_model *model, const crossed *s, const crossed_block *block, int64_t index,
                           crossed_attention self_attention, crossed_attention cross_attention);
/* Writes output [batch, rows, proj_out's n] of the window. */
void crossed_head(dit_model *model, const crossed *s, const dit_linear *proj_out, float *output);

#endif
