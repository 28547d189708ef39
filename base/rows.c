#include "base/rows.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum {
    PICTURE_BYTES = 4,
    MOMENT_BYTES = 8,
    MID_RESNETS = 2,
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
    {"AutoencoderDC",
     {DIT_ROWS_DC, .stages = 6, .widths = {1024, 1024, 512, 512, 256, 128}, .layers = {3, 3, 3, 3, 3, 3},
      .latent_channels = 32, .temporal = 1},
     0},
    {"AutoencoderKL", {DIT_ROWS_KL, .stages = 1, .widths = {64}, .groups = 32, .latent_channels = 4, .temporal = 1}, 1},
    {"AutoencoderKLCogVideoX",
     {DIT_ROWS_COGVIDEOX, .stages = 4, .widths = {512, 256, 256, 128}, .groups = 32, .latent_channels = 16,
      .temporal = 4},
     3},
    {"AutoencoderKLFlux2",
     {DIT_ROWS_KL, .stages = 4, .widths = {512, 512, 256, 128}, .groups = 32, .latent_channels = 32, .temporal = 1},
     2},
    {"AutoencoderKLQwenImage", {DIT_ROWS_WAN, .stages = 4, .latent_channels = 16}, 2},
    {"AutoencoderKLWan", {DIT_ROWS_WAN, .stages = 4, .latent_channels = 16}, 2},
    {"AutoencoderKLHunyuanVideo",
     {DIT_ROWS_HUNYUAN, .stages = 4, .widths = {512, 512, 256, 128}, .groups = 32, .latent_channels = 16,
      .temporal = 4},
     2},
    {"AutoencoderKLHunyuanVideo15",
     {DIT_ROWS_HUNYUAN15, .stages = 5, .widths = {1024, 1024, 512, 256, 128}, .latent_channels = 32, .temporal = 4,
      .matches = true},
     2},
    {"AutoencoderKLLTXVideo",
     {DIT_ROWS_LTX, .stages = 4, .widths = {512, 512, 256, 128}, .layers = {4, 3, 3, 3, 4}, .factors = {1, 1, 1, 1},
      .latent_channels = 128, .patch = 4},
     0},
    {"AutoencoderKLMochi",
     {DIT_ROWS_MOCHI, .stages = 3, .widths = {768, 512, 256, 128}, .layers = {3, 6, 4, 3, 3}, .factors = {3, 2, 1},
      .groups = 32, .latent_channels = 12},
     0},
    {DIT_PIXEL_SHUFFLE, {DIT_ROWS_PIXELS, .stages = 2, .temporal = 1, .latent_channels = 12}, 1},
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
    const char *names[sizeof classes / sizeof *classes + 1] = {NULL};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) names[i] = classes[i].class_name;
    return dit_words_hint_all(
        DIT_FAIL(DIT_ERR_UNSUPPORTED, "a decode by %s cannot be shared by rows, only by rows_degree 1", name),
        "can be shared", names);
}

/* ---- classes with keys of their own ------------------------------------------------------------------------------ */

static dit_status read_pixels(const dit_json *doc, const cJSON *config, const char *at, dit_rows_facts *out)
{
    int64_t block = 2;
    DIT_TRY(dit_json_optional_int(doc, config, at, "block_size", 1, MAX_BLOCK, &block));
    for (out->stages = 1; (1 << out->stages) <= block; out->stages++) continue;
    out->ups = out->stages - 1;
    out->latent_channels = out->image_channels * block * block;
    return DIT_OK;
}

