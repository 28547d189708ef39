/* denoise: the main program; measures text-to-image sampling with seeded text.
 *
 * An iteration is one whole batch of images: prepare the text, run all diffusion steps, collect the latents. Its clock
 * starts after a barrier; its value is the maximum over ranks. Inputs depend on the seed, so every mesh makes one and
 * the same image, and the record has the distance to the one-rank reference.
 */
#include "engine/programs/program.h"
#include "engine/results/cache_record.h"
#include "engine/results/measure.h"
#include "engine/results/pictures.h"
#include "engine/results/reference.h"
#include "engine/redundancy/probe.h"
#include "engine/results/timeline.h"
#include "engine/sampling/executor.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    dit_pipeline pipeline;
    dit_measurement measured;
    dit_pictures pictures; /* of the case's captions; none without                        */
    cJSON *more;           /* members for the record: "trace", "quality" and "probe", if the case asks for them */
} denoise;

/* ---- validating -------------------------------------------------------------------------------------------------- */

static dit_status write_latents(const denoise *d, const char *folder)
{
    const dit_facts *facts = &d->pipeline.rt.facts;
    char path[4096];
    dit_tensor_out tensors[2] = {{.name = "latents_final",
                                  .rank = 3,
                                  .shape = {facts->num_images, facts->image_tokens, d->pipeline.sampler.channels},
                                  .data = d->pipeline.sampler.full}};
    dit_pictures_tensor(&d->pictures, &tensors[1]);
    snprintf(path, sizeof path, "%s/latents.safetensors", folder);
    if (d->measured.head.rank != 0) return DIT_OK;
    if (d->pipeline.sampler.emulates_cache) return dit_cache_record_write(path, tensors, &d->pipeline.sampler);
    return dit_safetensors_write(path, tensors, d->pictures.pixels ? 2 : 1);
}

static const char *why_no_verdict(const denoise *d, const dit_validation *validation)
{
    if (d->pipeline.kase.emulates) return "this is the oracle of an approximate method";
    if (d->pipeline.sampler.emulates_cache) return "this is the oracle of a cache";
    if (d->pipeline.kase.fp8_linear) return "linear layers in fp8 are an approximation: its distance is a result";
    if (validation->approximate) return "no oracle of the approximate method was given";
    bool alone = dit_parallel_world_size(&d->pipeline.rt.parallel) == 1;
    return alone ? "this is the one-rank reference" : "no one-rank reference was given";
}

/* Latents are judged where the oracle decided alike for every group. Each rank looks at all groups, so that all have one
 * verdict. */
static dit_status compare_decisions(const denoise *d, const dit_program_args *args, dit_validation *out)
{
    dit_cache_log *logs;
    DIT_TRY(dit_cache_meet(d->pipeline.sampler.cache, &logs));
    dit_status st = DIT_OK;
    for (int rank = 0; rank < dit_comm_size(dit_comm_world()) && st == DIT_OK && out->has_oracle; rank++)
        st =
            dit_cache_record_compare(args->oracle, &d->pipeline.kase.cache, &logs[rank], &out->has_oracle, out->reason);
    free(logs);
    return st;
}

static dit_status compare(const denoise *d, const dit_program_args *args, int64_t elements, dit_validation *out)
{
    const float *latents = d->pipeline.sampler.full;
    dit_distance exact = {0}, oracle = {0};
    out->has_reference = args->reference != NULL, out->has_oracle = args->oracle != NULL;
    if (args->reference) DIT_TRY(dit_reference_compare(args->reference, "latents_final", latents, elements, &exact));
    if (args->oracle) DIT_TRY(dit_reference_compare(args->oracle, "latents_final", latents, elements, &oracle));
    out->rel_l2 = exact.rel_l2, out->psnr_db = exact.psnr_db;
    out->oracle_rel_l2 = oracle.rel_l2;
    return args->oracle && d->pipeline.sampler.cache ? compare_decisions(d, args, out) : DIT_OK;
}

/* Tells whether the distance to one rank's latents is a result, which nothing but an oracle can judge. */
static bool is_approximate(const denoise *d)
{
    const dit_case *kase = &d->pipeline.kase;
    return dit_case_stale_steps(kase) > 0 || d->pipeline.sampler.cache || kase->fp8_linear;
}

