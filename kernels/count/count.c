/* The backend that computes nothing: operators return at once, packing takes address space. With it the engine runs its
 * own code over shapes that no memory here could hold, and what is left is the account of flops and bytes. */
#include "kernels/cpu/cpu.h"

static dit_status count_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                                    const float *const *bias, const int64_t *rows, dit_linear *out)
{
    float *packed, *packed_bias = NULL;
    int64_t n = 0, lanes = dit_cpu_current()->lanes;
    (void)pool;
    (void)w;
    for (int i = 0; i < pieces; i++) n += rows[i];
    int64_t padded = (n + lanes - 1) / lanes * lanes; /* as the cpu backend packs */
    if (arena->ledger->on_device) padded = n;         /* as devices do */
    DIT_TRY(dit_arena_floats(arena, padded * k, &packed));
    if (bias && bias[0]) DIT_TRY(dit_arena_floats(arena, padded, &packed_bias));
    *out = (dit_linear){.n = n, .k = k, .packed = packed, .bias = packed_bias};
    return DIT_OK;
}

#define COUNT_NOTHING(name, args_type)                                                                                 \
    static void name(dit_pool *pool, const args_type *args)                                                            \
    {                                                                                                                  \
        (void)pool;                                                                                                    \
        (void)args;                                                                                                    \
    }
COUNT_NOTHING(count_linear, dit_linear_args)
COUNT_NOTHING(count_attention, dit_attention_args)
COUNT_NOTHING(count_attention_merge, dit_merge_args)
COUNT_NOTHING(count_norm, dit_norm_args)
COUNT_NOTHING(count_qk_norm_rope, dit_qk_norm_rope_args)
COUNT_NOTHING(count_copy, dit_copy_args)
COUNT_NOTHING(count_combine, dit_combine_args)
COUNT_NOTHING(count_activate, dit_activate_args)
COUNT_NOTHING(count_conv, dit_conv_args)
COUNT_NOTHING(count_group_norm, dit_group_norm_args)
COUNT_NOTHING(count_group_moments, dit_group_norm_args)
COUNT_NOTHING(count_timestep, dit_timestep_args)
COUNT_NOTHING(count_gated_add, dit_gated_add_args)
COUNT_NOTHING(count_row_norm, dit_row_norm_args)

static const dit_kernels count_table = {
    .name = "count",
    .linear_pack = count_linear_pack,
    .linear = count_linear,
    .attention = count_attention,
    .attention_merge = count_attention_merge,
    .norm = count_norm,
    .qk_norm_rope = count_qk_norm_rope,
    .copy = count_copy,
    .combine = count_combine,
    .activate = count_activate,
    .conv = count_conv,
    .group_norm = count_group_norm,
    .group_moments = count_group_moments,
    .timestep = count_timestep,
    .gated_add = count_gated_add,
    .row_squares = count_row_norm,
    .row_scale = count_row_norm,
};

const dit_kernels *dit_kernels_counting(void)
{
    return &count_table;
}
