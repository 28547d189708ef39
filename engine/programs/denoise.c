/* denoise: text-to-image sampling with seeded text, the main program.
 *
 * An iteration is one whole image batch: prepare the text, all diffusion steps, collect the latents. Its clock starts
 * after a barrier; its value is the maximum over ranks. Inputs are functions of the seed, so every mesh makes the same
 * image, and the distance to the one-rank reference is part of the record.
 */
#include "base/hash.h"
#include "base/rng.h"
#include "engine/programs/program.h"
#include "engine/record.h"
#include "engine/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const double EXACT_TOLERANCE = 1e-5; /* exact methods against one rank, fp32 reduction order */

typedef struct {
    dit_case kase;
    dit_runtime rt;
    dit_partition partition;
    dit_safetensors *weights_file;
    dit_weights weights;
    dit_model *model;
    dit_sampler sampler;
    dit_condition condition;
    dit_measurement measured;
} denoise;

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

static dit_status create_model(denoise *d)
{
    const dit_case *kase = &d->kase;
    dit_model_params params = {.rt = &d->rt,
                               .doc = kase->doc,
                               .config = kase->model_config,
                               .pointer = "/model/config",
                               .weights = &d->weights,
                               .partition = d->partition,
                               .attention = kase->attention,
                               .grid_height = kase->height_px / kase->pack_px,
                               .grid_width = kase->width_px / kase->pack_px};
    int64_t began = dit_clock_ns();
    if (kase->weights_path) DIT_TRY(dit_safetensors_open(kase->weights_path, &d->weights_file));
    d->weights = (dit_weights){.file = d->weights_file, .seed = kase->weights_seed};
    DIT_TRY(dit_model_create(&params, &d->model));
    d->measured.head.weights_ns = dit_clock_ns() - began;
    d->measured.head.load_peak = d->rt.ledger.total_peak;
    if ((kase->text_dim && kase->text_dim != d->model->text_dim) ||
        (d->model->pooled_dim && kase->pooled_dim && kase->pooled_dim != d->model->pooled_dim))
        return DIT_FAIL(DIT_ERR_SHAPE, "model.text says dim %lld, pooled_dim %lld; the architecture takes %lld, %lld",
                        (long long)kase->text_dim, (long long)kase->pooled_dim, (long long)d->model->text_dim,
                        (long long)d->model->pooled_dim);
    return DIT_OK;
}

/* Unit-normal rows: row (branch, image) of a named stream, the same for every mesh. */
static dit_status fill_rows(denoise *d, const char *stream, int64_t row_elements, const float **out)
{
    const dit_partition *part = &d->partition;
    float *rows;
    DIT_TRY(dit_arena_floats(&d->rt.image, part->batch * row_elements, &rows));
    for (int64_t b = 0; b < part->batch; b++) {
        int64_t branch = part->branch_first + b / part->images, image = part->image_first + b % part->images;
        int64_t row = branch * d->rt.facts.num_images + image;
        dit_rng_normal(d->kase.seed, dit_rng_stream(stream), (uint64_t)(row * row_elements), row_elements, 0.0f, 1.0f,
                       rows + b * row_elements);
    }
    *out = rows;
    return DIT_OK;
}

static dit_status fill_constant(denoise *d, int64_t count, float first, float second, const float **out)
{
    float *values;
    DIT_TRY(dit_arena_floats(&d->rt.image, count, &values));
    for (int64_t i = 0; i < count; i++) values[i] = i % 2 ? second : first;
    *out = values;
    return DIT_OK;
}

static dit_status make_condition(denoise *d)
{
    const dit_model *model = d->model;
    int64_t batch = d->partition.batch, St = d->partition.text_tokens;
    dit_condition *c = &d->condition;
    float height = (float)d->kase.height_px, width = (float)d->kase.width_px, scale = (float)d->kase.guidance_scale;
    DIT_TRY(fill_rows(d, "text", St * model->text_dim, &c->text));
    if (model->pooled_dim) DIT_TRY(fill_rows(d, "pooled", model->pooled_dim, &c->pooled));
    if (!d->rt.facts.joint) DIT_TRY(fill_constant(d, batch * St, 1.0f, 1.0f, &c->text_mask));
    if (model->wants_guidance) DIT_TRY(fill_constant(d, batch, scale, scale, &c->guidance));
    if (!model->wants_resolution) return DIT_OK;
    DIT_TRY(fill_constant(d, 2 * batch, height, width, &c->resolution));
    return fill_constant(d, batch, height / width, height / width, &c->aspect_ratio);
}