/* Wan: widths are multiples of base_dim, from fine to coarse; the decoder goes the other way, also in time. */
static dit_status read_wan(const dit_json *doc, const cJSON *config, const char *at, dit_rows_facts *out)
{
    static const int64_t multiples[] = {1, 2, 4, 4};
    static const bool in_time[] = {false, true, true};
    const cJSON *mult = NULL, *time = NULL;
    int64_t base = 96, resnets = 2;
    DIT_TRY(dit_json_optional_int(doc, config, at, "base_dim", 1, MAX_WIDTH, &base));
    DIT_TRY(dit_json_optional_int(doc, config, at, "decoder_base_dim", 1, MAX_WIDTH, &base));
    DIT_TRY(dit_json_optional_int(doc, config, at, "patch_size", 1, MAX_BLOCK, &out->patch));
    DIT_TRY(dit_json_optional_bool(doc, config, at, "is_residual", &out->residual));
    DIT_TRY(dit_json_optional_int(doc, config, at, "z_dim", 1, MAX_COUNT, &out->latent_channels));
    DIT_TRY(dit_json_optional_int(doc, config, at, "num_res_blocks", 1, MAX_LAYERS, &resnets));
    DIT_TRY(dit_json_optional_array(doc, config, at, "dim_mult", &mult));
    DIT_TRY(dit_json_optional_array(doc, config, at, "temperal_downsample", &time));
    out->stages = mult ? cJSON_GetArraySize(mult) : 4;
    out->ups = out->stages - 1;
    if (out->stages < 1 || out->stages > DIT_ROWS_STAGES || (time ? cJSON_GetArraySize(time) : 3) != out->ups)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE,
                             "dim_mult has no 1 to %d entries, or temperal_downsample not one less", DIT_ROWS_STAGES);
    out->temporal = 1;
    for (int i = 0; i < out->stages; i++) {
        const cJSON *item = cJSON_GetArrayItem(mult, out->stages - 1 - i);
        double multiple = mult ? (cJSON_IsNumber(item) ? item->valuedouble : 0) : (double)multiples[3 - i];
        if (!(multiple >= 1 && multiple <= MAX_WIDTH))
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "dim_mult is not a list of numbers in 1..%d", MAX_WIDTH);
        out->widths[i] = base * (int64_t)multiple;
        bool doubles = time ? cJSON_IsTrue(cJSON_GetArrayItem(time, out->ups - 1 - i)) : i < 3 && in_time[2 - i];
        if (i == out->ups || !doubles) continue;
        out->doubles |= 1U << i;
        out->temporal *= 2;
    }
    out->resnets = resnets + 1;
    return DIT_OK;
}

/* Reads the last `count` numbers of a list from fine to coarse into `out`, from coarse to fine; an absent one leaves `out`. */
static dit_status read_reversed(const dit_json *doc, const cJSON *config, const char *at, const char *key, int least,
                                int count, int64_t *out)
{
    const cJSON *list = NULL, *item;
    DIT_TRY(dit_json_optional_array(doc, config, at, key, &list));
    if (!list) return DIT_OK;
    int left = cJSON_GetArraySize(list);
    bool valid = left >= count;
    cJSON_ArrayForEach(item, list)
    {
        valid = valid && cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= MAX_WIDTH;
        if (--left < count && valid) out[left] = (int64_t)item->valuedouble;
    }
    for (int i = 0; i < count; i++) valid = valid && out[i] >= least;
    return valid ? DIT_OK
                 : dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s is not a list of at least %d numbers in %d..%d", key,
                                 count, least, MAX_WIDTH);
}

/* LTX-Video: blocks that double frames, rows and columns, and others. */
static dit_status read_ltx(const dit_json *doc, const cJSON *config, const char *at, dit_rows_facts *out)
{
    const cJSON *widths = NULL, *scales = NULL;
    DIT_TRY(dit_json_optional_int(doc, config, at, "latent_channels", 1, MAX_COUNT, &out->latent_channels));
    DIT_TRY(dit_json_optional_int(doc, config, at, "out_channels", 1, MAX_COUNT, &out->image_channels));
    DIT_TRY(dit_json_optional_int(doc, config, at, "patch_size", 1, MAX_BLOCK, &out->patch));
    DIT_TRY(dit_json_optional_array(doc, config, at, "decoder_block_out_channels", &widths));
    DIT_TRY(dit_json_optional_array(doc, config, at, "decoder_spatio_temporal_scaling", &scales));
    if (widths) out->stages = cJSON_GetArraySize(widths);
    if (out->stages < 1 || out->stages > DIT_ROWS_STAGES || (scales ? cJSON_GetArraySize(scales) : 4) < out->stages)
        return dit_json_fail(
            doc, at, DIT_ERR_JSON_VALUE,
            "decoder_block_out_channels has no 1 to %d entries, or decoder_spatio_temporal_scaling fewer",
            DIT_ROWS_STAGES);
    for (int i = 0; i < out->stages; i++) {
        out->factors[i] = 1;
        bool doubles = scales ? cJSON_IsTrue(cJSON_GetArrayItem(scales, cJSON_GetArraySize(scales) - 1 - i)) : i > 0;
        if (doubles) out->doubles |= 1U << i, out->ups++;
    }
    out->temporal = INT64_C(1) << out->ups;
    DIT_TRY(read_reversed(doc, config, at, "decoder_block_out_channels", 1, out->stages, out->widths));
    DIT_TRY(read_reversed(doc, config, at, "decoder_layers_per_block", 1, out->stages + 1, out->layers));
    return read_reversed(doc, config, at, "upsample_factor", 1, out->stages, out->factors);
}

