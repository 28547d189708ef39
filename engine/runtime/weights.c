#include "engine/runtime/weights.h"

#include "base/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = DIT_CALL_PARTS, MAX_NAME = DIT_CALL_NAME, MAX_GROUPS = DIT_CALL_GROUPS };

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

/* Counts `elements` of a parameter, and lists it whole where somebody asks for that. */
static dit_status count_parameter(dit_runtime *rt, const dit_weights *weights, const dit_parameter *parameter,
                                  int64_t elements)
{
    dit_tensor_view view;
    rt->parameters += elements;
    if (weights->file && dit_safetensors_find(weights->file, parameter->name, &view))
        rt->stored_bytes += elements * dit_stored_dtype_bytes(view.dtype);
    return rt->catalogue ? dit_weight_catalogue_add(rt->catalogue, parameter) : DIT_OK;
}

static void fill_task(void *context, int64_t begin, int64_t end, int worker)
{
    const fill_job *job = context;
    (void)worker;
    dit_rng_normal(job->seed, job->stream, (uint64_t)(job->first + begin), end - begin, job->mean, job->deviation,
                   job->out + begin);
}

void dit_weights_fill(dit_pool *pool, uint64_t seed, const char *name, int64_t first, int64_t elements, int64_t fan_in,
                      dit_init init, float *out)
{
    fill_job job = {.seed = seed, .stream = dit_rng_stream(name), .first = first, .out = out};
    switch (init) {
    case DIT_INIT_LINEAR: job.deviation = 1.0f / sqrtf((float)fan_in); break;
    case DIT_INIT_BIAS: job.deviation = 0.02f; break;
    case DIT_INIT_NORM: job.mean = 1.0f, job.deviation = 0.1f; break;
    case DIT_INIT_TABLE: job.deviation = 1.0f / sqrtf((float)fan_in); break;
    }
    dit_pool_run(pool, elements, 1 << 16, fill_task, &job);
}

