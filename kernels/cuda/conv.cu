/* Convolutions: calls the library where it takes the request, else our own kernel. */
#include "kernels/cuda/cuda.h"

/* True if every given operand belongs to an array; a failure is remembered. */
static bool operands_are_there(dit_cuda *cuda, const dit_conv_args *a)
{
    const void *const operands[] = {a->x, a->y, a->front, a->above, a->below, a->residual};
    bool there = a->x && a->y;
    for (const void *operand : operands) there = (!operand || view_of(cuda, operand).data) && there;
    return there;
}

void cuda_conv(dit_pool *pool, const dit_conv_args *args)
{
    dit_cuda *cuda = cuda_of(pool);
    if (args->out[0] <= 0 || args->out[1] <= 0 || args->out[2] <= 0 || args->weights->n <= 0) return;
    if (!operands_are_there(cuda, args)) return;
    if (!cuda->conv || !cuda_conv_library_run(cuda, args)) cuda_conv_own(cuda, args);
}
