#include "engine/requests/parts.h"

#include "base/case_facts.h"
#include "base/shared_decode.h"
#include "engine/prompts/beside_picture.h"
#include "engine/files/picture.h"
#include "engine/files/shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- prompts to embeddings --------------------------------------------------------------------------------------- */

/* Gives latents the extents of the case's pictures, as its VAE has them. */
static dit_status size_latent(const dit_case *kase, dit_latent *latent)
{
    dit_vae_facts vae;
    if (!kase->vae) return dit_json_fail(kase->doc, "/image", DIT_ERR_JSON_MISSING, "an image needs a vae");
    const cJSON *config = dit_json_member(kase->vae, "config");
    DIT_TRY(dit_vae_read_facts(&(dit_config){kase->doc, config, "/vae/config"}, &vae));
    latent->vae_spatial = vae.spatial;
    return dit_latent_resize(latent, kase->run.height_px, kase->run.width_px, kase->num_frames);
}

/* Turns a picture into latents beside those that are denoised, where the model takes them. */
static dit_status encode_beside(const dit_case *kase, const dit_facts *facts, dit_parts *out)
{
    dit_latent latent = facts->latent;
    DIT_TRY(size_latent(kase, &latent));
    return dit_beside_picture_encode(
        &(dit_beside_picture_params){.kase = kase, .latent = latent, .channels = facts->picture_channels},
        &out->first_frame);
}

/* Refuses what the pipelines that sample a first frame cannot do: draw one sample by several generators. */
static dit_status check_noise(const dit_case *kase)
{
    if (kase->noise != DIT_NOISE_TORCH_EACH || kase->num_images == 1) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_UNSUPPORTED, "noise torch-each: the sample of the picture is drawn by one generator"),
        "ask for --noise torch, or for one clip");
}

/* Turns the picture that a clip begins with into conditions, where the model takes them. */
static dit_status encode_first_frame(const dit_case *kase, const dit_facts *facts, bool packed, const char *pipeline,
                                     dit_parts *out)
{
    dit_latent latent = facts->latent;
    if (facts->picture_channels) return encode_beside(kase, facts, out);
    if (!facts->picture_tokens && !kase->first_frame) return DIT_OK;
    if (!kase->image_path)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "this pipeline makes a clip of a picture, and there is none"),
                              "--image FILE gives the first frame");
    DIT_TRY(size_latent(kase, &latent));
    const dit_architecture *architecture = dit_architecture_find(facts->family);
    bool sampled = kase->first_frame && architecture->samples_first;
    if (sampled) DIT_TRY(check_noise(kase));
    DIT_TRY(dit_first_frame_encode(&(dit_first_frame_params){.folder = pipeline,
                                                             .picture = kase->image_path,
                                                             .doc = kase->doc,
                                                             .vae = kase->vae,
                                                             .latent = latent,
                                                             .num_frames = kase->num_frames,
                                                             .alone = kase->first_frame,
                                                             .packed = kase->first_frame && packed,
                                                             .sampled = sampled,
                                                             .counted = kase->noise == DIT_NOISE_COUNTER,
                                                             .seed = kase->seed,
                                                             .backend = kase->backend,
                                                             .dtype = kase->dtype,
                                                             .threads = kase->threads_per_rank,
                                                             .way = kase->text_encoder_parallel,
                                                             .streamed = kase->stream_text_encoders},
                                   &out->first_frame));
    int64_t tokens = out->first_frame.tensors[0].shape[1];
    if (kase->first_frame || tokens == facts->picture_tokens) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "image_encoder/ makes %lld tokens, but the transformer takes %lld",
                    (long long)tokens, (long long)facts->picture_tokens);
}

/* Reads the facts of the model's config, and whether its pipelines hold latents as tokens. How many branches of guidance the
 * case computes says its document, if any. */
static dit_status read_facts(const dit_json *doc, const dit_case *kase, bool *packed, dit_facts *out)
{
    const dit_model_ops *ops;
    DIT_TRY(dit_model_read_facts(&(dit_config){doc, kase->model_config, "/model/config"}, &ops, out));
    *packed = ops->layout == DIT_LATENT_PACKED;
    if (!kase->has_facts) return dit_facts_guide(kase->run.guidance_scale, kase->true_cfg_scale, out);
    out->guidance_branches = kase->facts.guidance_branches;
    return DIT_OK;
}

