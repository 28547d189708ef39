/* Joint blocks (MM-DiT): the vocabulary of FLUX, SD3 and HunyuanVideo.
 *
 * Text and image lie in one buffer, [batch, text rows + image rows, cols], always with the text first, so that joining
 * the streams costs nothing. A double block has weights and a modulation for each stream; the streams attend to each
 * other:
 *
 *     for both streams: joint_before_attention();   joint_attend();
 *     for both streams: joint_add_attention(), joint_add_mlp()
 *
 * joint_double_block() does all of this. A single block has one set of weights for both streams, and its MLP runs
 * beside its attention:
 *
 *     joint_before_attention();   joint_attend();   joint_add_parallel()
 *
 * Source: Esser et al., Scaling Rectified Flow Transformers (arXiv:2403.03206), figure 2; parameter names and
 * arithmetic of diffusers 0.33.1 (JointTransformerBlock, FluxTransformerBlock, FluxSingleTransformerBlock).
 */
#ifndef DIT_ENGINE_JOINT_H
#define DIT_ENGINE_JOINT_H

#include "engine/models/modules.h"

/* ---- two streams in one buffer ----------------------------------------------------------------------------------- */

typedef enum { JOINT_TEXT, JOINT_IMAGE, JOINT_STREAMS, JOINT_BOTH = JOINT_STREAMS } joint_part;

/* Returns this rank's rows of one stream, or of both, in a dense buffer [batch, rows, cols]. */
dit_rows joint_rows(const dit_partition *partition, joint_part part, float *buffer, int64_t cols);
/* Creates the attention policy for this tensor rank's heads over both streams; text_biases: so many biases of text keys
 * will be given (dit_attention_set_text_bias). Collective. Errors: as dit_attention_create. */
dit_status joint_create_policy(const dit_model_params *params, int64_t heads, int64_t D, int text_biases,
                               dit_attention **out);
/* Projects this rank's rows of text [batch, text tokens, k] to out [batch, this rank's text rows, n]. */
void joint_project_text(dit_runtime *rt, const dit_partition *partition, const dit_linear *linear, const float *text,
                        float *out);
/* Taps x [batch, rows, C] as it leaves a block: image as "`kind`_`index`", text as "`kind`_`index`_context". */
dit_status joint_tap(dit_model *model, float *x, int64_t C, const char *kind, int64_t index);

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Chunks of C in a modulation, in the library's order; a single block has the first three. */
enum { JOINT_SHIFT, JOINT_SCALE, JOINT_GATE, JOINT_SHIFT_MLP, JOINT_SCALE_MLP, JOINT_GATE_MLP, JOINT_CHUNKS };
/* Chunks of AdaLayerNormContinuous, which has no gate: before the head, and for a text that no later block reads. */
enum { JOINT_LAST_SCALE, JOINT_LAST_SHIFT, JOINT_LAST_CHUNKS };
enum { JOINT_SINGLE_CHUNKS = JOINT_SHIFT_MLP, JOINT_MAX_CHUNKS = 9 };

typedef struct {
    dit_linear qkv;               /* [A + 2 own_kv.count D, C]          */
    dit_joined out;               /* [C, A]                             */
    const float *norm_q, *norm_k; /* [D] RMS norm per head; NULL: none  */
} joint_attention;

/* The layers of one stream of a double block, or of both streams in a single block. */
typedef struct {
    _Alignas(64) joint_part part; /* what the arena rounds to: each block then takes as much memory as the next */
    int64_t index;                /* of the block in the whole model                                               */
    int chunks;                   /* of the modulation; JOINT_LAST_CHUNKS: without attention.out and mlp           */
    dit_linear modulation;        /* [chunks C, C]                                                                 */
    joint_attention attention;    /* in a single block out is [C, A + inner] and reads [attention | MLP]           */
    dit_mlp mlp;                  /* in a single block only its first half                                         */
} joint_stream;

typedef struct {
    joint_stream text, image;
} joint_block;

/* What families call the modulation and the MLP of a stream of a double block. */
typedef struct {
    const char *modulation, *mlp;
} joint_stream_names;

/* What all blocks of a model share. The model sets the first group of members, then calls joint_create. */
typedef struct {
    int64_t H, D, inner;                    /* heads; width of a head, of an MLP                       */
    int64_t kv_heads;                       /* of k and v, each for H / kv_heads of q; 0: H            */
    float eps;                              /* of every norm                                           */
    bool qk_norm;                           /* q and k are normalised per head                         */
    const float *activated;                 /* [batch, C]: what modulations are projected from         */
    bool gated;                             /* MLPs are SwiGLU, and a single block's inputs one layer */
    const joint_stream_names *stream_names; /* [JOINT_STREAMS]; NULL: those of FLUX and SD3      */

    dit_model *model;
    int64_t C, wide_cols;
    int64_t heads, A, own_inner; /* of this tensor rank: heads, their width, an MLP's width */
    dit_range own_kv;            /* the heads of k and v that those heads attend to         */
    const dit_partition *view;   /* the model's: rows are those of its window                */
    const dit_window *window;
    const float *cosines[JOINT_STREAMS], *sines[JOINT_STREAMS]; /* [rows, D] rotation of a stream; NULL: none  */
    int64_t rotary_stride[JOINT_STREAMS];   /* batch entries of both are so far apart; 0: all entries have one  */
    const float *shared[JOINT_STREAMS + 1]; /* [batch, chunks C] of text, image, both: modulations that the model makes
                                               once a step for all blocks; NULL: every block makes its own */
    float *x, *normed;                      /* [batch, rows, C]                            */
    float *wide;                      /* [batch, rows, wide_cols]: [attention | q k v], later [attention | MLP]  */
    float *modulation[JOINT_STREAMS]; /* [batch, JOINT_MAX_CHUNKS C]; for both streams together: the image's     */
} joint;

