/* Schedulers: diffusers' solvers, created from their configs. Each has a file and a row in scheduler.c.
 *
 * A scheduler advances any run of latent elements. It never looks across tokens, so every rank steps its own shard.
 * Scalars are computed once at creation, in float32 where the library's are, because timesteps must be exact.
 */
#ifndef DIT_ENGINE_SCHEDULER_H
#define DIT_ENGINE_SCHEDULER_H

#include "engine/runtime/runtime.h"

typedef enum {
    DIT_PREDICTION_EPSILON,
    DIT_PREDICTION_V,
    DIT_PREDICTION_SAMPLE,
    DIT_PREDICTION_FLOW,
    DIT_PREDICTION_COUNT
} dit_prediction;

typedef struct {
    dit_runtime *rt;
    const dit_json *doc;
    const cJSON *config; /* diffusers' scheduler_config.json                                       */
    const char *pointer;
    int steps;             /* num_inference_steps, 1..10000                                          */
    int first_step;        /* steps before it are left out (image-to-image); 0: none                 */
    int64_t image_tokens;  /* decides dynamic shift                                                  */
    bool linspace_sigmas;  /* the pipeline passes sigmas 1 - i/N (FLUX, HunyuanVideo)                */
    bool quadratic_sigmas; /* it passes those of Mochi, linear down to 1 - 0.025, then quadratic     */
    bool has_mu;           /* use `mu` instead of deriving it from image_tokens                      */
    double mu;
    int64_t elements; /* of this rank's latents                                                 */
    double eta;       /* DDIM's share of fresh noise, 0..1; 0 for classes without it            */
    /* Fills out[elements] with unit normals that depend on `step` and on each element's place in the whole batch, and
     * so not on the mesh. NULL: classes that need noise are refused. Must not allocate. */
    void (*noise)(void *context, int step, float *out);
    void *noise_context;
} dit_scheduler_params;

typedef struct dit_scheduler dit_scheduler;

typedef struct {
    const char *class_name;
    bool takes_eta;
    bool remembers;   /* a step needs what the steps before left in the state */
    bool begins_late; /* first_step may be above 0 */
    int64_t
        step_tensors; /* noise tensors that the library draws at each step after the first; it uses the last, and of the last
                             step the first; 0: one */
    /* Fills timesteps and sigmas; takes *state and history buffers from rt->image. */
    dit_status (*create)(const dit_scheduler_params *params, dit_scheduler *scheduler);
    /* out = the model's input at `step`, made from `sample`. NULL: the sample itself. */
    void (*scale_input)(dit_scheduler *scheduler, int step, const float *sample, float *out);
    /* sample <- next sample. Both [elements]. Steps come in order 0..steps-1; step 0 forgets history. */
    dit_status (*step)(dit_scheduler *scheduler, int step, const float *model_output, float *sample);
} dit_scheduler_ops;

struct dit_scheduler {
    const dit_scheduler_ops *ops;
    dit_runtime *rt;
    int steps;
    int64_t elements;
    float *timesteps;       /* [steps]                                                                       */
    float *sigmas;          /* [steps + 1] noise over signal; the last is the final one; +inf without signal */
    float init_noise_sigma; /* deviation of the initial noise: multiply unit normals by it                   */
    void *state;
    void (*noise)(void *context, int step, float *out);
    void *noise_context;
    float *fresh_noise; /* [elements], or NULL for a class without noise */
};

/* Creates a scheduler in rt->image. Errors: DIT_ERR_UNSUPPORTED for classes and config values that would change results
 * and are not implemented, DIT_ERR_JSON_*. */
dit_status dit_scheduler_create(const dit_scheduler_params *params, dit_scheduler **out);
/* out = the model's input at `step`, from the sample; both [elements], out != sample. Allocates nothing. */
void dit_scheduler_scale_input(dit_scheduler *scheduler, int step, const float *sample, float *out);
/* Replaces the sample by that of the next step. Allocates nothing. Errors: DIT_ERR_DEVICE, DIT_ERR_TIMEOUT. */
dit_status dit_scheduler_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample);

/* ---- for scheduler files ----------------------------------------------------------------------------------------- */

/* Reads prediction_type; *out holds the default and the result. */
dit_status scheduler_read_prediction(const dit_scheduler_params *params, dit_prediction *out);
/* Reads final_sigmas_type: zero (true, the default) or sigma_min (false). */
dit_status scheduler_read_final_sigma(const dit_scheduler_params *params, bool *zero);
/* Reads clip_sample (default true) and clip_sample_range into *range; +inf when samples are not clipped. */
dit_status scheduler_read_clip(const dit_scheduler_params *params, float *range);
/* Refuses each listed boolean option that is set (NULL-terminated names). */
dit_status scheduler_refuse_options(const dit_scheduler_params *params, const char *const *names);
/* Takes timesteps, sigmas and a zeroed state from rt->image. */
dit_status scheduler_alloc(dit_scheduler *scheduler, const dit_scheduler_params *params, int64_t state_bytes);
/* Takes the noise buffer of a class that draws noise. Errors: DIT_ERR_UNSUPPORTED when the caller gave no source. */
dit_status scheduler_alloc_noise(dit_scheduler *scheduler, const dit_scheduler_params *params);
/* Draws this step's unit normals, [elements]. */
dit_status scheduler_draw_noise(dit_scheduler *scheduler, int step, const float **out);

/* How a class spaces its timesteps. */
typedef struct {
    const char *spacing; /* default of timestep_spacing                                                         */
    int64_t train;       /* num_train_timesteps                                                                 */
    int64_t end;         /* timesteps lie below it; 0: below train                                              */
    bool multistep;      /* the grid has one more point, which is dropped at the low end (DPM-Solver, UniPC)    */
    bool fractional;     /* linspace is not rounded (Euler)                                                     */
} scheduler_spacing;
/* Fills timesteps[steps], strictly decreasing, by timestep_spacing (linspace, leading, trailing) and steps_offset.
 * Errors: DIT_ERR_UNSUPPORTED for another spacing, DIT_ERR_JSON_VALUE when the steps do not fit. */
dit_status scheduler_place_timesteps(const dit_scheduler_params *params, const scheduler_spacing *where,
                                     float *timesteps);

/* Fills timesteps and sigmas [steps] of flow matching, as multistep solvers place them with use_flow_sigmas: linspace(0, 1 - 1/train,
 * steps + 1) downwards without its 0, shifted by flow_shift; timesteps are truncated. Errors: DIT_ERR_JSON_*. */
dit_status scheduler_place_flow_sigmas(const dit_scheduler_params *params, int64_t train, dit_scheduler *scheduler);

/* x0 = the clean sample that a model output implies, where the sample is alpha x0 + sigma noise; all [elements]. For
 * flow_prediction, alpha = 1 - sigma. x0 may be the memory of the others. */
void scheduler_clean_sample(dit_scheduler *scheduler, dit_prediction prediction, double alpha, double sigma,
                            const float *model_output, const float *sample, float *x0);
/* Limits every element to [-range, range], on the host; an infinite range is no limit. */
dit_status scheduler_clip(const dit_scheduler *scheduler, float range, float *x);

#endif
