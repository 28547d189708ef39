/* The cpu operators with no instruction set beyond the compiler's default. */
#include "kernels/cpu/cpu.h"

#include "kernels/cpu/operators.h"

const dit_cpu_isa dit_cpu_plain = {
    .isa = "plain", .lanes = VF_LANES, .kernels = DIT_CPU_OPERATORS, .peak_burst = cpu_peak_burst};
