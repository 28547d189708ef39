#include "engine/models/embed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SINUSOID = 256 };

void embed_timestep(dit_runtime *rt, const float *t, int64_t count, int64_t dim, float *out)
{
    ops_timestep(rt, &(dit_timestep_args){.count = count, .dim = dim, .t = t, .unit = 1.0f, .y = out});
}

void embed_sincos_1d(const dit_runtime *rt, double position, int64_t dim, float *out)
{
    int64_t half = dit_runtime_values(rt, dim / 2);
    for (int64_t i = 0; i < half; i++) {
        double angle = position * pow(10000.0, -(double)i / (double)half);
        out[i] = (float)sin(angle);
        out[half + i] = (float)cos(angle);
    }
}

void embed_sincos_2d(const dit_runtime *rt, int64_t grid_height, int64_t grid_width, int64_t dim, double base_size,
                     double interpolation_scale, int64_t first, int64_t count, float *out)
{
    const int64_t filled = dit_runtime_values(rt, count);
    for (int64_t i = 0; i < filled; i++) {
        int64_t row = (first + i) / grid_width, column = (first + i) % grid_width;
        /* the grid is float32 in the library: arange / (n / base) / scale */
        float y = (float)row / (float)((double)grid_height / base_size) / (float)interpolation_scale;
        float x = (float)column / (float)((double)grid_width / base_size) / (float)interpolation_scale;
        embed_sincos_1d(rt, x, dim / 2, out + i * dim);
        embed_sincos_1d(rt, y, dim / 2, out + i * dim + dim / 2);
    }
}

static void fill_rope(const dit_runtime *rt, const float *ids, int64_t count, int axes, const int64_t *dims,
                      double theta, bool rounded, float *cosines, float *sines)
{
    const int64_t filled = dit_runtime_values(rt, count);
    for (int64_t token = 0; token < filled; token++) {
        for (int axis = 0; axis < axes; axis++) {
            double position = ids[token * axes + axis];
            for (int64_t i = 0; i < dims[axis]; i += 2) {
                double angle = position * (1.0 / pow(theta, (double)i / (double)dims[axis]));
                if (rounded) angle = (float)angle;
                cosines[0] = cosines[1] = (float)cos(angle);
                sines[0] = sines[1] = (float)sin(angle);
                cosines += 2;
                sines += 2;
            }
        }
    }
}

void embed_rope(const dit_runtime *rt, const float *ids, int64_t count, int axes, const int64_t *dims, double theta,
                float *cosines, float *sines)
{
    fill_rope(rt, ids, count, axes, dims, theta, false, cosines, sines);
}

void embed_rope_rounded(const dit_runtime *rt, const float *ids, int64_t count, int axes, const int64_t *dims,
                        double theta, float *cosines, float *sines)
{
    fill_rope(rt, ids, count, axes, dims, theta, true, cosines, sines);
}

dit_status embed_put_rope(dit_runtime *rt, const float *cosines, const float *sines, int64_t elements)
{
    DIT_TRY(dit_runtime_upload(rt, cosines, elements));
    return dit_runtime_upload(rt, sines, elements);
}

void embed_grid_ids(const dit_runtime *rt, const dit_partition *part, const dit_latent *latent, float *ids)
{
    int64_t height = latent->height / latent->patch, width = latent->width / latent->patch;
    const int64_t filled = dit_runtime_values(rt, part->image_count);
    for (int64_t row = 0; row < filled; row++, ids += 3) {
        int64_t token = dit_partition_token(part, row);
        ids[0] = (float)(token / (height * width));
        ids[1] = (float)(token / width % height);
        ids[2] = (float)(token % width);
    }
}

dit_status embed_read_rope_widths(const dit_config *config, const char *key, int axes, const int64_t *usual, int64_t D,
                                  int64_t *widths)
{
    int count;
    int64_t sum = 0;
    DIT_TRY(dit_config_read_ints(config, key, 0, 4096, axes, widths, &count));
    if (count < 0) memcpy(widths, usual, (size_t)axes * sizeof *usual), count = axes;
    bool even = count == axes;
    for (int axis = 0; axis < axes && even; axis++) sum += widths[axis], even = widths[axis] % 2 == 0;
    if (even && sum == D) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%s must be %d even widths that add up to attention_head_dim %lld", key, axes,
                    (long long)D);
}

dit_status embed_tap_rope(dit_model *model, dit_layout layout, const float *cosines, const float *sines, int64_t D)
{
    dit_shards shards = {.layout = layout, .data = cosines, .cols = D, .ld = D};
    DIT_TRY(dit_model_tap(model, &shards, "aux.rope.0"));
    shards.data = sines;
    return dit_model_tap(model, &shards, "aux.rope.1");
}

/* Returns entry `index` of linspace(begin, end * (count - 1) / count, count), computed from the nearer end. */
static float spread(double begin, double end, int64_t index, int64_t count)
{
    float first = (float)begin, last = (float)(end * (double)(count - 1) / (double)count);
    if (count == 1) return first;
    float step = (last - first) / (float)(count - 1);
    return index < count / 2 ? first + step * (float)index : last - step * (float)(count - 1 - index);
}

