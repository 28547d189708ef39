/* Tags: the flat names that filters, plots and claims may use. */
#include "suite/workload/workload.h"

#include "base/axis.h"
#include "base/expr.h"
#include "base/words.h"
#include "suite/catalogue/parameter.h"
#include "suite/workload/tags.h"

#include <stdio.h>
#include <string.h>

static const suite_tag before_degrees[] = {
    {"program", "what a case runs, a name of `list programs`"},
    {"model", "the model with its variant, \"layer:...\" or \"vae:...\""},
    {"base_model", "the model without its variant"},
    {"resolution", "\"WIDTHxHEIGHT\" in pixels"},
    {"height_px", "height in pixels"},
    {"width_px", "width in pixels"},
    {"num_frames", "frames of a video; 1 for images"},
    {"steps", "denoising steps"},
    {"num_layers", "blocks of the transformer"},
    {"image_tokens", "tokens of one image or video"},
    {"text_tokens", "tokens of one prompt"},
    {"num_images", "images made at once"},
    {"guidance_scale", "weight of classifier-free guidance"},
    {"true_cfg_scale", "weight of guidance by a second forward, of a model that computes one; 1: none"},
    {"seed", "seed of the noise"},
    {"weights", "trained: those that are shipped for the model; seeded: random ones"},
    {"prompts", "captions whose pictures are made and judged, \"shapes:test:128\", or none"},
    {"method", "single, ulysses, ring, usp, pipefusion, ..., or oracle"},
    {"world_size", "ranks"},
    {"mesh", "degrees as a label, \"cfg2 pp2 u2\""},
};
static const suite_tag behind_degrees[] = {
    {"warmup_steps", "synchronous steps before an approximate method begins"},
    {"num_pipeline_patch", "bands that follow each other through a pipeline"},
    {"attn_layer_num_for_pp", "blocks of each stage, \"7,7,6\", or even"},
    {"patch_method", "how patches know of each other: distrifusion, ..., or none"},
    {"patch_fraction", "share of a neighbour's rows that PCPP sends"},
    {"stage_method", "pipefusion, dualparal, tpp: how stages work together; none without"},
    {"block_frames", "frames of tokens of a stream's block"},
    {"context_frames", "frames of blocks beside it that a stream's block sees"},
    {"halo_frames", "frames of each neighbour that a Video-Infinity rank sees"},
    {"global_frames", "frames that all of its ranks see"},
    {"stale_steps", "steps that use keys and values of the step before; 0: exact"},
    {"cache", "what steps reuse of earlier ones, \"fbcache(0.08)\", or none"},
    {"cache_policy", "what decides which steps do, a name of `list caches`, or none"},
    {"cache_kind", "schedule: known before the run; measured: decided while it runs; none"},
    {"cache_threshold", "below which a step reuses"},
    {"cache_warmup", "first steps that compute"},
    {"edit", "how pictures of edited captions are drawn again, \"edit(4 0.3)\", or none"},
    {"edit_dense_steps", "first steps of it, which compute all rows"},
    {"edit_threshold", "share of the largest move beyond which it takes a token for changed"},
    {"offload", "where weights of blocks lie that are not resident: none, host or disk"},
    {"offload_policy", "which of them go: belady, lru, prefetch; none"},
    {"offload_depth", "blocks that are read ahead"},
    {"resident_weights", "bytes that weights of blocks may take; 0: all stay"},
    {"decisions",
     "which steps are reused: schedule, measured, replay; published-count: as many as a source says; none"},
    {"text_encoder_parallel", "how ranks share the text encoders; none where they are not timed"},
    {"joint_text", "where text tokens lie under sequence parallelism"},
    {"attention", "the attention policy that the degrees amount to"},
    {"platform", "the machine, by its file"},
    {"profile", "simulated software; none where measured"},
    {"element", "number format of activations: fp32, bf16, ..."},
    {"fp8_linear", "linear layers in fp8: on, off or none"},
    {"graphs", "CUDA graphs: on, off or none"},
    {"engine", "what runs the case, ditbench, or an external engine"},
    {"threads_per_rank", "threads of one rank"},
    {"tiling", "decode in tiles: on or off"},
    {"vae_split", "what the ranks of a shared decode divide: rows or frames"},
    {"tokens", "tokens of one attention layer"},
    {"heads", "query heads"},
    {"kv_heads", "heads of keys and values"},
    {"head_dim", "width of a head"},
    {"batch", "sequences in a batch"},
    {"causal", "under a causal mask: on or off"},
    {"mask", "what a token sees, of base/mask.h, beside causal: none, window, documents, ..."},
    {"layout", "order of tokens around a ring: basic, zigzag, stripe"},
    {"packed", "q, k and v in one exchange: on or off"},
    {"inner_ring", "ranks of an inner ring of a double ring; 0 elsewhere"},
    {"fsdp_prefetch", "blocks whose weights are gathered ahead, where they lie in shards"},
    {"context_first", "ring ranks are nearer to each other than Ulysses ranks: on or off"},
    {"padded_tokens", "tokens after padding to the degrees"},
    {"vocabulary", "words of an embedding and a head; 0: neither"},
    {"memory_limit_gib", "memory of a device that a plan may use"},
    {"strategies", "what a planner may mix: data+shard+tensor+pipeline+recompute"},
    {"stages", "stages of a planned pipeline; 0: searched"},
    {"micro_batches", "microbatches of a planned step; 0: searched"},
    {"balance", "what stages are made equal in: none, time, memory, both"},
    {"granularity", "what gets a strategy of its own: layer or operator"},
    {"operator_splits", "most slices in which a sharded operator works"},
    {"spread", "standard deviation of the logarithm of a sequence's length"},
    {"batches", "batches of sequences that are planned"},
    {"drift", "median length of the last batch over the first one's"},
    {"grouping", "how devices may be cut: one, equal, groups, any"},
    {"replan_every", "batches after which the cut may change; 0: never"},
    {"replan_s", "what a change of the cut takes"},
    {"search", "sharing and recomputing chosen together or one after the other: joint, in-turn"},
};
enum {
    BEFORE = sizeof before_degrees / sizeof *before_degrees,
    BEHIND = sizeof behind_degrees / sizeof *behind_degrees
};

