/* Device "cuda": an NVIDIA GPU with its streams, memory and table of operators.
 *
 * Everything is queued on one stream. The host waits by polling, with a deadline, so a kernel that hangs becomes an
 * error. Memory comes from cudaMalloc in blocks (kernels/address_map.h). Graphs are recorded from the stream.
 */
#include "kernels/cuda/parts.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern "C" const dit_device_ops dit_device_cuda;

/* Enough for FLUX.1's widest product at 1024 pixels before its gate, and for a VAE's rows beside a plan's workspace. */
enum { WORKSPACE_BYTES = 256 << 20, LEAST_SM = 80 };

/* ---- what fails -------------------------------------------------------------------------------------------------- */

static void remember(dit_cuda *cuda, dit_status status, const char *format, va_list values)
{
    if (cuda->failure != DIT_OK) return;
    cuda->failure = status;
    vsnprintf(cuda->failure_text, sizeof cuda->failure_text, format, values);
}

void cuda_fail(dit_cuda *cuda, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    remember(cuda, DIT_ERR_DEVICE, format, values);
    va_end(values);
}

bool cuda_check(dit_cuda *cuda, cudaError_t code, const char *call)
{
    if (code == cudaSuccess) return true;
    cuda_fail(cuda, "%s: %s", call, cudaGetErrorString(code));
    return false;
}

dit_status cuda_take_failure(dit_cuda *cuda)
{
    dit_status status = cuda->failure;
    if (status == DIT_OK) return DIT_OK;
    cuda->failure = DIT_OK;
    return DIT_FAIL(status, "%s", cuda->failure_text);
}

