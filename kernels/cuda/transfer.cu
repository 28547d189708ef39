/* Uploads and downloads arrays through page-locked memory in two halves, on the stream of the operators and so in their
 * order. The device rounds and widens elements; the host only copies. */
#include "kernels/cuda/launch.h"
#include "kernels/cuda/parts.h"

#include <string.h>

enum { CONVERT_THREADS = 256, CONVERT_BLOCKS = 4096 };

__global__ void convert_elements(view to, view from, int64_t count)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        view_store(to, i, view_load(from, i));
}

static void convert(dit_cuda *cuda, view to, view from, int64_t count)
{
    int64_t blocks = (count + CONVERT_THREADS - 1) / CONVERT_THREADS;
    if (blocks > CONVERT_BLOCKS) blocks = CONVERT_BLOCKS;
    LAUNCH(cuda, convert_elements, (unsigned)blocks, CONVERT_THREADS, 0, to, from, count);
}

dit_status cuda_staging_open(cuda_device *d)
{
    for (int i = 0; i < CUDA_STAGING_HALVES; i++) {
        CUDA_TRY(cudaHostAlloc((void **)&d->staging[i].memory, CUDA_STAGING_BYTES, cudaHostAllocDefault));
        CUDA_TRY(cudaEventCreateWithFlags(&d->staging[i].done, cudaEventDisableTiming));
    }
    return DIT_OK;
}

void cuda_staging_close(cuda_device *d)
{
    for (int i = 0; i < CUDA_STAGING_HALVES; i++) {
        if (d->staging[i].memory) cudaFreeHost(d->staging[i].memory);
        if (d->staging[i].done) cudaEventDestroy(d->staging[i].done);
    }
}

/* A piece of a transfer: as many elements as fit one half as the host stores them. */
typedef struct {
    view device; /* where the elements lie */
    view staged; /* the same place, or the workspace, which holds them in fp32 */
    char *host;
    int64_t count, bytes; /* bytes as the host stores them */
} piece;

static bool is_rounded(dit_dtype dtype)
{
    return dtype == DIT_DTYPE_BF16 || dtype == DIT_DTYPE_FP16;
}

static piece piece_at(const dit_cuda *cuda, const dit_location *location, const void *host, int64_t elements, int64_t first)
{
    const view whole = {location->data, location->dtype}, workspace = {cuda->workspace, DIT_DTYPE_FP32};
    int64_t unit = location->dtype == DIT_DTYPE_FP64 ? 8 : 4, most = CUDA_STAGING_BYTES / unit;
    piece p;
    p.device = view_at(whole, first);
    p.staged = is_rounded(location->dtype) ? workspace : p.device;
    p.host = (char *)host + first * unit;
    p.count = elements - first < most ? elements - first : most;
    p.bytes = p.count * unit;
    return p;
}

static dit_status check_not_recording(const dit_cuda *cuda)
{
    if (!cuda->recording) return DIT_OK;
    return DIT_FAIL(DIT_ERR_INTERNAL, "nothing can be uploaded or downloaded while a graph is recorded");
}

/* Waits until the host may use the half. */
static dit_status half_wait(dit_cuda *cuda, cuda_staging *half)
{
    if (half->under_way) DIT_TRY(cuda_wait(cuda, half->done));
    half->under_way = false;
    return DIT_OK;
}

static dit_status half_queued(dit_cuda *cuda, cuda_staging *half)
{
    CUDA_TRY(cudaEventRecord(half->done, cuda->stream));
    half->under_way = true;
    return DIT_OK;
}

static dit_status put_piece(dit_cuda *cuda, cuda_staging *half, const piece *p)
{
    DIT_TRY(half_wait(cuda, half));
    memcpy(half->memory, p->host, (size_t)p->bytes);
    CUDA_TRY(cudaMemcpyAsync(p->staged.data, half->memory, (size_t)p->bytes, cudaMemcpyHostToDevice, cuda->stream));
    if (p->staged.data != p->device.data) convert(cuda, p->device, p->staged, p->count);
    return half_queued(cuda, half);
}

dit_status cuda_upload(dit_device *device, const dit_location *location, const void *host, int64_t elements)
{
    cuda_device *d = cuda_device_of(device);
    DIT_TRY(check_not_recording(&d->cuda));
    int turn = 0;
    for (int64_t first = 0; first < elements; turn = !turn) {
        piece p = piece_at(&d->cuda, location, host, elements, first);
        DIT_TRY(put_piece(&d->cuda, &d->staging[turn], &p));
        first += p.count;
    }
    return cuda_take_failure(&d->cuda);
}

static dit_status ask_piece(dit_cuda *cuda, cuda_staging *half, const piece *p)
{
    DIT_TRY(half_wait(cuda, half));
    if (p->staged.data != p->device.data) convert(cuda, p->staged, p->device, p->count);
    CUDA_TRY(cudaMemcpyAsync(half->memory, p->staged.data, (size_t)p->bytes, cudaMemcpyDeviceToHost, cuda->stream));
    return half_queued(cuda, half);
}

static dit_status take_piece(dit_cuda *cuda, cuda_staging *half, const piece *p)
{
    DIT_TRY(half_wait(cuda, half));
    memcpy(p->host, half->memory, (size_t)p->bytes);
    return DIT_OK;
}

/* Downloads piece by piece; each piece is queued before the one before it is taken. */
dit_status cuda_download(dit_device *device, const dit_location *location, void *host, int64_t elements)
{
    cuda_device *d = cuda_device_of(device);
    piece last = {};
    int turn = 0;
    DIT_TRY(check_not_recording(&d->cuda));
    for (int64_t first = 0; first < elements; turn = !turn) {
        piece p = piece_at(&d->cuda, location, host, elements, first);
        DIT_TRY(ask_piece(&d->cuda, &d->staging[turn], &p));
        if (last.count) DIT_TRY(take_piece(&d->cuda, &d->staging[!turn], &last));
        last = p;
        first += p.count;
    }
    if (last.count) DIT_TRY(take_piece(&d->cuda, &d->staging[!turn], &last));
    return cuda_take_failure(&d->cuda);
}
