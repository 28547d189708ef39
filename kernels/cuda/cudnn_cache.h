/* Plans by shape: a plan is made when its shape is first seen, and kept until the end. A shape without a plan is
 * remembered, too.
 */
#ifndef DIT_KERNELS_CUDA_CUDNN_CACHE_H
#define DIT_KERNELS_CUDA_CUDNN_CACHE_H

#include "kernels/cuda/cudnn_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DNN_KEY_BYTES = 320, DNN_WAYS = 2 };

/* Adds to the graph what `key` describes, and closes it. */
typedef dit_status (*dnn_way)(dnn_graph *graph, const dnn_target *target, const void *key);

typedef struct {
    char key[DNN_KEY_BYTES];
    dnn_graph graph;
    dnn_plan plan; /* plan.plan NULL: there is none */
    char why[256]; /* why there is no plan */
} dnn_entry;

typedef struct {
    dnn_target target;
    dnn_way ways[DNN_WAYS]; /* ways to describe a shape; the first that has a plan is taken. NULL ends the list */
    int64_t key_bytes;
    dnn_entry **entries;
    int count, room;
} dnn_cache;

void dnn_cache_release(dnn_cache *cache); /* accepts a zeroed one */
/* Measures how long a plan takes, in any unit; negative: the plan does not run. */
typedef struct {
    double (*measure)(void *context, const dnn_plan *plan);
    void *context;
} dnn_stopwatch;

/* Returns NULL if the shape was not seen yet. */
dnn_entry *dnn_cache_find(const dnn_cache *cache, const void *key);
/* Makes the first plan that works or, given a stopwatch, the fastest of two plans of each way. Takes milliseconds to
 * seconds, because kernels may be compiled. NULL: the host has no memory left. */
dnn_entry *dnn_cache_make(dnn_cache *cache, const void *key, const dnn_limits *limits, const dnn_stopwatch *watch);

#ifdef __cplusplus
}
#endif
#endif
