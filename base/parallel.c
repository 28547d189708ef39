#include "base/parallel.h"

#include "base/json_writer.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

static const char *const joint_text_names[DIT_JOINT_TEXT_COUNT + 1] = {"auto", "split", "replicate"};
enum { MAX_STEPS = 100000, MAX_BANDS = 4096, MAX_FRAMES = 1 << 20, MAX_PREFETCH = 64 };
static const char prefetch_key[] = "fsdp_prefetch";

const char *dit_joint_text_name(dit_joint_text layout)
{
    return joint_text_names[layout];
}

bool dit_joint_text_from_name(const char *name, dit_joint_text *out)
{
    int index = dit_words_find(joint_text_names, name);
    if (index >= 0) *out = (dit_joint_text)index;
    return index >= 0;
}

const char *const *dit_joint_text_names(void)
{
    return joint_text_names;
}

int dit_parallel_degree(const dit_parallel *parallel, dit_axis axis)
{
    int degree = axis == DIT_AXIS_WORLD  ? parallel->rows_degree
                 : axis == DIT_AXIS_FSDP ? parallel->fsdp_degree
                                         : parallel->degree[axis];
    return degree > 0 ? degree : 1;
}

int dit_parallel_world_size(const dit_parallel *parallel)
{
    int64_t size = 1;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        size *= dit_parallel_degree(parallel, (dit_axis)axis);
        if (size > INT32_MAX) return INT32_MAX; /* refused by dit_parallel_check */
    }
    return size > parallel->rows_degree ? (int)size : parallel->rows_degree;
}

int dit_parallel_sequence_degree(const dit_parallel *parallel)
{
    int degree = 1;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        if (dit_axis_get((dit_axis)axis)->sequence) degree *= dit_parallel_degree(parallel, (dit_axis)axis);
    return degree;
}

int dit_parallel_equal_ranks(const dit_parallel *parallel)
{
    dit_parallel mesh = *parallel;
    mesh.rows_degree = mesh.degree[DIT_AXIS_TENSOR] = mesh.degree[DIT_AXIS_PIPEFUSION] = 1;
    return dit_parallel_world_size(&mesh);
}

int dit_parallel_inner_ring(const dit_parallel *parallel)
{
    int ring = dit_parallel_degree(parallel, DIT_AXIS_RING), inner = 1;
    if (parallel->ring_method != DIT_RING_DOUBLE) return ring;
    if (parallel->inner_ring) return parallel->inner_ring;
    for (int d = 2; d <= ring / d; d++)
        if (ring % d == 0) inner = d;
    return inner;
}

dit_status dit_inner_ring_check(int64_t ring_degree, int64_t inner_ring)
{
    if (inner_ring == 0 || ring_degree % inner_ring == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT, "ring_degree %lld not divisible by inner_ring %lld",
                                   (long long)ring_degree, (long long)inner_ring),
                          "all inner rings have equally many ranks");
}

bool dit_parallel_is_displaced(const dit_parallel *parallel)
{
    return dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) > 1 || dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1;
}

static dit_status read_stages(const dit_json *doc, const cJSON *object, const char *pointer, dit_parallel *out)
{
    const cJSON *stages = NULL;
    char at[256];
    snprintf(at, sizeof at, "%s/attn_layer_num_for_pp", pointer);
    DIT_TRY(dit_json_optional_array(doc, object, pointer, "attn_layer_num_for_pp", &stages));
    int count = stages ? cJSON_GetArraySize(stages) : 0;
    if (!count) return DIT_OK;
    if (count != dit_parallel_degree(out, DIT_AXIS_PIPEFUSION) || count > DIT_MAX_STAGES)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE,
                             "%d stages are listed, but pipefusion_degree is %d (at most %d)", count,
                             dit_parallel_degree(out, DIT_AXIS_PIPEFUSION), DIT_MAX_STAGES);
    for (int i = 0; i < count; i++) {
        const cJSON *item = cJSON_GetArrayItem(stages, i);
        if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > DIT_MAX_BLOCKS ||
            item->valuedouble != (double)(int)item->valuedouble)
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "expected numbers of blocks from 1 to %d",
                                 DIT_MAX_BLOCKS);
        out->stage_blocks[i] = (int)item->valuedouble;
    }
    return DIT_OK;
}

