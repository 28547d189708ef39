#include "engine/case/pipeline.h"

#include "base/case_facts.h"
#include "engine/edits/edit.h"
#include "engine/files/shipped.h"
#include "engine/runtime/weight_save.h"
#include "engine/sampling/executor.h"
#include "engine/vae/vae.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t SHARD_BYTES = INT64_C(5) << 30;

/* Checks that the document and the model's config agree about the model: the harness plans with the document. */
static dit_status check_facts(const dit_facts *document, const dit_facts *config)
{
    const struct {
        const char *what;
        int64_t document, config;
    } pairs[] = {
        {"blocks", document->layers, config->layers},
        {"heads", document->heads, config->heads},
        {"head_dim", document->head_dim, config->head_dim},
        {"latent channels", document->latent.channels, config->latent.channels},
        {"patch", document->latent.patch, config->latent.patch},
        {"patch_t", document->latent.patch_t, config->latent.patch_t},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].document != pairs[i].config)
            return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "%s: the case says %lld, the architecture has %lld",
                                           pairs[i].what, (long long)pairs[i].document, (long long)pairs[i].config),
                                  "correct the model file's latent and text");
    return DIT_OK;
}

static dit_status open_conditions(dit_pipeline *p)
{
    dit_tensor_view view;
    char folder[DIT_SHIPPED_PATH];
    if (dit_case_caption_count(&p->kase) > 0) {
        if (p->counting || p->guest) return DIT_OK;
        if (!p->kase.text_shipped) return dit_text_table_open(p->kase.text_table, &p->text_table);
        DIT_TRY(dit_shipped_folder(p->kase.text_shipped, folder));
        return dit_text_table_open(folder, &p->text_table);
    }
    if (p->kase.prompts && !p->embeddings && !p->counting)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED,
                                       "prompts are read by generate, and by denoise where the scope is pipeline or "
                                       "latents"),
                              "give a file of embeddings: conditions of kind safetensors");
    const char *path = p->kase.prompts ? p->embeddings : p->kase.conditions_path;
    if (!path) return DIT_OK;
    DIT_TRY(dit_safetensors_open(path, &p->conditions_file));
    if (p->kase.text_tokens == 0 && dit_safetensors_find(p->conditions_file, "prompt_embeds", &view) && view.rank == 3)
        p->kase.text_tokens = view.shape[1];
    return DIT_OK;
}

/* Settles how many pixels a latent spans. An architecture's own number is that of the VAE it was published with; a
 * document that describes its latents, or that names another VAE, knows better. */
static dit_status settle_cells(const dit_case *kase, dit_facts *facts)
{
    dit_vae_facts vae;
    const cJSON *config = dit_json_member(kase->vae, "config");
    if (kase->vae_spatial) facts->latent.vae_spatial = kase->vae_spatial;
    if (kase->has_facts) facts->latent.vae_spatial = kase->facts.latent.vae_spatial;
    if (kase->has_facts || kase->vae_spatial || !config) return DIT_OK;
    DIT_TRY(dit_vae_read_facts(&(dit_config){kase->doc, config, "/vae/config"}, &vae));
    facts->latent.vae_spatial = vae.spatial;
    return DIT_OK;
}

/* Completes the facts of a document that leaves them to the config: guidance as the pipelines decide it, text as the
 * file of embeddings has it. */
static dit_status complete_facts(dit_pipeline *p, dit_facts *facts)
{
    const dit_case *kase = &p->kase;
    DIT_TRY(settle_cells(kase, facts));
    DIT_TRY(dit_latent_resize(&facts->latent, kase->run.height_px, kase->run.width_px, kase->num_frames));
    facts->num_images = kase->num_images;
    facts->steps = kase->steps;
    facts->two_transformers = kase->two_transformers;
    if (facts->text_tokens == 0) facts->text_tokens = kase->text_tokens; /* else the config says */
    DIT_TRY(dit_facts_guide(kase->run.guidance_scale, kase->true_cfg_scale, facts));
    DIT_TRY(dit_facts_norm_guidance(kase->cfg_normalization, kase->cfg_trunc_ratio, facts));
    DIT_TRY(dit_facts_rescale_guidance(kase->guidance_rescale, facts));
    if (facts->text_tokens < 1)
        return dit_error_hint(DIT_FAIL(DIT_ERR_TENSOR_MISSING, "the number of text tokens is unknown"),
                              "give embeddings (prompt_embeds) or model.text.tokens");
    dit_facts_resize(facts);
    for (int i = 0; i < kase->reference_count; i++)
        DIT_TRY(dit_architecture_refer(kase->references[i].height_px, kase->references[i].width_px, facts));
    return dit_architecture_hold(kase->first_frame, facts);
}

