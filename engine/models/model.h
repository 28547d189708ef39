/* Models: diffusers' architectures, by their config and parameter names. Each has a file and a row in model.c.
 *
 * Model code is serial: it sees the rows of its `view`, calls an attention policy for attention over the sequence, and
 * knows nothing of ranks, stages or patches. A forward is begin, embed, every block, head, each over the rows of a
 * window; executors call these pieces in an order of their own. Latents come and go as tokens (base/latent.h).
 */
#ifndef DIT_ENGINE_MODEL_H
#define DIT_ENGINE_MODEL_H

#include "base/architecture.h"
#include "base/patches.h"
#include "engine/attention/attention.h"
#include "engine/runtime/condition.h"
#include "engine/files/config.h"
#include "engine/runtime/graphs.h"
#include "engine/runtime/weight_stream.h"
#include "engine/runtime/weights.h"

/* What every block shows of its self-attention and of the stream (dit_tap.take_layer). */
typedef enum {
    DIT_TAP_K,         /* keys as attention takes them: normalised and rotated where the model does so         */
    DIT_TAP_V,         /* values                                                                               */
    DIT_TAP_ATTENTION, /* what attention gives after its output projection, before the gate; blocks that have no such
                          projection (FLUX's single ones) show what it gives before                            */
    DIT_TAP_STREAM,    /* what the layer passes on; of layer -1 what the first one takes                        */
    DIT_TAP_POINTS
} dit_tap_point;

/* Rows of one point of one layer, in operators' memory. */
typedef struct {
    int64_t layer; /* of the whole model: its block, or where a block has several self-attentions, one of these;
                      -1: before the first */
    dit_tap_point point;
    const float *data;
    int64_t batch, rows, cols, ld, stride; /* [batch, rows, cols], rows ld and entries stride floats apart */
    int64_t text;                          /* rows of joint text, which come first                         */
} dit_tap_layer;

/* Receives intermediate results, for a caller that wants them. The functions may be NULL. */
typedef struct dit_tap dit_tap;
struct dit_tap {
    /* Golden checks; names are those of golden/README.md. Collective. */
    dit_status (*take)(dit_tap *tap, const char *name, const dit_shards *shards);
    /* Probes of redundancy: every point of every layer. Of a point, rows of text may come in a call of their own. */
    dit_status (*take_layer)(dit_tap *tap, const dit_tap_layer *layer);
};

/* Which blocks a rank holds. The first stage embeds, the last one has the head; without a pipeline one stage does
 * both. */
typedef struct {
    dit_range blocks;
    bool first, last;
} dit_stage;

typedef struct {
    dit_runtime *rt;
    dit_config config; /* diffusers' config.json                                                  */
    const dit_weights *weights;
    dit_partition partition;
    dit_latent latent;         /* extents of this run; packed latents of unknown extents count as one row */
    const char *attention;     /* policy name or "auto"                                                   */
    dit_tap *tap;              /* NULL: none                                                              */
    dit_stage stage;           /* filled by dit_model_create from the runtime's mesh                      */
    dit_weight_stream *stream; /* filled by dit_model_create; NULL: all weights stay                  */
} dit_model_params;

typedef struct dit_model dit_model;

typedef struct {
    const float *latents;  /* [batch, image_count, input_channels], dense  */
    const float *timestep; /* [batch] in the model's own range             */
    float *output; /* [batch, image_count, output_channels], dense; the prediction is the first token channels */
    int step;      /* from 0, for policies that remember                                                       */
} dit_forward_args;

