#include "engine/vae/ltx_blocks.h"

#include "engine/vae/decode_timestep.h"

#include <stdio.h>
#include <string.h>

enum {
    NAME = 192,
    NOISE_CHANNELS = 8, /* of the noise, all but one zeros: lines keep the alignment that devices want */
};
static const float RMS_EPS = 1e-8f;
static const int64_t kernel[3] = {3, 3, 3};

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Packs one column of scales, one for each channel. */
static dit_status load_noise(const vae_loader *l, const char *name, int64_t channels, dit_linear *noise)
{
    float *scales, *weights;
    dit_runtime *rt = l->rt;
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    DIT_TRY(dit_arena_host(&rt->step, channels, &scales));
    DIT_TRY(dit_arena_host(&rt->step, channels * NOISE_CHANNELS, &weights));
    DIT_TRY(dit_weights_read(rt, l->weights, name, 3, (int64_t[3]){channels, 1, 1}, DIT_INIT_BIAS, scales));
    for (int64_t i = 0; i < dit_runtime_values(rt, channels * NOISE_CHANNELS); i++)
        weights[i] = i % NOISE_CHANNELS ? 0 : scales[i / NOISE_CHANNELS];
    DIT_TRY(rt->kernels->linear_pack(rt->pool, &rt->run, NOISE_CHANNELS, 1, (const float *const[]){weights}, NULL,
                                     &channels, noise));
    dit_arena_release_to(&rt->step, mark);
    return DIT_OK;
}

static dit_status load_shortcut(const vae_loader *l, const char *prefix, int64_t in, int64_t out, ltx_resnet *resnet)
{
    char name[NAME];
    resnet->has_shortcut = in != out;
    if (!resnet->has_shortcut) return DIT_OK;
    snprintf(name, sizeof name, "%.120s.norm3.weight", prefix);
    DIT_TRY(dit_weights_load(l->rt, l->weights, name, 1, &in, DIT_INIT_NORM, &resnet->weight));
    snprintf(name, sizeof name, "%.120s.norm3.bias", prefix);
    DIT_TRY(dit_weights_load(l->rt, l->weights, name, 1, &in, DIT_INIT_BIAS, &resnet->bias));
    return dit_weights_linear_named(l->rt, l->weights, out, in, &resnet->shortcut, "%s.conv_shortcut.conv", prefix);
}

dit_status ltx_load_resnet(const ltx_module *module, const char *prefix, int64_t in, int64_t out, ltx_resnet *resnet)
{
    char name[NAME];
    const vae_loader *l = module->l;
    DIT_TRY(vae_load_conv(l, in, out, kernel, &resnet->conv1, "%s.conv1.conv", prefix));
    DIT_TRY(vae_load_conv(l, out, out, kernel, &resnet->conv2, "%s.conv2.conv", prefix));
    DIT_TRY(load_shortcut(l, prefix, in, out, resnet));
    resnet->noisy = module->noisy;
    snprintf(name, sizeof name, "%.120s.per_channel_scale1", prefix);
    if (resnet->noisy) DIT_TRY(load_noise(l, name, in, &resnet->noise1));
    snprintf(name, sizeof name, "%.120s.per_channel_scale2", prefix);
    if (resnet->noisy) DIT_TRY(load_noise(l, name, in, &resnet->noise2));
    snprintf(name, sizeof name, "%.120s.scale_shift_table", prefix);
    if (!module->embedded) return DIT_OK;
    return vae_timestep_modulate(l, name, LTX_MODULATIONS, in, module->embedded, &resnet->modulation);
}

