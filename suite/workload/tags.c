/* Tags: the flat names that filters, plots and claims may use. */
#include "suite/workload/workload.h"

#include "base/expr.h"
#include "base/words.h"
#include "suite/workload/tags.h"

#include <stdio.h>
#include <string.h>

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

/* What people type in filters for names of ours. */
static const struct {
    const char *alias, *tag;
} aliases[] = {
    {"gpus", "world_size"},
    {"num_gpus", "world_size"},
    {"ranks", "world_size"},
    {"num_inference_steps", "steps"},
};

static const char *tag_meant(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i].alias, name) == 0) return aliases[i].tag;
    return name;
}

typedef struct {
    const cJSON *tags;
    const char *nearest; /* to the first unknown name */
    char unknown[64];    /* that name                 */
} tag_scope;

static dit_status tag_value(const cJSON *tag, dit_value *out)
{
    if (cJSON_IsNumber(tag))
        *out = (dit_value){DIT_VALUE_NUMBER, tag->valuedouble, NULL};
    else if (cJSON_IsString(tag))
        *out = (dit_value){DIT_VALUE_STRING, 0, tag->valuestring};
    else if (cJSON_IsBool(tag))
        *out = (dit_value){DIT_VALUE_BOOL, cJSON_IsTrue(tag), NULL};
    else
        return DIT_ERR_NOT_FOUND;
    return DIT_OK;
}

static dit_status find_tag(void *context, const char *name, dit_value *out)
{
    tag_scope *scope = context;
    dit_status st = tag_value(cJSON_GetObjectItemCaseSensitive(scope->tags, name), out);
    if (st == DIT_OK) return st;
    scope->nearest = dit_nearest_word(name, tag_names);
    snprintf(scope->unknown, sizeof scope->unknown, "%s", name);
    return st;
}

static dit_status find_meant(void *context, const char *name, dit_value *out)
{
    return find_tag(context, tag_meant(name), out);
}

dit_status suite_tags_test(const cJSON *tags, const char *expression, bool *out)
{
    tag_scope context = {.tags = tags};
    dit_expr_scope scope = {find_tag, NULL, &context};
    dit_status st = dit_expr_test(expression, &scope, out);
    if (st != DIT_OK && context.nearest) return dit_error_hint(st, "did you mean \"%s\"?", context.nearest);
    return st;
}

/* "the names are a, b, c" of what the tags have. */
static void list_names(const cJSON *tags, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "the names are");
    const cJSON *tag;
    cJSON_ArrayForEach(tag, tags) if (used < size) used +=
        (size_t)snprintf(out + used, size - used, "%s%s", tag->prev && tag != tags->child ? ", " : " ", tag->string);
}

dit_status suite_tags_filter(const cJSON *tags, const char *expression, bool *out)
{
    tag_scope context = {.tags = tags};
    dit_expr_scope scope = {find_meant, NULL, &context};
    char names[1024];
    dit_status st = dit_expr_test(expression, &scope, out);
    if (st == DIT_OK || !context.unknown[0]) return st;
    list_names(tags, names, sizeof names);
    if (context.nearest && strcmp(context.nearest, context.unknown) == 0)
        return dit_error_hint(st, "these cases have no %s; %s", context.unknown, names);
    if (context.nearest) return dit_error_hint(st, "did you mean \"%s\"? %s", context.nearest, names);
    return dit_error_hint(st, "%s", names);
}

/* ---- which values there are -------------------------------------------------------------------------------------- */

/* "flux.1-dev", "8"; false when the case has no such tag. */
static bool value_text(const suite_case *one, const char *tag, char out[128])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(one->tags, tag);
    if (cJSON_IsString(item)) snprintf(out, 128, "'%.120s'", item->valuestring);
    if (cJSON_IsNumber(item)) snprintf(out, 128, "%.10g", item->valuedouble);
    return cJSON_IsString(item) || cJSON_IsNumber(item);
}

/* Whether an earlier case has that value, too. */
static bool is_repeated(const suite_case *cases, int index, const char *tag, const char *value)
{
    char other[128];
    for (int i = 0; i < index; i++)
        if (value_text(&cases[i], tag, other) && strcmp(other, value) == 0) return true;
    return false;
}

static size_t describe_tag(const suite_case *cases, int count, const char *tag, char *out, size_t size)
{
    enum { MOST_VALUES = 12 };
    char value[128];
    size_t used = (size_t)snprintf(out, size, "%s is", tag);
    for (int i = 0, shown = 0; i < count && used < size; i++) {
        if (!value_text(&cases[i], tag, value) || is_repeated(cases, i, tag, value)) continue;
        if (shown == MOST_VALUES) return used + (size_t)snprintf(out + used, size - used, ", ...");
        used += (size_t)snprintf(out + used, size - used, "%s%s", shown++ ? ", " : " ", value);
    }
    return used;
}

/* Length of the name at `text`; 0 when there is none. A name inside quotes is a value. */
static size_t name_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.");
}

void suite_tags_describe(const suite_case *cases, int count, const char *expression, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *at = expression; *at && count && used < size;) {
        size_t length = name_length(at);
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), at);
        if (cJSON_HasObjectItem(cases[0].tags, tag_meant(name))) {
            if (used) used += (size_t)snprintf(out + used, size - used, "; ");
            if (used < size) used += describe_tag(cases, count, tag_meant(name), out + used, size - used);
        }
        bool quoted = *at == '\'' || *at == '"';
        at += length ? length : 1;
        if (quoted) at += strcspn(at, "'\"") + (at[strcspn(at, "'\"")] != '\0');
    }
}
