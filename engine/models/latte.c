/* Latte: blocks that attend within each frame and to the text alternate with blocks that attend over time at each place
 * of the image.
 * Source: Ma et al., Latte (arXiv:2401.03048); parameter names and arithmetic of diffusers 0.33.1
 * LatteTransformer3DModel. Blocks are PixArt's (adaln.h).
 *
 * A rank holds its piece of every frame, [batch, frames, tokens of a frame / ranks]: attention within frames goes
 * through the policy with the frames as batch entries, attention over time needs no other rank. Where the policy takes
 * whole frames, blocks within frames have [batch, frames / ranks, tokens of a frame] instead. Where ranks have whole
 * frames throughout, [batch, frames / ranks, tokens of a frame], attention over time goes through a policy.
 */
#include "engine/models/adaln.h"

#include <math.h>

enum { WITHIN_FRAMES, OVER_TIME }; /* policies */

typedef struct {
    adaln_config common;
    int64_t layers, cross_dim;
    bool affine;
} latte_config;

typedef struct {
    latte_config c;
    adaln common;
    adaln_block *spatial, *temporal;
    int64_t frames; /* of the rows that blocks within frames have               */
    float *time;    /* [frames, C]: sine-cosine table of the frames, image's life */
} latte;

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(latte_config, layers, "num_layers", 1, 1, 1000),
    DIT_CONFIG_INT(latte_config, common.H, "num_attention_heads", 16, 1, 1024),
    DIT_CONFIG_INT(latte_config, common.D, "attention_head_dim", 88, 1, 1024),
    DIT_CONFIG_INT(latte_config, common.patch, "patch_size", NAN, 1, 16),
    DIT_CONFIG_INT(latte_config, common.in_channels, "in_channels", NAN, 1, 256),
    DIT_CONFIG_INT(latte_config, common.out_channels, "out_channels", 0, 1, 256),
    DIT_CONFIG_INT(latte_config, common.text_dim, "caption_channels", NAN, 1, 65536),
    DIT_CONFIG_INT(latte_config, cross_dim, "cross_attention_dim", NAN, 1, 65536),
    DIT_CONFIG_INT(latte_config, common.sample_size, "sample_size", 64, 1, 4096),
    DIT_CONFIG_NUMBER(latte_config, common.eps, "norm_eps", 1e-5, 0, 1),
    DIT_CONFIG_BOOL(latte_config, affine, "norm_elementwise_affine", true),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"activation_fn", "gelu-approximate"},
    {"norm_type", "ada_norm_single"},
    {"attention_bias", "true"},
    {0},
};

static dit_status read_config(const dit_config *config, latte_config *c)
{
    adaln_config *common = &c->common;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, c));
    if (common->out_channels == 0) common->out_channels = common->in_channels;
    common->interpolation_scale = common->sample_size / 64 > 1 ? (double)(common->sample_size / 64) : 1;
    if (c->affine)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "norm_elementwise_affine true is not implemented: norms have no weights");
    if (c->cross_dim != common->H * common->D)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "cross_attention_dim %lld differs from the hidden size %lld",
                        (long long)c->cross_dim, (long long)(common->H * common->D));
    if (common->out_channels < common->in_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "out_channels %lld below in_channels %lld", (long long)common->out_channels,
                        (long long)common->in_channels);
    return DIT_OK;
}

static dit_status latte_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    latte_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.common.H, sizes->head_dim = c.common.D, sizes->blocks[0] = c.layers;
    facts->latent = (dit_latent){
        .channels = c.common.in_channels, .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = c.common.patch};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_blocks(const dit_model_params *params, const latte *m, const char *name, bool text,
                              adaln_block **out)
{
    void *blocks;
    DIT_TRY(dit_arena_alloc(&params->rt->run, m->c.layers * (int64_t)sizeof **out, &blocks));
    *out = blocks;
    for (int64_t i = 0; i < m->c.layers; i++) {
        if (!dit_stage_has(params, i)) continue;
        dit_scope s = scope_of(params, "%s.%lld.", name, (long long)i);
        DIT_TRY(adaln_load_block(&s, &m->common, i, text, &(*out)[i]));
    }
    return DIT_OK;
}

/* Makes the table of this rank's frames, of which the first is number `first`. The library makes it for video_length
 * frames and takes no other number; position f depends only on f, so videos of any length have one. */
