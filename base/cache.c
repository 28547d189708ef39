#include "base/cache.h"

#include "base/hash.h"
#include "base/words.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    dit_cache_kind kind;
    const char *about;
} rows[DIT_CACHE_COUNT] = {[DIT_CACHE_NONE] = {"none", DIT_CACHE_SCHEDULE, "every step is computed"},
#define CACHE_ROW(constant, name, kind, about) [DIT_CACHE_##constant] = {name, DIT_CACHE_##kind, about},
                           DIT_CACHE_LIST(CACHE_ROW)
#undef CACHE_ROW
};

static const char *const forecasts[] = {"hold", "taylor", "line", NULL};
static const char *const variants[DIT_CACHE_VARIANTS + 1] = {"canonical", "diffusers", "xdit", "cache-dit", NULL};
static const char *const cfg_words[] = {"joint", "separate", NULL};
static const char *const mask_policies[] = {"dynamic", "static", NULL};

const char *const *dit_cache_names(void)
{
    static const char *const names[] = {
#define CACHE_NAME(constant, name, ...) name,
        DIT_CACHE_LIST(CACHE_NAME)
#undef CACHE_NAME
            NULL};
    return names;
}

const char *const *dit_forecast_names(void)
{
    return forecasts;
}

const char *dit_cache_name(dit_cache_policy policy)
{
    return rows[policy].name;
}

const char *dit_cache_about(dit_cache_policy policy)
{
    return rows[policy].about;
}

dit_cache_kind dit_cache_kind_of(dit_cache_policy policy)
{
    return rows[policy].kind;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* What the readers below share. */
typedef struct {
    const dit_json *doc;
    const cJSON *object;
    const char *pointer;
    int steps; /* 0: unknown */
} reading;

static dit_status read_count(const reading *r, const char *key, int64_t least, int64_t most, int *out)
{
    int64_t value = *out;
    DIT_TRY(dit_json_optional_int(r->doc, r->object, r->pointer, key, least, most, &value));
    *out = (int)value;
    return DIT_OK;
}

/* Appends `count` digits. Errors: more than steps can be. */
static dit_status append_digits(const reading *r, const char *at, char digit, int64_t count, char *out)
{
    size_t used = strlen(out);
    if (count > (int64_t)(DIT_CACHE_MAX_STEPS - used))
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "more than %d steps", (int)DIT_CACHE_MAX_STEPS);
    memset(out + used, digit, (size_t)count);
    out[used + (size_t)count] = 0;
    return DIT_OK;
}

/* Reads the next number of "8,3,3" or behind it; 0 where there is none. */
static int64_t next_run(const char **text)
{
    char *end;
    while (**text == ',') ++*text;
    if (!isdigit((unsigned char)**text)) return 0;
    long value = strtol(*text, &end, 10);
    *text = end;
    return value > DIT_CACHE_MAX_STEPS ? DIT_CACHE_MAX_STEPS + 1 : value;
}

/* Reads runs, "8,3,3/1,2,2": 8 steps are computed, 1 reused, 3 computed, 2 reused, and so on. */
static dit_status expand_runs(const reading *r, const char *at, const char *text, char *out)
{
    const char *computed = text, *reused = strchr(text, '/') + 1, *end = reused - 1;
    bool plain = strspn(text, "0123456789,") == (size_t)(end - text) && strspn(reused, "0123456789,") == strlen(reused);
    if (!plain)
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "\"%s\" is neither digits 0 and 1 nor runs like 8,3/1,2",
                             text);
    while (computed < end || *reused) {
        if (computed < end) DIT_TRY(append_digits(r, at, '1', next_run(&computed), out));
        if (*reused) DIT_TRY(append_digits(r, at, '0', next_run(&reused), out));
    }
    return DIT_OK;
}

/* Reads a digit for each step, or runs of them. */
static dit_status read_digits(const reading *r, const char *key, char *out)
{
    const char *text = NULL;
    char at[256];
    DIT_TRY(dit_json_optional_string(r->doc, r->object, r->pointer, key, &text));
    if (!text) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, r->pointer, key);
    if (strchr(text, '/'))
        DIT_TRY(expand_runs(r, at, text, out));
    else if (strspn(text, "01") != strlen(text) || !*text)
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "\"%s\" is neither digits 0 and 1 nor runs like 8,3/1,2",
                             text);
    else if (strlen(text) > DIT_CACHE_MAX_STEPS)
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "more than %d steps", (int)DIT_CACHE_MAX_STEPS);
    else
        snprintf(out, DIT_CACHE_MAX_STEPS + 1, "%s", text);
    if (r->steps && strlen(out) != (size_t)r->steps)
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "%d steps, but the run has %d", (int)strlen(out),
                             r->steps);
    return DIT_OK;
}

/* Reads the list of steps that are computed whatever the policy says. */
static dit_status read_forced(const reading *r, char *out)
{
    const cJSON *list = NULL, *item;
    int64_t most = r->steps && r->steps < DIT_CACHE_MAX_STEPS ? r->steps : DIT_CACHE_MAX_STEPS;
    char at[256];
    DIT_TRY(dit_json_optional_array(r->doc, r->object, r->pointer, "force", &list));
    if (!list || !cJSON_GetArraySize(list)) return DIT_OK;
    memset(out, '0', (size_t)most);
    dit_json_pointer_join(at, sizeof at, r->pointer, "force");
    cJSON_ArrayForEach(item, list)
    {
        double step = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (!(step >= 0 && step < (double)most) || step != floor(step))
            return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "steps from 0 to %d expected", (int)most - 1);
        out[(int)step] = '1';
    }
    return DIT_OK;
}

/* Reads the list of blocks that are never reused. */
static dit_status read_always(const reading *r, char *out)
{
    const cJSON *list = NULL, *item;
    char at[256];
    DIT_TRY(dit_json_optional_array(r->doc, r->object, r->pointer, "always", &list));
    if (!list || !cJSON_GetArraySize(list)) return DIT_OK;
    memset(out, '0', DIT_CACHE_MAX_BLOCKS);
    dit_json_pointer_join(at, sizeof at, r->pointer, "always");
    cJSON_ArrayForEach(item, list)
    {
        double block = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (!(block >= 0 && block < DIT_CACHE_MAX_BLOCKS) || block != floor(block))
            return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "blocks from 0 to %d expected",
                                 (int)DIT_CACHE_MAX_BLOCKS - 1);
        out[(int)block] = '1';
    }
    return DIT_OK;
}

/* Reads "1111,1011": of each step a digit for each block, 0 where it is reused. replay gets a digit for each step, 0 where
 * any is. */
