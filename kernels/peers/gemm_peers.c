/* Times linear layers of other libraries beside ours (`make peers`): one thread, equal shapes, within one minute.
 *
 * Each figure is the fraction of the fp32 peak that was measured right before, the median over repetitions. oneDNN and
 * libxsmm compute y = x W^T alone; ours adds bias and GELU in one call. For libxsmm, weights are packed in blocks of 64
 * outputs and K is cut at 3072.
 */
#include "base/clock.h"
#include "base/rng.h"
#include "base/stats.h"
#include "kernels/kernels.h"

#include <libxsmm.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPETITIONS = 9, BLOCK_N = 64, BLOCK_ROWS = 64, BLOCK_K = 3072 };

typedef struct {
    int64_t rows, n, k;
    float *x, *w, *packed, *bias, *y;
    dit_linear linear;
    const dit_kernels *kernels;
    dit_pool *pool;
} shape;

static void run_ours(shape *s)
{
    s->kernels->linear(s->pool, &(dit_linear_args){.weights = &s->linear,
                                                   .rows = s->rows,
                                                   .x = s->x,
                                                   .ldx = s->k,
                                                   .y = s->y,
                                                   .ldy = s->n,
                                                   .activation = DIT_ACT_GELU_TANH});
}

static void run_onednn(shape *s)
{
    dnnl_sgemm('N', 'T', s->rows, s->n, s->k, 1.0f, s->x, s->k, s->w, s->k, 0.0f, s->y, s->n);
}

/* Packs W as [n / 64][k][64]. In column-major terms y^T (64 x rows) = packed (64 x k) x^T (k x rows). */
static void pack_libxsmm(shape *s)
{
    for (int64_t j = 0; j < s->n; j++)
        for (int64_t i = 0; i < s->k; i++)
            s->packed[(j / BLOCK_N * s->k + i) * BLOCK_N + j % BLOCK_N] = s->w[j * s->k + i];
}

static void run_libxsmm(shape *s)
{
    const libxsmm_blasint lda = BLOCK_N, ldb = (libxsmm_blasint)s->k, ldc = (libxsmm_blasint)s->n;
    for (int64_t j = 0; j < s->n; j += BLOCK_N) {
        for (int64_t row = 0; row < s->rows; row += BLOCK_ROWS) {
            float *y = s->y + row * s->n + j;
            for (int64_t i = 0; i < s->k; i += BLOCK_K) {
                int64_t depth = s->k - i < BLOCK_K ? s->k - i : BLOCK_K;
                float beta = i ? 1.0f : 0.0f, alpha = 1.0f;
                libxsmm_smmfunction kernel = libxsmm_smmdispatch(BLOCK_N, BLOCK_ROWS, (libxsmm_blasint)depth, &lda,
                                                                 &ldb, &ldc, &alpha, &beta, NULL, NULL);
                kernel(s->packed + (j * s->k + i * BLOCK_N), s->x + row * s->k + i, y);
            }
        }
    }
}

static double median_seconds(shape *s, void (*run)(shape *))
{
    double samples[REPETITIONS];
    run(s);
    for (int i = 0; i < REPETITIONS; i++) {
        int64_t began = dit_clock_ns();
        run(s);
        samples[i] = (double)(dit_clock_ns() - began) * 1e-9;
    }
    return dit_stats_median(samples, REPETITIONS);
}

static float *filled(int64_t count, const char *name)
{
    float *data = aligned_alloc(64, (size_t)(count + 15) / 16 * 64);
    if (!data) abort();
    dit_rng_normal(1, dit_rng_stream(name), 0, count, 0, 1, data);
    return data;
}

static void report(int64_t rows, int64_t n, int64_t k, const dit_kernels *kernels, dit_pool *pool)
{
    dit_memory_ledger ledger = {0};
    dit_arena arena;
    shape s = {.rows = rows,
               .n = n,
               .k = k,
               .x = filled(rows * k, "x"),
               .w = filled(n * k, "w"),
               .packed = filled(n * k, "p"),
               .bias = filled(n, "b"),
               .y = filled(rows * n, "y"),
               .kernels = kernels,
               .pool = pool};
    double flops = dit_product_work(rows, n, k).flops, peak;
    dit_arena_init(&arena, &ledger, DIT_MEMORY_WEIGHTS);
    if (kernels->linear_pack(pool, &arena, k, 1, (const float *const *)&s.w, (const float *const *)&s.bias, &n,
                             &s.linear))
        abort();
    pack_libxsmm(&s);
    printf("%6lld x %5lld -> %5lld ", (long long)rows, (long long)k, (long long)n);
    peak = dit_kernels_measure_peak_flops(pool);
    printf("  ours %.2f", flops / median_seconds(&s, run_ours) / peak);
    peak = dit_kernels_measure_peak_flops(pool);
    printf("  libxsmm %.2f", flops / median_seconds(&s, run_libxsmm) / peak);
    peak = dit_kernels_measure_peak_flops(pool);
    printf("  oneDNN %.2f\n", flops / median_seconds(&s, run_onednn) / peak);
    dit_arena_release(&arena);
    free(s.x), free(s.w), free(s.packed), free(s.bias), free(s.y);
}

int main(void)
{
    static const int64_t shapes[][3] = {{256, 3456, 1152},  {1024, 3456, 1152}, {1024, 1152, 1152}, {1024, 4608, 1152},
                                        {1024, 1152, 4608}, {1024, 9216, 3072}, {1024, 3072, 12288}};
    const dit_kernels *kernels;
    dit_pool *pool;
    if (dit_kernels_get("cpu", &kernels) || dit_pool_create(1, true, &pool)) return 1;
    printf("fraction of the fp32 peak, one thread, isa %s\n", dit_kernels_isa());
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        report(shapes[i][0], shapes[i][1], shapes[i][2], kernels, pool);
    dit_pool_free(pool);
    return 0;
}