static void fill_seeded(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t first, int64_t elements,
                        int64_t fan_in, dit_init init, float *out)
{
    dit_weights_fill(rt->pool, weights->seed, name, first, elements, fan_in, init, out);
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

/* Reads elements on all threads; the next reads of the parameter end before element `last`. An error is a thread's own:
 * after one the caller's thread reads again and raises it. */
static dit_status read_elements(dit_runtime *rt, const dit_weights *weights, const dit_tensor_view *view, int64_t first,
                                int64_t elements, int64_t last, float *out)
{
    read_job job = {.view = view, .first = first, .out = out};
    if (weights->stored) return dit_stored_read(weights->stored, rt->pool, view, first, elements, last, out);
    dit_pool_run(rt->pool, elements, 1 << 16, read_task, &job);
    return job.failed ? dit_tensor_read(view, first, elements, out) : DIT_OK;
}

/* Reads a region: whole rows at once, else piece by piece. */
static dit_status read_region(dit_runtime *rt, const dit_weights *weights, const char *name, const int64_t shape[2],
                              dit_init init, const region *part, float *out)
{
    dit_tensor_view view;
    bool whole = part->groups == 1 && part->group[0].count == part->cols;
    int64_t rows = whole ? 1 : part->rows, last = (part->first_row + part->rows) * part->cols, columns = 0;
    for (int i = 0; i < part->groups; i++) columns += part->group[i].count;
    DIT_TRY(count_parameter(rt, weights, &(dit_parameter){name, 2, {shape[0], shape[1]}, part->cols, init},
                            part->rows * columns));
    if (rt->ledger.counting_only) return DIT_OK;
    if (weights->file) DIT_TRY(find_matrix(weights, name, 2, shape, &view));
    for (int64_t row = 0; row < rows; row++) {
        for (int i = 0; i < part->groups; i++) {
            int64_t first = (part->first_row + row) * part->cols + part->group[i].first;
            int64_t elements = part->group[i].count * (whole ? part->rows : 1);
            if (weights->file)
                DIT_TRY(read_elements(rt, weights, &view, first, elements, last, out));
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
    dit_parameter parameter = {.name = name, .rank = rank, .fan_in = shape[rank - 1], .init = init};
    for (int i = 0; i < rank; i++) elements *= parameter.shape[i] = shape[i];
    DIT_TRY(count_parameter(rt, weights, &parameter, elements));
    if (rt->ledger.counting_only) return DIT_OK;
    if (!weights->file) {
        fill_seeded(rt, weights, name, 0, elements, shape[rank - 1], init, out);
        return DIT_OK;
    }
    DIT_TRY(find_matrix(weights, name, rank, shape, &view));
    return read_elements(rt, weights, &view, 0, elements, elements, out);
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

static dit_status load(dit_runtime *rt, const dit_weights *weights, const char *name, int rank, const int64_t *shape,
                       dit_init init, const float **out)
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
/* Interleaves, in place, the two halves of every head of [heads][D, cols]: an operator that rotates neighbours then rotates what
 * stands half a head apart in a file. */
static dit_status interleave_halves(dit_runtime *rt, float *data, int64_t rows, int64_t cols, int64_t D)
{
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    float *head;
    DIT_TRY(dit_arena_host(&rt->step, D * cols, &head));
    for (int64_t first = 0; first < dit_runtime_values(rt, rows); first += D) {
        memcpy(head, data + first * cols, (size_t)(D * cols) * sizeof *head);
        for (int64_t i = 0; i < D; i++)
            memcpy(data + (first + i) * cols, head + (i / 2 + i % 2 * (D / 2)) * cols, (size_t)cols * sizeof *head);
    }
    dit_arena_release_to(&rt->step, mark);
    return DIT_OK;
}

static dit_share share_of(const dit_linear_part *part)
{
    return part->share.of ? part->share : (dit_share){0, 1};
}

/* Reads `count` elements of a vector from `first` on. */
static dit_status read_slice(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t elements,
                             int64_t first, int64_t count, dit_init init, float *out)
{
    dit_tensor_view view;
    DIT_TRY(count_parameter(rt, weights, &(dit_parameter){name, 1, {elements}, elements, init}, count));
    if (rt->ledger.counting_only) return DIT_OK;
    if (!weights->file) {
        fill_seeded(rt, weights, name, first, count, elements, init, out);
        return DIT_OK;
    }
    DIT_TRY(dit_safetensors_require(weights->file, name, 1, &elements, &view));
    return read_elements(rt, weights, &view, first, count, first + count, out);
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
    if (part->halves) DIT_TRY(interleave_halves(rt, data, rows, k, part->halves));
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
    if (part->halves) DIT_TRY(interleave_halves(rt, data, rows, 1, part->halves));
    if (order && !rt->ledger.counting_only) {
        permute_rows(data, rows, 1, order, data + rows);
        *bias = data + rows;
    }
    return DIT_OK;
}

/* Stages weights in host memory of rt->step, which is still empty while weights load, and frees it at once. */
static dit_status pack_linear(dit_runtime *rt, const dit_weights *weights, const dit_linear_part *parts, int count,
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

static dit_status load_inputs(dit_runtime *rt, const dit_weights *weights, const char *prefix, int64_t rows,
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
    return has_bias(weights, name) ? load(rt, weights, name, 1, &rows, DIT_INIT_BIAS, bias) : DIT_OK;
}

static dit_status load_slice(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t elements,
                             dit_share share, int64_t halves, dit_init init, const float **out)
{
    int64_t count = share_count(share, elements);
    float *data;
    DIT_TRY(dit_arena_fp32(&rt->run, count, &data));
    *out = data;
    DIT_TRY(read_slice(rt, weights, name, elements, share_begin(share, elements), count, init, data));
    if (halves) DIT_TRY(interleave_halves(rt, data, count, 1, halves));
    return dit_runtime_upload(rt, data, count);
}

static dit_status load_rows(dit_runtime *rt, const dit_weights *weights, const char *name, const int64_t shape[2],
                            dit_share share, dit_init init, const float **out)
{
    int64_t rows = share_count(share, shape[0]);
    const region part = {.cols = shape[1],
                         .first_row = share_begin(share, shape[0]),
                         .rows = rows,
                         .groups = 1,
                         .group = {{0, shape[1]}}};
    float *data;
    DIT_TRY(dit_arena_fp32(&rt->run, rows * shape[1], &data));
    *out = data;
    DIT_TRY(read_region(rt, weights, name, shape, init, &part, data));
    return dit_runtime_upload(rt, data, rows * shape[1]);
}

/* ---- the public calls: weights of a block that streams are listed, and read when the block is needed --------------- */

/* Returns the runtime that loads `name`. */
static dit_runtime *target_of(dit_runtime *rt, const char *name)
{
    dit_runtime *other = rt->taker ? rt->taker->target(rt->taker, name) : NULL;
    return other ? other : rt;
}

dit_status dit_weights_load(dit_runtime *rt, const dit_weights *weights, const char *name, int rank,
                            const int64_t *shape, dit_init init, const float **out)
{
    dit_runtime *to = target_of(rt, name);
    DIT_TRY(load(to, weights, name, rank, shape, init, out));
    if (to == rt) return DIT_OK;
    dit_weight_call call = {
        .kind = DIT_CALL_LOAD, .weights = *weights, .name = name, .rank = rank, .init = init, .at = *out};
    memcpy(call.shape, shape, (size_t)rank * sizeof *shape);
    return rt->taker->note(rt->taker, &call);
}

dit_status dit_weights_linear(dit_runtime *rt, const dit_weights *weights, const dit_linear_part *parts, int count,
                              int64_t k, const int64_t *order, dit_linear *out)
{
    dit_runtime *to = target_of(rt, parts[0].prefix);
    DIT_TRY(pack_linear(to, weights, parts, count, k, order, out));
    if (to == rt) return DIT_OK;
    dit_weight_call call = {
        .kind = DIT_CALL_LINEAR, .weights = *weights, .name = "", .count = count, .k = k, .at = out->packed};
    for (int i = 0; i < count; i++) {
        call.parts[i] = parts[i];
        if (order || parts[i].columns)
            return DIT_FAIL(DIT_ERR_INTERNAL, "%s: a block's weights in another order", parts[i].prefix);
    }
    return rt->taker->note(rt->taker, &call);
}

dit_status dit_weights_inputs(dit_runtime *rt, const dit_weights *weights, const char *prefix, int64_t rows,
                              const int64_t *widths, int count, dit_share share, dit_linear *out, const float **bias)
{
    dit_runtime *to = target_of(rt, prefix);
    DIT_TRY(load_inputs(to, weights, prefix, rows, widths, count, share, out, bias));
    if (to == rt) return DIT_OK;
    dit_weight_call call = {.kind = DIT_CALL_INPUTS,
                            .weights = *weights,
                            .name = prefix,
                            .shape = {rows},
                            .count = count,
                            .share = share,
                            .at = out->packed};
    memcpy(call.widths, widths, (size_t)count * sizeof *widths);
    return rt->taker->note(rt->taker, &call);
}

dit_status dit_weights_slice(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t elements,
                             dit_share share, int64_t halves, dit_init init, const float **out)
{
    dit_runtime *to = target_of(rt, name);
    DIT_TRY(load_slice(to, weights, name, elements, share, halves, init, out));
    if (to == rt) return DIT_OK;
    return rt->taker->note(rt->taker, &(dit_weight_call){.kind = DIT_CALL_SLICE,
                                                         .weights = *weights,
                                                         .name = name,
                                                         .shape = {elements},
                                                         .share = share,
                                                         .halves = halves,
                                                         .init = init,
                                                         .at = *out});
}

dit_status dit_weights_rows(dit_runtime *rt, const dit_weights *weights, const char *name, int64_t rows, int64_t cols,
                            dit_share share, dit_init init, const float **out)
{
    dit_runtime *to = target_of(rt, name);
    const int64_t shape[2] = {rows, cols};
    DIT_TRY(load_rows(to, weights, name, shape, share, init, out));
    if (to == rt) return DIT_OK;
    return rt->taker->note(rt->taker, &(dit_weight_call){.kind = DIT_CALL_ROWS,
                                                         .weights = *weights,
                                                         .name = name,
                                                         .shape = {rows, cols},
                                                         .share = share,
                                                         .init = init,
                                                         .at = *out});
}

dit_status dit_weights_repeat(dit_runtime *rt, const dit_weight_call *c)
{
    dit_linear linear = {0};
    const float *at = NULL, *bias;
    switch (c->kind) {
    case DIT_CALL_LOAD: DIT_TRY(load(rt, &c->weights, c->name, c->rank, c->shape, c->init, &at)); break;
    case DIT_CALL_LINEAR: DIT_TRY(pack_linear(rt, &c->weights, c->parts, c->count, c->k, NULL, &linear)); break;
    case DIT_CALL_INPUTS:
        DIT_TRY(load_inputs(rt, &c->weights, c->name, c->shape[0], c->widths, c->count, c->share, &linear, &bias));
        break;
    case DIT_CALL_ROWS: DIT_TRY(load_rows(rt, &c->weights, c->name, c->shape, c->share, c->init, &at)); break;
    case DIT_CALL_SLICE:
        DIT_TRY(load_slice(rt, &c->weights, c->name, c->shape[0], c->share, c->halves, c->init, &at));
        break;
    }
    if (linear.packed) at = linear.packed;
    return at == c->at ? DIT_OK : DIT_FAIL(DIT_ERR_INTERNAL, "weights of %s came to another place", c->name);
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
