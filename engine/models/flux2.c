/* FLUX.2 (dev, klein): double-stream blocks, then single-stream blocks, with SwiGLU and one modulation for all blocks of a
 * kind; no biases; rotary positions on four axes.
 * Source: parameter names and arithmetic of diffusers 0.42.1 Flux2Transformer2DModel (Black Forest Labs, FLUX.2).
 */
#include "engine/models/flux_stack.h"

enum { AXES = 4 };

typedef struct {
    int64_t doubles, singles, H, D, in_channels, out_channels, text_dim, sinusoid, theta, patch, axes[AXES];
    double mlp_ratio, eps;
    bool guidance_embeds;
} flux2_config;

typedef struct {
    flux_stack stack;
    dit_weights weights;                       /* without biases                              */
    dit_linear modulations[JOINT_STREAMS + 1]; /* of text, image, both; all blocks share them */
    float *shared[JOINT_STREAMS + 1];          /* [batch, chunks C] of a step                 */
} flux2;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(flux2_config, doubles, "num_layers", 8, 0, 1000),
    DIT_CONFIG_INT(flux2_config, singles, "num_single_layers", 48, 0, 1000),
    DIT_CONFIG_INT(flux2_config, H, "num_attention_heads", 48, 1, 1024),
    DIT_CONFIG_INT(flux2_config, D, "attention_head_dim", 128, 1, 1024),
    DIT_CONFIG_INT(flux2_config, in_channels, "in_channels", 128, 1, 4096),
    DIT_CONFIG_INT(flux2_config, out_channels, "out_channels", 0, 1, 4096),
    DIT_CONFIG_INT(flux2_config, text_dim, "joint_attention_dim", 15360, 1, 65536),
    DIT_CONFIG_INT(flux2_config, sinusoid, "timestep_guidance_channels", 256, 1, 4096),
    DIT_CONFIG_INT(flux2_config, theta, "rope_theta", 2000, 1, 1000000000),
    DIT_CONFIG_NUMBER(flux2_config, mlp_ratio, "mlp_ratio", 3.0, 0.01, 100),
    DIT_CONFIG_NUMBER(flux2_config, eps, "eps", 1e-6, 0, 1),
    DIT_CONFIG_INT(flux2_config, patch, "patch_size", 1, 1, 16),
    DIT_CONFIG_BOOL(flux2_config, guidance_embeds, "guidance_embeds", true),
    DIT_CONFIG_END,
};

static dit_status read_config(const dit_config *config, flux2_config *c, dit_latent *latent)
{
    DIT_TRY(dit_config_read(config, fields, c));
    if (c->out_channels == 0) c->out_channels = c->in_channels;
    if (c->sinusoid != 256)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "timestep_guidance_channels %lld: only 256 is built",
                        (long long)c->sinusoid);
    DIT_TRY(flux_latent(c->patch, c->in_channels, latent));
    return embed_read_rope_widths(config, "axes_dims_rope", AXES, (const int64_t[]){32, 32, 32, 32}, c->D, c->axes);
}

static dit_status flux2_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    flux2_config c;
    DIT_TRY(read_config(config, &c, &facts->latent));
    sizes->heads = c.H, sizes->head_dim = c.D;
    sizes->blocks[0] = c.doubles, sizes->blocks[1] = c.singles;
    return DIT_OK;
}

/* ---- creating ---------------------------------------------------------------------------------------------------- */

static const joint_stream_names stream_names[JOINT_STREAMS] = {
    [JOINT_TEXT] = {NULL, "ff_context"},
    [JOINT_IMAGE] = {NULL, "ff"},
};
static const struct {
    const char *name;
    int chunks;
} modulations[JOINT_STREAMS + 1] = {
    [JOINT_TEXT] = {"double_stream_modulation_txt.linear", JOINT_CHUNKS},
    [JOINT_IMAGE] = {"double_stream_modulation_img.linear", JOINT_CHUNKS},
    [JOINT_BOTH] = {"single_stream_modulation.linear", JOINT_SINGLE_CHUNKS},
};

