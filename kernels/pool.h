/* Thread pool: the threads that operators run on. The caller sees to it that ranks x threads <= cores.
 *
 * The calling thread is worker 0. A pool of one thread runs everything inline. Workers spin briefly between tasks and
 * then sleep; with `spin` false (more threads than cores) they sleep at once.
 */
#ifndef DIT_KERNELS_POOL_H
#define DIT_KERNELS_POOL_H

#include "base/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dit_pool dit_pool;

/* Errors: DIT_ERR_MEMORY, DIT_ERR_ENVIRONMENT when threads cannot be started. */
dit_status dit_pool_create(int threads, bool spin, dit_pool **out);
void dit_pool_free(dit_pool *pool); /* accepts NULL */
int dit_pool_threads(const dit_pool *pool);
/* The device whose operators are called with this pool (kernels/device.h), or NULL; not owned. */
struct dit_device;
void dit_pool_set_device(dit_pool *pool, struct dit_device *device);
struct dit_device *dit_pool_device(const dit_pool *pool);

/* Calls task(context, begin, end, worker) over disjoint ranges that cover [0, count), in pieces of about `grain`, and
 * returns when all are done. Pieces are handed out dynamically: any worker may get any piece. */
typedef void (*dit_pool_task)(void *context, int64_t begin, int64_t end, int worker);
void dit_pool_run(dit_pool *pool, int64_t count, int64_t grain, dit_pool_task task, void *context);

/* Returns a worker's scratch: DIT_POOL_SCRATCH_BYTES, 64-byte aligned, with undefined contents at the start of every
 * task. Only that worker may use it, inside a task. The system backs it with memory as it is first touched. */
enum { DIT_POOL_SCRATCH_BYTES = 2 << 20 };
float *dit_pool_scratch(dit_pool *pool, int worker);

#ifdef __cplusplus
}
#endif
#endif