/* Mochi: a width more than there are stages, which all double rows and columns. */
static dit_status read_mochi(const dit_json *doc, const cJSON *config, const char *at, dit_rows_facts *out)
{
    const cJSON *widths = NULL;
    DIT_TRY(dit_json_optional_int(doc, config, at, "latent_channels", 1, MAX_COUNT, &out->latent_channels));
    DIT_TRY(dit_json_optional_int(doc, config, at, "out_channels", 1, MAX_COUNT, &out->image_channels));
    DIT_TRY(dit_json_optional_array(doc, config, at, "decoder_block_out_channels", &widths));
    if (widths) out->stages = cJSON_GetArraySize(widths) - 1;
    if (out->stages < 0 || out->stages >= DIT_ROWS_STAGES)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "decoder_block_out_channels has no 1 to %d entries",
                             DIT_ROWS_STAGES);
    DIT_TRY(read_reversed(doc, config, at, "decoder_block_out_channels", 1, out->stages + 1, out->widths));
    DIT_TRY(read_reversed(doc, config, at, "layers_per_block", 0, out->stages + 2, out->layers));
    DIT_TRY(read_reversed(doc, config, at, "temporal_expansions", 1, out->stages, out->factors));
    out->ups = out->stages, out->temporal = 1;
    for (int i = 0; i < out->stages; i++) out->temporal *= out->factors[i];
    return DIT_OK;
}

/* How many stages, from the coarsest on, end with the last one that has attention. */
static int dc_stages_with_attention(const cJSON *config, int stages)
{
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(config, "decoder_block_types");
    for (int fine = 0; fine < stages; fine++) {
        const char *word = cJSON_GetStringValue(cJSON_IsArray(types) ? cJSON_GetArrayItem(types, fine) : types);
        if (word && strcmp(word, "EfficientViTBlock") == 0) return stages - fine;
    }
    return 0;
}

/* AutoencoderDC: all but the first stage double rows and columns before their blocks. */
static dit_status read_dc(const dit_json *doc, const cJSON *config, const char *at, dit_rows_facts *out)
{
    const cJSON *widths = NULL;
    DIT_TRY(dit_json_optional_int(doc, config, at, "latent_channels", 1, MAX_COUNT, &out->latent_channels));
    DIT_TRY(dit_json_optional_int(doc, config, at, "in_channels", 1, MAX_COUNT, &out->image_channels));
    DIT_TRY(dit_json_optional_array(doc, config, at, "decoder_block_out_channels", &widths));
    if (widths) out->stages = cJSON_GetArraySize(widths);
    if (out->stages < 1 || out->stages > DIT_ROWS_STAGES)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "decoder_block_out_channels has no 1 to %d entries",
                             DIT_ROWS_STAGES);
    DIT_TRY(read_reversed(doc, config, at, "decoder_block_out_channels", 1, out->stages, out->widths));
    DIT_TRY(read_reversed(doc, config, at, "decoder_layers_per_block", 1, out->stages, out->layers));
    out->ups = out->stages - 1;
    out->whole = dc_stages_with_attention(config, out->stages);
    return DIT_OK;
}