static dit_status read_block_replay(const reading *r, dit_cache *out)
{
    const char *text = NULL;
    char at[256];
    int steps = 0;
    DIT_TRY(dit_json_optional_string(r->doc, r->object, r->pointer, "replay", &text));
    if (!text) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, r->pointer, "replay");
    size_t blocks = strcspn(text, ",");
    if (!blocks || blocks > DIT_CACHE_MAX_BLOCKS || strspn(text, "01,") != strlen(text))
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE,
                             "a digit for each block of a step, and a comma between steps, expected: \"1111,1011\"");
    for (;; steps++, text++) {
        if (strcspn(text, ",") != blocks)
            return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "step %d has %d digits, the first one has %d", steps,
                                 (int)strcspn(text, ","), (int)blocks);
        if (steps >= DIT_CACHE_MAX_STEPS || (size_t)(steps + 1) * blocks > DIT_CACHE_MAX_DIGITS)
            return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "more than %d digits", (int)DIT_CACHE_MAX_DIGITS);
        out->replay[steps] = '1';
        for (size_t block = 0; block < blocks; block++) {
            size_t bit = (size_t)steps * blocks + block;
            if (text[block] == '1') continue;
            out->pruned[bit / 8] |= (unsigned char)(1 << bit % 8);
            out->replay[steps] = '0';
        }
        text += blocks;
        if (!*text) break;
    }
    out->replay_blocks = (int)blocks;
    if (r->steps && steps + 1 != r->steps)
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "%d steps, but the run has %d", steps + 1, r->steps);
    return DIT_OK;
}

/* What a list of numbers may be: `least` to `most` of them, each between `above` and `below`. */
typedef struct {
    const char *key, *hint;
    int least, most;
    double above, below;
} number_list;

static const number_list ratio_list = {.key = "ratios",
                                       .hint = "list the size of each step's residual over that of the step before",
                                       .least = 2,
                                       .most = DIT_CACHE_MAX_STEPS,
                                       .above = 0,
                                       .below = 1e6};
static const number_list coefficient_list = {
    .key = "coefficients",
    .hint =
        "they belong to a model and a number of steps, highest power first; [0, 0, 0, 1, 0] sums changes as they are",
    .least = DIT_CACHE_COEFFICIENTS,
    .most = DIT_CACHE_COEFFICIENTS,
    .above = -1e9,
    .below = 1e9};

static dit_status read_numbers(const reading *r, const number_list *rule, double *out, int *count)
{
    const cJSON *list = NULL, *item;
    char at[256];
    dit_json_pointer_join(at, sizeof at, r->pointer, rule->key);
    DIT_TRY(dit_json_optional_array(r->doc, r->object, r->pointer, rule->key, &list));
    *count = list ? cJSON_GetArraySize(list) : 0;
    if (*count < rule->least || *count > rule->most)
        return dit_error_hint(
            dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "%d to %d numbers expected", rule->least, rule->most), "%s",
            rule->hint);
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > rule->above && item->valuedouble < rule->below))
            return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "numbers above %g and below %g expected", rule->above,
                                 rule->below);
        *out++ = item->valuedouble;
    }
    return DIT_OK;
}

static dit_status read_forecast(const reading *r, dit_cache *out)
{
    static const char *const keys[] = {"kind", "order", "weight", NULL};
    const cJSON *object = NULL;
    const char *kind;
    char at[256];
    out->weight = 1;
    DIT_TRY(dit_json_optional_object(r->doc, r->object, r->pointer, "forecast", &object));
    if (!object) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, r->pointer, "forecast");
    reading inner = {r->doc, object, at, r->steps};
    DIT_TRY(dit_json_only_keys(r->doc, object, at, keys));
    DIT_TRY(dit_json_require_string(r->doc, object, at, "kind", &kind));
    int found = dit_words_find(forecasts, kind);
    if (found < 0) return dit_json_fail_word(r->doc, at, "forecast", kind, forecasts);
    out->forecast = (dit_forecast)found;
    out->order = found == DIT_FORECAST_HOLD ? 0 : 1;
    if (found == DIT_FORECAST_TAYLOR)
        DIT_TRY(read_count(&inner, "order", 1, DIT_CACHE_MAX_ORDER, &out->order));
    else if (dit_json_member(object, "order"))
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "only taylor has an order");
    if (found == DIT_FORECAST_LINE)
        return dit_json_optional_number(r->doc, object, at, "weight", -10, 10, &out->weight);
    if (dit_json_member(object, "weight"))
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "only line has a weight");
    return DIT_OK;
}

/* The keys that each policy reads beside those of all. */
static const char *const *keys_of(dit_cache_policy policy)
{
#define COMMON "policy", "warmup", "max_hits", "max_consecutive", "force", "forecast", "replay"
    static const char *const mask[] = {COMMON, "mask", "first", "last", NULL};
    static const char *const interval[] = {COMMON, "interval", NULL};
    static const char *const magcache[] = {COMMON, "threshold", "ratios", "retention", NULL};
    static const char *const fbcache[] = {
        COMMON, "hits", "cfg", "threshold", "mask", "mask_policy", "variant", "warmup_interval", NULL};
    static const char *const teacache[] = {COMMON, "hits", "cfg", "threshold", "coefficients", NULL};
    static const char *const dbcache[] = {COMMON,  "hits", "cfg",     "threshold",       "mask", "mask_policy",
                                          "first", "last", "variant", "warmup_interval", NULL};
    static const char *const fora[] = {"policy", "warmup", "max_hits", "max_consecutive",
                                       "force",  "replay", "interval", NULL};
    static const char *const taylorseer[] = {COMMON, "interval", NULL};
    static const char *const pab[] = {"policy", "attention", "temporal", "cross", "timesteps", NULL};
    static const char *const modules[] = {"policy", "attention", "temporal", "cross", "mlp", "fused", NULL};
    static const char *const delta[] = {"policy", "interval", "blocks", "cut", "warmup", NULL};
    static const char *const easycache[] = {COMMON, "threshold", NULL};
    static const char *const dbprune[] = {"policy", "cfg",     "threshold", "first",  "last", "warmup",
                                          "force",  "dynamic", "always",    "replay", NULL};
#undef COMMON
    static const char *const *const all[DIT_CACHE_COUNT] = {
        [DIT_CACHE_MASK] = mask,           [DIT_CACHE_INTERVAL] = interval, [DIT_CACHE_MAGCACHE] = magcache,
        [DIT_CACHE_FBCACHE] = fbcache,     [DIT_CACHE_DBCACHE] = dbcache,   [DIT_CACHE_TEACACHE] = teacache,
        [DIT_CACHE_FORA] = fora,           [DIT_CACHE_PAB] = pab,           [DIT_CACHE_TAYLORSEER] = taylorseer,
        [DIT_CACHE_EASYCACHE] = easycache, [DIT_CACHE_DBPRUNE] = dbprune,   [DIT_CACHE_MODULES] = modules,
        [DIT_CACHE_DELTA] = delta};
    return all[policy];
}

