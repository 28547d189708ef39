/* The one inner loop of linear, convolution and attention: C[i][:] (+)= sum over d of a[i, d] * b[d][:].
 *
 * One number of a is read and broadcast at a time, and one panel row (up to TILE_WIDTH floats) of b. The sums live in
 * registers over the whole depth. Registers: TILE_ROWS * TILE_VECTORS sums, TILE_VECTORS of b, one of a. With 8 x 3 of
 * the 32 AVX-512 registers, 11 loads feed 24 multiply-adds, so the two multipliers are the limit, not the two load
 * ports. The sums start from zero and are added to C at the end. A long depth that is cut into pieces then loses less
 * to rounding than one chain would: the error grows with the square root of the piece instead of the whole.
 *
 *              linear                      logits of attention          output of attention
 *   a[i, d]    x[row i][column d]          k[key i][channel d]          v[key d][channel i]
 *   b[d][:]    48 rows of W, transposed    48 queries, transposed       48 queries' probabilities of key d
 */
#ifndef DIT_KERNELS_CPU_TILE_H
#define DIT_KERNELS_CPU_TILE_H

#include "kernels/cpu/vector.h"

#if defined(__AVX512F__)
enum { TILE_ROWS = 8, TILE_VECTORS = 3 };
#define TILE_EACH_ROWS(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv) X(7, nv) X(8, nv)
#define TILE_EACH(X)          TILE_EACH_ROWS(X, 1) TILE_EACH_ROWS(X, 2) TILE_EACH_ROWS(X, 3)
#else /* sixteen registers */
enum { TILE_ROWS = 6, TILE_VECTORS = 2 };
#define TILE_EACH_ROWS(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv)
#define TILE_EACH(X)          TILE_EACH_ROWS(X, 1) TILE_EACH_ROWS(X, 2)
#endif
enum { TILE_WIDTH = TILE_VECTORS * VF_LANES };

typedef struct {
    int64_t depth;
    const float *a; /* a[i, d] = a[i * a_row + d * a_depth] */
    int64_t a_row, a_depth;
    const float *b; /* b[d] = b + d * b_depth, whole vectors */
    int64_t b_depth;
    float *c; /* C[i] = c + i * c_row, whole vectors */
    int64_t c_row;
    bool accumulate;       /* false: C starts from zero */
    const float *prefetch; /* what the next tiles need: brought to the L2 cache, prefetch_step floats a step */
    int64_t prefetch_step;
} tile_args;

DIT_INLINE void tile_multiply(int rows, int vectors, const tile_args *t)
{
    vf sum[TILE_ROWS][TILE_VECTORS];
    const float *a = t->a, *b = t->b;
    const float *prefetch = t->prefetch;
    const int64_t prefetch_step = t->prefetch_step;
    const int64_t a_row = t->a_row, a_depth = t->a_depth, b_depth = t->b_depth;
    DIT_UNROLL
    for (int i = 0; i < rows; i++) {
        DIT_UNROLL
        for (int j = 0; j < vectors; j++) sum[i][j] = vf_zero();
    }
    DIT_UNROLL_4
    for (int64_t d = t->depth; d > 0; d--) {
        vf panel[TILE_VECTORS];
        DIT_UNROLL
        for (int j = 0; j < vectors; j++) panel[j] = vf_load(b + j * VF_LANES);
        DIT_UNROLL
        for (int i = 0; i < rows; i++) {
            vf broadcast = vf_set1(a[i * a_row]);
            DIT_UNROLL
            for (int j = 0; j < vectors; j++) sum[i][j] = vf_fma(broadcast, panel[j], sum[i][j]);
        }
        a += a_depth;
        b += b_depth;
        __builtin_prefetch(prefetch, 0, 2);
        prefetch += prefetch_step;
    }
    DIT_UNROLL
    for (int i = 0; i < rows; i++) {
        DIT_UNROLL
        for (int j = 0; j < vectors; j++) {
            float *c = t->c + i * t->c_row + j * VF_LANES;
            if (t->accumulate) sum[i][j] = sum[i][j] + vf_load(c);
            vf_store(c, sum[i][j]);
        }
    }
}

#define TILE_DEFINE(rows, vectors)                                                                                     \
    static void tile_##rows##x##vectors(const tile_args *t)                                                            \
    {                                                                                                                  \
        tile_multiply(rows, vectors, t);                                                                               \
    }
TILE_EACH(TILE_DEFINE)

typedef void (*tile_function)(const tile_args *);
#define TILE_ENTRY(rows, vectors) [vectors - 1][rows - 1] = tile_##rows##x##vectors,
static const tile_function tile_functions[TILE_VECTORS][TILE_ROWS] = {TILE_EACH(TILE_ENTRY)};

/* Computes any number of rows of C, TILE_ROWS at a time; `vectors` <= TILE_VECTORS. */
DIT_INLINE void tile_rows(int64_t rows, int64_t vectors, tile_args t)
{
    for (int64_t left = rows; left > 0; left -= TILE_ROWS) {
        int64_t count = left < TILE_ROWS ? left : TILE_ROWS;
        tile_functions[vectors - 1][count - 1](&t);
        t.a += TILE_ROWS * t.a_row;
        t.c += TILE_ROWS * t.c_row;
    }
}

#endif