/* AutoencoderKL and those that are described as it is. */
static dit_status read_kl(const dit_json *doc, const cJSON *config, const char *at, dit_rows_facts *out)
{
    int64_t spatial = out->decoder == DIT_ROWS_HUNYUAN15 ? 16 : 8;
    int levels = 0;
    DIT_TRY(read_widths(doc, config, at, out));
    DIT_TRY(dit_json_optional_int(doc, config, at, "layers_per_block", 1, MAX_LAYERS, &out->resnets));
    DIT_TRY(dit_json_optional_int(doc, config, at, "norm_num_groups", 1, MAX_COUNT, &out->groups));
    DIT_TRY(dit_json_optional_int(doc, config, at, "latent_channels", 1, MAX_COUNT, &out->latent_channels));
    DIT_TRY(dit_json_optional_int(doc, config, at, "out_channels", 1, MAX_COUNT, &out->image_channels));
    out->resnets++;
    out->ups = out->stages - 1;
    if (out->decoder == DIT_ROWS_KL) return DIT_OK;
    DIT_TRY(dit_json_optional_int(doc, config, at, "temporal_compression_ratio", 1, MAX_COUNT, &out->temporal));
    while (out->temporal >> (levels + 1)) levels++;
    out->doubles = ((1U << levels) - 1) & ((1U << out->ups) - 1);
    if (out->decoder == DIT_ROWS_COGVIDEOX) return DIT_OK;
    DIT_TRY(dit_json_optional_int(doc, config, at, "spatial_compression_ratio", 1, MAX_COUNT, &spatial));
    for (out->ups = 0; spatial >> (out->ups + 1) && out->ups < out->stages; out->ups++) continue;
    if (out->decoder == DIT_ROWS_HUNYUAN15) {
        if (out->ups == out->stages) out->ups--; /* which the engine refuses */
        out->doubles = ((1U << levels) - 1) & ((1U << out->ups) - 1);
        out->groups = 0;
        return dit_json_optional_bool(doc, config, at, "upsample_match_channel", &out->matches);
    }
    out->doubles = out->stages > 2 ? 3U << (out->stages - 3) : 0; /* the two before the last stage */
    return DIT_OK;
}

const char *const *dit_decode_splits(void)
{
    static const char *const words[DIT_SPLIT_COUNT + 1] = {"rows", "frames", NULL};
    return words;
}

dit_status dit_rows_read_split(const dit_json *doc, const cJSON *vae, const char *pointer, dit_decode_split *out)
{
    const char *word = dit_decode_splits()[DIT_SPLIT_ROWS];
    char at[256];
    DIT_TRY(dit_json_optional_string(doc, vae, pointer, "split", &word));
    int found = dit_words_find(dit_decode_splits(), word);
    dit_json_pointer_join(at, sizeof at, pointer, "split");
    if (found < 0) return dit_json_fail_word(doc, at, "split", word, dit_decode_splits());
    *out = (dit_decode_split)found;
    return DIT_OK;
}

dit_status dit_rows_read(const dit_json *doc, const cJSON *vae, const char *pointer, dit_rows_facts *out)
{
    char at[256];
    const cJSON *config;
    memset(out, 0, sizeof *out);
    snprintf(at, sizeof at, "%s/config", pointer);
    DIT_TRY(dit_json_require_object(doc, vae, pointer, "config", &config));
    DIT_TRY(read_class(doc, config, at, out));
    out->image_channels = 3;
    if (out->decoder == DIT_ROWS_PIXELS)
        DIT_TRY(read_pixels(doc, config, at, out));
    else if (out->decoder == DIT_ROWS_WAN)
        DIT_TRY(read_wan(doc, config, at, out));
    else if (out->decoder == DIT_ROWS_LTX)
        DIT_TRY(read_ltx(doc, config, at, out));
    else if (out->decoder == DIT_ROWS_MOCHI)
        DIT_TRY(read_mochi(doc, config, at, out));
    else if (out->decoder == DIT_ROWS_DC)
        DIT_TRY(read_dc(doc, config, at, out));
    else
        DIT_TRY(read_kl(doc, config, at, out));
    DIT_TRY(dit_rows_read_split(doc, vae, pointer, &out->split));
    return dit_json_optional_bool(doc, vae, pointer, "tiling", &out->tiling);
}