view view_of(dit_cuda *cuda, const void *address)
{
    dit_location location;
    view nothing = {NULL, cuda->device.dtype};
    if (!address) return nothing;
    if (dit_address_map_find(cuda->device.map, address, &location)) return view{location.data, location.dtype};
    cuda_fail(cuda, "an operator was given an address that belongs to no array of the device");
    return nothing;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

enum { SPIN_NS = 2000000, SLEEP_NS = 50000 };

/* Short waits spin: a sleep takes longer than a step of a small model. */
dit_status cuda_wait(dit_cuda *cuda, cudaEvent_t event)
{
    const struct timespec pause = {0, SLEEP_NS};
    int64_t begin = dit_clock_ns(), passed = 0;
    cudaError_t code;
    while ((code = event ? cudaEventQuery(event) : cudaStreamQuery(cuda->stream)) == cudaErrorNotReady) {
        passed = dit_clock_ns() - begin;
        bool expired = (double)passed > cuda->params.deadline_s * 1e9;
        if (expired) ((cuda_device *)cuda)->lost = true;
        DIT_TRY(dit_device_ask_watchdogs(&cuda->device, expired ? cuda->params.deadline_s : 0));
        if (expired)
            return DIT_FAIL(DIT_ERR_TIMEOUT, "the device has not finished after %g s", cuda->params.deadline_s);
        if (passed > SPIN_NS) nanosleep(&pause, NULL);
    }
    cuda_check(cuda, code, "work on the device");
    cudaGetLastError(); /* "not ready" is no error */
    return cuda_take_failure(cuda);
}

static dit_status device_synchronize(dit_device *device)
{
    dit_cuda *cuda = (dit_cuda *)device;
    if (cuda->recording) return DIT_FAIL(DIT_ERR_INTERNAL, "a wait while a graph is recorded");
    return cuda_wait(cuda, NULL);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Creates one more event; it is reused after events were forgotten. */
static bool add_event(dit_cuda *cuda)
{
    dit_cuda_events *events = cuda->events;
    if (events->created == events->room) {
        int64_t room = events->room ? 2 * events->room : 1024;
        cudaEvent_t *grown = (cudaEvent_t *)realloc(events->all, (size_t)room * sizeof *grown);
        if (!grown) return false;
        events->all = grown;
        events->room = room;
    }
    if (!CUDA_CHECK(cuda, cudaEventCreate(&events->all[events->created]))) return false;
    events->created++;
    return true;
}

static int64_t device_record_event(dit_device *device)
{
    dit_cuda *cuda = (dit_cuda *)device;
    dit_cuda_events *events = cuda->events;
    if (cuda->recording) return -1;
    if (events->used == events->created && !add_event(cuda)) return -1;
    if (!CUDA_CHECK(cuda, cudaEventRecord(events->all[events->used], cuda->stream))) return -1;
    return events->used++;
}

static int64_t device_elapsed_ns(dit_device *device, int64_t from, int64_t to)
{
    const dit_cuda_events *events = ((dit_cuda *)device)->events;
    float ms = 0;
    if (from >= events->used || to >= events->used) return -1;
    if (cudaEventElapsedTime(&ms, events->all[from], events->all[to]) == cudaSuccess)
        return (int64_t)((double)ms * 1e6);
    cudaGetLastError(); /* not reached yet */
    return -1;
}

static void device_forget_events(dit_device *device)
{
    ((dit_cuda *)device)->events->used = 0;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

struct dit_device_graph {
    cudaGraphExec_t ready;
};

static dit_status device_record_begin(dit_device *device)
{
    dit_cuda *cuda = (dit_cuda *)device;
    if (cuda->recording) return DIT_FAIL(DIT_ERR_INTERNAL, "a graph is being recorded already");
    DIT_TRY(cuda_take_failure(cuda));
    CUDA_TRY(cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeThreadLocal));
    cuda->recording = true;
    return DIT_OK;
}

static dit_status make_ready(dit_cuda *cuda, cudaGraph_t recorded, dit_device_graph **out)
{
    DIT_TRY(cuda_take_failure(cuda));
    dit_device_graph *graph = (dit_device_graph *)calloc(1, sizeof *graph);
    if (!graph) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a graph");
    cudaError_t code = cudaGraphInstantiate(&graph->ready, recorded, 0);
    if (code == cudaSuccess) {
        *out = graph;
        return DIT_OK;
    }
    free(graph);
    return DIT_FAIL(DIT_ERR_DEVICE, "cudaGraphInstantiate: %s", cudaGetErrorString(code));
}

/* Ends the recording. An operator's failure is reported before that of the recording: it says more. */
static dit_status device_record_end(dit_device *device, dit_device_graph **out)
{
    dit_cuda *cuda = (dit_cuda *)device;
    cudaGraph_t recorded = NULL;
    *out = NULL;
    if (!cuda->recording) return DIT_FAIL(DIT_ERR_INTERNAL, "no graph is being recorded");
    cuda->recording = false;
    cuda_check(cuda, cudaStreamEndCapture(cuda->stream, &recorded), "cudaStreamEndCapture");
    cudaGetLastError();
    dit_status st = make_ready(cuda, recorded, out);
    if (recorded) cudaGraphDestroy(recorded);
    return st;
}

static dit_status device_launch(dit_device *device, dit_device_graph *graph)
{
    CUDA_TRY(cudaGraphLaunch(graph->ready, ((dit_cuda *)device)->stream));
    return DIT_OK;
}

static void device_graph_free(dit_device *device, dit_device_graph *graph)
{
    if (!cuda_device_of(device)->lost) cudaGraphExecDestroy(graph->ready);
    free(graph);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void *get_memory(void *context, int64_t bytes)
{
    void *memory = NULL;
    (void)context;
    if (cudaMalloc(&memory, (size_t)bytes) == cudaSuccess) return memory;
    cudaGetLastError();
    return NULL;
}

static void give_back(void *context, void *memory)
{
    (void)context;
    cudaFree(memory);
}

static int device_count(void)
{
    int count = 0, driver = 0, runtime = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && count > 0) return count;
    cudaGetLastError();
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        (void)DIT_FAIL(DIT_ERR_ENVIRONMENT, "no CUDA device: this machine has no NVIDIA driver");
    else
        (void)DIT_FAIL(DIT_ERR_ENVIRONMENT, "no CUDA device: %s (driver for CUDA %d.%d, built with %d.%d)",
                       code == cudaSuccess ? "none is visible" : cudaGetErrorString(code), driver / 1000,
                       driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return 0;
}

static dit_status check_params(const dit_device_params *params)
{
    int count = device_count();
    if (count == 0) return DIT_ERR_ENVIRONMENT;
    if (params->index < 0 || params->index >= count)
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "there is no CUDA device %d: this process may use %d", params->index,
                        count);
    if (params->dtype != DIT_DTYPE_FP32 && params->dtype != DIT_DTYPE_BF16 && params->dtype != DIT_DTYPE_FP16)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "device cuda computes in fp32, bf16 or fp16, not in %s",
                        dit_dtype_name(params->dtype));
    return DIT_OK;
}

/* Chooses the device. Emulated devices have no compute capability and run everything. */
static dit_status choose_device(dit_cuda *cuda)
{
    cudaDeviceProp facts;
    CUDA_TRY(cudaSetDevice(cuda->params.index));
    CUDA_TRY(cudaGetDeviceProperties(&facts, cuda->params.index));
    cuda->sm = facts.major * 10 + facts.minor;
    cuda->multiprocessors = facts.multiProcessorCount;
    cuda->shared_bytes = (int64_t)facts.sharedMemPerBlockOptin;
    if (cuda->sm && cuda->sm < LEAST_SM)
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "%s has compute capability %d.%d; this build needs 8.0 or higher",
                        facts.name, facts.major, facts.minor);
    return DIT_OK;
}

