/* The inner loop of our own linear layer and convolution: y = finish(x W^T) by tiles of 64 x 64, with sums in fp32.
 *
 * Sources read x and W, eight values along the depth at a time, in whatever layout they lie:
 *   seek(row, k)  goes to depth k of that row; rows and depths beyond the last are zeros
 *   take(out)     reads eight values and moves on by TILE_DEPTH
 * Half of the threads read x and half read W for the next step, while all multiply for this one. A step's values lie in
 * shared memory by depth, so a thread reads its four rows and its four columns as one vector each. After about every
 * thousandth product a new sum begins, which keeps the error of long rows near that of short ones.
 */
#ifndef DIT_KERNELS_CUDA_TILE_H
#define DIT_KERNELS_CUDA_TILE_H

#include "kernels/cuda/e4m3.h"
#include "kernels/cuda/finish.h"
#include "kernels/cuda/launch.h"

enum {
    TILE = 64,       /* rows and columns */
    TILE_DEPTH = 16, /* of a step        */
    TILE_THREADS = 256,
    TILE_EACH = 4,          /* rows and columns of a thread                             */
    TILE_PITCH = TILE + 4,  /* floats: vectors stay aligned, and banks differ           */
    TILE_STEPS_OF_SUM = 32, /* steps whose products are added before they join the rest */
    TILE_STEP_FLOATS = TILE_DEPTH * TILE_PITCH,
    TILE_SHARED_BYTES = 4 * TILE_STEP_FLOATS * (int)sizeof(float) /* x and W, of two steps */
};

/* Reads rows of a matrix. `codes`: it holds e4m3 codes instead of the view's dtype. */
typedef struct matrix_source {
    view data;
    int64_t rows, depth, ld;
    bool wide, codes;
    int64_t row, k;

    __device__ inline void seek(int64_t to_row, int64_t to_k)
    {
        row = to_row;
        k = to_k;
    }
    __device__ inline float at(int64_t i) const
    {
        return codes ? e4m3_to_float(((const uint8_t *)data.data)[i]) : view_load(data, i);
    }
    __device__ inline void take_codes(int64_t i, float out[VIEW_WIDTH]) const
    {
        uint2 raw = *(const uint2 *)((const uint8_t *)data.data + i);
#pragma unroll
        for (int j = 0; j < VIEW_WIDTH; j++)
            out[j] = e4m3_to_float((uint8_t)((j < 4 ? raw.x : raw.y) >> 8 * (j % 4) & 0xFFu));
    }
    __device__ inline void take(float out[VIEW_WIDTH])
    {
        int64_t left = row < rows ? depth - k : 0, i = row * ld + k;
        k += TILE_DEPTH;
        if (wide && left >= VIEW_WIDTH) {
            if (codes)
                take_codes(i, out);
            else
                view_load_wide(data, i, out);
            return;
        }
#pragma unroll
        for (int j = 0; j < VIEW_WIDTH; j++) out[j] = j < left ? at(i + j) : 0.0f;
    }
} matrix_source;

static inline matrix_source matrix_source_of(view data, int64_t rows, int64_t depth, int64_t ld, bool codes)
{
    bool wide = codes ? (uintptr_t)data.data % 8 == 0 && ld % 8 == 0 : view_is_wide(data, ld) && view_bytes(data) <= 4;
    matrix_source source = {data, rows, depth, ld, wide, codes, 0, 0};
    return source;
}

/* Multiplies one step: thread (down, across) of 16 x 16 adds to its 4 x 4 sums. */
static __device__ inline void tile_step(const float *x, const float *w, int down, int across,
                                        float sums[TILE_EACH][TILE_EACH])
{
#pragma unroll
    for (int k = 0; k < TILE_DEPTH; k++) {
        float4 a = *(const float4 *)(x + k * TILE_PITCH + TILE_EACH * down);
        float4 b = *(const float4 *)(w + k * TILE_PITCH + TILE_EACH * across);
        const float rows[TILE_EACH] = {a.x, a.y, a.z, a.w}, columns[TILE_EACH] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int i = 0; i < TILE_EACH; i++)
#pragma unroll
            for (int j = 0; j < TILE_EACH; j++) sums[i][j] = fmaf(rows[i], columns[j], sums[i][j]);
    }
}

static __device__ inline void tile_add(float sums[TILE_EACH][TILE_EACH], float total[TILE_EACH][TILE_EACH])
{
#pragma unroll
    for (int i = 0; i < TILE_EACH; i++)
#pragma unroll
        for (int j = 0; j < TILE_EACH; j++) {
            total[i][j] += sums[i][j];
            sums[i][j] = 0.0f;
        }
}

/* Computes the block's tile. Blocks count along the columns first, because these share rows of x. */
template <typename source>
static __device__ inline void tile_multiply(source x, matrix_source w, const finish &f, float *shared)
{
    const int thread = (int)threadIdx.x, half = thread / (TILE_THREADS / 2);
    const int line = thread % TILE, chunk = thread / TILE % 2 * VIEW_WIDTH;
    const int down = thread / 16, across = thread % 16;
    const int64_t across_tiles = (w.rows + TILE - 1) / TILE;
    const int64_t first_row = blockIdx.x / across_tiles * TILE, first_column = blockIdx.x % across_tiles * TILE;
    float next[VIEW_WIDTH], sums[TILE_EACH][TILE_EACH] = {}, total[TILE_EACH][TILE_EACH] = {};
    if (half == 0) {
        x.seek(first_row + line, chunk);
        x.take(next);
    } else {
        w.seek(first_column + line, chunk);
        w.take(next);
    }
    int step = 0;
    for (int64_t k = 0; k < w.depth; k += TILE_DEPTH, step++) {
        float *now = shared + step % 2 * 2 * TILE_STEP_FLOATS;
#pragma unroll
        for (int j = 0; j < VIEW_WIDTH; j++) now[half * TILE_STEP_FLOATS + (chunk + j) * TILE_PITCH + line] = next[j];
        __syncthreads(); /* all threads have finished the step that used these floats before */
        if (k + TILE_DEPTH < w.depth) {
            if (half == 0)
                x.take(next);
            else
                w.take(next);
        }
        tile_step(now, now + TILE_STEP_FLOATS, down, across, sums);
        if (step % TILE_STEPS_OF_SUM == TILE_STEPS_OF_SUM - 1) tile_add(sums, total);
    }
    tile_add(sums, total);
    const float scale = finish_scale(f);
#pragma unroll
    for (int i = 0; i < TILE_EACH; i++)
#pragma unroll
        for (int j = 0; j < TILE_EACH; j++) {
            int64_t row = first_row + TILE_EACH * down + i, column = first_column + TILE_EACH * across + j;
            if (row < x.rows && column < w.rows) finish_store(f, row, column, scale * total[i][j]);
        }
}

static inline int64_t tile_count(int64_t rows, int64_t columns)
{
    return (rows + TILE - 1) / TILE * ((columns + TILE - 1) / TILE);
}

#endif