void embed_fitted_position(const int64_t grid[2], const int64_t base[2], int64_t row, int64_t column, float position[2])
{
    double height = (double)grid[0], width = (double)grid[1], rows = (double)base[0], columns = (double)base[1];
    double fitted[2] = {rows, columns};
    if (height / width > rows / columns)
        fitted[1] = rint(rows / height * width); /* ties to even, as Python rounds */
    else
        fitted[0] = rint(columns / width * height);
    double top = rint((rows - fitted[0]) / 2), left = rint((columns - fitted[1]) / 2);
    position[0] = spread(top, top + fitted[0], row, grid[0]);
    position[1] = spread(left, left + fitted[1], column, grid[1]);
}

dit_status embed_mlp_load(const dit_scope *scope, const char *name, int64_t in, int64_t hidden, int64_t out,
                          dit_activation activation, embed_mlp *mlp)
{
    char part[192];
    mlp->activation = activation;
    snprintf(part, sizeof part, "%s.linear_1", name);
    DIT_TRY(scope_linear(scope, part, hidden, in, &mlp->first));
    snprintf(part, sizeof part, "%s.linear_2", name);
    return scope_linear(scope, part, out, hidden, &mlp->second);
}

void embed_mlp_run(dit_runtime *rt, const embed_mlp *mlp, const float *x, int64_t rows, float *hidden, float *y)
{
    ops_linear(rt, &(dit_linear_args){.weights = &mlp->first,
                                      .rows = rows,
                                      .x = x,
                                      .ldx = mlp->first.k,
                                      .y = hidden,
                                      .ldy = mlp->first.n,
                                      .activation = mlp->activation});
    embed_linear(rt, &mlp->second, hidden, rows, y);
}

void embed_linear(dit_runtime *rt, const dit_linear *linear, const float *x, int64_t rows, float *y)
{
    ops_linear(rt,
               &(dit_linear_args){.weights = linear, .rows = rows, .x = x, .ldx = linear->k, .y = y, .ldy = linear->n});
}

void embed_activate(dit_runtime *rt, dit_activation activation, const float *x, int64_t elements, float *y)
{
    ops_activate(rt, &(dit_activate_args){.elements = elements, .x = x, .y = y, .activation = activation});
}

/* True if something is added to what the timestep gives. */
static bool has_constant(const embed_combined *combined)
{
    return combined->text_dim > 0 || combined->guided;
}

dit_status embed_combined_create(const dit_scope *scope, embed_combined *combined)
{
    int64_t width = combined->width;
    dit_arena *image = &scope->rt->image, *step = &scope->rt->step;
    const dit_buffer buffers[] = {
        {image, &combined->constant, has_constant(combined) ? combined->batch * width : 0, DIT_BUFFER_FP32},
        {step, &combined->embedded, combined->batch * width, DIT_BUFFER_FP32},
        {step, &combined->activated, combined->batch * width, DIT_BUFFER_ACTIVATIONS},
        {step, &combined->hidden, combined->batch * width, DIT_BUFFER_ACTIVATIONS},
        {step, &combined->sinusoid, combined->batch * SINUSOID, DIT_BUFFER_FP32},
    };
    DIT_TRY(embed_mlp_load(scope, "timestep_embedder", SINUSOID, width, width, DIT_ACT_SILU, &combined->timestep));
    if (combined->text_dim)
        DIT_TRY(
            embed_mlp_load(scope, "text_embedder", combined->text_dim, width, width, DIT_ACT_SILU, &combined->text));
    if (combined->guided)
        DIT_TRY(embed_mlp_load(scope, "guidance_embedder", SINUSOID, width, width, DIT_ACT_SILU, &combined->guidance));
    return dit_buffers_take(buffers, sizeof buffers / sizeof *buffers);
}

/* out = mlp(sinusoid(value * unit)). */
static void make_embedding(dit_runtime *rt, const embed_combined *combined, const embed_mlp *mlp, const float *value,
                           float *out)
{
    ops_timestep(rt, &(dit_timestep_args){.count = combined->batch,
                                          .dim = SINUSOID,
                                          .t = value,
                                          .unit = combined->unit,
                                          .scale = combined->scale,
                                          .y = combined->sinusoid});
    embed_mlp_run(rt, mlp, combined->sinusoid, combined->batch, combined->hidden, out);
}

/* out = embedded + constant. */
static void add_constant(dit_runtime *rt, const embed_combined *combined, float *out)
{
    layer_add(rt, combined->embedded, combined->constant, combined->batch * combined->width, out);
}

void embed_combined_prepare(dit_runtime *rt, const embed_combined *combined, const float *text, const float *guidance)
{
    if (combined->text_dim)
        embed_mlp_run(rt, &combined->text, text, combined->batch, combined->hidden, combined->constant);
    if (!combined->guided) return;
    bool alone = combined->text_dim == 0;
    make_embedding(rt, combined, &combined->guidance, guidance, alone ? combined->constant : combined->embedded);
    if (!alone) add_constant(rt, combined, combined->constant);
}

void embed_combined_step(dit_runtime *rt, const embed_combined *combined, const float *timestep)
{
    make_embedding(rt, combined, &combined->timestep, timestep, combined->embedded);
    if (has_constant(combined)) add_constant(rt, combined, combined->embedded);
    embed_activate(rt, DIT_ACT_SILU, combined->embedded, combined->batch * combined->width, combined->activated);
}

dit_status embed_tap_combined(dit_model *model, const embed_combined *combined, const char *name)
{
    return dit_tap_rows(model, DIT_LAYOUT_GLOBAL, rows_dense(combined->embedded, combined->batch, 1, combined->width),
                        "%s", name);
}
