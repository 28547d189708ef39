#include "suite/catalogue/parameter.h"

#include "base/cache.h"
#include "base/edit_plan.h"
#include "base/layer.h"
#include "base/residency.h"
#include "base/rows.h"
#include "base/text_parallel.h"
#include "base/words.h"
#include "suite/catalogue/cut.h"
#include "suite/catalogue/engine.h"
#include "suite/catalogue/method.h"
#include "suite/catalogue/way.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[SUITE_PARAMETER_COUNT + 1] = {
#define PARAMETER_KEY(name, key, ...) key,
    SUITE_PARAMETER_LIST(PARAMETER_KEY)
#undef PARAMETER_KEY
};

/* How a kind of value is checked, and what people are told of it. */
struct suite_parameter_kind {
    dit_status (*check)(const dit_json *doc, const char *pointer, const suite_parameter_row *row, const cJSON *value);
    const char *form;                  /* "true or false"; of numbers the range follows; NULL: `words` tell  */
    const char *const *(*words)(void); /* that a choice is made of; NULL of other kinds                       */
    bool has_range, is_whole;          /* numbers                                                             */
};

static const char *const *layout_words(void)
{
    static const char *const words[] = {"basic", "zigzag", "stripe", NULL};
    return words;
}

static const char *const *element_words(void)
{
    static const char *const words[] = {"fp32", "fp16", "bf16", "fp8", NULL};
    return words;
}

/* Words of attention: what degrees amount to, other ways around a ring, and the patch methods. */
static const char *const *attention_words(void)
{
    static const char *words[5 + DIT_RING_METHOD_COUNT + DIT_PATCH_METHOD_COUNT + 1] = {
        "local", "ulysses", "usp", DIT_STANDARD_ATTENTION, "stream"};
    const char **next = words + 5;
    for (int i = 0; i < DIT_RING_METHOD_COUNT; i++) *next++ = dit_ring_method_name((dit_ring_method)i);
    for (int i = 0; i < DIT_PATCH_METHOD_COUNT; i++) *next++ = dit_patch_method_name((dit_patch_method)i);
    return words;
}

static const char *const *offload_words(void)
{
    return dit_offload_tiers;
}

static const char *const *residency_words(void)
{
    return dit_residency_policies;
}

static const char *const *noise_words(void)
{
    static const char *const words[] = {"counter", "torch", "torch-each", NULL};
    return words;
}

static const char *const *weights_words(void)
{
    static const char *const words[] = {"trained", "seeded", NULL};
    return words;
}

/* What other programs call our keys; mostly flags of xDiT and arguments of diffusers. */
static const struct {
    const char *alias, *hint;
} aliases[] = {
    {"pipefusion_patches", "it is \"num_pipeline_patch\" here; the stages are \"pipefusion_degree\""},
    {"num_patches", "a pipeline's patches are \"num_pipeline_patch\" here; patches of ranks are \"patch_degree\""},
    {"stage_blocks", "it is \"attn_layer_num_for_pp\" here"},
    {"use_cfg_parallel", "xDiT's use_cfg_parallel is \"cfg_degree\": 2 here"},
    {"ulysses_parallel_degree", "it is \"ulysses_degree\" here"},
    {"ring_parallel_degree", "it is \"ring_degree\" here"},
    {"sequence_parallel_degree", "give \"ulysses_degree\" and \"ring_degree\"; their product is the sequence degree"},
    {"height", "it is \"height_px\" here"},
    {"width", "it is \"width_px\" here"},
    {"steps", "it is \"num_inference_steps\" here (the tag in expressions is steps)"},
    {"cfg_scale", "it is \"guidance_scale\" here"},
    {"guidance", "it is \"guidance_scale\" here"},
    {"video_length", "it is \"num_frames\" here"},
    {"frames", "it is \"num_frames\" here"},
    {"use_parallel_vae", "it is \"rows_degree\" here, for program vae_decode and scope pipeline"},
    {"vae_parallel_size", "it is \"rows_degree\" here, for program vae_decode and scope pipeline"},
    {"enable_tiling", "it is \"tiling\" here, for program vae_decode and scope pipeline"},
    {"batch_size", "it is \"num_images\" here, for program attention \"batch\""},
    {"seq_len", "it is \"tokens\" here, for program attention"},
    {"nheads", "it is \"heads\" here, for program attention"},
    {"head_size", "it is \"head_dim\" here, for program attention"},
    {"ring_impl_type", "it is \"layout\" here, for program attention"},
    {"use_qkvpack", "it is \"packed\" here, for program attention"},
    {"num_kv_heads", "it is \"kv_heads\" here, for program attention"},
    {"dtype", "it is \"element\" here, of devices and of simulated platforms"},
    {"torch_dtype", "it is \"element\" here, of devices and of simulated platforms"},
    {"use_fp8", "it is \"fp8_linear\" here, for platforms with backend cuda"},
    {"use_cuda_graphs", "it is \"graphs\" here, for platforms with backend cuda"},
    {"software", "it is \"profile\" here, for simulated platforms"},
    {"max_sequence_length", "it is \"text_tokens\" here"},
    {"num_warmup", "it is \"warmup_runs\" of \"measure\" here"},
    {"warmup_steps", "synchronous steps of an approximate method are a parameter, under \"defaults\" or \"axes\"; the "
                     "harness's own warm-up is \"warmup_runs\" of \"measure\""},
    {"num_iterations", "it is \"iterations\" of \"measure\" here"},
    {"repetitions", "it is \"processes\" of \"repeat\" here"},
    {"gpus", "it is \"world_size\" here"},
    {"num_gpus", "it is \"world_size\" here"},
};