/* The pictures that the case refers to, as its text encoder may see them. */
static void show_pictures(const dit_case *kase, dit_prompts_params *params)
{
    for (int i = 0; i < kase->reference_count && kase->references[i].path && i < DIT_TEXT_PICTURES; i++) {
        const dit_case_reference *from = &kase->references[i];
        int64_t height = from->seen_height_px ? from->seen_height_px : from->height_px;
        int64_t width = from->seen_width_px ? from->seen_width_px : from->width_px;
        params->pictures[params->picture_count++] = (dit_seen_picture){from->path, height, width};
    }
}

/* Reads the case from a copy of the document, because reading drops nulls. */
static dit_status encode_copy(const dit_json *copy, const char *folder, dit_parts *out)
{
    dit_case kase;
    const char *prompts[DIT_CASE_MAX_CAPTIONS], *pipeline;
    char expanded[DIT_SHIPPED_PATH];
    const cJSON *item;
    dit_facts facts;
    int64_t count = 0;
    bool packed;
    DIT_TRY(dit_case_read(copy, &kase));
    DIT_TRY(read_facts(copy, &kase, &packed, &facts));
    DIT_TRY(dit_shipped_expand(kase.pipeline, expanded, &pipeline));
    cJSON_ArrayForEach(item, kase.prompts) if (count < DIT_CASE_MAX_CAPTIONS) prompts[count++] = item->valuestring;
    if (snprintf(out->embeddings, sizeof out->embeddings, "%s/embeddings.safetensors", folder) >=
        (int)sizeof out->embeddings)
        return DIT_FAIL(DIT_ERR_IO, "the path of the embeddings is too long");
    DIT_TRY(encode_first_frame(&kase, &facts, packed, pipeline, out));
    dit_prompts_params params = {.folder = pipeline,
                                 .prompts = prompts,
                                 .count = count,
                                 .images_per_prompt = kase.num_images / count,
                                 .negative = kase.negative_prompt,
                                 .prompt_more = {kase.prompt_more[0], kase.prompt_more[1]},
                                 .negative_more = {kase.negative_more[0], kase.negative_more[1]},
                                 .clip_skip = kase.clip_skip,
                                 .guided = facts.guidance_branches == 2,
                                 .longest = kase.max_sequence_length,
                                 .clean_caption = kase.clean_caption,
                                 .first_frame = &out->first_frame,
                                 .joint_width = dit_json_int_or(kase.model_config, "joint_attention_dim", 4096),
                                 .backend = kase.backend,
                                 .dtype = kase.dtype,
                                 .threads = kase.threads_per_rank,
                                 .way = kase.text_encoder_parallel,
                                 .streamed = kase.stream_text_encoders,
                                 .seeded = kase.seeded_text_encoders,
                                 .seed = kase.encoders_seed,
                                 .runs = out->runs,
                                 .path = out->embeddings};
    show_pictures(&kase, &params);
    return dit_prompts_encode(&params, &out->prompts);
}

dit_status dit_parts_encode(const dit_json *doc, const char *folder, int runs, dit_parts *out)
{
    const cJSON *conditions = dit_json_member(doc->root, "conditions");
    *out = (dit_parts){.runs = runs};
    if (strcmp(dit_json_text_or(conditions, "kind", ""), "prompts") != 0) return DIT_OK;
    dit_json copy = *doc;
    copy.root = cJSON_Duplicate(doc->root, true);
    if (!copy.root) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a copy of the case");
    dit_status st = encode_copy(&copy, folder, out);
    cJSON_Delete(copy.root);
    return st;
}

/* ---- latents to pictures ----------------------------------------------------------------------------------------- */

/* One run over all images. */
typedef struct {
    dit_pipeline *pipeline;
    dit_parts *parts;
    const char *folder;
    bool first;   /* rank 0, which has the pictures */
    uint8_t *rgb; /* of one image or clip            */
} decode_run;

