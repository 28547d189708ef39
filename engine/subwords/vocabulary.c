#include "engine/subwords/vocabulary.h"

#include "base/list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void dit_ids_add(dit_ids *ids, int32_t id)
{
    if (ids->failed || dit_list_grow((void **)&ids->at, ids->count, sizeof *ids->at) != DIT_OK)
        ids->failed = true;
    else
        ids->at[ids->count++] = id;
}

void dit_ids_release(dit_ids *ids)
{
    free(ids->at);
    *ids = (dit_ids){0};
}

/* The place of a token, or the free one where it belongs. capacity is not 0. */
static dit_vocabulary_entry *find_place(const dit_vocabulary *v, dit_span token)
{
    size_t at = XXH3_64bits(token.at, token.length) & (v->capacity - 1);
    for (;; at = (at + 1) & (v->capacity - 1)) {
        dit_vocabulary_entry *entry = &v->entries[at];
        if (entry->id < 0) return entry;
        if (entry->length == token.length && memcmp(v->text.data + entry->start, token.at, token.length) == 0)
            return entry;
    }
}

static dit_status enlarge(dit_vocabulary *v)
{
    dit_vocabulary larger = *v;
    larger.capacity = v->capacity ? 2 * v->capacity : 256;
    larger.entries = malloc(larger.capacity * sizeof *larger.entries);
    if (!larger.entries) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a vocabulary of %zu tokens", v->count);
    for (size_t i = 0; i < larger.capacity; i++) larger.entries[i] = (dit_vocabulary_entry){.id = -1};
    for (size_t i = 0; i < v->capacity; i++) {
        const dit_vocabulary_entry *old = &v->entries[i];
        if (old->id >= 0) *find_place(&larger, (dit_span){v->text.data + old->start, old->length}) = *old;
    }
    free(v->entries);
    *v = larger;
    return DIT_OK;
}

dit_status dit_vocabulary_add(dit_vocabulary *v, dit_span token, int64_t id)
{
    if (id < 0 || id >= DIT_IDS_MAX)
        return DIT_FAIL(DIT_ERR_INTEGRITY, "the token \"%.*s\" has the id %lld; ids are 0 to %d",
                        (int)(token.length < 80 ? token.length : 80), token.at, (long long)id, DIT_IDS_MAX - 1);
    if (4 * v->count >= 3 * v->capacity) DIT_TRY(enlarge(v));
    dit_vocabulary_entry *place = find_place(v, token);
    if (id >= v->end) v->end = (int32_t)id + 1;
    if (place->id >= 0) {
        place->id = (int32_t)id;
        return DIT_OK;
    }
    *place = (dit_vocabulary_entry){.start = v->text.used, .length = (uint32_t)token.length, .id = (int32_t)id};
    v->count++;
    if (token.length > v->longest) v->longest = token.length;
    dit_buffer_append(&v->text, token.at, token.length);
    return v->text.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a vocabulary of %zu tokens", v->count) : DIT_OK;
}

int32_t dit_vocabulary_find(const dit_vocabulary *v, dit_span token)
{
    return v->capacity && token.length <= v->longest ? find_place(v, token)->id : -1;
}

int32_t dit_vocabulary_find_text(const dit_vocabulary *v, const char *token)
{
    return dit_vocabulary_find(v, (dit_span){token, strlen(token)});
}

dit_status dit_vocabulary_add_object(dit_vocabulary *v, const dit_json *doc, const cJSON *object, const char *pointer)
{
    const cJSON *item;
    if (!cJSON_IsObject(object))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "the vocabulary is not an object of tokens and ids");
    cJSON_ArrayForEach(item, object)
    {
        double id = cJSON_IsNumber(item) ? item->valuedouble : NAN;
        if (!(id >= 0 && id < DIT_IDS_MAX) || id != floor(id))
            return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "the id of \"%.80s\" is not an integer in 0..%d",
                                 item->string, DIT_IDS_MAX - 1);
        DIT_TRY(dit_vocabulary_add(v, (dit_span){item->string, strlen(item->string)}, (int64_t)id));
    }
    return DIT_OK;
}

void dit_vocabulary_release(dit_vocabulary *v)
{
    dit_buffer_release(&v->text);
    free(v->entries);
    *v = (dit_vocabulary){0};
}
