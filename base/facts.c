#include "base/facts.h"

#include <stdio.h>
#include <string.h>

enum { MAX_EXTENT = 1 << 20 };

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
    bool per_frame = false;
    latent->vae_temporal = 1;
    DIT_TRY(dit_json_require_int(v->doc, v->latent, v->latent_at, "channels", 1, 4096, &latent->channels));
    DIT_TRY(dit_json_require_int(v->doc, v->latent, v->latent_at, "vae_spatial", 1, 64, &latent->vae_spatial));
    DIT_TRY(dit_json_optional_int(v->doc, v->latent, v->latent_at, "vae_temporal", 1, 64, &latent->vae_temporal));
    DIT_TRY(dit_json_optional_bool(v->doc, v->latent, v->latent_at, "attention_per_frame", &per_frame));
    DIT_TRY(read_patch(v, latent));
    DIT_TRY(dit_json_require_int(v->doc, v->run, v->run_at, "height_px", 1, MAX_EXTENT, &height));
    DIT_TRY(dit_json_require_int(v->doc, v->run, v->run_at, "width_px", 1, MAX_EXTENT, &width));
    DIT_TRY(dit_json_optional_int(v->doc, v->run, v->run_at, "num_frames", 1, MAX_EXTENT, &frames));
    DIT_TRY(dit_latent_resize(latent, height, width, frames));
    out->image_tokens = dit_latent_tokens(latent);
    out->token_channels = dit_latent_token_channels(latent);
    out->segments = per_frame ? latent->frames / latent->patch_t : 1;
    return DIT_OK;
}

dit_status dit_facts_add_blocks(dit_facts *facts, int64_t count, const dit_block_run *run)
{
    int i = 0;
    while (i < DIT_MAX_BLOCK_RUNS && facts->blocks[i].count) i++;
    if (count < 1) return DIT_OK;
    if (i == DIT_MAX_BLOCK_RUNS)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "blocks change their kind more than %d times", DIT_MAX_BLOCK_RUNS);
    facts->blocks[i] = *run;
    facts->blocks[i].count = count;
    facts->layers += count;
    return DIT_OK;
}

dit_block_run dit_facts_blocks(const dit_facts *facts, int64_t first, int64_t count)
{
    dit_block_run total = {0};
    int64_t at = 0;
    for (int i = 0; i < DIT_MAX_BLOCK_RUNS && facts->blocks[i].count; at += facts->blocks[i++].count) {
        const dit_block_run *run = &facts->blocks[i];
        int64_t begin = first > at ? first : at, end = at + run->count;
        if (end > first + count) end = first + count;
        int64_t n = end > begin ? end - begin : 0;
        total.count += n;
        total.image_layers += n * run->image_layers;
        total.sums.image += n * run->sums.image;
        total.sums.text += n * run->sums.text;
        total.sums.both += n * run->sums.both;
        total.sums.norms += n * run->sums.norms;
        total.sums.memory += n * run->sums.memory;
    }
    return total;
}

/* In C^2, from diffusers' shapes: joint blocks have two streams with their own modulation (4 + 6 + 2 mlp_ratio each),
 * those of one stream fuse (4 + 3 + 2 mlp_ratio), cross-attention blocks share one modulation and attend twice (4 + 4 +
 * 2 mlp_ratio). */
int64_t dit_facts_block_parameters(const dit_facts *facts, const dit_block_run *blocks)
{
    int64_t C = facts->heads * facts->head_dim, mlp = 2 * facts->mlp_ratio;
    int64_t singles = blocks->sums.both, doubles = blocks->count - singles;
    return (facts->joint ? 2 * doubles * (10 + mlp) + singles * (7 + mlp) : doubles * (8 + mlp)) * C * C;
}

int64_t dit_facts_shared_parameters(const dit_facts *facts, const dit_block_run *blocks)
{
    int64_t C = facts->heads * facts->head_dim, mlp = 2 * facts->mlp_ratio;
    int64_t singles = blocks->sums.both, doubles = blocks->count - singles;
    return (facts->joint ? (2 * doubles + singles) * (4 + mlp) : doubles * (8 + mlp)) * C * C;
}

/* Numbers of blocks, and which of them have a second attention (the list may name more than a cut model has). */
typedef struct {
    int64_t layers, singles;
    const cJSON *dual;
} block_counts;

static dit_status read_counts(const case_view *v, dit_facts *out, block_counts *counts)
{
    *counts = (block_counts){0};
    DIT_TRY(dit_json_require_int(v->doc, v->config, v->config_at, "num_layers", 0, 10000, &counts->layers));
    DIT_TRY(dit_json_optional_int(v->doc, v->config, v->config_at, "num_single_layers", 0, 10000, &counts->singles));
    DIT_TRY(dit_json_optional_array(v->doc, v->config, v->config_at, "dual_attention_layers", &counts->dual));
    DIT_TRY(dit_json_require_int(v->doc, v->config, v->config_at, "num_attention_heads", 1, 4096, &out->heads));
    return dit_json_require_int(v->doc, v->config, v->config_at, "attention_head_dim", 1, 4096, &out->head_dim);
}

