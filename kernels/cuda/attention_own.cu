/* out = softmax(capped(scale q k^T) + bias + relative) v per head over the keys that a query sees. It runs where the library declines, and
 * the library is checked against it. Contract: kernels/operators.h; flops and bytes: kernels/ref/attention.c.
 *
 *   attention_fwd_mma
 *       takes calls without a bias of distances and a cap of logits, q, k, v all in bf16 or all in fp16, D a multiple of 8 up to 512, rows 16-byte aligned, out in the dtype
 *       of q or in fp32. It uses tensor cores with sums in fp32. A block has 4 warps of 32 queries (D > 128: 16) and
 *       walks over the keys, 64 at a time (D > 96: 48, D > 128: 32). K is copied to shared memory while P V of the keys
 *       before is computed, and V while Q K^T is. S, P and the output stay in registers.
 *       Dao, FlashAttention-2, arXiv:2307.08691; online softmax: Milakov and Gimelshein, arXiv:1805.02867.
 *   attention_fp32
 *       takes everything else: any dtype, strides and head size; products and sums in fp32.
 *
 * Both skip keys that no query of a block sees. Positions never descend, so a query sees some number of keys from the
 * first on, which is found by bisection of the positions on the device; a block's last query sees the most. With a mask
 * of slices, a kernel's parameter, tiles that no slice touches are passed over (mask_tiles.h), by attention_fwd_mma for
 * heads up to 128; a tile that one slice covers is not struck out. A row that sees no key has the maximum -inf and the sum 0, which gives out 0 and lse -inf. A NaN among the logits of a row makes
 * its sum NaN, and so the row, although fmaxf ignores NaN.
 */
#include "kernels/cuda/mask_tiles.h"
#include "kernels/cuda/mma.h"

#include <math.h>
#include <type_traits>

