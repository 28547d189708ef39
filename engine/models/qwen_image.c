/* Qwen-Image and Qwen-Image-Edit: double-stream blocks, joint attention with masked text, rotary positions around the middle of the image.
 * Source: parameter names and arithmetic of diffusers 0.42.1 QwenImageTransformer2DModel (Alibaba, Qwen-Image,
 * arXiv:2508.02324).
 *
 * Both streams live in one buffer, [batch, text rows + image rows, C] with the text first. Rows and columns of the image
 * count from its middle; the text follows on the diagonal behind the image, so that its positions depend on the size.
 * Any key of the text may be masked; its rows are computed all the same. The picture that is edited is a reference behind
 * the latent.
 */
#include "engine/models/embed.h"
#include "engine/models/joint.h"

#include <math.h>

enum { AXES = 3, PACK = 2, MLP_RATIO = 4 };
static const float EPS = 1e-6f;

typedef struct {
    int64_t layers, H, D, in_channels, out_channels, text_dim, patch, axes[AXES];
    bool guidance_embeds, zero_cond_t, more_conditions, layered;
} qwen_config;

typedef struct {
    qwen_config c;
    joint j;
    embed_combined time; /* the timestep alone */
    dit_linear image_in, text_in, norm_out, proj_out;
    const float *text_norm; /* [text_dim] */
    joint_block *blocks;
    float *cosines, *sines; /* [text + image rows, D] image's life             */
    float *ids;             /* [text + image rows, 3]                          */
    float *bias;            /* [batch, text tokens] on the logits of the text  */
    float *normed_text;     /* [batch, text tokens, text_dim]                  */
    float *context;         /* [batch, text rows, C] projected text            */
} qwen;

static const joint_stream_names stream_names[JOINT_STREAMS] = {
    [JOINT_TEXT] = {"txt_mod.1", "txt_mlp"},
    [JOINT_IMAGE] = {"img_mod.1", "img_mlp"},
};

/* ---- config ------------------------------------------------------------------------------------------------------ */

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(qwen_config, layers, "num_layers", 60, 0, 1000),
    DIT_CONFIG_INT(qwen_config, H, "num_attention_heads", 24, 1, 1024),
    DIT_CONFIG_INT(qwen_config, D, "attention_head_dim", 128, 1, 1024),
    DIT_CONFIG_INT(qwen_config, in_channels, "in_channels", 64, 1, 4096),
    DIT_CONFIG_INT(qwen_config, out_channels, "out_channels", 16, 1, 4096),
    DIT_CONFIG_INT(qwen_config, text_dim, "joint_attention_dim", 3584, 1, 65536),
    DIT_CONFIG_INT(qwen_config, patch, "patch_size", 2, 1, 16),
    DIT_CONFIG_BOOL(qwen_config, guidance_embeds, "guidance_embeds", false),
    DIT_CONFIG_BOOL(qwen_config, zero_cond_t, "zero_cond_t", false),
    DIT_CONFIG_BOOL(qwen_config, more_conditions, "use_additional_t_cond", false),
    DIT_CONFIG_BOOL(qwen_config, layered, "use_layer3d_rope", false),
    DIT_CONFIG_END,
};

/* Refuses what editing and layers of pictures add to the class. */
static dit_status check_config(const qwen_config *c)
{
    const struct {
        bool is;
        const char *key;
    } others[] = {{c->guidance_embeds, "guidance_embeds"},
                  {c->zero_cond_t, "zero_cond_t"},
                  {c->more_conditions, "use_additional_t_cond"},
                  {c->layered, "use_layer3d_rope"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].is)
            return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s true: only Qwen-Image's text to image is implemented",
                            others[i].key);
    if (c->patch != PACK || c->in_channels != PACK * PACK * c->out_channels)
        return DIT_FAIL(
            DIT_ERR_UNSUPPORTED,
            "patch_size %lld, in_channels %lld, out_channels %lld: packed latents are patches of 2x2, of as "
            "many channels as go out",
            (long long)c->patch, (long long)c->in_channels, (long long)c->out_channels);
    return DIT_OK;
}

static dit_status read_config(const dit_config *config, qwen_config *c)
{
    DIT_TRY(dit_config_read(config, fields, c));
    DIT_TRY(check_config(c));
    return embed_read_rope_widths(config, "axes_dims_rope", 3, (const int64_t[]){16, 56, 56}, c->D, c->axes);
}