dit_status ltx_load_chain(const ltx_module *module, const char *prefix, int64_t width, int64_t count, ltx_chain *chain)
{
    char name[NAME];
    void *resnets;
    DIT_TRY(dit_arena_alloc(&module->l->rt->run, count * (int64_t)sizeof *chain->resnets, &resnets));
    chain->resnets = resnets, chain->count = count;
    for (int64_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%.120s.resnets.%lld", prefix, (long long)i);
        DIT_TRY(ltx_load_resnet(module, name, width, width, &chain->resnets[i]));
    }
    return DIT_OK;
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

vae_tensor ltx_norm_forward(const ltx_walk *w, const float *modulation, vae_tensor x, int to)
{
    vae_memory *m = w->walk.memory;
    vae_tensor y = x;
    y.slot = to;
    int64_t rows = vae_tensor_positions(&x), C = x.channels;
    dit_norm_args args = {.kind = DIT_NORM_RMS, .rows = rows, .C = C, .ldx = C, .ldy = C, .eps = RMS_EPS};
    args.x = vae_tensor_data(m, &x), args.y = vae_tensor_data(m, &y);
    if (modulation) args.shift = modulation, args.scale = modulation + C;
    if (m->planning) return y;
    ops_norm(m->rt, &args);
    ops_activate(m->rt, &(dit_activate_args){rows * C, args.y, args.y, DIT_ACT_SILU});
    return y;
}

/* Draws one value for each row and column of a whole frame of x, and puts those of this rank's rows into VAE_SLOT_FIELD. */
static vae_tensor draw_noise(ltx_walk *w, vae_tensor x)
{
    const vae_bands *b = &w->vae->bands;
    vae_memory *memory = w->walk.memory;
    vae_tensor field = {VAE_SLOT_FIELD, 1, x.height, x.width, NOISE_CHANNELS, x.band};
    int64_t height = x.band ? x.height / b->rows * b->all_rows : x.height,
            first = x.band ? x.height / b->rows * b->first : 0;
    float *data = vae_tensor_data(memory, &field);
    if (memory->planning) {
        if (height * x.width > w->noise->floats) w->noise->floats = height * x.width;
        return field;
    }
    int64_t values = dit_runtime_values(memory->rt, x.height * x.width);
    if (values) dit_torch_randn(&w->vae->generator, height * x.width, w->noise->values);
    if (values) memset(data, 0, (size_t)(values * NOISE_CHANNELS) * sizeof *data);
    for (int64_t i = 0; i < values; i++) data[i * NOISE_CHANNELS] = w->noise->values[first * x.width + i];
    dit_status st = dit_runtime_upload(memory->rt, data, x.height * x.width * NOISE_CHANNELS);
    DIT_KEEP_FIRST(w->status, st);
    return field;
}

static void add_noise(ltx_walk *w, const dit_linear *scales, vae_tensor x)
{
    vae_tensor field = draw_noise(w, x), frame = x;
    int64_t floats = x.height * x.width * x.channels;
    float *to = vae_tensor_data(w->walk.memory, &frame);
    const float *from = vae_tensor_data(w->walk.memory, &field);
    for (int64_t t = 0; t < x.frames && !w->walk.memory->planning; t++)
        ops_linear(w->walk.memory->rt, &(dit_linear_args){.weights = scales,
                                                          .rows = x.height * x.width,
                                                          .x = from,
                                                          .ldx = NOISE_CHANNELS,
                                                          .y = to + t * floats,
                                                          .ldy = x.channels,
                                                          .residual = to + t * floats});
}

/* Leads x around a block that changes its width. */
static vae_tensor shortcut(const ltx_walk *w, const ltx_resnet *r, vae_tensor x, int by, int to)
{
    vae_memory *m = w->walk.memory;
    vae_tensor normed = x;
    normed.slot = by;
    dit_norm_args args = {.kind = DIT_NORM_LAYER, .rows = vae_tensor_positions(&x), .C = x.channels, .ldx = x.channels};
    args.ldy = x.channels, args.eps = w->eps, args.weight = r->weight, args.bias = r->bias;
    args.x = vae_tensor_data(m, &x), args.y = vae_tensor_data(m, &normed);
    if (!m->planning) ops_norm(m->rt, &args);
    return vae_linear_forward(&w->walk, &r->shortcut, normed, to);
}

vae_tensor ltx_resnet_forward(ltx_walk *w, ltx_resnet *r, vae_tensor x)
{
    const float *second = r->modulation ? r->modulation + 2 * x.channels : NULL;
    int a = vae_other_slot(x.slot, -1), b = vae_other_slot(x.slot, a);
    vae_tensor sum = r->has_shortcut ? shortcut(w, r, x, a, b) : x;
    vae_tensor hidden = ltx_norm_forward(w, r->modulation, x, r->has_shortcut ? x.slot : a);
    hidden = vae_conv_forward(&w->walk, &r->conv1, VAE_CONV_PLAIN, hidden, r->has_shortcut ? a : b);
    if (r->noisy) add_noise(w, &r->noise1, hidden);
    hidden = ltx_norm_forward(w, second, hidden, hidden.slot);
    vae_conv_add(&w->walk, &r->conv2, hidden, sum);
    if (r->noisy) add_noise(w, &r->noise2, sum);
    return sum;
}

vae_tensor ltx_chain_forward(ltx_walk *w, const ltx_chain *chain, vae_tensor x)
{
    for (int64_t i = 0; i < chain->count; i++) x = ltx_resnet_forward(w, &chain->resnets[i], x);
    return x;
}
