/* Gives the size of a piece of a memory-bound operator: for less work, waking a thread costs more than it brings. */
#ifndef DIT_KERNELS_CPU_GRAIN_H
#define DIT_KERNELS_CPU_GRAIN_H

#include <stdint.h>

enum { GRAIN_ELEMENTS = 1 << 15 };

/* Returns the rows per piece, for rows of `width` elements. */
static inline int64_t grain_of_rows(int64_t width)
{
    return width > 0 ? (GRAIN_ELEMENTS + width - 1) / width : 1;
}

#endif
