#include "engine/quality/symmetric.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SWEEPS = 60 };

static double squares_beside_diagonal(const double *a, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) sum += a[i * n + j] * a[i * n + j];
    return sum;
}

/* Turns a by the rotation in the plane of p and q that makes a[p, q] zero. */
static void rotate(double *a, int64_t n, double *vectors, int64_t p, int64_t q)
{
    double apq = a[p * n + q];
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + hypot(theta, 1));
    double c = 1 / hypot(t, 1), s = t * c;
    for (int64_t k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int64_t k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
    a[p * n + q] = a[q * n + p] = 0;
    for (int64_t k = 0; vectors && k < n; k++) {
        double x = vectors[k * n + p], y = vectors[k * n + q];
        vectors[k * n + p] = c * x - s * y;
        vectors[k * n + q] = s * x + c * y;
    }
}

dit_status dit_symmetric_eigen(double *a, int64_t n, double *vectors)
{
    double all = 0;
    for (int64_t i = 0; i < n * n; i++) all += a[i] * a[i];
    if (!isfinite(all)) return DIT_FAIL(DIT_ERR_NONFINITE, "a matrix of %lld rows is not finite", (long long)n);
    if (vectors) memset(vectors, 0, (size_t)(n * n) * sizeof *vectors);
    for (int64_t i = 0; vectors && i < n; i++) vectors[i * n + i] = 1;
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        if (squares_beside_diagonal(a, n) <= all * DBL_EPSILON * DBL_EPSILON * 1e-4) return DIT_OK;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > DBL_MIN) rotate(a, n, vectors, p, q);
    }
    return DIT_FAIL(DIT_ERR_INTERNAL, "eigenvalues of %lld rows did not settle in %d sweeps", (long long)n,
                    MOST_SWEEPS);
}

double dit_symmetric_settle(double value, double largest, int64_t n)
{
    return value < (double)n * DBL_EPSILON * largest ? 0 : value;
}

/* Fills root = V sqrt(values) V'. `values` [n, n] has eigenvalues on its diagonal. */
static dit_status assemble_root(const double *values, const double *vectors, int64_t n, double *root)
{
    static const double explained = 1e-9; /* of the largest: sums of features in fp32 come with less */
    double largest = 0;
    for (int64_t k = 0; k < n; k++) largest = fmax(largest, values[k * n + k]);
    memset(root, 0, (size_t)(n * n) * sizeof *root);
    for (int64_t k = 0; k < n; k++) {
        double value = values[k * n + k];
        if (value < -explained * largest)
            return DIT_FAIL(DIT_ERR_SHAPE, "a covariance has the eigenvalue %g beside %g, so it is none", value,
                            largest);
        double scale = sqrt(dit_symmetric_settle(value, largest, n));
        for (int64_t i = 0; i < n && scale > 0; i++)
            for (int64_t j = 0; j < n; j++) root[i * n + j] += scale * vectors[i * n + k] * vectors[j * n + k];
    }
    return DIT_OK;
}

dit_status dit_symmetric_root(const double *a, int64_t n, double *root)
{
    double *values = malloc((size_t)(2 * n * n) * sizeof *values);
    if (!values) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a matrix of %lld rows", (long long)n);
    memcpy(values, a, (size_t)(n * n) * sizeof *values);
    dit_status st = dit_symmetric_eigen(values, n, values + n * n);
    if (st == DIT_OK) st = assemble_root(values, values + n * n, n, root);
    free(values);
    return st;
}