namespace
{

/* dit_attention_args with views instead of addresses; strides in elements. */
struct attention_call {
    view q, k, v, bias, relative, out, lse; /* bias, relative, lse: data NULL for none */
    const int32_t *q_position, *k_position; /* both NULL, or both not */
    int64_t ldq, ldk, ldv, ldo, batch_q, batch_k, batch_v, batch_o, ld_relative;
    int B, H, Sq, Sk, D, kv_group, kv_first;
    float scale, cap;
};

/* What queries see is a type: all keys, the first ones (by positions, and with a bias), or a mask of slices. */
struct sees_all {
};
struct sees_first {
};
template <class SEEN> constexpr bool is_sliced = std::is_same<SEEN, dit_mask>::value;
static_assert(sizeof(attention_call) + sizeof(dit_mask) + 16 <= 4096, "a kernel's parameters are 4 KB at most");

/* What one block works on. */
struct attention_block {
    int b, h, row0;
};

__device__ __forceinline__ int key_head(const attention_call &call, int h)
{
    return (call.kv_first + h) / call.kv_group;
}

/* Returns how many keys, from the first on, that query sees. */
__device__ __forceinline__ int keys_seen(const attention_call &call, int query)
{
    if (!call.q_position) return call.Sk;
    int low = 0, high = call.Sk, position = call.q_position[query];
    while (low < high) { /* finds the first key after the query's position */
        int middle = low + (high - low) / 2;
        if (call.k_position[middle] <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the block's work in a grid [tiles of queries, H, B]. Tiles vary fastest, so that blocks that run together
 * read the same keys; where later queries see more keys, the longest tiles come first. */
__device__ __forceinline__ attention_block block_of(const attention_call &call, int queries)
{
    int tile = (int)(call.q_position ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    return {(int)blockIdx.z, (int)blockIdx.y, tile * queries};
}

/* Returns the positions of queries from `row` and keys from `key` on, as far as there are any. */
__device__ __forceinline__ mask_tile tile_at(const attention_call &call, int row, int rows, int key, int keys)
{
    return {call.q_position[min(row, call.Sq - 1)], call.q_position[min(row + rows, call.Sq) - 1], call.k_position[key],
            call.k_position[min(key + keys, call.Sk) - 1]};
}

/* Returns the first tile of KEYS keys, from `key` on, of which a query of the block may see one. */
template <int KEYS, class SEEN>
__device__ __forceinline__ int next_tile(const attention_call &call, const SEEN &seen, int row0, int queries, int key)
{
    if constexpr (is_sliced<SEEN>)
        while (key < call.Sk && !mask_touches(seen, tile_at(call, row0, queries, key, KEYS))) key += KEYS;
    return key;
}

/* Returns where the keys end that the block's queries see. */
template <class SEEN> __device__ __forceinline__ int keys_end(const attention_call &call, int row0, int queries)
{
    if (!std::is_same<SEEN, sees_first>::value) return call.Sk;
    return keys_seen(call, min(row0 + queries, call.Sq) - 1);
}

/* ---- tensor cores ------------------------------------------------------------------------------------------------ */

constexpr float LOG2_E = 1.44269504088896340736f, LN_2 = 0.69314718055994530942f;
enum { MMA_WARPS = 4, MMA_THREADS = MMA_WARPS * WARP, QUAD = 4, MMA_PADDING = 8 };

/* Tiles for head sizes up to WIDTH (a multiple of 16; channels beyond D are zeros). A block computes OUT channels of
 * the output, as many as there are registers for. Rows in shared memory are 16 bytes longer than needed, so that they
 * lie an odd number of 16-byte pieces apart and the eight rows of an ldmatrix matrix lie in different banks. */
template <int WIDTH, int OUT> struct mma_tile {
    static constexpr int width = WIDTH, out = OUT;
    static constexpr int row_tiles = WIDTH <= 128 ? 2 : 1; /* of 16 queries, per warp */
    static constexpr int warp_queries = 16 * row_tiles;
    static constexpr int queries = MMA_WARPS * warp_queries;
    static constexpr int keys = WIDTH <= 96 ? 64 : WIDTH <= 128 ? 48 : 32; /* at a time; registers limit it */
    static constexpr int stride = WIDTH + MMA_PADDING, v_stride = OUT + MMA_PADDING;
    static constexpr bool keeps_q = WIDTH <= 64; /* in registers; wider tiles need these for the output */
    static constexpr int shared_bytes = ((queries + keys) * stride + keys * v_stride) * (int)sizeof(uint16_t);
};

/* One warp's part. A lane has rows g and g + 8 of each row tile (mma.h). */
template <class TILE> struct mma_state {
    float out[TILE::row_tiles][TILE::out / 8][4];
    float scores[TILE::row_tiles][TILE::keys / 8][4];
    float max[TILE::row_tiles][2]; /* of the logits so far, in units of log 2 */
    float sum[TILE::row_tiles][2]; /* of this lane's columns only */
    int seen[TILE::row_tiles][2];  /* keys that the row sees; with a mask of slices, its position */
    float bias[2];                 /* of keys 2 lane, 2 lane + 1 of the tile, in units of log 2 */
};

/* What a thread copies: one piece of channels, in every `step`-th row. */
template <int WIDTH> struct mma_copy {
    static constexpr int pieces = WIDTH / 8, step = MMA_THREADS / pieces; /* 16-byte pieces of a row; rows apart */
    static constexpr int beyond = 1 << 30;
    int row;   /* its first row; beyond all rows where the thread's channels do not exist */
    int place; /* of its first piece in a tile */
    __device__ __forceinline__ mma_copy(int D)
    {
        row = channel() < D ? own_row() : beyond;
        place = own_row() * (WIDTH + MMA_PADDING) + channel();
    }
    static __device__ __forceinline__ int own_row() { return (int)threadIdx.x / pieces; }
    static __device__ __forceinline__ int channel() { return (int)threadIdx.x % pieces * 8; }
    static __device__ __forceinline__ const uint16_t *source(const uint16_t *first, int64_t ld)
    {
        return first + own_row() * ld + channel();
    }
};

/* Copies ROWS rows, ld apart, to shared memory; rows beyond `rows` become zeros. `source` is the thread's own
 * (mma_copy) and moves on to the next tile's rows: one running address, because registers are scarce. */
template <int ROWS, int WIDTH>
__device__ __forceinline__ void copy_rows(const mma_copy<WIDTH> &copy, uint16_t *tile, const uint16_t *&source,
                                          int64_t ld, int rows)
{
    constexpr int step = mma_copy<WIDTH>::step, passes = (ROWS + step - 1) / step;
    if (MMA_THREADS % mma_copy<WIDTH>::pieces && copy.own_row() >= step) return;
    int left = rows - copy.row;
#pragma unroll
    for (int i = 0; i < passes; i++) {
        if (ROWS % step == 0 || copy.own_row() + i * step < ROWS)
            cp_async_16(tile + copy.place + i * step * (WIDTH + MMA_PADDING), source, i * step < left);
        source += step * ld;
    }
    source += (ROWS - passes * step) * ld;
}

template <class TILE, class SEEN>
__device__ __forceinline__ void state_begin(mma_state<TILE> &s, const attention_call &call, int warp_row0)
{
    constexpr bool MASKED = !std::is_same<SEEN, sees_all>::value;
    int lane = (int)threadIdx.x % WARP, seen = call.Sk, row = min(warp_row0 + lane % TILE::warp_queries, call.Sq - 1);
    if (MASKED) seen = is_sliced<SEEN> ? call.q_position[row] : keys_seen(call, row);
#pragma unroll
    for (int m = 0; m < TILE::row_tiles; m++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            s.seen[m][half] = MASKED ? __shfl_sync((unsigned)WHOLE_WARP, seen, m * 16 + half * 8 + lane / QUAD) : seen;
            s.max[m][half] = -INFINITY;
            s.sum[m][half] = 0;
        }
#pragma unroll
        for (int n = 0; n < TILE::out / 8; n++) s.out[m][n][0] = s.out[m][n][1] = s.out[m][n][2] = s.out[m][n][3] = 0;
    }
}

/* Loads the warp's Q, channels from 16 k on, as A of the product. */
template <class TILE>
__device__ __forceinline__ void load_q(uint32_t q[TILE::row_tiles][4], const uint16_t *warp_q, int k)
{
    int lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int m = 0; m < TILE::row_tiles; m++)
        ldmatrix_x4(q[m], warp_q + (m * 16 + lane % 16) * TILE::stride + k * 16 + lane / 16 * 8);
}

/* scores = Q K^T. `kept` is Q in registers, if the tile keeps it there. */
template <dit_dtype DTYPE, class TILE, int KEPT>
__device__ __forceinline__ void compute_scores(mma_state<TILE> &s, const uint32_t (&kept)[KEPT][TILE::row_tiles][4],
                                               const uint16_t *warp_q, const uint16_t *k_tile)
{
    int lane = (int)threadIdx.x % WARP;
    const uint16_t *k_row = k_tile + (lane % 8 + lane / 16 * 8) * TILE::stride + lane / 8 % 2 * 8;
#pragma unroll
    for (int m = 0; m < TILE::row_tiles; m++)
#pragma unroll
        for (int n = 0; n < TILE::keys / 8; n++)
            s.scores[m][n][0] = s.scores[m][n][1] = s.scores[m][n][2] = s.scores[m][n][3] = 0;
#pragma unroll(TILE::keeps_q ? TILE::width / 16 : 2)
    for (int k = 0; k < TILE::width / 16; k++) {
        uint32_t q[TILE::row_tiles][4];
        if (TILE::keeps_q)
            memcpy(q, kept[TILE::keeps_q ? k : 0], sizeof q);
        else
            load_q<TILE>(q, warp_q, k);
#pragma unroll
        for (int n = 0; n < TILE::keys / 16; n++) {
            uint32_t b[4]; /* of keys 16 n to 16 n + 7, then of the next eight */
            ldmatrix_x4(b, k_row + n * 16 * TILE::stride + k * 16);
#pragma unroll
            for (int m = 0; m < TILE::row_tiles; m++) {
                mma_m16n8k16<DTYPE>(s.scores[m][2 * n], q[m], b);
                mma_m16n8k16<DTYPE>(s.scores[m][2 * n + 1], q[m], b + 2);
            }
        }
    }
}

/* Loads the lane's share of the biases of keys from key0 on. */
template <class TILE>
__device__ __forceinline__ void load_bias(mma_state<TILE> &s, const attention_call &call, int b, int key0)
{
    int lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int in_tile = 2 * lane + i, key = key0 + in_tile;
        bool there = in_tile < TILE::keys && key < call.Sk;
        s.bias[i] = there ? view_load(call.bias, (int64_t)b * call.Sk + key) * LOG2_E : 0.0f;
    }
}

/* scores = factor scores + bias; from here on scores are in units of log 2. */
template <class TILE> __device__ __forceinline__ void add_bias(mma_state<TILE> &s, float factor)
{
    int lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int n = 0; n < TILE::keys / 8; n++) {
        float even = __shfl_sync((unsigned)WHOLE_WARP, s.bias[0], n * QUAD + lane % QUAD);
        float odd = __shfl_sync((unsigned)WHOLE_WARP, s.bias[1], n * QUAD + lane % QUAD);
#pragma unroll
        for (int m = 0; m < TILE::row_tiles; m++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                s.scores[m][n][2 * half] = fmaf(s.scores[m][n][2 * half], factor, even);
                s.scores[m][n][2 * half + 1] = fmaf(s.scores[m][n][2 * half + 1], factor, odd);
            }
        }
    }
}

