/* Kernel distance (KID) between two sets of pictures: the squared maximum mean discrepancy of their features.
 *
 * The kernel is (x.y / width + 1)^3, the estimator the unbiased one, so its mean over samples of one distribution is 0
 * and it may be below zero. It is the number that verdicts use. Source: Binkowski, Sutherland, Arbel, Gretton,
 * Demystifying MMD GANs, ICLR 2018.
 */
#ifndef DIT_ENGINE_KERNEL_DISTANCE_H
#define DIT_ENGINE_KERNEL_DISTANCE_H

#include "base/bootstrap.h"
#include "engine/quality/frechet.h"

/* Computes the distance of all rows. Errors: DIT_ERR_SHAPE when widths differ or a set has fewer than two rows;
 * DIT_ERR_NONFINITE. */
dit_status dit_kernel_distance(dit_feature_rows a, dit_feature_rows b, double *distance);

enum { DIT_KERNEL_BLOCKS = 10 };

/* Computes the distance of all rows, with an interval from ten disjoint blocks: `value` plus and minus Student's
 * quantile (9 degrees, 97.5 %) times the standard error of the blocks' mean. prompt_of_a [a.count], prompt_of_b
 * [b.count]: pictures of prompt p, from 0 on, are in block p modulo 10 of both sets. Where a block of a set would have
 * fewer than two pictures, the interval is not bounded. Errors: as dit_kernel_distance; DIT_ERR_MEMORY. */
dit_status dit_kernel_distance_interval(dit_feature_rows a, const int *prompt_of_a, dit_feature_rows b,
                                        const int *prompt_of_b, dit_interval *out);

#endif
