/* denoise: the main program; measures sampling, with seeded text or with that of prompts.
 *
 * An iteration is one whole batch of images: prepare the text, run all diffusion steps, collect the latents. Its clock
 * starts after a barrier; its value is the maximum over ranks. Inputs depend on the seed, so every mesh makes one and
 * the same image, and the record has the distance to the one-rank reference.
 *
 * Of scope "latents" an iteration begins with the prompts (tokenizers and text encoders); of scope "pipeline" it ends with
 * pictures, too (engine/requests/parts.h).
 */
#include "engine/programs/program.h"
#include "engine/edits/edit.h"
#include "engine/edits/told.h"
#include "engine/results/cache_record.h"
#include "engine/results/measure.h"
#include "engine/requests/parts.h"
#include "engine/results/pictures.h"
#include "engine/results/reference.h"
#include "engine/redundancy/probe.h"
#include "engine/results/timeline.h"
#include "engine/sampling/executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    dit_pipeline pipeline;
    dit_measurement measured;
    dit_parts parts;       /* of a request; zero where only denoising is timed */
    dit_pictures pictures; /* of the case's captions; none without                        */
    cJSON *more;           /* members for the record: "trace", "quality" and "probe", if the case asks for them */
} denoise;

/* ---- validating -------------------------------------------------------------------------------------------------- */

static dit_status write_latents(const denoise *d, const char *folder)
{
    const dit_facts *facts = &d->pipeline.rt.facts;
    char path[4096];
    dit_tensor_out tensors[2] = {
        {.name = "latents_final",
         .rank = 3,
         .shape = {facts->num_images, dit_facts_latent_tokens(facts), d->pipeline.sampler.channels},
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
    if (d->pipeline.kase.emulates_edit) return "this is the oracle of an edit";
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
    return dit_case_stale_steps(kase) > 0 || d->pipeline.sampler.cache || kase->edit.dense_steps || kase->fp8_linear;
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

static dit_status put_edit(denoise *d)
{
    dit_json_writer w = {0};
    dit_sampler *sampler = &d->pipeline.sampler;
    if (!sampler->edit || d->pipeline.kase.emulates_edit) return DIT_OK;
    DIT_TRY(dit_edit_count_differing(sampler));
    dit_edits_put_run(&w, sampler->edit, &d->pipeline.rt.facts, &sampler->edit_log, d->more);
    return w.status;
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

/* What the case times, and how often a part of a request is run. */
static dit_status read_scope(const dit_json *doc, dit_request_scope *scope, int *runs)
{
    dit_case measure = {0};
    DIT_TRY(dit_case_read_measure(doc, &measure));
    *scope = measure.scope;
    *runs = measure.warmup_runs + measure.iterations;
    const char *kind = dit_json_text_or(dit_json_member(doc->root, "conditions"), "kind", "");
    if (*scope == DIT_SCOPE_DENOISE || strcmp(kind, "prompts") == 0) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, "/measure/scope", DIT_ERR_UNSUPPORTED,
                                        "scope %s begins with prompts, and the conditions are others",
                                        dit_request_scopes()[*scope]),
                          "conditions of kind prompts name a folder with tokenizers and text encoders");
}

/* Checks that what the encoders had to send is what the case's document tells of them: the harness plans by that. */
static dit_status check_told(const denoise *d)
{
    const dit_pipeline *p = &d->pipeline;
    int ranks = dit_comm_size(dit_comm_world()), rank = dit_comm_rank(dit_comm_world());
    dit_request told;
    dit_volume_table expected = {0};
    DIT_TRY(dit_request_read(p->kase.doc, &told));
    if (!told.encoder_count) return DIT_OK;
    told.decode_ranks = 1;
    dit_request_predict(&told, ranks, rank, dit_dtype_bytes(p->kase.dtype), &expected);
    if (memcmp(&expected, &d->parts.prompts.predicted, sizeof expected) == 0) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_SHAPE, "the case's text_encoders would send %lld bytes from rank %d, the folder's %lld",
                 (long long)dit_volume_total_bytes(&expected), rank,
                 (long long)dit_volume_total_bytes(&d->parts.prompts.predicted)),
        "tokens, widths, heads, skip, states, crop and pooled of text_encoders must be those of the folder");
}

static dit_status denoise_all(denoise *d, const dit_program_args *args)
{
    dit_validation validation;
    dit_request_scope scope;
    int runs;
    DIT_TRY(read_scope(args->doc, &scope, &runs));
    if (scope != DIT_SCOPE_DENOISE) DIT_TRY(dit_parts_encode(args->doc, args->out_folder, runs, &d->parts));
    if (d->parts.first_frame.count)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "scope %s: what is made of a picture is not timed as a request",
                        dit_request_scopes()[scope]);
    DIT_TRY(dit_pipeline_create_told(args->doc, d->parts.embeddings[0] ? d->parts.embeddings : NULL, &d->pipeline));
    if (scope != DIT_SCOPE_PIPELINE && d->pipeline.rt.parallel.rows_degree > 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "rows_degree %d: nothing is decoded in scope %s",
                        d->pipeline.rt.parallel.rows_degree, dit_request_scopes()[scope]);
    if (scope != DIT_SCOPE_DENOISE) DIT_TRY(check_told(d));
    DIT_TRY(dit_probe_check(&d->pipeline));
    d->more = cJSON_CreateObject();
    if (!d->more) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    if (!args->no_pictures) DIT_TRY(dit_pictures_make(&d->pipeline, &d->pictures));
    DIT_TRY(dit_measurement_init(&d->pipeline, &d->measured));
    DIT_TRY(dit_measurement_take(&d->measured, &d->pipeline));
    DIT_TRY(trace(d, args));
    DIT_TRY(validate(d, args, &validation));
    if (scope == DIT_SCOPE_PIPELINE) DIT_TRY(dit_parts_decode(&d->pipeline, args->out_folder, &d->parts));
    if (scope != DIT_SCOPE_DENOISE) dit_parts_take(&d->parts, &d->pipeline, &d->measured);
    DIT_TRY(judge_pictures(d, args));
    DIT_TRY(put_edit(d));
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
    dit_parts_release(&d.parts);
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
