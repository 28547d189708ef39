/* The backend that computes nothing: operators return at once, and packing takes only address space. With it the engine
 * runs its own code over shapes that no memory here could hold, and keeps the account of flops and bytes. */
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
    DIT_TRY(dit_arena_activations(arena, padded * k, &packed));
    if (bias && bias[0]) DIT_TRY(dit_arena_activations(arena, padded, &packed_bias));
    *out = (dit_linear){.n = n, .k = k, .packed = packed, .bias = packed_bias};
    return DIT_OK;
}

#define COUNT_NOTHING(ID, name, args_type, ...)                                                                        \
    static void count_##name(dit_pool *pool, const args_type *args)                                                    \
    {                                                                                                                  \
        (void)pool;                                                                                                    \
        (void)args;                                                                                                    \
    }
DIT_OPERATOR_LIST(COUNT_NOTHING)

static const dit_kernels count_table = {.name = "count",
                                        .entries = true,
                                        .linear_pack = count_linear_pack,
#define COUNT_ENTRY(ID, name, ...) .name = count_##name,
                                        DIT_OPERATOR_LIST(COUNT_ENTRY)};

const dit_kernels *dit_kernels_counting(void)
{
    return &count_table;
}
