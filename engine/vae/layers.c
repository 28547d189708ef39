#include "engine/vae/layers.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PREFIX = 160, NAME = 192 };
static const float NORM_EPS = 1e-6f;   /* of group norms; norm_eps of configs is for other layers */
static const float RMS_FLOOR = 1e-24f; /* PyTorch's normalize divides by at least 1e-12 */

/* ---- memory ------------------------------------------------------------------------------------------------------ */

int64_t vae_tensor_positions(const vae_tensor *x)
{
    return x->frames * x->height * x->width;
}

float *vae_tensor_data(vae_memory *m, const vae_tensor *x)
{
    int64_t floats = vae_tensor_positions(x) * x->channels;
    if (m->planning && floats > m->floats[x->slot]) m->floats[x->slot] = floats;
    assert(floats <= m->floats[x->slot]);
    return m->slot[x->slot];
}

dit_status vae_memory_allocate(vae_memory *m)
{
    for (int i = 0; i < VAE_SLOTS; i++) DIT_TRY(dit_arena_activations(&m->rt->step, m->floats[i], &m->slot[i]));
    DIT_TRY(dit_arena_activations(&m->rt->step, m->zero_floats, &m->zeros));
    for (int64_t i = 0; i < dit_runtime_values(m->rt, m->zero_floats); i++) m->zeros[i] = 0;
    if (m->zero_floats) DIT_TRY(dit_runtime_upload(m->rt, m->zeros, m->zero_floats));
    int64_t doubles = (m->workspace_bytes + (int64_t)sizeof(double) - 1) / (int64_t)sizeof(double);
    return dit_arena_array(&m->rt->step, doubles, DIT_DTYPE_FP64, &m->workspace);
}

int vae_other_slot(int a, int b)
{
    int slot = 0;
    while (slot == a || slot == b) slot++;
    return slot;
}

dit_status vae_conv_allocate(vae_relay *relay, vae_conv *conv)
{
    return conv->cache_floats ? dit_arena_activations(&relay->rt->step, conv->cache_floats, &conv->cache) : DIT_OK;
}

dit_status vae_conv_forget(vae_relay *relay, vae_conv *conv)
{
    (void)relay;
    conv->cached = false;
    return DIT_OK;
}

dit_status vae_conv_settle(vae_relay *relay, vae_conv *conv)
{
    vae_relay_settle(relay, &conv->passing);
    return DIT_OK;
}

dit_status vae_resnets_visit(vae_relay *relay, vae_resnet *resnets, int64_t count, vae_conv_visitor visit)
{
    for (int64_t i = 0; i < count; i++) {
        DIT_TRY(visit(relay, &resnets[i].conv1));
        DIT_TRY(visit(relay, &resnets[i].conv2));
    }
    return DIT_OK;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Returns the stored row of a packed one. */
static int64_t stored_row(const vae_loader *l, int64_t row, int64_t rows)
{
    int64_t places = l->places ? l->places : 1, channels = rows / places;
    return row % channels * places + row / channels;
}

/* Reorders [out, in, taps] to [out, taps, in]: channels fastest, as in activations. */
static void channels_last(const vae_loader *l, const float *stored, int64_t out, int64_t in, int64_t taps,
                          float *weights)
{
    for (int64_t o = 0; o < out; o++)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t i = 0; i < in; i++) *weights++ = stored[(stored_row(l, o, out) * in + i) * taps + tap];
}

