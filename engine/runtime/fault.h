/* Fault switch of the test build (-DDITBENCH_FAULT_INJECTION). In the ordinary build nothing of it is there.
 *
 *   DITBENCH_FAULT=KIND:STEP[:RANK]   with KIND hang, crash, abort or nan: rank RANK (the last if not said) fails so at
 *                                     that diffusion step
 *   DITBENCH_FAULT=bytes:AXIS         the closed form of that axis says one byte a message more than it should
 *   DITBENCH_FAULT=variance           group norms shared by rows average variances, and lose that between the ranks
 */
#ifndef DIT_ENGINE_FAULT_H
#define DIT_ENGINE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct dit_runtime;

#ifdef DITBENCH_FAULT_INJECTION
void dit_fault_at_step(struct dit_runtime *rt, int step, float *latents);
/* Bytes that a wrong closed form adds to `messages` messages along an axis. */
int64_t dit_fault_bytes(const char *axis, int64_t messages);
/* Whether variances are averaged. */
bool dit_fault_variance(void);
#else
static inline void dit_fault_at_step(struct dit_runtime *rt, int step, float *latents)
{
    (void)rt;
    (void)step;
    (void)latents;
}
static inline int64_t dit_fault_bytes(const char *axis, int64_t messages)
{
    (void)axis;
    (void)messages;
    return 0;
}
static inline bool dit_fault_variance(void)
{
    return false;
}
#endif

#endif
