/* The cpu operators with AVX2 and FMA. */
#include "kernels/cpu/cpu.h"

#if DIT_CPU_X86
#include "kernels/cpu/operators.h"

const dit_cpu_isa dit_cpu_avx2 = {
    .isa = "avx2", .lanes = VF_LANES, .kernels = DIT_CPU_OPERATORS, .peak_burst = cpu_peak_burst};
#endif