static dit_status qwen_read_facts(const dit_config *config, dit_architecture_sizes *sizes, dit_facts *facts)
{
    qwen_config c;
    DIT_TRY(read_config(config, &c));
    sizes->heads = c.H, sizes->head_dim = c.D;
    sizes->blocks[0] = c.layers;
    facts->latent =
        (dit_latent){.channels = c.out_channels, .vae_spatial = 8, .vae_temporal = 1, .patch_t = 1, .patch = PACK};
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status load_weights(const dit_model_params *params, qwen *m)
{
    dit_scope s = scope_of(params, "%s", ""), time = scope_under(&s, "time_text_embed");
    int64_t C = m->j.C;
    if (params->stage.first) {
        DIT_TRY(scope_linear(&s, "img_in", C, m->c.in_channels, &m->image_in));
        DIT_TRY(scope_vector(&s, "txt_norm.weight", m->c.text_dim, DIT_INIT_NORM, &m->text_norm));
        DIT_TRY(scope_linear(&s, "txt_in", C, m->c.text_dim, &m->text_in));
    }
    DIT_TRY(embed_combined_create(&time, &m->time));
    DIT_TRY(joint_load_blocks(params, &m->j, m->c.layers, &m->blocks));
    if (!params->stage.last) return DIT_OK;
    DIT_TRY(scope_linear(&s, "norm_out.linear", JOINT_LAST_CHUNKS * C, C, &m->norm_out));
    return scope_linear(&s, "proj_out", m->c.in_channels, C, &m->proj_out);
}

static dit_status make_buffers(const dit_model_params *params, qwen *m)
{
    dit_arena *image = &params->rt->image;
    const dit_partition *part = &params->partition;
    int64_t T = part->text_count, rows = T + part->image_count, D = m->c.D, texts = part->batch * part->text_tokens;
    const dit_buffer buffers[] = {
        {image, &m->cosines, rows * D, DIT_BUFFER_FP32},
        {image, &m->sines, rows * D, DIT_BUFFER_FP32},
        {image, &m->ids, rows * AXES, DIT_BUFFER_HOST},
        {image, &m->bias, texts, DIT_BUFFER_HOST},
        {image, &m->normed_text, params->stage.first ? texts * m->c.text_dim : 0, DIT_BUFFER_ACTIVATIONS},
        {image, &m->context, part->batch * T * m->j.C, DIT_BUFFER_ACTIVATIONS},
    };
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    m->j.cosines[JOINT_TEXT] = m->cosines, m->j.cosines[JOINT_IMAGE] = m->cosines + T * D;
    m->j.sines[JOINT_TEXT] = m->sines, m->j.sines[JOINT_IMAGE] = m->sines + T * D;
    return DIT_OK;
}

static dit_status qwen_create(const dit_model_params *params, dit_model *model)
{
    void *state;
    const dit_partition *part = &params->partition;
    DIT_TRY(dit_arena_alloc(&params->rt->run, sizeof(qwen), &state));
    qwen *m = model->state = state;
    DIT_TRY(read_config(&params->config, &m->c));
    m->j = (joint){.H = m->c.H, .D = m->c.D, .inner = MLP_RATIO * m->c.H * m->c.D, .eps = EPS, .qk_norm = true};
    m->j.stream_names = stream_names;
    DIT_TRY(joint_create(model, &m->j));
    m->time = (embed_combined){.batch = part->batch, .width = m->j.C, .unit = 1.0f, .scale = 1000.0f};
    DIT_TRY(load_weights(params, m));
    DIT_TRY(make_buffers(params, m));
    m->j.activated = m->time.activated;
    model->input_channels = model->output_channels = m->c.in_channels;
    model->timestep_divisor = 1000.0f;
    model->linspace_sigmas = model->rescales_guidance = true;
    model->needs[DIT_CONDITION_TEXT].elements = part->text_tokens * m->c.text_dim;
    model->needs[DIT_CONDITION_REFERENCE].elements = part->reference_tokens * m->c.in_channels;
    model->needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = part->text_tokens, .optional = true};
    return joint_create_policy(params, m->j.heads, m->c.D, 1, &model->attention[0]);
}

/* ---- once per image ---------------------------------------------------------------------------------------------- */

/* Returns where row or column `at` of `of` stands: around the middle, the first one at -(of - of / 2). */
static float around_middle(int64_t at, int64_t of)
{
    return (float)(at - (of - of / 2));
}

/* Returns the longest half side of the image and of its references. */
static int64_t longest_half(const dit_facts *facts, int64_t height, int64_t width)
{
    int64_t longest = height > width ? height : width;
    for (int i = 0; i < facts->reference_count; i++) {
        const dit_token_grid *grid = &facts->references[i];
        if (grid->height > longest) longest = grid->height;
        if (grid->width > longest) longest = grid->width;
    }
    return longest / 2;
}

/* Places rows of the image, and of references behind it, around the middle of each. The text begins where half of the longest
 * side ends. */
