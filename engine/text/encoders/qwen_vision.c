/* What sees pictures in Qwen2.5-VL: patches of a picture of any size, rotary positions by row and column, RMS norms, a gated SiLU,
 * attention within windows but for some blocks, and layers that make one embedding of two by two patches.
 * Source: parameter names and arithmetic of transformers 5.23.0 Qwen2_5_VisionTransformerPretrainedModel; Qwen2.5-VL Technical
 * Report (arXiv:2502.13923). */
#include "engine/text/encoders/encoder_impl.h"

#include <math.h>
#include <stdio.h>

static const double EPS = 1e-6,
                    THETA = 10000; /* constants of the class; newer releases write the second into configs */

typedef struct {
    int64_t layers, width, heads, inner, patch, copies, merge, window, out_width;
} vision_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(vision_config, layers, "depth", 32, 1, TEXT_MOST_WINDOWS),
    DIT_CONFIG_INT(vision_config, width, "hidden_size", 3584, 1, 65536),
    DIT_CONFIG_INT(vision_config, heads, "num_heads", 16, 1, 1024),
    DIT_CONFIG_INT(vision_config, inner, "intermediate_size", 3420, 1, 1 << 20),
    DIT_CONFIG_INT(vision_config, patch, "patch_size", 14, 1, 1024),
    DIT_CONFIG_INT(vision_config, copies, "temporal_patch_size", 2, 1, 16),
    DIT_CONFIG_INT(vision_config, merge, "spatial_merge_size", 2, 1, 16),
    DIT_CONFIG_INT(vision_config, window, "window_size", 112, 1, 1 << 20),
    DIT_CONFIG_INT(vision_config, out_width, "out_hidden_size", 3584, 1, 65536),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {{"in_channels", "3"}, {"in_chans", "3"}, {0}};

/* Reads which blocks see the whole picture. */
static dit_status read_whole(const dit_config *config, int64_t layers, text_shape *out)
{
    enum { MOST = 64 };
    int64_t blocks[MOST] = {7, 15, 23, 31};
    int count = -1;
    DIT_TRY(dit_config_read_ints(config, "fullatt_block_indexes", 0, 1000, MOST, blocks, &count));
    if (count < 0) count = 4;
    for (int i = 0; i < count; i++)
        if (blocks[i] < layers) out->sees_all[blocks[i]] = true;
    return DIT_OK;
}

static dit_status read_vision(const dit_config *config, text_shape *out)
{
    vision_config c;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, &c));
    if (c.width % c.heads || c.width / c.heads % 4)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s: %lld heads of %lld channels: a head's channels must be whole fours",
                        config->pointer, (long long)c.heads, (long long)c.width);
    if (c.window / c.merge / c.patch < 1)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s: a window of %lld pixels has no %lld x %lld patches of %lld",
                        config->pointer, (long long)c.window, (long long)c.merge, (long long)c.merge,
                        (long long)c.patch);
    *out = (text_shape){.norm = DIT_NORM_RMS,
                        .eps = EPS,
                        .gated = true,
                        .biases = true,
                        .qkv_biases = true,
                        .theta = THETA,
                        .paired_axes = true,
                        .copies = c.copies,
                        .window_side = c.window / c.merge / c.patch};
    out->facts = (dit_text_encoder_facts){.layers = c.layers,
                                          .width = c.width,
                                          .heads = c.heads,
                                          .key_heads = c.heads,
                                          .head_dim = c.width / c.heads,
                                          .inner = c.inner,
                                          .patch = c.patch,
                                          .merge = c.merge,
                                          .out_width = c.out_width};
    DIT_TRY(read_whole(config, c.layers, out));
    return text_activation_read(config, "silu", out);
}

static dit_status read_config(const dit_config *config, text_shape *out)
{
    const cJSON *object = NULL;
    char at[256];
    DIT_TRY(dit_json_require_object(config->doc, config->object, config->pointer, "vision_config", &object));
    dit_json_pointer_join(at, sizeof at, config->pointer, "vision_config");
    return read_vision(&(dit_config){config->doc, object, at}, out);
}

const text_class text_qwen25_vision = {
    .architectures = {"Qwen2_5_VisionTransformerPretrainedModel"},
    .model_type = "qwen2_5_vl_vision",
    .prefixes = {"visual.", "model.visual.", ""},
    .names =
        {
            .tokens = {"patch_embed.proj.weight"},
            .patches = "patch_embed.proj",
            .block = "blocks.",
            .qkv_fused = "attn.qkv",
            .out = "attn.proj",
            .norms = {"norm1", "norm2"},
            .in = {"mlp.gate_proj", "mlp.up_proj"},
            .down = "mlp.down_proj",
            .final_norm = "merger.ln_q",
            .merge_in = "merger.mlp.0",
            .merge_out = "merger.mlp.2",
        },
    .read = read_config,
};