static dit_status make_time_table(dit_runtime *rt, int64_t first, latte *m)
{
    int64_t C = m->common.C, frames = m->common.segments;
    DIT_TRY(dit_arena_activations(&rt->image, frames * C, &m->time));
    for (int64_t f = 0; f < frames; f++) embed_sincos_1d(rt, (double)(first + f), C, m->time + f * C);
    return dit_runtime_upload(rt, m->time, frames * C);
}

static dit_status create_attention(dit_model *model, latte *m)
{
    const dit_model_params *params = &model->params;
    const dit_partition *part = &params->partition;
    dit_attention **policies = model->attention;
    m->frames = dit_attention_count_frames(params->rt, part->segments);
    dit_attention_shape shape = {.B = part->batch * m->frames,
                                 .H = m->common.H,
                                 .D = m->common.c.D,
                                 .calls = params->stage.blocks.count,
                                 .tokens = part->image_count / m->frames,
                                 .within_frames = true};
    DIT_TRY(dit_attention_create(params->rt, params->attention, &shape, &policies[WITHIN_FRAMES]));
    DIT_TRY(dit_attention_reserve_frames(policies[WITHIN_FRAMES], part->image_count * m->common.C));
    shape.B = part->batch, shape.tokens = part->image_count;
    shape.within_frames = false, shape.over_time = part->segments;
    return dit_attention_create_over_time(params->rt, params->attention, &shape, &policies[OVER_TIME]);
}

static dit_status latte_create(const dit_model_params *params, dit_model *model)
{
    dit_runtime *rt = params->rt;
    void *state;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(latte), &state));
    latte *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->common.c = m->c.common;
    DIT_TRY(adaln_create(model, &m->common));
    DIT_TRY(load_blocks(params, m, "transformer_blocks", true, &m->spatial));
    DIT_TRY(load_blocks(params, m, "temporal_transformer_blocks", false, &m->temporal));
    DIT_TRY(make_time_table(rt, params->partition.segment_first, m));
    int64_t cells = m->common.c.patch * m->common.c.patch;
    model->layers_per_block = 2; /* one within frames, one over time */
    model->input_channels = m->common.c.in_channels * cells;
    model->output_channels = m->common.c.out_channels * cells;
    model->needs[DIT_CONDITION_TEXT].elements = m->common.text_tokens * m->common.c.text_dim;
    return create_attention(model, m);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

