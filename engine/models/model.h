/* Models: diffusers' architectures by their own config and parameter names. One file and one row in model.c each.
 *
 * Model code is serial: it sees the tokens its partition gives it, calls an attention policy for self-attention, and
 * knows nothing of ranks. A latent lives as tokens, [B, S, token_channels] with channels (c, dy, dx), c slowest, so
 * that any run of tokens can be scheduled, exchanged and gathered alone.
 */
#ifndef DIT_ENGINE_MODEL_H
#define DIT_ENGINE_MODEL_H

#include "engine/attention/attention.h"
#include "engine/partition.h"
#include "engine/weights.h"

/* What the text encoders and the caller give for one batch of images; all rows of the guidance batch that this rank
 * holds, [batch, ...]. Kept by reference until the next prepare. */
typedef struct {
    const float *text;         /* [batch, text_tokens, text_dim]                                               */
    const float *text_mask;    /* [batch, text_tokens] 1 keep, 0 masked; NULL: keep all (cross-attention only) */
    const float *pooled;       /* [batch, pooled_dim] or NULL                                                  */
    const float *guidance;     /* [batch] guidance-distilled scale, or NULL                                    */
    const float *resolution;   /* [batch, 2] height, width in pixels, or NULL                                  */
    const float *aspect_ratio; /* [batch] or NULL                                                            */
    const float *image_ids;    /* [S, 3] of the whole image; NULL: (0, row, column)                            */
    const float *text_ids;     /* [text_tokens, 3]; NULL: zeros                                                */
} dit_condition;

/* Called with intermediate results when the caller wants them (golden checks); names as in golden/README.md. */
typedef struct dit_tap dit_tap;
struct dit_tap {
    dit_status (*take)(dit_tap *tap, const char *name, const dit_shards *shards);
};

typedef struct {
    dit_runtime *rt;
    const dit_json *doc;
    const cJSON *config; /* diffusers' config.json                             */
    const char *pointer; /* its JSON pointer, for messages                     */
    const dit_weights *weights;
    dit_partition partition;
    int64_t grid_height, grid_width; /* tokens of the whole image                   */
    const char *attention;           /* policy name or "auto"                              */
    dit_tap *tap;                    /* NULL: none                                         */
} dit_model_params;

typedef struct dit_model dit_model;

typedef struct {
    const float *latents;  /* [batch, image_count, input_channels], dense  */
    const float *timestep; /* [batch] in the model's own range             */
    float *output; /* [batch, image_count, output_channels], dense; the prediction is the first token_channels */
} dit_forward_args;

/* What an architecture provides (one row in model.c). */
typedef struct {
    const char *class_name; /* diffusers' _class_name */
    /* Fills `facts` from the config, as far as the config tells. */
    dit_status (*read_facts)(const dit_json *doc, const cJSON *config, const char *pointer, dit_facts *facts);
    /* Loads weights into rt->run, makes all buffers. *state from rt->run. */
    dit_status (*create)(const dit_model_params *params, dit_model *model);
    dit_status (*prepare)(dit_model *model, const dit_condition *condition);
    dit_status (*forward)(dit_model *model, const dit_forward_args *args);
} dit_model_ops;

struct dit_model {
    const dit_model_ops *ops;
    dit_model_params params;
    dit_attention *attention;
    void *state;
    int64_t input_channels, output_channels; /* floats per token */
    int64_t text_dim, pooled_dim;            /* pooled_dim 0: none */
    bool wants_guidance, wants_resolution;
    float timestep_divisor; /* forward takes the scheduler's timestep over this (FLUX: 1000)         */
    bool linspace_sigmas;   /* the pipeline passes sigmas linspace(1, 1/N, N) to the scheduler (FLUX) */
};

/* Row for a diffusers class. Errors: DIT_ERR_UNSUPPORTED naming the classes that are built. */
dit_status dit_model_find(const char *class_name, const dit_model_ops **out);

/* Collective (weights are per rank, the policy may need communicators). Errors: DIT_ERR_JSON_*, DIT_ERR_TENSOR_MISSING,
 * DIT_ERR_SHAPE, DIT_ERR_UNSUPPORTED for config values that would change the numbers and are not built. */
dit_status dit_model_create(const dit_model_params *params, dit_model **out);
void dit_model_free(dit_model *model);
/* Once per image batch: projects the text, precomputes what steps share. */
dit_status dit_model_prepare(dit_model *model, const dit_condition *condition);
/* One forward of the batch. Collective over the sequence ranks. Allocates nothing. */
dit_status dit_model_forward(dit_model *model, const dit_forward_args *args);

/* For model files: hands an intermediate to the tap, if there is one. name is printf-formatted. */
dit_status dit_model_tap(dit_model *model, const dit_shards *shards, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
