/* dst[i0,i1,i2,:] = src[i0,i1,i2,:] */
#include "kernels/ref/ref.h"

#include <string.h>

void dit_ref_copy(dit_pool *pool, const dit_copy_args *args)
{
    const int64_t *ss = args->src_stride, *ds = args->dst_stride;
    (void)pool;
    for (int64_t i0 = 0; i0 < args->n0; i0++)
        for (int64_t i1 = 0; i1 < args->n1; i1++)
            for (int64_t i2 = 0; i2 < args->n2; i2++)
                memcpy(args->dst + i0 * ds[0] + i1 * ds[1] + i2 * ds[2],
                       args->src + i0 * ss[0] + i1 * ss[1] + i2 * ss[2], (size_t)args->inner * sizeof(float));
}

dit_work dit_copy_work(const dit_copy_args *args)
{
    return dit_elementwise_work(args->n0 * args->n1 * args->n2 * args->inner, 1, 1, 0);
}
