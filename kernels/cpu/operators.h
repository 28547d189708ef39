/* All operators of the cpu backend and their table, for the instruction set of the including file. */
#ifndef DIT_KERNELS_CPU_OPERATORS_H
#define DIT_KERNELS_CPU_OPERATORS_H

#include "kernels/cpu/activate.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_merge.h"
#include "kernels/cpu/combine.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/copy.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/group_norm.h"
#include "kernels/cpu/linear.h"
#include "kernels/cpu/norm.h"
#include "kernels/cpu/peak.h"
#include "kernels/cpu/qk_norm_rope.h"
#include "kernels/ref/ref.h"

#define DIT_CPU_ENTRY(ID, name, args_type, cpu, ...) .name = cpu##_##name,
#define DIT_CPU_OPERATORS                                                                                              \
    {                                                                                                                  \
        .name = "cpu", .linear_pack = cpu_linear_pack, DIT_OPERATOR_LIST(DIT_CPU_ENTRY)                                \
    }

#endif
