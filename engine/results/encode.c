#include "engine/results/encode.h"

#include "base/rng.h"
#include "engine/files/picture_read.h"
#include "engine/files/picture_resize.h"
#include "engine/results/decode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the latent that the picture becomes: that of the run, or of a reference. */
static dit_latent latent_of(const dit_pipeline *p, const dit_case_reference *reference)
{
    dit_latent latent = p->kase.facts.latent;
    if (!reference) return latent;
    latent.height = reference->height_px / latent.vae_spatial;
    latent.width = reference->width_px / latent.vae_spatial;
    return latent;
}

dit_status dit_encode_read_picture(const char *path, int64_t to_height, int64_t to_width, float **planes)
{
    int64_t height, width;
    uint8_t *given, *resized = malloc((size_t)(to_height * to_width * 3));
    *planes = malloc((size_t)(to_height * to_width * 3) * sizeof **planes);
    dit_status st = resized && *planes ? dit_picture_read(path, &height, &width, &given)
                                       : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a picture");
    if (st == DIT_OK) {
        st = dit_picture_resize(DIT_RESIZE_LANCZOS, given, height, width, to_height, to_width, resized);
        free(given);
    }
    if (st == DIT_OK) dit_picture_planes(resized, to_height, to_width, *planes);
    free(resized);
    return st;
}

void dit_encode_sample(const dit_vae_facts *facts, int64_t count, const float *logvar, const float *normals,
                       float *mean)
{
    float shift = (float)facts->shift_factor, scale = (float)facts->scaling_factor;
    for (int64_t i = 0; i < count; i++) {
        float spread = fminf(fmaxf(logvar[i], -30.0f), 20.0f); /* diffusers: DiagonalGaussianDistribution */
        mean[i] = (mean[i] + expf(0.5f * spread) * normals[i] - shift) * scale;
    }
}

static dit_status sample(dit_pipeline *p, const dit_vae_facts *facts, float *mean, const float *logvar)
{
    int64_t count = p->kase.facts.latent.channels * dit_latent_cells(&p->kase.facts.latent);
    float *counted = NULL;
    const float *normals = p->sampler.torch ? dit_torch_noise_ahead(p->sampler.torch) : NULL;
    if (!normals) {
        counted = malloc((size_t)count * sizeof *counted);
        if (!counted) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to sample latents");
        dit_rng_normal(p->kase.seed, dit_rng_stream("encode"), 0, count, 0.0f, 1.0f, counted);
        normals = counted;
    }
    dit_encode_sample(facts, count, logvar, normals, mean);
    free(counted);
    return DIT_OK;
}

/* Makes tokens of a picture, at `tokens`. */
static dit_status encode(dit_pipeline *p, dit_vae *vae, const dit_latent *latent, const float *planes, float *tokens)
{
    const dit_vae_facts *facts = dit_vae_get_facts(vae);
    int64_t count = latent->channels * dit_latent_cells(latent);
    if (facts->certain)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "this model starts from no picture: diffusers has no such pipeline of it");
    if (facts->normed_patches && !dit_pipeline_refers_to_picture(p))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "this model starts from no picture"),
            "its pipeline takes pictures as references: give the pipeline's folder, or run.reference");
    if (facts->latent_channels != latent->channels || facts->spatial != latent->vae_spatial)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE,
                                       "the VAE has %lld channels of %lld pixels, the model's latents %lld of %lld",
                                       (long long)facts->latent_channels, (long long)facts->spatial,
                                       (long long)latent->channels, (long long)latent->vae_spatial),
                              "name the VAE that this model was trained with");
    float *mean = malloc((size_t)count * sizeof *mean), *logvar = malloc((size_t)count * sizeof *logvar);
    dit_status st = mean && logvar ? dit_vae_encode(vae, planes, mean, logvar)
                                   : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the latents of a picture");
    if (st == DIT_OK && dit_pipeline_refers_to_picture(p))
        dit_vae_norm(vae, mean); /* of a reference pipelines take the middle of the distribution */
    else if (st == DIT_OK)
        st = sample(p, facts, mean, logvar);
    if (st == DIT_OK) dit_latent_pack(latent, DIT_LATENT_CFHW, 1, latent->channels, mean, tokens);
    free(mean);
    free(logvar);
    return st;
}

static dit_status encode_with(dit_pipeline *p, dit_decoder *d, const dit_latent *latent, const float *planes,
                              float *tokens)
{
    dit_vae *vae;
    DIT_TRY(dit_vae_create(&(dit_vae_params){.rt = &p->rt,
                                             .config = d->config,
                                             .weights = &d->weights,
                                             .frames = 1,
                                             .height = latent->height,
                                             .width = latent->width,
                                             .encoder = true},
                           &vae));
    dit_status st = encode(p, vae, latent, planes, tokens);
    dit_vae_free(vae);
    return st;
}

