/* Exponentials and activations on vectors. Each splits x = n ln 2 + r (or n + r), |r| <= half a step, evaluates a
 * polynomial of degree 6 in r and adds n to the exponent field. The coefficients are minimax fits in relative error by
 * Remez exchange (1.9e-9 before rounding to fp32, 1.7e-8 after), so the result is good to about 1 ulp. */
#ifndef DIT_KERNELS_CPU_MATH_H
#define DIT_KERNELS_CPU_MATH_H

#include "kernels/cpu/vector.h"
#include "kernels/kernels.h"

/* Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits. */
#define DIT_ROUND_MAGIC 12582912.0f

/* Returns 2^x for x <= 127. Arguments below -64 count as -64: a softmax rounds 2^-64 away, and its products are still
 * normal numbers; a core computes denormal ones a hundred times as slowly. */
DIT_INLINE vf vf_exp2(vf x)
{
    x = vf_max(vf_set1(-64.0f), x);
    vf n_bits = x + vf_set1(DIT_ROUND_MAGIC);
    vf r = x - (n_bits - vf_set1(DIT_ROUND_MAGIC));
    vf p = vf_fma(vf_set1(1.53458081e-4f), r, vf_set1(1.33999309e-3f));
    p = vf_fma(p, r, vf_set1(9.61848907e-3f));
    p = vf_fma(p, r, vf_set1(5.55032864e-2f));
    p = vf_fma(p, r, vf_set1(2.40226462e-1f));
    p = vf_fma(p, r, vf_set1(6.93147182e-1f));
    p = vf_fma(p, r, vf_set1(1.0f));
    return vf_scale(p, n_bits);
}

/* Returns e^x. Arguments are clamped to [-87, 88], where the result is a normal number. ln 2 is split in two (Cody and
 * Waite), so that n * high is exact. */
DIT_INLINE vf vf_exp(vf x)
{
    x = vf_min(vf_set1(88.0f), vf_max(vf_set1(-87.0f), x));
    vf n_bits = vf_fma(x, vf_set1(1.44269504f), vf_set1(DIT_ROUND_MAGIC));
    vf n = n_bits - vf_set1(DIT_ROUND_MAGIC);
    vf r = vf_fma(n, vf_set1(-0.693359375f), x);
    r = vf_fma(n, vf_set1(2.12194440e-4f), r);
    vf p = vf_fma(vf_set1(1.38368423e-3f), r, vf_set1(8.37481581e-3f));
    p = vf_fma(p, r, vf_set1(4.16682251e-2f));
    p = vf_fma(p, r, vf_set1(1.66664198e-1f));
    p = vf_fma(p, r, vf_set1(4.99999911e-1f));
    p = vf_fma(p, r, vf_set1(1.0f));
    p = vf_fma(p, r, vf_set1(1.0f));
    return vf_scale(p, n_bits);
}

DIT_INLINE vf vf_silu(vf x)
{
    return x / (vf_set1(1.0f) + vf_exp(-x));
}

/* 0.5 x (1 + tanh u) = x / (1 + e^(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3): this form has no cancellation. */
DIT_INLINE vf vf_gelu_tanh(vf x)
{
    vf u = x * vf_fma(x * x, vf_set1(0.044715f), vf_set1(1.0f));
    return x / (vf_set1(1.0f) + vf_exp(u * vf_set1(-2 * 0.797884561f)));
}

/* x Phi(x). With t = |x| / sqrt 2 and s = 1 / (1 + 0.42 t):  erfc(t) = e^(-t^2) p(s), the form of Abramowitz and Stegun
 * 7.1.26; p is of degree 8 in s - 0.6, interpolated at Chebyshev points of 0 <= t <= 9.3, 6e-8 in relative error. The
 * smaller tail erfc(t) / 2 is Phi(x) below zero and 1 - Phi(x) above. */
DIT_INLINE vf vf_gelu_erf(vf x)
{
    vf t = vf_max(x, -x) * vf_set1(0.707106781f);
    vf s = vf_set1(1.0f) / vf_fma(t, vf_set1(0.42f), vf_set1(1.0f)) - vf_set1(0.6f);
    vf p = vf_fma(vf_set1(0.077647213f), s, vf_set1(0.0190934259f));
    p = vf_fma(p, s, vf_set1(-0.198472981f));
    p = vf_fma(p, s, vf_set1(-0.116310693f));
    p = vf_fma(p, s, vf_set1(0.472945864f));
    p = vf_fma(p, s, vf_set1(1.12670369f));
    p = vf_fma(p, s, vf_set1(1.31408659f));
    p = vf_fma(p, s, vf_set1(0.99897854f));
    p = vf_fma(p, s, vf_set1(0.307860106f));
    vf tail = p * vf_exp(-(t * t)) * vf_set1(0.5f), positive = vf_max(x, vf_zero());
    /* max(x, 0) - |x| tail, since x Phi(x) is x - x tail above zero and x tail below */
    return positive - vf_max(x, -x) * tail;
}

/* (1 - e) / (1 + e), e = e^(-2x): 1e-7 beside a tanh of 1, and as much beside a small one. */
DIT_INLINE vf vf_tanh(vf x)
{
    vf e = vf_exp(x * vf_set1(-2.0f));
    return (vf_set1(1.0f) - e) / (vf_set1(1.0f) + e);
}

DIT_INLINE vf vf_activation(vf x, dit_activation activation)
{
    switch (activation) {
    case DIT_ACT_GELU_TANH: return vf_gelu_tanh(x);
    case DIT_ACT_GELU_ERF: return vf_gelu_erf(x);
    case DIT_ACT_SILU: return vf_silu(x);
    case DIT_ACT_RELU: return vf_max(vf_zero(), x); /* NaN stays: the second one is given then */
    case DIT_ACT_TANH: return vf_tanh(x);
    default: return x;
    }
}

#endif