static dit_cache defaults_of(dit_cache_policy policy)
{
    dit_cache cache = {.policy = policy};
    if (policy == DIT_CACHE_FBCACHE) cache.first = 1, cache.threshold = 0.08;
    if (policy == DIT_CACHE_DBCACHE || policy == DIT_CACHE_DBPRUNE)
        cache.first = 8, cache.warmup = 8, cache.threshold = 0.08;
    if (policy == DIT_CACHE_TEACACHE) cache.threshold = 0.25;
    if (policy == DIT_CACHE_TAYLORSEER) cache.warmup = 3, cache.forecast = DIT_FORECAST_TAYLOR, cache.order = 1;
    if (policy == DIT_CACHE_EASYCACHE) cache.threshold = 0.025, cache.warmup = 5;
    if (policy == DIT_CACHE_PAB) cache.from = 100, cache.to = 800;
    if (policy == DIT_CACHE_MAGCACHE) cache.threshold = 0.24, cache.max_consecutive = 5, cache.retention = 0.1;
    return cache;
}

static dit_status read_mask_policy(const reading *r, dit_cache *out)
{
    const char *name = NULL;
    char at[256];
    DIT_TRY(dit_json_optional_string(r->doc, r->object, r->pointer, "mask_policy", &name));
    dit_json_pointer_join(at, sizeof at, r->pointer, "mask_policy");
    if (name && dit_words_find(mask_policies, name) < 0)
        return dit_json_fail_word(r->doc, at, "mask_policy", name, mask_policies);
    out->mask_is_static = name && strcmp(name, "static") == 0;
    if (name && !out->mask[0])
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "there is no mask that it could speak of");
    return DIT_OK;
}

/* Reads whether guidance branches decide together. */
static dit_status read_branches(const reading *r, dit_cache *out)
{
    const char *name = cfg_words[0];
    char at[256];
    DIT_TRY(dit_json_optional_string(r->doc, r->object, r->pointer, "cfg", &name));
    dit_json_pointer_join(at, sizeof at, r->pointer, "cfg");
    if (dit_words_find(cfg_words, name) < 0) return dit_json_fail_word(r->doc, at, "cfg", name, cfg_words);
    out->separate = strcmp(name, "separate") == 0;
    return DIT_OK;
}

/* A variant brings the threshold that its program has, where none is given. */
static dit_status read_variant(const reading *r, dit_cache *out)
{
    const char *name = NULL;
    char at[256];
    DIT_TRY(dit_json_optional_string(r->doc, r->object, r->pointer, "variant", &name));
    DIT_TRY(read_count(r, "warmup_interval", 1, DIT_CACHE_MAX_STEPS, &out->warmup_interval));
    dit_json_pointer_join(at, sizeof at, r->pointer, "variant");
    int found = name ? dit_words_find(variants, name) : DIT_CACHE_CANONICAL;
    if (found < 0) return dit_json_fail_word(r->doc, at, "variant", name, variants);
    out->variant = (dit_cache_variant)found;
    bool of_first = found == DIT_CACHE_DIFFUSERS || found == DIT_CACHE_XDIT;
    if (of_first && out->policy != DIT_CACHE_FBCACHE)
        return dit_error_hint(
            dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "%s with variant %s", dit_cache_name(out->policy), name),
            "that program has no other cache than fbcache");
    if (out->warmup_interval && found != DIT_CACHE_CACHE_DIT)
        return dit_error_hint(
            dit_json_fail(r->doc, r->pointer, DIT_ERR_JSON_VALUE, "only variant cache-dit has a warmup_interval"),
            "all first steps compute without it");
    if (found == DIT_CACHE_XDIT && out->forecast != DIT_FORECAST_HOLD)
        return dit_error_hint(dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "variant xdit with a forecast"),
                              "that program adds what it kept");
    if (of_first && !dit_json_member(r->object, "threshold")) out->threshold = found == DIT_CACHE_XDIT ? 0.6 : 0.05;
    return DIT_OK;
}

/* Reads the digits of each kind into a set of kinds for each step. A kind without digits is always computed. */
static dit_status read_table(const reading *r, dit_cache *out)
{
    bool any = false;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        char digits[DIT_CACHE_MAX_STEPS + 1] = "", at[256];
        DIT_TRY(read_digits(r, dit_module_names()[kind], digits));
        int steps = (int)strlen(digits);
        if (!steps) continue;
        dit_json_pointer_join(at, sizeof at, r->pointer, dit_module_names()[kind]);
        if (out->table_steps && out->table_steps != steps)
            return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "%d steps, but another kind has %d", steps,
                                 out->table_steps);
        if (digits[0] == '0')
            return dit_error_hint(dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "the first step reuses"),
                                  "nothing has been computed then: the first digit must be 1");
        out->table_steps = steps;
        for (int step = 0; step < steps; step++)
            if (digits[step] == '0') out->table[step] |= (dit_module_set)(1 << kind);
        any = any || strchr(digits, '0');
    }
    if (any) return DIT_OK;
    return dit_error_hint(
        dit_json_fail(r->doc, r->pointer, DIT_ERR_JSON_MISSING, "the table of modules reuses nothing"),
        "give \"attention\", \"temporal\", \"cross\", \"mlp\" or \"fused\": a digit for each step");
}

/* Reads the ranges of pab, and the timesteps between which it reuses. */
static dit_status read_broadcast(const reading *r, dit_cache *out)
{
    const cJSON *between = NULL;
    char at[256];
    bool any = false;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        DIT_TRY(read_count(r, dit_module_names()[kind], 1, DIT_CACHE_MAX_STEPS, &out->ranges[kind]));
        any = any || out->ranges[kind];
    }
    dit_json_pointer_join(at, sizeof at, r->pointer, "timesteps");
    DIT_TRY(dit_json_optional_array(r->doc, r->object, r->pointer, "timesteps", &between));
    const cJSON *from = cJSON_GetArrayItem(between, 0), *to = cJSON_GetArrayItem(between, 1);
    bool numbers = cJSON_GetArraySize(between) == 2 && cJSON_IsNumber(from) && cJSON_IsNumber(to);
    if (between && !(numbers && from->valuedouble < to->valuedouble))
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE,
                             "two numbers expected, the first below the second: outputs are reused between them");
    if (between) out->from = from->valuedouble, out->to = to->valuedouble;
    if (any) return DIT_OK;
    return dit_error_hint(dit_json_fail(r->doc, r->pointer, DIT_ERR_JSON_MISSING, "pab reuses no kind of attention"),
                          "give \"attention\", \"temporal\" or \"cross\": steps from one computed output to the next");
}

/* Spreads the hits over the steps that the policy may reuse, as replay: computed steps cut them in rows that are as equal
 * as can be. Returns false where limits leave no room. */
static bool spread_hits(dit_cache *cache, int steps)
{
    dit_cache any = *cache;
    int64_t free_steps = 0, seen = 0;
    int row = 0, longest = 0;
    any.max_hits = any.max_consecutive = 0;
    dit_cache_decide_all(&any, steps, '0', cache->replay);
    for (const char *digit = cache->replay; *digit; digit++) free_steps += *digit == '0';
    const int64_t rows_of_hits = free_steps - cache->hits + 1;
    for (char *digit = cache->replay; *digit; digit++) {
        seen += *digit == '0';
        bool cuts = seen * rows_of_hits / (free_steps + 1) > (seen - 1) * rows_of_hits / (free_steps + 1);
        if (*digit == '0' && cuts) *digit = '1';
        row = *digit == '0' ? row + 1 : 0;
        if (row > longest) longest = row;
    }
    return cache->hits <= free_steps && (!cache->max_hits || cache->hits <= cache->max_hits) &&
           (!cache->max_consecutive || longest <= cache->max_consecutive);
}

