/* Attention with queries in the vector lanes.
 *
 * A block of TILE_WIDTH queries is transposed once, and scaled by scale * log2 e so that the softmax needs only 2^x.
 * Then for each block of keys:
 *     S^T = K Q^T,   running maximum and P^T = 2^(S^T - max) lane by lane,   O^T += V^T P^T
 * Both products use the tile of cpu/tile.h with k and v broadcast. So head size and number of keys are counts of rows,
 * nothing is padded, and the softmax never reduces across lanes.
 * A job is one head and a few query blocks, which share the packed keys and values. With positions a query block meets
 * only the keys that its last query sees; those of them that its other queries do not see are struck out. With a mask
 * it meets, of each block of keys, those between the first and the last that any of its queries sees.
 * Online softmax: Milakov and Gimelshein, arXiv:1805.02867; tiling: Dao et al., arXiv:2205.14135.
 */
#ifndef DIT_KERNELS_CPU_ATTENTION_H
#define DIT_KERNELS_CPU_ATTENTION_H

#include "kernels/cpu/math.h"
#include "kernels/cpu/tile.h"

#include <assert.h>
#include <math.h>

enum { ATTENTION_KEYS = 192, ATTENTION_BLOCKS = 8, ATTENTION_JOBS_PER_THREAD = 4 };
#define ATTENTION_LOG2_E 1.44269504088896340736
#define ATTENTION_LN_2   0.69314718055994530942
#define ATTENTION_UNSEEN (-1e38f) /* far below any logit, and finite: -inf - -inf is NaN */

static int64_t attention_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t attention_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

typedef struct {
    const dit_attention_args *args;
    dit_pool *pool;
    int64_t keys;           /* per block                                  */
    int64_t blocks_per_job; /* query blocks                               */
    int64_t jobs_per_head;
} attention_plan;

/* One worker's scratch; per query block: [D][TILE_WIDTH] twice and [TILE_WIDTH] twice. */
typedef struct {
    float *queries, *sums, *max, *total; /* [blocks_per_job] of the above            */
    float *p;                            /* [keys][TILE_WIDTH]                       */
    float *k, *v;                        /* [keys][D]                                */
    float *bias;                         /* [keys], in units of log 2                */
} attention_scratch;

static int64_t attention_block_floats(int64_t D)
{
    return 2 * (D + 1) * TILE_WIDTH;
}

static int64_t attention_key_floats(int64_t D)
{
    return TILE_WIDTH + 2 * D + 1;
}

static attention_scratch attention_layout(const attention_plan *plan, int worker)
{
    int64_t D = plan->args->D, blocks = plan->blocks_per_job;
    attention_scratch s = {.queries = dit_pool_scratch(plan->pool, worker)};
    s.sums = s.queries + blocks * D * TILE_WIDTH;
    s.max = s.sums + blocks * D * TILE_WIDTH;
    s.total = s.max + blocks * TILE_WIDTH;
    s.p = s.total + blocks * TILE_WIDTH;
    s.k = s.p + plan->keys * TILE_WIDTH;
    s.v = s.k + plan->keys * D;
    s.bias = s.v + plan->keys * D;
    return s;
}

typedef float attention_quad __attribute__((vector_size(16)));

