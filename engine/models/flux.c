/* FLUX.1 (dev, schnell, Fill, Depth, Canny): double-stream blocks, then single-stream blocks, joint attention, rotary
 * positions. Fill, Depth and Canny have more input than output channels: what stands beside a token of the latent is a
 * condition, of the picture to fill and its mask, or of a map.
 * Source: parameter names and arithmetic of diffusers 0.33.1 FluxTransformer2DModel (Black Forest Labs, FLUX.1).
 */
#include "engine/models/flux_stack.h"

enum { AXES = 3 };

typedef struct {
    int64_t doubles, singles, H, D, in_channels, out_channels, text_dim, pooled_dim, patch, axes[AXES];
    bool guidance_embeds;
} flux_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(flux_config, doubles, "num_layers", 19, 0, 1000),
    DIT_CONFIG_INT(flux_config, singles, "num_single_layers", 38, 0, 1000),
    DIT_CONFIG_INT(flux_config, H, "num_attention_heads", 24, 1, 1024),
    DIT_CONFIG_INT(flux_config, D, "attention_head_dim", 128, 1, 1024),
    DIT_CONFIG_INT(flux_config, in_channels, "in_channels", 64, 1, 4096),
    DIT_CONFIG_INT(flux_config, out_channels, "out_channels", 0, 1, 4096),
    DIT_CONFIG_INT(flux_config, text_dim, "joint_attention_dim", 4096, 1, 65536),
    DIT_CONFIG_INT(flux_config, pooled_dim, "pooled_projection_dim", 768, 1, 65536),
    DIT_CONFIG_INT(flux_config, patch, "patch_size", 1, 1, 16),
    DIT_CONFIG_BOOL(flux_config, guidance_embeds, "guidance_embeds", false),
    DIT_CONFIG_END,
};

static dit_status read_config(const dit_config *config, flux_config *c, dit_latent *latent)
{
    DIT_TRY(dit_config_read(config, fields, c));
    if (c->out_channels == 0) c->out_channels = c->in_channels;
    DIT_TRY(flux_latent(c->patch, c->in_channels, latent)); /* what stands beside the latent is packed as well */
    DIT_TRY(flux_latent(c->patch, c->out_channels, latent));
    if (c->in_channels < c->out_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "in_channels %lld below out_channels %lld", (long long)c->in_channels,
                        (long long)c->out_channels);
    return embed_read_rope_widths(config, "axes_dims_rope", AXES, (const int64_t[]){16, 56, 56}, c->D, c->axes);
}

static dit_status flux_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    flux_config c;
    DIT_TRY(read_config(config, &c, &facts->latent));
    sizes->heads = c.H, sizes->head_dim = c.D;
    sizes->blocks[0] = c.doubles, sizes->blocks[1] = c.singles;
    facts->picture_channels = c.in_channels - c.out_channels;
    return DIT_OK;
}

static dit_status flux_create(const dit_model_params *params, dit_model *model)
{
    flux_config c;
    dit_latent latent;
    void *state;
    DIT_TRY(read_config(&params->config, &c, &latent));
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(flux_stack), &state));
    flux_stack *m = model->state = state;
    *m = (flux_stack){.reference_id = 1,
                      .doubles = c.doubles,
                      .singles = c.singles,
                      .in_channels = c.in_channels,
                      .out_channels = c.out_channels,
                      .text_dim = c.text_dim,
                      .axis_count = AXES,
                      .axes = {c.axes[0], c.axes[1], c.axes[2]},
                      .theta = 10000,
                      .time_name = "time_text_embed",
                      .time = {.batch = params->partition.batch,
                               .text_dim = c.pooled_dim,
                               .width = c.H * c.D,
                               .unit = 1000.0f,
                               .guided = c.guidance_embeds},
                      .j = {.H = c.H, .D = c.D, .inner = 4 * c.H * c.D, .eps = 1e-6f, .qk_norm = true}};
    DIT_TRY(joint_create(model, &m->j));
    return flux_stack_create(params, model);
}

const dit_model_ops dit_model_flux = {
    .class_name = "FluxTransformer2DModel",
    .layout = DIT_LATENT_PACKED,
    .read_facts = flux_read_facts,
    .create = flux_create,
    .prepare = flux_stack_prepare,
    .begin = flux_stack_begin,
    .embed = flux_stack_embed,
    .attention_input = flux_stack_attention_input,
    .block = flux_stack_block,
    .head = flux_stack_head,
};