static dit_status settle_facts(dit_pipeline *p)
{
    dit_facts facts;
    dit_config config = {p->kase.doc, p->kase.model_config, "/model/config"};
    DIT_TRY(dit_model_read_facts(&config, &p->ops, &facts));
    DIT_TRY(complete_facts(p, &facts));
    if (p->kase.has_facts) return check_facts(&p->kase.facts, &facts);
    p->kase.facts = facts;
    return DIT_OK;
}

/* Opens the shipped weights, which must be those that the case was written for. */
static dit_status open_shipped(dit_pipeline *p)
{
    char folder[DIT_SHIPPED_PATH], digest[48];
    if (p->counting || p->guest) return DIT_OK;
    DIT_TRY(dit_shipped_folder(p->kase.shipped, folder));
    DIT_TRY(dit_safetensors_open(folder, &p->weights_file));
    DIT_TRY(dit_safetensors_digest(p->weights_file, digest));
    if (strcmp(digest, p->kase.shipped_digest) == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_MISMATCH, "the weights in %s are %s, but the case is about %s", folder,
                                   digest, p->kase.shipped_digest),
                          "the model's file has the digest of the weights that it was written for");
}

static dit_status open_weights(const char *path, dit_safetensors **out)
{
    char expanded[DIT_SHIPPED_PATH];
    const char *at;
    if (!path) return DIT_OK;
    DIT_TRY(dit_shipped_expand(path, expanded, &at));
    return dit_safetensors_open(at, out);
}

static const char *attention_of(const dit_case *kase)
{
    if (kase->edit.dense_steps) return kase->emulates_edit ? "edit_oracle" : "edit";
    return kase->emulates ? "oracle" : kase->attention;
}

static dit_status create_model(dit_pipeline *p, const dit_weights *weights, dit_model **out)
{
    const dit_case *kase = &p->kase;
    return dit_model_create(&(dit_model_params){.rt = &p->rt,
                                                .config = {kase->doc, kase->model_config, "/model/config"},
                                                .weights = weights,
                                                .partition = p->partition,
                                                .latent = kase->facts.latent,
                                                .attention = attention_of(kase)},
                            out);
}

/* Seeded weights can stream once they are saved: this rank's, in fp32, which gives the numbers of the seed. */
static dit_status save_seeded(dit_pipeline *p)
{
    const dit_case *kase = &p->kase;
    const char *temporary = getenv("TMPDIR");
    dit_weight_catalogue catalogue = {0};
    char folder[DIT_SHIPPED_PATH];
    if (p->counting || p->weights_file || kase->offload.tier == DIT_OFFLOAD_NONE) return DIT_OK;
    snprintf(folder, sizeof folder, "%s/ditbench-weights-XXXXXX", temporary && *temporary ? temporary : "/var/tmp");
    if (!mkdtemp(folder)) return DIT_FAIL(DIT_ERR_IO, "%s: cannot be made: %s", folder, strerror(errno));
    p->saved = strdup(folder);
    if (!p->saved) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a path");
    dit_status st = dit_pipeline_list_parameters(kase->doc, dit_comm_rank(dit_comm_world()), &catalogue);
    if (st == DIT_OK)
        st = dit_weight_save(&catalogue, p->rt.pool, kase->weights_seed, DIT_STORED_F32, SHARD_BYTES, folder, NULL);
    dit_weight_catalogue_release(&catalogue);
    return st == DIT_OK ? dit_safetensors_open(folder, &p->weights_file) : st;
}

/* Deletes the folder of saved weights, which has no folders in it. */
static void delete_saved(dit_pipeline *p)
{
    char path[2 * DIT_SHIPPED_PATH];
    DIR *folder = p->saved ? opendir(p->saved) : NULL;
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%s", p->saved, entry->d_name);
        if (entry->d_name[0] != '.') unlink(path);
    }
    if (folder) closedir(folder);
    if (p->saved) rmdir(p->saved);
    free(p->saved);
    p->saved = NULL;
}