const char *const *suite_parameter_keys(void)
{
    return keys;
}

/* What to write here instead of another program's key; false when none is known. */
static bool find_alias(const char *key, char *hint, size_t size)
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        const char *xdit = dit_axis_get((dit_axis)axis)->xdit;
        if (!xdit || strcmp(key, xdit) != 0) continue;
        snprintf(hint, size, "xDiT's %s is \"%s\" here", xdit, dit_axis_key((dit_axis)axis));
        return true;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(key, aliases[i].alias) != 0) continue;
        snprintf(hint, size, "%s", aliases[i].hint);
        return true;
    }
    return false;
}

dit_status suite_only_keys(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *valid)
{
    char at[512], hint[256];
    for (const cJSON *member = cJSON_IsObject(object) ? object->child : NULL; member; member = member->next) {
        if (dit_words_find(valid, member->string) >= 0) continue;
        if (!find_alias(member->string, hint, sizeof hint)) continue;
        dit_json_pointer_join(at, sizeof at, pointer, member->string);
        return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_UNKNOWN_KEY, "unknown key \"%s\"", member->string),
                              "%s", hint);
    }
    return dit_json_only_keys(doc, object, pointer, valid);
}

static int64_t extent_from_text(const char **text)
{
    int64_t extent = 0;
    if (**text < '1' || **text > '9') return 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        extent = extent * 10 + (**text - '0');
        if (extent > 1 << 20) return 0;
    }
    return extent;
}

bool suite_resolution_from_text(const char *text, int64_t *width_px, int64_t *height_px)
{
    *width_px = extent_from_text(&text);
    if (!*width_px || *text != 'x') return false;
    text++;
    *height_px = extent_from_text(&text);
    return *height_px && !*text;
}

/* ---- one value --------------------------------------------------------------------------------------------------- */

static const char *type_name(const cJSON *value)
{
    if (cJSON_IsString(value)) return "a string";
    if (cJSON_IsNumber(value)) return "a number";
    if (cJSON_IsBool(value)) return "a truth value";
    if (cJSON_IsArray(value)) return "an array";
    if (cJSON_IsObject(value)) return "an object";
    return "null";
}

static dit_status fail_type(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                            const char *wanted, const cJSON *value)
{
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "%s wants %s, this is %s", row->key, wanted,
                         type_name(value));
}

static dit_status check_number(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                               const cJSON *value)
{
    bool whole = row->kind->is_whole;
    if (!cJSON_IsNumber(value) || (whole && value->valuedouble != floor(value->valuedouble)))
        return fail_type(doc, pointer, row, whole ? "an integer" : "a number", value);
    if (value->valuedouble < (double)row->least || value->valuedouble > (double)row->greatest)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%s %.17g is outside [%lld, %lld]", row->key,
                             value->valuedouble, (long long)row->least, (long long)row->greatest);
    return DIT_OK;
}

static dit_status check_fraction(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                                 const cJSON *value)
{
    DIT_TRY(check_number(doc, pointer, row, value));
    if (value->valuedouble > 0) return DIT_OK;
    return dit_error_hint(
        dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%s %.17g is outside (0, 1]", row->key, value->valuedouble),
        "for ranks that exchange nothing, use the method naive-patch");
}

static dit_status check_drift(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                              const cJSON *value)
{
    if (!cJSON_IsNumber(value)) return fail_type(doc, pointer, row, "a number", value);
    if (value->valuedouble >= 0.01 && value->valuedouble <= 100) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%s %.17g is outside 0.01 to 100", row->key,
                         value->valuedouble);
}

