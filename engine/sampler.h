/* Sampler: the denoising loop over this rank's share of the latents.
 *
 * Per step: one forward of the guidance batch, guidance (over the cfg axis when that is parallel), one scheduler step.
 * All memory is taken at init; the loop allocates nothing.
 */
#ifndef DIT_ENGINE_SAMPLER_H
#define DIT_ENGINE_SAMPLER_H

#include "engine/models/model.h"
#include "engine/schedulers/scheduler.h"

typedef struct dit_sampler dit_sampler;
struct dit_sampler {
    dit_runtime *rt;
    dit_model *model;
    dit_scheduler *scheduler;
    dit_partition partition;
    float guidance_scale;
    uint64_t seed;         /* of the noise that stochastic schedulers draw         */
    int64_t channels;      /* floats per token of the latents                      */
    int64_t elements;      /* images * image_count * channels                      */
    float *latents;        /* [images, image_count, channels], the state           */
    float *noise_pred;     /* [images, image_count, channels], after guidance      */
    int64_t beside;        /* floats per token that the model gets beside the latents (an input image) */
    float *scaled;         /* [images, image_count, channels], as the scheduler gives them to the model */
    float *input;          /* [batch, image_count, channels + beside]              */
    float *output;         /* [batch, image_count, output_channels]                */
    float *prediction;     /* [batch, image_count, channels]                       */
    float *gathered;       /* [cfg, images, image_count, channels]                 */
    float *timestep;       /* [batch]                                              */
    float *full, *scratch; /* [num_images, S, channels]: gather_latents's       */
    /* Called after each step with the state above; NULL: not. */
    dit_status (*on_step)(dit_sampler *sampler, int step, void *context);
    void *context;
    int64_t *step_ns; /* [steps] wall time of each step, or NULL              */
};

/* `sampler` must have rt, model, partition, guidance_scale, seed set and stay where it is: the scheduler's noise source
 * keeps its address. scheduler: params except rt, elements, tokens and noise filled. */
dit_status dit_sampler_init(dit_sampler *sampler, const dit_scheduler_params *scheduler);
/* Fills out [images, image_count, channels] with normals that are a function of the seed, the stream's name, `draw` and
 * (image, token, channel) of the whole batch: the same for every mesh. */
void dit_sampler_draw(const dit_sampler *sampler, const char *stream, int64_t draw, float deviation, float *out);
/* Runs all steps on sampler->latents (initial noise times scheduler->init_noise_sigma in, final latents out).
 * Collective. */
dit_status dit_sampler_run(dit_sampler *sampler, const dit_condition *condition);
/* Collects the latents of all ranks in sampler->full, [num_images, S, channels]. Collective, counted as `gather`.
 * Errors: DIT_ERR_NONFINITE when the result has NaN or infinity. */
dit_status dit_sampler_gather(dit_sampler *sampler);

#endif
