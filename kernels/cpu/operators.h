/* All operators of the cpu backend and their table, for the instruction set of the including file. */
#ifndef DIT_KERNELS_CPU_OPERATORS_H
#define DIT_KERNELS_CPU_OPERATORS_H

#include "kernels/cpu_headers.h" /* includes every operator of this folder; kernels/rules.mk writes it */
#include "kernels/ref/ref.h"

#define DIT_CPU_ENTRY(ID, name, args_type, cpu, ...) .name = cpu##_##name,
#define DIT_CPU_OPERATORS                                                                                              \
    {                                                                                                                  \
        .name = "cpu", .entries = true, .linear_pack = cpu_linear_pack, DIT_OPERATOR_LIST(DIT_CPU_ENTRY)               \
    }

#endif
