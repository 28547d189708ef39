/* Frechet distance between two sets of pictures, as normal distributions of their features.
 *
 *     |mean_a - mean_b|^2 + trace(A + B - 2 (A^1/2 B A^1/2)^1/2)       A, B covariances (divisor n - 1), all in double
 *
 * It is biased upwards by about a term in 1/n, so only sets of equal size are compared. dit_frechet_infinity removes
 * that term. Sources: Heusel et al., GANs Trained by a Two Time-Scale Update Rule, NeurIPS 2017; Chong and Forsyth,
 * Effectively Unbiased FID and Inception Score, CVPR 2020.
 */
#ifndef DIT_ENGINE_FRECHET_H
#define DIT_ENGINE_FRECHET_H

#include "base/status.h"
#include <stdint.h>

/* Features of a set: a row for each picture. */
typedef struct {
    const float *rows; /* [count, width] */
    int64_t count, width;
} dit_feature_rows;

/* Computes the distance of all rows of a to all of b. Errors: DIT_ERR_SHAPE when widths differ or a set has no more
 * rows than features (its covariance would be singular, and the distance mostly bias); DIT_ERR_NONFINITE;
 * DIT_ERR_INTERNAL when eigenvalues do not settle; DIT_ERR_MEMORY. */
dit_status dit_frechet(dit_feature_rows a, dit_feature_rows b, double *distance);

enum { DIT_FRECHET_SIZES = 15, DIT_FRECHET_BLOCKS = 10 };

/* Estimates the distance of infinitely many pictures: the intercept of the least-squares line of the distance over 1/n,
 * at 15 sizes n from N/4 to N, N rows of the smaller set. Both sets are cut to n rows, which are drawn without
 * replacement from a fixed seed. It may be below zero by chance. Errors: as dit_frechet, for the smallest n. */
dit_status dit_frechet_infinity(dit_feature_rows a, dit_feature_rows b, double *distance);

/* How much a distance varies: of ten disjoint blocks, rows i, i + 10, i + 20, ... of both sets. */
typedef struct {
    double mean, deviation;
    int64_t rows; /* of the smallest block */
} dit_frechet_spread;
/* Errors: as dit_frechet, for the smallest block. */
dit_status dit_frechet_blocks(dit_feature_rows a, dit_feature_rows b, dit_frechet_spread *out);

#endif