void dit_rows_resize(dit_rows_facts *f, int64_t height_px, int64_t width_px, int64_t num_frames, int64_t pictures)
{
    f->pictures = pictures;
    f->frames = (num_frames - 1) / f->temporal + 1;
    int64_t patch = f->patch ? f->patch : 1;
    f->height = (height_px / patch) >> f->ups;
    f->width = (width_px / patch) >> f->ups;
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
    int64_t moments; /* doubles that norms of single frames reduce */
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

/* Returns how many frames a stage makes of `frames`. `begins`: the first frame of the video is among them. */
static int64_t double_frames(const dit_rows_facts *f, int64_t frames, bool begins)
{
    if (f->decoder == DIT_ROWS_COGVIDEOX) return frames * 2 - frames % 2; /* the first of an odd number stays single */
    if (f->decoder == DIT_ROWS_WAN || f->decoder == DIT_ROWS_HUNYUAN15) return begins ? frames : frames * 2;
    return frames * 2 - 1;
}

/* Adds what lies between two stages; channels and frames are those after it. CogVideoX and HunyuanVideo 1.5 double the frames after
 * their convolution. */
static void add_upsampling(const dit_rows_facts *f, int stage, bool begins, int64_t width, int64_t *channels,
                           int64_t *frames, tally *t)
{
    int64_t doubled = f->doubles >> stage & 1 ? double_frames(f, *frames, begins) : *frames;
    if (stage >= f->ups && !(f->doubles >> stage & 1)) return;
    bool behind = f->decoder == DIT_ROWS_COGVIDEOX || f->decoder == DIT_ROWS_HUNYUAN15;
    add_convolution(t, behind ? *frames : doubled, width, *channels);
    *frames = doubled;
    if (f->matches) *channels = f->widths[stage + 1];
    if (f->decoder == DIT_ROWS_WAN && !f->residual) *channels /= 2;
}

/* Adds what is decoded together: one frame, or a chunk of a video. Returns how many frames it becomes. */
static int64_t add_chunk(const dit_rows_facts *f, int64_t frames, bool begins, tally *t)
{
    int64_t width = f->width, channels = f->widths[0];
    bool whole = f->decoder == DIT_ROWS_COGVIDEOX; /* also the middle is shared */
    if (whole) add_convolution(t, frames, width, f->latent_channels);
    for (int i = 0; whole && i < MID_RESNETS; i++) add_resnet(t, frames, width, channels, channels);
    for (int stage = 0; stage < f->stages; stage++) {
        for (int64_t i = 0; i < f->resnets; i++) {
            add_resnet(t, frames, width, channels, f->widths[stage]);
            channels = f->widths[stage];
        }
        add_upsampling(f, stage, begins, width, &channels, &frames, t);
        if (stage < f->ups) width *= 2;
    }
    t->norms++;
    add_convolution(t, frames, width, channels);
    if (!f->groups) t->norms = 0; /* they see one position each */
    return frames;
}

int64_t dit_chunk_latents(dit_rows_decoder decoder, int64_t frames, int64_t first)
{
    enum { PAIR = 2 };
    if (decoder != DIT_ROWS_COGVIDEOX && decoder != DIT_ROWS_MOCHI) return 1;
    int64_t chunk = first == 0 && frames % PAIR ? PAIR + 1 : PAIR;
    return chunk < frames - first ? chunk : frames - first;
}

int64_t dit_rows_hunyuan_tile(int64_t frames, int64_t first)
{
    int64_t left = frames - first;
    if (frames <= DIT_HUNYUAN_TILE) return first ? 0 : frames;
    if (first && left <= 1) return 0;
    return left < DIT_HUNYUAN_TILE + 1 ? left : DIT_HUNYUAN_TILE + 1;
}

/* Adds the tiles in time; returns how many frames they become. */
static int64_t add_tiles(const dit_rows_facts *f, tally *t)
{
    for (int64_t first = 0; first < f->frames; first += DIT_HUNYUAN_STEP) {
        int64_t frames = dit_rows_hunyuan_tile(f->frames, first);
        if (frames) add_chunk(f, frames, true, t);
    }
    return (f->frames - 1) * f->temporal + 1;
}

/* Adds LTX-Video's blocks over all frames. Its norms send nothing. Returns how many frames they become. */
static int64_t add_ltx(const dit_rows_facts *f, tally *t)
{
    int64_t frames = f->frames, width = f->width, channels = f->widths[0];
    add_convolution(t, frames, width, f->latent_channels);
    for (int64_t i = 0; i < f->layers[0]; i++) add_resnet(t, frames, width, channels, channels);
    for (int stage = 0; stage < f->stages; stage++) {
        int64_t in = channels / f->factors[stage];
        channels = f->widths[stage] / f->factors[stage];
        if (in != channels) add_resnet(t, frames, width, in, channels);
        if (f->doubles >> stage & 1) {
            add_convolution(t, frames, width, f->widths[stage]);
            frames = frames * 2 - 1, width *= 2;
        }
        for (int64_t i = 0; i < f->layers[stage + 1]; i++) add_resnet(t, frames, width, channels, channels);
    }
    add_convolution(t, frames, width, channels);
    t->norms = 0;
    return frames;
}

/* Adds a chunk of Mochi's, whose norms reduce the moments of each frame. Returns how many frames it becomes. */
static int64_t add_mochi(const dit_rows_facts *f, int64_t frames, bool begins, tally *t)
{
    int64_t width = f->width;
    for (int i = 0; i < f->stages + 2; i++) {
        int64_t channels = f->widths[i ? i - 1 : 0];
        for (int64_t j = 0; j < f->layers[i]; j++) {
            add_resnet(t, frames, width, channels, channels);
            t->moments += 2 * (2 * f->groups * frames + 1);
        }
        if (i > 0 && i <= f->stages) frames *= f->factors[i - 1], width *= 2;
    }
    return begins ? frames - f->temporal + 1 : frames;
}

/* Adds AutoencoderDC's stages behind the cut. Its norms send nothing. */
static void add_dc(const dit_rows_facts *f, tally *t)
{
    for (int stage = f->whole; stage < f->stages; stage++) {
        if (stage > 0) add_convolution(t, 1, f->width << (stage - 1), f->widths[stage - 1]);
        for (int64_t i = 0; i < 2 * f->layers[stage]; i++) add_convolution(t, 1, f->width << stage, f->widths[stage]);
    }
    add_convolution(t, 1, f->width << f->ups, f->widths[f->stages - 1]);
}

/* Adds all frames of one image or video; returns how many frames it becomes. */
static int64_t add_clip(const dit_rows_facts *f, tally *t)
{
    int64_t out = 0, frames;
    if (f->decoder == DIT_ROWS_PIXELS) return f->frames;
    if (f->decoder == DIT_ROWS_HUNYUAN) return add_tiles(f, t);
    if (f->decoder == DIT_ROWS_LTX) return add_ltx(f, t);
    for (int64_t i = 0; i < f->frames && f->decoder == DIT_ROWS_DC; i++) add_dc(f, t);
    if (f->decoder == DIT_ROWS_DC) return f->frames;
    for (int64_t first = 0; first < f->frames; first += frames) {
        frames = dit_chunk_latents(f->decoder, f->frames, first);
        bool mochi = f->decoder == DIT_ROWS_MOCHI;
        out += mochi ? add_mochi(f, frames, first == 0, t) : add_chunk(f, frames, first == 0, t);
    }
    return out;
}

void dit_rows_predict(const dit_rows_facts *f, int degree, int rank, dit_volume_table *out)
{
    dit_volume(*at)[DIT_PHASE_COUNT] = out->at[DIT_AXIS_WORLD];
    int64_t first, others = degree - 1, neighbours = (rank > 0) + (rank < degree - 1), up = f->ups;
    int64_t element_bytes = f->element_bytes ? f->element_bytes : PICTURE_BYTES;
    tally t = {0};
    memset(out, 0, sizeof *out);
    if (degree <= 1) return;
    int64_t planes = f->image_channels * add_clip(f, &t) * f->pictures;
    int64_t moments = t.moments ? t.moments : t.norms * (2 * f->groups + 1);
    int64_t patch = f->patch ? f->patch : 1, share = dit_rows_share(f->height, degree, rank, &first);
    int64_t share_bytes = ((share * patch) << up) * ((f->width * patch) << up) * PICTURE_BYTES;
    at[DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_DECODE] = (dit_volume){
        f->pictures * neighbours * t.edge_floats * element_bytes, f->pictures * neighbours * t.convolutions};
    at[DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_DECODE] =
        (dit_volume){f->pictures * others * moments * MOMENT_BYTES, f->pictures * others * t.norms};
    at[DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_DECODE] = (dit_volume){others * planes * share_bytes, others * planes};
}