static dit_status open_streams(dit_cuda *cuda)
{
    int least, greatest;
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_TRY(cudaStreamCreateWithPriority(&cuda->stream, cudaStreamNonBlocking, least));
    CUDA_TRY(cudaStreamCreateWithPriority(&cuda->transfer, cudaStreamNonBlocking, greatest));
    cuda->events = (dit_cuda_events *)calloc(1, sizeof *cuda->events);
    return cuda->events ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for events");
}

static dit_status open_memory(cuda_device *d)
{
    const dit_address_map_memory memory = {d, get_memory, give_back};
    dit_cuda *cuda = &d->cuda;
    DIT_TRY(dit_address_map_create(&memory, cuda->params.planned, &cuda->device.map));
    CUDA_TRY(cudaMalloc(&cuda->workspace, WORKSPACE_BYTES));
    cuda->workspace_bytes = WORKSPACE_BYTES;
    return cuda_staging_open(d);
}

/* True if DITBENCH_CUDA_OWN, a list of linear, attention and conv, asks for our own kernel of an operator. */
static bool own_is_wanted(const char *operator_name)
{
    const char *list = getenv("DITBENCH_CUDA_OWN");
    return list && strstr(list, operator_name);
}

/* Opens the libraries. One that cannot be opened is not used; the record says why. */
static void open_libraries(cuda_device *d)
{
    static const char *const names[CUDA_LIBRARIES] = {"linear", "attention", "conv"};
    dit_cuda *cuda = &d->cuda;
    for (int i = 0; i < CUDA_LIBRARIES; i++) {
        dit_status st = DIT_OK;
        if (own_is_wanted(names[i]))
            st = DIT_FAIL(DIT_ERR_UNSUPPORTED, "DITBENCH_CUDA_OWN");
        else if (i == CUDA_LINEAR)
            st = cuda_linear_library_open(cuda, &cuda->linear);
        else if (i == CUDA_ATTENTION)
            st = cuda_attention_library_open(cuda, &cuda->attention);
        else
            st = cuda_conv_library_open(cuda, &cuda->conv);
        const void *opened = i == CUDA_LINEAR      ? (void *)cuda->linear
                             : i == CUDA_ATTENTION ? (void *)cuda->attention
                                                   : (void *)cuda->conv;
        if (!opened) snprintf(d->absent[i], sizeof d->absent[i], "%s", st ? dit_error_last()->message : "not built in");
        if (st != DIT_OK) dit_error_clear();
    }
}

