/* A block of a text encoder: self-attention and an MLP around a stream, with the variants that a shape tells apart. */
#include "engine/text/encoders/encoder_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- distances --------------------------------------------------------------------------------------------------- */

/* Returns the bucket of a key that stands `distance` tokens after its query. Half of the buckets are for keys after it;
 * of a half, the first half are exact distances, and the rest grow by the logarithm up to the largest distance. It
 * computes in float32 as the library does, whose rounding decides at the borders.
 * Source: Raffel et al., T5 (arXiv:1910.10683), section 2.1; transformers 4.51.3, T5Attention. */
static int64_t bucket_of(const text_shape *shape, int64_t distance)
{
    int64_t half = shape->buckets / 2, exact = half / 2, far = distance < 0 ? -distance : distance;
    int64_t bucket = far;
    if (far >= exact) {
        float grown = logf((float)far / (float)exact) / (float)log((double)shape->max_distance / (double)exact);
        bucket = exact + (int64_t)(grown * (float)(half - exact));
        if (bucket > half - 1) bucket = half - 1;
    }
    return bucket + (distance > 0 ? half : 0);
}

dit_status text_distances_load(const dit_text_encoder *e, const dit_scope *scope, const float **out)
{
    dit_runtime *rt = scope->rt;
    const text_shape *s = &e->shape;
    int64_t heads = s->facts.heads, length = 2 * e->params.tokens - 1, first = share_begin(scope->share, heads);
    int64_t shape[2] = {s->buckets, heads};
    char name[256];
    float *table, *relative;
    snprintf(name, sizeof name, "%s%s", scope->prefix, e->klass->names.distances);
    DIT_TRY(dit_arena_fp32(&rt->run, e->H * length, &relative));
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    dit_status st = dit_arena_host(&rt->step, s->buckets * heads, &table);
    if (st == DIT_OK) st = dit_weights_read(rt, scope->weights, name, 2, shape, DIT_INIT_TABLE, table);
    for (int64_t h = 0; st == DIT_OK && h < dit_runtime_values(rt, e->H); h++)
        for (int64_t i = 0; i < length; i++) /* of query - key = i - (tokens - 1) */
            relative[h * length + i] = table[bucket_of(s, e->params.tokens - 1 - i) * heads + first + h];
    dit_arena_release_to(&rt->step, mark);
    if (st == DIT_OK) st = dit_runtime_upload(rt, relative, e->H * length);
    *out = relative;
    return st;
}

