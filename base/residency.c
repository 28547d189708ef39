#include "base/residency.h"

#include "base/json_writer.h"
#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

const char *const dit_offload_tiers[] = {"none", "host", "disk", NULL};

const char *dit_offload_tier_name(dit_offload_tier tier)
{
    return tier == DIT_OFFLOAD_PEERS ? "peers" : dit_offload_tiers[tier];
}
const char *const dit_residency_policies[] = {"belady", "lru", "prefetch", NULL};

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static dit_status read_word(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                            const char *const *words, int *out)
{
    char at[256];
    const char *word = words[*out];
    DIT_TRY(dit_json_optional_string(doc, object, pointer, key, &word));
    *out = dit_words_find(words, word);
    snprintf(at, sizeof at, "%s/%s", pointer, key);
    return *out >= 0 ? DIT_OK : dit_json_fail_word(doc, at, key, word, words);
}

dit_status dit_offload_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_offload *out)
{
    static const char *const keys[] = {"tier", "policy", "depth", "resident_weights", NULL};
    int tier = DIT_OFFLOAD_NONE, policy = DIT_RESIDENCY_PREFETCH;
    int64_t depth = 1;
    *out = (dit_offload){0};
    if (!object) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    DIT_TRY(read_word(doc, object, pointer, "tier", dit_offload_tiers, &tier));
    DIT_TRY(read_word(doc, object, pointer, "policy", dit_residency_policies, &policy));
    DIT_TRY(dit_json_optional_int(doc, object, pointer, "depth", 1, MAX_DEPTH, &depth));
    out->tier = (dit_offload_tier)tier, out->policy = (dit_residency_policy)policy;
    out->depth = policy == DIT_RESIDENCY_PREFETCH ? (int)depth : 0;
    if (tier == DIT_OFFLOAD_NONE) return DIT_OK;
    return dit_json_require_int(doc, object, pointer, "resident_weights", 1, INT64_C(1) << 50, &out->resident_weights);
}

