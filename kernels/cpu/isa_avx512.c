/* The cpu operators with AVX-512 (F, DQ, BW, VL). */
#include "kernels/cpu/cpu.h"

#if DIT_CPU_X86
#include "kernels/cpu/operators.h"

const dit_cpu_isa dit_cpu_avx512 = {
    .isa = "avx512", .lanes = VF_LANES, .kernels = DIT_CPU_OPERATORS, .peak_burst = cpu_peak_burst};
#endif