static dit_status read_hits(const reading *r, dit_cache *out)
{
    char at[256];
    DIT_TRY(read_count(r, "hits", 1, DIT_CACHE_MAX_STEPS, &out->hits));
    dit_json_pointer_join(at, sizeof at, r->pointer, "hits");
    if (out->hits && out->replay[0])
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "replay says already which steps are reused");
    if (!out->hits || !r->steps || spread_hits(out, r->steps)) return DIT_OK;
    return dit_error_hint(
        dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE, "%d hits find no room in %d steps", out->hits, r->steps),
        "warmup, force, mask, max_hits and max_consecutive leave fewer steps to reuse, or shorter rows of them");
}

static dit_status require(const reading *r, bool there, const char *key)
{
    if (there) return DIT_OK;
    return dit_json_fail(r->doc, r->pointer, DIT_ERR_JSON_MISSING, "the cache's policy needs \"%s\"", key);
}

dit_status dit_cache_read(const dit_json *doc, const cJSON *object, const char *pointer, int steps, dit_cache *out)
{
    const reading r = {doc, object, pointer, steps};
    const char *name;
    int count;
    *out = (dit_cache){0};
    DIT_TRY(dit_json_require_string(doc, object, pointer, "policy", &name));
    int found = dit_words_find(dit_cache_names(), name);
    if (found < 0) return dit_json_fail_word(doc, pointer, "policy", name, dit_cache_names());
    *out = defaults_of((dit_cache_policy)(found + 1));
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys_of(out->policy)));
    DIT_TRY(dit_json_optional_number(doc, object, pointer, "threshold", -1e6, 1e6, &out->threshold));
    DIT_TRY(dit_json_optional_number(doc, object, pointer, "retention", 0, 1, &out->retention));
    DIT_TRY(read_count(&r, "first", 0, DIT_MAX_BLOCKS, &out->first));
    DIT_TRY(read_count(&r, "last", 0, DIT_MAX_BLOCKS, &out->last));
    DIT_TRY(read_count(&r, "warmup", 0, DIT_CACHE_MAX_STEPS, &out->warmup));
    DIT_TRY(read_count(&r, "max_hits", 0, DIT_CACHE_MAX_STEPS, &out->max_hits));
    DIT_TRY(read_count(&r, "max_consecutive", 0, DIT_CACHE_MAX_STEPS, &out->max_consecutive));
    DIT_TRY(read_count(&r, "interval", 1, DIT_CACHE_MAX_STEPS, &out->interval));
    DIT_TRY(read_count(&r, "blocks", 1, DIT_MAX_BLOCKS, &out->blocks));
    DIT_TRY(read_count(&r, "cut", 0, DIT_CACHE_MAX_STEPS, &out->cut));
    DIT_TRY(read_digits(&r, "mask", out->mask));
    if (out->policy == DIT_CACHE_DBPRUNE)
        DIT_TRY(read_block_replay(&r, out));
    else
        DIT_TRY(read_digits(&r, "replay", out->replay));
    DIT_TRY(read_always(&r, out->always));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "dynamic", &out->dynamic));
    DIT_TRY(read_forced(&r, out->force));
    DIT_TRY(read_forecast(&r, out));
    DIT_TRY(read_mask_policy(&r, out));
    DIT_TRY(read_variant(&r, out));
    DIT_TRY(read_branches(&r, out));
    if (out->policy == DIT_CACHE_MAGCACHE) DIT_TRY(read_numbers(&r, &ratio_list, out->ratios, &out->ratio_count));
    if (out->policy == DIT_CACHE_TEACACHE) DIT_TRY(read_numbers(&r, &coefficient_list, out->coefficients, &count));
    if (out->policy == DIT_CACHE_MASK) DIT_TRY(require(&r, out->mask[0], "mask"));
    if (out->policy == DIT_CACHE_DELTA) {
        DIT_TRY(require(&r, out->blocks > 0, "blocks"));
        DIT_TRY(require(&r, dit_json_member(object, "cut") != NULL, "cut"));
    }
    if (out->policy == DIT_CACHE_PAB) DIT_TRY(read_broadcast(&r, out));
    if (out->policy == DIT_CACHE_MODULES) DIT_TRY(read_table(&r, out));
    if (out->policy == DIT_CACHE_TAYLORSEER && out->forecast != DIT_FORECAST_TAYLOR)
        return dit_error_hint(
            dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "taylorseer with forecast %s", forecasts[out->forecast]),
            "its forecast is taylor; fora holds");
    if (dit_words_find(keys_of(out->policy), "interval") >= 0) DIT_TRY(require(&r, out->interval > 0, "interval"));
    return read_hits(&r, out);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_forced(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    if (!strchr(cache->force, '1')) return;
    cJSON *list = dit_json_put_array(w, object, "force");
    for (int step = 0; cache->force[step]; step++)
        if (cache->force[step] == '1') dit_json_put_int(w, list, NULL, step);
}

static void put_forecast(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    if (cache->forecast == DIT_FORECAST_HOLD) return;
    cJSON *forecast = dit_json_put_object(w, object, "forecast");
    dit_json_put_string(w, forecast, "kind", forecasts[cache->forecast]);
    if (cache->forecast == DIT_FORECAST_TAYLOR) dit_json_put_int(w, forecast, "order", cache->order);
    if (cache->forecast == DIT_FORECAST_LINE) dit_json_put_number(w, forecast, "weight", cache->weight);
}

static void put_numbers(dit_json_writer *w, cJSON *object, const char *key, const double *values, int count)
{
    cJSON *list = dit_json_put_array(w, object, key);
    for (int i = 0; i < count; i++) dit_json_put_number(w, list, NULL, values[i]);
}

static void put_broadcast(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (cache->ranges[kind]) dit_json_put_int(w, object, dit_module_names()[kind], cache->ranges[kind]);
    put_numbers(w, object, "timesteps", (const double[]){cache->from, cache->to}, 2);
}

/* What dbprune alone reads. */
static void put_pruning(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    if (cache->dynamic) dit_json_put_bool(w, object, "dynamic", true);
    if (!strchr(cache->always, '1')) return;
    cJSON *list = dit_json_put_array(w, object, "always");
    for (int block = 0; cache->always[block]; block++)
        if (cache->always[block] == '1') dit_json_put_int(w, list, NULL, block);
}

