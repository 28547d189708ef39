/* Copies bytes unchanged between host and device, for communicators that pass messages through the host. */
#include "kernels/cuda/parts.h"

static dit_status copy_and_wait(dit_cuda *cuda, void *to, const void *from, int64_t bytes, cudaMemcpyKind kind)
{
    if (cuda->recording)
        return DIT_FAIL(DIT_ERR_INTERNAL, "a message cannot pass through the host while a graph is recorded");
    CUDA_TRY(cudaMemcpyAsync(to, from, (size_t)bytes, kind, cuda->stream));
    return cuda_wait(cuda, NULL);
}

dit_status cuda_copy_out(dit_device *device, void *host, const void *memory, int64_t bytes)
{
    return copy_and_wait((dit_cuda *)device, host, memory, bytes, cudaMemcpyDeviceToHost);
}

dit_status cuda_copy_in(dit_device *device, void *memory, const void *host, int64_t bytes)
{
    return copy_and_wait((dit_cuda *)device, memory, host, bytes, cudaMemcpyHostToDevice);
}

dit_status cuda_copy_within(dit_device *device, void *to, const void *from, int64_t bytes)
{
    CUDA_TRY(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, ((dit_cuda *)device)->stream));
    return DIT_OK;
}

/* Allocates page-locked host memory. A failed cudaHostAlloc is no failure of the device. */
void *cuda_host_memory(dit_device *device, int64_t bytes)
{
    void *memory = NULL;
    (void)device;
    if (cudaHostAlloc(&memory, (size_t)bytes, cudaHostAllocDefault) == cudaSuccess) return memory;
    cudaGetLastError();
    return NULL;
}

void cuda_host_memory_free(dit_device *device, void *memory)
{
    if (!cuda_device_of(device)->lost) cudaFreeHost(memory);
}
