#include "base/case_facts.h"

#include "base/architecture.h"

#include <stdio.h>
#include <string.h>

enum { MAX_EXTENT = 1 << 20, MAX_BLOCKS = 10000, MAX_HEADS = 4096, MAX_WIDTH = 65536 };

/* Where the numbers of a case lie, with their JSON pointers. */
typedef struct {
    const dit_json *doc;
    const cJSON *model, *config, *latent, *text, *run;
    char model_at[256], config_at[300], latent_at[300], text_at[300], run_at[300];
} case_view;

static dit_status open_case(const dit_json *doc, const cJSON *kase, const char *pointer, case_view *v)
{
    v->doc = doc;
    snprintf(v->model_at, sizeof v->model_at, "%s/model", pointer);
    snprintf(v->run_at, sizeof v->run_at, "%s/run", pointer);
    snprintf(v->config_at, sizeof v->config_at, "%s/config", v->model_at);
    snprintf(v->latent_at, sizeof v->latent_at, "%s/latent", v->model_at);
    snprintf(v->text_at, sizeof v->text_at, "%s/text", v->model_at);
    DIT_TRY(dit_json_require_object(doc, kase, pointer, "model", &v->model));
    DIT_TRY(dit_json_require_object(doc, kase, pointer, "run", &v->run));
    DIT_TRY(dit_json_require_object(doc, v->model, v->model_at, "config", &v->config));
    DIT_TRY(dit_json_require_object(doc, v->model, v->model_at, "latent", &v->latent));
    return dit_json_require_object(doc, v->model, v->model_at, "text", &v->text);
}

/* [patch, patch] or [patch_t, patch, patch] */
static dit_status read_patch(const case_view *v, dit_latent *latent)
{
    const cJSON *patch = NULL;
    int64_t edge[3] = {1, 0, 0};
    DIT_TRY(dit_json_optional_array(v->doc, v->latent, v->latent_at, "patch", &patch));
    int count = patch ? cJSON_GetArraySize(patch) : 0;
    for (int i = 0; i < count && (count == 2 || count == 3); i++) {
        const cJSON *item = cJSON_GetArrayItem(patch, i);
        bool valid = cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble <= 64;
        edge[3 - count + i] = valid ? (int64_t)item->valuedouble : -i;
    }
    if (edge[0] < 1 || edge[1] < 1 || edge[1] != edge[2])
        return dit_json_fail(v->doc, v->latent_at, DIT_ERR_JSON_VALUE,
                             "patch is neither [p, p] nor [p_t, p, p] with numbers in 1..64");
    latent->patch_t = edge[0], latent->patch = edge[1];
    return DIT_OK;
}

static dit_status read_latent(const case_view *v, dit_facts *out)
{
    dit_latent *latent = &out->latent;
    int64_t height, width, frames = 1;
    latent->vae_temporal = 1;
    DIT_TRY(dit_json_require_int(v->doc, v->latent, v->latent_at, "channels", 1, 4096, &latent->channels));
    DIT_TRY(dit_json_require_int(v->doc, v->latent, v->latent_at, "vae_spatial", 1, 64, &latent->vae_spatial));
    DIT_TRY(dit_json_optional_int(v->doc, v->latent, v->latent_at, "vae_temporal", 1, 64, &latent->vae_temporal));
    DIT_TRY(read_patch(v, latent));
    DIT_TRY(dit_json_require_int(v->doc, v->run, v->run_at, "height_px", 1, MAX_EXTENT, &height));
    DIT_TRY(dit_json_require_int(v->doc, v->run, v->run_at, "width_px", 1, MAX_EXTENT, &width));
    DIT_TRY(dit_json_optional_int(v->doc, v->run, v->run_at, "num_frames", 1, MAX_EXTENT, &frames));
    return dit_latent_resize(latent, height, width, frames);
}

/* Reads {"height_px", "width_px"}. */
static dit_status read_size(const case_view *v, const cJSON *reference, dit_facts *out)
{
    int64_t height, width;
    char at[400];
    snprintf(at, sizeof at, "%s/reference", v->run_at);
    DIT_TRY(dit_json_require_int(v->doc, reference, at, "height_px", 1, MAX_EXTENT, &height));
    DIT_TRY(dit_json_require_int(v->doc, reference, at, "width_px", 1, MAX_EXTENT, &width));
    return dit_architecture_refer(height, width, out);
}

