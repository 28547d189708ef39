/* Tensor parallelism: which share of a layer a rank holds, and how partial results become whole.
 *
 * Layers come in pairs. The first of a pair is cut along its outputs (heads, or the inner width of an MLP), the second
 * along its inputs. So each rank goes from whole rows to its share of the columns and then to a partial product; the
 * sum of these over the ranks is the result. Sums are added in the order of ranks, so every rank gets equal bits.
 * Source: Shoeybi et al., Megatron-LM (arXiv:1909.08053), section 3.
 */
#ifndef DIT_ENGINE_TENSOR_H
#define DIT_ENGINE_TENSOR_H

#include "engine/runtime/runtime.h"

/* Share `index` of `of` nearly equal shares: of `count` things it has [share_begin, share_begin + share_count). */
typedef struct {
    int64_t index, of;
} dit_share;
static inline int64_t share_begin(dit_share share, int64_t count)
{
    return count * share.index / share.of;
}
static inline int64_t share_count(dit_share share, int64_t count)
{
    return count * (share.index + 1) / share.of - share_begin(share, count);
}

dit_share dit_tp_share(const dit_runtime *rt);
/* Returns how many of `count` heads or columns belong to this rank. */
int64_t dit_tp_count(const dit_runtime *rt, int64_t count);

/* Reserves memory in rt->comm_arena for sums of `elements` floats and for squares of `rows` rows. Call it before the
 * first step. Does nothing in a group of one rank. */
dit_status dit_tp_reserve(dit_runtime *rt, int64_t elements, int64_t rows);

/* rt->tensor.sum = sum over the group of rt->tensor.partial, `elements` of it. Collective over the group. */
dit_status dit_tp_sum(dit_runtime *rt, int64_t elements);
/* sum = blocks[0] + blocks[1] + ... of `count` floats each, by operators of the runtime that `context` is: what
 * dit_comm_sum takes. */
void dit_tp_add_blocks(void *context, const float *blocks, int size, int64_t count, float *sum);
/* y [rows, cols] += gate * (sum + bias): row r of y at y + r ld, of the sum at sum + r cols; gate, bias [cols] or NULL.
 */
void dit_tp_add(dit_runtime *rt, const float *sum, int64_t rows, int64_t cols, const float *bias, const float *gate,
                float *y, int64_t ld);

/* RMS norm, in place, of rows that the group shares, with `cols` columns on this rank: x = x / sqrt(mean of squares
 * over all columns + eps) * weight [cols]. Batch entries lie `stride` floats apart. Collective over the group. */
typedef struct {
    float *x;
    int64_t batch, rows, cols, ld, stride;
    const float *weight;
    float eps;
} dit_tp_norm_args;
dit_status dit_tp_norm(dit_runtime *rt, const dit_tp_norm_args *args);

#endif
