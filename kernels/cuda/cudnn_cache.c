/* Keeps plans in a list that is searched from the front: a model has about ten shapes. */
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

enum { TRIED = 2 /* plans of one way that are measured */ };

/* Puts the fastest of the plans into the entry if it is faster than the entry's; releases the others. */
static bool entry_improve(dnn_entry *entry, double *best, dnn_plan *plans, int count, const dnn_stopwatch *watch)
{
    bool improved = false;
    for (int i = 0; i < count; i++) {
        double time = watch ? watch->measure(watch->context, &plans[i]) : 0;
        bool faster = time >= 0 && (!entry->plan.plan || time < *best);
        if (faster) {
            dnn_plan_release(&entry->plan);
            entry->plan = plans[i], *best = time;
            improved = true;
        } else {
            dnn_plan_release(&plans[i]);
        }
    }
    return improved;
}

/* Tries one way. The entry keeps the way's graph if one of its plans becomes the entry's. */
static dit_status way_try(dnn_entry *entry, double *best, const dnn_cache *cache, dnn_way way, const dnn_limits *limits,
                          const dnn_stopwatch *watch)
{
    dnn_graph graph = {0}, replaced = entry->graph;
    dnn_plan plans[TRIED];
    int count = 0;
    dit_status st = way(&graph, &cache->target, entry->key);
    if (st == DIT_OK) st = dnn_plans_make(&graph, &cache->target, limits, watch ? TRIED : 1, plans, &count);
    if (st == DIT_OK && entry_improve(entry, best, plans, count, watch)) {
        entry->graph = graph;
        graph = replaced;
    }
    dnn_graph_release(&graph);
    return st;
}

dnn_entry *dnn_cache_make(dnn_cache *cache, const void *key, const dnn_limits *limits, const dnn_stopwatch *watch)
{
    assert(cache->key_bytes <= DNN_KEY_BYTES);
    dnn_entry *entry = room_make(cache) ? calloc(1, sizeof *entry) : NULL;
    double best = 0;
    if (!entry) return NULL;
    memcpy(entry->key, key, (size_t)cache->key_bytes);
    cache->entries[cache->count++] = entry;
    for (int i = 0; i < DNN_WAYS && cache->ways[i] && (watch || !entry->plan.plan); i++) {
        if (way_try(entry, &best, cache, cache->ways[i], limits, watch) == DIT_OK) continue;
        snprintf(entry->why, sizeof entry->why, "%s", dit_error_last()->message);
        dit_error_clear();
    }
    return entry;
}
