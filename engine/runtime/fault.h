/* Fault switch of the test build (-DDITBENCH_FAULT_INJECTION): DITBENCH_FAULT=KIND:STEP[:RANK] with KIND hang, crash,
 * abort or nan makes rank RANK (default: the last) fail at that diffusion step. In the ordinary build it is nothing. */
#ifndef DIT_ENGINE_FAULT_H
#define DIT_ENGINE_FAULT_H

#ifdef DITBENCH_FAULT_INJECTION
struct dit_runtime;
void dit_fault_at_step(struct dit_runtime *rt, int step, float *latents);
#else
struct dit_runtime;
static inline void dit_fault_at_step(struct dit_runtime *rt, int step, float *latents)
{
    (void)rt;
    (void)step;
    (void)latents;
}
#endif

#endif
