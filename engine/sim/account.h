/* Account: what one simulated rank has taken and counted, as numbers that grow by the same amount with every step and
 * with every block, so that a few steps of a few blocks tell of all.
 */
#ifndef DIT_ENGINE_SIM_ACCOUNT_H
#define DIT_ENGINE_SIM_ACCOUNT_H

#include "engine/results/record.h"

typedef struct {
    double seconds; /* virtual, from the barrier before to the collected latents */
    dit_iteration counted;
    int64_t peak[DIT_MEMORY_CLASS_COUNT], total_peak;
} dit_sim_account;

/* Times, counters and flops of the runtime since they were last reset. */
dit_iteration dit_sim_counted(const dit_runtime *rt);
/* Of all axes, collectives and phases. */
int64_t dit_sim_counted_messages(const dit_iteration *counted);
/* to += times * (more - less), member by member. */
void dit_sim_account_grow(dit_sim_account *to, int64_t times, const dit_sim_account *more, const dit_sim_account *less);
void dit_sim_counted_grow(dit_iteration *to, int64_t times, const dit_iteration *more, const dit_iteration *less);
/* Bytes of fp32 as bytes of an element of `element_bytes`: what was sent, and memory. */
void dit_sim_account_resize(dit_sim_account *account, int element_bytes);

#endif
