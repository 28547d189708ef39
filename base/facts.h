/* Facts: what the rules of a mesh and the closed forms need to know of a model and its run. */
#ifndef DIT_BASE_FACTS_H
#define DIT_BASE_FACTS_H

#include "base/latent.h"
#include "base/module.h"
#include "base/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A run of identical blocks. Each block has one self-attention over the sequence (joint: with the text), and
 * `image_layers` more over image tokens alone (SD3.5's second one). `sums` says how often tensor ranks add up their
 * parts in a block:
 *
 *   member  what is summed                                      rows                             how often
 *   ------  --------------------------------------------------  -------------------------------  -------------
 *   image   [rows, hidden]                                      a stream's image rows            every forward
 *   cross   those of `image` after a cross-attention that       a stream's image rows            every forward
 *           tensor ranks may compute whole (base/habits.h)
 *   text    [rows, hidden], or text_width where it is narrower  a stream's text rows             every forward
 *   both    [rows, hidden] of a joint block with one stream     all rows                         every forward
 *   norms   one number a row: a norm over all heads together    image rows                       every forward
 *   memory  one number a row: such a norm of keys of the text   text rows, then picture_tokens   once an image
 *
 * and `halos` how many convolutions a block has, for which sequence ranks show each other rows of pixels. */
typedef struct {
    int64_t count, image_layers;
    struct {
        int64_t image, cross, text, both, norms, memory;
    } sums;
    int64_t halos;
    dit_module_parts modules[DIT_MODULE_COUNT]; /* of each kind; together they make `sums`, but for memory */
} dit_block_run;
enum { DIT_MAX_BLOCK_RUNS = 64 };

/* What a guided prediction may be scaled by, where a run asks for it (cfg_normalization): its norms beside those of the
 * positive one. */
typedef enum {
    DIT_GUIDANCE_NORM_NONE, /* the pipelines of the class have no such thing                                          */
    DIT_GUIDANCE_NORM_ROWS, /* each row of cells of a channel gets the norm of the positive one's (Lumina-Image 2.0)  */
    DIT_GUIDANCE_NORM_WHOLE, /* the whole image's norm is at most that of the positive one times a factor (Z-Image)    */
} dit_guidance_norm_kind;

/* Tokens of a picture. */
typedef struct {
    int64_t height, width;
} dit_token_grid;
enum { DIT_MOST_REFERENCES = 8 };

/* What legality and volumes need to know of a model and its run; see case_facts.h. */
typedef struct {
    char family[64];   /* diffusers class, "PixArtTransformer2DModel"          */
    dit_latent latent; /* what is denoised; image_tokens and token_channels follow from it */
    int64_t layers;    /* transformer blocks, what pipeline stages share; the sum of blocks[].count */
    dit_block_run blocks[DIT_MAX_BLOCK_RUNS]; /* in order; unused ones have count 0 */
    int64_t skips;            /* block i feeds block layers - 1 - i, for i below this (HunyuanDiT); 0: none */
    int64_t heads, head_dim;  /* hidden = heads * head_dim                            */
    int64_t image_tokens;     /* S of one image or clip, with the tokens of its reference */
    int64_t reference_tokens; /* the last of them, of pictures that are given and not denoised; 0: none */
    int reference_count;      /* of such pictures, one behind the other               */
    dit_token_grid references[DIT_MOST_REFERENCES];
    int64_t held_tokens;    /* the first of a clip that begins with a picture: its first latent frame, which is given.
                                  Their timestep is 0 in every step, and they stay what they are; 0: none */
    int64_t segments;       /* the sequence is cut, and attended to, in each of so many equal parts; 0: one */
    int64_t text_tokens;    /* St                                                   */
    int64_t text_width;     /* of the stream of joint text, which lies in rows of the hidden size; 0: as wide */
    int64_t text_beside;    /* tokens of further texts in the sequence (HunyuanVideo 1.5); 0: there are none */
    int64_t text_multiple;  /* joint text, and the image beside it, are filled up to multiples of it; 0: of 1 */
    int64_t token_channels; /* floats of latent a token carries, C * patch_t * patch^2 */
    int64_t num_images;     /* over all data ranks                                  */
    int64_t guidance_branches; /* 2: real CFG; 1: distilled or none                    */
    double guidance_offset; /* a pipeline that adds guidance_scale times the difference to the positive prediction has
                                  1, one that adds it to the negative one 0; two branches run where the sum is above 1 */
    dit_guidance_norm_kind guidance_norm_kind;
    double cfg_normalization; /* the factor of that norm; 0: predictions are not scaled */
    double guidance_rescale;  /* share of a guided prediction that gets the positive one's deviation; 0: none does */
    int64_t unguided_steps;   /* the last steps that take the positive prediction alone (cfg_trunc_ratio) */
    int64_t time_width;       /* floats of the timestep's embedding, where it has nothing of the prompt; else 0 */
    bool lone_branch;         /* a forward may be of the positive one alone           */
    int64_t steps;            /* num_inference_steps                                  */
    bool joint;               /* text takes part in the self-attention                */
    bool linear_attention;    /* its ranks add up sums over keys, and exchange no keys and values */
    int64_t halo_channels;    /* of the convolutions that dit_block_run.halos counts; 0: there are none */
    int64_t parameters;       /* estimate from the shapes; weights of one full copy of a transformer */
    bool two_transformers;    /* of one config: early steps run the first, late ones the second    */
    int64_t mlp_ratio;        /* inner width of the MLP over hidden                   */
    int64_t picture_tokens;   /* of a conditioning picture (Wan); 0: none             */
    int64_t
        picture_channels;  /* floats that a picture lays beside each token of the latent (FLUX.1 Fill), as the model's
                                 config says, not a case; 0: none */
    int64_t element_bytes; /* of activations; 0: 4. Latents have 4 always          */
    int64_t prepares;      /* how often a run goes through its blocks before the first step: to project a text, or a
                              picture, that they only read */
} dit_facts;
/* Appends `count` blocks like `run`; does nothing for 0. Errors: DIT_ERR_UNSUPPORTED when there are too many kinds. */
dit_status dit_facts_add_blocks(dit_facts *facts, int64_t count, const dit_block_run *run);
/* Blocks [first, first + count) together: totals of everything in a dit_block_run. */
dit_block_run dit_facts_blocks(const dit_facts *facts, int64_t first, int64_t count);
/* Parameters of `blocks`, a total of dit_facts_blocks: all of them, and those of attentions and MLPs, which tensor
 * ranks share. */
int64_t dit_facts_block_parameters(const dit_facts *facts, const dit_block_run *blocks);
int64_t dit_facts_shared_parameters(const dit_facts *facts, const dit_block_run *blocks);

/* Norms of one image that ranks add up in every guided step, for the guided prediction and for the positive one each; 0:
 * there are none. `facts` have their latent's extents. */
int64_t dit_facts_guidance_norms(const dit_facts *facts);
/* Returns how many sums of an image ranks add up in a guided step: two for each of its norms, or four for its deviations; 0: none. */
int64_t dit_facts_guidance_sums(const dit_facts *facts);

/* How many transformers a run has. */
static inline int64_t dit_facts_transformers(const dit_facts *facts)
{
    return facts->two_transformers ? 2 : 1;
}

/* Rows of joint text in the sequence: St and text_beside, filled up. What fills up the image is among them, in one multiple more, so
 * that image rows are always those of latents. `facts` have their image_tokens. */
int64_t dit_facts_text_rows(const dit_facts *facts);

/* How many frames of tokens a clip has; an image has 1. Where the latent has no extents, segments are frames. */
int64_t dit_facts_frames(const dit_facts *facts);

/* Completes facts whose latent has its extents: image_tokens, token_channels, and segments where they were 1. There is
 * no reference then, and nothing is held. */
void dit_facts_resize(dit_facts *facts);

/* Finds token `token` behind the latent, from 0: *row and *column in its picture. Returns which picture that is. */
int dit_facts_reference_at(const dit_facts *facts, int64_t token, int64_t *row, int64_t *column);

/* How many tokens of an image are denoised. */
static inline int64_t dit_facts_latent_tokens(const dit_facts *facts)
{
    return facts->image_tokens - facts->reference_tokens;
}

#ifdef __cplusplus
}
#endif
#endif
