#include "engine/prompts/first_frame.h"

#include "base/clock.h"
#include "base/rng.h"
#include "base/torch_random.h"
#include "engine/comm/comm.h"
#include "engine/files/image_processor.h"
#include "engine/files/picture_read.h"
#include "engine/files/picture_resize.h"
#include "engine/prompts/picture_vae.h"
#include "engine/results/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, CHANNELS = 3 };

/* The picture as it lies in its file. */
typedef struct {
    int64_t height, width;
    uint8_t *rgb;
} given_picture;

static dit_status path_of(const dit_first_frame_params *p, const char *part, char out[PATH_BYTES])
{
    int length = snprintf(out, PATH_BYTES, "%s/%s", p->folder, part);
    return length < PATH_BYTES ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "the path of %s is too long", part);
}

/* ---- embeddings -------------------------------------------------------------------------------------------------- */

static dit_status read_encoder(const char *folder, dit_text_encoder_facts *facts)
{
    char path[PATH_BYTES];
    dit_json doc;
    if (snprintf(path, sizeof path, "%.*s/config.json", PATH_BYTES - 32, folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of an image encoder is too long");
    DIT_TRY(dit_config_read_file(path, &doc));
    dit_status st = dit_text_encoder_read_facts(&(dit_config){.doc = &doc, .object = doc.root, .pointer = ""}, facts);
    if (st == DIT_OK && !facts->patch) st = DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s encodes text, not pictures", path);
    dit_json_release(&doc);
    return st;
}

/* Runs the encoder on planes; the pipeline takes the hidden state before the last block. */
static dit_status run_encoder(const dit_first_frame_params *p, const char *folder, int64_t tokens, const float *planes,
                              dit_first_frame *out)
{
    dit_text_encoding made;
    dit_status st =
        dit_text_encode(&(dit_text_encode_params){.folder = folder,
                                                  .backend = p->backend,
                                                  .dtype = p->dtype,
                                                  .threads = p->threads,
                                                  .way = p->way == DIT_TEXT_CFG ? DIT_TEXT_REPLICATED : p->way,
                                                  .streamed = p->streamed,
                                                  .batch = 1,
                                                  .tokens = tokens,
                                                  .input = {.pixels = planes},
                                                  .skip = 1},
                        &made);
    if (st == DIT_OK) st = dit_volume_check(&made.sent, &made.predicted, dit_comm_rank(dit_comm_world()), 0);
    if (made.total_peak_bytes > out->peak_bytes) out->peak_bytes = made.total_peak_bytes;
    if (st == DIT_OK) {
        out->tensors[0] = (dit_tensor_out){"image_embeds", 3, {1, made.tokens, made.width}, made.hidden};
        made.hidden = NULL;
    }
    dit_text_encoding_release(&made);
    return st;
}

static dit_status embed(const dit_first_frame_params *p, const given_picture *picture, dit_first_frame *out)
{
    char encoder[PATH_BYTES], processor[PATH_BYTES];
    dit_text_encoder_facts facts;
    int64_t began = dit_clock_ns();
    DIT_TRY(path_of(p, "image_encoder", encoder));
    DIT_TRY(path_of(p, "image_processor", processor));
    DIT_TRY(read_encoder(encoder, &facts));
    float *planes = malloc((size_t)(CHANNELS * facts.image_size * facts.image_size) * sizeof *planes);
    dit_status st =
        planes ? dit_image_process(processor, picture->rgb, picture->height, picture->width, facts.image_size, planes)
               : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a picture");
    if (st == DIT_OK) st = run_encoder(p, encoder, facts.max_tokens, planes, out);
    free(planes);
    out->image_encode_ns = dit_clock_ns() - began;
    return st;
}

/* ---- latents ----------------------------------------------------------------------------------------------------- */

/* How many frames the VAE sees: the picture alone, or a whole clip. */
static int64_t frames_of(const dit_first_frame_params *p)
{
    return p->alone ? 1 : p->num_frames;
}

/* What the VAE makes of them. */
static dit_latent latent_of(const dit_first_frame_params *p)
{
    dit_latent latent = p->latent;
    if (p->alone) latent.frames = 1;
    return latent;
}

/* Planes [3, frames, height, width] of a clip that is the picture and then grey, which is 0. */
static dit_status make_clip(const dit_first_frame_params *p, const given_picture *picture, float **out)
{
    int64_t frames = frames_of(p);
    int64_t height = p->latent.height * p->latent.vae_spatial, width = p->latent.width * p->latent.vae_spatial;
    int64_t plane = height * width;
    uint8_t *resized = malloc((size_t)(plane * CHANNELS));
    float *first = malloc((size_t)(plane * CHANNELS) * sizeof *first);
    *out = calloc((size_t)(plane * CHANNELS * frames), sizeof **out);
    dit_status st = resized && first && *out
                        ? dit_picture_resize(DIT_RESIZE_LANCZOS, picture->rgb, picture->height, picture->width, height,
                                             width, resized)
                        : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a clip of %lld frames", (long long)frames);
    if (st == DIT_OK) {
        dit_picture_planes(resized, height, width, first);
        for (int64_t c = 0; c < CHANNELS; c++)
            memcpy(*out + c * frames * plane, first + c * plane, (size_t)plane * sizeof *first);
    }
    free(resized);
    free(first);
    return st;
}

/* Adds to means what the VAE's distribution spreads around them, by noise of the case. */
static dit_status sample(const dit_first_frame_params *p, int64_t count, const float *logvar, float *mean)
{
    dit_torch_generator generator;
    float *normals = malloc((size_t)count * sizeof *normals);
    if (!normals) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for noise");
    dit_torch_seed(&generator, p->seed);
    if (p->counted)
        dit_rng_normal(p->seed, dit_rng_stream("encode"), 0, count, 0.0f, 1.0f, normals);
    else
        dit_torch_randn(&generator, count, normals);
    for (int64_t i = 0; i < count; i++) {
        float spread = fminf(fmaxf(logvar[i], -30.0f), 20.0f); /* diffusers: DiagonalGaussianDistribution */
        mean[i] += expf(0.5f * spread) * normals[i];
    }
    free(normals);
    return DIT_OK;
}

/* The mask: ones in the first latent frame, whose every channel is one of its frames. Then the normalised means. */
static void lay_beside(const dit_first_frame_params *p, const float *mean, float *to)
{
    const dit_latent *l = &p->latent;
    int64_t frame = l->height * l->width, cells = l->frames * frame;
    for (int64_t i = 0; i < l->vae_temporal * cells; i++) to[i] = i % cells < frame;
    memcpy(to + l->vae_temporal * cells, mean, (size_t)(l->channels * cells) * sizeof *to);
}

/* One latent frame, and zeros behind it. */
static void lay_first(const dit_first_frame_params *p, const float *mean, float *to)
{
    const dit_latent *l = &p->latent;
    int64_t frame = l->height * l->width, cells = l->frames * frame;
    for (int64_t i = 0; i < l->channels * cells; i++)
        to[i] = i % cells < frame ? mean[i / cells * frame + i % cells] : 0.0f;
}

static dit_status check_fit(const dit_first_frame_params *p, const dit_vae_facts *facts)
{
    const dit_latent *l = &p->latent;
    if (facts->latent_channels == l->channels && facts->spatial == l->vae_spatial &&
        facts->temporal == l->vae_temporal && (facts->statistics == l->channels || facts->normed_channels))
        return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_SHAPE,
                 "the VAE has %lld channels of %lld pixels and %lld frames, the model's latents %lld of %lld and %lld",
                 (long long)facts->latent_channels, (long long)facts->spatial, (long long)facts->temporal,
                 (long long)l->channels, (long long)l->vae_spatial, (long long)l->vae_temporal),
        "name the VAE that this model was trained with");
}

