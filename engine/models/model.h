/* Models: diffusers' architectures by their own config and parameter names. One file and one row in model.c each.
 *
 * Model code is serial: it sees the tokens its partition gives it, calls an attention policy for attention over the
 * sequence, and knows nothing of ranks. Latents come and go as tokens (base/latent.h).
 */
#ifndef DIT_ENGINE_MODEL_H
#define DIT_ENGINE_MODEL_H

#include "engine/attention/attention.h"
#include "engine/condition.h"
#include "engine/config.h"
#include "engine/weights.h"

/* Called with intermediate results when the caller wants them (golden checks); names as in golden/README.md. */
typedef struct dit_tap dit_tap;
struct dit_tap {
    dit_status (*take)(dit_tap *tap, const char *name, const dit_shards *shards);
};

typedef struct {
    dit_runtime *rt;
    dit_config config; /* diffusers' config.json                                                  */
    const dit_weights *weights;
    dit_partition partition;
    dit_latent latent;     /* extents of this run; of packed latents whose picture is unknown, one row */
    const char *attention; /* policy name or "auto"                                                   */
    dit_tap *tap;          /* NULL: none                                                              */
} dit_model_params;

typedef struct dit_model dit_model;

typedef struct {
    const float *latents;  /* [batch, image_count, input_channels], dense  */
    const float *timestep; /* [batch] in the model's own range             */
    float *output; /* [batch, image_count, output_channels], dense; the prediction is the first token channels */
} dit_forward_args;

/* What an architecture provides (one row in model.c). */
typedef struct {
    const char *class_name;   /* diffusers' _class_name                         */
    dit_latent_layout layout; /* how its forward and its pipelines hold latents */
    /* Fills what the config tells of `facts`: layers, heads, head_dim, joint, guidance_branches, mlp_ratio, sums,
     * latent (all but the extents). `segments` is 1 for attention per frame: the caller sets the number of frames; else
     * 0. `text_tokens` only where the architecture has one length for the text; else 0. */
    dit_status (*read_facts)(const dit_config *config, dit_facts *facts);
    /* Loads weights into rt->run, makes all buffers, policies and needs. *state from rt->run. */
    dit_status (*create)(const dit_model_params *params, dit_model *model);
    dit_status (*prepare)(dit_model *model, const dit_condition *condition);
    dit_status (*forward)(dit_model *model, const dit_forward_args *args);
} dit_model_ops;

enum { DIT_MODEL_POLICIES = 2 };

struct dit_model {
    const dit_model_ops *ops;
    dit_model_params params;
    dit_attention *attention[DIT_MODEL_POLICIES]; /* [0] the main one; freed with the model          */
    void *state;
    int64_t input_channels, output_channels; /* floats per token                                     */
    dit_condition_need needs[DIT_CONDITION_COUNT];
    float timestep_divisor;   /* forward takes the scheduler's timestep over this (FLUX: 1000)      */
    bool linspace_sigmas;     /* the pipeline passes sigmas linspace(1, 1/N, N) to the scheduler    */
    bool sensitive_embedding; /* embeds values of several thousand: golden allows 5e-5 (NOTES.md)   */
};

/* Row for a diffusers class. Errors: DIT_ERR_UNSUPPORTED naming the classes that are built. */
dit_status dit_model_find(const char *class_name, const dit_model_ops **out);
/* Row and facts for a config: `facts` as read_facts leaves it, family set. Errors: as find, DIT_ERR_JSON_*. */
dit_status dit_model_read_facts(const dit_config *config, const dit_model_ops **ops, dit_facts *facts);
/* Completes facts whose latent has its extents: image_tokens, token_channels, segments. */
void dit_model_size_facts(dit_facts *facts);

/* Collective (weights are per rank, the policy may need communicators). Errors: DIT_ERR_JSON_*, DIT_ERR_TENSOR_MISSING,
 * DIT_ERR_SHAPE, DIT_ERR_UNSUPPORTED for config values that would change the numbers and are not built. */
dit_status dit_model_create(const dit_model_params *params, dit_model **out);
void dit_model_free(dit_model *model);
/* Once per image batch: projects the text, precomputes what steps share. `condition` has all that the needs ask for and
 * must stay until the next prepare. */
dit_status dit_model_prepare(dit_model *model, const dit_condition *condition);
/* One forward of the batch. Collective over the sequence ranks. Allocates nothing. */
dit_status dit_model_forward(dit_model *model, const dit_forward_args *args);

/* For model files: hands an intermediate to the tap, if there is one. name is printf-formatted. */
dit_status dit_model_tap(dit_model *model, const dit_shards *shards, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
