/* Torch random: the numbers of PyTorch's generator on the CPU, so that a seed gives the latents that diffusers gives.
 *
 * The generator is mt19937 (Matsumoto and Nishimura, 1998), seeded with the low 32 bits of the seed. Normals of float32
 * come in one of two ways. Fewer than 16 are made one by one in double precision, by Box and Muller's transform of two
 * 53-bit uniforms; the second value is kept for the next call. 16 or more are first filled with 24-bit uniforms; then every
 * block of 16 is transformed, uniform j with uniform j + 8. Where the count is no multiple of 16, the last 16 places are
 * filled and transformed once more. Logarithm, sine and cosine of blocks are the polynomials of Cephes in single precision
 * (Moshier) with fused multiply-adds, as PyTorch computes them with AVX2. So blocks are the same bits on every machine;
 * values made one by one are as the math library rounds, and then float32 rounds away all but the rarest difference.
 * Source: PyTorch 2.6, ATen/core/DistributionsHelper.h, ATen/native/cpu/DistributionTemplates.h and avx_mathfun.h.
 */
#ifndef DIT_BASE_TORCH_RANDOM_H
#define DIT_BASE_TORCH_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

enum { DIT_TORCH_WORDS = 624 };

typedef struct {
    uint32_t word[DIT_TORCH_WORDS];
    int next; /* of the words; DIT_TORCH_WORDS: they must be renewed */
    double kept;
    bool has_kept; /* a second value of Box and Muller waits for the next call of fewer than 16 */
} dit_torch_generator;

/* torch.Generator().manual_seed(seed). */
void dit_torch_seed(dit_torch_generator *generator, uint64_t seed);
/* torch.randn(count, generator=generator), float32. A tensor of any shape has the numbers in the order of its memory. */
void dit_torch_randn(dit_torch_generator *generator, int64_t count, float *out);

#endif