dit_status text_window_make(const dit_text_encoder *e, const float **out)
{
    dit_runtime *rt = e->params.rt;
    int64_t length = 2 * e->params.tokens - 1;
    float *relative;
    DIT_TRY(dit_arena_fp32(&rt->run, length, &relative));
    for (int64_t i = 0; i < dit_runtime_values(rt, length); i++) /* of query - key = i - (tokens - 1) */
        relative[i] = i - (e->params.tokens - 1) < e->shape.window ? 0.0f : -INFINITY;
    *out = relative;
    return dit_runtime_upload(rt, relative, length);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Loads the weight of a norm that is stored less 1. Seeded ones are small. */
static dit_status load_norm_above_one(const dit_text_encoder *e, const dit_scope *scope, const char *norm,
                                      const float **out)
{
    dit_runtime *rt = scope->rt;
    const int64_t width = e->shape.facts.width;
    char name[384];
    float *weight;
    snprintf(name, sizeof name, "%s%s", scope->prefix, norm);
    DIT_TRY(dit_arena_fp32(&rt->run, width, &weight));
    DIT_TRY(dit_weights_read(rt, scope->weights, name, 1, &width, DIT_INIT_BIAS, weight));
    for (int64_t i = 0; i < dit_runtime_values(rt, width); i++) weight[i] += 1.0f;
    *out = weight;
    return dit_runtime_upload(rt, weight, width);
}

dit_status text_norm_load(const dit_text_encoder *e, const dit_scope *scope, const char *name, const float **weight,
                          const float **bias)
{
    char full[128];
    *bias = NULL;
    if (e->shape.norm == DIT_NORM_LAYER) return scope_affine(scope, name, e->shape.facts.width, weight, bias);
    snprintf(full, sizeof full, "%s.weight", name);
    if (e->shape.norms_add_one) return load_norm_above_one(e, scope, full, weight);
    return scope_vector(scope, full, e->shape.facts.width, DIT_INIT_NORM, weight);
}

/* Where channel `i` of a head stands in a file: the two halves of a head are interleaved, because our operator rotates
 * neighbours, and the library an entry of the first half with one of the second. Products of q and k do not see it. */
static int64_t stored_channel(int64_t i, int64_t D)
{
    return i / 2 + i % 2 * (D / 2);
}

/* Loads the weight of an RMS norm over a head. */
static dit_status load_head_norm(const dit_text_encoder *e, const dit_scope *scope, const char *norm, const float **out)
{
    dit_runtime *rt = scope->rt;
    const int64_t D = e->shape.facts.head_dim;
    char name[256];
    float *stored, *weight;
    snprintf(name, sizeof name, "%s%s.weight", scope->prefix, norm);
    DIT_TRY(dit_arena_fp32(&rt->run, D, &weight));
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    dit_status st = dit_arena_host(&rt->step, D, &stored);
    if (st == DIT_OK) st = dit_weights_read(rt, scope->weights, name, 1, &D, DIT_INIT_NORM, stored);
    for (int64_t i = 0; st == DIT_OK && i < dit_runtime_values(rt, D); i++) weight[i] = stored[stored_channel(i, D)];
    dit_arena_release_to(&rt->step, mark);
    if (st == DIT_OK) st = dit_runtime_upload(rt, weight, D);
    *out = weight;
    return st;
}

/* Says where rows of q, k or v (0, 1, 2) stand, by a layer of their own or in that of all three. */
static dit_linear_part qkv_part(const dit_text_encoder *e, const dit_scope *scope, int which, char name[256])
{
    const dit_text_encoder_facts *f = &e->shape.facts;
    const char *fused = e->klass->names.qkv_fused;
    int64_t queries = f->heads * f->head_dim, keys = f->key_heads * f->head_dim;
    snprintf(name, 256, "%s%s", scope->prefix, fused ? fused : e->klass->names.qkv[which]);
    dit_linear_part part = {.prefix = name, .rows = which ? keys : queries, .share = scope->share};
    if (fused) part.whole = queries + 2 * keys, part.first = which ? queries + (which - 1) * keys : 0;
    return part;
}

/* Loads q and k, rows of a head in the order of stored_channel. */
static dit_status load_rotary(dit_text_encoder *e, const dit_scope *scope, text_block *block)
{
    const dit_text_encoder_facts *f = &e->shape.facts;
    int64_t D = f->head_dim, *order = malloc((size_t)(e->H * D) * sizeof *order);
    char names[3][256];
    if (!order) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld rows", (long long)(e->H * D));
    for (int64_t i = 0; i < e->H * D; i++) order[i] = i / D * D + stored_channel(i % D, D);
    const dit_linear_part parts[2] = {qkv_part(e, scope, 0, names[0]), qkv_part(e, scope, 1, names[1])};
    const dit_linear_part values = qkv_part(e, scope, 2, names[2]);
    dit_weights biased = *scope->weights;
    biased.without_biases = !e->shape.qkv_biases;
    dit_status st = dit_weights_linear(scope->rt, &biased, parts, 2, f->width, order, &block->qkv);
    free(order);
    for (int i = 0; st == DIT_OK && i < 2; i++) {
        const char *norm = e->klass->names.head_norms[i];
        block->head_norm[i] = NULL;
        if (norm) st = load_head_norm(e, scope, norm, &block->head_norm[i]);
    }
    if (st != DIT_OK) return st;
    return dit_weights_linear(scope->rt, &biased, &values, 1, f->width, NULL, &block->values);
}

dit_status text_block_load(dit_text_encoder *e, int64_t index, text_block *block)
{
    const text_names *names = &e->klass->names;
    const dit_text_encoder_facts *f = &e->shape.facts;
    dit_scope scope = e->root;
    char prefix[sizeof scope.prefix];
    snprintf(prefix, sizeof prefix, "%.60s%.60s%lld.", e->root.prefix, names->block, (long long)index);
    snprintf(scope.prefix, sizeof scope.prefix, "%s", prefix);
    if (e->shape.theta > 0)
        DIT_TRY(load_rotary(e, &scope, block));
    else
        DIT_TRY(scope_shared(&scope, names->qkv, f->heads * f->head_dim, f->width, &block->qkv));
    DIT_TRY(scope_joined(&scope, names->out, f->width, f->heads * f->head_dim, 0, &block->out));
    const char *const one[] = {names->ungated, NULL}, *const *in = names->ungated && !e->shape.gated ? one : names->in;
    DIT_TRY(scope_shared(&scope, in, f->inner, f->width, &block->in));
    DIT_TRY(scope_joined(&scope, names->down, f->width, f->inner, 0, &block->down));
    for (int i = 0; i < 2; i++)
        DIT_TRY(text_norm_load(e, &scope, names->norms[i], &block->norm_weight[i], &block->norm_bias[i]));
    for (int i = 0; e->shape.norms_outputs && i < 2; i++) {
        const float *unused;
        DIT_TRY(text_norm_load(e, &scope, names->output_norms[i], &block->output_norm[i], &unused));
    }
    block->windowed = e->shape.window_side && !e->shape.sees_all[index];
    block->relative = e->shape.window && !e->shape.slides[index] ? NULL : e->relative;
    return e->shape.bias_per_block ? text_distances_load(e, &scope, &block->relative) : DIT_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static dit_rows rows_of(const dit_text_encoder *e, float *data, int64_t cols)
{
    return rows_dense(data, e->params.batch, e->params.tokens, cols);
}

void text_norm_run(const dit_text_encoder *e, const float *x, const float *weight, const float *bias, float *y)
{
    int64_t width = e->shape.facts.width;
    layer_norm(e->params.rt, rows_of(e, (float *)x, width), rows_of(e, y, width),
               &(dit_layer_norm){.kind = e->shape.norm, .eps = (float)e->shape.eps, .weight = weight, .bias = bias});
}

/* `count` groups of `tokens` rows that see each other, `token` rows behind the first, one after the other. */
typedef struct {
    int64_t token, count, tokens;
} text_rows_seen;

static void attend_rows(dit_text_encoder *e, const text_block *block, dit_rows q, dit_rows k, dit_rows v,
                        text_rows_seen at)
{
    int64_t tokens = at.tokens, D = e->shape.facts.head_dim, cols = e->H * D;
    ops_attention(e->params.rt,
                  &(dit_attention_args){.B = at.count,
                                        .H = e->H,
                                        .Sq = tokens,
                                        .Sk = tokens,
                                        .D = D,
                                        .q = q.data + at.token * q.ld,
                                        .k = k.data + at.token * k.ld,
                                        .v = v.data + at.token * v.ld,
                                        .ldq = q.ld,
                                        .ldk = k.ld,
                                        .ldv = v.ld,
                                        .batch_q = tokens * q.ld,
                                        .batch_k = tokens * k.ld,
                                        .batch_v = tokens * v.ld,
                                        .bias = e->masked ? e->mask : NULL,
                                        .relative = block->relative,
                                        .ld_relative = e->shape.window ? 0 : 2 * tokens - 1,
                                        .kv_group = e->H / e->key_heads,
                                        .q_position = e->shape.causal ? e->positions : NULL,
                                        .k_position = e->shape.causal ? e->positions : NULL,
                                        .scale = (float)(e->shape.scale > 0 ? e->shape.scale : 1 / sqrt((double)D)),
                                        .cap = (float)e->shape.cap,
                                        .out = e->attended + at.token * cols,
                                        .ldo = cols,
                                        .batch_o = tokens * cols});
}

/* Windows of one size that stand one after the other are one call. */
static void attend(dit_text_encoder *e, const text_block *block, dit_rows q, dit_rows k, dit_rows v)
{
    const text_grid *grid = &e->grid;
    text_rows_seen at = {0, e->params.batch, e->params.tokens};
    if (!block->windowed) {
        attend_rows(e, block, q, k, v, at);
        return;
    }
    for (int64_t i = 0; i < grid->window_count; i += at.count, at.token += at.count * at.tokens) {
        at.count = 1;
        at.tokens = grid->windows[i] * grid->merge * grid->merge;
        while (i + at.count < grid->window_count && grid->windows[i + at.count] == grid->windows[i]) at.count++;
        attend_rows(e, block, q, k, v, at);
    }
}

/* y += joined(x), or its norm. What a part read from `normed` is not needed any more. */
static dit_status add_output(dit_text_encoder *e, const dit_joined *joined, dit_rows x, const float *norm, float *y)
{
    dit_runtime *rt = e->params.rt;
    dit_rows to = rows_of(e, y, e->shape.facts.width);
    if (!norm) return layer_joined_add(rt, joined, x, to, NULL, 0);
    const dit_layer_norm settings = {.kind = e->shape.norm, .eps = (float)e->shape.eps, .weight = norm};
    DIT_TRY(layer_joined_product(rt, joined, x, e->normed));
    layer_normed_add(rt, e->normed, e->normed, &settings, to, NULL, 0);
    return DIT_OK;
}

/* Norms each of H heads, where there is a weight, and rotates it. */
static void rotate(const dit_text_encoder *e, dit_rows x, int64_t H, const float *weight)
{
    layer_head_norm(e->params.rt, x,
                    &(dit_head_norm){.H = H,
                                     .D = e->shape.facts.head_dim,
                                     .kind = DIT_NORM_RMS,
                                     .eps = (float)e->shape.eps,
                                     .weight = weight,
                                     .cos = e->cosines,
                                     .sin = e->sines});
}

/* y += attention(x), or its norm */
static dit_status add_attention(dit_text_encoder *e, const text_block *block, const float *x, float *y)
{
    dit_runtime *rt = e->params.rt;
    int64_t width = e->shape.facts.width, D = e->shape.facts.head_dim, queries = e->H * D, keys = e->key_heads * D;
    dit_rows from = rows_of(e, (float *)x, width), qkv = rows_of(e, e->wide, queries + 2 * keys);
    dit_rows q = rows_columns(qkv, 0, queries), k = rows_columns(qkv, queries, keys);
    dit_rows v = rows_columns(qkv, queries + keys, keys);
    if (e->shape.theta > 0) {
        layer_linear(rt, &block->qkv, from, rows_columns(qkv, 0, queries + keys), DIT_ACT_NONE);
        layer_linear(rt, &block->values, from, v, DIT_ACT_NONE);
        rotate(e, q, e->H, block->head_norm[0]);
        rotate(e, k, e->key_heads, block->head_norm[1]);
    } else {
        layer_linear(rt, &block->qkv, from, qkv, DIT_ACT_NONE);
    }
    attend(e, block, q, k, v);
    return add_output(e, &block->out, rows_of(e, e->attended, queries), block->output_norm[0], y);
}

/* x = activation(slope x) / slope */
static void activate_steep(dit_runtime *rt, float *x, int64_t elements, const text_shape *s)
{
    ops_combine(rt, &(dit_combine_args){.elements = elements, .count = 1, .x = {x}, .a = {s->slope}, .y = x});
    ops_activate(rt, &(dit_activate_args){.elements = elements, .x = x, .y = x, .activation = s->activation});
    ops_combine(rt, &(dit_combine_args){.elements = elements, .count = 1, .x = {x}, .a = {1 / s->slope}, .y = x});
}

/* y += MLP(x), or its norm */
static dit_status add_mlp(dit_text_encoder *e, const text_block *block, const float *x, float *y)
{
    dit_runtime *rt = e->params.rt;
    const text_shape *s = &e->shape;
    int64_t width = s->facts.width, rows = e->params.batch * e->params.tokens, inner = e->inner;
    dit_rows wide = rows_of(e, e->wide, (s->gated ? 2 : 1) * inner), hidden = rows_columns(wide, 0, inner);
    bool separate = s->gated || s->slope > 0;
    layer_linear(rt, &block->in, rows_of(e, (float *)x, width), wide, separate ? DIT_ACT_NONE : s->activation);
    if (s->slope > 0) activate_steep(rt, e->wide, rows * inner, s);
    if (s->gated)
        ops_multiply(rt, &(dit_multiply_args){.rows = rows,
                                              .cols = inner,
                                              .x = hidden.data,
                                              .factor = hidden.data + inner,
                                              .ldx = wide.ld,
                                              .ld_factor = wide.ld,
                                              .y = hidden.data,
                                              .ldy = wide.ld,
                                              .activation = s->activation});
    return add_output(e, &block->down, hidden, block->output_norm[1], y);
}

dit_status text_block_run(dit_text_encoder *e, const text_block *block)
{
    dit_status (*const parts[2])(dit_text_encoder *, const text_block *, const float *, float *) = {add_attention,
                                                                                                    add_mlp};
    for (int i = 0; i < 2; i++) {
        const float *weight = block->norm_weight[i], *bias = block->norm_bias[i];
        if (!e->shape.norm_after) text_norm_run(e, e->stream, weight, bias, e->normed);
        DIT_TRY(parts[i](e, block, e->shape.norm_after ? e->stream : e->normed, e->stream));
        if (e->shape.norm_after) text_norm_run(e, e->stream, weight, bias, e->stream);
    }
    return DIT_OK;
}
