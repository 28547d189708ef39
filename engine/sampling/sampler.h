/* Sampler: the denoising loop's state and the pieces of a step, over this rank's share of the latents.
 *
 * An executor decides in what order the pieces run (executor.h). Latents lie part by part: a part is the rows that are
 * denoised together, which are all rows, or one band of a pipeline. Each part has a solver of its own, because
 * multistep solvers remember earlier steps. All memory is taken at init; the loop allocates nothing.
 */
#ifndef DIT_ENGINE_SAMPLER_H
#define DIT_ENGINE_SAMPLER_H

#include "base/edit_plan.h"
#include "engine/cache/cache.h"
#include "engine/models/model.h"
#include "engine/sampling/edit_log.h"
#include "engine/sampling/guidance_norm.h"
#include "engine/sampling/torch_noise.h"
#include "engine/schedulers/scheduler.h"

typedef struct dit_sampler dit_sampler;

/* An executor: decides the order of a step's pieces, and the messages between stages (executor.h lists all). */
typedef struct dit_executor {
    const char *name;
    /* True if it can run this rank's mesh; `emulates`: NULL, or the mesh whose staleness one rank emulates. NULL where the
     * mesh does not decide: the case asks for it, or it serves any. */
    bool (*serves)(const dit_runtime *rt, const dit_parallel *emulates);
    /* Allocates its buffers and sets sampler->executor_state; NULL: it needs none. All else in the sampler is set. */
    dit_status (*create)(dit_sampler *sampler);
    /* Runs all steps, after the text was prepared. Allocates nothing. Collective. */
    dit_status (*run)(dit_sampler *sampler, const dit_condition *condition);
    /* Gives the latents to all stages after the last step, before they are gathered; NULL: every rank has its own.
     * Counted as `gather`. */
    dit_status (*share)(dit_sampler *sampler);
    /* Returns what was decided for the images of one data rank; NULL: it emulates no cache. */
    const dit_cache_log *(*cache_log)(const dit_sampler *sampler, int group);
} dit_executor;

typedef struct {
    dit_sampler *sampler;
    dit_range band; /* of each segment of this rank's rows: those denoised, then those of a reference */
    dit_range rows; /* the former, among the rows of each segment that are denoised                   */
    dit_scheduler *scheduler;
    int64_t elements; /* images * segments * rows.count * channels            */
    float *latents;   /* [images, segments, rows.count, channels]             */
} dit_sampler_part;

struct dit_sampler {
    dit_runtime *rt;
    dit_model *model;  /* of all steps, or of those before `boundary`; of the step that runs, while steps run */
    dit_model *second; /* NULL, or the transformer of the steps whose timestep is below `boundary`; of model's class */
    float boundary;
    dit_partition partition;
    dit_partition latents_of;                    /* its rows that are denoised: all, where there is no reference */
    float guidance_scale, second_guidance_scale; /* of steps of `model`, of `second`                    */
    uint64_t seed;                               /* of the noise                                                   */
    dit_torch_noise *torch;                      /* NULL: counted numbers (base/rng.h); else those of PyTorch      */
    int64_t first_image;                         /* of this batch among all images of a case                       */
    int64_t all_images;                          /* of the case, over all its batches; 0: there is one batch        */
    const dit_parallel *emulates;                /* NULL, or the mesh whose staleness one rank emulates            */
    const dit_cache *emulates_cache;             /* NULL, or the cache that one rank emulates                   */
    int emulated_groups;          /* data ranks, times branches where these are apart, that it decides for */
    dit_cache_run *cache;         /* NULL, or what runs the forwards of executor whole           */
    const dit_edit_plan *edit;    /* NULL, or how executors "edit" and "edit-oracle" draw again  */
    bool keeps;                   /* of these: the run is that of the old caption                */
    dit_edit_log edit_log;        /* of these: what the newest run of a new caption did          */
    const dit_executor *executor; /* runs the pieces; the caller chooses it by dit_executor_for     */
    void *executor_state;
    dit_model *first;        /* `model` as it was given                                        */
    dit_sampler_part *parts; /* [part_count], in order of rows                                 */
    int64_t part_count;
    dit_scheduler *scheduler; /* of the first part; all parts have its timesteps and sigmas     */
    int64_t channels;         /* floats per token of the latents                                */
    int64_t elements;         /* images * rows that are denoised * channels                     */
    float *latents;           /* the parts' latents, one after the other                        */
    float *noise_pred;        /* [images, denoised rows of the window, channels], after guidance */
    int64_t beside;           /* floats per token that are appended to the latents              */
    float *scaled;            /* a part's latents as its scheduler scales them for the model    */
    float *input;             /* [batch, rows of the window, channels + beside]                 */
    float *output;            /* [batch, rows of the window, output_channels]                   */
    float *prediction;        /* [batch, denoised rows of the window, channels]                 */
    float *gathered;          /* [cfg, images, denoised rows of the window, channels]           */
    float *timestep;          /* [batch]                                                        */
    const float *
        first_frame; /* [batch, rows, channels] of the newest run's condition, where the first rows are held; or NULL */
    double *squares; /* [2, images, denoised rows of the window], where guidance is rescaled */
    dit_guidance_rescale deviation; /* likewise, of their deviations */
    dit_guidance_norm norm;         /* of guided predictions, where the facts ask for it              */
    float *full, *scratch;          /* [num_images, denoised tokens, channels], for gathering         */
    /* NULL, or called after each step with the state above, where all rows are at one step. */
    dit_status (*on_step)(dit_sampler *sampler, int step, void *context);
    void *context;
    int64_t *step_ns;    /* [steps] wall time of each step, or NULL */
    int64_t *block_ns;   /* [block_count] of a stream's last stage: when each block was clean, from the run's begin */
    int64_t block_count; /* 0: blocks do not come one by one                                                     */
    int left_out;        /* steps that a guest left out just before this one */
};

