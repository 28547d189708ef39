/* Runs the fastest multiply-adds of this instruction set: independent chains in registers and nothing else. */
#ifndef DIT_KERNELS_CPU_PEAK_H
#define DIT_KERNELS_CPU_PEAK_H

#include "kernels/cpu/vector.h"

enum { PEAK_CHAINS = 12 }; /* latency 4 times 2 units, and some to spare */

/* Runs `rounds` rounds; returns the flops done. The sums converge to 2, so nothing overflows or gets denormal. */
static double cpu_peak_burst(int64_t rounds)
{
    vf sum[PEAK_CHAINS], half = vf_set1(0.5f), one = vf_set1(1.0f), all = vf_zero();
    volatile float sink;
    DIT_UNROLL
    for (int j = 0; j < PEAK_CHAINS; j++) sum[j] = vf_set1((float)j);
    for (int64_t i = 0; i < rounds; i++) {
        DIT_UNROLL
        for (int j = 0; j < PEAK_CHAINS; j++) sum[j] = vf_fma(sum[j], half, one);
    }
    DIT_UNROLL
    for (int j = 0; j < PEAK_CHAINS; j++) all = all + sum[j];
    sink = vf_sum(all);
    (void)sink;
    return 2.0 * VF_LANES * PEAK_CHAINS * (double)rounds;
}

#endif