/* Hides keys that a row does not see, and those beyond the last. */
template <class TILE> __device__ __forceinline__ void hide_unseen(mma_state<TILE> &s, int key0)
{
    int column = key0 + 2 * ((int)threadIdx.x % QUAD);
#pragma unroll
    for (int m = 0; m < TILE::row_tiles; m++)
#pragma unroll
        for (int n = 0; n < TILE::keys / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (column + 8 * n + i % 2 >= s.seen[m][i / 2]) s.scores[m][n][i] = -INFINITY;
}

/* Hides keys that no slice shows a row, and those beyond the last. */
template <class TILE>
__device__ __forceinline__ void hide_unseen(mma_state<TILE> &s, const attention_call &call, const dit_mask &mask,
                                            const mask_slices &touching, int key0)
{
    int column = key0 + 2 * ((int)threadIdx.x % QUAD), position[TILE::keys / 8][2];
    unsigned shown[TILE::row_tiles][2] = {}; /* a bit for each of the lane's columns */
#pragma unroll
    for (int n = 0; n < TILE::keys / 8; n++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            position[n][i] = column + 8 * n + i < call.Sk ? call.k_position[column + 8 * n + i] : -1;
    mask_for_each(mask, touching, [&](const dit_mask_slice &slice) {
#pragma unroll
        for (int m = 0; m < TILE::row_tiles; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int first, end;
                mask_keys(slice, s.seen[m][half], &first, &end);
#pragma unroll
                for (int n = 0; n < TILE::keys / 8; n++)
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        if (position[n][i] >= first && position[n][i] < end) shown[m][half] |= 1u << (2 * n + i);
            }
    });
#pragma unroll
    for (int m = 0; m < TILE::row_tiles; m++)
#pragma unroll
        for (int n = 0; n < TILE::keys / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (!(shown[m][i / 2] >> (2 * n + i % 2) & 1)) s.scores[m][n][i] = -INFINITY;
}

/* Replaces the scores of one of the lane's rows by P. Returns the factor that brings earlier sums to the new
 * maximum. */
template <class TILE> __device__ __forceinline__ float softmax_row(mma_state<TILE> &s, int m, int half, float factor)
{
    float top = -INFINITY, sum = 0;
#pragma unroll
    for (int n = 0; n < TILE::keys / 8; n++)
        top = fmaxf(top, fmaxf(s.scores[m][n][2 * half], s.scores[m][n][2 * half + 1]));
    top = fmaxf(top, __shfl_xor_sync((unsigned)WHOLE_WARP, top, 1));
    top = fmaxf(top, __shfl_xor_sync((unsigned)WHOLE_WARP, top, 2));
    top = fmaxf(s.max[m][half], top * factor);
    float base = top == -INFINITY ? 0.0f : top; /* -inf - -inf is NaN */
    float shrink = exp2_fast(s.max[m][half] - base);
#pragma unroll
    for (int n = 0; n < TILE::keys / 8; n++)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; i++) {
            s.scores[m][n][i] = exp2_fast(fmaf(s.scores[m][n][i], factor, -base));
            sum += s.scores[m][n][i];
        }
    s.max[m][half] = top;
    s.sum[m][half] = s.sum[m][half] * shrink + sum;
    return shrink;
}

/* Computes P of all rows. Outputs are rescaled only if some row of the warp has a new maximum, which soon gets rare. */
template <class TILE> __device__ __forceinline__ void softmax(mma_state<TILE> &s, float factor)
{
    float shrink[TILE::row_tiles][2];
    bool same = true;
#pragma unroll
    for (int m = 0; m < TILE::row_tiles; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            shrink[m][half] = softmax_row<TILE>(s, m, half, factor);
            same = same && shrink[m][half] == 1.0f;
        }
    if (__all_sync((unsigned)WHOLE_WARP, same)) return;
#pragma unroll
    for (int m = 0; m < TILE::row_tiles; m++)
#pragma unroll
        for (int n = 0; n < TILE::out / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) s.out[m][n][i] *= shrink[m][i / 2];
}

/* out += P V. */
template <dit_dtype DTYPE, class TILE>
__device__ __forceinline__ void add_values(mma_state<TILE> &s, const uint16_t *v_tile)
{
    int lane = (int)threadIdx.x % WARP;
    const uint16_t *v_row = v_tile + lane % 16 * TILE::v_stride + lane / 16 * 8;
#pragma unroll
    for (int k = 0; k < TILE::keys / 16; k++) {
        uint32_t p[TILE::row_tiles][4];
#pragma unroll
        for (int m = 0; m < TILE::row_tiles; m++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float *pair = s.scores[m][2 * k + i / 2] + i % 2 * 2;
                p[m][i] = pack_pair<DTYPE>(pair[0], pair[1]);
            }
#pragma unroll
        for (int n = 0; n < TILE::out / 16; n++) {
            uint32_t b[4]; /* of channels 16 n to 16 n + 7, then of the next eight */
            ldmatrix_x4_trans(b, v_row + k * 16 * TILE::v_stride + n * 16);
#pragma unroll
            for (int m = 0; m < TILE::row_tiles; m++) {
                mma_m16n8k16<DTYPE>(s.out[m][2 * n], p[m], b);
                mma_m16n8k16<DTYPE>(s.out[m][2 * n + 1], p[m], b + 2);
            }
        }
    }
}

/* Stores the lane's part of one row of out, in DTYPE or fp32; the first of the row's four lanes also stores lse. */
template <dit_dtype DTYPE, class TILE>
__device__ __forceinline__ void store_row(mma_state<TILE> &s, const attention_call &call, attention_block block,
                                          int channel0, int m, int half, int row)
{
    int lane = (int)threadIdx.x % WARP;
    float sum = s.sum[m][half];
    sum += __shfl_xor_sync((unsigned)WHOLE_WARP, sum, 1);
    sum += __shfl_xor_sync((unsigned)WHOLE_WARP, sum, 2);
    if (row >= call.Sq) return;
    float inverse = sum == 0 ? 0.0f : 1 / sum;
    int64_t first = block.b * call.batch_o + row * call.ldo + (int64_t)block.h * call.D + channel0 + lane % QUAD * 2;
#pragma unroll
    for (int n = 0; n < TILE::out / 8; n++) {
        float even = s.out[m][n][2 * half] * inverse, odd = s.out[m][n][2 * half + 1] * inverse;
        if (channel0 + n * 8 >= call.D) continue;
        if (call.out.dtype == DIT_DTYPE_FP32)
            *(float2 *)((float *)call.out.data + first + n * 8) = make_float2(even, odd);
        else
            *(uint32_t *)((uint16_t *)call.out.data + first + n * 8) = pack_pair<DTYPE>(even, odd);
    }
    if (call.lse.data && lane % QUAD == 0 && channel0 == 0)
        view_store(call.lse, ((int64_t)block.b * call.H + block.h) * call.Sq + row,
                   (s.max[m][half] + log2f(sum)) * LN_2);
}

/* Computes attention for the output's channels from channel0 on. */
template <dit_dtype DTYPE, class TILE, class SEEN>
__global__ void __launch_bounds__(MMA_THREADS)
    attention_fwd_mma(attention_call call, int channel0, const __grid_constant__ SEEN seen)
{
    constexpr bool MASKED = !std::is_same<SEEN, sees_all>::value;
    SHARED(uint16_t, q_tile);
    uint16_t *k_tile = q_tile + TILE::queries * TILE::stride, *v_tile = k_tile + TILE::keys * TILE::stride;
    attention_block block = block_of(call, TILE::queries);
    int warp = (int)threadIdx.x / WARP, warp_row0 = block.row0 + warp * TILE::warp_queries;
    int64_t q_first = block.b * call.batch_q + block.row0 * call.ldq + (int64_t)block.h * call.D;
    int64_t head = (int64_t)key_head(call, block.h) * call.D;
    const int first = next_tile<TILE::keys>(call, seen, block.row0, TILE::queries, 0);
    mma_copy<TILE::width> copy(call.D);
    mma_copy<TILE::out> v_copy(call.D - channel0);
    const uint16_t *q = copy.source((const uint16_t *)call.q.data + q_first, call.ldq);
    const uint16_t *k = copy.source((const uint16_t *)call.k.data + block.b * call.batch_k + head, call.ldk);
    const uint16_t *v =
        v_copy.source((const uint16_t *)call.v.data + block.b * call.batch_v + head + channel0, call.ldv);
    k += first * call.ldk, v += first * call.ldv;

    copy_rows<TILE::queries>(copy, q_tile, q, call.ldq, call.Sq - block.row0);
    copy_rows<TILE::keys>(copy, k_tile, k, call.ldk, call.Sk - first);
    cp_async_commit();

    mma_state<TILE> s;
    state_begin<TILE, SEEN>(s, call, warp_row0);
    int end = keys_end<SEEN>(call, block.row0, TILE::queries);
    bool biased = MASKED && call.bias.data;
    float factor = call.scale * LOG2_E;
    const uint16_t *warp_q = q_tile + warp * TILE::warp_queries * TILE::stride;
    uint32_t kept[TILE::keeps_q ? TILE::width / 16 : 1][TILE::row_tiles][4];

    for (int key0 = first, next; key0 < end; key0 = next) {
        next = next_tile<TILE::keys>(call, seen, block.row0, TILE::queries, key0 + TILE::keys);
        const int64_t skipped = next - key0 - TILE::keys;
        bool sees = true, hides = key0 + TILE::keys > s.seen[0][0]; /* a lane's first row sees least, its last most */
        mask_tile tile = {};
        if constexpr (is_sliced<SEEN>) {
            tile = tile_at(call, warp_row0, TILE::warp_queries, key0, TILE::keys);
            sees = mask_touches(seen, tile);
            hides = key0 + TILE::keys > call.Sk || !mask_covers(seen, tile);
        } else if (MASKED) {
            sees = __any_sync((unsigned)WHOLE_WARP, key0 < s.seen[TILE::row_tiles - 1][1]);
            hides = __any_sync((unsigned)WHOLE_WARP, hides);
        }
        cp_async_wait<0>();
        __syncthreads(); /* K has arrived, and no thread still reads the last V */
        copy_rows<TILE::keys>(v_copy, v_tile, v, call.ldv, call.Sk - key0);
        v += skipped * call.ldv;
        cp_async_commit();
        if (TILE::keeps_q && key0 == first) {
#pragma unroll
            for (int i = 0; i < (TILE::keeps_q ? TILE::width / 16 : 0); i++) load_q<TILE>(kept[i], warp_q, i);
        }
        if (sees) compute_scores<DTYPE, TILE>(s, kept, warp_q, k_tile);
        if (biased) load_bias<TILE>(s, call, block.b, key0);
        cp_async_wait<0>();
        __syncthreads(); /* V has arrived, and no thread still reads this K */
        if (next < end) {
            k += skipped * call.ldk;
            copy_rows<TILE::keys>(copy, k_tile, k, call.ldk, call.Sk - next);
            cp_async_commit();
        }
        if (!sees) continue;
        if (biased) add_bias<TILE>(s, factor);
        if constexpr (is_sliced<SEEN>) {
            if (hides) hide_unseen<TILE>(s, call, seen, mask_slices_of(seen, tile), key0);
        } else if (hides) {
            hide_unseen<TILE>(s, key0);
        }
        softmax<TILE>(s, biased ? 1.0f : factor);
        add_values<DTYPE, TILE>(s, v_tile);
    }
    cp_async_wait<0>(); /* for a block that sees no key and never waited */
#pragma unroll
    for (int m = 0; m < TILE::row_tiles; m++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            store_row<DTYPE, TILE>(s, call, block, channel0, m, half,
                                   warp_row0 + m * 16 + half * 8 + (int)threadIdx.x % WARP / QUAD);
}

/* ---- anything else ----------------------------------------------------------------------------------------------- */

/* 16 x 16 threads. Thread (x, y) has queries 4 y + i and keys x + 16 j of 64, so half a warp shares its queries. */
enum { FP32_SIDE = 16, FP32_THREADS = FP32_SIDE * FP32_SIDE, FP32_EACH = 4, FP32_TILE = FP32_SIDE * FP32_EACH };
enum { FP32_CHANNELS = 32, FP32_STRIDE = FP32_CHANNELS + 1, FP32_P_STRIDE = FP32_TILE + 1 };
constexpr int FP32_SHARED_BYTES = (2 * FP32_TILE * FP32_STRIDE + FP32_TILE * FP32_P_STRIDE) * (int)sizeof(float);

/* Loads rows [0, rows) of `source`, ld apart, channels [channel, channel + 32) up to `end`; the rest becomes zeros. */
__device__ __forceinline__ void load_fp32(float *tile, view source, int64_t first, int64_t ld, int rows, int channel,
                                          int end)
{
    for (int i = (int)threadIdx.x; i < FP32_TILE * FP32_CHANNELS; i += FP32_THREADS) {
        int row = i / FP32_CHANNELS, c = i % FP32_CHANNELS;
        bool there = row < rows && channel + c < end;
        tile[row * FP32_STRIDE + c] = there ? view_load(source, first + row * ld + channel + c) : 0.0f;
    }
}

/* scores[i][j] += q_tile k_tile^T over the channels of the tiles. */
__device__ __forceinline__ void add_products(float scores[FP32_EACH][FP32_EACH], const float *q_tile,
                                             const float *k_tile)
{
    int x = (int)threadIdx.x % FP32_SIDE, y = (int)threadIdx.x / FP32_SIDE;
#pragma unroll 8
    for (int c = 0; c < FP32_CHANNELS; c++) {
        float q[FP32_EACH], k[FP32_EACH];
#pragma unroll
        for (int i = 0; i < FP32_EACH; i++) {
            q[i] = q_tile[(y * FP32_EACH + i) * FP32_STRIDE + c];
            k[i] = k_tile[(x + FP32_SIDE * i) * FP32_STRIDE + c];
        }
#pragma unroll
        for (int i = 0; i < FP32_EACH; i++)
#pragma unroll
            for (int j = 0; j < FP32_EACH; j++) scores[i][j] = fmaf(q[i], k[j], scores[i][j]);
    }
}

/* Returns the maximum over the half warp that shares its queries. */
__device__ __forceinline__ float half_warp_max(float v)
{
#pragma unroll
    for (int step = FP32_SIDE / 2; step > 0; step /= 2) v = fmaxf(v, __shfl_xor_sync((unsigned)WHOLE_WARP, v, step));
    return v;
}

__device__ __forceinline__ float half_warp_sum(float v)
{
#pragma unroll
    for (int step = FP32_SIDE / 2; step > 0; step /= 2) v += __shfl_xor_sync((unsigned)WHOLE_WARP, v, step);
    return v;
}

/* One thread's part: 4 queries, and channels x, x + 16, ... of the block's WIDTH output channels. */
template <int WIDTH> struct fp32_state {
    float out[FP32_EACH][WIDTH / FP32_SIDE];
    float max[FP32_EACH], sum[FP32_EACH]; /* over all keys of the half warp */
    int seen[FP32_EACH];                  /* keys that the query sees; with a mask of slices, its position */
};

/* Returns the bias of a pair's distance; 0 for a query or key beyond the last. */
__device__ __forceinline__ float relative_bias(const attention_call &call, int h, int query, int key)
{
    if (query >= call.Sq || key >= call.Sk) return 0.0f;
    return view_load(call.relative, h * call.ld_relative + query - key + call.Sk - 1);
}

/* Hides the keys that a query does not see, and those beyond the last. */
template <int WIDTH, class SEEN>
__device__ __forceinline__ void hide_unseen(const fp32_state<WIDTH> &s, float scores[FP32_EACH][FP32_EACH],
                                            const attention_call &call, const SEEN &seen, int row0, int key0)
{
    int key = key0 + (int)threadIdx.x % FP32_SIDE;
    bool shown[FP32_EACH][FP32_EACH];
#pragma unroll
    for (int i = 0; i < FP32_EACH; i++)
#pragma unroll
        for (int j = 0; j < FP32_EACH; j++) shown[i][j] = !is_sliced<SEEN> && key + FP32_SIDE * j < s.seen[i];
    if constexpr (is_sliced<SEEN>)
        mask_for_each(seen, mask_slices_of(seen, tile_at(call, row0, FP32_TILE, key0, FP32_TILE)),
                      [&](const dit_mask_slice &slice) {
#pragma unroll
                          for (int i = 0; i < FP32_EACH; i++)
#pragma unroll
                              for (int j = 0; j < FP32_EACH; j++) {
                                  int at = key + FP32_SIDE * j, first, end, position;
                                  position = at < call.Sk ? call.k_position[at] : -1;
                                  mask_keys(slice, s.seen[i], &first, &end);
                                  shown[i][j] = shown[i][j] || (position >= first && position < end);
                              }
                      });
#pragma unroll
    for (int i = 0; i < FP32_EACH; i++)
#pragma unroll
        for (int j = 0; j < FP32_EACH; j++)
            if (!shown[i][j]) scores[i][j] = -INFINITY;
}

/* Turns a tile's products into logits. */
template <int WIDTH, class SEEN>
__device__ __forceinline__ void finish_logits(const fp32_state<WIDTH> &s, float scores[FP32_EACH][FP32_EACH],
                                              const attention_call &call, const SEEN &seen, attention_block block,
                                              int key0)
{
    int x = (int)threadIdx.x % FP32_SIDE, y = (int)threadIdx.x / FP32_SIDE;
    float bias[FP32_EACH];
#pragma unroll
    for (int j = 0; j < FP32_EACH; j++) {
        int key = key0 + x + FP32_SIDE * j;
        bias[j] = call.bias.data && key < call.Sk ? view_load(call.bias, (int64_t)block.b * call.Sk + key) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < FP32_EACH; i++)
#pragma unroll
        for (int j = 0; j < FP32_EACH; j++) {
            if (call.cap > 0) scores[i][j] = call.cap * tanhf(scores[i][j] * call.scale / call.cap);
            scores[i][j] = fmaf(scores[i][j], call.cap > 0 ? 1.0f : call.scale, bias[j]);
            if (call.relative.data)
                scores[i][j] += relative_bias(call, block.h, block.row0 + y * FP32_EACH + i, key0 + x + FP32_SIDE * j);
        }
    hide_unseen<WIDTH>(s, scores, call, seen, block.row0, key0);
}

/* Replaces logits by P, in shared memory, and brings earlier sums to the new maximum. */
template <int WIDTH>
__device__ __forceinline__ void softmax_fp32(fp32_state<WIDTH> &s, const float scores[FP32_EACH][FP32_EACH],
                                             float *p_tile)
{
    int x = (int)threadIdx.x % FP32_SIDE, y = (int)threadIdx.x / FP32_SIDE;
#pragma unroll
    for (int i = 0; i < FP32_EACH; i++) {
        float top = -INFINITY, sum = 0;
#pragma unroll
        for (int j = 0; j < FP32_EACH; j++) top = fmaxf(top, scores[i][j]);
        top = fmaxf(s.max[i], half_warp_max(top));
        float base = top == -INFINITY ? 0.0f : top, shrink = expf(s.max[i] - base);
#pragma unroll
        for (int j = 0; j < FP32_EACH; j++) {
            float p = expf(scores[i][j] - base);
            p_tile[(y * FP32_EACH + i) * FP32_P_STRIDE + x + FP32_SIDE * j] = p;
            sum += p;
        }
        s.max[i] = top;
        s.sum[i] = s.sum[i] * shrink + half_warp_sum(sum);
#pragma unroll
        for (int c = 0; c < WIDTH / FP32_SIDE; c++) s.out[i][c] *= shrink;
    }
}

/* out[.][2 chunk], out[.][2 chunk + 1] += P times 32 channels of V. */
template <int WIDTH>
__device__ __forceinline__ void add_values_fp32(fp32_state<WIDTH> &s, int chunk, const float *p_tile,
                                                const float *v_tile)
{
    int x = (int)threadIdx.x % FP32_SIDE, y = (int)threadIdx.x / FP32_SIDE;
#pragma unroll 8
    for (int key = 0; key < FP32_TILE; key++) {
        float v0 = v_tile[key * FP32_STRIDE + x], v1 = v_tile[key * FP32_STRIDE + x + FP32_SIDE];
#pragma unroll
        for (int i = 0; i < FP32_EACH; i++) {
            float p = p_tile[(y * FP32_EACH + i) * FP32_P_STRIDE + key];
            s.out[i][2 * chunk] = fmaf(p, v0, s.out[i][2 * chunk]);
            s.out[i][2 * chunk + 1] = fmaf(p, v1, s.out[i][2 * chunk + 1]);
        }
    }
}

template <int WIDTH>
__device__ __forceinline__ void store_fp32(const fp32_state<WIDTH> &s, const attention_call &call,
                                           attention_block block, int channel0)
{
    int x = (int)threadIdx.x % FP32_SIDE, y = (int)threadIdx.x / FP32_SIDE;
#pragma unroll
    for (int i = 0; i < FP32_EACH; i++) {
        int row = block.row0 + y * FP32_EACH + i;
        if (row >= call.Sq) return;
        int64_t first = block.b * call.batch_o + row * call.ldo + (int64_t)block.h * call.D;
#pragma unroll
        for (int c = 0; c < WIDTH / FP32_SIDE; c++) {
            int channel = channel0 + x + FP32_SIDE * c;
            if (channel < call.D) view_store(call.out, first + channel, s.sum[i] == 0 ? 0.0f : s.out[i][c] / s.sum[i]);
        }
        if (call.lse.data && x == 0 && channel0 == 0)
            view_store(call.lse, ((int64_t)block.b * call.H + block.h) * call.Sq + row, s.max[i] + logf(s.sum[i]));
    }
}

/* Computes channels [channel0, channel0 + WIDTH) of the output. Wider heads compute their logits once for each part. */
template <int WIDTH, class SEEN>
__global__ void __launch_bounds__(FP32_THREADS)
    attention_fp32(attention_call call, int channel0, const __grid_constant__ SEEN seen)
{
    SHARED(float, q_tile);
    float *k_tile = q_tile + FP32_TILE * FP32_STRIDE, *p_tile = k_tile + FP32_TILE * FP32_STRIDE;
    attention_block block = block_of(call, FP32_TILE);
    int64_t head = (int64_t)key_head(call, block.h) * call.D;
    int64_t q = block.b * call.batch_q + block.row0 * call.ldq + (int64_t)block.h * call.D;
    int64_t k = block.b * call.batch_k + head, v = block.b * call.batch_v + head;
    fp32_state<WIDTH> s;
#pragma unroll
    for (int i = 0; i < FP32_EACH; i++) {
        int row = block.row0 + (int)threadIdx.x / FP32_SIDE * FP32_EACH + i;
        s.seen[i] = is_sliced<SEEN> ? call.q_position[min(row, call.Sq - 1)] : keys_seen(call, min(row, call.Sq - 1));
        s.max[i] = -INFINITY;
        s.sum[i] = 0;
#pragma unroll
        for (int c = 0; c < WIDTH / FP32_SIDE; c++) s.out[i][c] = 0;
    }
    int end = keys_end<SEEN>(call, block.row0, FP32_TILE);
    for (int key0 = next_tile<FP32_TILE>(call, seen, block.row0, FP32_TILE, 0); key0 < end;
         key0 = next_tile<FP32_TILE>(call, seen, block.row0, FP32_TILE, key0 + FP32_TILE)) {
        float scores[FP32_EACH][FP32_EACH] = {{0}};
        for (int c = 0; c < call.D; c += FP32_CHANNELS) {
            __syncthreads();
            load_fp32(q_tile, call.q, q, call.ldq, call.Sq - block.row0, c, call.D);
            load_fp32(k_tile, call.k, k + key0 * call.ldk, call.ldk, call.Sk - key0, c, call.D);
            __syncthreads();
            add_products(scores, q_tile, k_tile);
        }
        finish_logits<WIDTH>(s, scores, call, seen, block, key0);
        softmax_fp32<WIDTH>(s, scores, p_tile);
#pragma unroll
        for (int chunk = 0; chunk < WIDTH / FP32_CHANNELS; chunk++) {
            __syncthreads(); /* P has been written, too */
            load_fp32(k_tile, call.v, v + key0 * call.ldv, call.ldv, call.Sk - key0, channel0 + chunk * FP32_CHANNELS,
                      call.D);
            __syncthreads();
            add_values_fp32<WIDTH>(s, chunk, p_tile, k_tile);
        }
    }
    store_fp32<WIDTH>(s, call, block, channel0);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

dim3 grid_of(const attention_call &call, int queries)
{
    return dim3((unsigned)((call.Sq + queries - 1) / queries), (unsigned)call.H, (unsigned)call.B);
}

template <int WIDTH, class SEEN> void run_fp32(dit_cuda *cuda, const attention_call &call, const SEEN &seen)
{
    for (int channel0 = 0; channel0 < call.D; channel0 += WIDTH)
        LAUNCH(cuda, (attention_fp32<WIDTH, SEEN>), grid_of(call, FP32_TILE), dim3(FP32_THREADS), FP32_SHARED_BYTES,
               call, channel0, seen);
}

template <class SEEN> void run_any(dit_cuda *cuda, const attention_call &call, const SEEN &seen)
{
    if (call.D <= 64)
        run_fp32<64>(cuda, call, seen);
    else if (call.D <= 128)
        run_fp32<128>(cuda, call, seen);
    else
        run_fp32<256>(cuda, call, seen);
}

/* Returns false if the tile needs more shared memory than the device has. */
template <dit_dtype DTYPE, class TILE, class SEEN>
bool run_tile(dit_cuda *cuda, const attention_call &call, const SEEN &seen)
{
    auto *kernel = attention_fwd_mma<DTYPE, TILE, SEEN>;
    if (cuda->shared_bytes < TILE::shared_bytes) return false;
    if (!CUDA_CHECK(cuda,
                    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, TILE::shared_bytes)))
        return true;
    for (int channel0 = 0; channel0 < call.D; channel0 += TILE::out)
        LAUNCH(cuda, kernel, grid_of(call, TILE::queries), dim3(MMA_THREADS), TILE::shared_bytes, call, channel0, seen);
    return true;
}

template <dit_dtype DTYPE, class TILE> bool run_either(dit_cuda *cuda, const attention_call &call)
{
    if (call.bias.data || call.q_position) return run_tile<DTYPE, TILE>(cuda, call, sees_first());
    return run_tile<DTYPE, TILE>(cuda, call, sees_all());
}

/* `mask` NULL: no slices. */
template <dit_dtype DTYPE> bool run_mma(dit_cuda *cuda, const attention_call &call, const dit_mask *mask)
{
    if (mask) {
        if (call.D <= 64) return run_tile<DTYPE, mma_tile<64, 64>>(cuda, call, *mask);
        return call.D <= 128 && run_tile<DTYPE, mma_tile<128, 128>>(cuda, call, *mask);
    }
    if (call.D <= 64) return run_either<DTYPE, mma_tile<64, 64>>(cuda, call);
    if (call.D <= 80) return run_either<DTYPE, mma_tile<80, 80>>(cuda, call);
    if (call.D <= 96) return run_either<DTYPE, mma_tile<96, 96>>(cuda, call);
    if (call.D <= 128) return run_either<DTYPE, mma_tile<128, 128>>(cuda, call);
    if (call.D <= 256) return run_either<DTYPE, mma_tile<256, 256>>(cuda, call);
    return call.D <= 512 && run_either<DTYPE, mma_tile<512, 256>>(cuda, call);
}

/* True if the tensor-core kernel takes the call. Heads lie D apart, so with D a multiple of 8 all are 16-byte aligned
 * if the first one is. */
bool takes_mma(const attention_call &call)
{
    dit_dtype dtype = call.q.dtype;
    bool halves = dtype == DIT_DTYPE_BF16 || dtype == DIT_DTYPE_FP16;
    bool same = call.k.dtype == dtype && call.v.dtype == dtype;
    bool wide = view_is_wide(call.q, call.ldq) && view_is_wide(call.q, call.batch_q) &&
                view_is_wide(call.k, call.ldk) && view_is_wide(call.k, call.batch_k) &&
                view_is_wide(call.v, call.ldv) && view_is_wide(call.v, call.batch_v);
    bool out = call.out.dtype == dtype || call.out.dtype == DIT_DTYPE_FP32;
    int64_t pair = 2 * view_bytes(call.out); /* written together */
    out = out && (uintptr_t)call.out.data % (uintptr_t)pair == 0 && call.ldo % 2 == 0 && call.batch_o % 2 == 0;
    return halves && same && wide && out && call.D % 8 == 0 && call.scale > 0 && !(call.cap > 0) && !call.relative.data;
}

const int32_t *positions_of(dit_cuda *cuda, const int32_t *address)
{
    view found = view_of(cuda, address);
    if (found.data && found.dtype != DIT_DTYPE_INT32) cuda_fail(cuda, "attention's positions must be int32");
    return found.dtype == DIT_DTYPE_INT32 ? (const int32_t *)found.data : NULL;
}

/* Finds the views. Returns false, and remembers a failure, if an address belongs to no array. */
bool find_operands(dit_cuda *cuda, const dit_attention_args *args, attention_call *call)
{
    call->q = view_of(cuda, args->q);
    call->out = view_of(cuda, args->out);
    call->lse = view_of(cuda, args->lse);
    if (args->Sk) { /* without keys their addresses may be anywhere */
        call->k = view_of(cuda, args->k);
        call->v = view_of(cuda, args->v);
        call->bias = view_of(cuda, args->bias);
        call->relative = view_of(cuda, args->relative);
    } else {
        call->k = call->v = call->q;
    }
    if (args->Sk && args->q_position) {
        call->q_position = positions_of(cuda, args->q_position);
        call->k_position = positions_of(cuda, args->k_position);
        if (!call->q_position || !call->k_position) return false;
    }
    return call->q.data && call->k.data && call->v.data && call->out.data && !call->bias.data == !args->bias &&
           !call->relative.data == !args->relative && !call->lse.data == !args->lse;
}

} // namespace

void cuda_attention_own(dit_cuda *cuda, const dit_attention_args *args)
{
    attention_call call = {};
    if (!args->B || !args->H || !args->Sq || !args->D) return;
    if (!find_operands(cuda, args, &call)) return;
    call.ldq = args->ldq, call.ldk = args->ldk, call.ldv = args->ldv, call.ldo = args->ldo;
    call.batch_q = args->batch_q, call.batch_k = args->batch_k, call.batch_v = args->batch_v;
    call.batch_o = args->batch_o, call.ld_relative = args->ld_relative;
    call.B = (int)args->B, call.H = (int)args->H, call.Sq = (int)args->Sq, call.Sk = (int)args->Sk;
    call.D = (int)args->D;
    call.kv_group = args->kv_group ? (int)args->kv_group : 1, call.kv_first = (int)args->kv_first;
    call.scale = args->scale, call.cap = args->cap;
    const dit_mask *mask = call.q_position ? args->mask : NULL; /* without keys there is nothing to hide */
    bool done = false;
    if (takes_mma(call) && call.q.dtype == DIT_DTYPE_BF16)
        done = run_mma<DIT_DTYPE_BF16>(cuda, call, mask);
    else if (takes_mma(call))
        done = run_mma<DIT_DTYPE_FP16>(cuda, call, mask);
    if (done) return;
    if (mask)
        run_any(cuda, call, *mask);
    else
        run_any(cuda, call, sees_first());
}