static dit_status refuse(const dit_pipeline *p)
{
    dit_tensor_view view;
    if (!p->kase.vae)
        return dit_error_hint(dit_json_fail(p->kase.doc, "/image", DIT_ERR_JSON_MISSING, "an image needs a vae"),
                              "--vae DIR names one");
    if (p->kase.num_frames > 1 || p->kase.facts.latent.frames > 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "a clip cannot start from a picture: its model has no such pipeline here");
    if (dit_pipeline_refers_to_picture(p)) return DIT_OK;
    if (p->conditions_file && dit_safetensors_find(p->conditions_file, "latents", &view))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "the file of embeddings gives latents, and the image does too"),
            "take the latents out of the file");
    return DIT_OK;
}

/* Gives every batch entry this rank's rows of the picture behind its latent. Nothing starts from the picture then. */
static dit_status place_reference(dit_pipeline *p)
{
    const dit_partition references = dit_partition_of_references(&p->partition);
    int64_t row = references.image_count * p->sampler.channels;
    float *rows = (float *)(uintptr_t)p->condition.at[DIT_CONDITION_REFERENCE];
    for (int64_t b = 0; b < p->partition.batch; b++)
        dit_partition_take(&references, p->start, p->sampler.channels, rows + b * row);
    free(p->start);
    p->start = NULL;
    return dit_runtime_upload(&p->rt, rows, p->partition.batch * row);
}

/* Resizes a picture and takes its middle, as planes. */
static dit_status read_middle(const dit_case_reference *reference, float **planes)
{
    int64_t height = reference->height_px, width = reference->width_px, from = reference->cut_width_px;
    int64_t top = (reference->cut_height_px - height) / 2, left = (from - width) / 2;
    float *whole = NULL;
    *planes = malloc((size_t)(3 * height * width) * sizeof **planes);
    dit_status st = *planes ? dit_encode_read_picture(reference->path, reference->cut_height_px, from, &whole)
                            : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a picture");
    for (int64_t i = 0; i < 3 * height && st == DIT_OK; i++)
        memcpy(*planes + i * width, whole + ((i / height * reference->cut_height_px + top + i % height) * from + left),
               (size_t)width * sizeof **planes);
    free(whole);
    return st;
}

/* Makes tokens of one picture. `reference` NULL: of that which the run starts from. The encoder's memory is given back. */
static dit_status encode_one(dit_pipeline *p, dit_decoder *d, const dit_case_reference *reference, float *tokens)
{
    const dit_latent latent = latent_of(p, reference);
    dit_arena *arenas[] = {&p->rt.run, &p->rt.image, &p->rt.step};
    dit_arena_mark marks[3];
    float *planes = NULL;
    for (int i = 0; i < 3; i++) marks[i] = dit_arena_get_mark(arenas[i]);
    dit_status st =
        reference && reference->cut_height_px
            ? read_middle(reference, &planes)
            : dit_encode_read_picture(reference ? reference->path : p->kase.image_path,
                                      latent.height * latent.vae_spatial, latent.width * latent.vae_spatial, &planes);
    if (st == DIT_OK) st = encode_with(p, d, &latent, planes, tokens);
    for (int i = 0; i < 3; i++) dit_arena_release_to(arenas[i], marks[i]);
    free(planes);
    return st;
}

/* Makes tokens of all pictures, one behind the other, at p->start. */
static dit_status encode_all(dit_pipeline *p, dit_decoder *d)
{
    const bool refers = dit_pipeline_refers_to_picture(p);
    const dit_facts *facts = &p->rt.facts;
    int64_t tokens = refers ? facts->reference_tokens : facts->image_tokens;
    float *at = p->start = malloc((size_t)(tokens * facts->token_channels) * sizeof *p->start);
    if (!at) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the latents of a picture");
    if (d->path) DIT_TRY(dit_safetensors_open(d->path, &d->file));
    d->weights.file = d->file;
    if (!refers) return encode_one(p, d, NULL, at);
    for (int i = 0; i < p->kase.reference_count; i++) {
        DIT_TRY(encode_one(p, d, &p->kase.references[i], at));
        at += facts->references[i].height * facts->references[i].width * facts->token_channels;
    }
    return DIT_OK;
}

dit_status dit_encode_start(dit_pipeline *p)
{
    const bool refers = dit_pipeline_refers_to_picture(p);
    dit_decoder d;
    const dit_condition_need *needs = p->model->needs;
    bool told = needs[DIT_CONDITION_LATENT].elements || needs[DIT_CONDITION_FIRST_FRAME].elements;
    if (p->kase.image_path && told && !p->kase.prompts)
        return dit_error_hint(
            dit_json_fail(p->kase.doc, "/image", DIT_ERR_JSON_VALUE,
                          "the embeddings say what becomes of a picture, and the image does too"),
            "give prompts with the image, or embeddings alone (image_embeds, latent_condition, first_frame_latents)");
    if (!refers && !dit_pipeline_starts_from_picture(p)) return DIT_OK;
    DIT_TRY(refuse(p));
    DIT_TRY(dit_decoder_read(p->kase.doc, p->kase.vae, "/vae", &d));
    dit_status st = encode_all(p, &d);
    dit_decoder_close(&d);
    if (st == DIT_OK && refers) st = place_reference(p);
    return st == DIT_OK ? st : dit_error_note(st, "encoding the %s", refers ? "reference" : "picture to start from");
}
