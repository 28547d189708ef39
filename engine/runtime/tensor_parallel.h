/* Tensor parallelism: what a rank holds of layers that the tensor group shares, and how partial results become whole.
 *
 * A layer pair is cut between its two halves: the first one along its outputs (heads, or the inner width of an MLP),
 * the second along its inputs. So each rank goes from whole rows to its share and back to a partial product, and the
 * sum over the ranks is the whole. Sums are added in the order of ranks: every rank has the same bits. Source: Shoeybi
 * et al., Megatron-LM (arXiv:1909.08053), section 3.
 */
#ifndef DIT_ENGINE_TENSOR_H
#define DIT_ENGINE_TENSOR_H

#include "engine/runtime/runtime.h"

/* Share `index` of `of`, as equal as can be: of `count` the part [share_begin, share_begin + share_count). */
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
/* How many of `count` heads or columns are this rank's. */
int64_t dit_tp_count(const dit_runtime *rt, int64_t count);

/* Makes sure of room for sums of `elements` floats and of squares of `rows` rows (rt->comm_arena). Nothing on one rank
 * of the group. Before the first step. */
dit_status dit_tp_reserve(dit_runtime *rt, int64_t elements, int64_t rows);

/* rt->tensor.sum = sum over the group of rt->tensor.partial, `elements` of it. Collective over the group. */
dit_status dit_tp_sum(dit_runtime *rt, int64_t elements);
/* y [rows, cols] += gate * (sum + bias): row r of y at y + r ld, of the sum at sum + r cols; gate, bias [cols] or NULL.
 */
void dit_tp_add(dit_runtime *rt, const float *sum, int64_t rows, int64_t cols, const float *bias, const float *gate,
                float *y, int64_t ld);

/* RMS norm in place of rows that lie over the group, `cols` columns here: x = x / sqrt(mean of squares over all +
 * eps) * weight [cols]. Batch entries `stride` floats apart. Collective over the group. */
typedef struct {
    float *x;
    int64_t batch, rows, cols, ld, stride;
    const float *weight;
    float eps;
} dit_tp_norm_args;
dit_status dit_tp_norm(dit_runtime *rt, const dit_tp_norm_args *args);

#endif
