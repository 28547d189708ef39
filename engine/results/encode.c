#include "engine/results/encode.h"

#include "base/rng.h"
#include "engine/files/picture_read.h"
#include "engine/files/picture_resize.h"
#include "engine/results/decode.h"

#include <math.h>
#include <stdlib.h>

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

static dit_status encode(dit_pipeline *p, dit_vae *vae, const float *planes)
{
    const dit_latent *latent = &p->kase.facts.latent;
    const dit_vae_facts *facts = dit_vae_get_facts(vae);
    int64_t count = latent->channels * dit_latent_cells(latent);
    if (facts->normed_patches)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "this model starts from no picture"),
                              "its pipeline takes pictures as references, which are not built");
    if (facts->latent_channels != latent->channels || facts->spatial != latent->vae_spatial)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE,
                                       "the VAE has %lld channels of %lld pixels, the model's latents %lld of %lld",
                                       (long long)facts->latent_channels, (long long)facts->spatial,
                                       (long long)latent->channels, (long long)latent->vae_spatial),
                              "name the VAE that this model was trained with");
    float *mean = malloc((size_t)count * sizeof *mean), *logvar = malloc((size_t)count * sizeof *logvar);
    p->start = malloc((size_t)count * sizeof *p->start);
    dit_status st = mean && logvar && p->start ? dit_vae_encode(vae, planes, mean, logvar)
                                               : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the latents of a picture");
    if (st == DIT_OK) st = sample(p, facts, mean, logvar);
    if (st == DIT_OK) dit_latent_pack(latent, DIT_LATENT_CFHW, 1, latent->channels, mean, p->start);
    free(mean);
    free(logvar);
    return st;
}

static dit_status encode_with(dit_pipeline *p, dit_decoder *d, const float *planes)
{
    const dit_latent *latent = &p->kase.facts.latent;
    dit_vae *vae;
    if (d->path) DIT_TRY(dit_safetensors_open(d->path, &d->file));
    d->weights.file = d->file;
    DIT_TRY(dit_vae_create(&(dit_vae_params){.rt = &p->rt,
                                             .config = d->config,
                                             .weights = &d->weights,
                                             .frames = 1,
                                             .height = latent->height,
                                             .width = latent->width,
                                             .encoder = true},
                           &vae));
    dit_status st = encode(p, vae, planes);
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
    if (p->conditions_file && dit_safetensors_find(p->conditions_file, "latents", &view))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "the file of embeddings gives latents, and the image does too"),
            "take the latents out of the file");
    return DIT_OK;
}

dit_status dit_encode_start(dit_pipeline *p)
{
    dit_arena *arenas[] = {&p->rt.run, &p->rt.image, &p->rt.step};
    dit_arena_mark marks[3];
    dit_decoder d;
    float *planes = NULL;
    if (p->kase.image_path && p->model->needs[DIT_CONDITION_LATENT].elements && !p->kase.prompts)
        return dit_error_hint(
            dit_json_fail(p->kase.doc, "/image", DIT_ERR_JSON_VALUE,
                          "the embeddings say what stands beside the latents, and the image does too"),
            "give prompts with the image, or embeddings alone (image_embeds, latent_condition)");
    if (!dit_pipeline_starts_from_picture(p)) return DIT_OK;
    DIT_TRY(refuse(p));
    DIT_TRY(dit_decoder_read(p->kase.doc, p->kase.vae, "/vae", &d));
    for (int i = 0; i < 3; i++) marks[i] = dit_arena_get_mark(arenas[i]);
    dit_status st = dit_encode_read_picture(p->kase.image_path, p->kase.run.height_px, p->kase.run.width_px, &planes);
    if (st == DIT_OK) st = encode_with(p, &d, planes);
    for (int i = 0; i < 3; i++) dit_arena_release_to(arenas[i], marks[i]);
    dit_decoder_close(&d);
    free(planes);
    return st == DIT_OK ? st : dit_error_note(st, "encoding the picture to start from");
}
