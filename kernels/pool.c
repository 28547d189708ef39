/* Thread pool: runs one job at a time and hands out its pieces by an atomic counter.
 *
 * A job is open while `open` is 1. A worker announces itself in `users` before it looks at `open`; the caller closes
 * the job before it looks at `users`. Both orders are sequentially consistent, so either the worker sees a closed job
 * and leaves, or the caller sees the worker and waits. A worker that wakes late therefore never delays a job that
 * the others have already finished.
 */
#include "kernels/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SPINS_BEFORE_SLEEP = 1 << 14, SPINS_BEFORE_YIELD = 1 << 10, CACHE_LINE_BYTES = 64, MAX_THREADS = 1024 };

typedef struct {
    dit_pool *pool;
    int index;
    pthread_t thread;
} worker;

struct dit_pool {
    int threads, started;
    bool spin;
    float *scratch;
    struct dit_device *device;
    worker *workers; /* [threads], entry 0 is the caller's and has no thread */

    dit_pool_task task; /* the job; written only while closed and without users */
    void *context;
    int64_t count, grain;

    _Alignas(CACHE_LINE_BYTES) atomic_llong next;      /* begin of the next piece                     */
    _Alignas(CACHE_LINE_BYTES) atomic_uint generation; /* counts jobs; a change wakes the workers */
    atomic_int open, users, sleepers, stop;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
};

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_pieces(dit_pool *pool, int index)
{
    for (;;) {
        int64_t begin = atomic_fetch_add(&pool->next, pool->grain);
        if (begin >= pool->count) return;
        int64_t end = pool->count - begin < pool->grain ? pool->count : begin + pool->grain;
        pool->task(pool->context, begin, end, index);
    }
}

static void sleep_until_change(dit_pool *pool, unsigned seen)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->generation) == seen) pthread_cond_wait(&pool->wake, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static unsigned wait_for_change(dit_pool *pool, unsigned seen)
{
    int spins = pool->spin ? SPINS_BEFORE_SLEEP : 0;
    while (spins-- > 0) {
        if (atomic_load(&pool->generation) != seen) return atomic_load(&pool->generation);
        cpu_relax();
    }
    sleep_until_change(pool, seen);
    return atomic_load(&pool->generation);
}

static void *worker_main(void *argument)
{
    const worker *self = argument;
    dit_pool *pool = self->pool;
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_change(pool, seen);
        if (atomic_load(&pool->stop)) return NULL;
        atomic_fetch_add(&pool->users, 1);
        if (atomic_load(&pool->open)) run_pieces(pool, self->index);
        atomic_fetch_sub(&pool->users, 1);
    }
}

static void announce_change(dit_pool *pool)
{
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers) == 0) return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

static void wait_for_users(dit_pool *pool)
{
    for (int spins = 0; atomic_load(&pool->users) != 0; spins++) {
        if (pool->spin && spins < SPINS_BEFORE_YIELD)
            cpu_relax();
        else
            sched_yield();
    }
}

void dit_pool_run(dit_pool *pool, int64_t count, int64_t grain, dit_pool_task task, void *context)
{
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    if (pool->threads == 1 || count <= grain) {
        task(context, 0, count, 0);
        return;
    }
    pool->task = task;
    pool->context = context;
    pool->count = count;
    pool->grain = grain;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->open, 1);
    announce_change(pool);
    run_pieces(pool, 0);
    atomic_store(&pool->open, 0);
    wait_for_users(pool);
}

static dit_status start_workers(dit_pool *pool)
{
    for (int i = 1; i < pool->threads; i++) {
        pool->workers[i] = (worker){.pool = pool, .index = i};
        if (pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]))
            return DIT_FAIL(DIT_ERR_ENVIRONMENT, "thread %d of %d cannot be started", i, pool->threads);
        pool->started = i;
    }
    return DIT_OK;
}

dit_status dit_pool_create(int threads, bool spin, dit_pool **out)
{
    dit_status st = DIT_OK;
    *out = NULL;
    if (threads < 1 || threads > MAX_THREADS)
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "a pool has 1 to %d threads, not %d", MAX_THREADS, threads);
    dit_pool *pool = aligned_alloc(CACHE_LINE_BYTES, sizeof *pool);
    if (!pool) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a pool");
    *pool = (dit_pool){.threads = threads, .spin = spin};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->scratch = aligned_alloc(DIT_POOL_SCRATCH_BYTES, (size_t)threads * DIT_POOL_SCRATCH_BYTES);
    pool->workers = calloc((size_t)threads, sizeof *pool->workers);
    if (!pool->scratch || !pool->workers)
        st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the scratch of %d threads", threads);
    if (st == DIT_OK) st = start_workers(pool);
    if (st != DIT_OK)
        dit_pool_free(pool);
    else
        *out = pool;
    return st;
}

void dit_pool_free(dit_pool *pool)
{
    if (!pool) return;
    atomic_store(&pool->stop, 1);
    announce_change(pool);
    for (int i = 1; i <= pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->scratch);
    free(pool->workers);
    free(pool);
}

int dit_pool_threads(const dit_pool *pool)
{
    return pool->threads;
}

void dit_pool_set_device(dit_pool *pool, struct dit_device *device)
{
    pool->device = device;
}
struct dit_device *dit_pool_device(const dit_pool *pool)
{
    return pool->device;
}

float *dit_pool_scratch(dit_pool *pool, int worker_index)
{
    return pool->scratch + (size_t)worker_index * (DIT_POOL_SCRATCH_BYTES / sizeof(float));
}
