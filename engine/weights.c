#include "engine/weights.h"

#include "base/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 8, MAX_NAME = 256 };

typedef struct {
    uint64_t seed, stream;
    float mean, deviation;
    float *out;
} fill_job;

static void fill_task(void *context, int64_t begin, int64_t end, int worker)
{
    const fill_job *job = context;
    (void)worker;
    dit_rng_normal(job->seed, job->stream, (uint64_t)begin, end - begin, job->mean, job->deviation, job->out + begin);
}

static void fill_seeded(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t elements, int64_t fan_in,
                        dit_init init, float *out)
{
    fill_job job = {.seed = weights->seed, .stream = dit_rng_stream(name), .out = out};
    switch (init) {
    case DIT_INIT_LINEAR: job.deviation = 1.0f / sqrtf((float)fan_in); break;
    case DIT_INIT_BIAS: job.deviation = 0.02f; break;
    case DIT_INIT_NORM: job.mean = 1.0f, job.deviation = 0.1f; break;
    case DIT_INIT_TABLE: job.deviation = 1.0f / sqrtf((float)fan_in); break;
    }
    dit_pool_run(rt->pool, elements, 1 << 16, fill_task, &job);
}

/* A tensor whose dimensions beyond the first multiply to the expected size counts as the expected matrix. */
static dit_status find_matrix(const dit_weights *weights, const char *name, int rank, const int64_t *shape,
                              dit_tensor_view *view)
{
    int64_t inner = 1, wanted = 1;
    if (rank != 2) return dit_safetensors_require(weights->file, name, rank, shape, view);
    if (!dit_safetensors_find(weights->file, name, view) || view->rank == 2)
        return dit_safetensors_require(weights->file, name, rank, shape, view);
    for (int i = 1; i < view->rank; i++) inner *= view->shape[i];
    for (int i = 1; i < rank; i++) wanted *= shape[i];
    if (view->rank < 2 || view->shape[0] != shape[0] || inner != wanted)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s has %lld elements in %d dimensions, expected [%lld, %lld]", name,
                        (long long)view->elements, view->rank, (long long)shape[0], (long long)wanted);
    return DIT_OK;
}

dit_status dit_weights_read(dit_runtime *rt, const dit_weights *weights, const char *name, int rank,
                            const int64_t *shape, dit_init init, float *out)
{
    dit_tensor_view view;
    int64_t elements = 1;
    for (int i = 0; i < rank; i++) elements *= shape[i];
    rt->parameters += elements;
    if (rt->ledger.counting_only) return DIT_OK;
    if (!weights->file) {
        fill_seeded(rt, weights, name, elements, shape[rank - 1], init, out);
        return DIT_OK;
    }
    DIT_TRY(find_matrix(weights, name, rank, shape, &view));
    return dit_tensor_read(&view, 0, elements, out);
}

dit_status dit_weights_load(dit_runtime *rt, const dit_weights *weights, const char *name, int rank,
                            const int64_t *shape, dit_init init, const float **out)
{
    int64_t elements = 1;
    float *data;
    for (int i = 0; i < rank; i++) elements *= shape[i];
    DIT_TRY(dit_arena_floats(&rt->run, elements, &data));
    *out = data;
    return dit_weights_read(rt, weights, name, rank, shape, init, data);
}

static bool has_bias(const dit_weights *weights, const char *name)
{
    dit_tensor_view view;
    return !weights->file || dit_safetensors_find(weights->file, name, &view);
}

/* Rows of a [rows, k] matrix in a new order. */
static void permute_rows(const float *src, int64_t rows, int64_t k, const int64_t *order, float *dst)
{
    for (int64_t row = 0; row < rows; row++) memcpy(dst + row * k, src + order[row] * k, (size_t)k * sizeof *dst);
}

static dit_status read_part(dit_runtime *rt, const dit_weights *weights, const dit_linear_part *part, int64_t k,
                            const int64_t *order, const float **weight, const float **bias)
{
    char name[MAX_NAME];
    float *data, *ordered;
    int64_t shape[2] = {part->rows, k};
    snprintf(name, sizeof name, "%s.weight", part->prefix);
    DIT_TRY(dit_arena_floats(&rt->step, part->rows * k, &data));
    DIT_TRY(dit_weights_read(rt, weights, name, 2, shape, DIT_INIT_LINEAR, data));
    *weight = data;
    if (order && !rt->ledger.counting_only) {
        DIT_TRY(dit_arena_floats(&rt->step, part->rows * k, &ordered));
        permute_rows(data, part->rows, k, order, ordered);
        *weight = ordered;
    }
    *bias = NULL;
    snprintf(name, sizeof name, "%s.bias", part->prefix);
    if (!has_bias(weights, name)) return DIT_OK;
    DIT_TRY(dit_arena_floats(&rt->step, 2 * part->rows, &data));
    DIT_TRY(dit_weights_read(rt, weights, name, 1, shape, DIT_INIT_BIAS, data));
    *bias = data;
    if (order && !rt->ledger.counting_only) {
        permute_rows(data, part->rows, 1, order, data + part->rows);
        *bias = data + part->rows;
    }
    return DIT_OK;
}

/* Staging lies in rt->step, which is still empty while weights load, and is handed back at once. */
dit_status dit_weights_linear(dit_runtime *rt, const dit_weights *weights, const dit_linear_part *parts, int count,
                              int64_t k, const int64_t *order, dit_linear *out)
{
    const float *weight[MAX_PARTS], *bias[MAX_PARTS];
    int64_t rows[MAX_PARTS];
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    dit_status st = count <= MAX_PARTS ? DIT_OK : DIT_FAIL(DIT_ERR_INTERNAL, "%d parts", count);
    for (int i = 0; i < count && st == DIT_OK; i++) {
        rows[i] = parts[i].rows;
        st = read_part(rt, weights, &parts[i], k, order, &weight[i], &bias[i]);
        if (st == DIT_OK && i && (bias[i] == NULL) != (bias[0] == NULL))
            st = DIT_FAIL(DIT_ERR_TENSOR_MISSING, "%s.bias and %s.bias: one exists, the other does not",
                          parts[0].prefix, parts[i].prefix);
    }
    if (st == DIT_OK) st = rt->kernels->linear_pack(&rt->run, k, count, weight, bias, rows, out);
    dit_arena_release_to(&rt->step, mark);
    return st;
}

dit_status dit_weights_linear_named(dit_runtime *rt, const dit_weights *weights, int64_t rows, int64_t k,
                                    dit_linear *out, const char *format, ...)
{
    char prefix[MAX_NAME];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    return dit_weights_linear(rt, weights, &(dit_linear_part){prefix, rows}, 1, k, NULL, out);
}
