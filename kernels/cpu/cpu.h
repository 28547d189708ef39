/* The cpu backend: every operator compiled once per instruction set (cpu/isa_*.c), chosen at run time by the
 * registry. */
#ifndef DIT_KERNELS_CPU_CPU_H
#define DIT_KERNELS_CPU_CPU_H

#include "kernels/kernels.h"

#if defined(__x86_64__)
#define DIT_CPU_X86 1
#else
#define DIT_CPU_X86 0
#endif

typedef struct {
    const char *isa;
    int64_t lanes; /* of a vector: packed rows are padded to whole vectors */
    dit_kernels kernels;
    double (*peak_burst)(int64_t rounds); /* multiply-adds in registers; returns the flops done */
} dit_cpu_isa;

#if DIT_CPU_X86
extern const dit_cpu_isa dit_cpu_avx512, dit_cpu_avx2;
#endif
extern const dit_cpu_isa dit_cpu_plain;

/* Returns the instruction set in use: the machine's best, or a lower one that DITBENCH_ISA names. Reads the environment
 * at every call. */
const dit_cpu_isa *dit_cpu_current(void);

#endif