static dit_status write_image(const decode_run *run, int64_t image)
{
    const dit_decoder *d = &run->parts->decoder;
    char path[DIT_PARTS_PATH], number[24] = "";
    if (run->pipeline->rt.facts.num_images > 1) snprintf(number, sizeof number, "-%lld", (long long)image);
    if (snprintf(path, sizeof path, "%s/image%s.png", run->folder, number) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of an image is too long");
    return dit_picture_write(
        path, &(dit_picture){
                  .width = d->width, .height = d->height, .frames = d->frames, .frames_per_s = 8, .rgb = run->rgb});
}

/* From a barrier to one: a rank that has no decoder waits for the one that has. */
static dit_status decode_image(const decode_run *run, int64_t image, int index)
{
    dit_parts *parts = run->parts;
    dit_decoder *d = &parts->decoder;
    const dit_pipeline *p = run->pipeline;
    DIT_TRY(dit_comm_barrier(dit_comm_world()));
    int64_t began = dit_clock_ns();
    if (d->vae) DIT_TRY(dit_decoder_run(d, &p->sampler, image));
    if (run->first) DIT_TRY(dit_picture_quantize(d->image, d->frames, d->height, d->width, run->rgb));
    parts->decode_busy[index] += d->vae ? dit_clock_ns() - began : 0;
    DIT_TRY(dit_comm_barrier(dit_comm_world()));
    int64_t decoded = dit_clock_ns();
    parts->decode_each[index] += decoded - began;
    if (!run->first) return DIT_OK;
    DIT_TRY(write_image(run, image));
    parts->write_each[index] += dit_clock_ns() - decoded;
    return DIT_OK;
}

static dit_status decode_all(const decode_run *run)
{
    dit_runtime *rt = &run->pipeline->rt;
    for (int i = 0; i < run->parts->runs; i++) {
        dit_runtime_reset_account(rt);
        for (int64_t image = 0; image < rt->facts.num_images; image++) DIT_TRY(decode_image(run, image, i));
    }
    return DIT_OK;
}

dit_status dit_parts_predict_decode(const dit_pipeline *pipeline, dit_volume_table *out)
{
    const dit_case *kase = &pipeline->kase;
    const dit_latent *latent = &kase->facts.latent;
    int ranks = pipeline->rt.parallel.rows_degree;
    dit_rows_facts rows;
    if (ranks <= 1) return DIT_OK;
    if (!kase->vae) return dit_json_fail(kase->doc, "/vae", DIT_ERR_JSON_MISSING, "a shared decode needs a vae");
    DIT_TRY(dit_rows_read(kase->doc, kase->vae, "/vae", &rows));
    dit_rows_resize(&rows, latent->height * latent->vae_spatial, latent->width * latent->vae_spatial, kase->num_frames,
                    pipeline->rt.facts.num_images);
    rows.element_bytes = dit_dtype_bytes(kase->dtype);
    DIT_TRY(dit_shared_decode_check(ranks, &rows));
    dit_shared_decode_predict(&rows, ranks, dit_comm_rank(dit_comm_world()), out);
    return DIT_OK;
}

static dit_status open_decoder(decode_run *run)
{
    dit_pipeline *p = run->pipeline;
    dit_parts *parts = run->parts;
    bool shared = p->rt.parallel.rows_degree > 1;
    if (!p->kase.vae)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "scope pipeline: the case has no \"vae\""),
                              "scope latents ends before the decode");
    DIT_TRY(dit_decoder_read(p->kase.doc, p->kase.vae, "/vae", &parts->decoder));
    DIT_TRY(dit_parts_predict_decode(p, &parts->decode_predicted));
    parts->decode_each = calloc((size_t)parts->runs, sizeof *parts->decode_each);
    parts->decode_busy = calloc((size_t)parts->runs, sizeof *parts->decode_busy);
    parts->write_each = calloc((size_t)parts->runs, sizeof *parts->write_each);
    if (!parts->decode_each || !parts->decode_busy || !parts->write_each)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times of %d decodes", parts->runs);
    if (!shared && !run->first) return DIT_OK;
    DIT_TRY(dit_decoder_open(&parts->decoder, &p->rt, &p->kase.facts.latent, p->kase.num_frames, p->kase.seed,
                             shared ? p->rt.comm[DIT_AXIS_WORLD] : NULL));
    const dit_decoder *d = &parts->decoder;
    if (!run->first) return DIT_OK;
    run->rgb = malloc((size_t)(d->frames * d->height * d->width * 3));
    return run->rgb ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the pixels of an image");
}

