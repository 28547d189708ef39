/* Our own convolution: multiplies pixels, gathered tap by tap, with W [n, kernel t, y, x, channels], by the tiles of
 * tile.h. It takes any dtype, extents, strides, paddings and edges. It runs where the library declines, and the library
 * is checked against it.
 */
#include "kernels/cuda/tile.h"

/* What the gathered rows are read from; members as in dit_conv_args. */
typedef struct {
    view x, front, above, below;
    int64_t frames, height, width, channels, front_frame;
    int kernel[3], stride[3], padding[3];
    int up, halve; /* halve: how far to shift a coordinate right to undo `up` */
    bool replicate;
    int64_t out[3];
} picture;

/* Returns the coordinate inside of [0, extent) that is nearest. */
static __device__ inline int64_t nearest(int64_t at, int64_t extent)
{
    return at < 0 ? 0 : at < extent ? at : extent - 1;
}

/* Reads rows: a row is a position of y, its depth are the taps, channels fastest. The place in the depth is kept as a
 * tap and a channel, and moves on without divisions. */
typedef struct pixel_source {
    picture p;
    int64_t rows;
    bool wide;       /* any aligned eight channels can be read at once, and never belong to two taps */
    int64_t t, y, x; /* of the first tap; t beyond all frames: the row does not exist */
    int dt, dy, dx, channel;

    __device__ inline void next_tap()
    {
        if (++dx < p.kernel[2]) return;
        dx = 0;
        if (++dy < p.kernel[1]) return;
        dy = 0;
        dt++;
    }
    __device__ inline void move(int channels)
    {
        for (channel += channels; channel >= p.channels && dt < p.kernel[0]; channel -= (int)p.channels) next_tap();
    }
    __device__ inline void seek(int64_t row, int64_t k)
    {
        const int64_t line = row / p.out[2];
        t = row < rows ? line / p.out[1] * p.stride[0] - p.padding[0] : p.frames;
        y = line % p.out[1] * p.stride[1] - p.padding[1];
        x = row % p.out[2] * p.stride[2] - p.padding[2];
        dt = dy = dx = 0;
        channel = 0;
        move((int)k);
    }
    /* Finds the plane or line that holds position (frame, line) of the upsampled input, and where it begins there; data
     * NULL: zeros. */
    __device__ inline view line_of(int64_t frame, int64_t line, int64_t *begin) const
    {
        const view zeros = {NULL, DIT_DTYPE_FP32};
        const int64_t row = p.width * p.channels;
        if (frame >= p.frames || (frame < 0 && !p.front.data)) return zeros;
        if (p.replicate && !(line < 0 ? p.above : p.below).data) line = nearest(line, p.height * p.up);
        if (line < 0 || line >= p.height * p.up) {
            *begin = (frame + p.padding[0]) * row;
            if (line < -p.up || line >= (p.height + 1) * p.up) return zeros;
            return line < 0 ? p.above : p.below;
        }
        *begin =
            (line >> p.halve) * row + (frame < 0 ? (frame + p.padding[0]) * p.front_frame : frame * p.height * row);
        return frame < 0 ? p.front : p.x;
    }
    /* Finds the pixel of the tap, and where its channels begin. */
    __device__ inline view pixel(int64_t *begin) const
    {
        const view zeros = {NULL, DIT_DTYPE_FP32};
        const int64_t column = p.replicate ? nearest(x + dx, p.width * p.up) : x + dx;
        *begin = 0;
        if (dt >= p.kernel[0] || column < 0 || column >= p.width * p.up) return zeros;
        view line = line_of(t + dt, y + dy, begin);
        *begin += (column >> p.halve) * p.channels;
        return line;
    }
    __device__ inline void take(float out[VIEW_WIDTH])
    {
        int64_t begin;
        if (wide) {
            view from = pixel(&begin);
            if (from.data)
                view_load_wide(from, begin + channel, out);
            else
#pragma unroll
                for (int j = 0; j < VIEW_WIDTH; j++) out[j] = 0.0f;
            move(TILE_DEPTH);
            return;
        }
#pragma unroll 1
        for (int n = 0; n < VIEW_WIDTH; n++) {
            view from = pixel(&begin);
#pragma unroll
            for (int j = 1; j < VIEW_WIDTH; j++) out[j - 1] = out[j]; /* registers have no index */
            out[VIEW_WIDTH - 1] = from.data ? view_load(from, begin + channel) : 0.0f;
            move(1);
        }
        move(TILE_DEPTH - VIEW_WIDTH);
    }
} pixel_source;

typedef struct {
    pixel_source x;
    matrix_source w;
    finish f;
} convolution;

static __global__ void __launch_bounds__(TILE_THREADS, 2) conv_tile(convolution c)
{
    SHARED(float, shared);
    tile_multiply(c.x, c.w, c.f, shared);
}

static bool reads_wide(const picture *p)
{
    return p->channels % VIEW_WIDTH == 0 && view_is_wide(p->x, p->channels) && view_is_wide(p->front, p->front_frame) &&
           view_is_wide(p->above, p->channels) && view_is_wide(p->below, p->channels);
}

static picture picture_of(dit_cuda *cuda, const dit_conv_args *a)
{
    picture p = {};
    p.x = view_of(cuda, a->x), p.front = view_of(cuda, a->front);
    p.above = view_of(cuda, a->above), p.below = view_of(cuda, a->below);
    p.frames = a->frames, p.height = a->height, p.width = a->width, p.channels = a->channels;
    p.front_frame = a->front_frame, p.up = (int)a->up, p.halve = a->up == 2;
    p.replicate = a->replicate;
    for (int i = 0; i < 3; i++) {
        p.kernel[i] = (int)a->kernel[i], p.stride[i] = (int)a->stride[i], p.padding[i] = (int)a->padding[i];
        p.out[i] = a->out[i];
    }
    return p;
}

void cuda_conv_own(dit_cuda *cuda, const dit_conv_args *args)
{
    const cuda_weights *w = weights_of(args->weights);
    convolution c = {};
    c.x.rows = args->out[0] * args->out[1] * args->out[2];
    if (c.x.rows <= 0 || args->weights->n <= 0) return;
    c.x.p = picture_of(cuda, args);
    c.x.wide = reads_wide(&c.x.p);
    c.w = matrix_source_of(w->weight, args->weights->n, args->weights->k, args->weights->k, false);
    c.f.bias = w->bias;
    c.f.residual = view_of(cuda, args->residual);
    c.f.y = view_of(cuda, args->y);
    c.f.ldy = args->weights->n;
    c.f.activation = args->activation;
    if (!c.f.y.data) return;
    LAUNCH(cuda, conv_tile, (unsigned)tile_count(c.x.rows, args->weights->n), TILE_THREADS, TILE_SHARED_BYTES, c);
}