static dit_status validate(const denoise *d, const dit_program_args *args, dit_validation *out)
{
    int64_t elements;
    *out = (dit_validation){.tolerance =
                                dit_method_tolerance(d->pipeline.kase.dtype, dit_case_guidance(&d->pipeline.kase)),
                            .approximate = is_approximate(d)};
    dit_latents_digest(&d->pipeline, out->digest, &elements);
    DIT_TRY(write_latents(d, args->out_folder));
    DIT_TRY(compare(d, args, elements, out));
    if (!out->reason[0]) snprintf(out->reason, sizeof out->reason, "%s", why_no_verdict(d, out));
    return DIT_OK;
}

static dit_status judge(const dit_validation *v)
{
    bool pass;
    if (!dit_validation_judge(v, &pass) || pass) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MISMATCH, "latents differ from %s by relative L2 %.3g, %.3g is allowed",
                    v->approximate ? "what the method's oracle gives" : "the one-rank reference",
                    v->approximate ? v->oracle_rel_l2 : v->rel_l2, v->tolerance);
}

/* Rank 0 judges the pictures, which lie beside its latents. */
static dit_status judge_pictures(const denoise *d, const dit_program_args *args)
{
    char path[4096];
    if (!d->pictures.pixels) return DIT_OK;
    if (snprintf(path, sizeof path, "%s/latents.safetensors", args->out_folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of the latents is too long");
    const dit_picture_references references = {.one_rank = args->reference, .converged = args->converged};
    return dit_pictures_judge(&d->pictures, &d->pipeline, path, &references, d->more);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static dit_status run_traced(void *pipeline, int64_t *latency_ns)
{
    return dit_pipeline_run(pipeline, NULL, latency_ns);
}

/* Traces one more run, at the end, so that the latents of the traced run are judged. */
static dit_status trace(denoise *d, const dit_program_args *args)
{
    if (!d->pipeline.kase.trace) return DIT_OK;
    return dit_timeline_take(&(dit_timeline_params){.rt = &d->pipeline.rt,
                                                    .case_id = d->pipeline.kase.case_id,
                                                    .out_folder = args->out_folder,
                                                    .run = run_traced,
                                                    .context = &d->pipeline},
                             d->more);
}

static dit_status denoise_all(denoise *d, const dit_program_args *args)
{
    dit_validation validation;
    DIT_TRY(dit_pipeline_create(args->doc, &d->pipeline));
    if (d->pipeline.rt.parallel.rows_degree > 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "rows_degree %d: denoise decodes nothing",
                        d->pipeline.rt.parallel.rows_degree);
    DIT_TRY(dit_probe_check(&d->pipeline));
    d->more = cJSON_CreateObject();
    if (!d->more) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    if (!args->no_pictures) DIT_TRY(dit_pictures_make(&d->pipeline, &d->pictures));
    DIT_TRY(dit_measurement_init(&d->pipeline, &d->measured));
    DIT_TRY(dit_measurement_take(&d->measured, &d->pipeline));
    DIT_TRY(trace(d, args));
    DIT_TRY(validate(d, args, &validation));
    DIT_TRY(judge_pictures(d, args));
    DIT_TRY(dit_probe_take(&d->pipeline, args->out_folder, d->more));
    DIT_TRY(dit_record_write(&(dit_record_params){.program = "denoise",
                                                  .kase = &d->pipeline.kase,
                                                  .rt = &d->pipeline.rt,
                                                  .attention = dit_attention_name(d->pipeline.model->attention[0]),
                                                  .own = &d->measured,
                                                  .validation = &validation,
                                                  .cache = d->pipeline.sampler.cache,
                                                  .more = d->more,
                                                  .out_folder = args->out_folder}));
    return judge(&validation);
}

static dit_status denoise_run(const dit_program_args *args, bool *skipped)
{
    denoise d = {0};
    (void)skipped;
    dit_status st = denoise_all(&d, args);
    dit_pictures_release(&d.pictures);
    dit_pipeline_release(&d.pipeline);
    dit_measurement_release(&d.measured);
    cJSON_Delete(d.more);
    return st;
}

const dit_program dit_program_denoise = {
    .name = "denoise",
    .help = "text-to-image sampling loop: latency, memory, communication, distance to one rank",
    .run = denoise_run,
};
