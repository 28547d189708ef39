/* Betas: the noise schedule a discrete diffusion model was trained with, and where the steps of a sampler lie on it.
 *
 * beta_t is the share of noise that training step t adds; the cumulative product of 1 - beta_t (alpha_bar in the
 * papers) is the share of signal that is left. One reader for all classes, since diffusers spells the options alike in
 * all. Numbers are float32 where the library's are: (1 - product) loses digits, and both must lose the same.
 */
#ifndef DIT_ENGINE_SCHEDULERS_BETAS_H
#define DIT_ENGINE_SCHEDULERS_BETAS_H

#include "engine/schedulers/scheduler.h"

/* What differs between the classes. */
typedef struct {
    const char *schedule; /* default of beta_schedule */
    double start, end;    /* defaults of beta_start, beta_end */
    bool positive_signal; /* after rescale_betas_zero_snr the last product is 2^-24, not 0: sigma stays finite */
    bool video;           /* CogVideoX: snr_shift_scale, then the rescale acts on the products; some are float64 */
} scheduler_beta_rules;

typedef struct {
    int64_t count;   /* num_train_timesteps */
    double *product; /* [count], decreasing, in [0, 1] */
} scheduler_betas;

/* Reads beta_schedule (linear, scaled_linear, squaredcos_cap_v2), trained_betas, beta_start, beta_end,
 * rescale_betas_zero_snr, num_train_timesteps (and snr_shift_scale). The caller releases; release takes a zeroed one.
 * Errors: DIT_ERR_UNSUPPORTED, DIT_ERR_JSON_*, DIT_ERR_MEMORY; nothing is held then. */
dit_status scheduler_betas_read(const dit_scheduler_params *params, const scheduler_beta_rules *rules,
                                scheduler_betas *out);
void scheduler_betas_release(scheduler_betas *betas);
/* Noise over signal at a product, sqrt((1 - a) / a), in float32. */
float scheduler_sigma_of(double product);
/* The same at a training timestep, interpolated between whole ones. */
float scheduler_sigma_at(const scheduler_betas *betas, float timestep);

/* Solvers that step between products (DDIM and its kin): both ends of each step. */
typedef struct {
    dit_prediction prediction;
    double *product; /* [steps] at the step's timestep */
    double *next;    /* [steps] where it ends: `span` timesteps lower, below 0 by set_alpha_to_one */
    int64_t span;    /* num_train_timesteps / steps, rounded down */
} scheduler_ladder;

/* Reads the schedule, timestep_spacing (default "leading"), steps_offset, set_alpha_to_one and prediction_type; fills
 * timesteps, sigmas and the ladder, all in rt->image. Errors: as above; DIT_ERR_UNSUPPORTED where nothing is left of
 * the signal but the prediction needs it. */
dit_status scheduler_ladder_read(const dit_scheduler_params *params, const scheduler_beta_rules *rules,
                                 dit_scheduler *scheduler, scheduler_ladder *out);

#endif
