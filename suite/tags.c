/* Tags: the flat names that filters, plots and claims may use. */
#include "suite/workload.h"

#include "base/expr.h"

static const char *const tag_names[] = {
    "program",
    "model",
    "base_model",
    "resolution",
    "height_px",
    "width_px",
    "num_frames",
    "steps",
    "num_layers",
    "image_tokens",
    "text_tokens",
    "num_images",
    "guidance_scale",
    "seed",
    "method",
    "world_size",
    "mesh",
    "data_degree",
    "cfg_degree",
    "pipefusion_degree",
    "ring_degree",
    "ulysses_degree",
    "tensor_degree",
    "patch_degree",
    "rows_degree",
    "warmup_steps",
    "num_pipeline_patch",
    "attn_layer_num_for_pp",
    "patch_method",
    "patch_fraction",
    "stale_steps",
    "joint_text",
    "attention",
    "platform",
    "profile",
    "element",
    "fp8_linear",
    "graphs",
    "threads_per_rank",
    "tiling",
    "tokens",
    "heads",
    "kv_heads",
    "head_dim",
    "batch",
    "causal",
    "layout",
    "packed",
    "padded_tokens",
    NULL,
};

const char *const *suite_tag_names(void)
{
    return tag_names;
}

typedef struct {
    const cJSON *tags;
    const char *nearest; /* to the first unknown name */
} tag_scope;

static dit_status find_tag(void *context, const char *name, dit_value *out)
{
    tag_scope *scope = context;
    const cJSON *tag = cJSON_GetObjectItemCaseSensitive(scope->tags, name);
    if (cJSON_IsNumber(tag))
        *out = (dit_value){DIT_VALUE_NUMBER, tag->valuedouble, NULL};
    else if (cJSON_IsString(tag))
        *out = (dit_value){DIT_VALUE_STRING, 0, tag->valuestring};
    else {
        scope->nearest = dit_nearest_word(name, tag_names);
        return DIT_ERR_NOT_FOUND;
    }
    return DIT_OK;
}

dit_status suite_tags_test(const cJSON *tags, const char *expression, bool *out)
{
    tag_scope context = {tags, NULL};
    dit_expr_scope scope = {find_tag, NULL, &context};
    dit_status st = dit_expr_test(expression, &scope, out);
    if (st != DIT_OK && context.nearest) return dit_error_hint(st, "did you mean \"%s\"?", context.nearest);
    return st;
}
