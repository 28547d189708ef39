#include "engine/vae/ltx_encoder.h"

#include <stdio.h>
#include <string.h>

enum { CELL = 2 }; /* frames, rows and columns of a cell */
static const int64_t kernel[3] = {3, 3, 3};

/* ---- config ------------------------------------------------------------------------------------------------------ */

/* What the config says of the encoder; lists go from fine to coarse. */
typedef struct {
    int64_t in_channels, latent_channels, patch;
    bool causal, later; /* later: blocks of 0.9.5, which have a width more */
    int64_t widths[LTX_ENCODER_STAGES + 1], layers[LTX_ENCODER_STAGES + 1]; /* the last are those of the middle block */
    int width_count, stages;
    bool scales[LTX_ENCODER_STAGES];
} encoder_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(encoder_config, in_channels, "in_channels", 3, 1, 64),
    DIT_CONFIG_INT(encoder_config, latent_channels, "latent_channels", 128, 1, 4096),
    DIT_CONFIG_INT(encoder_config, patch, "patch_size", 4, 1, 64),
    DIT_CONFIG_BOOL(encoder_config, causal, "encoder_causal", true),
    DIT_CONFIG_END,
};

static dit_status read_scales(const dit_config *config, encoder_config *c)
{
    static const char key[] = "spatio_temporal_scaling";
    const cJSON *list = NULL, *item;
    int i = 0;
    DIT_TRY(dit_json_optional_array(config->doc, config->object, config->pointer, key, &list));
    if (!list) return DIT_OK;
    cJSON_ArrayForEach(item, list) if (i < LTX_ENCODER_STAGES) c->scales[i++] = cJSON_IsTrue(item);
    if (i >= c->stages) return DIT_OK;
    return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE, "%s has %d entries for %d blocks", key, i,
                         c->stages);
}

static dit_status read_config(const dit_config *config, encoder_config *c)
{
    int layers = 5;
    const char *last;
    *c = (encoder_config){.widths = {128, 256, 512, 512}, .layers = {4, 3, 3, 3, 4}, .width_count = 4};
    for (int i = 0; i < 3; i++) c->scales[i] = true;
    DIT_TRY(dit_config_read(config, fields, c));
    int count = -1;
    DIT_TRY(dit_config_read_ints(config, "block_out_channels", 1, 16384, LTX_ENCODER_STAGES + 1, c->widths, &count));
    if (count >= 0) c->width_count = count;
    DIT_TRY(dit_config_word_at(config, "down_block_types", c->width_count - 1, &last));
    if (!last) DIT_TRY(dit_config_word_at(config, "down_block_types", 0, &last));
    c->later = last && strcmp(last, "LTXVideo095DownBlock3D") == 0;
    c->stages = c->width_count - c->later;
    count = -1;
    DIT_TRY(dit_config_read_ints(config, "layers_per_block", 1, 64, LTX_ENCODER_STAGES + 1, c->layers, &count));
    if (count >= 0) layers = count;
    if (c->stages < 1 || c->stages > LTX_ENCODER_STAGES || layers < c->stages + 1)
        return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE,
                             "layers_per_block has %d entries; an encoder of %d blocks needs one more", layers,
                             c->stages);
    c->layers[c->stages] = c->layers[layers - 1];
    return read_scales(config, c);
}

