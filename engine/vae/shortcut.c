#include "engine/vae/shortcut.h"

#include "engine/models/layers.h"

#include <string.h>

static int64_t places(const vae_shortcut *s)
{
    return s->time * s->space * s->space;
}

/* Weights [out, in] of a place: which channel it takes, or its part in means. */
static void fill(const vae_shortcut *s, int64_t in, int64_t place, float *weights)
{
    int64_t cell = places(s);
    memset(weights, 0, (size_t)(s->out * in) * sizeof *weights);
    for (int64_t c = 0; s->down && c < in; c++) {
        int64_t group = in * cell / s->out;
        weights[(c * cell + place) / group * in + c] = 1.0f / (float)group;
    }
    for (int64_t o = 0; !s->down && o < s->out; o++) weights[o * in + (o * cell + place) * in / (s->out * cell)] = 1;
}

dit_status vae_make_shortcut(const vae_loader *l, int64_t in, int64_t out, int64_t time, int64_t space, bool down,
                             vae_shortcut *s)
{
    dit_runtime *rt = l->rt;
    float *weights;
    *s = (vae_shortcut){.out = out, .time = time, .space = space, .down = down};
    int64_t cell = places(s);
    if (down ? in * cell % out : out * cell % in)
        return DIT_FAIL(DIT_ERR_SHAPE, "a stage of %lld channels cannot be led around to %lld", (long long)in,
                        (long long)out);
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    dit_status st = dit_arena_host(&rt->step, out * in, &weights);
    for (int64_t place = 0; place < cell && st == DIT_OK; place++) {
        if (dit_runtime_values(rt, out * in)) fill(s, in, place, weights);
        st = rt->kernels->linear_pack(rt->pool, &rt->run, in, 1, (const float *const[]){weights}, NULL, &out,
                                      &s->place[place]);
    }
    dit_arena_release_to(&rt->step, mark);
    return st;
}

vae_tensor vae_shortcut_keep(const vae_walk *walk, vae_tensor x)
{
    vae_memory *m = walk->memory;
    vae_tensor kept = x;
    kept.slot = VAE_SLOT_LATENT;
    float *to = vae_tensor_data(m, &kept);
    if (!m->planning) dit_runtime_copy(m->rt, vae_tensor_data(m, &x), vae_tensor_positions(&x) * x.channels, to);
    return kept;
}

/* Rows and columns of one frame of a grid, from a place of its cells on: every `step`th in both directions. */
static dit_rows every(float *frame, const vae_tensor *x, int64_t row, int64_t column, int64_t step)
{
    return (dit_rows){.data = frame + (row * x->width + column) * x->channels,
                      .batch = x->height / step,
                      .rows = x->width / step,
                      .cols = x->channels,
                      .ld = step * x->channels,
                      .stride = step * x->width * x->channels};
}

/* y += the kept x, or with `fresh`, where s leads down, y = it. */
static void bring(const vae_walk *walk, const vae_shortcut *s, vae_tensor kept, bool begins, bool fresh, vae_tensor y)
{
    vae_memory *m = walk->memory;
    float *from = vae_tensor_data(m, &kept), *to = vae_tensor_data(m, &y);
    const vae_tensor *coarse = s->down ? &y : &kept, *fine = s->down ? &kept : &y;
    int64_t missing = begins ? s->time - 1 : 0; /* frames of the first cell that no chunk has */
    if (m->planning) return;
    for (int64_t i = 0; i < coarse->frames * places(s); i++) {
        int64_t cell = i / places(s), place = i % places(s), in_space = place % (s->space * s->space);
        int64_t frame = cell * s->time + place / (s->space * s->space) - missing;
        if (frame < 0) continue;
        float *near = (s->down ? to : from) + cell * coarse->height * coarse->width * coarse->channels;
        float *far = (s->down ? from : to) + frame * fine->height * fine->width * fine->channels;
        dit_rows at = every(near, coarse, 0, 0, 1);
        dit_rows spread = every(far, fine, in_space / s->space, in_space % s->space, s->space);
        if (fresh && !place)
            layer_linear(m->rt, &s->place[place], spread, at, DIT_ACT_NONE);
        else
            layer_linear_add(m->rt, &s->place[place], s->down ? spread : at, s->down ? at : spread, NULL, 0);
    }
}

void vae_shortcut_add(const vae_walk *walk, const vae_shortcut *s, vae_tensor kept, bool begins, vae_tensor y)
{
    bring(walk, s, kept, begins, false, y);
}

vae_tensor vae_shortcut_reduce(const vae_walk *walk, const vae_shortcut *s, vae_tensor x, int to)
{
    vae_tensor y = {to, x.frames / s->time, x.height / s->space, x.width / s->space, s->out, x.band};
    bring(walk, s, x, false, true, y);
    return y;
}

/* ---- cells whose place is slowest -------------------------------------------------------------------------------- */

static void fill_cells(const vae_shortcut *s, int64_t in, int64_t place, float *weights)
{
    int64_t all = in * places(s), group = s->out < all ? all / s->out : 1;
    memset(weights, 0, (size_t)(s->out * in) * sizeof *weights);
    for (int64_t o = 0; o < s->out; o++)
        for (int64_t c = 0; c < in; c++)
            if ((place * in + c) / group == o % all) weights[o * in + c] = 1.0f / (float)group;
}

dit_status vae_make_cells(const vae_loader *l, int64_t in, int64_t out, int64_t time, vae_shortcut *s)
{
    dit_runtime *rt = l->rt;
    float *weights;
    *s = (vae_shortcut){.out = out, .time = time, .space = 2, .down = true};
    int64_t all = in * places(s);
    if (out < 1 || (all % out && out != 2 * all))
        return DIT_FAIL(DIT_ERR_SHAPE, "cells of %lld values cannot become %lld channels", (long long)all,
                        (long long)out);
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    dit_status st = dit_arena_host(&rt->step, out * in, &weights);
    for (int64_t place = 0; place < places(s) && st == DIT_OK; place++) {
        if (dit_runtime_values(rt, out * in)) fill_cells(s, in, place, weights);
        st = rt->kernels->linear_pack(rt->pool, &rt->run, in, 1, (const float *const[]){weights}, NULL, &out,
                                      &s->place[place]);
    }
    dit_arena_release_to(&rt->step, mark);
    return st;
}

void vae_cells_bring(const vae_walk *walk, const vae_shortcut *s, vae_tensor x, int64_t first, bool fresh, vae_tensor y,
                     int64_t at, int64_t count)
{
    vae_memory *m = walk->memory;
    float *from = vae_tensor_data(m, &x), *to = vae_tensor_data(m, &y);
    if (m->planning) return;
    for (int64_t i = 0; i < count * places(s); i++) {
        int64_t cell = i / places(s), place = i % places(s), in_space = place % (s->space * s->space);
        int64_t frame = first + cell * s->time + place / (s->space * s->space);
        dit_rows rows = every(to + (at + cell) * y.height * y.width * y.channels, &y, 0, 0, 1);
        dit_rows spread = every(from + frame * x.height * x.width * x.channels, &x, in_space / s->space,
                                in_space % s->space, s->space);
        if (fresh && !place)
            layer_linear(m->rt, &s->place[place], spread, rows, DIT_ACT_NONE);
        else
            layer_linear_add(m->rt, &s->place[place], spread, rows, NULL, 0);
    }
}
