/* Lumina-Image 2.0: refiners of image and text, then single-stream blocks over both; k and v have fewer heads than q.
 * Source: parameter names and arithmetic of diffusers 0.42.1 Lumina2Transformer2DModel (Lumina-Image 2.0,
 * arXiv:2503.21758). The arithmetic is in nextdit.c.
 *
 * The library takes as many rows of a text as its mask keeps, from the first on, and hides the masked ones in the text's
 * refiners alone. Tokenizers put the padding last, where both are the same.
 */
#include "engine/models/nextdit.h"

/* The timestep's embedding is at most so wide. */
enum { MOST_CONDITION = 1024 };
static const double THETA = 10000;

typedef struct {
    int64_t C, layers, refiners, heads, kv_heads, channels, out_channels, text_dim, patch, multiple, axes[NEXTDIT_AXES];
    double norm_eps, mlp_factor;
} lumina_config;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(lumina_config, C, "hidden_size", 2304, 1, 65536),
    DIT_CONFIG_INT(lumina_config, layers, "num_layers", 26, 0, 1000),
    DIT_CONFIG_INT(lumina_config, refiners, "num_refiner_layers", 2, 0, 1000),
    DIT_CONFIG_INT(lumina_config, heads, "num_attention_heads", 24, 1, 1024),
    DIT_CONFIG_INT(lumina_config, kv_heads, "num_kv_heads", 8, 1, 1024),
    DIT_CONFIG_INT(lumina_config, channels, "in_channels", 16, 1, 4096),
    DIT_CONFIG_INT(lumina_config, out_channels, "out_channels", 0, 1, 4096),
    DIT_CONFIG_INT(lumina_config, text_dim, "cap_feat_dim", 1024, 1, 65536),
    DIT_CONFIG_INT(lumina_config, patch, "patch_size", 2, 1, 16),
    DIT_CONFIG_INT(lumina_config, multiple, "multiple_of", 256, 1, 65536),
    DIT_CONFIG_NUMBER(lumina_config, mlp_factor, "ffn_dim_multiplier", 1, 1e-3, 1000),
    DIT_CONFIG_NUMBER(lumina_config, norm_eps, "norm_eps", 1e-5, 0, 1),
    DIT_CONFIG_END,
};

/* Positions beyond axes_lens have no angles in the library; ours have. */
static dit_status read_config(const dit_config *config, lumina_config *c)
{
    static const int64_t usual[NEXTDIT_AXES] = {32, 32, 32};
    DIT_TRY(dit_config_read(config, fields, c));
    if (c->out_channels && c->out_channels != c->channels)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "out_channels %lld differ from in_channels %lld: a prediction has those of its latents",
                        (long long)c->out_channels, (long long)c->channels);
    if (c->C % c->heads)
        return DIT_FAIL(DIT_ERR_SHAPE, "hidden_size %lld is not divisible by num_attention_heads %lld", (long long)c->C,
                        (long long)c->heads);
    if (c->heads % c->kv_heads)
        return DIT_FAIL(DIT_ERR_SHAPE, "num_attention_heads %lld is not divisible by num_kv_heads %lld",
                        (long long)c->heads, (long long)c->kv_heads);
    return embed_read_rope_widths(config, "axes_dim_rope", NEXTDIT_AXES, usual, c->C / c->heads, c->axes);
}

static dit_status lumina2_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    lumina_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.heads, sizes->head_dim = c.C / c.heads;
    sizes->blocks[0] = c.refiners, sizes->blocks[1] = c.layers;
    facts->latent =
        (dit_latent){.channels = c.channels, .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = c.patch};
    return DIT_OK;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static const nextdit_names names = {
    .attention = "attn",
    .gate = "feed_forward.linear_1",
    .value = "feed_forward.linear_3",
    .down = "feed_forward.linear_2",
    .norms = {"norm1.norm", "norm2", "ffn_norm1", "ffn_norm2"},
    .unmodulated_norm = "norm1",
    .modulation = "norm1.linear",
    .time = {"time_caption_embed.timestep_embedder.linear_1", "time_caption_embed.timestep_embedder.linear_2"},
    .text_norm = "time_caption_embed.caption_embedder.0.weight",
    .text_in = "time_caption_embed.caption_embedder.1",
    .image_in = "x_embedder",
    .head = "norm_out.linear_2",
    .head_scale = "norm_out.linear_1",
};

/* The MLP is four times as wide as the model, times a factor, and then rounded up. */
static int64_t inner_of(const lumina_config *c)
{
    int64_t wide = (int64_t)(c->mlp_factor * (double)(4 * c->C));
    return (wide + c->multiple - 1) / c->multiple * c->multiple;
}

static dit_status lumina2_create(const dit_model_params *params, dit_model *model)
{
    lumina_config c;
    DIT_TRY(read_config(&params->config, &c));
    const nextdit settings = {
        .names = names,
        .H = c.heads,
        .kv_heads = c.kv_heads,
        .D = c.C / c.heads,
        .inner = inner_of(&c),
        .refiners = c.refiners,
        .layers = c.layers,
        .channels = c.channels,
        .patch = c.patch,
        .text_dim = c.text_dim,
        .condition_width = c.C < MOST_CONDITION ? c.C : MOST_CONDITION,
        .time_width = c.C < MOST_CONDITION ? c.C : MOST_CONDITION,
        .axes = {c.axes[0], c.axes[1], c.axes[2]},
        .theta = THETA,
        .norm_eps = (float)c.norm_eps,
        .time_unit = 1.0f,
        .qk_norm = true,
        .activates_condition = true,
        .keeps_places = true,
    };
    return nextdit_create(params, model, &settings);
}

const dit_model_ops dit_model_lumina2 = {
    .class_name = "Lumina2Transformer2DModel",
    .read_facts = lumina2_read_facts,
    .create = lumina2_create,
    NEXTDIT_ENTRIES,
};
