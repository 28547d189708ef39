/* The element-wise epilogue that follows a product or stands alone: bias, activation, gate, residual.
 *
 * elementwise.cu has the kernel. The device functions serve kernels that apply an activation themselves.
 */
#ifndef DIT_KERNELS_CUDA_EPILOGUE_H
#define DIT_KERNELS_CUDA_EPILOGUE_H

#include "kernels/cuda/launch.h"

/* y = residual + gate * activation(x + bias). Each view may have any dtype; views and rows that are aligned to 16 bytes
 * are faster. */
typedef struct {
    int64_t rows, cols;
    view x; /* [rows, cols], stride ldx */
    int64_t ldx;
    view residual; /* [rows, cols], stride ldr; data NULL: zeros */
    int64_t ldr;
    view y; /* [rows, cols], stride ldy; may be residual or x, with the same stride */
    int64_t ldy;
    view bias, gate; /* [cols]; data NULL: zeros, ones */
    dit_activation activation;
} epilogue_args;

/* Runs the epilogue, asynchronous on the device's stream. Without rows or columns it does nothing. */
void epilogue_add(dit_cuda *cuda, const epilogue_args *args);

/* Returns x / (1 + exp(-z)) to 2 ulp. A divisor beyond 2^126 gives 0, which is right to 1e-36. */
static __device__ inline float times_sigmoid(float x, float z)
{
    return __fdividef(x, 1.0f + expf(-z));
}

/* Applies an activation by the formulas of ref/activate.c. The tanh of GELU is written as a sigmoid of twice its
 * argument, which has no cancellation. All threads take one branch of the switch. */
template <int WIDTH> static __device__ inline void activate(dit_activation activation, float x[WIDTH])
{
    const float sqrt_8_over_pi = 1.59576912f, sqrt_half = 0.707106781f;
    if (activation == DIT_ACT_GELU_TANH) {
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            x[i] = times_sigmoid(x[i], sqrt_8_over_pi * fmaf(0.044715f * x[i] * x[i], x[i], x[i]));
    } else if (activation == DIT_ACT_SILU) {
#pragma unroll
        for (int i = 0; i < WIDTH; i++) x[i] = times_sigmoid(x[i], x[i]);
    } else if (activation == DIT_ACT_GELU_ERF) {
#pragma unroll
        for (int i = 0; i < WIDTH; i++) x[i] = 0.5f * x[i] * erfcf(-x[i] * sqrt_half);
    } else if (activation == DIT_ACT_RELU) {
#pragma unroll
        for (int i = 0; i < WIDTH; i++) x[i] = x[i] < 0 ? 0.0f : x[i];
    } else if (activation == DIT_ACT_TANH) {
#pragma unroll
        for (int i = 0; i < WIDTH; i++) x[i] = tanhf(x[i]);
    }
}

#endif