/* The degrees stand from the slowest axis to the fastest; last the ranks of a decode, and those of shards. */
static suite_tag tag_of_axis(int index)
{
    dit_axis axis = index < DIT_AXIS_COUNT ? (dit_axis)(DIT_AXIS_COUNT - 1 - index) : (dit_axis)index;
    return (suite_tag){dit_axis_key(axis), dit_axis_get(axis)->help};
}

const suite_tag *suite_tags(void)
{
    static suite_tag all[BEFORE + DIT_GROUP_COUNT + BEHIND + 1];
    if (all[0].name) return all;
    for (int i = 0; i < DIT_GROUP_COUNT; i++) all[BEFORE + i] = tag_of_axis(i);
    memcpy(all + BEFORE + DIT_GROUP_COUNT, behind_degrees, sizeof behind_degrees);
    memcpy(all, before_degrees, sizeof before_degrees);
    return all;
}

/* The names alone, for what wants a list of words. */
const char *const *suite_tag_names(void)
{
    static const char *words[BEFORE + DIT_GROUP_COUNT + BEHIND + 1];
    for (int i = 0; suite_tags()[i].name; i++) words[i] = suite_tags()[i].name;
    return words;
}

/* What people type in filters for names of ours, besides the keys of parameters. */
static const struct {
    const char *alias, *tag;
} aliases[] = {
    {"gpus", "world_size"},
    {"num_gpus", "world_size"},
    {"ranks", "world_size"},
};

static const char *tag_meant(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i].alias, name) == 0) return aliases[i].tag;
    suite_parameter parameter;
    const char *tag = suite_parameter_from_key(name, &parameter) ? suite_parameter_get(parameter)->tag : NULL;
    return tag ? tag : name;
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
    scope->nearest = dit_nearest_word(name, suite_tag_names());
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