/* Keys that only pipelines and patches have; elsewhere they are refused. */
static const char *const displaced_keys[] = {
    "warmup_steps", "num_pipeline_patch", "attn_layer_num_for_pp", "patch_method", "patch_fraction",
    "halo_frames",  "global_frames",      "stage_method",          "block_frames", "context_frames"};
enum { DISPLACED_KEYS = sizeof displaced_keys / sizeof *displaced_keys };

static dit_status read_displaced(const dit_json *doc, const cJSON *object, const char *pointer, dit_parallel *out)
{
    int64_t warmup_steps = 0, bands = 0, halo = 0, global = 0, block = 0, context = 0;
    const char *method = dit_patch_method_name(DIT_PATCH_DISTRIFUSION);
    const char *stages = dit_stage_method_name(DIT_STAGE_PIPEFUSION);
    char at[256];
    for (int i = 0; i < DISPLACED_KEYS && !dit_parallel_is_displaced(out); i++) {
        if (!cJSON_GetObjectItemCaseSensitive(object, displaced_keys[i])) continue;
        snprintf(at, sizeof at, "%s/%s", pointer, displaced_keys[i]);
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s without pipefusion_degree or patch_degree above 1",
                             displaced_keys[i]);
    }
    DIT_TRY(dit_json_optional_int(doc, object, pointer, "warmup_steps", 0, MAX_STEPS, &warmup_steps));
    DIT_TRY(dit_json_optional_int(doc, object, pointer, "num_pipeline_patch", 0, MAX_BANDS, &bands));
    DIT_TRY(dit_json_optional_number(doc, object, pointer, "patch_fraction", 0, 1, &out->patch_fraction));
    DIT_TRY(dit_json_optional_string(doc, object, pointer, "patch_method", &method));
    DIT_TRY(dit_json_optional_int(doc, object, pointer, "halo_frames", 0, MAX_FRAMES, &halo));
    DIT_TRY(dit_json_optional_int(doc, object, pointer, "global_frames", 0, MAX_FRAMES, &global));
    DIT_TRY(dit_json_optional_int(doc, object, pointer, "block_frames", 1, MAX_FRAMES, &block));
    DIT_TRY(dit_json_optional_int(doc, object, pointer, "context_frames", 0, MAX_FRAMES, &context));
    DIT_TRY(dit_json_optional_string(doc, object, pointer, "stage_method", &stages));
    out->halo_frames = (int)halo, out->global_frames = (int)global;
    out->block_frames = (int)block, out->context_frames = (int)context;
    out->warmup_steps = (int)warmup_steps;
    out->num_pipeline_patch = (int)bands;
    DIT_TRY(read_stages(doc, object, pointer, out));
    snprintf(at, sizeof at, "%s/stage_method", pointer);
    if (!dit_stage_method_from_name(stages, &out->stage_method))
        return dit_json_fail_word(doc, at, "stage_method", stages, dit_stage_method_names());
    if (dit_patch_method_from_name(method, &out->patch_method)) return DIT_OK;
    snprintf(at, sizeof at, "%s/patch_method", pointer);
    return dit_json_fail_word(doc, at, "patch_method", method, dit_patch_method_names());
}

/* Keys that only a ring has. */
static const char *const ring_keys[] = {"ring_method", "inner_ring"};
enum { RING_KEYS = sizeof ring_keys / sizeof *ring_keys };