static dit_status check_stage_blocks(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                                     const cJSON *value)
{
    char at[256];
    int stages = cJSON_GetArraySize(value), index = 0;
    if (!cJSON_IsArray(value)) return fail_type(doc, pointer, row, "a list of blocks per stage", value);
    if (stages < 2 || stages > DIT_MAX_STAGES)
        return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                                            "%s lists %d stages, 2 to %d make a pipeline", row->key, stages,
                                            DIT_MAX_STAGES),
                              "one number per stage, for example [7, 7, 7, 7]");
    for (const cJSON *item = value->child; item; item = item->next, index++) {
        snprintf(at, sizeof at, "%s/%d", pointer, index);
        DIT_TRY(check_number(doc, at, row, item));
    }
    return DIT_OK;
}

static dit_status check_word(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                             const cJSON *value)
{
    const char *const *words = row->kind->words();
    if (!cJSON_IsString(value)) return fail_type(doc, pointer, row, "a string", value);
    if (dit_words_find(words, value->valuestring) >= 0) return DIT_OK;
    return dit_json_fail_word(doc, pointer, row->key, value->valuestring, words);
}

static dit_status check_switch(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                               const cJSON *value)
{
    return cJSON_IsBool(value) ? DIT_OK : fail_type(doc, pointer, row, "true or false", value);
}

static dit_status check_name(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                             const cJSON *value)
{
    return cJSON_IsString(value) ? DIT_OK : fail_type(doc, pointer, row, "a name", value);
}

/* "shapes:test:128", "shapes-edits:test:128"; the engine knows the splits. */
static dit_status check_prompts(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                                const cJSON *value)
{
    char split[32];
    int count;
    bool edits;
    if (!cJSON_IsString(value)) return fail_type(doc, pointer, row, "\"shapes:SPLIT:COUNT\"", value);
    if (suite_prompts_from_text(value->valuestring, split, &count, &edits) && count <= row->greatest) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                                        "%s \"%.80s\" is not \"shapes:SPLIT:COUNT\" with a count from 1 to %lld",
                                        row->key, value->valuestring, (long long)row->greatest),
                          "write for example shapes:test:128, or shapes-edits:test:128 for captions after an edit");
}

static dit_status check_scheduler(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                                  const cJSON *value)
{
    return cJSON_IsObject(value) ? DIT_OK : fail_type(doc, pointer, row, "an object", value);
}

static dit_status check_resolution(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                                   const cJSON *value)
{
    int64_t width_px, height_px;
    if (!cJSON_IsString(value)) return fail_type(doc, pointer, row, "a string \"WIDTHxHEIGHT\"", value);
    if (suite_resolution_from_text(value->valuestring, &width_px, &height_px)) return DIT_OK;
    return dit_error_hint(
        dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "resolution \"%s\" is not WIDTHxHEIGHT", value->valuestring),
        "write pixels, for example \"1280x720\"");
}

static dit_status check_model(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                              const cJSON *value)
{
    static const char *const members[] = {"name", "as", "override", "folder", NULL};
    const char *name, *as = NULL, *folder = NULL;
    const cJSON *override = NULL;
    if (cJSON_IsString(value)) return DIT_OK;
    if (!cJSON_IsObject(value)) return fail_type(doc, pointer, row, "a name or an object", value);
    DIT_TRY(suite_only_keys(doc, value, pointer, members));
    DIT_TRY(dit_json_require_string(doc, value, pointer, "name", &name));
    DIT_TRY(dit_json_optional_string(doc, value, pointer, "as", &as));
    DIT_TRY(dit_json_optional_object(doc, value, pointer, "override", &override));
    DIT_TRY(dit_json_optional_string(doc, value, pointer, "folder", &folder));
    if (folder && override)
        return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                                            "the folder has a config of its own, and \"override\" is another"),
                              "keep one of the two");
    if (as && !override && !folder)
        return dit_error_hint(
            dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "\"as\" names an override, but there is no \"override\""),
            "leave \"as\" out: a model that is not changed needs no second name");
    return DIT_OK;
}

