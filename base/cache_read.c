/* Reads the settings of caches. */
#include "base/cache_impl.h"

#include "base/words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const cfg_words[] = {"joint", "separate", NULL};
static const char *const mask_policies[] = {"dynamic", "static", NULL};

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
    DIT_TRY(dit_json_optional_object(r->doc, r->object, r->pointer, "forecast", &object));
    if (!object) return DIT_OK;
    out->weight = 1;
    dit_json_pointer_join(at, sizeof at, r->pointer, "forecast");
    reading inner = {r->doc, object, at, r->steps};
    DIT_TRY(dit_json_only_keys(r->doc, object, at, keys));
    DIT_TRY(dit_json_require_string(r->doc, object, at, "kind", &kind));
    int found = dit_words_find(dit_forecast_names(), kind);
    if (found < 0) return dit_json_fail_word(r->doc, at, "forecast", kind, dit_forecast_names());
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
static dit_cache defaults_of(dit_cache_policy policy)
{
    dit_cache cache = {.policy = policy};
    if (policy == DIT_CACHE_FBCACHE) cache.first = 1, cache.threshold = 0.08;
    if (policy == DIT_CACHE_DBCACHE || policy == DIT_CACHE_DBPRUNE)
        cache.first = 8, cache.warmup = 8, cache.threshold = 0.08;
    if (policy == DIT_CACHE_TEACACHE) cache.threshold = 0.25;
    if (policy == DIT_CACHE_TEACACHE_TIME) cache.threshold = 0.1;
    if (policy == DIT_CACHE_TAYLORSEER) cache.warmup = 3, cache.forecast = DIT_FORECAST_TAYLOR, cache.order = 1;
    if (policy == DIT_CACHE_EASYCACHE) cache.threshold = 0.025, cache.warmup = 5;
    if (policy == DIT_CACHE_PAB) cache.from = 100, cache.to = 800;
    if (policy == DIT_CACHE_FASTERCACHE)
        cache.lone_from = cache.from = -1, cache.to = 681, cache.lone_to = 641, cache.forecast = DIT_FORECAST_LINE,
        cache.order = 1, cache.weight = 0.5;
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
    int found = name ? dit_words_find(dit_cache_variant_words(), name) : DIT_CACHE_CANONICAL;
    if (found < 0) return dit_json_fail_word(r->doc, at, "variant", name, dit_cache_variant_words());
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

/* Reads the steps from one computed output to the next, of each kind that has a key. */
static dit_status read_ranges(const reading *r, dit_cache *out)
{
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        DIT_TRY(read_count(r, dit_module_names()[kind], 1, DIT_CACHE_MAX_STEPS, &out->ranges[kind]));
    return DIT_OK;
}

/* Reads the two timesteps of a key; without it they stay. */
static dit_status read_between(const reading *r, const char *key, double *from, double *to)
{
    const cJSON *between = NULL;
    char at[256];
    dit_json_pointer_join(at, sizeof at, r->pointer, key);
    DIT_TRY(dit_json_optional_array(r->doc, r->object, r->pointer, key, &between));
    const cJSON *first = cJSON_GetArrayItem(between, 0), *second = cJSON_GetArrayItem(between, 1);
    bool numbers = cJSON_GetArraySize(between) == 2 && cJSON_IsNumber(first) && cJSON_IsNumber(second);
    if (between && !(numbers && first->valuedouble < second->valuedouble))
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_VALUE,
                             "two numbers expected, the first below the second: outputs are reused between them");
    if (between) *from = first->valuedouble, *to = second->valuedouble;
    return DIT_OK;
}

/* Reads the ranges of pab and fastercache, and the timesteps between which they reuse. */
static dit_status read_broadcast(const reading *r, dit_cache *out)
{
    DIT_TRY(read_ranges(r, out));
    DIT_TRY(read_between(r, "timesteps", &out->from, &out->to));
    DIT_TRY(read_between(r, "unconditional_timesteps", &out->lone_from, &out->lone_to));
    if (dit_cache_modules(out)) return DIT_OK;
    return dit_error_hint(dit_json_fail(r->doc, r->pointer, DIT_ERR_JSON_MISSING, "%s reuses no kind of attention",
                                        dit_cache_name(out->policy)),
                          "give \"attention\", \"temporal\"%s: steps from one computed output to the next",
                          out->policy == DIT_CACHE_PAB ? " or \"cross\"" : "");
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
    DIT_TRY(dit_json_only_keys(doc, object, pointer, dit_cache_keys(out->policy)));
    DIT_TRY(dit_json_optional_number(doc, object, pointer, "threshold", -1e6, 1e6, &out->threshold));
    DIT_TRY(dit_json_optional_number(doc, object, pointer, "retention", 0, 1, &out->retention));
    DIT_TRY(read_count(&r, "first", 0, DIT_MAX_BLOCKS, &out->first));
    DIT_TRY(read_count(&r, "last", 0, DIT_MAX_BLOCKS, &out->last));
    DIT_TRY(read_count(&r, "warmup", 0, DIT_CACHE_MAX_STEPS, &out->warmup));
    DIT_TRY(read_count(&r, "max_hits", 0, DIT_CACHE_MAX_STEPS, &out->max_hits));
    DIT_TRY(read_count(&r, "max_consecutive", 0, DIT_CACHE_MAX_STEPS, &out->max_consecutive));
    DIT_TRY(read_count(&r, "interval", 1, DIT_CACHE_MAX_STEPS, &out->interval));
    DIT_TRY(read_count(&r, "blocks", 1, DIT_MAX_BLOCKS, &out->blocks));
    DIT_TRY(read_count(&r, "unconditional", 1, DIT_CACHE_MAX_STEPS, &out->unconditional));
    DIT_TRY(read_count(&r, "gate", 1, DIT_CACHE_MAX_STEPS, &out->gate));
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
    if (dit_cache_sums_changes(out)) DIT_TRY(read_numbers(&r, &coefficient_list, out->coefficients, &count));
    if (out->policy == DIT_CACHE_MASK) DIT_TRY(require(&r, out->mask[0], "mask"));
    if (out->policy == DIT_CACHE_DELTA) {
        DIT_TRY(require(&r, out->blocks > 0, "blocks"));
        DIT_TRY(require(&r, dit_json_member(object, "cut") != NULL, "cut"));
    }
    if (dit_cache_has_ranges(out)) DIT_TRY(read_broadcast(&r, out));
    DIT_TRY(dit_json_optional_number(doc, object, pointer, "weight", -10, 10, &out->weight));
    if (out->policy == DIT_CACHE_TGATE) {
        DIT_TRY(require(&r, out->gate > 0, "gate"));
        DIT_TRY(read_ranges(&r, out));
    }
    if (out->policy == DIT_CACHE_MODULES) DIT_TRY(read_table(&r, out));
    if (out->policy == DIT_CACHE_TAYLORSEER && out->forecast != DIT_FORECAST_TAYLOR)
        return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "taylorseer with forecast %s",
                                            dit_forecast_names()[out->forecast]),
                              "its forecast is taylor; fora holds");
    if (dit_words_find(dit_cache_keys(out->policy), "interval") >= 0)
        DIT_TRY(require(&r, out->interval > 0, "interval"));
    return read_hits(&r, out);
}
