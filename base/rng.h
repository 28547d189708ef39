/* Counter-based random numbers: value = f(seed, stream, index). So any rank makes any shard without the others, and
 * every backend gets equal bits.
 *
 * Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC11). The normal is the centred sum of
 * the eight 16-bit halves of one Philox block, scaled to variance 1: integer arithmetic and one multiplication, hence
 * bit-exact wherever IEEE single precision is. Its range is +-4.9 and its excess kurtosis -0.15: good for weights and
 * noise of a benchmark, not for studying tails.
 */
#ifndef DIT_BASE_RNG_H
#define DIT_BASE_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes one Philox4x32-10 block. */
void dit_rng_philox(uint64_t key, uint64_t counter_high, uint64_t counter_low, uint32_t out[4]);
/* Returns the stream number of a name (for example a parameter's): its XXH64. */
uint64_t dit_rng_stream(const char *name);
/* out[i] = mean + deviation * normal(seed, stream, first + i), i in [0, count). */
void dit_rng_normal(uint64_t seed, uint64_t stream, uint64_t first, int64_t count, float mean, float deviation,
                    float *out);
/* Returns a uniform integer in [0, bound), without bias; bound > 0. For shuffles. */
uint64_t dit_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound);

#ifdef __cplusplus
}
#endif
#endif
