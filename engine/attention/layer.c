#include "engine/attention/layer.h"

#include "base/mesh.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double CHECK_PRODUCTS = 3e8; /* the reference operator takes about a second for so many, over all ranks */
static const char *const operands[3] = {"layer.q", "layer.k", "layer.v"};

/* Draws all heads of token `token` of batch entry b of one operand. */
static void draw_token(const dit_layer *layer, uint64_t seed, int operand, int64_t b, int64_t token, float *out)
{
    int64_t width = (operand ? layer->kv_heads : layer->heads) * layer->head_dim;
    uint64_t first = (uint64_t)(b * layer->tokens + token) * (uint64_t)width;
    dit_rng_normal(seed, dit_rng_stream(operands[operand]), first, width, 0, 1, out);
}

/* The column of a row of q, k and v at which operand `operand` begins. */
static int64_t column_of(const dit_layer *layer, int operand)
{
    return operand ? (layer->heads + (operand - 1) * layer->kv_heads) * layer->head_dim : 0;
}

static int64_t row_width(const dit_layer *layer)
{
    return (layer->heads + 2 * layer->kv_heads) * layer->head_dim;
}

static int64_t token_at(const dit_layer_run *run, int64_t row)
{
    return dit_token_position(&run->layer, &run->cut, run->rt->coordinates[DIT_AXIS_RING], run->first_row + row);
}

static dit_status build_mask(dit_layer_run *run)
{
    void *memory;
    if (run->layer.mask == DIT_MASK_NONE) return DIT_OK;
    DIT_TRY(dit_arena_alloc(&run->rt->image, (int64_t)sizeof *run->mask, &memory));
    run->mask = memory;
    dit_mask_build(run->layer.mask, run->layer.tokens, run->mask);
    return DIT_OK;
}

/* Gives every ring rank its order. Without a mask there are no positions, and the operator takes its plain way. */
static dit_status order_tokens(dit_layer_run *run)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&run->rt->image, run->cut.r * (int64_t)sizeof *run->order, &memory));
    run->order = memory;
    for (int64_t k = 0; k < run->cut.r; k++) {
        int64_t rows = dit_token_count(&run->layer, &run->cut, k);
        run->order[k].rows = rows;
        if (!run->layer.causal && !run->mask) continue;
        DIT_TRY(dit_arena_array(&run->rt->image, rows, DIT_DTYPE_INT32, &memory));
        int32_t *position = memory;
        for (int64_t row = 0; row < rows; row++)
            position[row] = (int32_t)dit_token_position(&run->layer, &run->cut, k, row);
        run->order[k].position = position;
        DIT_TRY(dit_runtime_upload(run->rt, position, rows));
    }
    int64_t left = run->order[run->rt->coordinates[DIT_AXIS_RING]].rows - run->first_row;
    run->rows = left < 0 ? 0 : left < run->cut.rows ? left : run->cut.rows;
    return DIT_OK;
}

static dit_status draw_operands(dit_layer_run *run)
{
    const dit_layer *layer = &run->layer;
    int64_t width = row_width(layer), outputs = layer->batch * run->cut.rows * layer->heads * layer->head_dim;
    int64_t inputs = layer->batch * run->cut.rows * width;
    DIT_TRY(dit_arena_activations(&run->rt->image, inputs, &run->qkv));
    DIT_TRY(dit_arena_activations(&run->rt->image, outputs, &run->out));
    if (run->rt->ledger.counting_only) return DIT_OK;
    memset(run->qkv, 0, (size_t)inputs * sizeof *run->qkv);
    for (int64_t b = 0; b < layer->batch; b++)
        for (int64_t row = 0; row < run->rows; row++)
            for (int i = 0; i < 3; i++)
                draw_token(layer, run->seed, i, b, token_at(run, row),
                           run->qkv + (b * run->cut.rows + row) * width + column_of(layer, i));
    return dit_runtime_upload(run->rt, run->qkv, inputs);
}