static dit_status read_ring(const dit_json *doc, const cJSON *object, const char *pointer, dit_parallel *out)
{
    const char *const *names = dit_ring_method_names_of_models(), *method = names[0];
    int64_t inner_ring = 0;
    char at[256];
    for (int i = 0; i < RING_KEYS && dit_parallel_degree(out, DIT_AXIS_RING) == 1; i++) {
        if (!cJSON_GetObjectItemCaseSensitive(object, ring_keys[i])) continue;
        snprintf(at, sizeof at, "%s/%s", pointer, ring_keys[i]);
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s without ring_degree above 1", ring_keys[i]);
    }
    DIT_TRY(dit_json_optional_string(doc, object, pointer, "ring_method", &method));
    int index = dit_words_find(names, method);
    snprintf(at, sizeof at, "%s/ring_method", pointer);
    if (index < 0) return dit_json_fail_word(doc, at, "ring_method", method, names);
    out->ring_method = (dit_ring_method)index;
    DIT_TRY(dit_json_optional_int(doc, object, pointer, "inner_ring", 1, DIT_MAX_DEGREE, &inner_ring));
    out->inner_ring = (int)inner_ring;
    snprintf(at, sizeof at, "%s/inner_ring", pointer);
    if (!inner_ring || out->ring_method == DIT_RING_DOUBLE) return DIT_OK;
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "inner_ring with ring_method %s: only %s has inner rings", method,
                         dit_ring_method_name(DIT_RING_DOUBLE));
}

static dit_status read_shards(const dit_json *doc, const cJSON *object, const char *pointer, dit_parallel *out)
{
    int64_t degree = 1, prefetch = 1;
    char at[256];
    DIT_TRY(dit_json_optional_int(doc, object, pointer, dit_axis_key(DIT_AXIS_FSDP), 1, DIT_MAX_DEGREE, &degree));
    DIT_TRY(dit_json_optional_int(doc, object, pointer, prefetch_key, 0, MAX_PREFETCH, &prefetch));
    out->fsdp_degree = (int)degree;
    out->fsdp_prefetch = degree > 1 ? (int)prefetch : 0;
    snprintf(at, sizeof at, "%s/%s", pointer, prefetch_key);
    if (degree > 1 || !cJSON_GetObjectItemCaseSensitive(object, prefetch_key)) return DIT_OK;
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s without %s above 1", prefetch_key,
                         dit_axis_key(DIT_AXIS_FSDP));
}

dit_status dit_parallel_from_json(const dit_json *doc, const cJSON *object, const char *pointer, dit_parallel *out)
{
    const char *keys[DIT_GROUP_COUNT + DISPLACED_KEYS + RING_KEYS + 4] = {0};
    int64_t rows_degree = 1;
    const char *joint_text = "auto";
    *out = (dit_parallel){0};
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) keys[axis] = dit_axis_key((dit_axis)axis);
    keys[DIT_GROUP_COUNT] = "joint_text";
    keys[DIT_GROUP_COUNT + 1] = "context_first";
    keys[DIT_GROUP_COUNT + 2] = prefetch_key;
    for (int i = 0; i < DISPLACED_KEYS; i++) keys[DIT_GROUP_COUNT + 3 + i] = displaced_keys[i];
    for (int i = 0; i < RING_KEYS; i++) keys[DIT_GROUP_COUNT + 3 + DISPLACED_KEYS + i] = ring_keys[i];
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        int64_t degree = 1;
        DIT_TRY(dit_json_optional_int(doc, object, pointer, dit_axis_key((dit_axis)axis), 1, DIT_MAX_DEGREE, &degree));
        out->degree[axis] = (int)degree;
    }
    DIT_TRY(dit_json_optional_int(doc, object, pointer, dit_axis_key(DIT_AXIS_WORLD), 1, DIT_MAX_DEGREE, &rows_degree));
    out->rows_degree = (int)rows_degree;
    DIT_TRY(read_shards(doc, object, pointer, out));
    DIT_TRY(read_displaced(doc, object, pointer, out));
    DIT_TRY(read_ring(doc, object, pointer, out));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "context_first", &out->context_first));
    DIT_TRY(dit_json_optional_string(doc, object, pointer, "joint_text", &joint_text));
    if (!dit_joint_text_from_name(joint_text, &out->joint_text)) {
        char at[256];
        snprintf(at, sizeof at, "%s/joint_text", pointer);
        return dit_json_fail_word(doc, at, "joint_text", joint_text, joint_text_names);
    }
    return DIT_OK;
}

