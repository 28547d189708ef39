#include "base/rows.h"

#include <stdio.h>
#include <string.h>

enum {
    PICTURE_BYTES = 4,
    MOMENT_BYTES = 8,
    MID_RESNETS = 2,
    CHUNK = 2,
    MAX_WIDTH = 16384,
    MAX_COUNT = 65536,
    MAX_LAYERS = 64,
    MAX_EXTENT = 1 << 20,
    MAX_BLOCK = 64,
};

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *class_name;
    dit_rows_facts defaults;
    int64_t layers;
} classes[] = {
    {"AutoencoderKL", {.stages = 1, .widths = {64}, .groups = 32, .latent_channels = 4, .temporal = 1}, 1},
    {"AutoencoderKLCogVideoX",
     {.causal = true, .stages = 4, .widths = {512, 256, 256, 128}, .groups = 32, .latent_channels = 16, .temporal = 4},
     3},
    {DIT_PIXEL_SHUFFLE, {.plain = true, .stages = 2, .temporal = 1, .latent_channels = 12}, 1},
};

/* Reads block_out_channels, which go from fine to coarse; the decoder goes the other way. */
static dit_status read_widths(const dit_json *doc, const cJSON *config, const char *pointer, dit_rows_facts *out)
{
    const cJSON *list = NULL, *item;
    DIT_TRY(dit_json_optional_array(doc, config, pointer, "block_out_channels", &list));
    if (!list) return DIT_OK;
    int count = cJSON_GetArraySize(list), stage = count;
    bool valid = count >= 1 && count <= DIT_ROWS_STAGES;
    cJSON_ArrayForEach(item, list)
    {
        valid = valid && cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble <= MAX_WIDTH;
        if (valid) out->widths[--stage] = (int64_t)item->valuedouble;
    }
    out->stages = count;
    return valid ? DIT_OK
                 : dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                                 "block_out_channels is not a list of 1 to %d widths in 1..%d", DIT_ROWS_STAGES,
                                 MAX_WIDTH);
}

static dit_status read_class(const dit_json *doc, const cJSON *config, const char *pointer, dit_rows_facts *out)
{
    const char *name;
    DIT_TRY(dit_json_require_string(doc, config, pointer, "_class_name", &name));
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strcmp(classes[i].class_name, name) != 0) continue;
        *out = classes[i].defaults;
        out->resnets = classes[i].layers;
        return DIT_OK;
    }
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "a decode by %s cannot be shared by rows", name),
                          "rows_degree 1 decodes on one rank; %s, %s and %s can be shared", classes[0].class_name,
                          classes[1].class_name, classes[2].class_name);
}

dit_status dit_rows_read(const dit_json *doc, const cJSON *vae, const char *pointer, dit_rows_facts *out)
{
    char at[256];
    const cJSON *config;
    int64_t block = 2;
    memset(out, 0, sizeof *out);
    snprintf(at, sizeof at, "%s/config", pointer);
    DIT_TRY(dit_json_require_object(doc, vae, pointer, "config", &config));
    DIT_TRY(read_class(doc, config, at, out));
    out->image_channels = 3;
    if (out->plain) {
        DIT_TRY(dit_json_optional_int(doc, config, at, "block_size", 1, MAX_BLOCK, &block));
        for (out->stages = 1; (1 << out->stages) <= block; out->stages++) continue;
        out->latent_channels = out->image_channels * block * block;
        return dit_json_optional_bool(doc, vae, pointer, "tiling", &out->tiling);
    }
    DIT_TRY(read_widths(doc, config, at, out));
    DIT_TRY(dit_json_optional_int(doc, config, at, "layers_per_block", 1, MAX_LAYERS, &out->resnets));
    DIT_TRY(dit_json_optional_int(doc, config, at, "norm_num_groups", 1, MAX_COUNT, &out->groups));
    DIT_TRY(dit_json_optional_int(doc, config, at, "latent_channels", 1, MAX_COUNT, &out->latent_channels));
    DIT_TRY(dit_json_optional_int(doc, config, at, "out_channels", 1, MAX_COUNT, &out->image_channels));
    if (out->causal)
        DIT_TRY(dit_json_optional_int(doc, config, at, "temporal_compression_ratio", 1, MAX_COUNT, &out->temporal));
    while (out->temporal >> (out->doublings + 1)) out->doublings++;
    out->resnets++;
    return dit_json_optional_bool(doc, vae, pointer, "tiling", &out->tiling);
}

void dit_rows_resize(dit_rows_facts *f, int64_t height_px, int64_t width_px, int64_t num_frames, int64_t pictures)
{
    f->pictures = pictures;
    f->frames = (num_frames - 1) / f->temporal + 1;
    f->height = height_px >> (f->stages - 1);
    f->width = width_px >> (f->stages - 1);
}