dit_status dit_layer_run_create(dit_runtime *rt, const dit_layer *layer, const char *policy, uint64_t seed,
                                dit_layer_run *out)
{
    *out = (dit_layer_run){.rt = rt, .layer = *layer, .cut = dit_token_cut_of(&rt->parallel, layer), .seed = seed};
    out->first_row = rt->coordinates[DIT_AXIS_ULYSSES] * out->cut.rows;
    DIT_TRY(build_mask(out));
    DIT_TRY(order_tokens(out));
    DIT_TRY(draw_operands(out));
    dit_attention_shape shape = {.B = layer->batch,
                                 .H = layer->heads,
                                 .D = layer->head_dim,
                                 .tokens = out->cut.rows,
                                 .kv_heads = layer->kv_heads,
                                 .packed = layer->packed,
                                 .inner_ring = (int)layer->inner_ring,
                                 .mask = out->mask,
                                 .order = out->order};
    return dit_attention_create(rt, policy, &shape, &out->attention);
}

dit_status dit_layer_run_volumes(const dit_layer_run *run, dit_volume_table **out)
{
    int size = dit_parallel_world_size(&run->rt->parallel);
    *out = malloc((size_t)size * sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the volumes of %d ranks", size);
    for (int rank = 0; rank < size; rank++) dit_layer_volume(&run->rt->parallel, &run->layer, rank, &(*out)[rank]);
    return DIT_OK;
}

void dit_layer_run_release(dit_layer_run *run)
{
    dit_attention_free(run->attention);
    *run = (dit_layer_run){0};
}

dit_status dit_layer_run_forward(dit_layer_run *run)
{
    const dit_layer *layer = &run->layer;
    int64_t width = row_width(layer), columns = layer->heads * layer->head_dim;
    return dit_attention_forward(run->attention, &(dit_attention_io){.q = run->qkv,
                                                                     .k = run->qkv + column_of(layer, 1),
                                                                     .v = run->qkv + column_of(layer, 2),
                                                                     .ld = width,
                                                                     .batch = run->cut.rows * width,
                                                                     .out = run->out,
                                                                     .ldo = columns,
                                                                     .batch_o = run->cut.rows * columns});
}

/* ---- the whole result -------------------------------------------------------------------------------------------- */

/* Downloads the result of the newest forward. */
static dit_status fetch_result(const dit_layer_run *run)
{
    return dit_runtime_download(run->rt, run->out,
                                run->layer.batch * run->cut.rows * run->layer.heads * run->layer.head_dim);
}

/* Copies this rank's part of the result without padding, [batch, rows, heads D]. */
static dit_status pack_result(const dit_layer_run *run, float **out)
{
    int64_t columns = run->layer.heads * run->layer.head_dim, entry = run->rows * columns;
    *out = NULL;
    DIT_TRY(fetch_result(run));
    *out = malloc((size_t)(run->layer.batch * entry + 1) * sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to pack %lld rows", (long long)run->rows);
    for (int64_t b = 0; b < run->layer.batch; b++)
        memcpy(*out + b * entry, run->out + b * run->cut.rows * columns, (size_t)entry * sizeof **out);
    for (int64_t i = 0; i < run->layer.batch * entry; i++) {
        if (isfinite((*out)[i])) continue;
        free(*out);
        *out = NULL;
        return DIT_FAIL(DIT_ERR_NONFINITE, "number %lld of this rank's result is not finite", (long long)i);
    }
    return DIT_OK;
}

/* Copies the rows that `rank` packed, each to its token. */
static void place_rows(const dit_layer_run *run, int rank, const float *packed, float *whole)
{
    const dit_layer *layer = &run->layer;
    int coordinates[DIT_AXIS_COUNT];
    dit_mesh_coordinates(&run->rt->parallel, rank, coordinates);
    int64_t columns = layer->heads * layer->head_dim, ring_rank = coordinates[DIT_AXIS_RING];
    int64_t first = coordinates[DIT_AXIS_ULYSSES] * run->cut.rows, left = run->order[ring_rank].rows - first;
    int64_t rows = left < 0 ? 0 : left < run->cut.rows ? left : run->cut.rows;
    for (int64_t b = 0; b < layer->batch; b++)
        for (int64_t row = 0; row < rows; row++, packed += columns) {
            int64_t token = dit_token_position(layer, &run->cut, ring_rank, first + row);
            memcpy(whole + (b * layer->tokens + token) * columns, packed, (size_t)columns * sizeof *whole);
        }
}

dit_status dit_layer_run_collect(const dit_layer_run *run, float **out)
{
    const dit_layer *layer = &run->layer;
    int64_t columns = layer->heads * layer->head_dim, elements = layer->batch * layer->tokens * columns;
    dit_comm *world = dit_comm_world();
    int size = dit_comm_size(world);
    float *mine = NULL;
    char *all = NULL;
    int64_t *offsets = calloc((size_t)size + 1, sizeof *offsets);
    dit_status st = offsets ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d sizes", size);
    *out = NULL;
    if (st == DIT_OK) st = pack_result(run, &mine);
    int64_t bytes = layer->batch * run->rows * columns * (int64_t)sizeof *mine;
    if (st == DIT_OK) st = dit_comm_collect(world, mine, bytes, &all, offsets);
    if (st == DIT_OK) *out = malloc((size_t)elements * sizeof **out);
    if (st == DIT_OK && !*out) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld numbers", (long long)elements);
    for (int rank = 0; st == DIT_OK && rank < size; rank++)
        place_rows(run, rank, (const float *)(const void *)(all + offsets[rank]), *out);
    free(all);
    free(mine);
    free(offsets);
    return st;
}

/* ---- against the plain operator ---------------------------------------------------------------------------------- */

/* Draws k and v of every token of a batch entry, [tokens, 2 kv_heads D], and sets the position of each. */
static void draw_keys(const dit_layer_run *run, int64_t b, float *kv, int32_t *position)
{
    const dit_layer *layer = &run->layer;
    int64_t width = layer->kv_heads * layer->head_dim;
    for (int64_t token = 0; token < layer->tokens; token++) {
        draw_token(layer, run->seed, 1, b, token, kv + token * 2 * width);
        draw_token(layer, run->seed, 2, b, token, kv + token * 2 * width + width);
        position[token] = (int32_t)token;
    }
}

static void check_entry(const dit_layer_run *run, const dit_kernels *ref, int64_t b, const float *kv,
                        const int32_t *position, int32_t *own, float *expected, dit_layer_check_sums *sums)
{
    const dit_layer *layer = &run->layer;
    int64_t width = layer->kv_heads * layer->head_dim, columns = layer->heads * layer->head_dim;
    const float *out = run->out + b * run->cut.rows * columns;
    for (int64_t row = 0; row < run->rows; row++) own[row] = (int32_t)token_at(run, row);
    dit_attention_args args = {.B = 1, .H = layer->heads, .Sq = run->rows, .Sk = layer->tokens, .D = layer->head_dim};
    args.q = run->qkv + b * run->cut.rows * row_width(layer), args.ldq = row_width(layer);
    args.k = kv, args.v = kv + width, args.ldk = args.ldv = 2 * width;
    args.kv_group = layer->heads / layer->kv_heads;
    if (layer->causal || run->mask) args.q_position = own, args.k_position = position;
    args.mask = run->mask;
    args.scale = 1.0f / sqrtf((float)layer->head_dim);
    args.out = expected, args.ldo = columns;
    if (run->rows) ref->attention(run->rt->pool, &args);
    for (int64_t i = 0; i < run->rows * columns; i++) {
        double delta = (double)out[i] - expected[i];
        sums->difference += delta * delta;
        sums->norm += (double)expected[i] * expected[i];
    }
}

dit_status dit_layer_run_check(const dit_layer_run *run, dit_layer_check_sums *out)
{
    const dit_layer *layer = &run->layer;
    const dit_kernels *ref;
    int64_t width = layer->kv_heads * layer->head_dim, columns = layer->heads * layer->head_dim;
    *out = (dit_layer_check_sums){0};
    if ((double)(layer->batch * columns) * (double)layer->tokens * (double)layer->tokens > CHECK_PRODUCTS)
        return DIT_OK;
    DIT_TRY(dit_kernels_get("ref", &ref));
    DIT_TRY(fetch_result(run));
    float *kv = malloc((size_t)(layer->tokens * 2 * width) * sizeof *kv);
    float *expected = malloc((size_t)(run->rows * columns + 1) * sizeof *expected);
    int32_t *position = malloc((size_t)(layer->tokens + run->rows) * sizeof *position);
    dit_status st = kv && expected && position ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory to check the layer");
    for (int64_t b = 0; st == DIT_OK && b < layer->batch; b++) {
        draw_keys(run, b, kv, position);
        check_entry(run, ref, b, kv, position, position + layer->tokens, expected, out);
    }
    out->done = st == DIT_OK;
    free(kv);
    free(expected);
    free(position);
    return st;
}
