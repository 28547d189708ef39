/* Facts of a case, and the legality of running it. One rule per row; the first broken rule wins. */
#include "base/mesh.h"

#include <stdio.h>
#include <string.h>

enum { MAX_EXTENT = 1 << 20 };

/* Weights of one full copy from diffusers' shapes: joint blocks have two streams with their own modulation
 * (4+8+6 C^2 each), single blocks fuse (3+4+5+3 C^2), cross-attention blocks share one modulation (4+4+8 C^2). */
static int64_t estimate_parameters(const dit_facts *facts, int64_t double_layers, int64_t single_layers,
                                   int64_t text_dim, int64_t pooled_dim)
{
    int64_t C = facts->heads * facts->head_dim, mlp = facts->mlp_ratio;
    int64_t embed = C * (2 * facts->token_channels + 256 + C);
    if (facts->joint)
        return double_layers * 2 * (10 + 2 * mlp) * C * C + single_layers * (7 + 2 * mlp) * C * C + embed +
               C * (text_dim + pooled_dim + 2 * C + 2 * C);
    return double_layers * (8 + 2 * mlp) * C * C + embed + C * (text_dim + C + 6 * C);
}

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
    out->parameters = estimate_parameters(out, counts.layers, counts.singles, text_dim, pooled_dim);
    return dit_json_optional_int(doc, v.model, v.model_at, "parameters", 1, INT64_C(1) << 50, &out->parameters);
}

static int64_t degree_of(const dit_parallel *parallel, dit_axis axis)
{
    return parallel->degree[axis] > 0 ? parallel->degree[axis] : 1;
}

/* Patches of PCPP and naive patch never see all keys: text that is split would be lost. */
static bool sees_part_only(const dit_parallel *parallel)
{
    return degree_of(parallel, DIT_AXIS_PATCH) > 1 && parallel->patch_method != DIT_PATCH_DISTRIFUSION;
}

dit_joint_text dit_parallel_joint_text(const dit_parallel *parallel, const dit_facts *facts)
{
    if (!facts->joint) return DIT_JOINT_TEXT_REPLICATE;
    if (parallel->joint_text != DIT_JOINT_TEXT_AUTO) return parallel->joint_text;
    if (sees_part_only(parallel)) return DIT_JOINT_TEXT_REPLICATE;
    return facts->text_tokens % dit_parallel_sequence_degree(parallel) == 0 ? DIT_JOINT_TEXT_SPLIT
                                                                            : DIT_JOINT_TEXT_REPLICATE;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static dit_status check_stages(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t stages = degree_of(parallel, DIT_AXIS_PIPEFUSION);
    if (stages > DIT_MAX_STAGES)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "pipefusion_degree %lld is above %d",
                                       (long long)stages, DIT_MAX_STAGES),
                              "more ranks go into ulysses, ring, cfg or data degrees");
    if (stages > 1 && stages > facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES,
                                       "pipefusion_degree %lld is above the number of blocks of %s, %lld",
                                       (long long)stages, facts->family, (long long)facts->layers),
                              "every stage has at least one block");
    return DIT_OK;
}

static dit_status check_listed_stages(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t stages = degree_of(parallel, DIT_AXIS_PIPEFUSION), sum = 0;
    if (stages == 1 || !parallel->stage_blocks[0]) return DIT_OK;
    for (int64_t i = 0; i < stages; i++) {
        if (parallel->stage_blocks[i] < 1)
            return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES,
                                           "attn_layer_num_for_pp: stage %lld of %lld has %d blocks", (long long)i,
                                           (long long)stages, parallel->stage_blocks[i]),
                                  "give every stage at least one block, or leave the list out");
        sum += parallel->stage_blocks[i];
    }
    if (sum != facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES,
                                       "attn_layer_num_for_pp: the stages have %lld blocks together, %s has %lld",
                                       (long long)sum, facts->family, (long long)facts->layers),
                              "list numbers that add up to %lld, or leave the list out", (long long)facts->layers);
    return DIT_OK;
}

static dit_status check_patches(const dit_parallel *parallel, const dit_facts *facts)
{
    static const dit_axis others[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_PIPEFUSION};
    int64_t degree = degree_of(parallel, DIT_AXIS_PATCH);
    (void)facts;
    for (size_t i = 0; i < sizeof others / sizeof *others && degree > 1; i++)
        if (degree_of(parallel, others[i]) > 1)
            return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "patch_degree %lld (%s) beside %s %lld",
                                           (long long)degree, dit_patch_method_name(parallel->patch_method),
                                           dit_axis_key(others[i]), (long long)degree_of(parallel, others[i])),
                                  "displaced patches go together with tensor, cfg and data degrees only");
    return DIT_OK;
}

