/* The emulation's <cuda_runtime.h>: compiles CUDA sources for the host (threads.h), with as much of the runtime library
 * as they use. Streams do their work at once. Only work that waits for other processes (messages), and work queued
 * after it, is done later: when somebody asks how far a stream or an event is. A graph keeps the work that was queued
 * while it was recorded.
 */
#ifndef DIT_CUDA_EMULATE_RUNTIME_H
#define DIT_CUDA_EMULATE_RUNTIME_H

#include "intrinsics.h"
#include "threads.h"
#include "vector.h"

#include <functional>
#include <stddef.h>
#include <tuple>

#define CUDART_VERSION 13000
#define CUDART_CB

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNotReady = 600,
    cudaErrorPeerAccessAlreadyEnabled = 704,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorUnknown = 999
} cudaError_t;
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
typedef struct emulated_graph *cudaGraph_t, *cudaGraphExec_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaDeviceAttr {
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum {
    cudaStreamNonBlocking = 1,
    cudaEventDisableTiming = 2,
    cudaEventBlockingSync = 1,
    cudaHostAllocDefault = 0,
    cudaHostAllocPortable = 1
};
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin;
    int major, minor, multiProcessorCount, l2CacheSize;
};

const char *cudaGetErrorString(cudaError_t code);
const char *cudaGetErrorName(cudaError_t code);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char *out, int length, int device);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);

cudaError_t emulated_malloc(void **out, size_t bytes);
template <typename T> static inline cudaError_t cudaMalloc(T **out, size_t bytes)
{
    return emulated_malloc((void **)out, bytes);
}
cudaError_t cudaFree(void *memory);
cudaError_t emulated_host_malloc(void **out, size_t bytes);
template <typename T> static inline cudaError_t cudaHostAlloc(T **out, size_t bytes, unsigned)
{
    return emulated_host_malloc((void **)out, bytes);
}
template <typename T> static inline cudaError_t cudaMallocHost(T **out, size_t bytes)
{
    return emulated_host_malloc((void **)out, bytes);
}
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void *to, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreate(cudaStream_t *out);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status);

cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = NULL);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t emulated_graph_nodes(cudaGraph_t graph, size_t *count);
template <typename Node> static inline cudaError_t cudaGraphGetNodes(cudaGraph_t graph, Node *, size_t *count)
{
    return emulated_graph_nodes(graph, count);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

cudaError_t emulated_attribute(const void *kernel, cudaFuncAttribute attribute, int value);
template <typename Kernel>
static inline cudaError_t cudaFuncSetAttribute(Kernel *kernel, cudaFuncAttribute attribute, int value)
{
    return emulated_attribute((const void *)kernel, attribute, value);
}

struct emulated_kernel {
    const char *name;
    const void *entry;
    dim3 grid, block;
    size_t shared_bytes;
};
/* Runs a kernel now, or, while the stream is recorded, whenever the graph is launched. Refuses what a GPU refuses; the
 * error is also cudaGetLastError's. */
cudaError_t emulated_submit(const emulated_kernel &kernel, cudaStream_t stream, std::function<void()> thread);
/* Work that may have to wait for another process. `work` makes a function, once now or once per launch of a graph,
 * which is called again and again until it returns true. */
typedef std::function<bool()> emulated_poll;
typedef std::function<emulated_poll()> emulated_late;
void emulated_submit_late(cudaStream_t stream, emulated_late work);
/* Runs the threads of all blocks. */
void emulated_run(const emulated_kernel &kernel, const std::function<void()> &thread);

/* Launches a kernel; arguments are converted to its parameters now. */
template <typename... P, typename... A>
static inline cudaError_t emulated_launch(const char *name, cudaStream_t stream, dim3 grid, dim3 block,
                                          size_t shared_bytes, void (*kernel)(P...), A... args)
{
    std::tuple<P...> parameters(static_cast<P>(args)...);
    emulated_kernel k = {name, (const void *)kernel, grid, block, shared_bytes};
    return emulated_submit(k, stream, [=]() { std::apply(kernel, parameters); });
}

/* ---- what only tests use ------------------------------------------------------------------------------------------
 */

extern "C" {
extern bool emulated_stuck;           /* streams and events are never done */
extern int64_t emulated_memory_bytes; /* how much memory the device has */
extern int emulated_devices;
extern int64_t emulated_launches; /* kernels that ran since the library was loaded */
}

#endif