static dit_status create_models(dit_pipeline *p)
{
    const dit_case *kase = &p->kase;
    int64_t began = dit_clock_ns();
    DIT_TRY(open_weights(kase->weights_path, &p->weights_file));
    if (kase->shipped) DIT_TRY(open_shipped(p));
    DIT_TRY(save_seeded(p));
    p->weights = (dit_weights){.file = p->weights_file, .saved = p->saved != NULL, .seed = kase->weights_seed};
    DIT_TRY(create_model(p, &p->weights, &p->model));
    if (kase->offload.tier == DIT_OFFLOAD_DISK && p->weights_file) dit_safetensors_forget(p->weights_file);
    if (kase->two_transformers) {
        DIT_TRY(open_weights(kase->second_path, &p->second_file));
        p->second_weights = (dit_weights){.file = p->second_file, .seed = kase->second_seed};
        DIT_TRY(create_model(p, &p->second_weights, &p->second));
    }
    p->weights_ns = dit_clock_ns() - began;
    p->load_peak = p->rt.ledger.total_peak;
    return DIT_OK;
}

/* The timestep that late steps lie below. */
static float boundary_of(const dit_case *kase)
{
    return (float)(kase->boundary_ratio * dit_json_number_or(kase->scheduler, "num_train_timesteps", 1000));
}

/* Splits the captions into batches, one caption for each image. One caption is that of all images. */
static dit_status count_batches(dit_pipeline *p)
{
    int64_t captions = dit_case_caption_count(&p->kase), images = p->kase.facts.num_images;
    p->batches = captions > images ? captions / images : 1;
    if (captions <= 1 || captions % images == 0) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_SHAPE, "%lld captions for %lld images", (long long)captions, (long long)images),
        "give one caption, or one for each image, or whole batches of them");
}

/* How many captions a batch has. */
static int64_t captions_of_batch(const dit_pipeline *p)
{
    return p->caption_count < p->kase.facts.num_images ? p->caption_count : p->kase.facts.num_images;
}

static dit_status look_up_captions(dit_pipeline *p)
{
    DIT_TRY(dit_case_captions(&p->kase, &p->captions, &p->caption_count));
    if (p->kase.edit.dense_steps) DIT_TRY(dit_case_captions_before(&p->kase, &p->before));
    return dit_condition_look_up(&p->rt, &p->partition, p->model->needs, p->text_table, p->captions,
                                 captions_of_batch(p), &p->kase.run, &p->condition);
}

static dit_status tell(dit_pipeline *p, const char **captions)
{
    return dit_condition_tell(&p->rt, &p->partition, p->model->needs, p->text_table, captions + p->sampler.first_image,
                              captions_of_batch(p), &p->condition);
}

static dit_status fill_latents(dit_pipeline *p);

/* Draws the pictures of the captions before their edits, and keeps what the run of those behind them reuses. */
static dit_status draw_before(dit_pipeline *p)
{
    if (p->text_table) DIT_TRY(tell(p, p->before));
    DIT_TRY(fill_latents(p));
    p->sampler.keeps = true;
    dit_status st = dit_sampler_run(&p->sampler, &p->condition);
    p->sampler.keeps = false;
    return st == DIT_OK && p->text_table ? tell(p, p->captions) : st;
}

dit_status dit_pipeline_take_batch(dit_pipeline *p, int64_t batch)
{
    p->sampler.first_image = batch * p->kase.facts.num_images;
    if (p->kase.edit.dense_steps) return draw_before(p);
    return p->text_table && p->batches > 1 ? tell(p, p->captions) : DIT_OK;
}

static dit_status make_conditions(dit_pipeline *p)
{
    const dit_case *kase = &p->kase;
    p->model->needs[DIT_CONDITION_REFERENCE].later = dit_pipeline_refers_to_picture(p);
    if (dit_case_caption_count(kase) > 0) return look_up_captions(p);
    if (!p->conditions_file)
        return dit_condition_seed(&p->rt, &p->partition, p->model->needs, kase->seed, &kase->run, &p->condition);
    return dit_condition_read(&p->rt, &p->partition, p->model->needs, p->conditions_file, DIT_CONDITION_PIPELINE,
                              &kase->facts.latent, p->ops->layout, &kase->run, &p->condition);
}

static dit_status make_ready(const dit_json *doc, dit_pipeline *p);

/* Counts the bytes of each class that this rank will need on a device, by running the case in counting mode. */
static dit_status plan_memory(const dit_json *doc, const char *embeddings, int64_t planned[DIT_MEMORY_CLASS_COUNT])
{
    dit_pipeline counted = {.embeddings = embeddings, .counting = true, .rank = dit_comm_rank(dit_comm_world())};
    int64_t elapsed_ns;
    dit_status st = make_ready(doc, &counted);
    if (st == DIT_OK) st = dit_pipeline_run(&counted, NULL, &elapsed_ns);
    if (st == DIT_OK) memcpy(planned, counted.rt.ledger.peak, sizeof counted.rt.ledger.peak);
    dit_pipeline_release(&counted);
    return st == DIT_OK ? st : dit_error_note(st, "planning the device's memory");
}

