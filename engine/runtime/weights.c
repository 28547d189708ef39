#include "engine/runtime/weights.h"

#include "base/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 8, MAX_NAME = 256, MAX_GROUPS = 4 };

/* A region of a stored matrix [rows, cols]: some rows, and in each of them some groups of columns. */
typedef struct {
    int64_t cols, first_row, rows;
    int groups;
    struct {
        int64_t first, count;
    } group[MAX_GROUPS];
} region;

typedef struct {
    uint64_t seed, stream;
    float mean, deviation;
    int64_t first;
    float *out;
} fill_job;

static void fill_task(void *context, int64_t begin, int64_t end, int worker)
{
    const fill_job *job = context;
    (void)worker;
    dit_rng_normal(job->seed, job->stream, (uint64_t)(job->first + begin), end - begin, job->mean, job->deviation,
                   job->out + begin);
}

/* Generates elements [first, first + elements) of a parameter. */
static void fill_seeded(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t first, int64_t elements,
                        int64_t fan_in, dit_init init, float *out)
{
    fill_job job = {.seed = weights->seed, .stream = dit_rng_stream(name), .first = first, .out = out};
    switch (init) {
    case DIT_INIT_LINEAR: job.deviation = 1.0f / sqrtf((float)fan_in); break;
    case DIT_INIT_BIAS: job.deviation = 0.02f; break;
    case DIT_INIT_NORM: job.mean = 1.0f, job.deviation = 0.1f; break;
    case DIT_INIT_TABLE: job.deviation = 1.0f / sqrtf((float)fan_in); break;
    }
    dit_pool_run(rt->pool, elements, 1 << 16, fill_task, &job);
}

/* Finds a matrix. A tensor whose dimensions after the first multiply to the expected width counts as one. */
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

typedef struct {
    const dit_tensor_view *view;
    int64_t first;
    float *out;
    int failed; /* a piece could not be read */
} read_job;

static void read_task(void *context, int64_t begin, int64_t end, int worker)
{
    read_job *job = context;
    (void)worker;
    if (dit_tensor_read(job->view, job->first + begin, end - begin, job->out + begin) != DIT_OK)
        __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
}

/* Reads elements on all threads. An error is a thread's own: after one the caller's thread reads again and raises it. */
static dit_status read_elements(dit_runtime *rt, const dit_tensor_view *view, int64_t first, int64_t elements,
                                float *out)
{
    read_job job = {.view = view, .first = first, .out = out};
    dit_pool_run(rt->pool, elements, 1 << 16, read_task, &job);
    return job.failed ? dit_tensor_read(view, first, elements, out) : DIT_OK;
}

/* Reads a region: whole rows at once, else piece by piece. */
static dit_status read_region(dit_runtime *rt, const dit_weights *weights, const char *name, const int64_t shape[2],
                              dit_init init, const region *part, float *out)
{
    dit_tensor_view view;
    bool whole = part->groups == 1 && part->group[0].count == part->cols;
    int64_t rows = whole ? 1 : part->rows;
    if (weights->file && !rt->ledger.counting_only) DIT_TRY(find_matrix(weights, name, 2, shape, &view));
    for (int64_t row = 0; row < rows; row++) {
        for (int i = 0; i < part->groups; i++) {
            int64_t first = (part->first_row + row) * part->cols + part->group[i].first;
            int64_t elements = part->group[i].count * (whole ? part->rows : 1);
            rt->parameters += elements;
            if (rt->ledger.counting_only) continue;
            if (weights->file)
                DIT_TRY(read_elements(rt, &view, first, elements, out));
            else
                fill_seeded(rt, weights, name, first, elements, part->cols, init, out);
            out += elements;
        }
    }
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
        fill_seeded(rt, weights, name, 0, elements, shape[rank - 1], init, out);
        return DIT_OK;
    }
    DIT_TRY(find_matrix(weights, name, rank, shape, &view));
    return read_elements(rt, &view, 0, elements, out);
}

