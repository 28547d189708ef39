/* Finds which pairs of a tile of queries and keys a mask of slices (base/mask.h) shows.
 *
 * Positions never descend, so those of a tile lie between its first and its last one. The lanes of a warp look at slices
 * of their own and tell each other what they found: all of them call these functions together. Warps that ask about one
 * tile get one answer, so a block skips a tile without a barrier.
 */
#ifndef DIT_KERNELS_CUDA_MASK_TILES_H
#define DIT_KERNELS_CUDA_MASK_TILES_H

#include "kernels/cuda/launch.h"

enum { MASK_WORDS = DIT_MASK_SLICES / WARP };
static_assert(MASK_WORDS * WARP == DIT_MASK_SLICES, "a word has a bit for each lane");

/* Positions of the first and the last query and key. */
struct mask_tile {
    int q_low, q_high, k_low, k_high;
};

/* Has a bit for each slice that touches a tile. */
struct mask_slices {
    unsigned word[MASK_WORDS];
};

/* True if the slice has a pair of the tile, were all positions between first and last there. */
static __device__ inline bool mask_slice_touches(const dit_mask_slice &s, const mask_tile &t)
{
    int q_low = max(t.q_low, s.q_first), q_high = min(t.q_high, s.q_end - 1);
    int k_low = max(t.k_low, s.k_first), k_high = min(t.k_high, s.k_end - 1);
    return q_low <= q_high && k_low <= k_high && k_high - q_low >= s.low && k_low - q_high <= s.high;
}

static __device__ inline bool mask_slice_covers(const dit_mask_slice &s, const mask_tile &t)
{
    return t.q_low >= s.q_first && t.q_high < s.q_end && t.k_low >= s.k_first && t.k_high < s.k_end &&
           t.k_low - t.q_high >= s.low && t.k_high - t.q_low <= s.high;
}

/* True if some slice touches the tile. */
static __device__ inline bool mask_touches(const dit_mask &mask, const mask_tile &tile)
{
    bool found = false;
    for (int i = (int)threadIdx.x % WARP; i < mask.count; i += WARP)
        found = found || mask_slice_touches(mask.slice[i], tile);
    return __any_sync((unsigned)WHOLE_WARP, found);
}

/* True if one slice has all pairs of the tile. */
static __device__ inline bool mask_covers(const dit_mask &mask, const mask_tile &tile)
{
    bool found = false;
    for (int i = (int)threadIdx.x % WARP; i < mask.count; i += WARP)
        found = found || mask_slice_covers(mask.slice[i], tile);
    return __any_sync((unsigned)WHOLE_WARP, found);
}

static __device__ inline mask_slices mask_slices_of(const dit_mask &mask, const mask_tile &tile)
{
    mask_slices touching;
#pragma unroll
    for (int w = 0; w < MASK_WORDS; w++) {
        int i = w * WARP + (int)threadIdx.x % WARP;
        bool touches = i < mask.count && mask_slice_touches(mask.slice[i], tile);
        touching.word[w] = __ballot_sync((unsigned)WHOLE_WARP, touches);
    }
    return touching;
}

/* Calls see(slice) for each slice of the set. */
template <class SEE>
static __device__ inline void mask_for_each(const dit_mask &mask, const mask_slices &touching, const SEE &see)
{
#pragma unroll
    for (int w = 0; w < MASK_WORDS; w++)
        for (unsigned left = touching.word[w]; left; left &= left - 1) see(mask.slice[w * WARP + __ffs((int)left) - 1]);
}

/* Gives the keys [*first, *end) of a slice that a query sees, *first >= *end: none. */
static __device__ inline void mask_keys(const dit_mask_slice &s, int query, int *first, int *end)
{
    *first = max(s.k_first, query + s.low);
    *end = query < s.q_first || query >= s.q_end ? *first : min(s.k_end, query + s.high + 1);
}

#endif
