/* Sampler: the denoising loop's state and the pieces of a step, over this rank's share of the latents.
 *
 * An executor decides in what order the pieces run (executor.h). Latents lie part by part: a part is the
 * rows that are denoised together, all of them, or a band of a pipeline, with a solver of its own, since multistep
 * solvers remember what they saw. All memory is taken at init; the loop allocates nothing.
 */
#ifndef DIT_ENGINE_SAMPLER_H
#define DIT_ENGINE_SAMPLER_H

#include "engine/models/model.h"
#include "engine/schedulers/scheduler.h"

typedef struct dit_sampler dit_sampler;

/* An executor: the order in which the pieces of a step run, and what stages tell each other (executor.h lists all). */
typedef struct dit_executor {
    const char *name;
    /* Whether it is the one for this rank's mesh; `emulates`: NULL, or the mesh whose staleness one rank emulates. */
    bool (*serves)(const dit_runtime *rt, const dit_parallel *emulates);
    /* Takes its buffers and sets sampler->executor_state; NULL: needs none. The sampler is complete but for this. */
    dit_status (*create)(dit_sampler *sampler);
    /* Runs all steps. The text is prepared. Allocates nothing. Collective. */
    dit_status (*run)(dit_sampler *sampler, const dit_condition *condition);
    /* Gives the latents to all stages after the last step, before they are gathered; NULL: every rank has its own.
     * Counted as `gather`. */
    dit_status (*share)(dit_sampler *sampler);
} dit_executor;

typedef struct {
    dit_sampler *sampler;
    dit_range rows; /* of each segment of this rank's rows                    */
    dit_scheduler *scheduler;
    int64_t elements; /* images * segments * rows.count * channels            */
    float *latents;   /* [images, segments, rows.count, channels], the state  */
} dit_sampler_part;

struct dit_sampler {
    dit_runtime *rt;
    dit_model *model;
    dit_partition partition;
    float guidance_scale;
    uint64_t seed;                /* of the noise that stochastic schedulers draw                   */
    const dit_parallel *emulates; /* NULL, or the mesh whose staleness one rank is to emulate       */
    const dit_executor *executor; /* who runs the pieces; the caller chooses: dit_executor_for      */
    void *executor_state;
    dit_sampler_part *parts; /* [part_count], in order of rows                                 */
    int64_t part_count;
    dit_scheduler *scheduler; /* of the first part: timesteps and sigmas are the same for all   */
    int64_t channels;         /* floats per token of the latents                                */
    int64_t elements;         /* images * image_count * channels                                */
    float *latents;           /* the parts' latents, one after the other                        */
    float *noise_pred;        /* [images, rows of the window, channels], after guidance         */
    int64_t beside;           /* floats per token that the model gets beside the latents        */
    float *scaled;            /* a part's latents as its scheduler gives them to the model      */
    float *input;             /* [batch, rows of the window, channels + beside]                 */
    float *output;            /* [batch, rows of the window, output_channels]                   */
    float *prediction;        /* [batch, rows of the window, channels]                          */
    float *gathered;          /* [cfg, images, rows of the window, channels]                    */
    float *timestep;          /* [batch]                                                        */
    float *full, *scratch;    /* [num_images, S, channels]: gather_latents's                    */
    /* Called after each step with the state above, where all rows are at one step; NULL: not. */
    dit_status (*on_step)(dit_sampler *sampler, int step, void *context);
    void *context;
    int64_t *step_ns; /* [steps] wall time of each step, or NULL */
    int left_out;     /* steps that a guest left out just before this one */
};

/* `sampler` must have rt, model, partition, guidance_scale, seed, emulates and executor set and stay where it is: the schedulers'
 * noise sources keep its address. scheduler: params except rt, elements, tokens and noise filled. */
dit_status dit_sampler_init(dit_sampler *sampler, const dit_scheduler_params *scheduler);
/* Fills out [images, segments, rows.count, channels] with normals that are a function of the seed, the stream's name,
 * `draw` and (image, token, channel) of the whole batch: the same for every mesh. rows: a band's, or all. */
void dit_sampler_draw(const dit_sampler *sampler, dit_range rows, const char *stream, int64_t draw, float deviation,
                      float *out);
/* The initial noise of every part, as its scheduler wants it. */
dit_status dit_sampler_draw_latents(dit_sampler *sampler);
/* Latents of one image, [image_count, channels] in the order of this rank's rows, to their parts. */
dit_status dit_sampler_place_latents(dit_sampler *sampler, int64_t image, const float *rows);
/* Runs all steps on the latents (initial noise times init_noise_sigma in, final latents out). Collective. */
dit_status dit_sampler_run(dit_sampler *sampler, const dit_condition *condition);
/* Collects the latents of all ranks in sampler->full, [num_images, S, channels]. Collective, counted as `gather`.
 * Errors: DIT_ERR_NONFINITE when the result has NaN or infinity. */
dit_status dit_sampler_gather(dit_sampler *sampler);

/* ---- for executors ----------------------------------------------------------------------------------------------- */

/* Rows of a band of the pipeline; DIT_WINDOW_ALL: all rows, with the text. */
dit_window dit_sampler_window(const dit_sampler *sampler, int band, int step);
/* input and timestep of the window's rows: the latents of its parts as their schedulers scale them at `step`, the same
 * for every guidance branch, each token followed by what is set beside it. */
dit_status dit_sampler_fill_input(dit_sampler *sampler, const dit_window *window, int step,
                                  const dit_condition *condition);
/* timestep [batch] alone. */
dit_status dit_sampler_fill_timestep(dit_sampler *sampler, int step);
/* noise_pred of the window's rows from `output`: guidance, over the cfg axis where that is parallel; then one step of
 * each part's scheduler. Clocked. */
dit_status dit_sampler_advance(dit_sampler *sampler, const dit_window *window, int step);
/* Marks the begin of a step on this rank for trace, faults and the guest. Returns the step to do: this one, or a later
 * one where a guest leaves out those between. *began: the moment (engine/timing/timing.h). */
int dit_sampler_begin_step(dit_sampler *sampler, int step, int64_t *began);
/* Its end: step_ns, and on_step where `whole`: all rows are at this step. */
dit_status dit_sampler_end_step(dit_sampler *sampler, int step, int64_t began, bool whole);

#endif
