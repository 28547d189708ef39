/* LTX-Video, text to video and image to video: self-attention over all frames with rotary positions that are fractions of a clip
 * of 20 seconds and 2048 pixels, cross-attention to masked text, one modulation of the timestep, shifted by a table per block. All norms of
 * the stream but the last are RMS norms.
 * Source: HaCohen et al., LTX-Video: Realtime Video Latent Diffusion (arXiv:2501.00103); parameter names and arithmetic of
 * diffusers 0.42.1 LTXVideoTransformer3DModel. The text's K and V of all blocks are made once per clip.
 */
#include "engine/models/ltx_stack.h"

#include <math.h>

static const float HEADS_EPS = 1e-5f;

typedef struct {
    ltx_kind kind;
    int64_t out_channels, cross_dim;
    bool first_apart; /* the first latent frame is one frame long; a key of ours: LTXConditionPipeline has it so */
} ltx_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(ltx_config, kind.layers, "num_layers", 28, 1, 1000),
    DIT_CONFIG_INT(ltx_config, kind.H, "num_attention_heads", 32, 1, 1024),
    DIT_CONFIG_INT(ltx_config, kind.D, "attention_head_dim", 64, 2, 1024),
    DIT_CONFIG_INT(ltx_config, kind.channels, "in_channels", 128, 1, 4096),
    DIT_CONFIG_INT(ltx_config, out_channels, "out_channels", 0, 1, 4096),
    DIT_CONFIG_INT(ltx_config, kind.text_dim, "caption_channels", 4096, 1, 65536),
    DIT_CONFIG_INT(ltx_config, cross_dim, "cross_attention_dim", 2048, 1, 65536),
    DIT_CONFIG_NUMBER(ltx_config, kind.eps, "norm_eps", 1e-6, 0, 1),
    DIT_CONFIG_BOOL(ltx_config, first_apart, "first_frame_apart", false),
    DIT_CONFIG_END,
};

static dit_status read_config(const dit_config *config, ltx_config *c)
{
    DIT_TRY(dit_config_read(config, fields, c));
    return ltx_kind_check(config, &c->kind, c->cross_dim, c->out_channels);
}

static dit_status ltx_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    ltx_config c = {0};
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.kind.H, sizes->head_dim = c.kind.D, sizes->blocks[0] = c.kind.layers;
    facts->latent =
        (dit_latent){.channels = c.kind.channels, .vae_spatial = 32, .vae_temporal = 8, .patch_t = 1, .patch = 1};
    return DIT_OK;
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Returns where a latent frame begins, in latent frames: where the first one is one frame long, the others follow it. */
static float frame_begin(const ltx_config *c, int64_t temporal, int64_t frame)
{
    if (!c->first_apart || frame == 0) return (float)frame;
    return (float)(frame * temporal - (temporal - 1)) / (float)temporal;
}

/* Of a clip of 20 seconds and 2048 x 2048 pixels. `scale` has the seconds of a latent frame and the pixels of a cell. */
static void ltx_place(const dit_model *model, const float *scale, const int64_t cell[LTX_AXES], float place[LTX_AXES])
{
    static const float base[LTX_AXES] = {20.0f, 2048.0f, 2048.0f};
    const float ids[LTX_AXES] = {frame_begin(ltx_stack_own(model), model->params.latent.vae_temporal, cell[0]),
                                 (float)cell[1], (float)cell[2]};
    for (int axis = 0; axis < LTX_AXES; axis++) place[axis] = ids[axis] * scale[axis] / base[axis] * 2.0f - 1.0f;
}

/* From pi / 2 to 10000 pi / 2. */
static float ltx_frequency(const dit_model *model, int64_t index, int64_t count)
{
    static const float half_pi = (float)(3.14159265358979323846 / 2);
    (void)model;
    return (float)pow(10000.0, ltx_spread(index, count)) * half_pi;
}

static dit_status ltx_create(const dit_model_params *params, dit_model *model)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(ltx_config), &memory));
    ltx_config *c = memory;
    *c = (ltx_config){0};
    DIT_TRY(read_config(&params->config, c));
    c->kind.heads_eps = HEADS_EPS;
    c->kind.scale = DIT_CONDITION_ROPE_SCALE, c->kind.scales = LTX_AXES;
    c->kind.place = ltx_place, c->kind.frequency = ltx_frequency, c->kind.own = c;
    model->linspace_sigmas = !c->first_apart, model->quadratic_sigmas = c->first_apart; /* as its pipeline */
    return ltx_stack_create(params, &c->kind, model);
}

const dit_model_ops dit_model_ltx = {
    .class_name = "LTXVideoTransformer3DModel",
    .layout = DIT_LATENT_PACKED,
    .read_facts = ltx_read_facts,
    .create = ltx_create,
    .prepare = ltx_stack_prepare,
    .begin = ltx_stack_begin,
    .embed = ltx_stack_embed,
    .attention_input = ltx_stack_attention_input,
    .block = ltx_stack_block,
    .head = ltx_stack_head,
};