/* Whether latents of a picture stand beside those that are denoised. */
static bool lies_beside(const dit_pipeline *p)
{
    return p->model->needs[DIT_CONDITION_LATENT].elements > 0;
}

bool dit_pipeline_starts_from_picture(const dit_pipeline *p)
{
    const dit_facts *facts = &p->kase.facts;
    bool elsewhere = facts->picture_tokens || facts->reference_tokens || facts->held_tokens;
    return p->kase.image_path && !elsewhere && !lies_beside(p);
}

bool dit_pipeline_refers_to_picture(const dit_pipeline *p)
{
    return p->kase.image_path && p->kase.facts.reference_tokens;
}

/* Numbers that the pipeline's encoder of pictures takes before there is noise: of the picture to start from, or to fill;
 * where a picture guides, a sample for each image; of LTX-Video's first frame. Of a reference it takes the middle. */
static int64_t drawn_ahead(const dit_pipeline *p)
{
    const dit_latent *latent = &p->kase.facts.latent;
    int64_t image = latent->channels * dit_latent_cells(latent);
    if (!p->kase.image_path || p->kase.facts.picture_tokens || p->kase.facts.reference_tokens) return 0;
    const dit_architecture *architecture = dit_architecture_find(p->kase.facts.family);
    if (p->kase.facts.held_tokens) return architecture->samples_first ? image / latent->frames : 0;
    return lies_beside(p) && !p->kase.mask_path ? p->sampler.all_images * image : image;
}

/* Noise as PyTorch's generators give it, in the layout that the model's pipeline draws. */
static dit_status create_noise(dit_pipeline *p)
{
    const dit_case *kase = &p->kase;
    const dit_latent *latent = &kase->facts.latent;
    dit_latent drawn = p->ops->draws_tokens ? dit_latent_of_tokens(latent) : *latent;
    if (kase->noise == DIT_NOISE_COUNTER) return DIT_OK;
    return dit_torch_noise_create(&p->rt,
                                  &(dit_torch_noise_params){.latent = drawn,
                                                            .layout = p->ops->layout,
                                                            .images = p->sampler.all_images,
                                                            .seed = kase->seed,
                                                            .each = kase->noise == DIT_NOISE_TORCH_EACH,
                                                            .ahead = drawn_ahead(p),
                                                            .step_tensors = p->sampler.scheduler->ops->step_tensors,
                                                            .last_step = p->sampler.scheduler->steps - 1},
                                  &p->sampler.torch);
}

/* Counts the steps that go unguided because the model's time, from 0 for noise to 1, is past cfg_truncation. In float32, as
 * the pipeline compares. */
static dit_status truncate_guidance(dit_pipeline *p)
{
    const float train = 1000.0f;
    const dit_scheduler *scheduler = p->sampler.scheduler;
    dit_facts *facts = &p->rt.facts;
    if (p->kase.cfg_truncation >= 1) return DIT_OK;
    if (facts->guidance_norm_kind != DIT_GUIDANCE_NORM_WHOLE)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "cfg_truncation %g: pipelines of %s have none",
                                       p->kase.cfg_truncation, facts->family),
                              "it is for Z-Image; Lumina-Image 2.0 has cfg_trunc_ratio");
    facts->unguided_steps = 0;
    for (int step = 0; step < scheduler->steps; step++)
        facts->unguided_steps += (train - scheduler->timesteps[step]) / train > p->kase.cfg_truncation;
    return DIT_OK;
}