/* Decisions for each block are digits by step, with commas between. */
static void put_replay(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    char text[DIT_CACHE_MAX_DIGITS + DIT_CACHE_MAX_STEPS + 1], *next = text;
    if (!cache->replay[0]) return;
    for (int step = 0; cache->replay[step] && cache->replay_blocks; step++) {
        if (step) *next++ = ',';
        for (int block = 0; block < cache->replay_blocks; block++)
            *next++ = dit_cache_replay_prunes(cache, step, block) ? '0' : '1';
    }
    *next = 0;
    dit_json_put_string(w, object, "replay", cache->replay_blocks ? text : cache->replay);
}

/* Of each kind that any step reuses, a digit for each step. */
static void put_table(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    char digits[DIT_CACHE_MAX_STEPS + 1];
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        for (int step = 0; step < cache->table_steps; step++)
            digits[step] = dit_module_in(cache->table[step], (dit_module)kind) ? '0' : '1';
        digits[cache->table_steps] = 0;
        if (strchr(digits, '0')) dit_json_put_string(w, object, dit_module_names()[kind], digits);
    }
}

void dit_cache_to_json(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    const char *const *keys = keys_of(cache->policy);
    dit_json_put_string(w, object, "policy", dit_cache_name(cache->policy));
    if (dit_words_find(keys, "threshold") >= 0) dit_json_put_number(w, object, "threshold", cache->threshold);
    if (dit_words_find(keys, "first") >= 0) dit_json_put_int(w, object, "first", cache->first);
    if (dit_words_find(keys, "last") >= 0) dit_json_put_int(w, object, "last", cache->last);
    if (cache->interval) dit_json_put_int(w, object, "interval", cache->interval);
    if (cache->blocks) {
        dit_json_put_int(w, object, "blocks", cache->blocks);
        dit_json_put_int(w, object, "cut", cache->cut);
    }
    if (cache->mask[0]) dit_json_put_string(w, object, "mask", cache->mask);
    if (cache->mask_is_static) dit_json_put_string(w, object, "mask_policy", "static");
    if (cache->policy == DIT_CACHE_PAB) put_broadcast(w, cache, object);
    if (cache->policy == DIT_CACHE_MODULES) put_table(w, cache, object);
    if (dit_words_find(keys, "warmup") >= 0) dit_json_put_int(w, object, "warmup", cache->warmup);
    if (dit_words_find(keys, "max_hits") >= 0) dit_json_put_int(w, object, "max_hits", cache->max_hits);
    if (dit_words_find(keys, "max_consecutive") >= 0)
        dit_json_put_int(w, object, "max_consecutive", cache->max_consecutive);
    put_forced(w, cache, object);
    put_forecast(w, cache, object);
    if (cache->separate) dit_json_put_string(w, object, "cfg", "separate");
    if (cache->variant) dit_json_put_string(w, object, "variant", variants[cache->variant]);
    if (cache->warmup_interval) dit_json_put_int(w, object, "warmup_interval", cache->warmup_interval);
    if (cache->hits) dit_json_put_int(w, object, "hits", cache->hits);
    if (!cache->hits) put_replay(w, cache, object);
    put_pruning(w, cache, object);
    if (cache->policy == DIT_CACHE_TEACACHE)
        put_numbers(w, object, "coefficients", cache->coefficients, DIT_CACHE_COEFFICIENTS);
    if (!cache->ratio_count) return;
    dit_json_put_number(w, object, "retention", cache->retention);
    put_numbers(w, object, "ratios", cache->ratios, cache->ratio_count);
}

static int count_digits(const char *digits, char digit)
{
    int count = 0;
    for (; *digits; digits++) count += *digits == digit;
    return count;
}

/* Lists and digits are too long for a label: a digest tells them apart. */
static bool has_lists(const dit_cache *cache)
{
    return cache->mask[0] || (cache->replay[0] && !cache->hits) || strchr(cache->force, '1') || cache->ratio_count ||
           cache->policy == DIT_CACHE_TEACACHE || cache->policy == DIT_CACHE_MODULES || strchr(cache->always, '1');
}

/* Writes four hex digits of all of them; they lie together, and what is not used is zeros. */
static void lists_digest(const dit_cache *cache, char out[5])
{
    char digest[DIT_HASH_HEX];
    const size_t from = offsetof(dit_cache, ratios), to = offsetof(dit_cache, replay) + sizeof cache->replay;
    const size_t blocks_from = offsetof(dit_cache, replay),
                 blocks_to = offsetof(dit_cache, pruned) + sizeof cache->pruned;
    if (cache->policy == DIT_CACHE_MODULES)
        dit_hash(cache->table, sizeof cache->table, digest);
    else if (dit_cache_is_of_blocks(cache))
        dit_hash((const char *)cache + blocks_from, blocks_to - blocks_from, digest);
    else
        dit_hash((const char *)cache + from, to - from, digest);
    snprintf(out, 5, "%.4s", digest);
}

/* Writes "attention 2, cross 6, 100-800". */
static void label_ranges(const dit_cache *cache, char *out, size_t size)
{
    size_t used = 0;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (cache->ranges[kind])
            used += (size_t)snprintf(out + used, size - used, "%s %d ", dit_module_names()[kind], cache->ranges[kind]);
    snprintf(out + used, size - used, "%.6g-%.6g", cache->from, cache->to);
}

/* Writes "attention 4 of 7, mlp 2 of 7": how many steps compute them. */
static void label_table(const dit_cache *cache, char *out, size_t size)
{
    size_t used = 0;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        int reused = 0;
        for (int step = 0; step < cache->table_steps; step++) reused += cache->table[step] >> kind & 1;
        if (reused)
            used += (size_t)snprintf(out + used, size - used, "%s%s %d", used ? " " : "", dit_module_names()[kind],
                                     cache->table_steps - reused);
    }
    snprintf(out + used, size - used, "%sof %d", used ? " " : "", cache->table_steps);
}

