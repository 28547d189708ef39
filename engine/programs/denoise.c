/* denoise: text-to-image sampling with seeded text, the main program.
 *
 * An iteration is one whole image batch: prepare the text, all diffusion steps, collect the latents. Its clock starts
 * after a barrier; its value is the maximum over ranks. Inputs are functions of the seed, so every mesh makes the same
 * image, and the distance to the one-rank reference is part of the record.
 */
#include "base/hash.h"
#include "engine/pipeline.h"
#include "engine/programs/program.h"
#include "engine/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const double EXACT_TOLERANCE = 1e-5; /* exact methods against one rank, fp32 reduction order */

typedef struct {
    dit_pipeline pipeline;
    dit_measurement measured;
} denoise;

static dit_status measurement_init(denoise *d)
{
    dit_measurement *m = &d->measured;
    m->iterations = d->pipeline.kase.iterations, m->warmup_runs = d->pipeline.kase.warmup_runs,
    m->steps = d->pipeline.kase.steps;
    m->iteration = calloc((size_t)m->iterations, sizeof *m->iteration);
    m->step_ns = calloc((size_t)m->iterations * (size_t)m->steps, sizeof *m->step_ns);
    m->warmup_ns = calloc((size_t)m->warmup_runs + 1, sizeof *m->warmup_ns);
    if (!m->iteration || !m->step_ns || !m->warmup_ns) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for samples");
    m->head.setup_ns = d->pipeline.setup_ns, m->head.weights_ns = d->pipeline.weights_ns;
    m->head.load_peak = d->pipeline.load_peak;
    m->head.rank = dit_comm_rank(dit_comm_world());
    m->head.bound = d->pipeline.rt.bound;
    memcpy(m->head.coordinates, d->pipeline.rt.coordinates, sizeof m->head.coordinates);
    return DIT_OK;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static dit_status measure(denoise *d)
{
    dit_measurement *m = &d->measured;
    for (int i = 0; i < m->warmup_runs; i++) DIT_TRY(dit_pipeline_run(&d->pipeline, NULL, &m->warmup_ns[i]));
    dit_runtime_reset_account(&d->pipeline.rt);
    int64_t calls = d->pipeline.rt.ledger.calls;
    for (int i = 0; i < m->iterations; i++) {
        dit_iteration *it = &m->iteration[i];
        DIT_TRY(dit_pipeline_run(&d->pipeline, m->step_ns + (int64_t)i * m->steps, &it->latency_ns));
        memcpy(it->time_ns, d->pipeline.rt.time_ns, sizeof it->time_ns);
        it->counters = d->pipeline.rt.counters;
        it->flops = d->pipeline.rt.flops;
        if (i + 1 < m->iterations) dit_runtime_reset_account(&d->pipeline.rt);
    }
    m->head.loop_allocations = d->pipeline.rt.ledger.calls - calls;
    memcpy(m->head.peak, d->pipeline.rt.ledger.peak, sizeof m->head.peak);
    m->head.total_peak = d->pipeline.rt.ledger.total_peak;
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
        double delta = (double)d->pipeline.sampler.full[i] - reference[i];
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
    const dit_facts *facts = &d->pipeline.rt.facts;
    int64_t elements = facts->num_images * facts->image_tokens * d->pipeline.sampler.channels;
    char hash[DIT_HASH_HEX], path[4096];
    *out = (dit_validation){.tolerance = EXACT_TOLERANCE};
    dit_hash(d->pipeline.sampler.full, (size_t)elements * sizeof(float), hash);
    snprintf(out->digest, sizeof out->digest, "xxh3:%s", hash);
    if (d->measured.head.rank == 0) {
        dit_tensor_out tensor = {.name = "latents_final",
                                 .rank = 3,
                                 .shape = {facts->num_images, facts->image_tokens, d->pipeline.sampler.channels},
                                 .data = d->pipeline.sampler.full};
        snprintf(path, sizeof path, "%s/latents.safetensors", args->out_folder);
        DIT_TRY(dit_safetensors_write(path, &tensor, 1));
    }
    if (args->reference) {
        out->has_reference = true;
        return compare_with_reference(d, args->reference, elements, &out->rel_l2);
    }
    snprintf(out->reason, sizeof out->reason, "%s",
             dit_parallel_world_size(&d->pipeline.rt.parallel) == 1 ? "this is the one-rank reference"
                                                                    : "no one-rank reference was given");
    return DIT_OK;
}

static dit_status denoise_all(denoise *d, const dit_program_args *args)
{
    dit_validation validation;
    DIT_TRY(dit_pipeline_create(args->doc, &d->pipeline));
    DIT_TRY(measurement_init(d));
    DIT_TRY(measure(d));
    DIT_TRY(validate(d, args, &validation));
    DIT_TRY(dit_record_write(&d->pipeline.kase, &d->pipeline.rt, dit_attention_name(d->pipeline.model->attention[0]),
                             &d->measured, &validation, args->out_folder));
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
    dit_pipeline_release(&d.pipeline);
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
