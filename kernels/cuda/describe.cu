/* Describes the device as it is now, for records and `doctor`. */
#include "kernels/cuda/nvml.h"
#include "kernels/cuda/parts.h"

#include "base/json.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#ifdef DIT_CUDA_CUBLASLT
#include <cublasLt.h>
#endif
#ifdef DIT_CUDA_CUDNN
#include <cudnn.h>
#endif

/* Adds a CUDA version: 13000 as "13.0". */
static dit_status add_cuda_version(cJSON *out, const char *key, int version)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    return dit_json_add_string(out, key, text);
}

/* cuBLAS numbers its versions like 130100, cuDNN 9 like 91900. */
static dit_status add_library_version(cJSON *out, const char *key, size_t version)
{
    char text[32];
    snprintf(text, sizeof text, "%zu.%zu.%zu", version / 10000, version % 10000 / 100, version % 100);
    return dit_json_add_string(out, key, text);
}

static dit_status add_versions(cJSON *out)
{
    int driver = 0, runtime = 0;
    CUDA_TRY(cudaDriverGetVersion(&driver));
    CUDA_TRY(cudaRuntimeGetVersion(&runtime));
    DIT_TRY(add_cuda_version(out, "cuda_driver", driver));
    DIT_TRY(add_cuda_version(out, "cuda_runtime", runtime));
#ifdef DIT_CUDA_CUBLASLT
    DIT_TRY(add_library_version(out, "cublaslt", cublasLtGetVersion()));
#endif
#ifdef DIT_CUDA_CUDNN
    DIT_TRY(add_library_version(out, "cudnn", cudnnGetVersion()));
#endif
    (void)add_library_version;
    return DIT_OK;
}

static dit_status add_hardware(const dit_cuda *cuda, cJSON *out)
{
    cudaDeviceProp facts;
    size_t available = 0, total = 0;
    CUDA_TRY(cudaGetDeviceProperties(&facts, cuda->params.index));
    CUDA_TRY(cudaMemGetInfo(&available, &total));
    DIT_TRY(dit_json_add_string(out, "name", facts.name));
    DIT_TRY(dit_json_add_int(out, "compute_capability", cuda->sm));
    DIT_TRY(dit_json_add_int(out, "multiprocessors", cuda->multiprocessors));
    DIT_TRY(dit_json_add_int(out, "memory_bytes", (int64_t)facts.totalGlobalMem));
    DIT_TRY(dit_json_add_int(out, "memory_free_bytes", (int64_t)available));
    DIT_TRY(dit_json_add_int(out, "shared_bytes_per_block", cuda->shared_bytes));
    return dit_json_add_int(out, "l2_bytes", facts.l2CacheSize);
}

/* Adds the devices of this process whose memory this device reaches directly. */
static dit_status add_peers(const dit_cuda *cuda, cJSON *out)
{
    int count = 0, reachable = 0;
    CUDA_TRY(cudaGetDeviceCount(&count));
    cJSON *list = cJSON_AddArrayToObject(out, "peer_access");
    if (!list) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for peer_access");
    for (int i = 0; i < count; i++) {
        if (i == cuda->params.index) continue;
        CUDA_TRY(cudaDeviceCanAccessPeer(&reachable, cuda->params.index, i));
        if (reachable) cJSON_AddItemToArray(list, cJSON_CreateNumber(i));
    }
    return DIT_OK;
}

/* Adds which operators a library does, and for the others why not. */
static dit_status add_libraries(const cuda_device *d, cJSON *out)
{
    static const char *const operators[CUDA_LIBRARIES] = {"linear", "attention", "conv"};
    cJSON *libraries = cJSON_AddObjectToObject(out, "libraries");
    if (!libraries) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for libraries");
    for (int i = 0; i < CUDA_LIBRARIES; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s%s", d->absent[i][0] ? "own kernel: " : "used", d->absent[i]);
        DIT_TRY(dit_json_add_string(libraries, operators[i], text));
    }
    return DIT_OK;
}

dit_status cuda_describe(dit_device *device, cJSON *out)
{
    const cuda_device *d = cuda_device_of(device);
    char bus_id[32] = "";
    DIT_TRY(add_hardware(&d->cuda, out));
    DIT_TRY(add_versions(out));
    DIT_TRY(add_libraries(d, out));
    DIT_TRY(add_peers(&d->cuda, out));
    CUDA_TRY(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, d->cuda.params.index));
    return cuda_nvml_describe(bus_id, out);
}