static dit_status latte_prepare(dit_model *model, const dit_condition *condition)
{
    latte *m = model->state;
    return adaln_prepare(model, &m->common, m->spatial, m->c.layers, condition);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Views [batch, frames x tokens] as frames: [batch x frames, tokens]. */
static dit_rows within_frames(const latte *m, dit_rows x)
{
    int64_t tokens = m->common.view->image_count / m->frames;
    return (dit_rows){x.data, m->common.view->batch * m->frames, tokens, x.cols, x.ld, tokens * x.ld};
}

/* Views one batch entry as places: [tokens, frames], with the frames of a place `tokens` rows apart. */
static dit_rows over_time(const adaln *a, dit_rows x, int64_t entry)
{
    int64_t tokens = a->view->image_count / a->segments;
    return (dit_rows){rows_entry(x, entry).data, tokens, a->segments, x.cols, tokens * x.ld, x.ld};
}

static dit_status attend_within_frames(dit_model *model, latte *m, const adaln_block *block)
{
    adaln *a = &m->common;
    int64_t A = a->A;
    dit_rows attended = rows_dense(a->attended, a->view->batch, a->view->image_count, A);
    dit_rows image = adaln_before_attention(model->params.rt, a, block), qkv = within_frames(m, image);
    DIT_TRY(dit_tap_keys(model, rows_columns(image, A, A), rows_columns(image, 2 * A, A), 0));
    return layer_sequence_attention(model->attention[WITHIN_FRAMES], rows_columns(qkv, 0, A), rows_columns(qkv, A, A),
                                    rows_columns(qkv, 2 * A, A), within_frames(m, attended));
}

/* Takes whole frames, or gives them back, where the policy wants them. */
static dit_status exchange_frames(dit_model *model, const adaln *a, bool whole)
{
    int64_t piece = a->view->image_count / a->segments * a->C;
    return dit_attention_exchange_frames(model->attention[WITHIN_FRAMES], a->x, a->view->batch, a->segments, piece,
                                         whole);
}

static dit_status forward_spatial(dit_model *model, int64_t index)
{
    latte *m = model->state;
    adaln *a = &m->common;
    const adaln_block *block = &m->spatial[index];
    DIT_TRY(exchange_frames(model, a, true));
    if (module_is_taken(model, DIT_MODULE_ATTENTION))
        adaln_modulate(model->params.rt, a, block);
    else
        DIT_TRY(attend_within_frames(model, m, block));
    DIT_TRY(adaln_after_attention(model, a, block, DIT_MODULE_ATTENTION, false));
    DIT_TRY(exchange_frames(model, a, false));
    return dit_tap_rows(model, DIT_LAYOUT_IMAGE, rows_dense(a->x, a->view->batch, a->view->image_count, a->C),
                        "block_%lld", (long long)index);
}

/* Adds to every token its frame's row of the table. */
static void add_time(dit_runtime *rt, latte *m)
{
    adaln *a = &m->common;
    int64_t C = a->C, elements = a->view->image_count * C;
    dit_rows table = {.data = m->time, .cols = C, .stride = C}; /* ld 0: all tokens of a frame read one row */
    for (int64_t b = 0; b < a->view->batch; b++) {
        float *x = a->x + b * elements, *spread = a->normed + b * elements;
        layer_copy(rt, table, rows_dense(spread, a->segments, a->view->image_count / a->segments, C));
        layer_add(rt, x, spread, elements, x);
    }
}

static dit_status attend_over_time(dit_model *model, adaln *a, const adaln_block *block)
{
    dit_runtime *rt = model->params.rt;
    int64_t A = a->A;
    dit_rows attended = rows_dense(a->attended, a->view->batch, a->view->image_count, A);
    dit_rows qkv = adaln_before_attention(rt, a, block);
    DIT_TRY(dit_tap_keys(model, rows_columns(qkv, A, A), rows_columns(qkv, 2 * A, A), 0));
    if (model->attention[OVER_TIME])
        return layer_sequence_attention(model->attention[OVER_TIME], rows_columns(qkv, 0, A), rows_columns(qkv, A, A),
                                        rows_columns(qkv, 2 * A, A), attended);
    for (int64_t b = 0; b < a->view->batch; b++) {
        dit_rows places = over_time(a, qkv, b);
        layer_local_attention(rt, a->H, rows_columns(places, 0, A), rows_columns(places, A, A),
                              rows_columns(places, 2 * A, A), NULL, over_time(a, attended, b));
    }
    return DIT_OK;
}

static dit_status forward_temporal(dit_model *model, int64_t index)
{
    latte *m = model->state;
    adaln *a = &m->common;
    const adaln_block *block = &m->temporal[index];
    DIT_TRY(dit_tap_layer_rows(model, DIT_TAP_STREAM, rows_dense(a->x, a->view->batch, a->view->image_count, a->C), 0));
    model->layer++;
    if (index == 0 && model->params.rt->facts.segments > 1) add_time(model->params.rt, m); /* of a clip */
    if (module_is_taken(model, DIT_MODULE_TEMPORAL))
        adaln_modulate(model->params.rt, a, block);
    else
        DIT_TRY(attend_over_time(model, a, block));
    DIT_TRY(adaln_after_attention(model, a, block, DIT_MODULE_TEMPORAL, false));
    return dit_tap_rows(model, DIT_LAYOUT_ACROSS, rows_dense(a->x, a->view->batch, a->view->image_count, a->C),
                        "temporal_block_%lld", (long long)index);
}

static dit_status latte_attention_input(dit_model *model, float *out)
{
    latte *m = model->state;
    adaln_norm(model->params.rt, &m->common, &m->spatial[0], rows_window(model, out, m->common.C));
    return DIT_OK;
}

static dit_status latte_block(dit_model *model, int64_t index)
{
    DIT_TRY(forward_spatial(model, index));
    return forward_temporal(model, index);
}

static dit_status latte_begin(dit_model *model, const float *timestep)
{
    return adaln_begin(model, &((latte *)model->state)->common, timestep, NULL);
}

static dit_status latte_embed(dit_model *model, const float *latents)
{
    return adaln_embed(model, &((latte *)model->state)->common, latents);
}

static dit_status latte_head(dit_model *model, float *output)
{
    adaln_head(model->params.rt, &((latte *)model->state)->common, output);
    return DIT_OK;
}

const dit_model_ops dit_model_latte = {
    .class_name = "LatteTransformer3DModel",
    .layout = DIT_LATENT_CFHW,
    .read_facts = latte_read_facts,
    .create = latte_create,
    .prepare = latte_prepare,
    .begin = latte_begin,
    .embed = latte_embed,
    .attention_input = latte_attention_input,
    .block = latte_block,
    .head = latte_head,
};
