#include "cuda_runtime.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vector>

enum { SHARED_DEFAULT_BYTES = 48 << 10, SHARED_MOST_BYTES = 227 << 10, MOST_BLOCK = 1024, MOST_GRID_YZ = 65535 };

extern "C" {
bool emulated_stuck;
int64_t emulated_memory_bytes = (int64_t)64 << 30;
int emulated_devices = 1;
}

struct emulated_graph {
    std::vector<emulated_late> work;
    bool spoilt = false;
};
struct emulated_stream {
    emulated_graph *recorded = NULL; /* the graph that is recorded from it, if any */
    bool origin = false;             /* where the recording began */
    bool destroyed = false;
    bool at_work = false;
    std::deque<emulated_poll> late; /* work that waits for other processes, and all that was queued since */
};
/* How often the event was recorded, and how many of these points were reached. */
struct event_state {
    int64_t ns = -1, asked = 0, reached = 0;
};
struct emulated_event {
    std::shared_ptr<event_state> state = std::make_shared<event_state>();
    bool timed = true;
    emulated_graph *recorded = NULL;
};

/* Reads the number of devices from DITBENCH_EMULATED_DEVICES, for programs that load this as a library. */
__attribute__((constructor)) static void count_devices(void)
{
    const char *count = getenv("DITBENCH_EMULATED_DEVICES");
    if (count) emulated_devices = atoi(count);
}

static cudaError_t last_error = cudaSuccess;
static int64_t memory_used;
static std::map<void *, size_t> memory_blocks;
static std::vector<emulated_stream *> streams;

static cudaError_t said(cudaError_t code)
{
    if (code != cudaSuccess && code != cudaErrorNotReady) last_error = code;
    return code;
}

static emulated_stream *stream_of(cudaStream_t stream)
{
    static emulated_stream *standard;
    if (stream) return stream;
    if (!standard) streams.push_back(standard = new emulated_stream());
    return standard;
}

/* Fails while something is recorded: calls that wait or allocate spoil a recording. */
static cudaError_t not_recording(void)
{
    cudaError_t code = cudaSuccess;
    for (emulated_stream *s : streams)
        if (s->recorded) s->recorded->spoilt = true, code = cudaErrorStreamCaptureUnsupported;
    return said(code);
}

/* ---- what comes late --------------------------------------------------------------------------------------------- */

static void pause(void)
{
    const struct timespec moment = {0, 20000};
    nanosleep(&moment, NULL);
}

static void proceed(emulated_stream *s)
{
    if (s->at_work) return;
    s->at_work = true;
    while (!s->late.empty() && s->late.front()()) s->late.pop_front();
    s->at_work = false;
}

static void proceed_all(void)
{
    for (emulated_stream *s : streams) proceed(s);
    auto is_over = [](emulated_stream *s) {
        bool over = s->destroyed && s->late.empty();
        if (over) delete s;
        return over;
    };
    streams.erase(std::remove_if(streams.begin(), streams.end(), is_over), streams.end());
}

/* Waits until all streams are done, however long that takes. */
static void finish_all(void)
{
    auto is_late = [](const emulated_stream *s) { return !s->late.empty(); };
    while (std::any_of(streams.begin(), streams.end(), is_late)) {
        proceed_all();
        pause();
    }
}

void emulated_submit_late(cudaStream_t stream, emulated_late work)
{
    emulated_stream *s = stream_of(stream);
    if (s->recorded)
        s->recorded->work.push_back(work);
    else
        s->late.push_back(work());
    if (!s->recorded) proceed(s);
}

static cudaError_t submit(cudaStream_t stream, std::function<void()> work)
{
    emulated_stream *s = stream_of(stream);
    emulated_poll at_once = [=]() {
        work();
        return true;
    };
    if (s->recorded)
        s->recorded->work.push_back([=]() { return at_once; });
    else if (s->late.empty())
        work();
    else
        s->late.push_back(at_once);
    return cudaSuccess;
}

/* ---- errors and the device --------------------------------------------------------------------------------------- */

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "driver version is insufficient"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
};

const char *cudaGetErrorString(cudaError_t code)
{
    for (const auto &e : errors)
        if (e.code == code) return e.text;
    return "unknown error";
}