dit_status dit_weights_read_rows(dit_runtime *rt, const dit_weights *weights, const char *name, const int64_t shape[2],
                                 const int32_t *rows, int64_t count, dit_init init, float *out)
{
    dit_tensor_view view;
    int64_t cols = shape[1];
    rt->parameters += count * cols;
    if (rt->ledger.counting_only) return DIT_OK;
    if (weights->file) DIT_TRY(dit_safetensors_require(weights->file, name, 2, shape, &view));
    for (int64_t i = 0; i < count; i++) {
        if (weights->file)
            DIT_TRY(dit_tensor_read(&view, rows[i] * cols, cols, out + i * cols));
        else
            fill_seeded(rt, weights, name, rows[i] * cols, cols, cols, init, out + i * cols);
    }
    return DIT_OK;
}

dit_status dit_weights_load(dit_runtime *rt, const dit_weights *weights, const char *name, int rank,
                            const int64_t *shape, dit_init init, const float **out)
{
    int64_t elements = 1;
    float *data;
    for (int i = 0; i < rank; i++) elements *= shape[i];
    DIT_TRY(dit_arena_fp32(&rt->run, elements, &data));
    *out = data;
    DIT_TRY(dit_weights_read(rt, weights, name, rank, shape, init, data));
    return dit_runtime_upload(rt, data, elements);
}

static bool has_bias(const dit_weights *weights, const char *name)
{
    dit_tensor_view view;
    return weights->file ? dit_safetensors_find(weights->file, name, &view) : !weights->without_biases;
}

/* Puts the rows of a [rows, k] matrix into a new order. */
static void permute_rows(const float *src, int64_t rows, int64_t k, const int64_t *order, float *dst)
{
    for (int64_t row = 0; row < rows; row++) memcpy(dst + row * k, src + order[row] * k, (size_t)k * sizeof *dst);
}

/* Puts the columns of a [rows, k] matrix into a new order. */
static void permute_columns(const float *src, int64_t rows, int64_t k, const int64_t *order, float *dst)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < k; col++) dst[row * k + col] = src[row * k + order[col]];
}

/* Returns the share of a part; a zeroed one means all. */
static dit_share share_of(const dit_linear_part *part)
{
    return part->share.of ? part->share : (dit_share){0, 1};
}

/* Reads `count` elements of a vector from `first` on. */
static dit_status read_slice(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t elements,
                             int64_t first, int64_t count, dit_init init, float *out)
{
    dit_tensor_view view;
    rt->parameters += count;
    if (rt->ledger.counting_only) return DIT_OK;
    if (!weights->file) {
        fill_seeded(rt, weights, name, first, count, elements, init, out);
        return DIT_OK;
    }
    DIT_TRY(dit_safetensors_require(weights->file, name, 1, &elements, &view));
    return dit_tensor_read(&view, first, count, out);
}

static dit_status read_part(dit_runtime *rt, const dit_weights *weights, const dit_linear_part *part, int64_t k,
                            const int64_t *order, const float **weight, const float **bias)
{
    char name[MAX_NAME];
    float *data, *ordered;
    int64_t shape[2] = {part->whole ? part->whole : part->rows, k}, rows = share_count(share_of(part), part->rows),
            first = part->first + share_begin(share_of(part), part->rows);
    snprintf(name, sizeof name, "%s.weight", part->prefix);
    DIT_TRY(dit_arena_host(&rt->step, rows * k, &data));
    DIT_TRY(read_region(rt, weights, name, shape, DIT_INIT_LINEAR,
                        &(region){.cols = k, .first_row = first, .rows = rows, .groups = 1, .group = {{0, k}}}, data));
    *weight = data;
    if (order) {
        DIT_TRY(dit_arena_host(&rt->step, rows * k, &ordered));
        permute_rows(data, dit_runtime_values(rt, rows), k, order, ordered);
        *weight = ordered;
    }
    if (part->columns) {
        DIT_TRY(dit_arena_host(&rt->step, rows * k, &ordered));
        permute_columns(*weight, dit_runtime_values(rt, rows), k, part->columns, ordered);
        *weight = ordered;
    }
    *bias = NULL;
    snprintf(name, sizeof name, "%s.bias", part->prefix);
    if (!has_bias(weights, name)) return DIT_OK;
    DIT_TRY(dit_arena_host(&rt->step, 2 * rows, &data));
    DIT_TRY(read_slice(rt, weights, name, shape[0], first, rows, DIT_INIT_BIAS, data));
    *bias = data;
    if (order && !rt->ledger.counting_only) {
        permute_rows(data, rows, 1, order, data + rows);
        *bias = data + rows;
    }
    return DIT_OK;
}

