/* Architectures: what a model of each diffusers class is made of. One row each in architecture.c; the engine, the
 * simulator and the harness take a model's blocks, text, guidance and skips from its row. */
#ifndef DIT_BASE_ARCHITECTURE_H
#define DIT_BASE_ARCHITECTURE_H

#include "base/facts.h"
#include "base/json.h"
#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_BLOCK_KINDS = 2, DIT_MAX_DUAL = 256 };

typedef struct {
    const char *class_name; /* diffusers' _class_name, "PixArtTransformer2DModel" */
    struct {
        const char *key;     /* in the config: how many there are; NULL: no such kind */
        dit_block_run block; /* one of them                                          */
    } kinds[DIT_BLOCK_KINDS];
    const char *heads_key;    /* in the config: heads; NULL: num_attention_heads                                     */
    const char *width_key;    /* in the config: their width together; NULL: attention_head_dim has that of one       */
    int64_t text_multiple;    /* dit_facts.text_multiple                                                             */
    const char *text_keys[2]; /* whose sum is the length of the text; NULL: any length goes                          */
    const char
        *beside_keys[2];      /* in the config: tokens of further texts in the sequence; NULL: there are none         */
    int64_t beside_tokens[2]; /* those of a config without the keys                                                  */
    const char *dual_key;     /* lists the blocks that attend a second time, over image tokens alone; NULL: none do  */
    const char *picture_key;  /* in the config of a model that takes a conditioning picture; NULL: none does         */
    int64_t picture_tokens;   /* of that picture                                                                     */
    const char *time_key;     /* in the config: the width of the timestep's embedding; NULL: the hidden size         */
    int64_t time_width;       /* that of a config without the key                                                    */
    const char *text_width_key; /* in the config: the width of the stream of joint text; NULL: the hidden size        */
    int64_t text_width;         /* that of a config without the key                                                   */
    bool time_alone;           /* the timestep is embedded without the prompt                                         */
    int64_t guidance_branches; /* 2: its pipelines run real CFG; 1: the scale is an input of the model                */
    double guidance_offset;    /* dit_facts.guidance_offset                                                           */
    bool rescales_guidance;    /* its pipelines have guidance_rescale                                              */
    dit_guidance_norm_kind guidance_norm_kind; /* dit_facts.guidance_norm_kind                                        */
    const char
        *convolved_key;     /* in the config: inner width of a feed-forward network with convolutions, over the hidden
                                  size; NULL: no such network                                                     */
    double convolved_ratio; /* that of a config without the key                                                */
    bool linear_attention;  /* dit_facts.linear_attention                                                       */
    bool prepares;          /* blocks project the text, and the picture where there is one, once before step 0   */
    bool joint;             /* text takes part in the self-attention                                               */
    bool drops_text;        /* the last block does not write the text                                              */
    bool paired;            /* block i feeds block layers - 1 - i, so that the number of blocks is even            */
    bool per_frame;         /* self-attention spans one frame of a clip                                            */
    bool cross_is_hidden;   /* cross_attention_dim is the hidden size                                              */
    bool lone_branch;       /* a forward may be of the positive branch alone (dit_window.positive)                 */
    int references;         /* most pictures whose tokens may stand behind those of the latent; 0: none      */
    bool samples_first;     /* such a pipeline samples the picture's latents, and draws that noise before the clip's */
    bool holds;             /* tokens of a clip's first latent frame may be given, with a timestep of their own: 0 */
} dit_architecture;

/* The row at `index` from 0; NULL behind the last. */
const dit_architecture *dit_architecture_get(int index);
/* The row of a class; NULL when there is none. */
const dit_architecture *dit_architecture_find(const char *class_name);
/* The row of the class that a config names. Errors: DIT_ERR_JSON_*, DIT_ERR_UNSUPPORTED naming the classes there
 * are. */
dit_status dit_architecture_from_config(const dit_json *doc, const cJSON *config, const char *pointer,
                                        const dit_architecture **out);

/* The numbers of one config. */
typedef struct {
    int64_t heads, head_dim;
    int64_t blocks[DIT_BLOCK_KINDS]; /* of each kind of the row                                        */
    int64_t dual[DIT_MAX_DUAL];      /* blocks of the first kind; may name more than a cut model has   */
    int dual_count;
    int64_t time_width;  /* of the timestep's embedding; 0: the hidden size */
    int64_t text_width;  /* of the stream of joint text; 0: the hidden size */
    int64_t text_beside; /* tokens of further texts */
    int64_t convolved;   /* inner width of a feed-forward network with convolutions; 0: there is none */
    bool picture;        /* it takes a conditioning picture */
} dit_architecture_sizes;

/* Fills what architecture and sizes tell of `facts`: family, layers, blocks, skips, heads, head_dim, joint,
 * guidance_branches, picture_tokens, segments (1 for attention per frame: dit_facts_resize knows the frames; else 0).
 * Errors: DIT_ERR_UNSUPPORTED when blocks change their kind too often. */
dit_status dit_architecture_fill(const dit_architecture *architecture, const dit_architecture_sizes *sizes,
                                 dit_facts *facts);
/* Puts the tokens of a reference picture of that size behind those of the latent, and of references that are there. 0 x 0: there
 * is none. Errors: DIT_ERR_UNSUPPORTED for a class that takes none, or no more, DIT_ERR_CONSTRAINT_RESOLUTION. */
dit_status dit_architecture_refer(int64_t height_px, int64_t width_px, dit_facts *facts);
/* Gives a clip its first latent frame, if `first_frame`. `facts` have their latent's extents. Errors: DIT_ERR_UNSUPPORTED for a
 * class whose clips begin with no picture; DIT_ERR_CONSTRAINT_RESOLUTION for a clip of one latent frame, which would be whole. */
dit_status dit_architecture_hold(bool first_frame, dit_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
