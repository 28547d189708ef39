/* Pieces: the eight elements, or one, that a thread takes at a time, and the variants of a kernel for them.
 *
 * A kernel is a template over DTYPE and WIDTH. Where all operands have one dtype, the variant for it has no branch
 * between its reads; the variant ANY_DTYPE asks every view. WIDTH 8 needs 16-byte alignment and whole pieces; WIDTH 1
 * takes everything else.
 */
#ifndef DIT_KERNELS_CUDA_PIECES_H
#define DIT_KERNELS_CUDA_PIECES_H

#include "kernels/cuda/launch.h"

#include <initializer_list>
#include <type_traits>

enum { ANY_DTYPE = DIT_DTYPE_COUNT, BLOCK_THREADS = 256 };

template <int DTYPE> static __device__ inline view view_as(view v)
{
    if (DTYPE != ANY_DTYPE) v.dtype = (dit_dtype)DTYPE;
    return v;
}

/* A piece between its read and its use. */
template <int DTYPE, int WIDTH> struct piece;

template <int DTYPE> struct piece<DTYPE, VIEW_WIDTH> {
    view_raw raw;
    __device__ void read(view v, int64_t i) { raw = view_read(view_as<DTYPE>(v), i); }
    __device__ void read_only(view v, int64_t i) { raw = view_read_only(view_as<DTYPE>(v), i); }
    __device__ void clear() { raw = view_raw(); }
    __device__ void floats(view v, float out[VIEW_WIDTH]) const { view_floats(view_as<DTYPE>(v).dtype, raw, out); }
};

template <int DTYPE> struct piece<DTYPE, 1> {
    float value;
    __device__ void read(view v, int64_t i) { value = view_load(view_as<DTYPE>(v), i); }
    __device__ void read_only(view v, int64_t i) { read(v, i); }
    __device__ void clear() { value = 0.0f; }
    __device__ void floats(view, float out[1]) const { out[0] = value; }
};

/* Loads a piece of an array that no thread of the kernel writes. */
template <int DTYPE, int WIDTH> static __device__ inline void piece_load(view v, int64_t i, float out[WIDTH])
{
    piece<DTYPE, WIDTH> p;
    p.read_only(v, i);
    p.floats(v, out);
}

/* Loads a piece, or fills `out` with `otherwise` where the view has no data. */
template <int DTYPE, int WIDTH>
static __device__ inline void piece_load_or(view v, int64_t i, float otherwise, float out[WIDTH])
{
    if (v.data) {
        piece_load<DTYPE, WIDTH>(v, i, out);
        return;
    }
#pragma unroll
    for (int j = 0; j < WIDTH; j++) out[j] = otherwise;
}

template <int DTYPE, int WIDTH> static __device__ inline void piece_store(view v, int64_t i, const float x[WIDTH])
{
    if (WIDTH == VIEW_WIDTH)
        view_store_wide(view_as<DTYPE>(v), i, x);
    else
        view_store(view_as<DTYPE>(v), i, x[0]);
}

/* ---- which variant ----------------------------------------------------------------------------------------------- */

typedef struct {
    view v;     /* data NULL: not there */
    int64_t ld; /* a distance that is added to its address between pieces; 0: none */
} piece_operand;

typedef struct {
    int dtype; /* of all operands, or ANY_DTYPE */
    bool wide;
} piece_variant;

/* Chooses the variant for operands that have `cols` elements side by side. */
static inline piece_variant piece_variant_of(int64_t cols, std::initializer_list<piece_operand> operands)
{
    piece_variant variant = {-1, cols % VIEW_WIDTH == 0};
    for (const piece_operand &operand : operands) {
        if (!operand.v.data) continue;
        if (!view_is_wide(operand.v, operand.ld)) variant.wide = false;
        if (variant.dtype < 0) variant.dtype = operand.v.dtype;
        if (variant.dtype != operand.v.dtype) variant.dtype = ANY_DTYPE;
    }
    return variant;
}

/* Calls launch(dtype, width) with two types whose `value` is the variant's constant. */
template <typename Launch> static inline void piece_variant_launch(piece_variant variant, Launch launch)
{
    std::integral_constant<int, VIEW_WIDTH> wide;
    if (!variant.wide)
        launch(std::integral_constant<int, ANY_DTYPE>(), std::integral_constant<int, 1>());
    else if (variant.dtype == DIT_DTYPE_BF16)
        launch(std::integral_constant<int, DIT_DTYPE_BF16>(), wide);
    else if (variant.dtype == DIT_DTYPE_FP16)
        launch(std::integral_constant<int, DIT_DTYPE_FP16>(), wide);
    else if (variant.dtype == DIT_DTYPE_FP32)
        launch(std::integral_constant<int, DIT_DTYPE_FP32>(), wide);
    else
        launch(std::integral_constant<int, ANY_DTYPE>(), wide);
}
#define PIECE_KERNEL(kernel, dtype, width) (kernel<decltype(dtype)::value, decltype(width)::value>)

/* ---- which threads ----------------------------------------------------------------------------------------------- */

static inline int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* A block's threads: x over the pieces of a row, y over rows, at most BLOCK_THREADS. Few are idle at any width. */
typedef struct {
    dim3 block;
    int64_t across; /* blocks side by side */
} piece_tile;

static inline piece_tile piece_tile_of(int64_t pieces, int64_t widest)
{
    piece_tile tile;
    tile.across = divide_up(pieces, widest);
    int64_t x = divide_up(pieces, tile.across), y = BLOCK_THREADS / x;
    tile.block = dim3((unsigned)x, (unsigned)y);
    return tile;
}

/* Limit a grid's x and y: kernels stride by the grid where more blocks are wanted. */
static inline unsigned grid_x(int64_t blocks)
{
    return (unsigned)(blocks < INT32_MAX ? blocks : INT32_MAX);
}
static inline unsigned grid_y(int64_t blocks)
{
    return (unsigned)(blocks < 65535 ? blocks : 65535);
}

/* Returns a / b for non-negative numbers. 64-bit division takes about a hundred instructions and is seldom needed. */
static __device__ inline int64_t divide(int64_t a, int64_t b)
{
    if (((uint64_t)a | (uint64_t)b) >> 32) return a / b;
    return (int64_t)((uint32_t)a / (uint32_t)b);
}

#endif
