/* Account: what one simulated rank has spent and counted, as numbers that grow by equal amounts with every step and
 * with every block. So a few steps of a few blocks are enough to tell all of them.
 */
#ifndef DIT_ENGINE_SIM_ACCOUNT_H
#define DIT_ENGINE_SIM_ACCOUNT_H

#include "engine/results/record.h"

typedef struct {
    double seconds; /* of virtual time, from the barrier at the start to the collected latents */
    dit_iteration counted;
    int64_t peak[DIT_MEMORY_CLASS_COUNT], total_peak;
} dit_sim_account;

/* Returns the times, counters and flops of the runtime since they were reset. */
dit_iteration dit_sim_counted(const dit_runtime *rt);
/* Returns the messages of all axes, collectives and phases. */
int64_t dit_sim_counted_messages(const dit_iteration *counted);
/* to += times * (more - less), member by member. */
void dit_sim_account_grow(dit_sim_account *to, int64_t times, const dit_sim_account *more, const dit_sim_account *less);
void dit_sim_counted_grow(dit_iteration *to, int64_t times, const dit_iteration *more, const dit_iteration *less);
/* Turns the bytes that were sent, and those of memory, from fp32's into those of elements of `element_bytes` bytes. */
void dit_sim_account_resize(dit_sim_account *account, int element_bytes);

#endif