void dit_cache_label(const dit_cache *cache, char *out, size_t size)
{
    char inside[128] = "", more[96] = "", digest[5], weight[24] = "";
    size_t used = 0;
    if (cache->policy == DIT_CACHE_MASK)
        snprintf(inside, sizeof inside, "%d of %d", count_digits(cache->mask, '1'), (int)strlen(cache->mask));
    else if (cache->policy == DIT_CACHE_PAB)
        label_ranges(cache, inside, sizeof inside);
    else if (cache->policy == DIT_CACHE_MODULES)
        label_table(cache, inside, sizeof inside);
    else if (cache->policy == DIT_CACHE_DELTA)
        snprintf(inside, sizeof inside, "%d blocks %d cut %d", cache->interval, cache->blocks, cache->cut);
    else if (cache->interval)
        snprintf(inside, sizeof inside, "%d", cache->interval);
    else if (cache->policy == DIT_CACHE_DBCACHE || cache->policy == DIT_CACHE_DBPRUNE)
        snprintf(inside, sizeof inside, "F%d b%d %.6g", cache->first, cache->last, cache->threshold);
    else
        snprintf(inside, sizeof inside, "%.6g", cache->threshold);
    lists_digest(cache, digest);
    if (cache->forecast == DIT_FORECAST_LINE) snprintf(weight, sizeof weight, " w%.6g", cache->weight);
#define MORE(condition, ...)                                                                                           \
    if (condition) used += (size_t)snprintf(more + used, sizeof more - used, __VA_ARGS__)
    MORE(cache->policy == DIT_CACHE_MASK && cache->first, " F%d", cache->first);
    MORE(cache->policy == DIT_CACHE_MASK && cache->last, " b%d", cache->last);
    MORE(cache->dynamic, " dynamic");
    MORE(cache->variant, " %s", variants[cache->variant]);
    MORE(cache->separate, " separate");
    MORE(cache->warmup, " W%d", cache->warmup);
    MORE(cache->warmup_interval, " I%d", cache->warmup_interval);
    MORE(cache->max_consecutive, " K%d", cache->max_consecutive);
    MORE(cache->max_hits, " H%d", cache->max_hits);
    MORE(cache->policy != DIT_CACHE_MASK && cache->mask[0], cache->mask_is_static ? " static mask" : " mask");
    MORE(strchr(cache->force, '1'), " force");
    MORE(cache->hits, " %d hits", cache->hits);
    MORE(cache->replay[0] && !cache->hits, " replay");
    MORE(has_lists(cache), " #%s", digest);
#undef MORE
    if (cache->policy == DIT_CACHE_NONE)
        snprintf(out, size, "none");
    else if (cache->forecast == DIT_FORECAST_HOLD)
        snprintf(out, size, "%s(%s%s)", dit_cache_name(cache->policy), inside, more);
    else
        snprintf(out, size, "%s(%s%s)+%s%d%s", dit_cache_name(cache->policy), inside, more, forecasts[cache->forecast],
                 cache->order, weight);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static dit_status check_blocks(const dit_cache *cache, const dit_facts *facts)
{
    int64_t both = (int64_t)cache->first + cache->last;
    if (both >= facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE,
                                       "first %d and last %d leave none of %s's %lld blocks between them", cache->first,
                                       cache->last, facts->family, (long long)facts->layers),
                              "a cache reuses the blocks in the middle: take fewer first and last ones");
    if (facts->skips && cache->last > cache->first && !dit_cache_is_of_blocks(cache))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "last %d is above first %d", cache->last, cache->first),
            "the last blocks of %s take outputs of the first ones, which every step must run", facts->family);
    return DIT_OK;
}

/* Of delta, which reuses blocks at either end. */
static dit_status check_ends(const dit_cache *cache, const dit_facts *facts)
{
    if (cache->policy != DIT_CACHE_DELTA) return DIT_OK;
    if (cache->blocks >= facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "delta reuses %d of %s's %lld blocks", cache->blocks,
                                       facts->family, (long long)facts->layers),
                              "some blocks must run in every step: take fewer");
    if (facts->skips && cache->cut < facts->steps)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "delta reuses the first blocks of %s from step %d on",
                                       facts->family, cache->cut),
                              "its last blocks take outputs of the first ones, which every step must run: a cut at the "
                              "number of steps reuses the rear blocks alone");
    return DIT_OK;
}

/* Branches of one rank are one forward, which computes or reuses for both. */
static dit_status check_branches(const dit_cache *cache, const dit_parallel *parallel, const dit_facts *facts)
{
    if (!cache->separate || dit_parallel_degree(parallel, DIT_AXIS_CFG) > 1) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "cfg separate without a cfg degree of 2"),
        facts->guidance_branches < 2
            ? "%s computes one branch here: leave \"cfg\" out"
            : "both branches of %s are one forward on a rank: give each ranks of its own, or leave \"cfg\" out",
        facts->family);
}

static dit_status check_length(const char *what, const char *digits, int64_t steps)
{
    if (!digits[0] || (int64_t)strlen(digits) == steps) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "the cache's %s has %d steps, but the run has %lld", what,
                                   (int)strlen(digits), (long long)steps),
                          "write a digit for each step");
}

static dit_status check_modules(const dit_cache *cache, const dit_facts *facts)
{
    static const char *const names[] = {
#define MODULE_MEANING(constant, name, meaning) meaning,
        DIT_MODULE_LIST(MODULE_MEANING)
#undef MODULE_MEANING
    };
    const dit_block_run all = dit_facts_blocks(facts, 0, facts->layers);
    const dit_module_set wanted = dit_cache_modules(cache);
    if (cache->policy != DIT_CACHE_PAB && cache->policy != DIT_CACHE_MODULES) return DIT_OK;
    if (cache->policy == DIT_CACHE_PAB && all.modules[DIT_MODULE_FUSED].both)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE,
                                       "pab on %s, in whose single blocks attention has no output of its own",
                                       facts->family),
                              "fora and taylorseer reuse what such a block adds as a whole");
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (dit_module_in(wanted, (dit_module)kind) && !all.modules[kind].image && !all.modules[kind].both)
            return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s reuses %s, which %s does not have",
                                           dit_cache_name(cache->policy), dit_module_names()[kind], facts->family),
                                  "\"%s\" is %s: leave it out", dit_module_names()[kind], names[kind]);
    return DIT_OK;
}

/* Of policies that decide for each block. */
static dit_status check_each_block(const dit_cache *cache, const dit_facts *facts)
{
    if (!dit_cache_is_of_blocks(cache)) return DIT_OK;
    if (facts->layers > DIT_CACHE_MAX_BLOCKS)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "dbprune on %lld blocks", (long long)facts->layers),
                              "it decides for %d blocks at most", (int)DIT_CACHE_MAX_BLOCKS);
    const char *beyond = cache->always[0] ? strchr(cache->always + facts->layers, '1') : NULL;
    if (beyond)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "\"always\" names block %d of %lld",
                                       (int)(beyond - cache->always), (long long)facts->layers),
                              "blocks are counted from 0");
    if (dit_cache_prunable(cache, facts->layers) == 0)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "dbprune may reuse none of %s's blocks", facts->family),
            "take fewer first, last and \"always\" ones");
    if (cache->replay_blocks && cache->replay_blocks != facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "the cache's replay has %d blocks, but %s has %lld",
                                       cache->replay_blocks, facts->family, (long long)facts->layers),
                              "write a digit for each block of a step");
    return DIT_OK;
}

/* Of a replay for each block: what was never computed, and what the settings compute always, cannot be reused. */
static dit_status check_block_replay(const dit_cache *cache, const dit_facts *facts)
{
    for (int step = 0; cache->replay[step] && cache->replay_blocks; step++)
        for (int64_t block = 0; block < facts->layers; block++)
            if (dit_cache_replay_prunes(cache, step, block) && !dit_cache_may_prune(cache, block, facts->layers))
                return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE,
                                               "step %d of the cache's replay reuses block %lld, which its settings "
                                               "compute in every step",
                                               step, (long long)block),
                                      "first, last and \"always\" blocks are never reused");
    return DIT_OK;
}