static dit_status load_conv(const vae_loader *l, const char *prefix, vae_conv *conv)
{
    char name[NAME];
    int64_t taps = conv->kernel[0] * conv->kernel[1] * conv->kernel[2], k = conv->in * taps;
    float *stored, *weights, *bias, *placed;
    dit_arena_mark mark = dit_arena_get_mark(&l->rt->step);
    DIT_TRY(dit_arena_host(&l->rt->step, conv->out * k, &stored));
    DIT_TRY(dit_arena_host(&l->rt->step, conv->out * k, &weights));
    DIT_TRY(dit_arena_host(&l->rt->step, conv->out, &bias));
    DIT_TRY(dit_arena_host(&l->rt->step, conv->out, &placed));
    snprintf(name, sizeof name, "%s.weight", prefix);
    DIT_TRY(dit_weights_read(l->rt, l->weights, name, 2, (int64_t[2]){conv->out, k}, DIT_INIT_LINEAR, stored));
    snprintf(name, sizeof name, "%s.bias", prefix);
    if (!l->unbiased) DIT_TRY(dit_weights_read(l->rt, l->weights, name, 1, &conv->out, DIT_INIT_BIAS, bias));
    if (!l->rt->ledger.counting_only) channels_last(l, stored, conv->out, conv->in, taps, weights);
    for (int64_t i = 0; i < dit_runtime_values(l->rt, conv->out) && !l->unbiased; i++)
        placed[i] = bias[stored_row(l, i, conv->out)];
    const float *w[1] = {weights}, *b[1] = {placed};
    DIT_TRY(l->rt->kernels->linear_pack(l->rt->pool, &l->rt->run, k, 1, w, l->unbiased ? NULL : b, &conv->out,
                                        &conv->weights));
    dit_arena_release_to(&l->rt->step, mark);
    return DIT_OK;
}

dit_status vae_load_conv(const vae_loader *l, int64_t in, int64_t out, const int64_t kernel[3], vae_conv *conv,
                         const char *format, ...)
{
    char prefix[PREFIX];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    *conv = (vae_conv){.in = in, .out = out, .kernel = {kernel[0], kernel[1], kernel[2]}};
    conv->front = kernel[0] - 1, conv->step = 1;
    if (l->centred) conv->front = conv->back = kernel[0] / 2;
    conv->zeros = l->zeros, conv->replicate = l->replicate;
    return load_conv(l, prefix, conv);
}

dit_status vae_load_causal_conv(const vae_loader *l, int64_t in, int64_t out, vae_conv *conv, const char *prefix)
{
    int64_t kernel[3] = {l->depth, 3, 3};
    return vae_load_conv(l, in, out, kernel, conv, "%s%s", prefix, l->inside ? l->inside : "");
}

static dit_status load_rms_norm(const vae_loader *l, int64_t channels, vae_norm *norm, const char *prefix)
{
    char name[NAME];
    *norm = (vae_norm){.channels = channels};
    snprintf(name, sizeof name, "%s.gamma", prefix);
    return dit_weights_load(l->rt, l->weights, name, 2, (int64_t[2]){channels, 1}, DIT_INIT_NORM, &norm->weight);
}

dit_status vae_load_norm(const vae_loader *l, int64_t channels, vae_norm *norm, const char *prefix)
{
    if (!l->groups) return load_rms_norm(l, channels, norm, prefix);
    char name[NAME], scale[NAME], shift[NAME];
    const char *inner = l->condition ? ".norm_layer" : l->norm_inside ? l->norm_inside : "";
    *norm = (vae_norm){.channels = channels, .groups = l->groups, .conditioned = l->condition > 0};
    norm->eps = l->norm_eps > 0 ? l->norm_eps : NORM_EPS, norm->framewise = l->framewise;
    if (channels % l->groups)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s: %lld channels do not divide into norm_num_groups %lld", prefix,
                        (long long)channels, (long long)l->groups);
    snprintf(name, sizeof name, "%s%s.weight", prefix, inner);
    DIT_TRY(dit_weights_load(l->rt, l->weights, name, 1, &channels, DIT_INIT_NORM, &norm->weight));
    snprintf(name, sizeof name, "%s%s.bias", prefix, inner);
    DIT_TRY(dit_weights_load(l->rt, l->weights, name, 1, &channels, DIT_INIT_BIAS, &norm->bias));
    if (!norm->conditioned) return DIT_OK;
    snprintf(scale, sizeof scale, "%s.conv_y.conv", prefix);
    snprintf(shift, sizeof shift, "%s.conv_b.conv", prefix);
    dit_linear_part parts[2] = {{.prefix = scale, .rows = channels}, {.prefix = shift, .rows = channels}};
    return dit_weights_linear(l->rt, l->weights, parts, 2, l->condition, NULL, &norm->field);
}

