/* Next-DiT: what Z-Image has, of the family that began with Lumina. One set of weights serves text and image; an RMS norm
 * stands before each attention and MLP and another one behind it, so that a block is
 *
 *     x += tanh(gate) * norm(attention(norm(x) (1 + scale)));   the same with a SwiGLU
 *
 * Refiners come first: blocks of the image alone, which know the timestep, and blocks of the text alone, which do not and
 * so run once per image. Then main layers run over both. Source: Lumina-Image 2.0 (arXiv:2503.21758), section 3;
 * parameter names and arithmetic of diffusers 0.42.1.
 *
 * Both streams live in the buffer of joint.h all the time, as the stages, caches and ranks of a mesh expect: while the
 * image is refined its blocks hide the text's keys, and what they make of its rows is dropped, when the first main layer
 * puts the refined text there. So the image's refiners do the work of a few rows more than the library.
 *
 * Where a family fills up its sequences (facts.text_multiple), what fills up a text lies behind it, and what fills up the
 * image in the last rows of text: [text | padding of the image | image].
 *
 * Where k and v have fewer heads than q, they are projected with those, and the policy gets a copy for each head of q:
 * messages between ranks are as without this.
 */
#ifndef DIT_ENGINE_NEXTDIT_H
#define DIT_ENGINE_NEXTDIT_H

#include "engine/models/embed.h"
#include "engine/models/joint.h"

enum { NEXTDIT_AXES = 3 };
/* Norms of a block: before and behind its attention, before and behind its MLP. */
enum { NEXTDIT_BEFORE, NEXTDIT_BEHIND, NEXTDIT_BEFORE_MLP, NEXTDIT_BEHIND_MLP, NEXTDIT_NORMS };

/* The library's names of a class. */
typedef struct {
    const char *attention, *gate, *value, *down, *norms[NEXTDIT_NORMS], *modulation; /* of a block */
    const char *unmodulated_norm; /* NULL, or the first norm of a block without modulation, if that has another name */
    const char *time[2], *text_norm, *text_in;
    char image_in[32], head[48], head_scale[64];
    const char *image_padding, *text_padding; /* tokens; NULL: sequences are not filled up */
} nextdit_names;

typedef struct {
    _Alignas(64) joint_attention attention; /* what the arena rounds to: each block takes as much memory as the next */
    dit_linear modulation;                  /* [4 C, condition]: scale, gate of attention, then of the MLP           */
    dit_linear in;                          /* [2 inner, C]: gate, value                                             */
    dit_joined down;                        /* [C, inner]                                                            */
    const float *norms[NEXTDIT_NORMS];      /* [C] */
} nextdit_block;

/* The first group of members are a model's settings. */
typedef struct {
    nextdit_names names;
    int64_t H, D, inner, refiners, layers; /* heads; widths of a head, of an MLP; blocks                     */
    int64_t kv_heads;                      /* of k and v; 0: H                                               */
    int64_t channels, patch, text_dim;     /* of the latent; cells of a patch's side; of a token of text     */
    int64_t condition_width, time_width;   /* of what modulates; of the hidden layer that makes it           */
    int64_t axes[NEXTDIT_AXES];            /* of a head's rotary parts: time, row, column                    */
    int64_t first_position;                /* of the text in time; the image follows behind the text         */
    double theta;
    float norm_eps, time_unit; /* the timestep is multiplied by it, in float32                   */
    bool qk_norm;
    bool activates_condition; /* modulations are projected from SiLU of the timestep's embedding              */
    bool rounds_angles;       /* of the rotation, to float32                                                  */
    bool keeps_places;        /* the text's hidden tokens stay between the others: as many rows as the mask keeps,
                                 from the first on, are shown to the image, whichever it hides                 */

    joint j;
    int64_t St, captions; /* tokens of a text; its rows, filled up                          */
    embed_mlp time;
    dit_linear image_in, text_in, head, head_scale;
    nextdit_block *blocks, *text_blocks; /* [refiners + layers], [refiners]                                */
    const float *text_norm, *image_padding, *text_padding; /* [text_dim]; [C]                                     */
    int64_t *shown; /* [batch] rows of text that others see                           */
    float *ids;     /* [text or image rows, 3]                                        */
    float *cosines[JOINT_STREAMS], *sines[JOINT_STREAMS]; /* [batch, all rows of text, or this rank's of image, D] */
    float *bias[2];                            /* [batch, rows of text] on the logits of main layers, of refiners */
    float *text_bias;                          /* [batch, captions] on those of the text's refiners              */
    float *normed_text, *projected;            /* [batch, St, text_dim], [batch, St, C]                          */
    float *text, *text_normed, *text_attended; /* [batch, captions, C]                                           */
    float *text_wide;                          /* [batch, captions, 3C or 2 inner]                               */
    float *sinusoid, *hidden, *embedded, *activated; /* [batch, ..] of the timestep                               */
} nextdit;

/* Makes model->state of the settings: loads weights, makes buffers and the policy, and sets what the model tells. Errors:
 * those of loading weights. */
dit_status nextdit_create(const dit_model_params *params, dit_model *model, const nextdit *settings);

dit_status nextdit_prepare(dit_model *model, const dit_condition *condition);
dit_status nextdit_begin(dit_model *model, const float *timestep);
dit_status nextdit_embed(dit_model *model, const float *latents);
dit_status nextdit_attention_input(dit_model *model, float *out);
dit_status nextdit_forward_block(dit_model *model, int64_t index);
dit_status nextdit_head(dit_model *model, float *output);

/* Entries of dit_model_ops that all models of the family have. */
#define NEXTDIT_ENTRIES                                                                                                \
    .layout = DIT_LATENT_CFHW, .prepare = nextdit_prepare, .begin = nextdit_begin, .embed = nextdit_embed,             \
    .attention_input = nextdit_attention_input, .block = nextdit_forward_block, .head = nextdit_head

#endif