/* Stages weights in host memory of rt->step, which is still empty while weights load, and frees it at once. */
dit_status dit_weights_linear(dit_runtime *rt, const dit_weights *weights, const dit_linear_part *parts, int count,
                              int64_t k, const int64_t *order, dit_linear *out)
{
    const float *weight[MAX_PARTS], *bias[MAX_PARTS];
    int64_t rows[MAX_PARTS];
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    dit_status st = count <= MAX_PARTS ? DIT_OK : DIT_FAIL(DIT_ERR_INTERNAL, "%d parts", count);
    for (int i = 0; i < count && st == DIT_OK; i++) {
        rows[i] = share_count(share_of(&parts[i]), parts[i].rows);
        st = read_part(rt, weights, &parts[i], k, order, &weight[i], &bias[i]);
        if (st == DIT_OK && i && (bias[i] == NULL) != (bias[0] == NULL))
            st = DIT_FAIL(DIT_ERR_TENSOR_MISSING, "of %s.bias and %s.bias only one exists; both or neither must",
                          parts[0].prefix, parts[i].prefix);
    }
    if (st == DIT_OK) st = rt->kernels->linear_pack(rt->pool, &rt->run, k, count, weight, bias, rows, out);
    dit_arena_release_to(&rt->step, mark);
    return st;
}

static dit_status pack_inputs(dit_runtime *rt, const dit_weights *weights, const char *name, const int64_t shape[2],
                              const region *part, int64_t k, dit_linear *out)
{
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    float *data;
    dit_status st = dit_arena_host(&rt->step, part->rows * k, &data);
    if (st == DIT_OK) st = read_region(rt, weights, name, shape, DIT_INIT_LINEAR, part, data);
    if (st == DIT_OK)
        st = rt->kernels->linear_pack(rt->pool, &rt->run, k, 1, (const float *const[]){data}, NULL, &part->rows, out);
    dit_arena_release_to(&rt->step, mark);
    return st;
}

dit_status dit_weights_inputs(dit_runtime *rt, const dit_weights *weights, const char *prefix, int64_t rows,
                              const int64_t *widths, int count, dit_share share, dit_linear *out, const float **bias)
{
    char name[MAX_NAME];
    int64_t shape[2] = {rows, 0}, k = 0;
    region part = {.rows = rows, .groups = count};
    if (count > MAX_GROUPS) return DIT_FAIL(DIT_ERR_INTERNAL, "%d groups of inputs", count);
    for (int i = 0; i < count; i++) {
        int64_t own = share_count(share, widths[i]);
        part.group[i].first = shape[1] + share_begin(share, widths[i]);
        part.group[i].count = own;
        shape[1] += widths[i];
        k += own;
    }
    part.cols = shape[1];
    snprintf(name, sizeof name, "%s.weight", prefix);
    DIT_TRY(pack_inputs(rt, weights, name, shape, &part, k, out));
    snprintf(name, sizeof name, "%s.bias", prefix);
    *bias = NULL;
    return has_bias(weights, name) ? dit_weights_load(rt, weights, name, 1, &rows, DIT_INIT_BIAS, bias) : DIT_OK;
}

dit_status dit_weights_slice(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t elements,
                             dit_share share, dit_init init, const float **out)
{
    int64_t count = share_count(share, elements);
    float *data;
    DIT_TRY(dit_arena_fp32(&rt->run, count, &data));
    *out = data;
    DIT_TRY(read_slice(rt, weights, name, elements, share_begin(share, elements), count, init, data));
    return dit_runtime_upload(rt, data, count);
}

dit_status dit_weights_linear_named(dit_runtime *rt, const dit_weights *weights, int64_t rows, int64_t k,
                                    dit_linear *out, const char *format, ...)
{
    char prefix[MAX_NAME];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    return dit_weights_linear(rt, weights, &(dit_linear_part){.prefix = prefix, .rows = rows}, 1, k, NULL, out);
}