dit_status dit_parts_decode(dit_pipeline *pipeline, const char *folder, dit_parts *parts)
{
    decode_run run = {.pipeline = pipeline, .parts = parts, .folder = folder};
    run.first = dit_comm_rank(dit_comm_world()) == 0;
    dit_status st = open_decoder(&run);
    int64_t opened = pipeline->rt.ledger.total_peak;
    if (st == DIT_OK) st = decode_all(&run);
    free(run.rgb);
    DIT_TRY(st);
    const dit_runtime *rt = &pipeline->rt;
    parts->decode_peak = rt->ledger.total_peak;
    if (opened > parts->decode_peak && parts->decoder.vae) parts->decode_peak = opened;
    parts->decode_flops = rt->flops;
    parts->decode_sent = rt->counters;
    return dit_volume_check(&rt->counters, &parts->decode_predicted, dit_comm_rank(dit_comm_world()), 0);
}

/* ---- into the record --------------------------------------------------------------------------------------------- */

static void note_part(dit_measurement *m, dit_part part, const char *on, int64_t peak)
{
    m->head.parts |= 1u << part;
    m->head.part_peak[part] = peak;
    snprintf(m->head.part_on[part], sizeof m->head.part_on[part], "%s", on);
    if (peak > m->head.total_peak) m->head.total_peak = peak;
}

/* Adds what run `index` of a part took to an iteration. */
static void add_run(dit_iteration *it, dit_part part, const int64_t *each, int index)
{
    it->part_ns[part] = each ? each[index] : 0;
    if (part != DIT_PART_WRITE) it->latency_ns += it->part_ns[part];
}

static void take_prompts(const dit_parts *parts, dit_measurement *m)
{
    const dit_prompts_account *prompts = &parts->prompts;
    note_part(m, DIT_PART_TOKENIZE, "host", 0);
    note_part(m, DIT_PART_TEXT_ENCODE, prompts->kernels, prompts->peak_bytes);
    dit_volume_add(&m->head.beside, &prompts->predicted);
    for (int i = 0; i < m->iterations; i++) {
        dit_iteration *it = &m->iteration[i];
        add_run(it, DIT_PART_TOKENIZE, prompts->tokenize_each, parts->runs - m->iterations + i);
        add_run(it, DIT_PART_TEXT_ENCODE, prompts->encode_each, parts->runs - m->iterations + i);
        it->time_ns[DIT_TIME_PREPARE] += it->part_ns[DIT_PART_TOKENIZE] + it->part_ns[DIT_PART_TEXT_ENCODE];
        dit_comm_counters_add(&it->counters, &prompts->sent);
        dit_flops_add(&it->flops, &prompts->flops, 1);
    }
}

static void take_decode(const dit_parts *parts, const char *kernels, dit_measurement *m)
{
    note_part(m, DIT_PART_VAE_DECODE, kernels, parts->decode_peak);
    note_part(m, DIT_PART_WRITE, "host", 0);
    dit_volume_add(&m->head.beside, &parts->decode_predicted);
    for (int i = 0; i < m->iterations; i++) {
        dit_iteration *it = &m->iteration[i];
        add_run(it, DIT_PART_VAE_DECODE, parts->decode_each, parts->runs - m->iterations + i);
        add_run(it, DIT_PART_WRITE, parts->write_each, parts->runs - m->iterations + i);
        it->time_ns[DIT_TIME_DECODE] += parts->decode_busy[parts->runs - m->iterations + i];
        dit_comm_counters_add(&it->counters, &parts->decode_sent);
        dit_flops_add(&it->flops, &parts->decode_flops, 1);
    }
}

void dit_parts_take(const dit_parts *parts, const dit_pipeline *pipeline, dit_measurement *m)
{
    const char *kernels = pipeline->rt.kernels->name;
    for (int i = 0; i < m->iterations; i++) m->iteration[i].part_ns[DIT_PART_DENOISE] = m->iteration[i].latency_ns;
    m->head.energy = (dit_energy){0}; /* it was metered over the denoising alone */
    note_part(m, DIT_PART_DENOISE, kernels, m->head.total_peak);
    if (parts->embeddings[0]) take_prompts(parts, m);
    if (parts->decode_each) take_decode(parts, kernels, m);
}

void dit_parts_release(dit_parts *parts)
{
    dit_prompts_account_release(&parts->prompts);
    dit_first_frame_release(&parts->first_frame);
    dit_decoder_close(&parts->decoder);
    free(parts->decode_each);
    free(parts->decode_busy);
    free(parts->write_each);
    *parts = (dit_parts){0};
}