/* Completes a sampler that has rt, its models, partition, scales, seed, emulates and executor set. It must not be
 * moved: the schedulers' noise sources keep its address. scheduler: params with all but rt, elements, tokens and noise
 * filled. */
dit_status dit_sampler_init(dit_sampler *sampler, const dit_scheduler_params *scheduler);
/* Fills out [images, segments, rows.count, channels] with normals that depend on the seed, the step (-1: the initial
 * noise) and (image, token, channel) of all batches, and so neither on the mesh nor on the size of a batch. rows: those
 * of a band that are denoised, or all. */
void dit_sampler_draw(const dit_sampler *sampler, dit_range rows, int step, float deviation, float *out);
/* Fills out [tokens, channels] with unit normals for all tokens of one image of this batch, as a pipeline draws them that goes on
 * with the generators of its latents after the last step. Schedulers may draw one tensor a step, or none. */
void dit_sampler_draw_after(const dit_sampler *sampler, int64_t image, float *out);
/* Draws the initial noise of every part, scaled as its scheduler needs it. */
dit_status dit_sampler_draw_latents(dit_sampler *sampler);
/* Copies the latents of one image, [rows that are denoised, channels] in the order of this rank's rows, to their parts. */
dit_status dit_sampler_place_latents(dit_sampler *sampler, int64_t image, const float *rows);
/* Prepares an image batch: dit_model_prepare of each transformer. */
dit_status dit_sampler_prepare(dit_sampler *sampler, const dit_condition *condition);
/* Runs all steps on the latents (initial noise times init_noise_sigma in, final latents out). Those of a first frame that the
 * condition gives stay what they are. Collective. */
dit_status dit_sampler_run(dit_sampler *sampler, const dit_condition *condition);
/* Collects the latents of all ranks in sampler->full, [num_images, tokens that are denoised, channels]. Collective, counted as `gather`.
 * Errors: DIT_ERR_NONFINITE when the result has NaN or infinity. */
dit_status dit_sampler_gather(dit_sampler *sampler);

/* ---- for executors ----------------------------------------------------------------------------------------------- */

/* Returns the window of a band of the pipeline; DIT_WINDOW_ALL: all rows, with the text. */
dit_window dit_sampler_window(const dit_sampler *sampler, int band, int step);
/* Returns which of the rows that are denoised the window has. */
dit_range dit_sampler_denoised(const dit_sampler *sampler, const dit_window *window);
/* Fills input and timestep of the window's rows: the latents of the parts that it touches as their schedulers scale them at `step`, and
 * the reference's as they are. Every guidance branch gets equal latents; the floats of `beside` follow each token. */
dit_status dit_sampler_fill_input(dit_sampler *sampler, const dit_window *window, int step,
                                  const dit_condition *condition);
/* Fills only timestep [batch]. */
dit_status dit_sampler_fill_timestep(dit_sampler *sampler, int step);
/* Advances the window's rows: makes noise_pred from `output` by guidance (over the cfg axis where that is parallel),
 * then takes one step of each part's scheduler. Clocked. */
dit_status dit_sampler_advance(dit_sampler *sampler, const dit_window *window, int step);
/* Marks the begin of a step on this rank for trace, faults and the guest. Returns the step to do: this one, or a later
 * one where a guest leaves out those between. *began: the moment (engine/timing/timing.h). */
int dit_sampler_begin_step(dit_sampler *sampler, int step, int64_t *began);
/* The same of one step of some rows; no guest is asked. */
void dit_sampler_enter_step(dit_sampler *sampler, int step, int64_t *began);
/* Marks the end of a step: sets step_ns, and calls on_step if `whole`: all rows are at this step. */
dit_status dit_sampler_end_step(dit_sampler *sampler, int step, int64_t began, bool whole);
/* Makes sampler->output from sampler->input for all rows. */
typedef dit_status dit_sampler_forward(dit_sampler *sampler, int step);
/* Runs all steps, each with one such forward, as oracles do; steps build on each other, so none is left out. */
dit_status dit_sampler_each_step(dit_sampler *sampler, const dit_condition *condition, dit_sampler_forward *forward);

#endif