/* Lengths are judged with the steps of the case. */
static dit_status check_cache(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                              const cJSON *value)
{
    dit_cache cache;
    char names[160];
    if (cJSON_IsObject(value)) return dit_cache_read(doc, value, pointer, 0, &cache);
    if (!cJSON_IsString(value)) return fail_type(doc, pointer, row, "\"none\" or an object", value);
    if (strcmp(value->valuestring, dit_cache_name(DIT_CACHE_NONE)) == 0) return DIT_OK;
    dit_words_join(dit_cache_names(), names, sizeof names);
    return dit_error_hint(
        dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%s \"%.80s\" is not \"none\"", row->key, value->valuestring),
        "settings are an object, {\"policy\": \"fbcache\", \"threshold\": 0.08}; there are: %s", names);
}

static dit_status check_edit(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                             const cJSON *value)
{
    dit_edit_plan plan;
    if (cJSON_IsObject(value)) return dit_edit_plan_read(doc, value, pointer, &plan);
    if (!cJSON_IsString(value)) return fail_type(doc, pointer, row, "\"none\" or an object", value);
    if (strcmp(value->valuestring, "none") == 0) return DIT_OK;
    return dit_error_hint(
        dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%s \"%.80s\" is not \"none\"", row->key, value->valuestring),
        "settings are an object, {\"dense_steps\": 4, \"threshold\": 0.3}");
}

static dit_status check_method(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                               const cJSON *value)
{
    char message[512], hint[256];
    if (!cJSON_IsString(value)) return fail_type(doc, pointer, row, "a method", value);
    if (suite_method_check(value->valuestring) == DIT_OK) return DIT_OK;
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    snprintf(hint, sizeof hint, "%s", dit_error_last()->hint);
    return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%s", message), "%s", hint);
}

static dit_status check_strategies(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                                   const cJSON *value)
{
    unsigned ways;
    char words[128];
    if (!cJSON_IsString(value)) return fail_type(doc, pointer, row, "a string", value);
    if (suite_ways_from_text(value->valuestring, &ways)) return DIT_OK;
    dit_words_join(suite_way_words(), words, sizeof words);
    return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%s \"%.80s\" is no set of strategies",
                                        row->key, value->valuestring),
                          "join distinct words of %s with +", words);
}