const char *cudaGetErrorName(cudaError_t code)
{
    for (const auto &e : errors)
        if (e.code == code) return e.name;
    return "cudaErrorUnknown";
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t code = last_error;
    last_error = cudaSuccess;
    return code;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = emulated_devices;
    return said(emulated_devices ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    return said(device >= 0 && device < emulated_devices ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device)
{
    if (device < 0 || device >= emulated_devices) return said(cudaErrorInvalidDevice);
    *out = {};
    snprintf(out->name, sizeof out->name, "emulated");
    out->totalGlobalMem = (size_t)emulated_memory_bytes;
    out->sharedMemPerBlock = SHARED_DEFAULT_BYTES;
    out->sharedMemPerBlockOptin = SHARED_MOST_BYTES;
    out->multiProcessorCount = 4;
    out->l2CacheSize = 1 << 20;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    if (device < 0 || device >= emulated_devices) return said(cudaErrorInvalidDevice);
    *value = attribute == cudaDevAttrMultiProcessorCount            ? 4
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? SHARED_MOST_BYTES
             : attribute == cudaDevAttrL2CacheSize                  ? 1 << 20
                                                                    : 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int length, int)
{
    snprintf(out, (size_t)length, "0000:00:00.0");
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = 0;
    return said(device == peer || peer >= emulated_devices ? cudaErrorInvalidDevice : cudaSuccess);
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t code = not_recording();
    if (code == cudaSuccess) finish_all();
    return code;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *total = (size_t)emulated_memory_bytes;
    *free_bytes = (size_t)std::max<int64_t>(emulated_memory_bytes - memory_used, 0);
    return cudaSuccess;
}

/* Allocates memory full of NaN, so that reading what nobody wrote shows. */
cudaError_t emulated_malloc(void **out, size_t bytes)
{
    *out = NULL;
    if (not_recording() != cudaSuccess) return cudaErrorStreamCaptureUnsupported;
    if (!bytes) return cudaSuccess;
    if (memory_used + (int64_t)bytes > emulated_memory_bytes) return said(cudaErrorMemoryAllocation);
    *out = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*out) return said(cudaErrorMemoryAllocation);
    memset(*out, 0xFF, bytes);
    memory_blocks[*out] = bytes;
    memory_used += (int64_t)bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    auto found = memory_blocks.find(memory);
    if (!memory) return cudaSuccess;
    if (found == memory_blocks.end()) return said(cudaErrorInvalidValue);
    finish_all();
    memory_used -= (int64_t)found->second;
    memory_blocks.erase(found);
    free(memory);
    return cudaSuccess;
}

cudaError_t emulated_host_malloc(void **out, size_t bytes)
{
    *out = malloc(bytes);
    return said(*out ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream)
{
    if (bytes && (!to || !from)) return said(cudaErrorInvalidValue);
    return submit(stream, [=]() {
        if (bytes) memmove(to, from, bytes);
    });
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind, cudaStream_t stream)
{
    if (width > to_pitch || width > from_pitch) return said(cudaErrorInvalidValue);
    return submit(stream, [=]() {
        for (size_t y = 0; y < height; y++)
            memmove((char *)to + y * to_pitch, (const char *)from + y * from_pitch, width);
    });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    cudaError_t code = not_recording();
    return code == cudaSuccess ? cudaMemcpyAsync(to, from, bytes, kind, NULL) : code;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    if (bytes && !to) return said(cudaErrorInvalidValue);
    return submit(stream, [=]() {
        if (bytes) memset(to, value, bytes);
    });
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    cudaError_t code = not_recording();
    return code == cudaSuccess ? cudaMemsetAsync(to, value, bytes, NULL) : code;
}

/* ---- streams and events ------------------------------------------------------------------------------------------ */

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    *out = new emulated_stream();
    streams.push_back(*out);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned)
{
    return cudaStreamCreate(out);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned, int)
{
    return cudaStreamCreate(out);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    stream->destroyed = true;
    proceed_all();
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (stream_of(stream)->recorded) return not_recording();
    proceed_all();
    return said(emulated_stuck || !stream_of(stream)->late.empty() ? cudaErrorNotReady : cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream_of(stream)->recorded) return not_recording();
    while (!stream_of(stream)->late.empty()) {
        proceed_all();
        pause();
    }
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    std::shared_ptr<event_state> state = event->state;
    int64_t asked = state->asked;
    if (event->recorded)
        stream_of(stream)->recorded = event->recorded;
    else if (state->reached < asked)
        emulated_submit_late(stream, [=]() { return [=]() { return state->reached >= asked; }; });
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    const emulated_graph *graph = stream_of(stream)->recorded;
    *status = !graph          ? cudaStreamCaptureStatusNone
              : graph->spoilt ? cudaStreamCaptureStatusInvalidated
                              : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    *out = new emulated_event();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    cudaError_t code = cudaEventCreate(out);
    (*out)->timed = !(flags & cudaEventDisableTiming);
    return code;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    std::shared_ptr<event_state> state = event->state;
    int64_t asked = ++state->asked;
    event->recorded = stream_of(stream)->recorded;
    return submit(stream, [=]() {
        state->ns = now_ns();
        state->reached = asked;
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (event->recorded) return said(cudaErrorInvalidValue);
    proceed_all();
    return said(emulated_stuck || event->state->reached < event->state->asked ? cudaErrorNotReady : cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (event->recorded) return said(cudaErrorInvalidValue);
    while (event->state->reached < event->state->asked) {
        proceed_all();
        pause();
    }
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    int64_t from_ns = from->state->ns, to_ns = to->state->ns;
    if (from_ns < 0 || to_ns < 0 || !from->timed || !to->timed) return said(cudaErrorInvalidValue);
    *ms = (float)((double)(to_ns - from_ns) * 1e-6);
    return cudaSuccess;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    if (!stream || stream->recorded) return said(cudaErrorInvalidValue);
    stream->recorded = new emulated_graph();
    stream->origin = true;
    return cudaSuccess;
}

/* Ends the recording; all streams that joined leave it. A recording that was spoilt gives no graph. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    *out = NULL;
    if (!stream || !stream->recorded || !stream->origin) return said(cudaErrorInvalidValue);
    emulated_graph *graph = stream->recorded;
    for (emulated_stream *s : streams)
        if (s->recorded == graph) s->recorded = NULL;
    stream->origin = false;
    if (!graph->spoilt) *out = graph;
    if (*out) return cudaSuccess;
    delete graph;
    return said(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
    *out = new emulated_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    if (stream_of(stream)->recorded) return said(cudaErrorStreamCaptureUnsupported);
    std::shared_ptr<std::vector<emulated_late>> work = std::make_shared<std::vector<emulated_late>>(graph->work);
    emulated_submit_late(stream, [=]() {
        size_t next = 0;
        emulated_poll step;
        return [=]() mutable {
            for (; next < work->size(); next++, step = nullptr) {
                if (!step) step = (*work)[next]();
                if (!step()) return false;
            }
            return true;
        };
    });
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t emulated_graph_nodes(cudaGraph_t graph, size_t *count)
{
    *count = graph->work.size();
    return cudaSuccess;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static std::map<const void *, int> shared_allowed;

cudaError_t emulated_attribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || value > SHARED_MOST_BYTES) return said(cudaErrorInvalidValue);
    shared_allowed[kernel] = value;
    return cudaSuccess;
}

static bool is_launchable(const emulated_kernel &k)
{
    auto found = shared_allowed.find(k.entry);
    size_t allowed = found == shared_allowed.end() ? (size_t)SHARED_DEFAULT_BYTES : (size_t)found->second;
    uint64_t threads = (uint64_t)k.block.x * k.block.y * k.block.z;
    return threads > 0 && threads <= MOST_BLOCK && k.block.z <= 64 && k.grid.x > 0 && k.grid.x <= INT32_MAX &&
           k.grid.y > 0 && k.grid.y <= MOST_GRID_YZ && k.grid.z > 0 && k.grid.z <= MOST_GRID_YZ &&
           k.shared_bytes <= std::max(allowed, (size_t)SHARED_DEFAULT_BYTES);
}

cudaError_t emulated_submit(const emulated_kernel &kernel, cudaStream_t stream, std::function<void()> thread)
{
    if (!is_launchable(kernel))
        return said(kernel.shared_bytes > SHARED_DEFAULT_BYTES ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration);
    return submit(stream, [=]() { emulated_run(kernel, thread); });
}
