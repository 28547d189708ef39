#include "engine/prompts/beside_picture.h"

#include "base/clock.h"
#include "base/rng.h"
#include "base/torch_random.h"
#include "engine/comm/comm.h"
#include "engine/prompts/picture_vae.h"
#include "engine/results/encode.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3 };

typedef struct {
    const dit_beside_picture_params *p;
    int64_t height, width; /* pixels */
    int64_t samples;       /* of the distribution: one, or one for each image */
    int64_t floats;        /* of an image's latents */
    float *planes;         /* [3, height, width]; of Fill without what is painted anew */
    float *mask;           /* [height, width], 1 where it is painted anew; NULL: none */
    float *normals;        /* [samples, floats] */
    dit_first_frame *out;
} beside;

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* The luminance of a picture in [-1, 1], made 0 or 1: from the middle on 1. Source: Pillow's convert("L"). */
static float masked(const float *planes, int64_t plane, int64_t i)
{
    static const int64_t weights[CHANNELS] = {19595, 38470, 7471};
    int64_t sum = 0x8000;
    for (int c = 0; c < CHANNELS; c++) sum += weights[c] * (int64_t)((planes[c * plane + i] + 1.0f) * 127.5f + 0.5f);
    return (float)(sum >> 16) / 255.0f < 0.5f ? 0.0f : 1.0f;
}

/* Reads the mask, and clears the part of the picture that it shows. */
static dit_status take_mask(beside *b)
{
    int64_t plane = b->height * b->width;
    float *planes = NULL;
    b->mask = malloc((size_t)plane * sizeof *b->mask);
    dit_status st = b->mask ? dit_encode_read_picture(b->p->kase->mask_path, b->height, b->width, &planes)
                            : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a mask");
    for (int64_t i = 0; st == DIT_OK && i < plane; i++) {
        b->mask[i] = masked(planes, plane, i);
        for (int c = 0; c < CHANNELS; c++) b->planes[c * plane + i] *= 1.0f - b->mask[i];
    }
    free(planes);
    return st;
}

/* ---- noise ------------------------------------------------------------------------------------------------------- */

/* Fill's generator first makes a sample of the whole picture and the initial latents; a picture that guides has a sample for
 * each image before those. */
static dit_status draw(beside *b)
{
    const dit_case *kase = b->p->kase;
    int64_t count = b->samples * b->floats, images = kase->num_images * b->floats;
    dit_torch_generator generator;
    b->normals = malloc((size_t)(b->mask ? images : count) * sizeof *b->normals);
    if (!b->normals) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for noise");
    if (kase->noise == DIT_NOISE_COUNTER) {
        dit_rng_normal(kase->seed, dit_rng_stream("encode"), 0, count, 0.0f, 1.0f, b->normals);
        return DIT_OK;
    }
    dit_torch_seed(&generator, kase->seed);
    if (b->mask) dit_torch_randn(&generator, b->floats, b->normals);
    if (b->mask) dit_torch_randn(&generator, images, b->normals);
    dit_torch_randn(&generator, count, b->normals);
    return DIT_OK;
}

/* ---- latents ----------------------------------------------------------------------------------------------------- */

static dit_status check_fit(const beside *b, const dit_vae_facts *facts)
{
    const dit_latent *l = &b->p->latent;
    int64_t cells = l->patch * l->patch, f = l->vae_spatial, mask = b->mask ? f * f : 0;
    if (facts->latent_channels != l->channels || facts->spatial != f)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE,
                                       "the VAE has %lld channels of %lld pixels, the model's latents %lld of %lld",
                                       (long long)facts->latent_channels, (long long)facts->spatial,
                                       (long long)l->channels, (long long)f),
                              "name the VAE that this model was trained with");
    if ((l->channels + mask) * cells == b->p->channels) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_SHAPE, "the transformer takes %lld floats beside a token, but a picture%s makes %lld",
                 (long long)b->p->channels, b->mask ? " with its mask" : "", (long long)((l->channels + mask) * cells)),
        b->mask ? "leave out --mask_image: it is for FLUX.1 Fill" : "--mask_image FILE gives a mask");
}

/* Planes [f f, height / f, width / f] of the mask: each pixel of a cell is a channel. */
static void fold_mask(const beside *b, float *to)
{
    const dit_latent *l = &b->p->latent;
    int64_t f = l->vae_spatial, cells = l->height * l->width;
    for (int64_t y = 0; y < b->height; y++)
        for (int64_t x = 0; x < b->width; x++)
            to[(y % f * f + x % f) * cells + y / f * l->width + x / f] = b->mask[y * b->width + x];
}