/* What pipelines and patches are configured by; without them it means nothing. */
static dit_status check_displaced(const dit_parallel *parallel, const dit_facts *facts)
{
    (void)facts;
    if (degree_of(parallel, DIT_AXIS_PIPEFUSION) == 1 && degree_of(parallel, DIT_AXIS_PATCH) == 1) return DIT_OK;
    if (parallel->warmup_steps < 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "warmup_steps %d is below 0", parallel->warmup_steps),
                              "0 starts with an uncounted synchronous forward");
    if (parallel->num_pipeline_patch < 0)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "num_pipeline_patch %d is below 1", parallel->num_pipeline_patch),
            "0 means one band per stage");
    if (!(parallel->patch_fraction >= 0 && parallel->patch_fraction <= 1))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "patch_fraction %g is not in (0, 1]", parallel->patch_fraction),
            "it is the part of a neighbour's rows that a rank gets; 0 means a half");
    return DIT_OK;
}

static dit_status check_world(const dit_parallel *parallel, const dit_facts *facts)
{
    (void)facts;
    if (dit_parallel_world_size(parallel) > 65536)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "the degrees multiply to more than 65536 ranks");
    return DIT_OK;
}

static dit_status check_rows(const dit_parallel *parallel, const dit_facts *facts)
{
    dit_parallel mesh = *parallel;
    mesh.rows_degree = 1;
    int ranks = dit_parallel_world_size(&mesh);
    if (parallel->rows_degree <= 1 || parallel->rows_degree == ranks || (ranks == 1 && !facts->heads)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT,
                                   "rows_degree %d is neither 1 nor the number of ranks, %d", parallel->rows_degree,
                                   ranks),
                          "a picture is decoded by one rank or by all");
}

static dit_status check_cfg(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = degree_of(parallel, DIT_AXIS_CFG);
    if (degree > 2)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "cfg_degree %lld is neither 1 nor 2", (long long)degree),
            "classifier-free guidance has two branches");
    if (degree == 2 && facts->guidance_branches != 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CFG, "cfg_degree 2 needs two guidance branches, %s runs %lld",
                                       facts->family, (long long)facts->guidance_branches),
                              "a guidance-distilled model takes the scale as an input; leave cfg_degree at 1");
    return DIT_OK;
}

static dit_status check_heads(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = degree_of(parallel, DIT_AXIS_ULYSSES), tensor = degree_of(parallel, DIT_AXIS_TENSOR);
    if (tensor > 1 && facts->heads % (tensor * degree))
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_HEADS,
                                       "heads %lld not divisible by tensor_degree %lld x ulysses_degree %lld",
                                       (long long)facts->heads, (long long)tensor, (long long)degree),
                              "tensor ranks share the heads first, Ulysses ranks those of a tensor rank; ring_degree "
                              "has no head limit");
    if (facts->heads % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_HEADS, "heads %lld not divisible by ulysses_degree %lld",
                                       (long long)facts->heads, (long long)degree),
                              "ring_degree has no head limit");
    return DIT_OK;
}

static dit_status check_tokens(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = dit_parallel_sequence_degree(parallel), segments = facts->segments > 1 ? facts->segments : 1;
    int64_t tokens = facts->image_tokens / segments;
    bool patches = degree_of(parallel, DIT_AXIS_PATCH) > 1;
    if (tokens % degree || (facts->heads && tokens < 1))
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS, "image tokens %lld%s not divisible by %s %lld",
                                       (long long)tokens, segments > 1 ? " of a frame" : "",
                                       patches ? "patch_degree" : "ring_degree x ulysses_degree", (long long)degree),
                              "choose a resolution whose token count the sequence degree divides");
    return DIT_OK;
}

static dit_status check_text(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = dit_parallel_sequence_degree(parallel);
    if (!facts->joint || parallel->joint_text != DIT_JOINT_TEXT_SPLIT) return DIT_OK;
    if (sees_part_only(parallel))
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TEXT,
                                       "joint_text split: with %s nobody would see all %lld text tokens",
                                       dit_patch_method_name(parallel->patch_method), (long long)facts->text_tokens),
                              "use joint_text replicate or auto, or patch_method distrifusion");
    if (facts->text_tokens % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TEXT,
                                       "joint_text split: text tokens %lld not divisible by %lld",
                                       (long long)facts->text_tokens, (long long)degree),
                              "use joint_text replicate or auto");
    return DIT_OK;
}

static dit_status check_images(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = degree_of(parallel, DIT_AXIS_DATA);
    if (facts->num_images % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_BATCH, "num_images %lld not divisible by data_degree %lld",
                                       (long long)facts->num_images, (long long)degree),
                              "give every data rank the same number of images");
    return DIT_OK;
}

dit_status dit_parallel_check(const dit_parallel *parallel, const dit_facts *facts)
{
    static dit_status (*const rules[])(const dit_parallel *, const dit_facts *) = {
        check_world, check_stages, check_listed_stages, check_patches, check_displaced, check_rows,
        check_cfg,   check_heads,  check_tokens,        check_text,    check_images,
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) DIT_TRY(rules[i](parallel, facts));
    return DIT_OK;
}
