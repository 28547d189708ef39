#include "engine/vae/decode_timestep.h"

#include <math.h>
#include <stdio.h>

enum { SINUSOID = 256, NAME = 192 };

static float silu(float x)
{
    return x / (1.0f + expf(-x));
}

/* y [out] = W x + b by `prefix`.NAME. */
static dit_status apply(const vae_loader *l, const char *prefix, const char *which, int64_t in, int64_t out,
                        const float *x, float *y)
{
    char name[NAME];
    float *weights;
    dit_runtime *rt = l->rt;
    DIT_TRY(dit_arena_host(&rt->step, out * in, &weights));
    snprintf(name, sizeof name, "%.90s.time_embedder.timestep_embedder.%s.weight", prefix, which);
    DIT_TRY(dit_weights_read(rt, l->weights, name, 2, (int64_t[2]){out, in}, DIT_INIT_LINEAR, weights));
    snprintf(name, sizeof name, "%.90s.time_embedder.timestep_embedder.%s.bias", prefix, which);
    DIT_TRY(dit_weights_read(rt, l->weights, name, 1, &out, DIT_INIT_BIAS, y));
    for (int64_t o = 0; o < dit_runtime_values(rt, out); o++) {
        double sum = 0;
        for (int64_t i = 0; i < in; i++) sum += (double)weights[o * in + i] * x[i];
        y[o] = (float)(y[o] + sum);
    }
    return DIT_OK;
}

static dit_status embed(const vae_loader *l, const char *prefix, float timestep, int64_t width, float *out)
{
    float sinusoid[SINUSOID], *hidden;
    const dit_kernels *host;
    DIT_TRY(dit_kernels_get("ref", &host));
    host->timestep(NULL, &(dit_timestep_args){.count = 1, .dim = SINUSOID, .t = &timestep, .unit = 1, .y = sinusoid});
    DIT_TRY(dit_arena_host(&l->rt->step, width, &hidden));
    DIT_TRY(apply(l, prefix, "linear_1", SINUSOID, width, sinusoid, hidden));
    for (int64_t i = 0; i < dit_runtime_values(l->rt, width); i++) hidden[i] = silu(hidden[i]);
    return apply(l, prefix, "linear_2", width, width, hidden, out);
}

dit_status vae_timestep_embed(const vae_loader *l, const char *prefix, float timestep, int64_t width, float *out)
{
    dit_arena_mark mark = dit_arena_get_mark(&l->rt->step);
    dit_status st = embed(l, prefix, timestep, width, out);
    dit_arena_release_to(&l->rt->step, mark);
    return st;
}

dit_status vae_timestep_modulate(const vae_loader *l, const char *name, int64_t rows, int64_t width,
                                 const float *embedded, const float **out)
{
    float *sum;
    int64_t values = rows * width;
    DIT_TRY(dit_arena_fp32(&l->rt->run, values, &sum));
    DIT_TRY(dit_weights_read(l->rt, l->weights, name, 2, (int64_t[2]){rows, width}, DIT_INIT_TABLE, sum));
    for (int64_t i = 0; i < dit_runtime_values(l->rt, values); i++) sum[i] += embedded[i];
    *out = sum;
    return dit_runtime_upload(l->rt, sum, values);
}