/* Returns what a stage gives to the next one. */
static int64_t width_behind(const encoder_config *c, int i)
{
    return c->later || i + 1 < c->stages ? c->widths[i + 1] : c->widths[i];
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* The words of downsample_type whose cells become channels, and their frames, rows and columns. */
static const struct {
    const char *word;
    int64_t time, space;
} folds[] = {{"spatial", 1, CELL}, {"temporal", CELL, 1}, {"spatiotemporal", CELL, CELL}};

static dit_status load_fold(const vae_loader *l, const char *name, int64_t in, int64_t out, int which,
                            ltx_encoder_stage *stage)
{
    int64_t time = folds[which].time, space = folds[which].space, each = out / (time * space * space);
    if (!each || out % (time * space * space))
        return DIT_FAIL(DIT_ERR_SHAPE, "%s: %lld channels are no whole number of cells", name, (long long)out);
    stage->down = LTX_FOLDS;
    DIT_TRY(vae_load_conv(l, in, each, kernel, &stage->conv, "%s.conv.conv", name));
    DIT_TRY(vae_make_shortcut(l, each, out, time, space, true, &stage->fold));
    return vae_make_shortcut(l, in, out, time, space, true, &stage->mean);
}

/* Loads the change of resolution behind stage i; spatial and temporal get what it makes of them. */
static dit_status load_down(const vae_loader *l, const dit_config *config, const encoder_config *c, int i,
                            ltx_encoder_stage *stage, int64_t *spatial, int64_t *temporal)
{
    char name[80];
    const char *word = NULL;
    int64_t in = c->widths[i], out = width_behind(c, i);
    if (!c->scales[i]) return DIT_OK;
    if (c->later) DIT_TRY(dit_config_word_at(config, "downsample_type", i, &word));
    snprintf(name, sizeof name, "encoder.down_blocks.%d.downsamplers.0", i);
    for (int which = 0; word && which < 3; which++)
        if (strcmp(word, folds[which].word) == 0) {
            *spatial *= folds[which].space, *temporal *= folds[which].time;
            return load_fold(l, name, in, out, which, stage);
        }
    if (word && strcmp(word, "conv") != 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "downsample_type has %.80s; conv, spatial, temporal and spatiotemporal are built", word);
    *spatial *= CELL, *temporal *= CELL;
    stage->down = LTX_STRIDES;
    DIT_TRY(vae_load_conv(l, in, in, kernel, &stage->conv, "%s.conv", name));
    stage->conv.step = CELL;
    return DIT_OK;
}

static dit_status load_stage(const vae_loader *l, const dit_config *config, const encoder_config *c, int i,
                             ltx_encoder_stage *stage, int64_t *spatial, int64_t *temporal)
{
    char prefix[64], name[80];
    const ltx_module module = {.l = l};
    int64_t in = c->widths[i], out = width_behind(c, i);
    snprintf(prefix, sizeof prefix, "encoder.down_blocks.%d", i);
    snprintf(name, sizeof name, "%s.conv_out", prefix);
    DIT_TRY(ltx_load_chain(&module, prefix, in, c->layers[i], &stage->chain));
    DIT_TRY(load_down(l, config, c, i, stage, spatial, temporal));
    if (c->later && in != out && stage->down != LTX_FOLDS)
        return DIT_FAIL(DIT_ERR_SHAPE, "block %d of the encoder cannot lead %lld channels to %lld", i, (long long)in,
                        (long long)out);
    stage->has_out = !c->later && in != out;
    return stage->has_out ? ltx_load_resnet(&module, name, in, out, &stage->out) : DIT_OK;
}

dit_status ltx_load_encoder(const vae_loader *loader, const dit_config *config, int64_t spatial, int64_t temporal,
                            ltx_encoder *e)
{
    encoder_config c;
    vae_loader l = *loader;
    const ltx_module module = {.l = &l};
    DIT_TRY(read_config(config, &c));
    l.centred = !c.causal;
    *e = (ltx_encoder){.patch = c.patch, .latent_channels = c.latent_channels, .stages = c.stages};
    int64_t own_spatial = c.patch, own_temporal = 1, last = width_behind(&c, c.stages - 1);
    DIT_TRY(
        vae_load_conv(&l, c.in_channels * c.patch * c.patch, c.widths[0], kernel, &e->conv_in, "encoder.conv_in.conv"));
    for (int i = 0; i < c.stages; i++)
        DIT_TRY(load_stage(&l, config, &c, i, &e->stage[i], &own_spatial, &own_temporal));
    if (own_spatial != spatial || own_temporal != temporal)
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "the encoder makes a latent of %lld pixels and %lld frames, the decoder of %lld and %lld",
                        (long long)own_spatial, (long long)own_temporal, (long long)spatial, (long long)temporal);
    DIT_TRY(ltx_load_chain(&module, "encoder.mid_block", last, c.layers[c.stages], &e->middle));
    return vae_load_conv(&l, last, c.latent_channels + 1, kernel, &e->conv_out, "encoder.conv_out.conv");
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

/* Puts `more` copies of the first frame before x, into another slot. */
static vae_tensor begin_earlier(const ltx_walk *w, vae_tensor x, int64_t more)
{
    vae_memory *m = w->walk.memory;
    vae_tensor y = x;
    int64_t frame = x.height * x.width * x.channels;
    if (!more) return x;
    y.slot = vae_other_slot(x.slot, -1), y.frames += more;
    float *to = vae_tensor_data(m, &y);
    const float *from = vae_tensor_data(m, &x);
    for (int64_t t = 0; t < more && !m->planning; t++) dit_runtime_copy(m->rt, from, frame, to + t * frame);
    if (!m->planning) dit_runtime_copy(m->rt, from, x.frames * frame, to + more * frame);
    return y;
}

static vae_tensor fold(const ltx_walk *w, ltx_encoder_stage *stage, vae_tensor x)
{
    vae_tensor whole = begin_earlier(w, x, stage->fold.time - 1);
    int a = vae_other_slot(whole.slot, -1), b = vae_other_slot(whole.slot, a);
    vae_tensor y = vae_conv_forward(&w->walk, &stage->conv, VAE_CONV_PLAIN, whole, a);
    y = vae_shortcut_reduce(&w->walk, &stage->fold, y, b);
    vae_shortcut_add(&w->walk, &stage->mean, whole, false, y);
    return y;
}

/* Copies the planes of one channel to those behind it. */
static void repeat_channel(vae_planes planes, int64_t channels, vae_extents size)
{
    for (int64_t c = 1; c < channels && planes.data; c++)
        for (int64_t t = 0; t < size.frames; t++)
            for (int64_t y = 0; y < size.height; y++) {
                const float *from = planes.data + t * planes.frame + y * planes.row;
                memcpy(planes.data + c * planes.channel + t * planes.frame + y * planes.row, from,
                       (size_t)size.width * sizeof *from);
            }
}

dit_status ltx_walk_encoder(ltx_walk *w, ltx_encoder *e, vae_source image, vae_extents clip, vae_planes mean,
                            vae_planes logvar)
{
    vae_memory *m = w->walk.memory;
    vae_tensor x = {0, clip.frames, clip.height / e->patch, clip.width / e->patch, e->conv_in.in, false};
    DIT_TRY(vae_patches_from_planes(m, image, 0, e->patch, x));
    x = vae_conv_forward(&w->walk, &e->conv_in, VAE_CONV_PLAIN, x, 1);
    for (int i = 0; i < e->stages; i++) {
        ltx_encoder_stage *stage = &e->stage[i];
        x = ltx_chain_forward(w, &stage->chain, x);
        if (stage->down == LTX_STRIDES)
            x = vae_conv_forward(&w->walk, &stage->conv, VAE_CONV_HALVE, x, vae_other_slot(x.slot, -1));
        else if (stage->down == LTX_FOLDS)
            x = fold(w, stage, x);
        if (stage->has_out) x = ltx_resnet_forward(w, &stage->out, x);
    }
    x = ltx_chain_forward(w, &e->middle, x);
    x = ltx_norm_forward(w, NULL, x, x.slot);
    x = vae_conv_forward(&w->walk, &e->conv_out, VAE_CONV_PLAIN, x, vae_other_slot(x.slot, -1));
    DIT_TRY(vae_to_planes(m, x, 0, e->latent_channels, mean, 0));
    DIT_TRY(vae_to_planes(m, x, e->latent_channels, 1, logvar, 0));
    if (!m->planning && !m->rt->ledger.counting_only)
        repeat_channel(logvar, e->latent_channels, (vae_extents){x.frames, x.height, x.width});
    return DIT_OK;
}