/* The picture behind the latent, or a list of them. */
static dit_status read_reference(const case_view *v, dit_facts *out)
{
    const cJSON *reference = dit_json_member(v->run, "reference"), *item;
    if (!cJSON_IsArray(reference)) {
        DIT_TRY(dit_json_optional_object(v->doc, v->run, v->run_at, "reference", &reference));
        return reference ? read_size(v, reference, out) : DIT_OK;
    }
    cJSON_ArrayForEach(item, reference) DIT_TRY(read_size(v, item, out));
    return DIT_OK;
}

static dit_status read_first_frame(const case_view *v, dit_facts *out)
{
    bool first_frame = false;
    DIT_TRY(dit_json_optional_bool(v->doc, v->run, v->run_at, "first_frame", &first_frame));
    return dit_architecture_hold(first_frame, out);
}

/* ---- what the config says ---------------------------------------------------------------------------------------- */

static dit_status read_dual(const case_view *v, const char *key, dit_architecture_sizes *out)
{
    const cJSON *list = NULL, *item;
    char at[512];
    DIT_TRY(dit_json_optional_array(v->doc, v->config, v->config_at, key, &list));
    cJSON_ArrayForEach(item, list)
    {
        snprintf(at, sizeof at, "%s/%s", v->config_at, key);
        if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > MAX_BLOCKS ||
            out->dual_count == DIT_MAX_DUAL)
            return dit_json_fail(v->doc, at, DIT_ERR_JSON_VALUE, "at most %d indices of blocks expected", DIT_MAX_DUAL);
        out->dual[out->dual_count++] = (int64_t)item->valuedouble;
    }
    return DIT_OK;
}

static dit_status read_heads(const case_view *v, const dit_architecture *architecture, dit_architecture_sizes *out)
{
    const char *heads = architecture->heads_key ? architecture->heads_key : "num_attention_heads";
    const char *width = architecture->width_key ? architecture->width_key : "attention_head_dim";
    int64_t most = architecture->width_key ? MAX_WIDTH : MAX_HEADS;
    DIT_TRY(dit_json_require_int(v->doc, v->config, v->config_at, heads, 1, MAX_HEADS, &out->heads));
    DIT_TRY(dit_json_require_int(v->doc, v->config, v->config_at, width, 1, most, &out->head_dim));
    if (!architecture->width_key) return DIT_OK;
    if (out->head_dim % out->heads)
        return dit_json_fail(v->doc, v->config_at, DIT_ERR_SHAPE, "%s %lld is not divisible by %s %lld", width,
                             (long long)out->head_dim, heads, (long long)out->heads);
    out->head_dim /= out->heads;
    return DIT_OK;
}

static dit_status read_sizes(const case_view *v, const dit_architecture *architecture, dit_architecture_sizes *out)
{
    const char *picture_key = architecture->picture_key;
    int64_t picture = 0;
    DIT_TRY(dit_json_require_int(v->doc, v->config, v->config_at, architecture->kinds[0].key, 0, MAX_BLOCKS,
                                 &out->blocks[0]));
    for (int i = 1; i < DIT_BLOCK_KINDS && architecture->kinds[i].key; i++)
        DIT_TRY(dit_json_optional_int(v->doc, v->config, v->config_at, architecture->kinds[i].key, 0, MAX_BLOCKS,
                                      &out->blocks[i]));
    DIT_TRY(read_heads(v, architecture, out));
    if (architecture->dual_key) DIT_TRY(read_dual(v, architecture->dual_key, out));
    for (int i = 0; i < 2 && architecture->beside_keys[i]; i++) {
        int64_t tokens = architecture->beside_tokens[i];
        DIT_TRY(dit_json_optional_int(v->doc, v->config, v->config_at, architecture->beside_keys[i], 1, MAX_WIDTH,
                                      &tokens));
        out->text_beside += tokens;
    }
    if (picture_key && cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(v->config, picture_key)))
        DIT_TRY(dit_json_optional_int(v->doc, v->config, v->config_at, picture_key, 0, MAX_WIDTH, &picture));
    out->picture = picture > 0;
    out->time_width = architecture->time_width;
    if (architecture->time_key)
        DIT_TRY(dit_json_optional_int(v->doc, v->config, v->config_at, architecture->time_key, 1, MAX_WIDTH,
                                      &out->time_width));
    out->text_width = architecture->text_width;
    if (architecture->text_width_key)
        DIT_TRY(dit_json_optional_int(v->doc, v->config, v->config_at, architecture->text_width_key, 1, MAX_WIDTH,
                                      &out->text_width));
    double ratio = architecture->convolved_ratio;
    if (!architecture->convolved_key) return DIT_OK;
    DIT_TRY(dit_json_optional_number(v->doc, v->config, v->config_at, architecture->convolved_key, 0.01, 100, &ratio));
    out->convolved = (int64_t)(ratio * (double)(out->heads * out->head_dim));
    return DIT_OK;
}