/* What an architecture provides (one row in model.c). */
typedef struct {
    const char *class_name;   /* diffusers' _class_name                         */
    dit_latent_layout layout; /* how its forward and its pipelines hold latents */
    bool draws_tokens;        /* its pipeline draws noise as planes of tokens' channels; else of cells' */
    /* Reads the config's numbers of heads and blocks into `sizes`, and into `facts` what depends on more than them:
     * latent (all but the extents), mlp_ratio where it is not 4, and text_tokens where the architecture has one length
     * for the text. */
    dit_status (*read_facts)(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts);
    /* Loads the weights of params->stage into rt->run, makes all buffers, policies and needs, and sets stream, width
     * and skips. *state comes from rt->run. model->view is the whole partition meanwhile. */
    dit_status (*create)(const dit_model_params *params, dit_model *model);
    dit_status (*prepare)(dit_model *model, const dit_condition *condition);
    /* Computes what all rows of a step share, from timestep [batch]. Every stage calls it. */
    dit_status (*begin)(dit_model *model, const float *timestep);
    /* Makes the stream's rows from latents [batch, view.image_count, input_channels], dense, and the joint text where
     * the window has it. The first stage calls it. */
    dit_status (*embed)(dit_model *model, const float *latents);
    /* Writes what block 0 gives its attention: the image rows of the stream, normalised and modulated for this step, to
     * out [batch, view.image_count, width], dense. The stream stays; scratch of the blocks does not. */
    dit_status (*attention_input)(dit_model *model, float *out);
    /* Runs block `index` of the whole model on the stream. Collective over the sequence and tensor ranks. */
    dit_status (*block)(dit_model *model, int64_t index);
    /* Makes output [batch, view.image_count, output_channels], dense, from the stream. The last stage calls it. */
    dit_status (*head)(dit_model *model, float *output);
} dit_model_ops;

enum { DIT_MODEL_POLICIES = 2 };

struct dit_model {
    const dit_model_ops *ops;
    dit_model_params params;
    dit_attention *attention[DIT_MODEL_POLICIES]; /* [0] the main one; freed with the model          */
    void *state;
    dit_window window;
    int64_t layers_per_block;                /* self-attention layers, one after the other, that taps tell apart: 1  */
    int64_t layer;                           /* that runs, as dit_tap_layer has it                                  */
    dit_partition view;                      /* the partition, cut to the window                     */
    float *time_embedding;                   /* [batch, facts.time_width] of the step, from begin on; NULL: it has
                                                something of the prompt                              */
    float *stream;                           /* what blocks pass on: [batch, text rows of joint text + image rows of
                                                the view, width], dense                              */
    int64_t width;                           /* of the stream                                        */
    float *skips;                            /* [facts.skips][batch, image rows of the view, width], dense: outputs that
                                                later blocks take; NULL: none                        */
    int64_t input_channels, output_channels; /* floats per token                                     */
    dit_condition_need needs[DIT_CONDITION_COUNT];
    struct dit_module_watch *modules; /* NULL, or who watches the outputs of modules (modules.h); not owned  */
    dit_graphs *graphs;               /* NULL: forwards are not recorded; freed with the model */
    dit_condition prepared;           /* of the newest prepare */
    float timestep_divisor;           /* forward takes the scheduler's timestep over this (FLUX: 1000)      */
    bool towards_image;               /* its time runs from noise, 0, to image, 1, and so does what it predicts: forward
                                         takes 1 minus the above, and pipelines negate what it gives            */
    double (*shift)(int64_t image_tokens,
                    int64_t steps); /* mu of the pipeline's dynamic shift; NULL: the scheduler's */
    bool linspace_sigmas;           /* the pipeline passes sigmas linspace(1, 1/N, N) to the scheduler    */
    bool quadratic_sigmas;          /* it passes some that fall linearly, then quadratically (Mochi)      */
    bool rescales_guidance;         /* a guided prediction is made as long as the positive one, token by token */
    bool sensitive_embedding;       /* embeds values of several thousand: golden allows 5e-5 (README there) */
};

/* True if this rank has block `index`. */
static inline bool dit_stage_covers(const dit_model_params *params, int64_t index)
{
    const dit_range *own = &params->stage.blocks;
    return index >= own->first && index < own->first + own->count;
}