static dit_status make_ready(const dit_json *doc, dit_pipeline *p)
{
    const dit_case *kase = &p->kase;
    DIT_TRY(dit_case_read(doc, &p->kase));
    if (p->kase.for_guest && !p->guest)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "the case is a simulation, which this engine cannot run"),
                              "run it by ditbench-engine-sim under smpirun, as ditbench simulate does");
    if (p->guest) p->kase.parallel.habits = p->guest->habits;
    DIT_TRY(open_conditions(p));
    DIT_TRY(settle_facts(p));
    DIT_TRY(count_batches(p));
    DIT_TRY(dit_case_settle_emulated(&p->kase));
    DIT_TRY(dit_case_check_caches(&p->kase));
    if (p->guest) DIT_TRY(dit_cache_check_known(&kase->cache));
    dit_runtime_params params = {.backend = kase->backend,
                                 .dtype = kase->dtype,
                                 .fp8_linear = kase->fp8_linear,
                                 .no_graphs = !kase->graphs,
                                 .counting = p->counting,
                                 .guest = p->counting ? NULL : p->guest,
                                 .rank = p->rank,
                                 .threads = kase->threads_per_rank,
                                 .offload = kase->offload,
                                 .parallel = kase->parallel,
                                 .facts = kase->facts};
    bool on_device = dit_device_is_one(kase->backend);
    if (on_device) params.facts.element_bytes = dit_dtype_bytes(kase->dtype);
    if (on_device && !p->counting) DIT_TRY(plan_memory(doc, p->embeddings, params.planned));
    if (p->catalogue) params.offload = (dit_offload){0};
    DIT_TRY(dit_runtime_init(&params, &p->rt));
    p->rt.catalogue = p->catalogue;
    p->partition = dit_partition_of(&p->rt);
    DIT_TRY(create_models(p));
    if (p->catalogue) return DIT_OK;
    const dit_parallel *emulates = kase->emulates ? &kase->emulated : NULL;
    int apart = kase->emulated_cache.separate ? (int)kase->facts.guidance_branches : 1;
    bool of_cache = kase->emulated_cache.policy != DIT_CACHE_NONE, edits = kase->edit.dense_steps > 0;
    dit_cache_run *cache = NULL;
    if (kase->cache.policy != DIT_CACHE_NONE) DIT_TRY(dit_cache_create(p->model, &kase->cache, kase->steps, &cache));
    p->sampler = (dit_sampler){.rt = &p->rt,
                               .model = p->model,
                               .second = p->second,
                               .boundary = boundary_of(kase),
                               .partition = p->partition,
                               .guidance_scale = (float)dit_case_guidance(kase),
                               .second_guidance_scale = (float)kase->guidance_scale_2,
                               .seed = kase->seed,
                               .all_images = p->batches * kase->facts.num_images,
                               .emulates = emulates,
                               .emulates_cache = of_cache ? &kase->emulated_cache : NULL,
                               .emulated_groups = kase->emulated_groups * apart,
                               .cache = cache,
                               .edit = edits ? &kase->edit : NULL,
                               .executor = edits && kase->emulates_edit ? &dit_executor_edit_oracle
                                           : edits                      ? &dit_executor_edit
                                           : of_cache && !emulates      ? dit_executor_of_cache(&kase->emulated_cache)
                                                                        : dit_executor_for(&p->rt, emulates)};
    DIT_TRY(dit_sampler_init(&p->sampler, &(dit_scheduler_params){.doc = doc,
                                                                  .config = kase->scheduler,
                                                                  .pointer = "/scheduler",
                                                                  .steps = kase->first_step + kase->steps,
                                                                  .first_step = kase->first_step}));
    DIT_TRY(create_noise(p));
    DIT_TRY(truncate_guidance(p));
    if (cache) dit_cache_set_timesteps(cache, p->sampler.scheduler->timesteps);
    DIT_TRY(make_conditions(p));
    return edits ? draw_before(p) : DIT_OK;
}

dit_status dit_pipeline_create(const dit_json *doc, dit_pipeline *out)
{
    return dit_pipeline_create_told(doc, NULL, out);
}

dit_status dit_pipeline_create_told(const dit_json *doc, const char *embeddings, dit_pipeline *out)
{
    int64_t began = dit_clock_ns();
    *out = (dit_pipeline){.embeddings = embeddings};
    DIT_TRY(make_ready(doc, out));
    out->setup_ns = dit_clock_ns() - began - out->weights_ns;
    return DIT_OK;
}

dit_status dit_pipeline_create_guest(const dit_json *doc, const dit_guest *guest, dit_pipeline *out)
{
    *out = (dit_pipeline){.guest = guest};
    return make_ready(doc, out);
}

dit_status dit_pipeline_create_counting(const dit_json *doc, int rank, const dit_guest *guest, dit_pipeline *out)
{
    *out = (dit_pipeline){.guest = guest, .counting = true, .rank = rank};
    return make_ready(doc, out);
}

dit_status dit_pipeline_list_parameters(const dit_json *doc, int rank, dit_weight_catalogue *out)
{
    dit_pipeline counted = {.counting = true, .rank = rank, .catalogue = out};
    dit_status st = make_ready(doc, &counted);
    dit_pipeline_release(&counted);
    return st;
}