static void place(const dit_model *model)
{
    const qwen *m = model->state;
    const dit_partition *part = &model->params.partition;
    const dit_latent *latent = &model->params.latent;
    const dit_facts *facts = &model->params.rt->facts;
    const int64_t denoised = part->image_tokens - part->reference_tokens;
    const dit_token_grid own = {latent->height / PACK, latent->width / PACK};
    const int64_t behind = longest_half(facts, own.height, own.width);
    float *ids = m->ids;
    for (int64_t i = 0; i < part->text_count; i++)
        for (int axis = 0; axis < AXES; axis++) *ids++ = (float)(behind + part->text_begin + i);
    for (int64_t row = 0; row < dit_runtime_values(model->params.rt, part->image_count); row++, ids += AXES) {
        int64_t token = dit_partition_token(part, row), y = token / own.width, x = token % own.width;
        int picture = token < denoised ? -1 : dit_facts_reference_at(facts, token - denoised, &y, &x);
        const dit_token_grid *grid = picture < 0 ? &own : &facts->references[picture];
        ids[0] = (float)(picture + 1);
        ids[1] = around_middle(y, grid->height);
        ids[2] = around_middle(x, grid->width);
    }
}

/* Hides the masked keys of the text from all rows. */
static dit_status hide_masked(dit_model *model, const float *mask)
{
    const qwen *m = model->state;
    const dit_partition *part = &model->params.partition;
    for (int64_t i = 0; i < part->batch * part->text_tokens; i++)
        m->bias[i] = !mask || mask[i] != 0.0f ? 0.0f : -INFINITY;
    return dit_attention_set_text_bias(model->attention[0], m->bias, part->text_tokens);
}

static dit_status qwen_prepare(dit_model *model, const dit_condition *condition)
{
    qwen *m = model->state;
    dit_runtime *rt = model->params.rt;
    const dit_partition *part = &model->params.partition;
    int64_t rows = part->text_count + part->image_count;
    place(model);
    embed_rope(rt, m->ids, rows, AXES, m->c.axes, 10000.0, m->cosines, m->sines);
    DIT_TRY(embed_put_rope(rt, m->cosines, m->sines, rows * m->c.D));
    DIT_TRY(hide_masked(model, condition->at[DIT_CONDITION_TEXT_MASK]));
    if (!model->params.stage.first) return DIT_OK;
    dit_rows text =
        rows_dense((float *)condition->at[DIT_CONDITION_TEXT], part->batch, part->text_tokens, m->c.text_dim);
    layer_norm(rt, text, rows_dense(m->normed_text, part->batch, part->text_tokens, m->c.text_dim),
               &(dit_layer_norm){.kind = DIT_NORM_RMS, .eps = EPS, .weight = m->text_norm});
    joint_project_text(rt, part, &m->text_in, m->normed_text, m->context);
    return DIT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static dit_status qwen_begin(dit_model *model, const float *timestep)
{
    qwen *m = model->state;
    embed_combined_step(model->params.rt, &m->time, timestep);
    return embed_tap_combined(model, &m->time, "aux.time_text_embed");
}

static dit_status qwen_embed(dit_model *model, const float *latents)
{
    qwen *m = model->state;
    dit_runtime *rt = model->params.rt;
    dit_rows text = joint_x(&m->j, JOINT_TEXT), image = joint_x(&m->j, JOINT_IMAGE);
    layer_copy(rt, rows_dense(m->context, text.batch, text.rows, text.cols), text);
    layer_linear(rt, &m->image_in, rows_dense((float *)latents, image.batch, image.rows, m->c.in_channels), image,
                 DIT_ACT_NONE);
    DIT_TRY(dit_tap_rows(model, DIT_LAYOUT_IMAGE, image, "aux.img_in"));
    return dit_tap_rows(model, DIT_LAYOUT_TEXT, text, "aux.txt_in");
}

static dit_status qwen_attention_input(dit_model *model, float *out)
{
    const qwen *m = model->state;
    joint_attention_input(model->params.rt, &m->j, &m->blocks[0].image, out);
    return DIT_OK;
}

static dit_status qwen_block(dit_model *model, int64_t index)
{
    const qwen *m = model->state;
    DIT_TRY(joint_double_block(model, &m->j, &m->blocks[index], index == 0));
    return joint_tap(model, m->j.x, m->j.C, "block", index);
}

static dit_status qwen_head(dit_model *model, float *output)
{
    const qwen *m = model->state;
    joint_head(model->params.rt, &m->j, &m->norm_out, &m->proj_out, output);
    return DIT_OK;
}

const dit_model_ops dit_model_qwen_image = {
    .class_name = "QwenImageTransformer2DModel",
    .layout = DIT_LATENT_PACKED,
    .read_facts = qwen_read_facts,
    .create = qwen_create,
    .prepare = qwen_prepare,
    .begin = qwen_begin,
    .embed = qwen_embed,
    .attention_input = qwen_attention_input,
    .block = qwen_block,
    .head = qwen_head,
};