static bool is_dual(const cJSON *dual, int64_t layer)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, dual)
    {
        if (cJSON_IsNumber(item) && item->valuedouble == (double)layer) return true;
    }
    return false;
}

/* Every attention and every MLP of a stream ends in a sum, but the last text of SD3, which no later block reads. */
static dit_status add_joint_blocks(dit_facts *out, const block_counts *counts)
{
    bool drops_text = strcmp(out->family, "SD3Transformer2DModel") == 0;
    for (int64_t first = 0, next; first < counts->layers; first = next) {
        dit_block_run run = {.image_layers = is_dual(counts->dual, first)};
        bool last = drops_text && first == counts->layers - 1;
        next = first + 1;
        while (next < counts->layers - drops_text && !last && is_dual(counts->dual, next) == run.image_layers) next++;
        run.sums.image = 2 + run.image_layers, run.sums.text = last ? 0 : 2;
        DIT_TRY(dit_facts_add_blocks(out, next - first, &run));
    }
    return dit_facts_add_blocks(out, counts->singles, &(dit_block_run){.sums.both = 1});
}

static dit_status read_blocks(const case_view *v, dit_facts *out, const block_counts *counts)
{
    enum { PICTURE_TOKENS = 257 }; /* of the image encoder that Wan's picture goes through */
    const char *norm = NULL;
    int64_t picture = 0;
    bool per_frame = false; /* of one frame too: Latte's blocks attend over time after that */
    if (out->joint) return add_joint_blocks(out, counts);
    DIT_TRY(dit_json_optional_bool(v->doc, v->latent, v->latent_at, "attention_per_frame", &per_frame));
    dit_block_run run = {.sums.image = per_frame ? 5 : 3};
    DIT_TRY(dit_json_optional_string(v->doc, v->config, v->config_at, "qk_norm", &norm));
    if (norm && strcmp(norm, "rms_norm_across_heads") == 0) {
        if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(v->config, "image_dim")))
            DIT_TRY(dit_json_optional_int(v->doc, v->config, v->config_at, "image_dim", 0, 65536, &picture));
        run.sums.norms = 3, run.sums.memory = 1;
        out->picture_tokens = picture ? PICTURE_TOKENS : 0;
    }
    if (strcmp(out->family, "HunyuanDiT2DModel") == 0 && counts->layers > 2) out->skips = counts->layers / 2 - 1;
    return dit_facts_add_blocks(out, counts->layers, &run);
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
    const char *family, *injection = "cross-attention", *guidance = "cfg";
    int64_t text_dim = 0, pooled_dim = 0;
    block_counts counts;
    case_view v;
    memset(out, 0, sizeof *out);
    out->mlp_ratio = 4;
    DIT_TRY(open_case(doc, kase, pointer, &v));
    DIT_TRY(dit_json_require_string(doc, v.config, v.config_at, "_class_name", &family));
    DIT_TRY(read_counts(&v, out, &counts));
    DIT_TRY(dit_json_require_int(doc, v.text, v.text_at, "tokens", 0, MAX_EXTENT, &out->text_tokens));
    DIT_TRY(dit_json_optional_int(doc, v.text, v.text_at, "dim", 1, 65536, &text_dim));
    DIT_TRY(dit_json_optional_int(doc, v.text, v.text_at, "pooled_dim", 1, 65536, &pooled_dim));
    DIT_TRY(dit_json_optional_string(doc, v.text, v.text_at, "injection", &injection));
    DIT_TRY(dit_json_optional_string(doc, v.model, v.model_at, "guidance", &guidance));
    DIT_TRY(dit_json_require_int(doc, v.run, v.run_at, "num_images", 1, 4096, &out->num_images));
    DIT_TRY(dit_json_require_int(doc, v.run, v.run_at, "num_inference_steps", 1, 100000, &out->steps));
    DIT_TRY(read_latent(&v, out));
    snprintf(out->family, sizeof out->family, "%s", family);
    out->joint = strncmp(injection, "joint", 5) == 0;
    out->guidance_branches = strcmp(guidance, "cfg") == 0 ? 2 : 1;
    DIT_TRY(read_blocks(&v, out, &counts));
    out->parameters = estimate_parameters(out, text_dim, pooled_dim);
    return dit_json_optional_int(doc, v.model, v.model_at, "parameters", 1, INT64_C(1) << 50, &out->parameters);
}