dit_status dit_rows_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_rows_facts *out)
{
    const cJSON *vae, *run;
    char vae_at[256], run_at[256];
    int64_t height, width, frames = 1, pictures = 1;
    snprintf(vae_at, sizeof vae_at, "%s/vae", pointer);
    snprintf(run_at, sizeof run_at, "%s/run", pointer);
    DIT_TRY(dit_json_require_object(doc, kase, pointer, "vae", &vae));
    DIT_TRY(dit_json_require_object(doc, kase, pointer, "run", &run));
    DIT_TRY(dit_rows_read(doc, vae, vae_at, out));
    DIT_TRY(dit_json_require_int(doc, run, run_at, "height_px", 1, MAX_EXTENT, &height));
    DIT_TRY(dit_json_require_int(doc, run, run_at, "width_px", 1, MAX_EXTENT, &width));
    DIT_TRY(dit_json_optional_int(doc, run, run_at, "num_frames", 1, MAX_EXTENT, &frames));
    DIT_TRY(dit_json_optional_int(doc, run, run_at, "num_images", 1, MAX_EXTENT, &pictures));
    dit_rows_resize(out, height, width, frames, pictures);
    return DIT_OK;
}

/* ---- shares ------------------------------------------------------------------------------------------------------ */

int64_t dit_rows_share(int64_t rows, int degree, int rank, int64_t *first)
{
    int64_t share = rows / degree, more = rows % degree;
    *first = rank * share + (rank < more ? rank : more);
    return share + (rank < more);
}

dit_status dit_rows_check(int degree, const dit_rows_facts *facts)
{
    if (degree <= 1) return DIT_OK;
    if (facts->tiling)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "rows_degree %d with tiling: tiles cannot be shared by rows", degree),
            "either one bounds the memory; leave one of them out");
    if (facts->height >= degree) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE,
                                   "rows_degree %d: latents of %lld rows would leave ranks without a row", degree,
                                   (long long)facts->height),
                          "share the decode between fewer ranks");
}

/* ---- the closed form --------------------------------------------------------------------------------------------- */

/* Counts for one image: convolutions and norms that exchange, and the floats of all single rows that are sent. */
typedef struct {
    int64_t convolutions, norms, edge_floats;
} tally;

static void add_convolution(tally *t, int64_t frames, int64_t width, int64_t channels)
{
    t->convolutions++;
    t->edge_floats += frames * width * channels;
}

static void add_resnet(tally *t, int64_t frames, int64_t width, int64_t in, int64_t out)
{
    t->norms += 2;
    add_convolution(t, frames, width, in);
    add_convolution(t, frames, width, out);
}

/* Adds what is decoded together: one frame, or a chunk of a video. Returns how many frames it becomes. */
static int64_t add_chunk(const dit_rows_facts *f, int64_t frames, tally *t)
{
    int64_t width = f->width, channels = f->widths[0];
    if (f->causal) add_convolution(t, frames, width, f->latent_channels);
    for (int i = 0; f->causal && i < MID_RESNETS; i++) add_resnet(t, frames, width, channels, channels);
    for (int stage = 0; stage < f->stages; stage++) {
        for (int64_t i = 0; i < f->resnets; i++) {
            add_resnet(t, frames, width, channels, f->widths[stage]);
            channels = f->widths[stage];
        }
        if (stage + 1 == f->stages) break;
        add_convolution(t, frames, width, channels);
        width *= 2;
        if (stage < f->doublings) frames = frames * 2 - frames % 2; /* the first of an odd number stays single */
    }
    t->norms++;
    add_convolution(t, frames, width, channels);
    return frames;
}

/* Adds all frames of one image or video; returns how many frames it becomes. */
static int64_t add_clip(const dit_rows_facts *f, tally *t)
{
    int64_t out = 0, frames;
    if (f->plain) return f->frames;
    for (int64_t first = 0; first < f->frames; first += frames) {
        frames = !f->causal ? 1 : first == 0 && f->frames % CHUNK ? CHUNK + 1 : CHUNK;
        if (frames > f->frames - first) frames = f->frames - first;
        out += add_chunk(f, frames, t);
    }
    return out;
}

void dit_rows_predict(const dit_rows_facts *f, int degree, int rank, dit_volume_table *out)
{
    dit_volume(*at)[DIT_PHASE_COUNT] = out->at[DIT_AXIS_WORLD];
    int64_t first, others = degree - 1, neighbours = (rank > 0) + (rank < degree - 1), up = f->stages - 1;
    int64_t element_bytes = f->element_bytes ? f->element_bytes : PICTURE_BYTES;
    tally t = {0};
    memset(out, 0, sizeof *out);
    if (degree <= 1) return;
    int64_t planes = f->image_channels * add_clip(f, &t) * f->pictures;
    int64_t share_bytes = (dit_rows_share(f->height, degree, rank, &first) << up) * (f->width << up) * PICTURE_BYTES;
    at[DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_DECODE] = (dit_volume){
        f->pictures * neighbours * t.edge_floats * element_bytes, f->pictures * neighbours * t.convolutions};
    at[DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_DECODE] = (dit_volume){
        f->pictures * others * t.norms * (2 * f->groups + 1) * MOMENT_BYTES, f->pictures * others * t.norms};
    at[DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_DECODE] = (dit_volume){others * planes * share_bytes, others * planes};
}
