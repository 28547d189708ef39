#include "engine/results/decode.h"

#include "engine/case/case.h"
#include "engine/files/shipped.h"

#include <stdio.h>
#include <string.h>

dit_status dit_decoder_read_weights(const dit_json *doc, const cJSON *vae, const char *pointer,
                                    const dit_vae_facts *facts, const char **path, uint64_t *seed)
{
    const cJSON *weights = NULL;
    char at[256];
    *path = NULL;
    snprintf(at, sizeof at, "%s/weights", pointer);
    DIT_TRY(dit_json_optional_object(doc, vae, pointer, "weights", &weights));
    if (!weights && facts->weightless) return DIT_OK;
    DIT_TRY(dit_json_require_object(doc, vae, pointer, "weights", &weights));
    DIT_TRY(dit_case_read_weights(doc, weights, at, path, seed));
    if (!*path || !facts->weightless) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "this class of VAE has no weights"),
                          "leave weights out");
}

dit_status dit_decoder_read_timestep(const dit_json *doc, const cJSON *vae, const char *pointer,
                                     const dit_vae_facts *facts, double *timestep, double *noise_scale)
{
    static const char timestep_key[] = "decode_timestep", noise_key[] = "decode_noise_scale";
    *timestep = 0;
    DIT_TRY(dit_json_optional_number(doc, vae, pointer, timestep_key, 0, 1, timestep));
    *noise_scale = *timestep;
    DIT_TRY(dit_json_optional_number(doc, vae, pointer, noise_key, 0, 1, noise_scale));
    if (facts->told_timestep || (!dit_json_member(vae, timestep_key) && !dit_json_member(vae, noise_key)))
        return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s and %s: this VAE is told no timestep", timestep_key, noise_key),
        "leave them out; AutoencoderKLLTXVideo with timestep_conditioning takes them");
}

dit_status dit_decoder_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_decoder *out)
{
    static const char *const keys[] = {"config", "weights", "tiling", "split", "decode_timestep", "decode_noise_scale",
                                       NULL};
    dit_vae_facts facts;
    *out = (dit_decoder){0};
    snprintf(out->config_at, sizeof out->config_at, "%s/config", pointer);
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    out->config = (dit_config){.doc = doc, .pointer = out->config_at};
    DIT_TRY(dit_json_require_object(doc, object, pointer, "config", &out->config.object));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "tiling", &out->tiling));
    DIT_TRY(dit_rows_read_split(doc, object, pointer, &out->split));
    DIT_TRY(dit_vae_read_facts(&out->config, &facts));
    DIT_TRY(dit_decoder_read_timestep(doc, object, pointer, &facts, &out->timestep, &out->noise_scale));
    return dit_decoder_read_weights(doc, object, pointer, &facts, &out->path, &out->weights.seed);
}

/* A VAE of clips whose first latent is one frame decodes pictures, too (Qwen-Image's). */
static dit_status check_fit(const dit_decoder *d, const dit_vae_facts *facts)
{
    bool picture = d->latent.vae_temporal == 1 && d->latent.frames == 1 && facts->one_first;
    const struct {
        const char *what;
        int64_t vae, latents;
    } pairs[] = {
        {"latent channels", facts->latent_channels, d->latent.channels},
        {"pixels per latent", facts->spatial, d->latent.vae_spatial},
        {"frames per latent", picture ? 1 : facts->temporal, d->latent.vae_temporal},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].vae != pairs[i].latents)
            return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "%s: the VAE has %lld, but the model's latents have %lld",
                                           pairs[i].what, (long long)pairs[i].vae, (long long)pairs[i].latents),
                                  "name the VAE that this model was trained with");
    return dit_vae_scale(facts, 0, NULL); /* whether its statistics fit */
}

/* Takes what is mixed with latents, where anything is. */
static dit_status take_noise(dit_decoder *d, dit_runtime *rt)
{
    int64_t elements = d->latent.channels * dit_latent_cells(&d->latent);
    if (d->noise_scale <= 0) return DIT_OK;
    DIT_TRY(dit_arena_host(&rt->image, elements, &d->noise));
    return dit_arena_host(&rt->image, elements, &d->noise_planes);
}

