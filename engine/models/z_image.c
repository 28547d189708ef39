/* Z-Image: refiners of image and text, then single-stream blocks over both; sequences filled up to multiples of 32.
 * Source: parameter names and arithmetic of diffusers 0.42.1 ZImageTransformer2DModel (Tongyi-MAI, Z-Image,
 * arXiv:2511.22699).
 *
 * The library takes lists of texts and images. Here a text is its tokens that the mask keeps, one behind the other, and
 * all images of a batch have one size. The library fills up a text, and an image, with copies of a learned token, which
 * are seen like others. The arithmetic is in nextdit.c.
 */
#include "engine/models/nextdit.h"

#include <stdio.h>

enum { FREQUENCY_WIDTH = 256, TIME_WIDTH = 1024 };

typedef struct {
    int64_t dim, layers, refiners, heads, channels, text_dim, siglip_dim, patch, patch_t, axes[NEXTDIT_AXES];
    double norm_eps, theta, t_scale;
    bool qk_norm;
} z_config;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(z_config, dim, "dim", 3840, 1, 65536),
    DIT_CONFIG_INT(z_config, layers, "n_layers", 30, 0, 1000),
    DIT_CONFIG_INT(z_config, refiners, "n_refiner_layers", 2, 0, 1000),
    DIT_CONFIG_INT(z_config, heads, "n_heads", 30, 1, 1024),
    DIT_CONFIG_INT(z_config, channels, "in_channels", 16, 1, 4096),
    DIT_CONFIG_INT(z_config, text_dim, "cap_feat_dim", 2560, 1, 65536),
    DIT_CONFIG_NUMBER(z_config, norm_eps, "norm_eps", 1e-5, 0, 1),
    DIT_CONFIG_NUMBER(z_config, theta, "rope_theta", 256, 1, 1e9),
    DIT_CONFIG_NUMBER(z_config, t_scale, "t_scale", 1000, 0, 1e9),
    DIT_CONFIG_BOOL(z_config, qk_norm, "qk_norm", true),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"siglip_feat_dim", "null"},
    {0},
};

/* A model may have embeddings for several sizes of patches, of which its forward takes one; those with one are built. */
static dit_status read_patch(const dit_config *config, const char *key, int64_t usual, int64_t *out)
{
    enum { MOST = 8 };
    int64_t sizes[MOST];
    int count;
    DIT_TRY(dit_config_read_ints(config, key, 1, 16, MOST, sizes, &count));
    *out = count < 0 ? usual : sizes[0];
    return count < 0 || count == 1
               ? DIT_OK
               : DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has %d sizes, and only one is implemented", key, count);
}

/* Positions beyond axes_lens have no angles in the library; ours have. */
static dit_status read_config(const dit_config *config, z_config *c)
{
    static const int64_t usual[NEXTDIT_AXES] = {32, 48, 48};
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(read_patch(config, "all_patch_size", 2, &c->patch));
    DIT_TRY(read_patch(config, "all_f_patch_size", 1, &c->patch_t));
    if (c->patch_t != 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "all_f_patch_size %lld: only images, of one frame, are implemented",
                        (long long)c->patch_t);
    if (c->dim % c->heads)
        return DIT_FAIL(DIT_ERR_SHAPE, "dim %lld is not divisible by n_heads %lld", (long long)c->dim,
                        (long long)c->heads);
    return embed_read_rope_widths(config, "axes_dims", NEXTDIT_AXES, usual, c->dim / c->heads, c->axes);
}

static dit_status z_image_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    z_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.heads, sizes->head_dim = c.dim / c.heads;
    sizes->blocks[0] = c.refiners, sizes->blocks[1] = c.layers;
    facts->latent =
        (dit_latent){.channels = c.channels, .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = c.patch};
    return DIT_OK;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static nextdit_names names_of(const z_config *c)
{
    nextdit_names names = {
        .attention = "attention",
        .gate = "feed_forward.w1",
        .value = "feed_forward.w3",
        .down = "feed_forward.w2",
        .norms = {"attention_norm1", "attention_norm2", "ffn_norm1", "ffn_norm2"},
        .modulation = "adaLN_modulation.0",
        .time = {"t_embedder.mlp.0", "t_embedder.mlp.2"},
        .text_norm = "cap_embedder.0.weight",
        .text_in = "cap_embedder.1",
        .image_padding = "x_pad_token",
        .text_padding = "cap_pad_token",
    };
    long long patch = (long long)c->patch, patch_t = (long long)c->patch_t;
    snprintf(names.image_in, sizeof names.image_in, "all_x_embedder.%lld-%lld", patch, patch_t);
    snprintf(names.head, sizeof names.head, "all_final_layer.%lld-%lld.linear", patch, patch_t);
    snprintf(names.head_scale, sizeof names.head_scale, "all_final_layer.%lld-%lld.adaLN_modulation.1", patch, patch_t);
    return names;
}

static dit_status z_image_create(const dit_model_params *params, dit_model *model)
{
    z_config c;
    DIT_TRY(read_config(&params->config, &c));
    const nextdit settings = {
        .names = names_of(&c),
        .H = c.heads,
        .D = c.dim / c.heads,
        .inner = (int64_t)((double)c.dim / 3 * 8),
        .refiners = c.refiners,
        .layers = c.layers,
        .channels = c.channels,
        .patch = c.patch,
        .text_dim = c.text_dim,
        .condition_width = c.dim < FREQUENCY_WIDTH ? c.dim : FREQUENCY_WIDTH,
        .time_width = TIME_WIDTH,
        .axes = {c.axes[0], c.axes[1], c.axes[2]},
        .first_position = 1,
        .theta = c.theta,
        .norm_eps = (float)c.norm_eps,
        .time_unit = (float)c.t_scale,
        .qk_norm = c.qk_norm,
        .rounds_angles = true,
    };
    return nextdit_create(params, model, &settings);
}

const dit_model_ops dit_model_z_image = {
    .class_name = "ZImageTransformer2DModel",
    .read_facts = z_image_read_facts,
    .create = z_image_create,
    NEXTDIT_ENTRIES,
};