static dit_status set_up(denoise *d, const dit_json *doc)
{
    int64_t began = dit_clock_ns();
    DIT_TRY(dit_case_read(doc, &d->kase));
    DIT_TRY(dit_runtime_init(&(dit_runtime_params){.backend = d->kase.backend,
                                                   .threads = d->kase.threads_per_rank,
                                                   .parallel = d->kase.parallel,
                                                   .facts = d->kase.facts},
                             &d->rt));
    d->partition = dit_partition_of(&d->rt);
    DIT_TRY(create_model(d));
    d->sampler = (dit_sampler){.rt = &d->rt,
                               .model = d->model,
                               .partition = d->partition,
                               .guidance_scale = (float)d->kase.guidance_scale,
                               .seed = d->kase.seed};
    DIT_TRY(dit_sampler_init(
        &d->sampler, &(dit_scheduler_params){
                         .doc = doc, .config = d->kase.scheduler, .pointer = "/scheduler", .steps = d->kase.steps}));
    DIT_TRY(make_condition(d));
    d->measured.head.setup_ns = dit_clock_ns() - began - d->measured.head.weights_ns;
    return DIT_OK;
}

static dit_status measurement_init(denoise *d)
{
    dit_measurement *m = &d->measured;
    m->iterations = d->kase.iterations, m->warmup_runs = d->kase.warmup_runs, m->steps = d->kase.steps;
    m->iteration = calloc((size_t)m->iterations, sizeof *m->iteration);
    m->step_ns = calloc((size_t)m->iterations * (size_t)m->steps, sizeof *m->step_ns);
    m->warmup_ns = calloc((size_t)m->warmup_runs + 1, sizeof *m->warmup_ns);
    if (!m->iteration || !m->step_ns || !m->warmup_ns) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for samples");
    m->head.rank = dit_comm_rank(dit_comm_world());
    m->head.bound = d->rt.bound;
    memcpy(m->head.coordinates, d->rt.coordinates, sizeof m->head.coordinates);
    return DIT_OK;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static dit_status run_image(denoise *d, int64_t *step_ns, int64_t *elapsed_ns)
{
    /* the initial noise is not part of the clocked region */
    dit_sampler_draw(&d->sampler, "noise", 0, d->sampler.scheduler->init_noise_sigma, d->sampler.latents);
    d->sampler.step_ns = step_ns;
    DIT_TRY(dit_comm_barrier(dit_comm_world()));
    int64_t began = dit_clock_ns();
    DIT_TRY(dit_sampler_run(&d->sampler, &d->condition));
    DIT_TRY(dit_sampler_gather(&d->sampler));
    *elapsed_ns = dit_clock_ns() - began;
    return DIT_OK;
}

static dit_status measure(denoise *d)
{
    dit_measurement *m = &d->measured;
    for (int i = 0; i < m->warmup_runs; i++) DIT_TRY(run_image(d, NULL, &m->warmup_ns[i]));
    dit_runtime_reset_account(&d->rt);
    int64_t calls = d->rt.ledger.calls;
    for (int i = 0; i < m->iterations; i++) {
        dit_iteration *it = &m->iteration[i];
        DIT_TRY(run_image(d, m->step_ns + (int64_t)i * m->steps, &it->latency_ns));
        memcpy(it->time_ns, d->rt.time_ns, sizeof it->time_ns);
        it->counters = d->rt.counters;
        it->flops = d->rt.flops;
        if (i + 1 < m->iterations) dit_runtime_reset_account(&d->rt);
    }
    m->head.loop_allocations = d->rt.ledger.calls - calls;
    memcpy(m->head.peak, d->rt.ledger.peak, sizeof m->head.peak);
    m->head.total_peak = d->rt.ledger.total_peak;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) m->head.rss_bytes = (int64_t)usage.ru_maxrss * 1024;
    return DIT_OK;
}

