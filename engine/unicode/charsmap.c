#include "engine/unicode/charsmap.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS_ON_A_WAY = 32, CLUSTER_MAX = 6 };

/* ---- units of the double array ----------------------------------------------------------------------------------- */

static bool has_leaf(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t value_of(uint32_t unit)
{
    return unit & 0x7FFFFFFF;
}

static uint32_t label_of(uint32_t unit)
{
    return unit & 0x800000FF;
}

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

/* A walk over all nodes; a node is where the units of its children begin. */
typedef struct {
    const dit_charsmap *map;
    uint8_t *keys;  /* per node, 1 + the most keys on a way to it; 0: not seen */
    uint32_t *todo; /* ring of nodes */
    uint8_t *waits; /* per node: it is in todo */
    size_t first, waiting;
} walk;

static dit_status visit(walk *w, size_t node, unsigned keys)
{
    const dit_charsmap *map = w->map;
    if ((node | 0xFF) >= map->count) return DIT_FAIL(DIT_ERR_INTEGRITY, "the trie of a charsmap points outside");
    if (keys > KEYS_ON_A_WAY)
        return DIT_FAIL(DIT_ERR_INTEGRITY, "more than %d keys of a charsmap begin alike", KEYS_ON_A_WAY);
    if (w->keys[node] > keys) return DIT_OK;
    w->keys[node] = (uint8_t)(keys + 1);
    if (w->waits[node]) return DIT_OK;
    w->waits[node] = 1;
    w->todo[(w->first + w->waiting++) % map->count] = (uint32_t)node;
    return DIT_OK;
}

static dit_status visit_children(walk *w, size_t node)
{
    const dit_charsmap *map = w->map;
    unsigned keys = w->keys[node] - 1u;
    for (uint32_t byte = 1; byte < 256; byte++) {
        uint32_t unit = map->units[node ^ byte];
        if (label_of(unit) != byte) continue;
        size_t child = node ^ byte ^ offset_of(unit);
        DIT_TRY(visit(w, child, keys + has_leaf(unit)));
        if (has_leaf(unit) && value_of(map->units[child]) >= map->bytes)
            return DIT_FAIL(DIT_ERR_INTEGRITY, "a replacement of a charsmap lies outside");
    }
    return DIT_OK;
}

/* A way that goes in a circle without keys is never left: a walk of the library ends with the text, so it may stay. */
static dit_status check_trie(const dit_charsmap *map)
{
    walk w = {.map = map};
    w.keys = calloc(map->count, sizeof *w.keys);
    w.waits = calloc(map->count, sizeof *w.waits);
    w.todo = malloc(map->count * sizeof *w.todo);
    dit_status st = w.keys && w.waits && w.todo ? visit(&w, offset_of(map->units[0]), 0)
                                                : DIT_FAIL(DIT_ERR_MEMORY, "no memory to check a charsmap");
    while (st == DIT_OK && w.waiting) {
        size_t node = w.todo[w.first];
        w.first = (w.first + 1) % map->count;
        w.waiting--;
        w.waits[node] = 0;
        st = visit_children(&w, node);
    }
    free(w.keys);
    free(w.waits);
    free(w.todo);
    return st;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static dit_status copy(const char *bytes, size_t length, uint32_t trie_bytes, dit_charsmap *out)
{
    out->count = trie_bytes / sizeof *out->units;
    out->bytes = length - sizeof trie_bytes - trie_bytes;
    out->units = malloc(trie_bytes);
    out->replacements = malloc(out->bytes);
    if (!out->units || !out->replacements) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a charsmap");
    memcpy(out->units, bytes + sizeof trie_bytes, trie_bytes);
    memcpy(out->replacements, bytes + sizeof trie_bytes + trie_bytes, out->bytes);
    return DIT_OK;
}

dit_status dit_charsmap_read(const char *bytes, size_t length, dit_charsmap *out)
{
    uint32_t trie_bytes = 0;
    *out = (dit_charsmap){0};
    if (!length) return DIT_OK;
    if (length > sizeof trie_bytes) memcpy(&trie_bytes, bytes, sizeof trie_bytes);
    if (trie_bytes < 256 * sizeof *out->units || trie_bytes % sizeof *out->units ||
        trie_bytes >= length - sizeof trie_bytes || bytes[length - 1] != '\0')
        return DIT_FAIL(DIT_ERR_INTEGRITY, "a charsmap of %zu bytes has a trie of %u", length, trie_bytes);
    dit_status st = copy(bytes, length, trie_bytes, out);
    if (st == DIT_OK) st = check_trie(out);
    if (st != DIT_OK) dit_charsmap_release(out);
    return st;
}

/* Writes the bytes of a base64 text, and how many; false for what is none. */
static bool decode_base64(const char *text, size_t length, char *out, size_t *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0, count = 0;
    *bytes = 0;
    while (length && text[length - 1] == '=') length--;
    for (size_t i = 0; i < length; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit) return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out[(*bytes)++] = (char)(bits >> count & 0xFF);
    }
    return true;
}

dit_status dit_charsmap_read_base64(const char *text, dit_charsmap *out)
{
    size_t length = strlen(text), bytes;
    *out = (dit_charsmap){0};
    char *decoded = malloc(length + 1);
    if (!decoded) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a charsmap");
    dit_status st = decode_base64(text, length, decoded, &bytes)
                        ? dit_charsmap_read(decoded, bytes, out)
                        : DIT_FAIL(DIT_ERR_INTEGRITY, "precompiled_charsmap is not base64");
    free(decoded);
    return st;
}

void dit_charsmap_release(dit_charsmap *map)
{
    free(map->units);
    free(map->replacements);
    *map = (dit_charsmap){0};
}

/* ---- replacing --------------------------------------------------------------------------------------------------- */

/* The replacement of the shortest key that `text` begins with; NULL when there is none. */
static const char *find_replacement(const dit_charsmap *map, dit_span text)
{
    size_t node = offset_of(map->units[0]);
    for (size_t i = 0; i < text.length; i++) {
        uint32_t byte = (unsigned char)text.at[i], unit = map->units[node ^ byte];
        if (!byte || label_of(unit) != byte) return NULL;
        node ^= byte ^ offset_of(unit);
        if (!has_leaf(unit)) continue;
        const char *found = map->replacements + value_of(map->units[node]);
        return dit_utf8_is_valid((dit_span){found, strlen(found)}) ? found : NULL;
    }
    return NULL;
}

static void replace_cluster(const dit_charsmap *map, dit_span cluster, dit_buffer *out)
{
    const char *found = cluster.length < CLUSTER_MAX ? find_replacement(map, cluster) : NULL;
    if (found) {
        dit_buffer_text(out, found);
        return;
    }
    while (cluster.length) {
        dit_span one = {cluster.at, 0};
        dit_utf8_take(&cluster);
        one.length = (size_t)(cluster.at - one.at);
        found = find_replacement(map, one);
        dit_buffer_append(out, found ? found : one.at, found ? strlen(found) : one.length);
    }
}

void dit_charsmap_apply(const dit_charsmap *map, dit_span text, dit_buffer *out)
{
    if (!map->units) {
        dit_buffer_append(out, text.at, text.length);
        return;
    }
    while (text.length) {
        dit_span cluster = {text.at, dit_grapheme_length(text)};
        text.at += cluster.length;
        text.length -= cluster.length;
        replace_cluster(map, cluster, out);
    }
}