/* dst[j][i] = src[i][j] for a 4 x 4 block. */
DIT_INLINE void attention_transpose_4x4(const float *src, int64_t src_row, float *dst, int64_t dst_row)
{
    attention_quad r[4], t[4];
    for (int i = 0; i < 4; i++) memcpy(&r[i], src + i * src_row, sizeof r[i]);
    t[0] = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    t[1] = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    t[2] = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    t[3] = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(t[0], t[1], 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(t[0], t[1], 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(t[2], t[3], 0, 1, 4, 5);
    r[3] = __builtin_shufflevector(t[2], t[3], 2, 3, 6, 7);
    for (int i = 0; i < 4; i++) memcpy(dst + i * dst_row, &r[i], sizeof r[i]);
}

/* dst[j][i] = src[i][j], i < rows, j < columns. Row by row of dst: it may be the side whose rows share cache sets. */
static void attention_transpose(int64_t rows, int64_t columns, const float *src, int64_t src_row, float *dst,
                                int64_t dst_row)
{
    int64_t full_rows = rows / 4 * 4, full_columns = columns / 4 * 4;
    for (int64_t j = 0; j < full_columns; j += 4) {
        for (int64_t i = 0; i < full_rows; i += 4)
            attention_transpose_4x4(src + i * src_row + j, src_row, dst + j * dst_row + i, dst_row);
        for (int64_t i = full_rows; i < rows; i++)
            for (int64_t jj = j; jj < j + 4; jj++) dst[jj * dst_row + i] = src[i * src_row + jj];
    }
    for (int64_t j = full_columns; j < columns; j++)
        for (int64_t i = 0; i < rows; i++) dst[j * dst_row + i] = src[i * src_row + j];
}

/* Loads and transposes the queries. Unused lanes hold zeros: they compute a harmless uniform softmax. */
static void attention_load_queries(const dit_attention_args *a, const float *q, int64_t rows, float *queries)
{
    vf scale = vf_set1((float)(a->scale * ATTENTION_LOG2_E));
    if (rows < TILE_WIDTH) memset(queries, 0, (size_t)(a->D * TILE_WIDTH) * sizeof(float));
    for (int64_t i = 0; i < rows; i += 4)
        attention_transpose(attention_min(4, rows - i), a->D, q + i * a->ldq, a->ldq, queries + i, TILE_WIDTH);
    for (int64_t i = 0; i < a->D * TILE_WIDTH; i += VF_LANES) vf_store(queries + i, vf_load(queries + i) * scale);
}

/* Divides `rows` rows of a panel, lane by lane. */
static void attention_divide(int64_t rows, float *panel, const float *total)
{
    vf reciprocal[TILE_VECTORS];
    for (int j = 0; j < TILE_VECTORS; j++) reciprocal[j] = vf_set1(1.0f) / vf_load(total + j * VF_LANES);
    for (int64_t i = 0; i < rows; i++)
        for (int j = 0; j < TILE_VECTORS; j++) {
            float *sum = panel + i * TILE_WIDTH + j * VF_LANES;
            vf_store(sum, vf_load(sum) * reciprocal[j]);
        }
}

static void attention_store(const dit_attention_args *a, int64_t rows, float *sums, const float *total, float *out)
{
    attention_divide(a->D, sums, total);
    attention_transpose(a->D, rows, sums, TILE_WIDTH, out, a->ldo);
}

/* Copies a block of one head's keys or values into dense rows: rows ld apart would cost a page and a cache set each. */
static void attention_pack(const float *src, int64_t ld, int64_t count, int64_t D, float *dst)
{
    for (int64_t i = 0; i < count; i++) memcpy(dst + i * D, src + i * ld, (size_t)D * sizeof(float));
}

/* Caps logits, which are in units of log 2. */
static void attention_cap(float *p, int64_t keys, double cap)
{
    vf most = vf_set1((float)(cap * ATTENTION_LOG2_E)), inverse = vf_set1((float)(1 / (cap * ATTENTION_LOG2_E)));
    for (int64_t i = 0; i < keys * TILE_WIDTH; i += VF_LANES) vf_store(p + i, vf_tanh(vf_load(p + i) * inverse) * most);
}

static void attention_add_bias(float *p, int64_t keys, const float *bias)
{
    for (int64_t i = 0; i < keys; i++)
        for (int j = 0; j < TILE_VECTORS; j++) {
            float *s = p + i * TILE_WIDTH + j * VF_LANES;
            vf_store(s, vf_load(s) + vf_set1(bias[i]));
        }
}

/* Adds to the logits of keys from number `key` on the bias of each pair's distance. Queries lie in the lanes, so a key's
 * biases lie side by side, from `relative` on for key 0 and the first lane. */
static void attention_add_relative(float *p, int64_t key, int64_t keys, int64_t rows, const float *relative)
{
    for (int64_t i = 0; i < keys; i++) {
        const float *of_key = relative - key - i;
        float *s = p + i * TILE_WIDTH;
        for (int64_t j = 0; j < rows; j++) s[j] += of_key[j] * (float)ATTENTION_LOG2_E;
    }
}

/* Strikes out the keys after each query's position. Positions ascend, so a key is hidden from the first few lanes. */
static void attention_strike_out(float *p, int64_t keys, const int32_t *k_position, int64_t rows,
                                 const int32_t *q_position)
{
    int64_t struck = 0;
    if (k_position[keys - 1] <= q_position[0]) return;
    for (int64_t i = 0; i < keys; i++) {
        while (struck < rows && q_position[struck] < k_position[i]) struck++;
        for (int64_t j = 0; j < struck; j++) p[i * TILE_WIDTH + j] = -INFINITY;
    }
}

/* Whether all queries of a tile see all of these keys by one slice. Positions ascend. */
static bool attention_all_seen(const dit_mask *mask, const int32_t *k_position, int64_t keys, const int32_t *q_position,
                               int64_t rows)
{
    int64_t q0 = q_position[0], q1 = q_position[rows - 1], k0 = k_position[0], k1 = k_position[keys - 1];
    for (int i = 0; i < mask->count; i++) {
        const dit_mask_slice *s = &mask->slice[i];
        if (q0 >= s->q_first && q1 < s->q_end && k0 >= s->k_first && k1 < s->k_end && k0 - q1 >= s->low &&
            k1 - q0 <= s->high)
            return true;
    }
    return false;
}

/* Strikes out the keys that the mask hides from each query. keys <= ATTENTION_KEYS. */
static void attention_strike_masked(float *p, int64_t keys, const int32_t *k_position, int64_t rows,
                                    const int32_t *q_position, const dit_mask *mask)
{
    bool seen[ATTENTION_KEYS];
    if (attention_all_seen(mask, k_position, keys, q_position, rows)) return;
    for (int64_t j = 0; j < rows; j++) {
        memset(seen, 0, (size_t)keys * sizeof *seen);
        for (int i = 0; i < mask->count; i++) {
            int64_t first, end;
            dit_mask_slice_keys(&mask->slice[i], q_position[j], &first, &end);
            if (first >= end) continue;
            for (int64_t key = 0; key < keys; key++) seen[key] |= k_position[key] >= first && k_position[key] < end;
        }
        for (int64_t key = 0; key < keys; key++)
            if (!seen[key]) p[key * TILE_WIDTH + j] = -INFINITY;
    }
}

/* Returns each lane's maximum over the keys, by two chains that hide the latency. */
DIT_INLINE vf attention_column_max(const float *p, int64_t keys, vf max)
{
    vf other = max;
    int64_t i = 0;
    for (; i + 1 < keys; i += 2) {
        max = vf_max(vf_load(p + i * TILE_WIDTH), max);
        other = vf_max(vf_load(p + (i + 1) * TILE_WIDTH), other);
    }
    if (i < keys) max = vf_max(vf_load(p + i * TILE_WIDTH), max);
    return vf_max(max, other);
}

/* Turns the logits p into probabilities relative to the new running maximum, adds them to `total`, and rescales what
 * was summed under the old maximum. */
DIT_INLINE void attention_softmax(int64_t keys, int64_t D, int vectors, float *p, float *max, float *total, float *sums)
{
    vf new_max[TILE_VECTORS], row_total[TILE_VECTORS];
    for (int j = 0; j < vectors; j++) {
        vf old = vf_load(max + j * VF_LANES), alpha;
        new_max[j] = attention_column_max(p + j * VF_LANES, keys, old);
        row_total[j] = vf_load(total + j * VF_LANES);
        if (vf_equal(new_max[j], old)) continue;
        alpha = vf_exp2(old - new_max[j]);
        row_total[j] = row_total[j] * alpha;
        vf_store(max + j * VF_LANES, new_max[j]);
        for (float *sum = sums + j * VF_LANES; sum < sums + D * TILE_WIDTH; sum += TILE_WIDTH)
            vf_store(sum, vf_load(sum) * alpha);
    }
    for (int64_t i = 0; i < keys; i++) {
        DIT_UNROLL
        for (int j = 0; j < vectors; j++) {
            vf value = vf_exp2(vf_load(p + i * TILE_WIDTH + j * VF_LANES) - new_max[j]);
            row_total[j] = row_total[j] + value;
            vf_store(p + i * TILE_WIDTH + j * VF_LANES, value);
        }
    }
    for (int j = 0; j < vectors; j++) vf_store(total + j * VF_LANES, row_total[j]);
}

/* Computes `keys` keys from number `key` on against block `block` of the queries of head `h`, which begins at query
 * `row`. */
static void attention_block(const attention_plan *plan, const attention_scratch *s, int64_t h, int64_t key,
                            int64_t keys, int64_t block, int64_t row, int64_t rows)
{
    const dit_attention_args *a = plan->args;
    int64_t D = a->D, vectors = (rows + VF_LANES - 1) / VF_LANES;
    float *sums = s->sums + block * D * TILE_WIDTH;
    float *max = s->max + block * TILE_WIDTH, *total = s->total + block * TILE_WIDTH;
    tile_rows(keys, vectors,
              (tile_args){.depth = D,
                          .a = s->k,
                          .a_row = D,
                          .a_depth = 1,
                          .b_depth = TILE_WIDTH,
                          .b = s->queries + block * D * TILE_WIDTH,
                          .c = s->p,
                          .c_row = TILE_WIDTH,
                          .prefetch = s->k});
    if (a->cap > 0) attention_cap(s->p, keys, a->cap);
    if (a->bias) attention_add_bias(s->p, keys, s->bias);
    if (a->relative) attention_add_relative(s->p, key, keys, rows, a->relative + h * a->ld_relative + row + a->Sk - 1);
    if (a->mask)
        attention_strike_masked(s->p, keys, a->k_position + key, rows, a->q_position + row, a->mask);
    else if (a->q_position)
        attention_strike_out(s->p, keys, a->k_position + key, rows, a->q_position + row);
    if (vectors == TILE_VECTORS)
        attention_softmax(keys, D, TILE_VECTORS, s->p, max, total, sums);
    else
        attention_softmax(keys, D, (int)vectors, s->p, max, total, sums);
    tile_rows(D, vectors,
              (tile_args){.depth = keys,
                          .a = s->v,
                          .a_row = 1,
                          .a_depth = D,
                          .b_depth = TILE_WIDTH,
                          .b = s->p,
                          .c = sums,
                          .c_row = TILE_WIDTH,
                          .prefetch = s->p,
                          .accumulate = true});
}

static void attention_load_keys(const dit_attention_args *a, const attention_scratch *s, int64_t b, int64_t h,
                                int64_t key, int64_t count)
{
    int64_t head = (a->kv_first + h) / (a->kv_group ? a->kv_group : 1);
    attention_pack(a->k + b * a->batch_k + key * a->ldk + head * a->D, a->ldk, count, a->D, s->k);
    attention_pack(a->v + b * a->batch_v + key * a->ldv + head * a->D, a->ldv, count, a->D, s->v);
    if (!a->bias) return;
    for (int64_t i = 0; i < count; i++) s->bias[i] = (float)(a->bias[b * a->Sk + key + i] * ATTENTION_LOG2_E);
}

/* Narrows the `count` keys from `key` on to [*first, *end) of them, counted from `key`, so that `rows` queries from
 * `row` on see none of the others. */
static void attention_hull(const dit_attention_args *a, int64_t key, int64_t count, int64_t row, int64_t rows,
                           int64_t *first, int64_t *end)
{
    int64_t q0 = a->q_position[row], q1 = a->q_position[row + rows - 1];
    int64_t k0 = a->k_position[key], k1 = (int64_t)a->k_position[key + count - 1] + 1, least = k1, most = k0;
    for (int i = 0; i < a->mask->count; i++) {
        const dit_mask_slice *s = &a->mask->slice[i];
        int64_t from = attention_max(q0, s->q_first), to = attention_min(q1, s->q_end - 1);
        int64_t low = attention_max(attention_max(s->k_first, from + s->low), k0);
        int64_t high = attention_min(attention_min(s->k_end, to + s->high + 1), k1);
        if (from > to || low >= high) continue;
        least = attention_min(least, low);
        most = attention_max(most, high);
    }
    *first = *end = 0;
    if (least >= most) return;
    *first = dit_attention_keys_before(a, least) - key;
    *end = dit_attention_keys_before(a, most) - key;
}

/* Clears lanes that met no key but those of bias -INFINITY: their sums count nothing. */
static void attention_clear_unseen(const float *max, float *total, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        if (max[i] == ATTENTION_UNSEEN && total[i] == total[i]) total[i] = INFINITY;
}

static float attention_lse(float max, float total)
{
    return isinf(total) ? -INFINITY : (float)(max * ATTENTION_LN_2 + log((double)total));
}

/* Computes what a block of queries from `row` on has of the `count` keys from `key` on, which are packed. */
static void attention_seen_keys(const attention_plan *plan, const attention_scratch *s, int64_t h, int64_t key,
                                int64_t count, int64_t block, int64_t row, int64_t lanes)
{
    const dit_attention_args *a = plan->args;
    int64_t first = 0, end = count;
    if (a->mask)
        attention_hull(a, key, count, row, lanes, &first, &end);
    else
        end = attention_min(count, dit_attention_seen(a, row + lanes - 1) - key);
    if (first >= end) return;
    attention_scratch own = *s;
    own.k += first * a->D, own.v += first * a->D, own.bias += first;
    attention_block(plan, &own, h, key + first, end - first, block, row, lanes);
}

/* Whether a job's queries see any of these keys. */
static bool attention_meets(const dit_attention_args *a, int64_t key, int64_t count, int64_t row, int64_t rows)
{
    int64_t first = 0, end = count;
    if (a->mask) attention_hull(a, key, count, row, rows, &first, &end);
    return first < end;
}

/* Runs over all blocks of keys that any query of the job sees. */
static void attention_all_keys(const attention_plan *plan, const attention_scratch *s, int64_t b, int64_t h,
                               int64_t row, int64_t rows)
{
    const dit_attention_args *a = plan->args;
    int64_t blocks = (rows + TILE_WIDTH - 1) / TILE_WIDTH, seen = dit_attention_seen(a, row + rows - 1);
    for (int64_t key = 0; key < seen; key += plan->keys) {
        int64_t count = attention_min(plan->keys, seen - key);
        if (!attention_meets(a, key, count, row, rows)) continue;
        attention_load_keys(a, s, b, h, key, count);
        for (int64_t i = 0; i < blocks; i++)
            attention_seen_keys(plan, s, h, key, count, i, row + i * TILE_WIDTH,
                                attention_min(TILE_WIDTH, rows - i * TILE_WIDTH));
    }
}

static void attention_job(const attention_plan *plan, const attention_scratch *s, int64_t b, int64_t h, int64_t row)
{
    const dit_attention_args *a = plan->args;
    int64_t rows = attention_min(plan->blocks_per_job * TILE_WIDTH, a->Sq - row);
    int64_t blocks = (rows + TILE_WIDTH - 1) / TILE_WIDTH, D = a->D;
    memset(s->sums, 0, (size_t)(blocks * D * TILE_WIDTH) * sizeof(float));
    for (int64_t i = 0; i < blocks * TILE_WIDTH; i++) {
        s->max[i] = ATTENTION_UNSEEN;
        s->total[i] = 0;
    }
    for (int64_t i = 0; i < blocks; i++)
        attention_load_queries(a, a->q + b * a->batch_q + (row + i * TILE_WIDTH) * a->ldq + h * D,
                               attention_min(TILE_WIDTH, rows - i * TILE_WIDTH), s->queries + i * D * TILE_WIDTH);
    attention_all_keys(plan, s, b, h, row, rows);
    if (a->bias || a->q_position) attention_clear_unseen(s->max, s->total, rows);
    for (int64_t i = 0; i < blocks; i++)
        attention_store(a, attention_min(TILE_WIDTH, rows - i * TILE_WIDTH), s->sums + i * D * TILE_WIDTH,
                        s->total + i * TILE_WIDTH, a->out + b * a->batch_o + (row + i * TILE_WIDTH) * a->ldo + h * D);
    if (!a->lse) return;
    for (int64_t i = 0; i < rows; i++) a->lse[(b * a->H + h) * a->Sq + row + i] = attention_lse(s->max[i], s->total[i]);
}

static void attention_jobs(void *context, int64_t begin, int64_t end, int worker)
{
    const attention_plan *plan = context;
    attention_scratch s = attention_layout(plan, worker);
    for (int64_t job = begin; job < end; job++) {
        int64_t head = job / plan->jobs_per_head, row = job % plan->jobs_per_head * plan->blocks_per_job * TILE_WIDTH;
        attention_job(plan, &s, head / plan->args->H, head % plan->args->H, row);
    }
}

/* Chooses blocks that fit the scratch: large heads (the VAE has a single one) get fewer queries and keys at a time. */
static attention_plan attention_make_plan(dit_pool *pool, const dit_attention_args *a)
{
    int64_t floats = DIT_POOL_SCRATCH_BYTES / (int64_t)sizeof(float);
    int64_t blocks = (a->Sq + TILE_WIDTH - 1) / TILE_WIDTH, heads = a->B * a->H;
    attention_plan plan = {.args = a, .pool = pool, .keys = ATTENTION_KEYS, .blocks_per_job = ATTENTION_BLOCKS};
    while (plan.blocks_per_job > 1 && plan.blocks_per_job * attention_block_floats(a->D) > floats / 2)
        plan.blocks_per_job /= 2;
    while (plan.blocks_per_job > 1 &&
           heads * blocks / plan.blocks_per_job < (int64_t)ATTENTION_JOBS_PER_THREAD * dit_pool_threads(pool))
        plan.blocks_per_job /= 2;
    while (plan.keys > 1 &&
           plan.blocks_per_job * attention_block_floats(a->D) + plan.keys * attention_key_floats(a->D) > floats)
        plan.keys /= 2;
    assert(plan.blocks_per_job * attention_block_floats(a->D) + plan.keys * attention_key_floats(a->D) <= floats);
    plan.jobs_per_head = (blocks + plan.blocks_per_job - 1) / plan.blocks_per_job;
    return plan;
}

static void cpu_attention_tiled(dit_pool *pool, const dit_attention_args *args)
{
    attention_plan plan = attention_make_plan(pool, args);
    dit_pool_run(pool, args->B * args->H * plan.jobs_per_head, 1, attention_jobs, &plan);
}

#endif
