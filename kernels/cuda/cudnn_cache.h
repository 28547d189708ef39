/* Plans by shape: made when a shape is first seen, kept until the end, those that cannot be made too.
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
    char why[256]; /* there is none */
} dnn_entry;

typedef struct {
    dnn_target target;
    dnn_way ways[DNN_WAYS]; /* of describing the same; the first that has a plan is taken. NULL: no more */
    int64_t key_bytes;
    dnn_entry **entries;
    int count, room;
} dnn_cache;

void dnn_cache_release(dnn_cache *cache); /* accepts a zeroed one */
/* How long a plan takes, in any unit; negative: it does not run. */
typedef struct {
    double (*measure)(void *context, const dnn_plan *plan);
    void *context;
} dnn_stopwatch;

/* NULL: not seen yet. */
dnn_entry *dnn_cache_find(const dnn_cache *cache, const void *key);
/* The first plan there is, or with a watch the fastest of two of each way. Takes from milliseconds to some seconds, as
 * kernels may be compiled. NULL: no memory of the host's. */
dnn_entry *dnn_cache_make(dnn_cache *cache, const void *key, const dnn_limits *limits, const dnn_stopwatch *watch);

#ifdef __cplusplus
}
#endif
#endif
