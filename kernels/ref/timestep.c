/* y = [cos | sin] of (t unit) f_i. Unlike other reference operators it computes in float32, in the order of diffusers,
 * on all backends: results are compared with those of diffusers. */
#include "kernels/ref/ref.h"

#include <math.h>

/* Returns exp(x), x <= 0, rounded as PyTorch's vector routine rounds it. A frequency that is one ulp off moves single
 * entries of the embedding by 1e-4 at a guidance value of 3500, and the C library's exp differs in 17 of the 128
 * frequencies. Method and coefficients: SLEEF expf (1.0 ulp), Shibata and Petrogalli, IEEE TPDS 2020: x = q ln2 + s
 * with ln2 in two parts, exp(s) by a polynomial of degree 7. */
static float exp_as_reference(float x)
{
    static const float polynomial[] = {0x1.a057b4p-13f, 0x1.6d2d92p-10f, 0x1.11114cp-7f,
                                       0x1.5554f4p-5f,  0x1.555556p-3f,  0.5f};
    float q = rintf(x * 1.44269504f);
    float s = fmaf(q, -1.428606765e-6f, fmaf(q, -0.693145751953125f, x));
    float u = polynomial[0];
    for (size_t i = 1; i < sizeof polynomial / sizeof *polynomial; i++) u = fmaf(u, s, polynomial[i]);
    return ldexpf(1.0f + fmaf(s * s, u, s), (int)q);
}

void dit_ref_timestep(dit_pool *pool, const dit_timestep_args *args)
{
    int64_t half = args->dim / 2;
    const float log_period = (float)log(10000.0);
    (void)pool;
    for (int64_t row = 0; row < args->count; row++) {
        float *y = args->y + row * args->dim, t = args->t[row] * args->unit;
        for (int64_t i = 0; i < half; i++) {
            float exponent = -log_period * (float)i;
            exponent = exponent / (float)half;
            float angle = t * exp_as_reference(exponent);
            if (args->scale != 0) angle = args->scale * angle;
            y[i] = cosf(angle);
            y[half + i] = sinf(angle);
        }
        if (args->dim % 2) y[args->dim - 1] = 0.0f;
    }
}

/* Counts no cosines and sines, as attention counts no softmax: a step has only a few such vectors. */
dit_work dit_timestep_work(const dit_timestep_args *args)
{
    return dit_elementwise_work(args->count * args->dim, 0, 1, 0);
}