static void close_libraries(dit_cuda *cuda)
{
    if (cuda->linear) cuda_linear_library_close(cuda->linear);
    if (cuda->attention) cuda_attention_library_close(cuda->attention);
    if (cuda->conv) cuda_conv_library_close(cuda->conv);
}

static void close_streams(dit_cuda *cuda)
{
    for (int64_t i = 0; cuda->events && i < cuda->events->created; i++) cudaEventDestroy(cuda->events->all[i]);
    if (cuda->transfer) cudaStreamDestroy(cuda->transfer);
    if (cuda->stream) cudaStreamDestroy(cuda->stream);
}

static cuda_device *left_behind;

/* Closes the device. Freeing memory waits for work under way, for ever when that hangs; then everything is left to the
 * end of the process. */
static void device_close(dit_device *device)
{
    cuda_device *d = cuda_device_of(device);
    if (d->cuda.recording) {
        dit_device_graph *graph = NULL;
        if (device_record_end(device, &graph) == DIT_OK) device_graph_free(device, graph);
        dit_error_clear();
    }
    if (!d->lost && d->cuda.stream && cuda_wait(&d->cuda, NULL) != DIT_OK) dit_error_clear();
    if (d->lost) {
        d->next_left_behind = left_behind;
        left_behind = d;
        return;
    }
    close_libraries(&d->cuda);
    cuda_staging_close(d);
    if (d->cuda.workspace) cudaFree(d->cuda.workspace);
    close_streams(&d->cuda);
    dit_address_map_free(device->map);
    if (d->cuda.events) free(d->cuda.events->all);
    free(d->cuda.events);
    cuda_meter_close(d->meter);
    free(d->cache_folder);
    free(d);
}

static const dit_kernels cuda_table = {.name = "cuda",
                                       .entries = false,
                                       .linear_pack = cuda_linear_pack,
#define CUDA_ENTRY(ID, name, ...) .name = cuda_##name,
                                       DIT_OPERATOR_LIST(CUDA_ENTRY)
#undef CUDA_ENTRY
};

static dit_status open_parts(cuda_device *d)
{
    DIT_TRY(choose_device(&d->cuda));
    DIT_TRY(open_streams(&d->cuda));
    DIT_TRY(open_memory(d));
    open_libraries(d);
    return DIT_OK;
}

static dit_status device_open(const dit_device_params *params, dit_device **out)
{
    *out = NULL;
    DIT_TRY(check_params(params));
    cuda_device *d = (cuda_device *)calloc(1, sizeof *d);
    if (!d) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a device");
    d->cuda.device.ops = &dit_device_cuda;
    d->cuda.device.kernels = &cuda_table;
    d->cuda.device.dtype = params->dtype;
    d->cuda.params = *params;
    if (params->cache_folder) d->cuda.params.cache_folder = d->cache_folder = strdup(params->cache_folder);
    dit_status st = open_parts(d);
    if (st == DIT_OK)
        *out = &d->cuda.device;
    else
        device_close(&d->cuda.device);
    return st;
}

extern "C" const dit_device_ops dit_device_cuda = {
    .name = "cuda",
    .count = device_count,
    .open = device_open,
    .close = device_close,
    .upload = cuda_upload,
    .download = cuda_download,
    .synchronize = device_synchronize,
    .record_event = device_record_event,
    .elapsed_ns = device_elapsed_ns,
    .forget_events = device_forget_events,
    .record_begin = device_record_begin,
    .record_end = device_record_end,
    .launch = device_launch,
    .graph_free = device_graph_free,
    .describe = cuda_describe,
    .read_meter = cuda_read_meter,
    .copy_out = cuda_copy_out,
    .copy_in = cuda_copy_in,
    .copy_within = cuda_copy_within,
    .host_memory = cuda_host_memory,
    .host_memory_free = cuda_host_memory_free,
};