static dit_status read_config(const case_view *v, const dit_architecture *architecture, dit_facts *out)
{
    dit_architecture_sizes sizes = {0};
    DIT_TRY(read_sizes(v, architecture, &sizes));
    return dit_architecture_fill(architecture, &sizes, out);
}

/* ---- what the model file says beside it -------------------------------------------------------------------------- */

/* The file repeats two facts of the architecture for its readers; they must be true. */
static dit_status check_repeated(const case_view *v, const dit_architecture *architecture)
{
    const char *injection = architecture->joint ? "joint" : "cross-attention", *said = injection;
    bool per_frame = architecture->per_frame;
    char at[512];
    DIT_TRY(dit_json_optional_string(v->doc, v->text, v->text_at, "injection", &said));
    DIT_TRY(dit_json_optional_bool(v->doc, v->latent, v->latent_at, "attention_per_frame", &per_frame));
    snprintf(at, sizeof at, "%s/injection", v->text_at);
    if ((strncmp(said, "joint", 5) == 0) != architecture->joint)
        return dit_json_fail(v->doc, at, DIT_ERR_SHAPE, "the injection of %s is \"%s\", not \"%s\"",
                             architecture->class_name, injection, said);
    snprintf(at, sizeof at, "%s/attention_per_frame", v->latent_at);
    if (per_frame != architecture->per_frame)
        return dit_json_fail(v->doc, at, DIT_ERR_SHAPE, "%s attends %s", architecture->class_name,
                             architecture->per_frame ? "per frame" : "over the whole clip");
    return DIT_OK;
}

static dit_status read_text(const case_view *v, dit_facts *out, int64_t *text_dim, int64_t *pooled_dim)
{
    DIT_TRY(dit_json_require_int(v->doc, v->text, v->text_at, "tokens", 0, MAX_EXTENT, &out->text_tokens));
    DIT_TRY(dit_json_optional_int(v->doc, v->text, v->text_at, "dim", 1, 65536, text_dim));
    return dit_json_optional_int(v->doc, v->text, v->text_at, "pooled_dim", 1, 65536, pooled_dim);
}

dit_status dit_facts_guide(double guidance_scale, double true_cfg_scale, dit_facts *facts)
{
    if (true_cfg_scale <= 1) {
        if (guidance_scale + facts->guidance_offset <= 1) facts->guidance_branches = 1;
        return DIT_OK;
    }
    if (facts->guidance_branches == 2)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CFG, "true_cfg_scale: the model computes both branches of guidance already"),
            "its scale is guidance_scale; true_cfg_scale is for models that take none, or take it as "
            "an input");
    facts->guidance_branches = 2;
    return DIT_OK;
}

dit_status dit_facts_norm_guidance(double cfg_normalization, double cfg_trunc_ratio, dit_facts *facts)
{
    bool rows = facts->guidance_norm_kind == DIT_GUIDANCE_NORM_ROWS;
    if (cfg_normalization > 0 && facts->guidance_norm_kind == DIT_GUIDANCE_NORM_NONE)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "cfg_normalization %g: pipelines of %s do not scale predictions",
                        cfg_normalization, facts->family);
    if (cfg_normalization > 0 && cfg_normalization != 1 && rows)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "cfg_normalization %g of %s", cfg_normalization, facts->family),
            "its pipeline has it on, 1, or off, 0");
    if (cfg_trunc_ratio < 1 && !rows)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "cfg_trunc_ratio %g: pipelines of %s guide every step", cfg_trunc_ratio,
                        facts->family);
    facts->cfg_normalization = cfg_normalization;
    facts->unguided_steps = 0;
    for (int64_t i = 0; i < facts->steps; i++) /* in double, as the pipeline compares */
        facts->unguided_steps += (double)(i + 1) / (double)facts->steps > cfg_trunc_ratio;
    return DIT_OK;
}