static void add_displaced(dit_json_writer *w, const dit_parallel *parallel, cJSON *object)
{
    dit_json_put_int(w, object, "warmup_steps", parallel->warmup_steps);
    if (dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1) {
        dit_json_put_string(w, object, "patch_method", dit_patch_method_name(parallel->patch_method));
        if (parallel->patch_fraction > 0) dit_json_put_number(w, object, "patch_fraction", parallel->patch_fraction);
        if (parallel->halo_frames) dit_json_put_int(w, object, "halo_frames", parallel->halo_frames);
        if (parallel->global_frames) dit_json_put_int(w, object, "global_frames", parallel->global_frames);
        return;
    }
    if (parallel->stage_method != DIT_STAGE_PIPEFUSION) {
        dit_json_put_string(w, object, "stage_method", dit_stage_method_name(parallel->stage_method));
        dit_json_put_int(w, object, "block_frames", parallel->block_frames);
        dit_json_put_int(w, object, "context_frames", parallel->context_frames);
    }
    if (parallel->num_pipeline_patch) dit_json_put_int(w, object, "num_pipeline_patch", parallel->num_pipeline_patch);
    if (!parallel->stage_blocks[0]) return;
    cJSON *stages = dit_json_put_array(w, object, "attn_layer_num_for_pp");
    for (int i = 0; stages && i < dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION); i++)
        dit_json_put_number(w, stages, NULL, parallel->stage_blocks[i]);
}

static void add_ring(dit_json_writer *w, const dit_parallel *parallel, cJSON *object)
{
    if (parallel->ring_method == DIT_RING_MERGE || dit_parallel_degree(parallel, DIT_AXIS_RING) == 1) return;
    dit_json_put_string(w, object, "ring_method", dit_ring_method_name(parallel->ring_method));
    if (parallel->inner_ring) dit_json_put_int(w, object, "inner_ring", parallel->inner_ring);
}

/* Writes the configuration. Keys with their default value are left out, so that a case keeps its id when the engine
 * gets new keys. */
dit_status dit_parallel_to_json(const dit_parallel *parallel, cJSON *object)
{
    dit_json_writer w = {0};
    for (int axis = DIT_AXIS_COUNT - 1; axis >= 0; axis--)
        if (!dit_axis_get((dit_axis)axis)->unsaid || dit_parallel_degree(parallel, (dit_axis)axis) > 1)
            dit_json_put_int(&w, object, dit_axis_key((dit_axis)axis), dit_parallel_degree(parallel, (dit_axis)axis));
    if (dit_parallel_is_displaced(parallel)) add_displaced(&w, parallel, object);
    add_ring(&w, parallel, object);
    if (parallel->context_first) dit_json_put_bool(&w, object, "context_first", true);
    if (parallel->rows_degree > 1) dit_json_put_int(&w, object, dit_axis_key(DIT_AXIS_WORLD), parallel->rows_degree);
    if (parallel->fsdp_degree > 1) dit_json_put_int(&w, object, dit_axis_key(DIT_AXIS_FSDP), parallel->fsdp_degree);
    if (parallel->fsdp_degree > 1 && parallel->fsdp_prefetch != 1)
        dit_json_put_int(&w, object, prefetch_key, parallel->fsdp_prefetch);
    dit_json_put_string(&w, object, "joint_text", joint_text_names[parallel->joint_text]);
    return w.status;
}