/* ---- validating -------------------------------------------------------------------------------------------------- */

static dit_status compare_with_reference(const denoise *d, const char *path, int64_t elements, double *rel_l2)
{
    dit_safetensors *file;
    dit_tensor_view view;
    double difference = 0, norm = 0;
    DIT_TRY(dit_safetensors_open(path, &file));
    float *reference = malloc((size_t)(elements + 1) * sizeof *reference);
    dit_status st = reference ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the reference");
    if (st == DIT_OK && (!dit_safetensors_find(file, "latents_final", &view) || view.elements != elements))
        st = DIT_FAIL(DIT_ERR_SHAPE, "%s holds no latents_final of %lld elements", path, (long long)elements);
    if (st == DIT_OK) st = dit_tensor_read(&view, 0, elements, reference);
    for (int64_t i = 0; i < elements && st == DIT_OK; i++) {
        double delta = (double)d->sampler.full[i] - reference[i];
        difference += delta * delta;
        norm += (double)reference[i] * reference[i];
    }
    free(reference);
    dit_safetensors_close(file);
    *rel_l2 = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
    return st;
}

static dit_status validate(const denoise *d, const dit_program_args *args, dit_validation *out)
{
    const dit_facts *facts = &d->rt.facts;
    int64_t elements = facts->num_images * facts->image_tokens * d->sampler.channels;
    char hash[DIT_HASH_HEX], path[4096];
    *out = (dit_validation){.tolerance = EXACT_TOLERANCE};
    dit_hash(d->sampler.full, (size_t)elements * sizeof(float), hash);
    snprintf(out->digest, sizeof out->digest, "xxh3:%s", hash);
    if (d->measured.head.rank == 0) {
        dit_tensor_out tensor = {.name = "latents_final",
                                 .rank = 3,
                                 .shape = {facts->num_images, facts->image_tokens, d->sampler.channels},
                                 .data = d->sampler.full};
        snprintf(path, sizeof path, "%s/latents.safetensors", args->out_folder);
        DIT_TRY(dit_safetensors_write(path, &tensor, 1));
    }
    if (args->reference) {
        out->has_reference = true;
        return compare_with_reference(d, args->reference, elements, &out->rel_l2);
    }
    snprintf(out->reason, sizeof out->reason, "%s",
             dit_parallel_world_size(&d->rt.parallel) == 1 ? "this is the one-rank reference"
                                                           : "no one-rank reference was given");
    return DIT_OK;
}

static dit_status denoise_all(denoise *d, const dit_program_args *args)
{
    dit_validation validation;
    DIT_TRY(set_up(d, args->doc));
    DIT_TRY(measurement_init(d));
    DIT_TRY(measure(d));
    DIT_TRY(validate(d, args, &validation));
    DIT_TRY(dit_record_write(&d->kase, &d->rt, dit_attention_name(d->model->attention), &d->measured, &validation,
                             args->out_folder));
    if (validation.has_reference && validation.rel_l2 > validation.tolerance)
        return DIT_FAIL(DIT_ERR_MISMATCH,
                        "latents differ from the one-rank reference by relative L2 %.3g, %.3g is allowed",
                        validation.rel_l2, validation.tolerance);
    return DIT_OK;
}

static dit_status denoise_run(const dit_program_args *args, bool *skipped)
{
    denoise d = {0};
    (void)skipped;
    dit_status st = denoise_all(&d, args);
    dit_model_free(d.model);
    dit_runtime_release(&d.rt);
    dit_safetensors_close(d.weights_file);
    free(d.measured.iteration);
    free(d.measured.step_ns);
    free(d.measured.warmup_ns);
    return st;
}

const dit_program dit_program_denoise = {
    .name = "denoise",
    .help = "text-to-image sampling loop: latency, memory, communication, distance to one rank",
    .run = denoise_run,
};