/* Makes the buffers (rt->step), and x the stream of the model. */
dit_status joint_create(dit_model *model, joint *j);

/* Returns the heads of k and v that a share of the heads of q attends to. */
dit_range joint_kv_heads(const joint *j, dit_share share);
/* Loads, under `name` ("attn", "attn2") of a block: to_q, to_k, to_v, to_out.0, norm_q, norm_k; for the text add_q_proj
 * and so on. */
dit_status joint_load_attention(const dit_scope *block, const joint *j, const char *name, joint_part part, bool has_out,
                                joint_attention *attention);
/* Loads norm1, attn, ff of a double block; for the text norm1_context, attn.add_.., ff_context. */
dit_status joint_load_stream(const dit_scope *block, const joint *j, joint_part part, int chunks, joint_stream *stream);
/* Loads the stage's share of transformer_blocks.*: double blocks whose streams have JOINT_CHUNKS each. Makes the array
 * of all blocks (rt->run). */
dit_status joint_load_blocks(const dit_model_params *params, const joint *j, int64_t count, joint_block **out);
/* Loads the stage's share of single_transformer_blocks.*, which follow `doubles` double blocks: norm, attn, proj_mlp,
 * proj_out. Makes the array of all blocks (rt->run). */
dit_status joint_load_singles(const dit_model_params *params, const joint *j, int64_t doubles, int64_t count,
                              joint_stream **out);

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Return views of the buffers; `attended` is the output of joint_attend. */
dit_rows joint_x(const joint *j, joint_part part);
dit_rows joint_normed(const joint *j, joint_part part);
dit_rows joint_attended(const joint *j, joint_part part);

/* Makes the modulation, which stays valid until the next block: all that joint_before_attention does where the attention
 * is not computed. */
void joint_modulate(dit_runtime *rt, const joint *j, const joint_stream *stream);
/* Makes the modulation, which stays valid until the next block, normalises x with it, and projects q, k, v. */
void joint_before_attention(dit_runtime *rt, const joint *j, const joint_stream *stream);
/* Writes the image rows that joint_before_attention projects, of an image's stream or of a single block's, to out [batch,
 * image rows, C]. Overwrites the modulation. */
void joint_attention_input(dit_runtime *rt, const joint *j, const joint_stream *stream, float *out);
/* Lets the rows of `part` attend to each other, as projected. Collective over the sequence ranks. */
dit_status joint_attend(dit_attention *policy, const joint *j, joint_part part, dit_rows out);
/* Do what stands before joint_add_attention and joint_add_parallel: the modulation, and, unless it is taken from a
 * cache, the attention. Collective as joint_attend. */
dit_status joint_attend_double(dit_model *model, const joint *j, const joint_block *block);
dit_status joint_attend_single(dit_model *model, const joint *j, const joint_stream *stream);
/* x += gate * out(attended). This function, and the others that add to x, are collective over the tensor ranks. */
dit_status joint_add_attention(const joint *j, const joint_stream *stream);
/* x += gate * MLP(norm(x)). */
dit_status joint_add_mlp(dit_runtime *rt, const joint *j, const joint_stream *stream);
/* x += gate * out([attended | gelu(MLP in(normed))]): one projection of one buffer. */
dit_status joint_add_parallel(dit_runtime *rt, const joint *j, const joint_stream *stream);
/* Shows k and v of both streams to a tap that takes layers; after joint_before_attention. */
dit_status joint_tap_keys(dit_model *model, const joint *j);
/* Shows it what a double block's attention gives, and what that of a block without output projections gives. */
dit_status joint_tap_attended(dit_model *model, const joint *j, const joint_block *block);
dit_status joint_tap_attended_raw(dit_model *model, const joint *j);
/* Taps what a double block's attention adds to image and text: "aux.block_0.attn.0", ".1". */
dit_status joint_tap_attention(dit_model *model, const joint *j, const joint_block *block);
/* Runs a double block with the model's first policy; `tapped`: also calls joint_tap_attention. Collective, as
 * joint_attend. */
dit_status joint_double_block(dit_model *model, const joint *j, const joint_block *block, bool tapped);
/* output [batch, image rows, n] = linear(AdaLayerNormContinuous(image rows of x)). The text is dropped here. */
void joint_head(dit_runtime *rt, const joint *j, const dit_linear *modulation, const dit_linear *linear, float *output);

/* ---- parts of those, for blocks that have more ------------------------------------------------------------------- */

/* normed = norm(x) by two chunks of the stream's modulation. */
void joint_norm(dit_runtime *rt, const joint *j, const joint_stream *stream, int shift, int scale);
/* q, k, v of normed: projected, normalised, rotated, and a head of k and v for each head of q. */
void joint_project(dit_runtime *rt, const joint *j, const joint_attention *attention, joint_part part);
/* x += gate * joined(from), the gate a chunk of the stream's modulation: the end of a module of that kind. second: it is
 * the block's second one over image rows. */
dit_status joint_add(const joint *j, const joint_stream *stream, dit_module kind, bool second, const dit_joined *joined,
                     dit_rows from, int gate);

#endif