/* Packs latents as the transformer's pipelines hold them. The caller frees *latents, which may become another. */
static dit_status pack(const dit_first_frame_params *p, float **latents)
{
    const dit_latent *l = &p->latent;
    if (!p->packed) return DIT_OK;
    float *tokens = malloc((size_t)(l->channels * dit_latent_cells(l)) * sizeof *tokens);
    if (!tokens) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the latents of a picture");
    dit_latent_pack(l, DIT_LATENT_CFHW, 1, l->channels, *latents, tokens);
    free(*latents);
    *latents = tokens;
    return DIT_OK;
}

static dit_status encode_clip(const dit_first_frame_params *p, dit_vae *vae, const float *clip, dit_first_frame *out)
{
    const dit_latent *l = &p->latent, encoded = latent_of(p);
    int64_t cells = dit_latent_cells(&encoded), floats = l->channels * cells;
    int64_t channels = l->channels + (p->alone ? 0 : l->vae_temporal);
    float *mean = malloc((size_t)floats * sizeof *mean);
    float *logvar = malloc((size_t)floats * sizeof *logvar);
    float *condition = malloc((size_t)(channels * dit_latent_cells(l)) * sizeof *condition);
    dit_status st = mean && logvar && condition ? dit_vae_encode(vae, clip, mean, logvar)
                                                : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the latents of a picture");
    if (st == DIT_OK && p->sampled) st = sample(p, floats, logvar, mean);
    if (st == DIT_OK) {
        dit_vae_normalise(vae, cells, mean);
        (p->alone ? lay_first : lay_beside)(p, mean, condition);
        st = pack(p, &condition);
    }
    out->tensors[out->count - 1] = (dit_tensor_out){p->alone ? "first_frame_latents" : "latent_condition",
                                                    5,
                                                    {1, channels, l->frames, l->height, l->width},
                                                    condition};
    if (p->packed)
        out->tensors[out->count - 1] = (dit_tensor_out){
            "first_frame_latents", 3, {1, dit_latent_tokens(l), dit_latent_token_channels(l)}, condition};
    free(mean);
    free(logvar);
    return st;
}

