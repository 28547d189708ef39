/* Fault switch of the test build (-DDITBENCH_FAULT_INJECTION): DITBENCH_FAULT=KIND:STEP[:RANK] with KIND hang, crash,
 * abort or nan makes rank RANK (default: the last) fail at that diffusion step. In the ordinary build it is nothing. */
#ifndef DIT_ENGINE_FAULT_H
#define DIT_ENGINE_FAULT_H

#ifdef DITBENCH_FAULT_INJECTION
void dit_fault_at_step(int step, float *latents);
#else
static inline void dit_fault_at_step(int step, float *latents)
{
    (void)step;
    (void)latents;
}
#endif

#endif