/* Loads what all blocks of a kind are modulated by, and takes its buffers; blocks that are loaded later have none. */
static dit_status make_shared(const dit_model_params *params, flux2 *m)
{
    dit_scope s = scope_of(params, "%s", "");
    int64_t C = m->stack.time.width;
    for (int i = 0; i <= JOINT_STREAMS; i++) {
        int64_t rows = modulations[i].chunks * C, count = params->partition.batch * rows;
        DIT_TRY(scope_linear(&s, modulations[i].name, rows, C, &m->modulations[i]));
        DIT_TRY(dit_buffers_take(&(dit_buffer){&params->rt->step, &m->shared[i], count, DIT_BUFFER_FP32}, 1));
        m->stack.j.shared[i] = m->shared[i];
    }
    return DIT_OK;
}

/* Returns mu of the dynamic shift: linear in the image's tokens at 200 steps and at 10, and in the steps between; above
 * 4,300 tokens that of 200 steps. Source: diffusers' Flux2Pipeline, whose numbers these are. */
static double flux2_shift(int64_t image_tokens, int64_t steps)
{
    const double tokens = (double)image_tokens;
    double most = 0.00016927 * tokens + 0.45666666, least = 8.73809524e-05 * tokens + 1.89833333;
    double slope = (most - least) / 190.0;
    return image_tokens > 4300 ? most : slope * (double)steps + most - 200.0 * slope;
}

static void set_stack(const flux2_config *c, int64_t batch, flux_stack *out)
{
    int64_t C = c->H * c->D;
    *out = (flux_stack){
        .doubles = c->doubles,
        .singles = c->singles,
        .in_channels = c->in_channels,
        .out_channels = c->out_channels,
        .text_dim = c->text_dim,
        .axis_count = AXES,
        .axes = {c->axes[0], c->axes[1], c->axes[2], c->axes[3]},
        .theta = (double)c->theta,
        .reference_id = 10,
        .text_is_numbered = true,
        .time_name = "time_guidance_embed",
        .time = {.batch = batch, .width = C, .unit = 1000.0f, .guided = c->guidance_embeds},
        .j = {.H = c->H,
              .D = c->D,
              .inner = (int64_t)((double)C * c->mlp_ratio),
              .eps = (float)c->eps,
              .qk_norm = true,
              .gated = true,
              .stream_names = stream_names},
    };
}

static dit_status flux2_create(const dit_model_params *params, dit_model *model)
{
    dit_model_params plain = *params;
    flux2_config c;
    dit_latent latent;
    void *state;
    DIT_TRY(read_config(&params->config, &c, &latent));
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(flux2), &state));
    flux2 *m = model->state = state;
    set_stack(&c, params->partition.batch, &m->stack);
    m->weights = *params->weights, m->weights.without_biases = true;
    plain.weights = &m->weights;
    model->shift = flux2_shift;
    DIT_TRY(make_shared(&plain, m));
    DIT_TRY(joint_create(model, &m->stack.j));
    return flux_stack_create(&plain, model);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status flux2_begin(dit_model *model, const float *timestep)
{
    flux2 *m = model->state;
    const embed_combined *time = &m->stack.time;
    DIT_TRY(flux_stack_begin(model, timestep));
    for (int i = 0; i <= JOINT_STREAMS; i++)
        embed_linear(model->params.rt, &m->modulations[i], time->activated, time->batch, m->shared[i]);
    return DIT_OK;
}

const dit_model_ops dit_model_flux2 = {
    .class_name = "Flux2Transformer2DModel",
    .layout = DIT_LATENT_PACKED,
    .draws_tokens = true,
    .read_facts = flux2_read_facts,
    .create = flux2_create,
    .prepare = flux_stack_prepare,
    .begin = flux2_begin,
    .embed = flux_stack_embed,
    .attention_input = flux_stack_attention_input,
    .block = flux_stack_block,
    .head = flux_stack_head,
};
