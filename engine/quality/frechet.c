#include "engine/quality/frechet.h"

#include "base/rng.h"
#include "engine/quality/symmetric.h"

#include <math.h>
#include <stdlib.h>

static const uint64_t seed = 20200613;

/* Rows order[first], order[first + step], ... of a set; order NULL: rows themselves. */
typedef struct {
    dit_feature_rows rows;
    const int64_t *order;
    int64_t first, step, count;
} selection;

static selection whole(dit_feature_rows rows)
{
    return (selection){.rows = rows, .step = 1, .count = rows.count};
}

static const float *row_of(const selection *s, int64_t i)
{
    int64_t at = s->first + i * s->step;
    return s->rows.rows + (s->order ? s->order[at] : at) * s->rows.width;
}

static dit_status check(const selection *s)
{
    int64_t width = s->rows.width;
    if (s->count <= width)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_SHAPE, "%lld pictures are too few for a Frechet distance in %lld features",
                     (long long)s->count, (long long)width),
            "take more than %lld pictures, or use the kernel distance, which has no bias", (long long)width);
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t k = 0; k < width; k++)
            if (!isfinite(row_of(s, i)[k]))
                return DIT_FAIL(DIT_ERR_NONFINITE, "feature %lld of picture %lld is not finite", (long long)k,
                                (long long)i);
    return DIT_OK;
}

/* Computes mean [width] and covariance [width, width], in two passes. `centred` [width] is scratch. */
static void find_moments(const selection *s, double *mean, double *covariance, double *centred)
{
    int64_t width = s->rows.width;
    for (int64_t k = 0; k < width; k++) mean[k] = 0;
    for (int64_t k = 0; k < width * width; k++) covariance[k] = 0;
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t k = 0; k < width; k++) mean[k] += row_of(s, i)[k];
    for (int64_t k = 0; k < width; k++) mean[k] /= (double)s->count;
    for (int64_t i = 0; i < s->count; i++) {
        for (int64_t k = 0; k < width; k++) centred[k] = row_of(s, i)[k] - mean[k];
        for (int64_t k = 0; k < width; k++)
            for (int64_t l = 0; l <= k; l++) covariance[k * width + l] += centred[k] * centred[l];
    }
    for (int64_t k = 0; k < width; k++)
        for (int64_t l = 0; l <= k; l++)
            covariance[k * width + l] = covariance[l * width + k] = covariance[k * width + l] / (double)(s->count - 1);
}

/* c = a b for matrices [n, n]. */
static void multiply(const double *a, const double *b, int64_t n, double *c)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* Computes the trace of (a^1/2 b a^1/2)^1/2. scratch: [3 n n]. */
static dit_status trace_of_root(const double *a, const double *b, int64_t n, double *scratch, double *trace)
{
    double *root = scratch, *half = scratch + n * n, *product = half + n * n, largest = 0;
    DIT_TRY(dit_symmetric_root(a, n, root));
    multiply(root, b, n, half);
    multiply(half, root, n, product);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            product[i * n + j] = product[j * n + i] = (product[i * n + j] + product[j * n + i]) / 2;
    DIT_TRY(dit_symmetric_eigen(product, n, NULL));
    *trace = 0;
    for (int64_t k = 0; k < n; k++) largest = fmax(largest, product[k * n + k]);
    for (int64_t k = 0; k < n; k++) *trace += sqrt(dit_symmetric_settle(product[k * n + k], largest, n));
    return DIT_OK;
}

/* scratch: [5 n n + 3 n] */
static dit_status distance_with(const selection *a, const selection *b, double *scratch, double *distance)
{
    int64_t n = a->rows.width;
    double *mean_a = scratch, *mean_b = mean_a + n, *centred = mean_b + n;
    double *cov_a = centred + n, *cov_b = cov_a + n * n, sum = 0, trace;
    find_moments(a, mean_a, cov_a, centred);
    find_moments(b, mean_b, cov_b, centred);
    DIT_TRY(trace_of_root(cov_a, cov_b, n, cov_b + n * n, &trace));
    for (int64_t k = 0; k < n; k++) {
        double apart = mean_a[k] - mean_b[k];
        sum += apart * apart + cov_a[k * n + k] + cov_b[k * n + k];
    }
    *distance = fmax(0, sum - 2 * trace); /* rounding leaves a set beside itself a little off zero */
    return DIT_OK;
}