/* Asks the same before a block's weights are loaded or used: where weights stream, they are resident afterwards. */
static inline bool dit_stage_has(const dit_model_params *params, int64_t index)
{
    bool has = dit_stage_covers(params, index);
    if (has) dit_weight_stream_enter(params->stream, index);
    return has;
}

/* Row for the class that a config names. Errors: DIT_ERR_JSON_*, DIT_ERR_UNSUPPORTED naming the classes there are. */
dit_status dit_model_find(const dit_config *config, const dit_model_ops **out);
/* Row and facts for a config: what its architecture (base/architecture.h) and its numbers tell; one image, one step.
 * Errors: as find, DIT_ERR_JSON_*. */
dit_status dit_model_read_facts(const dit_config *config, const dit_model_ops **ops, dit_facts *facts);
/* Creates a model. Collective: weights are per rank, and the policy may need communicators. Errors: DIT_ERR_JSON_*,
 * DIT_ERR_TENSOR_MISSING, DIT_ERR_SHAPE, DIT_ERR_UNSUPPORTED for config values that would change results and are not
 * implemented. */
dit_status dit_model_create(const dit_model_params *params, dit_model **out);
void dit_model_free(dit_model *model);
/* Projects the text and precomputes what all steps share, once per image batch. `condition` must have everything that
 * the needs ask for, and must stay valid until the next prepare. */
dit_status dit_model_prepare(dit_model *model, const dit_condition *condition);
/* Runs one forward of the batch over all rows; for meshes without pipeline stages. Collective over the sequence and
 * tensor ranks. Allocates nothing. A device that can record does so the second time, and launches the recording from
 * then on, unless there is a tap or a trace, steps differ, or messages cannot be recorded. */
dit_status dit_model_forward(dit_model *model, const dit_forward_args *args);
/* Does `work`, a part of a forward over all rows, under the rules by which dit_model_forward records. `part` tells the
 * parts of a forward apart; dit_model_forward's is 0. It sets no window. Errors: those of `work`. */
dit_status dit_model_do_part(dit_model *model, int part, const dit_forward_args *args,
                             dit_status (*work)(void *context), void *context);

/* ---- the pieces of a forward, for executors ---------------------------------------------------------------------- */

/* Returns the window of all rows of this rank, with the text. */
dit_window dit_model_whole(const dit_model *model, int step);
/* Sets the rows that the pieces below work on. A window of the positive branch alone goes with models whose facts have
 * lone_branch; latents, timesteps and outputs that pieces get are then those of this branch. */
void dit_model_set_window(dit_model *model, const dit_window *window);
/* Returns the floats of one slot of skips. */
int64_t dit_model_skip_elements(const dit_model *model);
/* Call the entries of dit_model_ops, clocked and traced. */
dit_status dit_model_begin(dit_model *model, const float *timestep);
dit_status dit_model_embed(dit_model *model, const float *latents);
dit_status dit_model_attention_input(dit_model *model, float *out);
/* Runs all blocks of the stage in order; `between` (or NULL) is called after each, to move messages. */
dit_status dit_model_blocks(dit_model *model, void (*between)(void *context), void *context);
/* Runs those of the stage's blocks that lie in [first, first + count) of the whole model; `between` as above. */
dit_status dit_model_some_blocks(dit_model *model, int64_t first, int64_t count);
dit_status dit_model_poll_blocks(dit_model *model, int64_t first, int64_t count, void (*between)(void *context),
                                 void *context);
/* Returns those of [first, first + count) that the stage has. */
dit_range dit_model_own_blocks(const dit_model *model, int64_t first, int64_t count);
/* Says how many steps just before this one, and just after it, do without the blocks that follow. */
void dit_model_leave_out(dit_model *model, int before, int after);
/* Goes past the stage's blocks in [first, first + count), which this step does without. */
void dit_model_skip_blocks(dit_model *model, int64_t first, int64_t count);
dit_status dit_model_head(dit_model *model, float *output);

/* For model files: passes an intermediate to the tap, if there is one. The name is printf-formatted. */
dit_status dit_model_tap(dit_model *model, const dit_shards *shards, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
