/* LTX-2, the video alone: LTX-Video's blocks with normalised queries of the text, and positions in the middle of what a cell
 * shows, whose frequencies are in double.
 *
 * The class has a second stream, of sound, and attentions between both. Its forward leaves those out where it is told
 * isolate_modalities: then nothing of the sound reaches the video, and this file computes what it gives for the video. Parameters
 * of the sound and between the streams are not read.
 * Source: HaCohen et al., LTX-2: Efficient Joint Audio-Visual Foundation Model; parameter names and arithmetic of diffusers
 * 0.42.1 LTX2VideoTransformer3DModel.
 */
#include "engine/models/ltx_stack.h"

#include <math.h>
#include <string.h>

static const float HEADS_EPS = 1e-6f;
static const double PI = 3.14159265358979323846;

typedef struct {
    ltx_kind kind;
    int64_t out_channels, cross_dim, caption_dim, seconds, height, width, offset;
    int64_t cell[LTX_AXES]; /* frames, rows and columns of pixels of a cell of the latent */
    double theta;
    bool projects_text, mlp_biases, doubles; /* doubles: frequencies are computed in double, else in float */
} ltx2_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(ltx2_config, kind.layers, "num_layers", 48, 1, 1000),
    DIT_CONFIG_INT(ltx2_config, kind.H, "num_attention_heads", 32, 1, 1024),
    DIT_CONFIG_INT(ltx2_config, kind.D, "attention_head_dim", 128, 2, 1024),
    DIT_CONFIG_INT(ltx2_config, kind.channels, "in_channels", 128, 1, 4096),
    DIT_CONFIG_INT(ltx2_config, out_channels, "out_channels", 0, 1, 4096),
    DIT_CONFIG_INT(ltx2_config, caption_dim, "caption_channels", 3840, 1, 65536),
    DIT_CONFIG_INT(ltx2_config, cross_dim, "cross_attention_dim", 4096, 1, 65536),
    DIT_CONFIG_INT(ltx2_config, seconds, "pos_embed_max_pos", 20, 1, 65536),
    DIT_CONFIG_INT(ltx2_config, height, "base_height", 2048, 1, 65536),
    DIT_CONFIG_INT(ltx2_config, width, "base_width", 2048, 1, 65536),
    DIT_CONFIG_INT(ltx2_config, offset, "causal_offset", 1, 0, 64),
    DIT_CONFIG_NUMBER(ltx2_config, kind.eps, "norm_eps", 1e-6, 0, 1),
    DIT_CONFIG_NUMBER(ltx2_config, theta, "rope_theta", 10000, 1, 1e9),
    DIT_CONFIG_BOOL(ltx2_config, projects_text, "use_prompt_embeddings", true),
    DIT_CONFIG_BOOL(ltx2_config, mlp_biases, "ff_bias", true),
    DIT_CONFIG_BOOL(ltx2_config, doubles, "rope_double_precision", true),
    DIT_CONFIG_END,
};

/* Gates of heads and modulated text are those of LTX-2.3. A marker of key frames (use_keyframes_abs_pos_embedding) is for a pipeline
 * that names some; without them a forward does not read it. */
static const dit_config_only only[] = {
    {"gated_attn", "false"},
    {"cross_attn_mod", "false"},
    {"audio_cross_attn_mod", "false"},
    {0},
};

static dit_status read_rope(const dit_config *config, ltx2_config *c)
{
    static const int64_t usual[LTX_AXES] = {8, 32, 32};
    const char *type = "interleaved";
    int count;
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, "rope_type", &type));
    c->kind.halves = strcmp(type, "split") == 0;
    if (!c->kind.halves && strcmp(type, "interleaved") != 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "rope_type \"%s\" is neither interleaved nor split", type);
    DIT_TRY(dit_config_read_ints(config, "vae_scale_factors", 1, 256, LTX_AXES, c->cell, &count));
    if (count < 0) memcpy(c->cell, usual, sizeof usual), count = LTX_AXES;
    if (count != LTX_AXES || c->cell[1] != c->cell[2])
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "vae_scale_factors must be three, of which the last two are equal");
    return DIT_OK;
}

static dit_status read_config(const dit_config *config, ltx2_config *c)
{
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(read_rope(config, c));
    c->kind.as_wide = !c->projects_text, c->kind.text_dim = c->projects_text ? c->caption_dim : c->cross_dim;
    c->kind.plain_mlp = !c->mlp_biases;
    return ltx_kind_check(config, &c->kind, c->cross_dim, c->out_channels);
}

static dit_status ltx2_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    ltx2_config c = {0};
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.kind.H, sizes->head_dim = c.kind.D, sizes->blocks[0] = c.kind.layers;
    facts->latent = (dit_latent){.channels = c.kind.channels,
                                 .vae_spatial = (int)c.cell[1],
                                 .vae_temporal = (int)c.cell[0],
                                 .patch_t = 1,
                                 .patch = 1};
    return DIT_OK;
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Returns when the first frame of latent frame `frame` is shown, in frames: the first latent frame is `offset` long. */
static float frame_begin(const ltx2_config *c, int64_t frame)
{
    int64_t at = frame * c->cell[0] + c->offset - c->cell[0];
    return at < 0 ? 0.0f : (float)at;
}

static void ltx2_place(const dit_model *model, const float *frame_rate, const int64_t cell[LTX_AXES],
                       float place[LTX_AXES])
{
    const ltx2_config *c = ltx_stack_own(model);
    const float base[LTX_AXES] = {(float)c->seconds, (float)c->height, (float)c->width};
    for (int axis = 0; axis < LTX_AXES; axis++) {
        float begin = (float)(cell[axis] * c->cell[axis]), end = (float)((cell[axis] + 1) * c->cell[axis]);
        if (axis == 0)
            begin = frame_begin(c, cell[0]) / frame_rate[0], end = frame_begin(c, cell[0] + 1) / frame_rate[0];
        place[axis] = (begin + end) / 2.0f / base[axis] * 2.0f - 1.0f;
    }
}

/* From pi / 2 to theta pi / 2. */
static float ltx2_frequency(const dit_model *model, int64_t index, int64_t count)
{
    const ltx2_config *c = ltx_stack_own(model);
    if (!c->doubles) return (float)pow(c->theta, ltx_spread(index, count)) * (float)PI / 2.0f;
    double exponent = count > 1 ? (double)index / (double)(count - 1) : 0.0;
    return (float)(pow(c->theta, exponent) * PI / 2.0);
}

static dit_status ltx2_create(const dit_model_params *params, dit_model *model)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(ltx2_config), &memory));
    ltx2_config *c = memory;
    *c = (ltx2_config){0};
    DIT_TRY(read_config(&params->config, c));
    c->kind.heads_eps = HEADS_EPS, c->kind.norms_queries = true;
    c->kind.scale = DIT_CONDITION_FRAME_RATE, c->kind.scales = 1;
    c->kind.place = ltx2_place, c->kind.frequency = ltx2_frequency, c->kind.own = c;
    model->linspace_sigmas = true; /* as its pipeline */
    return ltx_stack_create(params, &c->kind, model);
}

const dit_model_ops dit_model_ltx2 = {
    .class_name = "LTX2VideoTransformer3DModel",
    .layout = DIT_LATENT_PACKED,
    .read_facts = ltx2_read_facts,
    .create = ltx2_create,
    .prepare = ltx_stack_prepare,
    .begin = ltx_stack_begin,
    .embed = ltx_stack_embed,
    .attention_input = ltx_stack_attention_input,
    .block = ltx_stack_block,
    .head = ltx_stack_head,
};
