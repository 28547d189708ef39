/* What follows the sums of a product, for the own kernels: bias, activation, gate, residual. */
#ifndef DIT_KERNELS_CUDA_FINISH_H
#define DIT_KERNELS_CUDA_FINISH_H

#include "kernels/cuda/cuda.h"

/* GELU, exact and tanh form: Hendrycks and Gimpel, arXiv:1606.08415, section 2. SiLU: the same paper, section 4. */
static __device__ inline float activation_of(float x, dit_activation activation)
{
    const float sqrt_2_over_pi = 0.79788456080286535588f, sqrt_half = 0.70710678118654752440f;
    switch (activation) {
    case DIT_ACT_GELU_TANH: return 0.5f * x * (1.0f + tanhf(sqrt_2_over_pi * (x + 0.044715f * x * x * x)));
    case DIT_ACT_GELU_ERF: return 0.5f * x * erfcf(-x * sqrt_half);
    case DIT_ACT_SILU: return x / (1.0f + expf(-x));
    default: return x;
    }
}

/* y[row, column] = residual + gate * activation(scales * sum + bias); what is NULL is left out. */
typedef struct {
    view bias, gate; /* [n] */
    view residual;   /* [rows, n], as y */
    view y;
    int64_t ldy;
    dit_activation activation;
    const float *scale_x, *scale_w; /* of e4m3 operands, on the device */
} finish;

static __device__ inline float finish_scale(const finish &f)
{
    return (f.scale_x ? *f.scale_x : 1.0f) * (f.scale_w ? *f.scale_w : 1.0f);
}

/* `sum` is scaled already. */
static __device__ inline float finish_value(const finish &f, int64_t row, int64_t column, float sum)
{
    float value = f.bias.data ? sum + view_load(f.bias, column) : sum;
    value = activation_of(value, f.activation);
    if (f.gate.data) value *= view_load(f.gate, column);
    return f.residual.data ? view_load(f.residual, row * f.ldy + column) + value : value;
}

static __device__ inline void finish_store(const finish &f, int64_t row, int64_t column, float sum)
{
    view_store(f.y, row * f.ldy + column, finish_value(f, row, column, sum));
}

#endif
