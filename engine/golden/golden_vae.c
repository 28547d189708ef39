/* Folders of VAEs: config.json of an Autoencoder class or of the pixel codec, weights if it has any, inputs.safetensors with `latents` (and
 * `encode_image`), output.safetensors with `output`, the decoder's intermediates by their module names, `encode_mean`
 * and `encode_logvar`, for any batch and extents. Intermediates of a video VAE are not compared, because its blocks run
 * once per chunk. `temb` is the decode timestep, one for all entries; noise that a decoder adds is that of
 * torch.manual_seed(0) before each decode. Several ranks, whatever their mesh, share each decode by rows; each rank encodes
 * by itself.
 */
#include "base/rows.h"
#include "engine/files/config.h"
#include "engine/golden/golden.h"
#include "engine/vae/vae.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static const double TOLERANCE = 1e-5; /* golden/README.md, "Expected agreement"; 1e-6 is usual */

enum { TAPS_MAX = 16, TAP_NAME = 64 };

/* One intermediate of the whole batch, as planes. */
typedef struct {
    char name[TAP_NAME];
    float *planes; /* [batch, channels, frames, height, width] */
    int64_t elements;
} collected;

typedef struct {
    dit_vae_tap tap; /* first member: taps are cast back */
    golden_report *report;
    dit_runtime rt;
    dit_json document;
    dit_config config;
    dit_vae_facts facts;
    dit_safetensors *weights_file, *inputs, *output;
    dit_weights weights;
    double tolerance;
    int64_t batch, entry; /* number of entries; the one that is being decoded */
    collected taps[TAPS_MAX];
    int tap_count;
} golden_vae;

static bool is_vae(const char *folder)
{
    char path[GOLDEN_PATH];
    const char *name = NULL;
    dit_json document = {0};
    if (!golden_has_file(folder, "config.json")) return false;
    bool found = golden_path(folder, "config.json", path) == DIT_OK &&
                 dit_config_read_file(path, &document) == DIT_OK &&
                 dit_json_optional_string(&document, document.root, "", "_class_name", &name) == DIT_OK && name &&
                 (strncmp(name, "Autoencoder", 11) == 0 || strcmp(name, DIT_PIXEL_SHUFFLE) == 0);
    dit_json_release(&document);
    dit_error_clear(); /* the kind that recognises the folder reports what is wrong with it */
    return found;
}

/* ---- intermediates ----------------------------------------------------------------------------------------------- */

static collected *find_tap(golden_vae *g, const char *name)
{
    for (int i = 0; i < g->tap_count; i++)
        if (strcmp(g->taps[i].name, name) == 0) return &g->taps[i];
    return NULL;
}

static dit_status add_tap(golden_vae *g, const char *name, int64_t elements, collected **out)
{
    if (g->tap_count == TAPS_MAX) return DIT_FAIL(DIT_ERR_INTERNAL, "more than %d intermediates", TAPS_MAX);
    collected *tap = &g->taps[g->tap_count];
    snprintf(tap->name, sizeof tap->name, "%s", name);
    tap->elements = elements;
    tap->planes = malloc((size_t)(g->batch * elements) * sizeof *tap->planes);
    if (!tap->planes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to keep %s", name);
    g->tap_count++;
    *out = tap;
    return DIT_OK;
}

static dit_status take(dit_vae_tap *base, const char *name, const float *x, const int64_t shape[4])
{
    golden_vae *g = (golden_vae *)base;
    dit_tensor_view view;
    int64_t positions = shape[0] * shape[1] * shape[2], channels = shape[3];
    if (!dit_safetensors_find(g->output, name, &view)) return DIT_OK;
    collected *tap = find_tap(g, name);
    if (!tap) DIT_TRY(add_tap(g, name, positions * channels, &tap));
    float *planes = tap->planes + g->entry * tap->elements;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < positions; i++) planes[c * positions + i] = x[i * channels + c];
    return DIT_OK;
}

static dit_status compare_taps(golden_vae *g)
{
    for (int i = 0; i < g->tap_count; i++)
        DIT_TRY(golden_compare(g->report, g->output, g->taps[i].name, NULL, g->taps[i].planes,
                               g->batch * g->taps[i].elements, g->tolerance));
    return DIT_OK;
}

