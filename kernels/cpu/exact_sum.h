/* Sums of a row in double. The order of additions is that of EXACT_SUMS running sums whatever the vectors are, so that
 * all instruction sets give the same bits; a single sum would wait for every addition. */
#ifndef DIT_KERNELS_CPU_EXACT_SUM_H
#define DIT_KERNELS_CPU_EXACT_SUM_H

#include "kernels/cpu/vector.h"

enum { EXACT_SUMS = 16 };

DIT_INLINE double exact_sum_of(const double sum[EXACT_SUMS])
{
    double half[EXACT_SUMS / 2], total = 0;
    for (int j = 0; j < EXACT_SUMS / 2; j++) half[j] = sum[j] + sum[j + EXACT_SUMS / 2];
    for (int j = 0; j < EXACT_SUMS / 2; j++) total += half[j];
    return total;
}

#endif
