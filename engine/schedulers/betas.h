/* Betas: the noise schedule that a discrete diffusion model was trained with, and where a sampler's steps lie on it.
 *
 * beta_t is the share of noise that training step t adds; the cumulative product of 1 - beta_t (alpha_bar in the
 * papers) is the share of signal that is left. One reader serves all classes, because diffusers spells the options
 * alike. Numbers are float32 where the library's are: 1 - product loses digits, and both must lose the same ones.
 */
#ifndef DIT_ENGINE_SCHEDULERS_BETAS_H
#define DIT_ENGINE_SCHEDULERS_BETAS_H

#include "engine/schedulers/scheduler.h"

/* What differs between the classes. */
typedef struct {
    const char *schedule; /* default of beta_schedule */
    double start, end;    /* defaults of beta_start, beta_end */
    bool positive_signal; /* after rescale_betas_zero_snr the last product is 2^-24 instead of 0: sigma stays finite */
    bool video;           /* CogVideoX: snr_shift_scale, then a rescale of the products, some in float64 */
} scheduler_beta_rules;

typedef struct {
    int64_t count;   /* num_train_timesteps */
    double *product; /* [count], decreasing, in [0, 1] */
} scheduler_betas;

/* Reads beta_schedule (linear, scaled_linear, squaredcos_cap_v2), trained_betas, beta_start, beta_end,
 * rescale_betas_zero_snr, num_train_timesteps (and snr_shift_scale). The caller releases it; release takes a zeroed
 * one. Errors: DIT_ERR_UNSUPPORTED, DIT_ERR_JSON_*, DIT_ERR_MEMORY; then there is nothing to release. */
dit_status scheduler_betas_read(const dit_scheduler_params *params, const scheduler_beta_rules *rules,
                                scheduler_betas *out);
void scheduler_betas_release(scheduler_betas *betas);
/* Returns noise over signal at a product, sqrt((1 - a) / a), in float32. */
float scheduler_sigma_of(double product);
/* Returns noise over signal at a training timestep, interpolated between whole timesteps. */
float scheduler_sigma_at(const scheduler_betas *betas, float timestep);

/* Both ends of each step, for solvers that step between products (DDIM and its relatives). */
typedef struct {
    dit_prediction prediction;
    double *product; /* [steps] the product at the step's timestep */
    double *next;    /* [steps] the product at its end, `span` timesteps lower; below 0 set_alpha_to_one decides */
    int64_t span;    /* num_train_timesteps / steps, rounded down */
} scheduler_ladder;

/* Reads the schedule, timestep_spacing (default "leading"), steps_offset, set_alpha_to_one and prediction_type. Fills
 * timesteps, sigmas and the ladder, all in rt->image. Errors: those of scheduler_betas_read; DIT_ERR_UNSUPPORTED where
 * no signal is left but the prediction needs some. */
dit_status scheduler_ladder_read(const dit_scheduler_params *params, const scheduler_beta_rules *rules,
                                 dit_scheduler *scheduler, scheduler_ladder *out);

#endif