/* Makes the condition of one sample, whose planes are [channels, height, width] of latents, then of the mask. */
static void lay(const beside *b, const dit_vae_facts *facts, const float *mean, const float *logvar, int64_t sample,
                float *planes, float *condition)
{
    const dit_latent *l = &b->p->latent;
    int64_t f = l->vae_spatial, channels = l->channels + (b->mask ? f * f : 0);
    memcpy(planes, mean, (size_t)b->floats * sizeof *planes);
    dit_encode_sample(facts, b->floats, logvar, b->normals + sample * b->floats, planes);
    if (b->mask) fold_mask(b, planes + b->floats);
    dit_latent_pack(l, DIT_LATENT_CFHW, 1, channels, planes, condition);
}

static dit_status encode(void *context, dit_vae *vae)
{
    beside *b = context;
    const dit_vae_facts *facts = dit_vae_get_facts(vae);
    int64_t tokens = dit_latent_tokens(&b->p->latent), each = tokens * b->p->channels;
    DIT_TRY(check_fit(b, facts));
    float *mean = malloc((size_t)b->floats * sizeof *mean), *logvar = malloc((size_t)b->floats * sizeof *logvar);
    float *planes = malloc((size_t)each * sizeof *planes);
    float *condition = malloc((size_t)(b->samples * each) * sizeof *condition);
    dit_status st = mean && logvar && planes && condition
                        ? dit_vae_encode(vae, b->planes, mean, logvar)
                        : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the latents of a picture");
    for (int64_t i = 0; st == DIT_OK && i < b->samples; i++)
        lay(b, facts, mean, logvar, i, planes, condition + i * each);
    b->out->tensors[0] = (dit_tensor_out){"latent_condition", 3, {b->samples, tokens, b->p->channels}, condition};
    free(planes);
    free(logvar);
    free(mean);
    return st;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static dit_status check(const dit_case *kase, const dit_latent *latent, int64_t channels)
{
    bool fills = channels > latent->channels * latent->patch * latent->patch;
    if (!kase->image_path)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "this pipeline takes a picture, and there is none"),
                              "--image FILE gives it");
    if (fills && !kase->mask_path)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "this pipeline paints a part of a picture anew, and no mask says "
                                                      "which"),
                              "--mask_image FILE is white there and black elsewhere");
    if (kase->noise == DIT_NOISE_TORCH_EACH && kase->num_images > 1)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "noise torch-each: the sample of the picture is drawn by one generator"),
            "ask for --noise torch, or for one image");
    if (kase->vae) return DIT_OK;
    return dit_json_fail(kase->doc, "/image", DIT_ERR_JSON_MISSING, "an image needs a vae");
}

static dit_status read_pictures(beside *b)
{
    DIT_TRY(dit_encode_read_picture(b->p->kase->image_path, b->height, b->width, &b->planes));
    if (b->p->kase->mask_path) DIT_TRY(take_mask(b));
    b->samples = b->mask ? 1 : b->p->kase->num_images;
    return draw(b);
}

dit_status dit_beside_picture_encode(const dit_beside_picture_params *params, dit_first_frame *out)
{
    const dit_case *kase = params->kase;
    const dit_latent *l = &params->latent;
    int64_t began = dit_clock_ns();
    *out = (dit_first_frame){.count = 1};
    DIT_TRY(check(kase, l, params->channels));
    beside b = {.p = params,
                .height = l->height * l->vae_spatial,
                .width = l->width * l->vae_spatial,
                .floats = l->channels * dit_latent_cells(l),
                .out = out};
    const dit_picture_vae vae = {.doc = kase->doc,
                                 .vae = kase->vae,
                                 .latent = *l,
                                 .backend = kase->backend,
                                 .dtype = kase->dtype,
                                 .threads = kase->threads_per_rank};
    dit_status st = read_pictures(&b);
    if (st == DIT_OK) st = dit_picture_vae_run(&vae, encode, &b, &out->peak_bytes);
    free(b.normals);
    free(b.mask);
    free(b.planes);
    out->vae_encode_ns = dit_clock_ns() - began;
    return st == DIT_OK ? st : dit_error_note(st, "encoding the picture that stands beside the latents");
}