/* What the VAE's work needs. */
typedef struct {
    const dit_first_frame_params *p;
    const given_picture *picture;
    dit_first_frame *out;
} clip_work;

static dit_status encode_with(void *context, dit_vae *vae)
{
    const clip_work *work = context;
    float *clip = NULL;
    dit_status st = check_fit(work->p, dit_vae_get_facts(vae));
    if (st == DIT_OK) st = make_clip(work->p, work->picture, &clip);
    if (st == DIT_OK) st = encode_clip(work->p, vae, clip, work->out);
    free(clip);
    return st;
}

static dit_status encode(const dit_first_frame_params *p, const given_picture *picture, dit_first_frame *out)
{
    clip_work work = {p, picture, out};
    const dit_picture_vae vae = {p->doc, p->vae, latent_of(p), p->backend, p->dtype, p->threads};
    int64_t began = dit_clock_ns();
    dit_status st = dit_picture_vae_run(&vae, encode_with, &work, &out->peak_bytes);
    out->vae_encode_ns = dit_clock_ns() - began;
    return st;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

dit_status dit_first_frame_encode(const dit_first_frame_params *params, dit_first_frame *out)
{
    given_picture picture;
    *out = (dit_first_frame){.count = params->alone ? 1 : DIT_FIRST_FRAME_TENSORS};
    DIT_TRY(dit_picture_read(params->picture, &picture.height, &picture.width, &picture.rgb));
    dit_status st = params->alone ? DIT_OK : embed(params, &picture, out);
    if (st == DIT_OK) st = encode(params, &picture, out);
    free(picture.rgb);
    return st == DIT_OK ? st : dit_error_note(st, "encoding the picture that the clip begins with");
}

void dit_first_frame_release(dit_first_frame *frame)
{
    for (int i = 0; i < DIT_FIRST_FRAME_TENSORS; i++) free((void *)(uintptr_t)frame->tensors[i].data);
    *frame = (dit_first_frame){0};
}