/* Beside K and V of other steps, whole blocks are reused at steps that are known. The legality of lengths is checked. */
static dit_status check_displaced(const dit_cache *cache, const dit_parallel *parallel, const dit_facts *facts)
{
    char digits[DIT_CACHE_MAX_STEPS + 1];
    bool known = dit_cache_is_known(cache), whole = !dit_cache_modules(cache) && !dit_cache_is_of_blocks(cache);
    if (!dit_parallel_is_displaced(parallel)) return DIT_OK;
    if (!known || !whole || dit_cache_is_of_outputs(cache) || cache->variant == DIT_CACHE_XDIT ||
        cache->policy == DIT_CACHE_DELTA || cache->separate)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s beside stages or displaced patches", dit_cache_name(cache->policy)),
            !known ? "its tests compare rows whose K and V have different ages; mask, interval and magcache know their "
                     "steps before the run, as replay does"
            : whole ? "what is reused there is what one run of blocks adds, as with mask, interval and magcache"
                    : "it reuses attentions, whose K and V other ranks await in every step; mask, interval and "
                      "magcache reuse whole blocks");
    dit_cache_decide_all(cache, (int)facts->steps, '1', digits);
    const char *first = strchr(digits, '0');
    if (!first || first - digits >= parallel->warmup_steps) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s reuses step %d, which is synchronous",
                                   dit_cache_name(cache->policy), (int)(first - digits)),
                          "the first %d steps (warmup_steps) bring all K and V up to date: compute them, as "
                          "\"warmup\": %d does",
                          parallel->warmup_steps, parallel->warmup_steps);
}

dit_status dit_cache_check(const dit_cache *cache, const dit_parallel *parallel, const dit_facts *facts)
{
    if (cache->policy == DIT_CACHE_NONE) return DIT_OK;
    if (facts->steps > DIT_CACHE_MAX_STEPS)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "a cache beside %lld steps", (long long)facts->steps),
                              "a cached run has at most %d steps", (int)DIT_CACHE_MAX_STEPS);
    DIT_TRY(check_blocks(cache, facts));
    DIT_TRY(check_branches(cache, parallel, facts));
    DIT_TRY(check_ends(cache, facts));
    DIT_TRY(check_modules(cache, facts));
    DIT_TRY(check_each_block(cache, facts));
    DIT_TRY(check_block_replay(cache, facts));
    DIT_TRY(check_length("mask", cache->mask, facts->steps));
    if (cache->table_steps && cache->table_steps != facts->steps)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "the cache's table has %d steps, but the run has %lld",
                                       cache->table_steps, (long long)facts->steps),
                              "write a digit for each step");
    DIT_TRY(check_length("replay", cache->replay, facts->steps));
    if (cache->replay[0] == '0')
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "the cache's replay reuses in the first step"),
                              "nothing has been computed then: the first digit must be 1");
    return check_displaced(cache, parallel, facts);
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

dit_module_set dit_cache_modules(const dit_cache *cache)
{
    dit_module_set set = 0;
    if (cache->policy == DIT_CACHE_FORA || cache->policy == DIT_CACHE_TAYLORSEER) return DIT_MODULES_ALL;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (cache->ranges[kind]) set |= (dit_module_set)(1 << kind);
    for (int step = 0; step < cache->table_steps; step++) set |= cache->table[step];
    return set;
}

dit_range dit_cache_middle(const dit_cache *cache, int64_t layers, int step)
{
    if (cache->policy != DIT_CACHE_DELTA) return (dit_range){cache->first, layers - cache->first - cache->last};
    return (dit_range){step < cache->cut ? layers - cache->blocks : 0, cache->blocks};
}

bool dit_cache_keeps_text(const dit_cache *cache)
{
    return cache->last > 0 || dit_cache_is_of_blocks(cache) || cache->policy == DIT_CACHE_DELTA;
}

bool dit_cache_is_of_outputs(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_EASYCACHE;
}

bool dit_cache_is_of_blocks(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_DBPRUNE;
}

bool dit_cache_may_prune(const dit_cache *cache, int64_t index, int64_t layers)
{
    return index >= cache->first && index < layers - cache->last &&
           !(index < DIT_CACHE_MAX_BLOCKS && cache->always[0] && cache->always[index] == '1');
}

int64_t dit_cache_prunable(const dit_cache *cache, int64_t layers)
{
    int64_t count = 0;
    for (int64_t index = 0; index < layers; index++) count += dit_cache_may_prune(cache, index, layers);
    return count;
}

bool dit_cache_replay_prunes(const dit_cache *cache, int step, int64_t block)
{
    int64_t bit = (int64_t)step * cache->replay_blocks + block;
    return block < cache->replay_blocks && cache->pruned[bit / 8] >> bit % 8 & 1;
}

int dit_cache_sums(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_EASYCACHE ? 4 : 2;
}

bool dit_cache_awaits_timesteps(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_PAB && !cache->within[0];
}

void dit_cache_place(dit_cache *cache, const float *timestep, int steps)
{
    if (cache->policy != DIT_CACHE_PAB) return;
    for (int step = 0; step < steps; step++)
        cache->within[step] = timestep[step] > cache->from && timestep[step] < cache->to ? '1' : '0';
    cache->within[steps] = 0;
}

/* The kinds that pab reuses: an output is computed in every range-th step, counted from the first. */
static dit_module_set broadcast(const dit_cache *cache, int step)
{
    dit_module_set set = 0;
    if (!cache->within[0] || cache->within[step] != '1') return 0;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (cache->ranges[kind] && step % cache->ranges[kind]) set |= (dit_module_set)(1 << kind);
    return set;
}

dit_module_set dit_cache_reused(const dit_cache *cache, int step, char decision)
{
    if (decision != DIT_CACHE_HIT) return 0;
    if (cache->policy == DIT_CACHE_MODULES) return cache->table[step];
    return cache->policy == DIT_CACHE_PAB ? broadcast(cache, step) : dit_cache_modules(cache);
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

bool dit_cache_is_known(const dit_cache *cache)
{
    return cache->replay[0] || cache->hits || cache->mask_is_static ||
           dit_cache_kind_of(cache->policy) == DIT_CACHE_SCHEDULE;
}

bool dit_cache_looks(const dit_cache *cache)
{
    return !dit_cache_is_known(cache) || cache->variant == DIT_CACHE_XDIT;
}

dit_status dit_cache_check_known(const dit_cache *cache)
{
    if (dit_cache_is_known(cache)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "a simulation cannot know what %s will decide",
                                   dit_cache_name(cache->policy)),
                          "name its decisions (\"replay\": a digit for each step; \"hits\": how many steps it reuses, "
                          "which are spread evenly), or take a mask or an interval");
}

/* The ratio of step `step`: the nearest of those that were measured with another number of steps, ties to even. */
static double ratio_of(const dit_cache *cache, int step, int steps)
{
    if (steps < 2 || step == 0) return 1;
    return cache->ratios[(int)nearbyint((double)step * (cache->ratio_count - 1) / (steps - 1))];
}