dit_status dit_offload_put(const dit_offload *offload, cJSON *document)
{
    dit_json_writer w = {0};
    if (offload->tier == DIT_OFFLOAD_NONE) return DIT_OK;
    cJSON *part = dit_json_put_object(&w, document, "offload");
    dit_json_put_string(&w, part, "tier", dit_offload_tiers[offload->tier]);
    dit_json_put_string(&w, part, "policy", dit_residency_policies[offload->policy]);
    if (offload->depth) dit_json_put_int(&w, part, "depth", offload->depth);
    if (offload->resident_weights) dit_json_put_int(&w, part, "resident_weights", offload->resident_weights);
    return w.status;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

void dit_residency_release(dit_residency *r)
{
    free(r->bytes);
    free(r->used_at);
    free(r->resident);
    free(r->fresh);
    free(r->moves);
    *r = (dit_residency){0};
}

/* How many chunks are held at least: the one in use and those ahead. */
static int window_of(const dit_offload *rules, int count)
{
    return rules->depth + 1 < count ? rules->depth + 1 : count;
}

static int64_t widest_window(const dit_residency *r)
{
    int64_t widest = 0;
    for (int i = 0; i < r->count; i++) {
        int64_t bytes = 0;
        for (int k = 0; k < window_of(&r->rules, r->count); k++) bytes += r->bytes[(i + k) % r->count];
        if (bytes > widest) widest = bytes;
    }
    return widest;
}

dit_status dit_residency_init(const dit_offload *rules, int count, const int64_t *bytes, dit_residency *r)
{
    size_t n = (size_t)count + 1;
    *r = (dit_residency){.rules = *rules, .count = count, .last = -1, .cyclic = true};
    r->bytes = malloc(n * sizeof *r->bytes);
    r->used_at = calloc(n, sizeof *r->used_at);
    r->resident = calloc(n, sizeof *r->resident);
    r->fresh = calloc(n, sizeof *r->fresh);
    r->moves = calloc(2 * n + (size_t)rules->depth, sizeof *r->moves);
    if (!r->bytes || !r->used_at || !r->resident || !r->fresh || !r->moves) {
        dit_residency_release(r);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table of %d chunks", count);
    }
    memcpy(r->bytes, bytes, (size_t)count * sizeof *bytes);
    int64_t least = widest_window(r);
    if (rules->tier == DIT_OFFLOAD_PEERS) r->rules.resident_weights = least;
    if (least <= r->rules.resident_weights) return DIT_OK;
    int window = window_of(rules, count);
    dit_residency_release(r);
    return dit_error_hint(DIT_FAIL(DIT_ERR_MEMORY,
                                   "resident_weights %lld: %d blocks are held at once, which take up to %lld bytes",
                                   (long long)rules->resident_weights, window, (long long)least),
                          "raise resident_weights to that, or lower the depth");
}

/* Uses until `chunk` is needed again, seen from the use of `now`. */
static int distance(const dit_residency *r, int now, int chunk)
{
    return (chunk - now + r->count) % r->count;
}

/* Returns the chunk to drop, among those outside of the window that begins at `now`. */
static int choose_victim(const dit_residency *r, int now)
{
    int victim = -1, window = window_of(&r->rules, r->count);
    for (int i = 0; i < r->count; i++) {
        if (!r->resident[i] || distance(r, now, i) < window) continue;
        bool lru = r->rules.policy == DIT_RESIDENCY_LRU;
        bool worse =
            victim < 0 || (lru ? r->used_at[i] < r->used_at[victim] : distance(r, now, i) > distance(r, now, victim));
        if (worse) victim = i;
    }
    return victim;
}

static void move(dit_residency *r, int chunk, bool load)
{
    r->moves[r->move_count++] = (dit_residency_move){chunk, load};
    r->resident[chunk] = r->fresh[chunk] = load;
    r->used_bytes += load ? r->bytes[chunk] : -r->bytes[chunk];
    if (r->used_bytes > r->peak_bytes) r->peak_bytes = r->used_bytes;
    if (!load) return;
    r->loads++;
    r->loaded_bytes += r->bytes[chunk];
}

/* Where nothing follows this cycle, nothing is loaded beyond its end. */
static void move_shards(dit_residency *r, int chunk, int before)
{
    int ahead = window_of(&r->rules, r->count);
    if (before >= 0 && r->resident[before]) move(r, before, false);
    for (int k = 0; k < ahead && (r->follows || chunk + k < r->count); k++)
        if (!r->resident[(chunk + k) % r->count]) move(r, (chunk + k) % r->count, true);
}

static void make_room(dit_residency *r, int chunk)
{
    for (int k = 0; k < window_of(&r->rules, r->count); k++) {
        int wanted = (chunk + k) % r->count;
        if (r->resident[wanted]) continue;
        while (r->used_bytes + r->bytes[wanted] > r->rules.resident_weights) move(r, choose_victim(r, chunk), false);
        move(r, wanted, true);
    }
}

void dit_residency_use(dit_residency *r, int chunk)
{
    int before = r->last;
    r->move_count = 0;
    r->cyclic = r->cyclic && chunk == (r->last + 1) % r->count;
    r->last = chunk;
    if (r->rules.tier == DIT_OFFLOAD_PEERS)
        move_shards(r, chunk, before);
    else
        make_room(r, chunk);
    r->hits += !r->fresh[chunk];
    r->fresh[chunk] = false;
    r->used_at[chunk] = ++r->uses;
}

/* ---- what is to be expected -------------------------------------------------------------------------------------- */

int64_t dit_residency_closed_loads(const dit_offload *rules, int64_t blocks, int64_t room, int64_t uses)
{
    if (uses == 0 || rules->tier == DIT_OFFLOAD_PEERS) return uses;
    int64_t depth = rules->depth, touched = uses + depth;
    if (touched <= blocks || room >= blocks) return touched < blocks ? touched : blocks;
    if (rules->policy == DIT_RESIDENCY_LRU) return uses;
    int64_t period = blocks - 1 - depth, hits = room - 1 - depth, after = touched - blocks;
    int64_t part = after % period - hits;
    return blocks + after / period * (blocks - room) + (part > 0 ? part : 0);
}

static bool are_equal(int count, const int64_t *bytes)
{
    for (int i = 1; i < count; i++)
        if (bytes[i] != bytes[0]) return false;
    return count > 0;
}

int64_t dit_residency_piece(int64_t bytes, int64_t ranks)
{
    const int64_t least = 64 * ranks;
    return (bytes + least - 1) / least * 64;
}

/* Counts the loads of one use. */
static void add_loads(const dit_residency *r, int64_t *loads)
{
    for (int i = 0; i < r->move_count; i++) loads[r->moves[i].chunk] += r->moves[i].load;
}

dit_status dit_residency_predict(const dit_offload *rules, int count, const int64_t *bytes, int64_t first, int64_t uses,
                                 int64_t *loads, int64_t *total)
{
    dit_residency r;
    int64_t room = count ? rules->resident_weights / bytes[0] : 0;
    DIT_TRY(dit_residency_init(rules, count, bytes, &r));
    memset(loads, 0, (size_t)count * sizeof *loads);
    *total = 0;
    for (int64_t i = first; i < first + uses && rules->tier == DIT_OFFLOAD_PEERS; i++) loads[i % count]++;
    for (int64_t i = 0; i < first + uses && rules->tier != DIT_OFFLOAD_PEERS; i++) {
        dit_residency_use(&r, (int)(i % count));
        if (i >= first) add_loads(&r, loads);
    }
    for (int i = 0; i < count; i++) *total += loads[i];
    dit_residency_release(&r);
    if (are_equal(count, bytes))
        *total = dit_residency_closed_loads(rules, count, room, first + uses) -
                 dit_residency_closed_loads(rules, count, room, first);
    return DIT_OK;
}
