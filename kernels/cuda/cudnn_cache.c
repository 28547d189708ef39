/* Plans by shape. A model has some ten shapes, so a list is searched. */
#include "kernels/cuda/cudnn_cache.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void entry_free(dnn_entry *entry)
{
    dnn_plan_release(&entry->plan);
    dnn_graph_release(&entry->graph);
    free(entry);
}

void dnn_cache_release(dnn_cache *cache)
{
    for (int i = 0; i < cache->count; i++) entry_free(cache->entries[i]);
    free(cache->entries);
    cache->entries = NULL;
    cache->count = cache->room = 0;
}

dnn_entry *dnn_cache_find(const dnn_cache *cache, const void *key)
{
    for (int i = 0; i < cache->count; i++)
        if (memcmp(cache->entries[i]->key, key, (size_t)cache->key_bytes) == 0) return cache->entries[i];
    return NULL;
}

static bool room_make(dnn_cache *cache)
{
    if (cache->count < cache->room) return true;
    int room = cache->room ? 2 * cache->room : 16;
    dnn_entry **entries = realloc(cache->entries, (size_t)room * sizeof *entries);
    if (!entries) return false;
    cache->entries = entries, cache->room = room;
    return true;
}

static dit_status entry_make(dnn_entry *entry, const dnn_cache *cache, dnn_way way, const dnn_limits *limits)
{
    int count = 0;
    DIT_TRY(way(&entry->graph, &cache->target, entry->key));
    return dnn_plans_make(&entry->graph, &cache->target, limits, 1, &entry->plan, &count);
}

dnn_entry *dnn_cache_make(dnn_cache *cache, const void *key, const dnn_limits *limits)
{
    assert(cache->key_bytes <= DNN_KEY_BYTES);
    dnn_entry *entry = room_make(cache) ? calloc(1, sizeof *entry) : NULL;
    if (!entry) return NULL;
    memcpy(entry->key, key, (size_t)cache->key_bytes);
    cache->entries[cache->count++] = entry;
    for (int i = 0; i < DNN_WAYS && cache->ways[i] && !entry->plan.plan; i++) {
        if (entry_make(entry, cache, cache->ways[i], limits) == DIT_OK) break;
        snprintf(entry->why, sizeof entry->why, "%s", dit_error_last()->message);
        dnn_graph_release(&entry->graph);
        dit_error_clear();
    }
    return entry;
}