static bool ratios_count(const dit_cache *cache, int step, int steps)
{
    return cache->policy == DIT_CACHE_MAGCACHE && step >= (int)(cache->retention * steps + 0.5);
}

static char plan_magcache(const dit_cache *cache, const dit_cache_state *state, int steps)
{
    double product = (1 + state->product) * ratio_of(cache, state->step, steps);
    if (!ratios_count(cache, state->step, steps)) return 'm';
    return cache->threshold > 0 && state->drift + fabs(1 - product) <= cache->threshold ? DIT_CACHE_HIT : 't';
}

/* What the policy itself says of a step that neither warm-up nor force nor a limit decides. */
static char plan_policy(const dit_cache *cache, const dit_cache_state *state, int steps)
{
    int step = state->step;
    switch (cache->policy) {
    case DIT_CACHE_TAYLORSEER: return (step - cache->warmup - 1) % cache->interval == 0 ? 'm' : DIT_CACHE_HIT;
    case DIT_CACHE_PAB: return broadcast(cache, step) ? DIT_CACHE_HIT : 'm';
    case DIT_CACHE_DELTA: /* what the other end added is of no use beyond the cut */
        return step % cache->interval == 0 || step == cache->cut || step == steps - 1 ? 'm' : DIT_CACHE_HIT;
    case DIT_CACHE_MODULES: return cache->table[step] ? DIT_CACHE_HIT : 'm';
    case DIT_CACHE_FORA:
    case DIT_CACHE_INTERVAL: return step % cache->interval == 0 || step == steps - 1 ? 'm' : DIT_CACHE_HIT;
    case DIT_CACHE_MAGCACHE: return plan_magcache(cache, state, steps);
    case DIT_CACHE_MASK: return DIT_CACHE_HIT; /* the mask allows it */
    case DIT_CACHE_TEACACHE: return step == steps - 1 ? 'm' : DIT_CACHE_TEST;
    case DIT_CACHE_EASYCACHE: /* two computed steps tell what outputs make of changes */
        return step == steps - 1 || step - state->hits < 2 ? 'm' : DIT_CACHE_TEST;
    default: return cache->mask_is_static ? DIT_CACHE_HIT : DIT_CACHE_TEST;
    }
}

/* One of the first steps, which compute; cache-dit may leave some of them to the test. */
static bool is_first(const dit_cache *cache, int step)
{
    return step < cache->warmup && (!cache->warmup_interval || step % cache->warmup_interval == 0);
}

char dit_cache_plan(const dit_cache *cache, const dit_cache_state *state, int steps)
{
    int step = state->step;
    if (cache->policy == DIT_CACHE_NONE) return 'm';
    if (cache->replay[0]) return cache->replay[step] == '1' ? 'm' : DIT_CACHE_HIT;
    if (step == 0 || is_first(cache, step)) return 'w';
    if (cache->force[0] && cache->force[step] == '1') return 'f';
    if (cache->mask[0] && cache->mask[step] == '1') return 'm';
    char policy = plan_policy(cache, state, steps);
    if (policy != DIT_CACHE_HIT && policy != DIT_CACHE_TEST) return policy;
    if (cache->max_hits && state->hits >= cache->max_hits) return 'k';
    int row = cache->variant == DIT_CACHE_CACHE_DIT ? state->counted : state->consecutive;
    if (cache->max_consecutive && row >= cache->max_consecutive) return 'k';
    return policy;
}

double dit_cache_tested(const dit_cache *cache, dit_cache_state *state, double measured)
{
    double value = 0;
    if (cache->policy == DIT_CACHE_EASYCACHE) return state->tested = state->sum + measured;
    if (cache->policy != DIT_CACHE_TEACACHE) return state->tested = measured;
    for (int i = 0; i < DIT_CACHE_COEFFICIENTS; i++) value = value * measured + cache->coefficients[i];
    return state->tested = state->sum + value;
}

bool dit_cache_reuses(const dit_cache *cache, double tested)
{
    if (cache->variant == DIT_CACHE_DIFFUSERS) return tested <= cache->threshold;
    return cache->threshold > 0 && tested < cache->threshold;
}

/* cache-dit begins to count at the second hit of a row, with 2, and at the very first hit; only the limit sets it back. */
static int count_in_a_row(const dit_cache_state *state, char decision)
{
    if (decision == 'k') return 0;
    if (decision != DIT_CACHE_HIT) return state->counted;
    if (state->hits == 0) return state->counted + 1;
    if (state->consecutive == 0) return state->counted;
    return state->counted + (state->counted == 0 ? 2 : 1);
}

void dit_cache_note(const dit_cache *cache, dit_cache_state *state, int steps, char decision)
{
    bool hit = decision == DIT_CACHE_HIT;
    state->sum = hit ? state->tested : 0;
    if (hit && ratios_count(cache, state->step, steps)) {
        state->product = (1 + state->product) * ratio_of(cache, state->step, steps) - 1;
        state->drift += fabs(state->product);
    }
    if (!hit) state->product = state->drift = 0;
    state->counted = count_in_a_row(state, decision);
    state->hits += hit;
    state->consecutive = hit ? state->consecutive + 1 : 0;
    state->step++;
}

void dit_cache_decide_all(const dit_cache *cache, int steps, char otherwise, char *out)
{
    dit_cache_state state = {0};
    for (int step = 0; step < steps; step++) {
        char decision = dit_cache_plan(cache, &state, steps);
        if (decision == DIT_CACHE_TEST) decision = otherwise == '1' ? 't' : DIT_CACHE_HIT;
        out[step] = decision == DIT_CACHE_HIT ? '0' : '1';
        dit_cache_note(cache, &state, steps, decision);
    }
    out[steps] = 0;
}

dit_cache_use dit_cache_planned_use(const dit_cache *cache, int steps)
{
    dit_cache_use use = {.first = cache->first,
                         .last = cache->last,
                         .ends = cache->blocks,
                         .separate = cache->separate,
                         .more_sums = dit_cache_sums(cache) - 2,
                         .of_modules = dit_cache_modules(cache),
                         .of_blocks = dit_cache_is_of_blocks(cache)};
    dit_cache_state state = {0};
    while (state.step < steps) {
        char decision = dit_cache_plan(cache, &state, steps);
        dit_module_set reused = dit_cache_reused(cache, state.step, decision);
        for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
            use.modules[kind] += dit_module_in(reused, (dit_module)kind);
        for (int block = 0; block < cache->replay_blocks; block++)
            use.blocks[block] += dit_cache_replay_prunes(cache, state.step, block);
        use.tests += decision == DIT_CACHE_TEST;
        use.hits += decision == DIT_CACHE_HIT;
        use.late_hits += decision == DIT_CACHE_HIT && state.step >= cache->cut;
        dit_cache_note(cache, &state, steps, decision == DIT_CACHE_TEST ? 't' : decision);
    }
    return use;
}
