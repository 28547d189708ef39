/* Fault switch of the test build (-DDITBENCH_FAULT_INJECTION). The ordinary build has none of it.
 *
 *   DITBENCH_FAULT=KIND:STEP[:RANK]   rank RANK (default: the last) fails at that diffusion step; KIND is hang, crash,
 *                                     abort, nan, late (computes for 30 ms more) or leak (4 MiB)
 *   DITBENCH_FAULT=bytes:AXIS         the closed form of that axis gives one byte too many per message; AXIS weights:
 *                                     that of weights that stream one load too many
 *   DITBENCH_FAULT=slow:PERCENT       every step takes that much longer on every rank: the core works on
 *   DITBENCH_FAULT=skip:N            every N-th step keeps the prediction of the step before, and computes nothing
 *   DITBENCH_FAULT=variance           group norms over shared rows average variances, which is wrong: the variance
 *                                     between ranks is lost
 */
#ifndef DIT_ENGINE_FAULT_H
#define DIT_ENGINE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct dit_runtime;

#ifdef DITBENCH_FAULT_INJECTION
void dit_fault_at_step(struct dit_runtime *rt, int step, float *latents);
/* Keeps the core busy for a share of the time since `began`, in nanoseconds of dit_clock_ns. */
void dit_fault_slow(int64_t began);
/* Returns the bytes that the wrong closed form adds to `messages` messages along an axis. */
int64_t dit_fault_bytes(const char *axis, int64_t messages);
/* True if a step is to be left out; never the first. */
bool dit_fault_skips(int step);
/* True if variances are averaged. */
bool dit_fault_variance(void);
#else
static inline void dit_fault_at_step(struct dit_runtime *rt, int step, float *latents)
{
    (void)rt;
    (void)step;
    (void)latents;
}
static inline void dit_fault_slow(int64_t began)
{
    (void)began;
}
static inline int64_t dit_fault_bytes(const char *axis, int64_t messages)
{
    (void)axis;
    (void)messages;
    return 0;
}
static inline bool dit_fault_skips(int step)
{
    (void)step;
    return false;
}
static inline bool dit_fault_variance(void)
{
    return false;
}
#endif

#endif
