/* The layout of group norm's workspace: two doubles per block of rows and group, then three floats per batch entry and
 * group. */
#ifndef DIT_KERNELS_GROUP_NORM_WORKSPACE_H
#define DIT_KERNELS_GROUP_NORM_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t rows, block_rows, blocks; /* per batch entry */
    double *moments;                  /* [batch, blocks, groups, 2]: mean, squared deviations from it */
    float *statistics;                /* [batch, groups, 3]: mean, what rounding it left, 1 / sqrt(variance + eps) */
    int64_t bytes;
} group_norm_layout;

static inline group_norm_layout group_norm_layout_of(int64_t batch, int64_t rows, int64_t C, int64_t groups,
                                                     void *workspace)
{
    enum { BLOCK_FLOATS = 1 << 16 }; /* 256 KiB: within an L2 cache */
    group_norm_layout l = {.rows = rows, .block_rows = BLOCK_FLOATS / C > 0 ? BLOCK_FLOATS / C : 1};
    l.blocks = (rows + l.block_rows - 1) / l.block_rows;
    int64_t moments = batch * l.blocks * groups * 2, statistics = batch * groups * 3;
    l.bytes = moments * (int64_t)sizeof(double) + statistics * (int64_t)sizeof(float);
    if (!workspace) return l; /* only its size is asked for */
    l.moments = workspace;
    l.statistics = (float *)(void *)(l.moments + moments);
    return l;
}

#endif