static dit_status check_threads(const dit_json *doc, const char *pointer, const suite_parameter_row *row,
                                const cJSON *value)
{
    if (cJSON_IsString(value) && strcmp(value->valuestring, "auto") == 0) return DIT_OK;
    if (!cJSON_IsNumber(value)) return fail_type(doc, pointer, row, "an integer or \"auto\"", value);
    return check_number(doc, pointer, row, value);
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const suite_parameter_kind
    kind_MODEL        = {check_model, .form = "a name of `list models`, or {name, as, override}, or {name, as, folder}"},
    kind_SCHEDULER    = {check_scheduler, .form = "an object laid over the model's scheduler"},
    kind_RESOLUTION   = {check_resolution, .form = "\"WIDTHxHEIGHT\" in pixels"},
    kind_THREADS      = {check_threads, .form = "an integer, or \"auto\"", .is_whole = true},
    kind_NAME         = {check_name, .form = "a name"},
    kind_METHOD       = {check_method, .form = "a name of `list methods`, or several joined with +"},
    kind_CACHE        = {check_cache, .form = "\"none\", or {policy, threshold, ...}: `list caches`"},
    kind_EDIT         = {check_edit, .form = "\"none\", or {dense_steps, threshold, dense_share}"},
    kind_NOISE        = {check_word, .words = noise_words},
    kind_WEIGHTS      = {check_word, .words = weights_words},
    kind_PROMPTS      = {check_prompts, .form = "\"shapes:SPLIT:COUNT\" or \"shapes-edits:SPLIT:COUNT\""},
    kind_ATTENTION    = {check_word, .words = attention_words},
    kind_OFFLOAD      = {check_word, .words = offload_words},
    kind_RESIDENCY    = {check_word, .words = residency_words},
    kind_JOINT_TEXT   = {check_word, .words = dit_joint_text_names},
    kind_TEXT_WAY     = {check_word, .words = dit_text_parallel_names},
    kind_SPLIT        = {check_word, .words = dit_decode_splits},
    kind_PATCH_METHOD = {check_word, .words = dit_patch_method_names},
    kind_STAGE_METHOD = {check_word, .words = dit_stage_method_names},
    kind_ENGINE       = {check_word, .words = suite_engine_names},
    kind_MASK         = {check_word, .words = dit_mask_names},
    kind_LAYOUT       = {check_word, .words = layout_words},
    kind_ELEMENT      = {check_word, .words = element_words},
    kind_STRATEGIES   = {check_strategies, .form = "data, shard, tensor, pipeline or recompute, or several joined with +"},
    kind_BALANCE      = {check_word, .words = suite_balance_words},
    kind_GRANULARITY  = {check_word, .words = suite_unit_words},
    kind_SEARCH       = {check_word, .words = suite_search_order_words},
    kind_STAGE_BLOCKS = {check_stage_blocks, .form = "a list: blocks of each stage", .is_whole = true},
    kind_FRACTION     = {check_fraction, .form = "a number in (0, 1]"},
    kind_DRIFT        = {check_drift, .form = "a number from 0.01 to 100"},
    kind_GROUPING     = {check_word, .words = suite_cut_words},
    kind_SWITCH       = {check_switch, .form = "true or false"},
    kind_INTEGER      = {check_number, .form = "an integer", .has_range = true, .is_whole = true},
    kind_NUMBER       = {check_number, .form = "a number", .has_range = true};
/* clang-format on */

enum { LABEL_ADDED, LABEL_NAMED, NEED_OPTIONAL = 0, NEED_REQUIRED };

#define TAG_SAME(key)  key
#define TAG_NONE(key)  NULL
#define TAG_STEPS(key) "steps"
static const suite_parameter_row rows[SUITE_PARAMETER_COUNT] = {
#define PARAMETER_ROW(name, key, tag, kind, least, greatest, programs, need, platforms, label)                         \
    {key,         TAG_##tag(key), &kind_##kind, least, greatest, SUITE_READS_##programs, SUITE_ON_##platforms,         \
     NEED_##need, LABEL_##label},
    SUITE_PARAMETER_LIST(PARAMETER_ROW)
#undef PARAMETER_ROW
};
#undef TAG_SAME
#undef TAG_NONE
#undef TAG_STEPS

bool suite_prompts_from_text(const char *text, char split[32], int *count, bool *edits)
{
    static const char prefix[] = "shapes-edits:";
    char rest;
    *edits = strncmp(text, prefix, sizeof prefix - 1) == 0;
    if (*edits) return sscanf(text, "shapes-edits:%31[a-z-]:%6d%c", split, count, &rest) == 2 && *count >= 1;
    return sscanf(text, "shapes:%31[a-z-]:%6d%c", split, count, &rest) == 2 && *count >= 1;
}

const suite_parameter_row *suite_parameter_get(suite_parameter parameter)
{
    return &rows[parameter];
}

const char *suite_parameter_key(suite_parameter parameter)
{
    return rows[parameter].key;
}

bool suite_parameter_from_key(const char *key, suite_parameter *out)
{
    for (int i = 0; i < SUITE_PARAMETER_COUNT; i++) {
        if (strcmp(key, rows[i].key) == 0) {
            *out = (suite_parameter)i;
            return true;
        }
    }
    return false;
}

suite_parameter suite_parameter_of_axis(dit_axis axis)
{
    static const suite_parameter degrees[DIT_GROUP_COUNT] = {
#define DEGREE_OF_AXIS(unused, axis, name, needs) [DIT_AXIS_##axis] = SUITE_PARAMETER_##axis##_DEGREE,
        DIT_AXIS_LIST(DEGREE_OF_AXIS, )
#undef DEGREE_OF_AXIS
            [DIT_AXIS_WORLD] = SUITE_PARAMETER_ROWS_DEGREE,
        [DIT_AXIS_FSDP] = SUITE_PARAMETER_FSDP_DEGREE};
    return degrees[axis];
}

dit_status suite_parameter_check(const dit_json *doc, const char *pointer, suite_parameter parameter,
                                 const cJSON *value)
{
    return rows[parameter].kind->check(doc, pointer, &rows[parameter], value);
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

const suite_platform_words *suite_parameter_platforms(suite_parameter parameter)
{
    static const suite_platform_words words[SUITE_ON_ANY + 1] = {
        [SUITE_ON_SIMULATED] = {"simulated", "is simulated", "cost"},
        [SUITE_ON_DEVICE] = {"GPU", "is a GPU", "cuda"},
        [SUITE_ON_MODELLED] = {"simulated or GPU", "is simulated or a GPU", "cuda or cost"},
        [SUITE_ON_ANY] = {"any", NULL, NULL},
    };
    return &words[rows[parameter].platforms];
}

void suite_parameter_value_text(suite_parameter parameter, char *out, size_t size)
{
    const suite_parameter_row *row = &rows[parameter];
    if (row->kind->words)
        dit_words_join(row->kind->words(), out, size);
    else if (row->kind->has_range)
        snprintf(out, size, "%s from %lld to %lld", row->kind->form, (long long)row->least, (long long)row->greatest);
    else
        snprintf(out, size, "%s", row->kind->form);
}
