/* Finishes the sums of a product in our own kernels: bias, activation, gate, residual. */
#ifndef DIT_KERNELS_CUDA_FINISH_H
#define DIT_KERNELS_CUDA_FINISH_H

#include "kernels/cuda/epilogue.h"

/* y[row, column] = residual + gate * activation(scales * sum + bias); parts that are NULL are left out. */
typedef struct {
    view bias, gate; /* [n] */
    view residual;   /* [rows, n], strides of y */
    view y;
    int64_t ldy;
    dit_activation activation;
    const float *scale_x, *scale_w; /* of e4m3 operands, on the device */
} finish;

static __device__ inline float finish_scale(const finish &f)
{
    return (f.scale_x ? *f.scale_x : 1.0f) * (f.scale_w ? *f.scale_w : 1.0f);
}

/* Finishes one value; `sum` is already scaled. */
static __device__ inline float finish_value(const finish &f, int64_t row, int64_t column, float sum)
{
    float value[1] = {f.bias.data ? sum + view_load(f.bias, column) : sum};
    activate<1>(f.activation, value);
    if (f.gate.data) value[0] *= view_load(f.gate, column);
    return f.residual.data ? view_load(f.residual, row * f.ldy + column) + value[0] : value[0];
}

static __device__ inline void finish_store(const finish &f, int64_t row, int64_t column, float sum)
{
    view_store(f.y, row * f.ldy + column, finish_value(f, row, column, sum));
}

#endif
