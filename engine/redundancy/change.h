/* Change: how much a tensor differs from itself one step before.
 *
 * Sums add up over rows, guidance branches and calls, so that a measure of a whole is one of the sums of its parts.
 */
#ifndef DIT_ENGINE_CHANGE_H
#define DIT_ENGINE_CHANGE_H

#include <stdint.h>

typedef struct {
    double count;                         /* of elements                            */
    double difference, difference_square; /* sums of |now - before| and its square  */
    double before;                        /* sum of |before|                        */
    double now_square, before_square, product;
} dit_change;

/* The measures, in the order of the file. l1 and variance are those of "Unveiling Redundancy in Diffusion Transformers"
 * (arXiv:2411.13588): mean and variance of |now - before| over elements. */
typedef enum {
    DIT_CHANGE_L1,
    DIT_CHANGE_VARIANCE,
    DIT_CHANGE_RELATIVE, /* sum of |now - before| over that of |before| */
    DIT_CHANGE_COSINE,   /* of the angle between now and before         */
    DIT_CHANGE_LENGTH,   /* Euclidean length of now over that of before */
    DIT_CHANGE_MEASURES
} dit_change_measure;
/* Names of the measures, NULL at the end. */
const char *const *dit_change_names(void);

/* Adds `count` elements to *sums. Returns the sum of |now - before| of these. */
double dit_change_add(dit_change *sums, const float *now, const float *before, int64_t count);
/* Adds all sums of `other`. */
void dit_change_join(dit_change *sums, const dit_change *other);
/* Fills out; 0 where there are no elements, or where what it is relative to is 0. */
void dit_change_measure_all(const dit_change *sums, float out[DIT_CHANGE_MEASURES]);

#endif
