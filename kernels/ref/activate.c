/* y = activation(x). Also has dit_elementwise_work. */
#include "kernels/ref/ref.h"

#include <math.h>

/* GELU, exact and tanh form: Hendrycks and Gimpel, arXiv:1606.08415, section 2. SiLU: the same paper, section 4. */
double dit_ref_activation(double x, dit_activation activation)
{
    const double sqrt_2_over_pi = 0.79788456080286535588, sqrt_half = 0.70710678118654752440;
    switch (activation) {
    case DIT_ACT_GELU_TANH: return 0.5 * x * (1.0 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
    case DIT_ACT_GELU_ERF: return 0.5 * x * erfc(-x * sqrt_half);
    case DIT_ACT_SILU: return x / (1.0 + exp(-x));
    case DIT_ACT_RELU: return x < 0 ? 0 : x;
    case DIT_ACT_TANH: return tanh(x);
    default: return x;
    }
}

void dit_ref_activate(dit_pool *pool, const dit_activate_args *args)
{
    (void)pool;
    for (int64_t i = 0; i < args->elements; i++) args->y[i] = (float)dit_ref_activation(args->x[i], args->activation);
}

dit_work dit_elementwise_work(int64_t elements, int reads, int writes, double flops_per_element)
{
    return (dit_work){.flops = (double)elements * flops_per_element,
                      .bytes = (double)elements * (reads + writes) * sizeof(float)};
}

/* Counts every activation as the longest, the tanh form of GELU: x (c1 x^2 + c0), its tanh, plus 1, times x / 2. */
dit_work dit_activate_work(const dit_activate_args *args)
{
    return dit_elementwise_work(args->elements, 1, 1, 8);
}