dit_status vae_load_resnet(const vae_loader *l, int64_t in, int64_t out, vae_resnet *resnet, const char *format, ...)
{
    char prefix[PREFIX - 16], name[PREFIX];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    snprintf(name, sizeof name, "%s.norm1", prefix);
    DIT_TRY(vae_load_norm(l, in, &resnet->norm1, name));
    snprintf(name, sizeof name, "%s.conv1", prefix);
    DIT_TRY(vae_load_causal_conv(l, in, out, &resnet->conv1, name));
    snprintf(name, sizeof name, "%s.norm2", prefix);
    DIT_TRY(vae_load_norm(l, out, &resnet->norm2, name));
    snprintf(name, sizeof name, "%s.conv2", prefix);
    DIT_TRY(vae_load_causal_conv(l, out, out, &resnet->conv2, name));
    resnet->has_shortcut = in != out;
    if (!resnet->has_shortcut) return DIT_OK;
    return dit_weights_linear_named(l->rt, l->weights, out, in, &resnet->shortcut, "%s.conv_shortcut%s", prefix,
                                    l->shortcut_at ? l->shortcut_at : "");
}

/* Loads attention. Files from before diffusers 0.12 call the projections query, key, value and proj_attn. */
dit_status vae_load_attention(const vae_loader *l, int64_t channels, vae_attention *attention, const char *prefix)
{
    static const char *const current[4] = {"to_q", "to_k", "to_v", "to_out.0"};
    static const char *const before[4] = {"query", "key", "value", "proj_attn"};
    char name[4][NAME];
    dit_tensor_view view;
    snprintf(name[0], NAME, "%s.query.weight", prefix);
    bool old = l->weights->file && dit_safetensors_find(l->weights->file, name[0], &view);
    snprintf(name[0], NAME, "%s.group_norm", prefix);
    DIT_TRY(vae_load_norm(l, channels, &attention->norm, name[0]));
    for (int i = 0; i < 4; i++) snprintf(name[i], NAME, "%s.%s", prefix, old ? before[i] : current[i]);
    dit_linear_part parts[3] = {{.prefix = name[0], .rows = channels},
                                {.prefix = name[1], .rows = channels},
                                {.prefix = name[2], .rows = channels}};
    DIT_TRY(dit_weights_linear(l->rt, l->weights, parts, 3, channels, NULL, &attention->qkv));
    return dit_weights_linear_named(l->rt, l->weights, channels, channels, &attention->out, "%s", name[3]);
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

/* y = x W^T + b, or with `add` y += x W^T + b. */
static void apply_linear(const vae_walk *walk, const dit_linear *linear, vae_tensor x, vae_tensor y, bool add)
{
    vae_memory *m = walk->memory;
    float *to = vae_tensor_data(m, &y);
    const float *from = vae_tensor_data(m, &x);
    if (m->planning) return;
    ops_linear(m->rt, &(dit_linear_args){.weights = linear,
                                         .rows = vae_tensor_positions(&x),
                                         .x = from,
                                         .ldx = x.channels,
                                         .y = to,
                                         .ldy = y.channels,
                                         .residual = add ? to : NULL});
}

vae_tensor vae_linear_forward(const vae_walk *walk, const dit_linear *linear, vae_tensor x, int to)
{
    vae_tensor y = x;
    y.slot = to;
    y.channels = linear->n;
    apply_linear(walk, linear, x, y, false);
    return y;
}

void vae_linear_add(const vae_walk *walk, const dit_linear *linear, vae_tensor x, vae_tensor y)
{
    apply_linear(walk, linear, x, y, true);
}

/* Copies lines of `channels` floats, dense. */
static void copy_lines(const vae_walk *walk, const float *from, int64_t lines, int64_t channels, float *to)
{
    ops_copy(walk->memory->rt, &(dit_copy_args){.n0 = 1,
                                                .n1 = 1,
                                                .n2 = lines,
                                                .inner = channels,
                                                .src = from,
                                                .src_stride = {0, 0, channels},
                                                .dst = to,
                                                .dst_stride = {0, 0, channels}});
}

static void zero_lines(const vae_walk *walk, int64_t lines, int64_t channels, float *to)
{
    ops_copy(walk->memory->rt, &(dit_copy_args){.n0 = 1,
                                                .n1 = 1,
                                                .n2 = lines,
                                                .inner = channels,
                                                .src = walk->memory->zeros,
                                                .dst = to,
                                                .dst_stride = {0, 0, channels}});
}

/* Notes how large a convolution's cache gets, and the zeros that may fill it. */
static void plan_cache(vae_memory *m, vae_conv *conv, const vae_tensor *x)
{
    int64_t row = x->width * x->channels, edges = x->band && conv->kernel[1] > 1 ? 2 * row : 0;
    int64_t floats = conv->front * (x->height * row + edges);
    if (floats > conv->cache_floats) conv->cache_floats = floats;
    if (conv->zeros && x->channels > m->zero_floats) m->zero_floats = x->channels;
}

/* Puts the last frames of x at the end of the cache. Where x has too few, frames lie before them that the cache held, or what lies
 * before the first chunk: zeros, or its first frame again. */
static void shift_cache(const vae_walk *walk, vae_conv *conv, const vae_tensor *x, const float *from)
{
    int64_t kept = conv->front, fresh = x->frames < kept ? x->frames : kept, old = kept - fresh;
    int64_t lines = x->height * x->width, frame = lines * x->channels;
    assert(old <= fresh || !conv->cached); /* what is copied within the cache does not overlap */
    if (old && conv->cached) copy_lines(walk, conv->cache + fresh * frame, old * lines, x->channels, conv->cache);
    if (old && !conv->cached && conv->zeros) zero_lines(walk, old * lines, x->channels, conv->cache);
    for (int64_t i = 0; i < old && !conv->cached && !conv->zeros; i++)
        copy_lines(walk, from, lines, x->channels, conv->cache + i * frame);
    copy_lines(walk, from + (x->frames - fresh) * frame, fresh * lines, x->channels, conv->cache + old * frame);
}

/* Keeps the last frames of this chunk for the next one; for a band also the rows next to them, which are in `args`. */
static void keep_frames(const vae_walk *walk, vae_conv *conv, const vae_tensor *x, const dit_conv_args *args)
{
    int64_t kept = conv->front, row = x->width * x->channels, frame = x->height * row;
    if (walk->memory->planning) {
        plan_cache(walk->memory, conv, x);
        return;
    }
    float *edges = conv->cache + kept * frame;
    shift_cache(walk, conv, x, args->x);
    if (args->above) copy_lines(walk, args->above + x->frames * row, kept * x->width, x->channels, edges);
    if (args->below) copy_lines(walk, args->below + x->frames * row, kept * x->width, x->channels, edges + kept * row);
    conv->cached = true;
}

/* Fills the first rows of one edge [front + frames, row], which belong to the frames before: rows that were kept, zeros,
 * or the first frame's row, repeated. */
static void fill_edge_front(const vae_walk *walk, const vae_conv *conv, const vae_tensor *x, const float *kept,
                            float *edge)
{
    int64_t front = conv->front, row = x->width * x->channels;
    if (conv->cached)
        copy_lines(walk, kept, front * x->width, x->channels, edge);
    else if (conv->zeros)
        zero_lines(walk, front * x->width, x->channels, edge);
    else
        for (int64_t i = 0; i < front; i++) copy_lines(walk, edge + front * row, x->width, x->channels, edge + i * row);
}

/* Fetches the rows next to a band, for a convolution that sees them. */
static void exchange_edges(const vae_walk *walk, const vae_conv *conv, const vae_tensor *x, dit_conv_args *args)
{
    vae_bands *b = walk->bands;
    int64_t front = conv->front, row = x->width * x->channels, all = front + x->frames + conv->back;
    bool above, below;
    if (walk->memory->planning) {
        if (all * row > b->edge_floats) b->edge_floats = all * row;
        if (conv->zeros && x->channels > walk->memory->zero_floats) walk->memory->zero_floats = x->channels;
        return;
    }
    vae_bands_exchange(b, args->x, x->frames, x->height, row, front, &above, &below);
    const float *kept = conv->cached ? conv->cache + front * x->height * row : NULL;
    if (above) fill_edge_front(walk, conv, x, kept, b->above);
    if (below) fill_edge_front(walk, conv, x, kept ? kept + front * row : NULL, b->below);
    for (int64_t i = all - conv->back; i < all; i++) { /* as repeat_last does it with whole frames */
        if (above) copy_lines(walk, b->above + (i - 1) * row, x->width, x->channels, b->above + i * row);
        if (below) copy_lines(walk, b->below + (i - 1) * row, x->width, x->channels, b->below + i * row);
    }
    args->above = above ? b->above : NULL;
    args->below = below ? b->below : NULL;
}

static int64_t kept_floats(const vae_conv *conv, const vae_tensor *x)
{
    return conv->front * x->height * x->width * x->channels;
}

/* True if what causal convolutions keep goes from rank to rank. */
static bool is_relayed(const vae_walk *walk, const vae_conv *conv)
{
    return walk->relay && walk->relay->comm && conv->kernel[0] > 1 && !walk->memory->planning;
}

/* Takes what the convolution kept of the chunk before, which another rank has walked. */
static void take_kept(const vae_walk *walk, vae_conv *conv, const vae_tensor *x)
{
    if (!is_relayed(walk, conv)) return;
    conv->cached = walk->chunk > conv->first_chunk;
    if (conv->cached) vae_relay_take(walk->relay, &conv->passing, conv->cache, kept_floats(conv, x));
}

/* Repeats the last frame of x behind it, in x's own slot, and returns x with what is there. */
static vae_tensor repeat_last(const vae_walk *walk, const vae_conv *conv, vae_tensor x)
{
    vae_memory *m = walk->memory;
    vae_tensor longer = x;
    int64_t lines = x.height * x.width, frame = lines * x.channels;
    longer.frames += conv->back;
    float *data = vae_tensor_data(m, &longer);
    for (int64_t t = x.frames; t < longer.frames && !m->planning; t++)
        copy_lines(walk, data + (t - 1) * frame, lines, x.channels, data + t * frame);
    return longer;
}

/* y = conv(x), or with `add` y += conv(x). */
static void apply_conv(const vae_walk *walk, vae_conv *conv, vae_conv_kind kind, vae_tensor x, vae_tensor y, bool add)
{
    vae_memory *m = walk->memory;
    float *to = vae_tensor_data(m, &y);
    bool causal = conv->kernel[0] > 1;
    vae_tensor seen = repeat_last(walk, conv, x);
    const float *from = vae_tensor_data(m, &seen);
    take_kept(walk, conv, &x);
    dit_conv_args args = {.weights = &conv->weights, .frames = seen.frames, .height = x.height, .width = x.width};
    args.channels = x.channels, args.x = from, args.y = to, args.residual = add ? to : NULL;
    args.up = kind == VAE_CONV_UP ? 2 : 1, args.replicate = conv->replicate;
    args.stride[0] = conv->step, args.stride[1] = args.stride[2] = kind >= VAE_CONV_DOWN ? 2 : 1;
    memcpy(args.kernel, conv->kernel, sizeof args.kernel);
    args.padding[0] = conv->front;
    args.padding[1] = args.padding[2] = kind == VAE_CONV_DOWN ? 0 : conv->kernel[1] / 2;
    args.out[0] = y.frames, args.out[1] = y.height, args.out[2] = y.width;
    args.front = conv->cached ? conv->cache : conv->zeros ? NULL : from;
    args.front_frame = conv->cached ? x.height * x.width * x.channels : 0;
    if (x.band && conv->kernel[1] > 1) exchange_edges(walk, conv, &x, &args);
    if (!m->planning) ops_conv(m->rt, &args);
    if (causal && walk->keep) keep_frames(walk, conv, &x, &args);
    if (walk->keep && is_relayed(walk, conv))
        vae_relay_pass(walk->relay, &conv->passing, conv->cache, kept_floats(conv, &x));
}

void vae_conv_add(const vae_walk *walk, vae_conv *conv, vae_tensor x, vae_tensor y)
{
    apply_conv(walk, conv, VAE_CONV_PLAIN, x, y, true);
}

void vae_conv_keep(const vae_walk *walk, vae_conv *conv, vae_tensor x)
{
    dit_conv_args args = {.x = vae_tensor_data(walk->memory, &x)};
    if (walk->keep) keep_frames(walk, conv, &x, &args);
}

vae_tensor vae_conv_forward(const vae_walk *walk, vae_conv *conv, vae_conv_kind kind, vae_tensor x, int to)
{
    vae_tensor y = x;
    y.slot = to;
    y.channels = conv->out;
    y.frames = (x.frames + conv->front + conv->back - conv->kernel[0]) / conv->step + 1;
    if (kind == VAE_CONV_UP) y.height *= 2, y.width *= 2;
    if (kind >= VAE_CONV_DOWN) y.height /= 2, y.width /= 2;
    apply_conv(walk, conv, kind, x, y, false);
    return y;
}

/* Computes scale and shift of the norm at every latent position: a 1 x 1 convolution of the enlarged latents equals the
 * enlarged convolution of the latents. */
static vae_tensor make_field(const vae_walk *walk, const vae_norm *norm)
{
    return vae_linear_forward(walk, &norm->field, walk->latent, VAE_SLOT_FIELD);
}

/* x / max(|x|, 1e-12) * sqrt(channels) * weight, then the activation. */
static vae_tensor apply_rms_norm(const vae_walk *walk, const vae_norm *norm, dit_activation activation, vae_tensor x,
                                 int to)
{
    vae_memory *m = walk->memory;
    vae_tensor y = x;
    y.slot = to;
    int64_t rows = vae_tensor_positions(&x), C = x.channels;
    dit_norm_args args = {.kind = DIT_NORM_RMS, .rows = rows, .C = C, .ldx = C, .ldy = C, .weight = norm->weight};
    args.eps = RMS_FLOOR / (float)C;
    args.x = vae_tensor_data(m, &x), args.y = vae_tensor_data(m, &y);
    if (m->planning) return y;
    ops_norm(m->rt, &args);
    if (activation != DIT_ACT_NONE) ops_activate(m->rt, &(dit_activate_args){rows * C, args.y, args.y, activation});
    return y;
}

vae_tensor vae_norm_forward(const vae_walk *walk, const vae_norm *norm, dit_activation activation, vae_tensor x, int to)
{
    if (!norm->groups) return apply_rms_norm(walk, norm, activation, x, to);
    vae_memory *m = walk->memory;
    vae_tensor y = x;
    y.slot = to;
    int64_t apart = norm->framewise ? x.frames : 1; /* what is normalised together has x.frames / apart frames */
    int64_t bytes = dit_group_norm_workspace_bytes(apart, vae_tensor_positions(&x) / apart, x.channels, norm->groups);
    dit_group_norm_args args = {.batch = apart, .height = x.height, .width = x.width, .C = x.channels};
    args.frames = x.frames / apart;
    args.groups = norm->groups, args.weight = norm->weight, args.bias = norm->bias, args.eps = norm->eps;
    args.x = vae_tensor_data(m, &x), args.y = vae_tensor_data(m, &y);
    args.activation = activation;
    if (norm->conditioned) {
        vae_tensor field = make_field(walk, norm);
        args.scale = vae_tensor_data(m, &field);
        args.shift = args.scale ? args.scale + x.channels : NULL;
        args.ldf = field.channels;
        args.field_frames = field.frames, args.field_height = field.height, args.field_width = field.width;
        args.first_apart = x.frames > 1 && x.frames % 2 == 1;
    }
    if (m->planning && bytes > m->workspace_bytes) m->workspace_bytes = bytes;
    if (m->planning && x.band && apart * norm->groups > walk->bands->groups) walk->bands->groups = apart * norm->groups;
    args.workspace = m->workspace;
    if (m->planning) return y;
    if (x.band) {
        vae_bands_reduce(walk->bands, &args);
        args.moments = walk->bands->moments;
    }
    ops_group_norm(m->rt, &args);
    return y;
}

vae_tensor vae_take_band(const vae_walk *walk, vae_tensor x)
{
    vae_memory *m = walk->memory;
    const vae_bands *b = walk->bands;
    int64_t scale = x.height / b->all_rows, row = x.width * x.channels;
    if (!b->comm) return x;
    vae_tensor y = x;
    y.slot = vae_other_slot(x.slot, -1);
    y.height = b->rows * scale;
    y.band = true;
    float *to = vae_tensor_data(m, &y);
    const float *from = vae_tensor_data(m, &x);
    if (m->planning) return y;
    for (int64_t t = 0; t < x.frames; t++)
        copy_lines(walk, from + (t * x.height + b->first * scale) * row, y.height * x.width, x.channels,
                   to + t * y.height * row);
    return y;
}

vae_tensor vae_double_frames(const vae_walk *walk, vae_tensor x, int64_t single, int to)
{
    vae_memory *m = walk->memory;
    vae_tensor y = x;
    int64_t frame = x.height * x.width * x.channels;
    y.slot = to;
    y.frames = single + (x.frames - single) * 2;
    float *into = vae_tensor_data(m, &y);
    const float *from = vae_tensor_data(m, &x);
    for (int64_t t = 0; t < y.frames && !m->planning; t++) {
        int64_t source = t < single ? t : single + (t - single) / 2;
        ops_copy(m->rt, &(dit_copy_args){.n0 = 1,
                                         .n1 = 1,
                                         .n2 = x.height * x.width,
                                         .inner = x.channels,
                                         .src = from + source * frame,
                                         .src_stride = {0, 0, x.channels},
                                         .dst = into + t * frame,
                                         .dst_stride = {0, 0, x.channels}});
    }
    return y;
}

vae_tensor vae_mean_frames(const vae_walk *walk, vae_tensor x, int to)
{
    vae_memory *m = walk->memory;
    vae_tensor y = x;
    int64_t frame = x.height * x.width * x.channels, single = x.frames % 2;
    y.slot = to;
    y.frames = single + x.frames / 2;
    float *into = vae_tensor_data(m, &y);
    const float *from = vae_tensor_data(m, &x);
    if (single && !m->planning) dit_runtime_copy(m->rt, from, frame, into);
    for (int64_t t = single; t < y.frames && !m->planning; t++) {
        const float *pair = from + (2 * t - single) * frame;
        ops_combine(
            m->rt,
            &(dit_combine_args){
                .elements = frame, .count = 2, .x = {pair, pair + frame}, .a = {0.5f, 0.5f}, .y = into + t * frame});
    }
    return y;
}

vae_tensor vae_split_frames(const vae_walk *walk, vae_tensor x, int to)
{
    vae_memory *m = walk->memory;
    vae_tensor y = x;
    y.slot = to;
    y.frames *= 2, y.channels /= 2;
    int64_t pixels = x.height * x.width, C = y.channels;
    float *into = vae_tensor_data(m, &y);
    const float *from = vae_tensor_data(m, &x);
    for (int64_t half = 0; half < 2 && !m->planning; half++)
        ops_copy(m->rt, &(dit_copy_args){.n0 = 1,
                                         .n1 = x.frames,
                                         .n2 = pixels,
                                         .inner = C,
                                         .src = from + half * C,
                                         .src_stride = {0, pixels * 2 * C, 2 * C},
                                         .dst = into + half * pixels * C,
                                         .dst_stride = {0, 2 * pixels * C, C}});
    return y;
}

vae_tensor vae_spread_channels(const vae_walk *walk, vae_tensor x, int64_t time, int64_t space, int64_t skip, int to)
{
    vae_memory *m = walk->memory;
    vae_tensor y = x;
    y.slot = to;
    y.frames = x.frames * time - skip, y.height *= space, y.width *= space;
    y.channels /= time * space * space;
    int64_t C = y.channels, line = y.width * C, frame = y.height * line;
    dit_copy_args args = {.n1 = x.height, .n2 = x.width, .inner = C};
    args.src_stride[0] = x.height * x.width * x.channels, args.src_stride[1] = x.width * x.channels;
    args.src_stride[2] = x.channels;
    args.dst_stride[0] = time * frame, args.dst_stride[1] = space * line, args.dst_stride[2] = space * C;
    float *into = vae_tensor_data(m, &y);
    const float *from = vae_tensor_data(m, &x);
    for (int64_t place = 0; place < time * space * space && !m->planning; place++) {
        int64_t t = place / (space * space), row = place / space % space, column = place % space, first = t < skip;
        args.n0 = x.frames - first;
        args.src = from + first * args.src_stride[0] + place * C;
        args.dst = into + (first * time + t - skip) * frame + row * line + column * C;
        if (args.n0 > 0) ops_copy(m->rt, &args);
    }
    return y;
}

vae_tensor vae_resnet_forward(const vae_walk *walk, vae_resnet *resnet, vae_tensor x)
{
    int a = vae_other_slot(x.slot, -1), b = vae_other_slot(x.slot, a);
    if (resnet->has_shortcut) { /* x is not needed after the shortcut, so the norm may overwrite it */
        vae_tensor sum = vae_linear_forward(walk, &resnet->shortcut, x, b);
        vae_tensor hidden = vae_norm_forward(walk, &resnet->norm1, DIT_ACT_SILU, x, x.slot);
        hidden = vae_conv_forward(walk, &resnet->conv1, VAE_CONV_PLAIN, hidden, a);
        hidden = vae_norm_forward(walk, &resnet->norm2, DIT_ACT_SILU, hidden, a);
        apply_conv(walk, &resnet->conv2, VAE_CONV_PLAIN, hidden, sum, true);
        return sum;
    }
    vae_tensor hidden = vae_norm_forward(walk, &resnet->norm1, DIT_ACT_SILU, x, a);
    hidden = vae_conv_forward(walk, &resnet->conv1, VAE_CONV_PLAIN, hidden, b);
    hidden = vae_norm_forward(walk, &resnet->norm2, DIT_ACT_SILU, hidden, b);
    apply_conv(walk, &resnet->conv2, VAE_CONV_PLAIN, hidden, x, true);
    return x;
}

/* Attends over all positions of a frame, or of it and the frames before, with one head as wide as the channels. */
vae_tensor vae_attention_forward(const vae_walk *walk, const vae_attention *attention, vae_tensor x)
{
    vae_memory *m = walk->memory;
    int a = vae_other_slot(x.slot, -1), b = vae_other_slot(x.slot, a);
    vae_tensor normed = vae_norm_forward(walk, &attention->norm, DIT_ACT_NONE, x, a);
    vae_tensor qkv = vae_linear_forward(walk, &attention->qkv, normed, b);
    int64_t C = x.channels, S = x.height * x.width;
    dit_attention_args args = {.B = x.frames, .H = 1, .Sq = S, .Sk = S, .D = C, .scale = 1 / sqrtf((float)C)};
    args.q = vae_tensor_data(m, &qkv), args.out = vae_tensor_data(m, &normed);
    if (walk->frame_of) args.B = 1, args.Sq = args.Sk = S = S * x.frames;
    args.q_position = args.k_position = walk->frame_of;
    args.ldq = args.ldk = args.ldv = 3 * C, args.ldo = C;
    args.batch_q = args.batch_k = args.batch_v = S * 3 * C, args.batch_o = S * C;
    if (!m->planning) {
        args.k = args.q + C, args.v = args.q + 2 * C;
        ops_attention(m->rt, &args);
    }
    apply_linear(walk, &attention->out, normed, x, true);
    return x;
}
