/* Describes the device as it is now, for records and `doctor`. */
#include "kernels/cuda/nvml.h"
#include "kernels/cuda/parts.h"

#include "base/json_writer.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#ifdef DIT_CUDA_CUBLASLT
#include <cublasLt.h>
#endif
#ifdef DIT_CUDA_CUDNN
#include <cudnn.h>
#endif

/* Adds a CUDA version: 13000 as "13.0". */
static void add_cuda_version(dit_json_writer *w, cJSON *out, const char *key, int version)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    dit_json_put_string(w, out, key, text);
}

/* cuBLAS numbers its versions like 130100, cuDNN 9 like 91900. */
static void add_library_version(dit_json_writer *w, cJSON *out, const char *key, size_t version)
{
    char text[32];
    snprintf(text, sizeof text, "%zu.%zu.%zu", version / 10000, version % 10000 / 100, version % 100);
    dit_json_put_string(w, out, key, text);
}

static dit_status add_versions(cJSON *out)
{
    dit_json_writer w = {};
    int driver = 0, runtime = 0;
    CUDA_TRY(cudaDriverGetVersion(&driver));
    CUDA_TRY(cudaRuntimeGetVersion(&runtime));
    add_cuda_version(&w, out, "cuda_driver", driver);
    add_cuda_version(&w, out, "cuda_runtime", runtime);
#ifdef DIT_CUDA_CUBLASLT
    add_library_version(&w, out, "cublaslt", cublasLtGetVersion());
#endif
#ifdef DIT_CUDA_CUDNN
    add_library_version(&w, out, "cudnn", cudnnGetVersion());
#endif
    (void)add_library_version;
    return w.status;
}

static dit_status add_hardware(const dit_cuda *cuda, cJSON *out)
{
    dit_json_writer w = {};
    cudaDeviceProp facts;
    size_t available = 0, total = 0;
    CUDA_TRY(cudaGetDeviceProperties(&facts, cuda->params.index));
    CUDA_TRY(cudaMemGetInfo(&available, &total));
    dit_json_put_string(&w, out, "name", facts.name);
    dit_json_put_int(&w, out, "compute_capability", cuda->sm);
    dit_json_put_int(&w, out, "multiprocessors", cuda->multiprocessors);
    dit_json_put_int(&w, out, "memory_bytes", (int64_t)facts.totalGlobalMem);
    dit_json_put_int(&w, out, "memory_free_bytes", (int64_t)available);
    dit_json_put_int(&w, out, "shared_bytes_per_block", cuda->shared_bytes);
    dit_json_put_int(&w, out, "l2_bytes", facts.l2CacheSize);
    return w.status;
}

/* Adds the devices of this process whose memory this device reaches directly. */
static dit_status add_peers(const dit_cuda *cuda, cJSON *out)
{
    dit_json_writer w = {};
    int count = 0, reachable = 0;
    CUDA_TRY(cudaGetDeviceCount(&count));
    cJSON *list = dit_json_put_array(&w, out, "peer_access");
    for (int i = 0; i < count; i++) {
        if (i == cuda->params.index) continue;
        CUDA_TRY(cudaDeviceCanAccessPeer(&reachable, cuda->params.index, i));
        if (reachable) dit_json_put_number(&w, list, NULL, i);
    }
    return w.status;
}

/* Adds which operators a library does, and for the others why not. */
static void add_libraries(dit_json_writer *w, const cuda_device *d, cJSON *out)
{
    static const char *const operators[CUDA_LIBRARIES] = {"linear", "attention", "conv"};
    cJSON *libraries = dit_json_put_object(w, out, "libraries");
    for (int i = 0; i < CUDA_LIBRARIES; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s%s", d->absent[i][0] ? "own kernel: " : "used", d->absent[i]);
        dit_json_put_string(w, libraries, operators[i], text);
    }
}

dit_status cuda_describe(dit_device *device, cJSON *out)
{
    dit_json_writer w = {};
    const cuda_device *d = cuda_device_of(device);
    char bus_id[32] = "";
    DIT_TRY(add_hardware(&d->cuda, out));
    DIT_TRY(add_versions(out));
    add_libraries(&w, d, out);
    DIT_TRY(add_peers(&d->cuda, out));
    CUDA_TRY(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, d->cuda.params.index));
    dit_json_put_status(&w, cuda_nvml_describe(bus_id, out));
    return w.status;
}

dit_device_reading cuda_read_meter(dit_device *device)
{
    cuda_device *d = cuda_device_of(device);
    char bus_id[32] = "";
    if (!d->metered && cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, d->cuda.params.index) == cudaSuccess)
        d->meter = cuda_meter_open(bus_id);
    d->metered = true;
    return cuda_meter_read(d->meter);
}