void dit_pipeline_release(dit_pipeline *pipeline)
{
    dit_model_free(pipeline->second);
    dit_model_free(pipeline->model);
    dit_runtime_release(&pipeline->rt);
    dit_safetensors_close(pipeline->second_file);
    dit_safetensors_close(pipeline->weights_file);
    dit_safetensors_close(pipeline->conditions_file);
    dit_text_table_close(pipeline->text_table);
    free(pipeline->captions);
    free(pipeline->before);
    free(pipeline->start);
    delete_saved(pipeline);
}

/* Reads this rank's share of the file's initial latents [num_images, ...], which already have the first noise level. */
static dit_status read_latents(dit_pipeline *p, const dit_tensor_view *view)
{
    const dit_partition *part = &p->sampler.latents_of;
    const dit_latent *latent = &p->kase.facts.latent;
    int64_t images = p->rt.facts.num_images, cols = p->sampler.channels, row = part->image_tokens * cols;
    if (view->elements != images * row)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "the file's latents have %lld elements, but this run takes %lld",
                                       (long long)view->elements, (long long)(images * row)),
                              "ask for the height, width, frames and number of images that they were made for");
    float *stored = malloc((size_t)row * sizeof *stored), *tokens = malloc((size_t)row * sizeof *tokens);
    float *own = malloc((size_t)row * sizeof *own);
    dit_status st = stored && tokens && own ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for initial latents");
    for (int64_t image = 0; image < part->images && st == DIT_OK; image++) {
        st = dit_tensor_read(view, (part->image_first + image) * row, row, stored);
        if (st != DIT_OK) break;
        dit_latent_pack(latent, p->ops->layout, 1, latent->channels, stored, tokens);
        dit_partition_take(part, tokens, cols, own);
        st = dit_sampler_place_latents(&p->sampler, image, own);
    }
    free(own);
    free(stored);
    free(tokens);
    return st;
}

/* Lays the noise of the first step over the start: x = sigma noise + (1 - sigma) start, as schedulers of flow matching
 * scale it. */
static dit_status lay_noise_over_start(dit_pipeline *p)
{
    const dit_partition *part = &p->sampler.latents_of;
    int64_t row = part->image_count * p->sampler.channels;
    float sigma = p->sampler.scheduler->sigmas[0];
    float *noise = malloc((size_t)(part->images * row) * sizeof *noise), *own = malloc((size_t)row * sizeof *own);
    dit_status st = noise && own ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for initial latents");
    if (st == DIT_OK) {
        dit_sampler_draw(&p->sampler, (dit_range){0, part->segment_count}, -1, 1.0f, noise);
        dit_partition_take(part, p->start, p->sampler.channels, own);
    }
    for (int64_t image = 0; image < part->images && st == DIT_OK; image++) {
        float *x = noise + image * row;
        for (int64_t i = 0; i < row; i++) x[i] = sigma * x[i] + (1.0f - sigma) * own[i];
        st = dit_sampler_place_latents(&p->sampler, image, x);
    }
    free(noise);
    free(own);
    return st;
}

/* Fills the initial latents; the clock does not run yet. */
static dit_status fill_latents(dit_pipeline *p)
{
    dit_tensor_view view;
    if (p->rt.ledger.counting_only) return DIT_OK;
    if (p->conditions_file && dit_safetensors_find(p->conditions_file, "latents", &view)) return read_latents(p, &view);
    return p->start ? lay_noise_over_start(p) : dit_sampler_draw_latents(&p->sampler);
}

dit_status dit_pipeline_run(dit_pipeline *p, int64_t *step_ns, int64_t *elapsed_ns)
{
    DIT_TRY(fill_latents(p));
    p->sampler.step_ns = step_ns;
    DIT_TRY(dit_runtime_synchronize(&p->rt)); /* the clock leaves earlier uploads out */
    if (!p->counting) DIT_TRY(dit_comm_barrier(dit_comm_world()));
    int64_t began = dit_clock_ns();
    double began_s = dit_guest_now_s(p->guest);
    DIT_TRY(dit_sampler_run(&p->sampler, &p->condition));
    DIT_TRY(dit_sampler_gather(&p->sampler));
    DIT_TRY(dit_runtime_synchronize(&p->rt));
    *elapsed_ns = dit_clock_ns() - began;
    p->elapsed_s = dit_guest_now_s(p->guest) - began_s;
    return DIT_OK;
}
