#include "engine/sampling/branch_oracle.h"

#include <math.h>

struct dit_branch_oracle {
    dit_sampler *sampler;
    float *negative, *positive; /* outputs of this step, [planes][height][width]: images, channels, frames       */
    float *beyond, *low;        /* negative - positive of the newest step of both, and its low frequencies        */
    float *tokens;              /* [images, rows, channels]: what lies between planes and outputs                 */
    double *kernel;             /* [height][width]: a plane's convolution with it, around the edges, is its low
                                   frequencies                                                                    */
    double low_weight, high_weight;
};

/* The inverse transform of a disc of ones. */
static void make_kernel(const dit_latent *latent, double *kernel)
{
    const double two_pi = 2 * acos(-1.0);
    int64_t H = latent->height, W = latent->width, radius = (H < W ? H : W) / 5;
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            double sum = 0;
            for (int64_t ky = -radius; ky <= radius; ky++)
                for (int64_t kx = -radius; kx <= radius; kx++)
                    if (kx * kx + ky * ky <= radius * radius)
                        sum += cos(two_pi * ((double)(ky * y) / (double)H + (double)(kx * x) / (double)W));
            kernel[y * W + x] = sum / (double)(H * W);
        }
}

static int64_t elements_of(const dit_sampler *s)
{
    return s->partition.images * s->partition.image_count * s->channels;
}

dit_status dit_branch_oracle_create(dit_sampler *s, dit_branch_oracle **out)
{
    const dit_latent *latent = &s->model->params.latent;
    void *memory;
    DIT_TRY(dit_arena_alloc(&s->rt->run, sizeof(dit_branch_oracle), &memory));
    dit_branch_oracle *o = *out = memory;
    *o = (dit_branch_oracle){.sampler = s};
    if (!dit_cache_has_lone_steps(s->emulates_cache)) return DIT_OK;
    float **const arrays[] = {&o->negative, &o->positive, &o->beyond, &o->low, &o->tokens};
    for (int i = 0; i < 5; i++) DIT_TRY(dit_arena_host(&s->rt->image, elements_of(s), arrays[i]));
    DIT_TRY(dit_arena_alloc(&s->rt->image, latent->height * latent->width * (int64_t)sizeof(double), &memory));
    o->kernel = memory;
    make_kernel(latent, o->kernel);
    return DIT_OK;
}

/* ---- the rules, once more ---------------------------------------------------------------------------------------- */

bool dit_branch_oracle_leaves_out(const dit_branch_oracle *o, int step)
{
    const dit_cache *c = o->sampler->emulates_cache;
    double t = o->sampler->scheduler->timesteps[step];
    if (c->policy == DIT_CACHE_TGATE) return step >= c->gate;
    return c->unconditional > 0 && step > 0 && step % c->unconditional != 0 && c->lone_from < t && t < c->lone_to;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static void convolve(const dit_latent *latent, const double *kernel, const float *plane, float *out)
{
    int64_t H = latent->height, W = latent->width;
    for (int64_t i = 0; i < H * W; i++) {
        double sum = 0;
        for (int64_t j = 0; j < H * W; j++) {
            int64_t dy = (i / W - j / W + H) % H, dx = (i % W - j % W + W) % W;
            sum += kernel[dy * W + dx] * plane[j];
        }
        out[i] = (float)sum;
    }
}

/* Copies the latent's channels between a branch's rows of the output and planes. */
static void take(const dit_branch_oracle *o, int64_t branch, float *planes, bool back)
{
    const dit_sampler *s = o->sampler;
    const dit_latent *latent = &s->model->params.latent;
    int64_t rows = s->partition.images * s->partition.image_count, width = s->model->output_channels;
    float *output = s->output + branch * rows * width;
    if (back) dit_latent_pack(latent, DIT_LATENT_CFHW, s->partition.images, latent->channels, planes, o->tokens);
    for (int64_t i = 0; i < rows * s->channels; i++) {
        float *at = output + i / s->channels * width + i % s->channels;
        *(back ? at : o->tokens + i) = *(back ? o->tokens + i : at);
    }
    if (!back) dit_latent_unpack(latent, DIT_LATENT_CFHW, s->partition.images, latent->channels, o->tokens, planes);
}

/* Notes how the branches of a step differ, and begins anew to count the steps without the negative one. */
static void remember(dit_branch_oracle *o)
{
    const dit_latent *latent = &o->sampler->model->params.latent;
    int64_t elements = elements_of(o->sampler), plane = latent->height * latent->width;
    for (int64_t i = 0; i < elements; i++) o->beyond[i] = o->negative[i] - o->positive[i];
    for (int64_t i = 0; i < elements; i += plane) convolve(latent, o->kernel, o->beyond + i, o->low + i);
    o->low_weight = o->high_weight = 1;
}

static void replace(dit_branch_oracle *o, int step)
{
    bool same = o->sampler->emulates_cache->policy == DIT_CACHE_TGATE;
    double t = o->sampler->scheduler->timesteps[step];
    if (99 < t && t < 901) o->low_weight *= 1.1;
    if (-1 < t && t < 301) o->high_weight *= 1.1;
    for (int64_t i = 0; i < elements_of(o->sampler); i++) {
        double low = o->low[i], high = (double)o->beyond[i] - low;
        double beyond = same ? 0 : o->low_weight * low + o->high_weight * high;
        o->negative[i] = (float)((double)o->positive[i] + beyond);
    }
    take(o, 0, o->negative, true);
}

dit_status dit_branch_oracle_replace(dit_branch_oracle *o, int step)
{
    const dit_sampler *s = o->sampler;
    int64_t all = 2 * s->partition.images * s->partition.image_count * s->model->output_channels;
    if (!dit_cache_has_lone_steps(s->emulates_cache)) return DIT_OK;
    DIT_TRY(dit_runtime_download(s->rt, s->output, all));
    if (s->rt->ledger.counting_only) return DIT_OK;
    take(o, 0, o->negative, false);
    take(o, 1, o->positive, false);
    if (!dit_branch_oracle_leaves_out(o, step)) {
        remember(o);
        return DIT_OK;
    }
    replace(o, step);
    return dit_runtime_upload(s->rt, s->output, all);
}