dit_status dit_facts_rescale_guidance(double guidance_rescale, dit_facts *facts)
{
    const dit_architecture *architecture = dit_architecture_find(facts->family);
    facts->guidance_rescale = guidance_rescale;
    if (guidance_rescale <= 0 || (architecture && architecture->rescales_guidance)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "guidance_rescale %g: pipelines of %s have none",
                                   guidance_rescale, facts->family),
                          "those of LTX-Video and HunyuanDiT do");
}

static dit_status read_guidance_norm(const case_view *v, dit_facts *out)
{
    double normalization = 0, ratio = 1, rescale = 0;
    DIT_TRY(dit_json_optional_number(v->doc, v->run, v->run_at, "guidance_rescale", 0, 1, &rescale));
    DIT_TRY(dit_facts_rescale_guidance(rescale, out));
    DIT_TRY(dit_json_optional_number(v->doc, v->run, v->run_at, "cfg_normalization", 0, 1000, &normalization));
    DIT_TRY(dit_json_optional_number(v->doc, v->run, v->run_at, "cfg_trunc_ratio", 0, 1, &ratio));
    return dit_facts_norm_guidance(normalization, ratio, out);
}

/* A document that describes its model says how many branches it has, whatever the scale. */
static dit_status read_guidance(const case_view *v, dit_facts *out)
{
    const char *guidance = NULL;
    double scale = 1;
    DIT_TRY(dit_json_optional_string(v->doc, v->model, v->model_at, "guidance", &guidance));
    if (guidance) out->guidance_branches = strcmp(guidance, "cfg") == 0 ? 2 : 1;
    DIT_TRY(dit_json_optional_number(v->doc, v->run, v->run_at, "true_cfg_scale", 0, 1000, &scale));
    return scale > 1 ? dit_facts_guide(1, scale, out) : DIT_OK;
}

/* Weights of one full copy: the blocks, and the embeddings around them. */
static int64_t estimate_parameters(const dit_facts *facts, int64_t text_dim, int64_t pooled_dim)
{
    dit_block_run all = dit_facts_blocks(facts, 0, facts->layers);
    int64_t C = facts->heads * facts->head_dim;
    int64_t embed = C * (2 * facts->token_channels + 256 + C);
    int64_t conditions = facts->joint ? C * (text_dim + pooled_dim + 2 * C + 2 * C) : C * (text_dim + C + 6 * C);
    return dit_facts_block_parameters(facts, &all) + embed + conditions;
}

dit_status dit_facts_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_facts *out)
{
    const dit_architecture *architecture;
    int64_t text_dim = 0, pooled_dim = 0;
    case_view v;
    *out = (dit_facts){.mlp_ratio = 4};
    DIT_TRY(open_case(doc, kase, pointer, &v));
    DIT_TRY(dit_architecture_from_config(doc, v.config, v.config_at, &architecture));
    DIT_TRY(read_config(&v, architecture, out));
    DIT_TRY(check_repeated(&v, architecture));
    DIT_TRY(read_text(&v, out, &text_dim, &pooled_dim));
    DIT_TRY(read_guidance(&v, out));
    DIT_TRY(dit_json_require_int(doc, v.run, v.run_at, "num_images", 1, 4096, &out->num_images));
    DIT_TRY(dit_json_require_int(doc, v.run, v.run_at, "num_inference_steps", 1, 100000, &out->steps));
    DIT_TRY(read_guidance_norm(&v, out));
    DIT_TRY(read_latent(&v, out));
    dit_facts_resize(out);
    out->two_transformers = dit_json_member(v.model, "transformer_2") != NULL;
    out->parameters = estimate_parameters(out, text_dim, pooled_dim);
    DIT_TRY(read_reference(&v, out));
    DIT_TRY(read_first_frame(&v, out));
    return dit_json_optional_int(doc, v.model, v.model_at, "parameters", 1, INT64_C(1) << 50, &out->parameters);
}