static dit_status distance_of(const selection *a, const selection *b, double *distance)
{
    int64_t n = a->rows.width;
    *distance = 0;
    if (n < 1 || n != b->rows.width)
        return DIT_FAIL(DIT_ERR_SHAPE, "features of %lld and of %lld numbers have no distance", (long long)n,
                        (long long)b->rows.width);
    DIT_TRY(check(a));
    DIT_TRY(check(b));
    double *scratch = malloc((size_t)(5 * n * n + 3 * n) * sizeof *scratch);
    if (!scratch) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for covariances of %lld features", (long long)n);
    dit_status st = distance_with(a, b, scratch, distance);
    free(scratch);
    return st;
}

dit_status dit_frechet(dit_feature_rows a, dit_feature_rows b, double *distance)
{
    const selection all[2] = {whole(a), whole(b)};
    return distance_of(&all[0], &all[1], distance);
}

/* ---- of infinitely many pictures ---------------------------------------------------------------------------------- */

static void shuffle(int64_t *order, int64_t count, uint64_t stream)
{
    for (int64_t i = 0; i < count; i++) order[i] = i;
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = (int64_t)dit_rng_below(seed, stream, (uint64_t)i, (uint64_t)i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
}

/* Fits the line of y over x and returns its value at 0. */
static double intercept(const double *x, const double *y, int count)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; i++) mx += x[i] / count, my += y[i] / count;
    for (int i = 0; i < count; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return my - (xx > 0 ? xy / xx : 0) * mx;
}

/* order: [a.count + b.count] */
static dit_status extrapolate(dit_feature_rows a, dit_feature_rows b, int64_t *order, double *distance)
{
    int64_t most = a.count < b.count ? a.count : b.count, least = most / 4;
    double x[DIT_FRECHET_SIZES], y[DIT_FRECHET_SIZES];
    for (int i = 0; i < DIT_FRECHET_SIZES; i++) {
        int64_t count = least + (most - least) * i / (DIT_FRECHET_SIZES - 1);
        selection drawn[2] = {whole(a), whole(b)};
        for (int set = 0; set < 2; set++) {
            drawn[set].order = set ? order + a.count : order;
            drawn[set].count = count;
            shuffle(set ? order + a.count : order, drawn[set].rows.count, (uint64_t)(2 * i + set));
        }
        DIT_TRY(distance_of(&drawn[0], &drawn[1], &y[i]));
        x[i] = 1 / (double)count;
    }
    *distance = intercept(x, y, DIT_FRECHET_SIZES);
    return DIT_OK;
}

dit_status dit_frechet_infinity(dit_feature_rows a, dit_feature_rows b, double *distance)
{
    *distance = 0;
    int64_t *order = malloc((size_t)(a.count + b.count + 1) * sizeof *order);
    if (!order) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an order of pictures");
    dit_status st = extrapolate(a, b, order, distance);
    free(order);
    return st == DIT_OK ? st : dit_error_note(st, "the line in 1/n begins at a quarter of the pictures");
}

/* ---- of blocks ---------------------------------------------------------------------------------------------------- */

static selection block_of(dit_feature_rows rows, int block)
{
    selection s = {.rows = rows, .first = block, .step = DIT_FRECHET_BLOCKS};
    s.count = rows.count > block ? (rows.count - block - 1) / DIT_FRECHET_BLOCKS + 1 : 0;
    return s;
}

dit_status dit_frechet_blocks(dit_feature_rows a, dit_feature_rows b, dit_frechet_spread *out)
{
    double distance[DIT_FRECHET_BLOCKS], squares = 0;
    *out = (dit_frechet_spread){.rows = (a.count < b.count ? a.count : b.count) / DIT_FRECHET_BLOCKS};
    for (int block = 0; block < DIT_FRECHET_BLOCKS; block++) {
        const selection of_a = block_of(a, block), of_b = block_of(b, block);
        DIT_TRY(distance_of(&of_a, &of_b, &distance[block]));
        out->mean += distance[block] / DIT_FRECHET_BLOCKS;
    }
    for (int i = 0; i < DIT_FRECHET_BLOCKS; i++) squares += (distance[i] - out->mean) * (distance[i] - out->mean);
    out->deviation = sqrt(squares / (DIT_FRECHET_BLOCKS - 1));
    return DIT_OK;
}
