/* Writes the settings of caches, and their labels. */
#include "base/cache_impl.h"

#include "base/hash.h"
#include "base/words.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void put_forced(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    if (!strchr(cache->force, '1')) return;
    cJSON *list = dit_json_put_array(w, object, "force");
    for (int step = 0; cache->force[step]; step++)
        if (cache->force[step] == '1') dit_json_put_int(w, list, NULL, step);
}

static void put_forecast(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    if (dit_cache_rolls(cache)) dit_json_put_number(w, object, "weight", cache->weight);
    if (cache->forecast == DIT_FORECAST_HOLD || dit_cache_rolls(cache)) return;
    cJSON *forecast = dit_json_put_object(w, object, "forecast");
    dit_json_put_string(w, forecast, "kind", dit_forecast_names()[cache->forecast]);
    if (cache->forecast == DIT_FORECAST_TAYLOR) dit_json_put_int(w, forecast, "order", cache->order);
    if (cache->forecast == DIT_FORECAST_LINE) dit_json_put_number(w, forecast, "weight", cache->weight);
}

static void put_numbers(dit_json_writer *w, cJSON *object, const char *key, const double *values, int count)
{
    cJSON *list = dit_json_put_array(w, object, key);
    for (int i = 0; i < count; i++) dit_json_put_number(w, list, NULL, values[i]);
}

static void put_ranges(dit_json_writer *w, const dit_cache *cache, cJSON *object)
{
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (cache->ranges[kind]) dit_json_put_int(w, object, dit_module_names()[kind], cache->ranges[kind]);
    if (dit_cache_has_ranges(cache)) put_numbers(w, object, "timesteps", (const double[]){cache->from, cache->to}, 2);
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
    const char *const *keys = dit_cache_keys(cache->policy);
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
    if (cache->gate) dit_json_put_int(w, object, "gate", cache->gate);
    if (cache->unconditional) {
        dit_json_put_int(w, object, "unconditional", cache->unconditional);
        put_numbers(w, object, "unconditional_timesteps", (const double[]){cache->lone_from, cache->lone_to}, 2);
    }
    put_ranges(w, cache, object);
    if (cache->policy == DIT_CACHE_MODULES) put_table(w, cache, object);
    if (dit_words_find(keys, "warmup") >= 0) dit_json_put_int(w, object, "warmup", cache->warmup);
    if (dit_words_find(keys, "max_hits") >= 0) dit_json_put_int(w, object, "max_hits", cache->max_hits);
    if (dit_words_find(keys, "max_consecutive") >= 0)
        dit_json_put_int(w, object, "max_consecutive", cache->max_consecutive);
    put_forced(w, cache, object);
    put_forecast(w, cache, object);
    if (cache->separate) dit_json_put_string(w, object, "cfg", "separate");
    if (cache->variant) dit_json_put_string(w, object, "variant", dit_cache_variant_words()[cache->variant]);
    if (cache->warmup_interval) dit_json_put_int(w, object, "warmup_interval", cache->warmup_interval);
    if (cache->hits) dit_json_put_int(w, object, "hits", cache->hits);
    if (!cache->hits) put_replay(w, cache, object);
    put_pruning(w, cache, object);
    if (dit_cache_sums_changes(cache))
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
           dit_cache_sums_changes(cache) || cache->policy == DIT_CACHE_MODULES || strchr(cache->always, '1');
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

/* Writes "attention 2 cross 6 100-800", with "unconditional 5 -1-641" of fastercache behind it, of tgate "8 attention 2". */
static void label_ranges(const dit_cache *cache, char *out, size_t size)
{
    size_t used = 0;
    if (cache->gate) used += (size_t)snprintf(out, size, "%d", cache->gate);
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (cache->ranges[kind])
            used += (size_t)snprintf(out + used, size - used, "%s%s %d", used ? " " : "", dit_module_names()[kind],
                                     cache->ranges[kind]);
    if (dit_cache_has_ranges(cache))
        used += (size_t)snprintf(out + used, size - used, " %.6g-%.6g", cache->from, cache->to);
    if (cache->unconditional)
        snprintf(out + used, size - used, " unconditional %d %.6g-%.6g", cache->unconditional, cache->lone_from,
                 cache->lone_to);
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
    else if (dit_cache_has_ranges(cache) || cache->gate)
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
    MORE(cache->variant, " %s", dit_cache_variant_words()[cache->variant]);
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
        snprintf(out, size, "%s(%s%s)+%s%d%s", dit_cache_name(cache->policy), inside, more,
                 dit_forecast_names()[cache->forecast], cache->order, weight);
}