dit_status dit_decoder_open(dit_decoder *d, dit_runtime *rt, const dit_latent *latent, int64_t num_frames,
                            uint64_t seed, dit_comm *sharers)
{
    d->latent = *latent;
    d->surplus = latent->frames - ((num_frames - 1) / latent->vae_temporal + 1);
    char expanded[DIT_SHIPPED_PATH];
    const char *path = NULL;
    if (d->path) DIT_TRY(dit_shipped_expand(d->path, expanded, &path));
    if (path) DIT_TRY(dit_safetensors_open(path, &d->file));
    d->weights.file = d->file;
    DIT_TRY(dit_vae_create(&(dit_vae_params){.rt = rt,
                                             .told = d->told,
                                             .context = d->context,
                                             .config = d->config,
                                             .weights = &d->weights,
                                             .frames = latent->frames - d->surplus,
                                             .height = latent->height,
                                             .width = latent->width,
                                             .sharers = sharers,
                                             .split = d->split,
                                             .tiling = d->tiling,
                                             .timestep = d->timestep,
                                             .seed = seed},
                           &d->vae));
    const dit_vae_facts *facts = dit_vae_get_facts(d->vae);
    DIT_TRY(check_fit(d, facts));
    d->frames = dit_vae_output_frames(facts, latent->frames - d->surplus);
    d->height = latent->height * facts->spatial;
    d->width = latent->width * facts->spatial;
    DIT_TRY(take_noise(d, rt));
    DIT_TRY(dit_arena_host(&rt->image, latent->channels * dit_latent_cells(latent), &d->planes));
    return dit_arena_host(&rt->image, facts->image_channels * d->frames * d->height * d->width, &d->image);
}

/* Makes planes of tokens, and moves frames [surplus, frames) of every channel to the front. */
static void unpack(const dit_decoder *d, const float *tokens, float *planes)
{
    int64_t frame = d->latent.height * d->latent.width, all = d->latent.frames, kept = all - d->surplus;
    dit_latent_unpack(&d->latent, DIT_LATENT_CFHW, 1, d->latent.channels, tokens, planes);
    for (int64_t channel = 0; channel < d->latent.channels && d->surplus; channel++)
        memmove(planes + channel * kept * frame, planes + (channel * all + d->surplus) * frame,
                (size_t)(kept * frame) * sizeof *planes);
}

/* latents = (1 - s) latents + s noise, in the library's float32. */
static dit_status mix_noise(dit_decoder *d, const dit_sampler *sampler, int64_t image)
{
    int64_t elements =
        d->latent.channels * (dit_latent_cells(&d->latent) / d->latent.frames) * (d->latent.frames - d->surplus);
    const float share = (float)d->noise_scale, rest = 1.0f - share;
    if (!d->noise) return DIT_OK;
    if (sampler->scheduler->ops->step_tensors > 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "decode_noise_scale %g with a scheduler that draws several tensors a step",
                        d->noise_scale);
    dit_sampler_draw_after(sampler, image, d->noise);
    unpack(d, d->noise, d->noise_planes);
    for (int64_t i = 0; i < elements; i++) d->planes[i] = rest * d->planes[i] + share * d->noise_planes[i];
    return DIT_OK;
}

dit_status dit_decoder_run(dit_decoder *d, const dit_sampler *sampler, int64_t image)
{
    int64_t row = dit_facts_latent_tokens(&sampler->rt->facts) * sampler->channels;
    unpack(d, sampler->full + image * row, d->planes);
    DIT_TRY(dit_vae_prepare(d->vae, d->planes)); /* as the VAE was trained */
    DIT_TRY(mix_noise(d, sampler, image));
    return dit_vae_decode(d->vae, d->planes, d->image);
}

void dit_decoder_close(dit_decoder *d)
{
    dit_vae_free(d->vae);
    dit_safetensors_close(d->file);
    *d = (dit_decoder){0};
}