/* ---- decode and encode ------------------------------------------------------------------------------------------- */

/* [batch, channels, (frames,) height, width] */
typedef struct {
    dit_tensor_view view;
    int64_t batch, channels, frames, height, width;
} batch_view;

static dit_status read_shape(const golden_vae *g, const char *name, int64_t channels, batch_view *out)
{
    DIT_TRY(dit_safetensors_find(g->inputs, name, &out->view)
                ? DIT_OK
                : DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has no %s", name));
    const dit_tensor_view *v = &out->view;
    int last = v->rank - 1;
    if (v->rank < 4 || v->rank > 5 || v->elements < 1 || v->shape[1] != channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s is not [batch, %lld, (frames,) height, width]", name, (long long)channels);
    out->batch = v->shape[0], out->channels = channels, out->frames = v->rank == 5 ? v->shape[2] : 1;
    out->height = v->shape[last - 1], out->width = v->shape[last];
    return DIT_OK;
}

/* Reads the decode timestep, where there is one. */
static dit_status read_timestep(const golden_vae *g, double *out)
{
    dit_tensor_view view;
    float value = 0;
    if (dit_safetensors_find(g->inputs, "temb", &view)) DIT_TRY(dit_tensor_read(&view, 0, 1, &value));
    *out = (double)value;
    return DIT_OK;
}

static dit_status create(golden_vae *g, int64_t frames, int64_t height, int64_t width, bool encoder, dit_vae **out)
{
    dit_vae_params params = {.rt = &g->rt, .config = g->config, .weights = &g->weights};
    params.frames = frames, params.height = height, params.width = width, params.encoder = encoder;
    if (!encoder) params.sharers = g->rt.comm[DIT_AXIS_WORLD];
    DIT_TRY(read_timestep(g, &params.timestep));
    params.tap = encoder || g->facts.temporal > 1 ? NULL : &g->tap;
    return dit_vae_create(&params, out);
}

/* Decodes every entry of the batch; `in` has room for one entry. */
static dit_status decode_entries(golden_vae *g, dit_vae *vae, const batch_view *latents, float *in, float *pictures,
                                 int64_t picture)
{
    int64_t elements = latents->view.elements / latents->batch;
    for (g->entry = 0; g->entry < g->batch; g->entry++) {
        DIT_TRY(dit_tensor_read(&latents->view, g->entry * elements, elements, in));
        DIT_TRY(dit_vae_decode(vae, in, pictures + g->entry * picture));
    }
    DIT_TRY(compare_taps(g));
    return golden_compare(g->report, g->output, "output", NULL, pictures, g->batch * picture, g->tolerance);
}

static dit_status run_decode(golden_vae *g)
{
    batch_view latents;
    dit_vae *vae = NULL;
    DIT_TRY(read_shape(g, "latents", g->facts.latent_channels, &latents));
    g->batch = latents.batch;
    DIT_TRY(create(g, latents.frames, latents.height, latents.width, false, &vae));
    int64_t picture = g->facts.image_channels * dit_vae_output_frames(&g->facts, latents.frames) * latents.height *
                      latents.width * g->facts.spatial * g->facts.spatial;
    float *in = malloc((size_t)(latents.view.elements / latents.batch) * sizeof *in);
    float *pictures = malloc((size_t)(g->batch * picture) * sizeof *pictures);
    dit_status st = in && pictures ? decode_entries(g, vae, &latents, in, pictures, picture)
                                   : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld pictures", (long long)g->batch);
    free(in);
    free(pictures);
    dit_vae_free(vae);
    return st;
}

static dit_status encode_entries(golden_vae *g, dit_vae *vae, const batch_view *images, float *in, float *mean,
                                 float *logvar, int64_t moments)
{
    int64_t elements = images->view.elements / images->batch;
    for (int64_t b = 0; b < images->batch; b++) {
        DIT_TRY(dit_tensor_read(&images->view, b * elements, elements, in));
        DIT_TRY(dit_vae_encode(vae, in, mean + b * moments, logvar + b * moments));
    }
    DIT_TRY(golden_compare(g->report, g->output, "encode_mean", NULL, mean, images->batch * moments, g->tolerance));
    return golden_compare(g->report, g->output, "encode_logvar", NULL, logvar, images->batch * moments, g->tolerance);
}

static dit_status run_encode(golden_vae *g)
{
    batch_view images;
    dit_vae *vae = NULL;
    int64_t spatial = g->facts.spatial;
    DIT_TRY(read_shape(g, "encode_image", g->facts.image_channels, &images));
    if (images.height % spatial || images.width % spatial)
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "encode_image of %lld x %lld pixels is not a whole number of latents of %lld pixels",
                        (long long)images.height, (long long)images.width, (long long)spatial);
    int64_t frames = (images.frames - 1) / g->facts.temporal + 1;
    if (dit_vae_output_frames(&g->facts, frames) != images.frames)
        return DIT_FAIL(DIT_ERR_SHAPE, "encode_image of %lld frames is not what latent frames decode to",
                        (long long)images.frames);
    DIT_TRY(create(g, frames, images.height / spatial, images.width / spatial, true, &vae));
    int64_t moments = g->facts.latent_channels * frames * (images.height / spatial) * (images.width / spatial);
    float *in = malloc((size_t)(images.view.elements / images.batch) * sizeof *in);
    float *mean = malloc((size_t)(images.batch * moments) * sizeof *mean);
    float *logvar = malloc((size_t)(images.batch * moments) * sizeof *logvar);
    dit_status st = in && mean && logvar
                        ? encode_entries(g, vae, &images, in, mean, logvar, moments)
                        : DIT_FAIL(DIT_ERR_MEMORY, "no memory to encode %lld pictures", (long long)images.batch);
    free(in);
    free(mean);
    free(logvar);
    dit_vae_free(vae);
    return st;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static dit_status open_folder(golden_vae *g, const char *folder)
{
    char path[GOLDEN_PATH];
    DIT_TRY(golden_path(folder, "config.json", path));
    DIT_TRY(dit_config_read_file(path, &g->document));
    g->config = (dit_config){.doc = &g->document, .object = g->document.root, .pointer = ""};
    DIT_TRY(dit_vae_read_facts(&g->config, &g->facts));
    if (!g->facts.weightless) DIT_TRY(dit_safetensors_open(folder, &g->weights_file));
    g->weights = (dit_weights){.file = g->weights_file};
    DIT_TRY(golden_open(folder, "inputs.safetensors", &g->inputs));
    return golden_open(folder, "output.safetensors", &g->output);
}

static dit_status run_all(golden_vae *g, const char *folder, const dit_case_platform *platform)
{
    dit_tensor_view view;
    dit_runtime_params params = {.backend = platform->backend, .dtype = platform->dtype, .threads = platform->threads};
    /* doubled: a decoder is deeper than a small transformer, and bf16 keeps 8 bits per layer */
    g->tolerance = golden_tolerance(platform, TOLERANCE, 2);
    params.parallel = (dit_parallel){.rows_degree = dit_parallel_world_size(platform->parallel)};
    params.facts = (dit_facts){.image_tokens = 1, .num_images = 1, .guidance_branches = 1, .steps = 1};
    DIT_TRY(open_folder(g, folder));
    DIT_TRY(dit_runtime_init(&params, &g->rt));
    if (dit_safetensors_find(g->inputs, "latents", &view)) DIT_TRY(run_decode(g));
    if (dit_safetensors_find(g->inputs, "encode_image", &view)) DIT_TRY(run_encode(g));
    return DIT_OK;
}

static dit_status run_folder(golden_report *report, const char *folder, const dit_case_platform *platform)
{
    golden_vae g = {.tap = {take}, .report = report};
    dit_status st = run_all(&g, folder, platform);
    for (int i = 0; i < g.tap_count; i++) free(g.taps[i].planes);
    dit_runtime_release(&g.rt);
    dit_safetensors_close(g.output);
    dit_safetensors_close(g.inputs);
    dit_safetensors_close(g.weights_file);
    dit_json_release(&g.document);
    return st;
}

const golden_kind golden_kind_vae = {"vae", is_vae, run_folder};
