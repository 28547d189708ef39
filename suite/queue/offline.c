#include "suite/queue/offline.h"

#include <math.h>
#include <stdlib.h>

/* Requests of one class that are served together. */
typedef struct {
    int class_index, size;
    double seconds; /* in the group that is fastest: what they are sorted by */
} batch;

/* One running replica. */
typedef struct {
    int group;
    double free_at;
} replica;

typedef struct {
    const suite_queue *queue;
    int classes, requests;
    int counts[SUITE_QUEUE_CLASSES];
    batch *batches;
    int batch_count;
    replica *replicas;
    int replica_count;
} plan;

static double seconds_of(const suite_queue *queue, int group, int class_index, int size)
{
    return queue->groups[group].seconds[(size_t)class_index * (size_t)queue->batch_most + (size_t)size - 1];
}

static double least_seconds(const plan *of, int class_index, int size)
{
    double least = INFINITY;
    for (int group = 0; group < of->queue->group_count; group++)
        if (of->queue->groups[group].replicas > of->queue->groups[group].missing)
            least = fmin(least, seconds_of(of->queue, group, class_index, size)); /* fmin passes NAN over */
    return least;
}

/* Whole requests of each class: what is left over by rounding down goes to the largest remainders. */
static void share_out(plan *of)
{
    double rest[SUITE_QUEUE_CLASSES];
    int left = of->requests;
    for (int k = 0; k < of->classes; k++) {
        double exact = suite_arrivals_share(&of->queue->arrivals, k) * of->requests;
        of->counts[k] = (int)floor(exact + 1e-9);
        rest[k] = exact - of->counts[k];
        left -= of->counts[k];
    }
    for (; left > 0; left--) {
        int most = 0;
        for (int k = 1; k < of->classes; k++)
            if (rest[k] > rest[most]) most = k;
        of->counts[most]++;
        rest[most] -= 1;
    }
}

static int longest_first(const void *a, const void *b)
{
    const batch *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return (x->class_index > y->class_index) - (x->class_index < y->class_index);
}

static void make_batches(plan *of)
{
    for (int k = 0; k < of->classes; k++)
        for (int left = of->counts[k]; left > 0; left -= of->queue->batch_most) {
            int size = left < of->queue->batch_most ? left : of->queue->batch_most;
            of->batches[of->batch_count++] = (batch){k, size, least_seconds(of, k, size)};
        }
    qsort(of->batches, (size_t)of->batch_count, sizeof *of->batches, longest_first);
}

static void make_replicas(plan *of)
{
    for (int group = 0; group < of->queue->group_count; group++)
        for (int i = of->queue->groups[group].missing; i < of->queue->groups[group].replicas; i++)
            of->replicas[of->replica_count++] = (replica){group, 0};
}

/* Serves a batch where it ends first; returns the seconds that it takes there. */
static double serve(plan *of, const batch *one)
{
    replica *best = NULL;
    double least = 0;
    for (int i = 0; i < of->replica_count; i++) {
        double seconds = seconds_of(of->queue, of->replicas[i].group, one->class_index, one->size);
        if (isnan(seconds)) continue;
        if (best && of->replicas[i].free_at + seconds >= best->free_at + least) continue;
        best = &of->replicas[i];
        least = seconds;
    }
    if (best) best->free_at += least;
    return least;
}

static void serve_all(plan *of, suite_offline *out)
{
    double work = 0;
    for (int i = 0; i < of->batch_count; i++) work += serve(of, &of->batches[i]);
    for (int i = 0; i < of->replica_count; i++) out->seconds = fmax(out->seconds, of->replicas[i].free_at);
    out->rate = of->requests / out->seconds;
    out->steady = suite_queue_most(of->queue);
    out->idle_share = 1 - work / (out->seconds * of->replica_count);
}

dit_status suite_offline_of(const suite_queue *queue, int requests, suite_offline *out)
{
    plan of = {.queue = queue, .requests = requests ? requests : SUITE_OFFLINE_REQUESTS};
    size_t replicas = 1;
    *out = (suite_offline){0};
    if (of.requests < 1 || of.requests > SUITE_QUEUE_REQUESTS)
        return DIT_FAIL(DIT_ERR_USAGE, "%d requests: at least one, at most %d", of.requests, SUITE_QUEUE_REQUESTS);
    DIT_TRY(suite_queue_check(queue));
    of.classes = queue->arrivals.class_count > 1 ? queue->arrivals.class_count : 1;
    for (int i = 0; i < queue->group_count; i++) replicas += (size_t)queue->groups[i].replicas;
    of.batches = calloc((size_t)of.requests + 1, sizeof *of.batches);
    of.replicas = calloc(replicas, sizeof *of.replicas);
    bool there = of.batches && of.replicas;
    if (there) {
        share_out(&of);
        make_replicas(&of);
        make_batches(&of);
        serve_all(&of, out);
    }
    free(of.batches);
    free(of.replicas);
    return there ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for requests");
}
