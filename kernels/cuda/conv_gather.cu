/* Gathers the input of a convolution into an image that cuDNN can read: repeated pixels, zeros, frames before the
 * first, and rows of the neighbours. Bytes: the copy once, x about once (up x up times from a cache).
 *
 * A thread moves eight channels where everything is 16-byte aligned, else one.
 */
#include "kernels/cuda/beside_cudnn.h"
#include "kernels/cuda/launch.h"

enum { THREADS = 256 };

typedef struct {
    view from; /* data NULL: zeros */
    int64_t at;
} source;

/* Returns the coordinate inside of [0, extent) that is nearest. */
static __device__ inline int64_t nearest(int64_t at, int64_t extent)
{
    return at < 0 ? 0 : at < extent ? at : extent - 1;
}

/* Returns a pixel of the upsampled and padded input, as input_at of ref/conv.c does. */
static __device__ source pixel_of(const cuda_gather *g, int64_t t, int64_t y, int64_t x)
{
    source none = {{NULL, DIT_DTYPE_FP32}, 0};
    int64_t frame = g->height * g->width * g->channels;
    if (g->replicate) x = nearest(x, g->width * g->up);
    if (g->replicate && !(y < 0 ? g->above : g->below).data) y = nearest(y, g->height * g->up);
    if (x < 0 || x >= g->width * g->up || t >= g->frames || t < -g->front_frames) return none;
    if (t < 0 && !g->front.data) return none;
    if (y < -g->up || y >= (g->height + 1) * g->up) return none;
    x /= g->up;
    if (y < 0 || y >= g->height * g->up) {
        source edge = {y < 0 ? g->above : g->below, ((t + g->front_frames) * g->width + x) * g->channels};
        return edge;
    }
    int64_t inside = (y / g->up * g->width + x) * g->channels;
    source before = {g->front, (t + g->front_frames) * g->front_frame + inside}, now = {g->x, t * frame + inside};
    return t < 0 ? before : now;
}

static __global__ void gather_kernel(cuda_gather g, int64_t pieces, int width)
{
    int64_t per_pixel = g.channels / width;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < pieces; i += gridDim.x * (int64_t)blockDim.x) {
        int64_t pixel = i / per_pixel, channel = i % per_pixel * width;
        int64_t x = pixel % g.extent[2], y = pixel / g.extent[2] % g.extent[1], t = pixel / g.extent[2] / g.extent[1];
        source s = pixel_of(&g, t + g.first[0], y + g.first[1], x + g.first[2]);
        float values[VIEW_WIDTH] = {0};
        if (width == VIEW_WIDTH) {
            if (s.from.data) view_load_wide(s.from, s.at + channel, values);
            view_store_wide(g.copy, i * VIEW_WIDTH, values);
        } else {
            view_store(g.copy, i, s.from.data ? view_load(s.from, s.at + channel) : 0.0f);
        }
    }
}

static bool is_wide(const cuda_gather *g)
{
    const view all[] = {g->x, g->front, g->above, g->below, g->copy};
    bool wide = g->channels % VIEW_WIDTH == 0 && g->front_frame % VIEW_WIDTH == 0;
    for (view v : all) wide = wide && (!v.data || view_is_wide(v, g->channels));
    return wide;
}

void cuda_conv_gather(dit_cuda *cuda, const cuda_gather *gather)
{
    int width = is_wide(gather) ? VIEW_WIDTH : 1;
    int64_t pieces = gather->extent[0] * gather->extent[1] * gather->extent[2] * gather->channels / width;
    int64_t blocks = (pieces + THREADS - 1) / THREADS, most = 1 << 20;
    if (pieces <= 0) return;
    LAUNCH(cuda, gather_kernel, dim3((unsigned)(blocks < most ? blocks : most)), dim3(THREADS), 0, *gather, pieces,
           width);
}
