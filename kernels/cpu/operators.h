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

#define DIT_CPU_OPERATORS                                                                                              \
    {                                                                                                                  \
        .name = "cpu", .linear_pack = cpu_linear_pack, .linear = cpu_linear, .attention = cpu_attention,               \
        .attention_merge = cpu_attention_merge, .norm = cpu_norm, .qk_norm_rope = cpu_qk_norm_rope, .copy = cpu_copy,  \
        .combine = cpu_combine, .activate = cpu_activate, .conv = cpu_conv, .group_norm = cpu_group_norm,              \
        .group_moments = cpu_group_moments, .timestep = dit_ref_timestep, .gated_add = dit_ref_gated_add,              \
        .row_squares = dit_ref_row_squares, .row_scale = dit_ref_row_scale                                             \
    }

#endif
