/* What device.cu, transfer.cu and describe.cu share beside cuda.h. */
#ifndef DIT_KERNELS_CUDA_PARTS_H
#define DIT_KERNELS_CUDA_PARTS_H

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/nvml.h"

/* Page-locked host memory, through which everything goes to the device and back: one half is filled while the other is
 * under way. */
enum { CUDA_STAGING_BYTES = 16 << 20, CUDA_STAGING_HALVES = 2 };
typedef struct {
    char *memory;
    cudaEvent_t done; /* the last transfer from or to it has ended */
    bool under_way;
} cuda_staging;

typedef struct dit_cuda_events {
    cudaEvent_t *all; /* [room], created up to `created` */
    int64_t room, created, used;
} dit_cuda_events;

enum { CUDA_LINEAR, CUDA_ATTENTION, CUDA_CONV, CUDA_LIBRARIES };

typedef struct cuda_device {
    dit_cuda cuda; /* first */
    char *cache_folder;
    cuda_staging staging[CUDA_STAGING_HALVES];
    bool lost;                        /* a wait timed out: work under way can be neither awaited nor freed */
    char absent[CUDA_LIBRARIES][256]; /* why a library is not used; "": it is */
    cuda_meter *meter;                /* opened by the first reading; NULL before, and where there is none */
    bool metered;                     /* the meter was looked for */
    struct cuda_device *next_left_behind;
} cuda_device;

static inline cuda_device *cuda_device_of(dit_device *device)
{
    return (cuda_device *)device;
}

/* Returns the failure that was remembered, and forgets it. */
dit_status cuda_take_failure(dit_cuda *cuda);
/* Waits until `event`, or with NULL everything on the stream, is done. Returns the failure that was remembered. Errors:
 * DIT_ERR_DEVICE, DIT_ERR_TIMEOUT after the device's deadline. */
dit_status cuda_wait(dit_cuda *cuda, cudaEvent_t event);

dit_status cuda_staging_open(cuda_device *d);
void cuda_staging_close(cuda_device *d);
dit_status cuda_upload(dit_device *device, const dit_location *location, const void *host, int64_t elements);
dit_status cuda_download(dit_device *device, const dit_location *location, void *host, int64_t elements);

dit_status cuda_copy_out(dit_device *device, void *host, const void *memory, int64_t bytes);
dit_status cuda_copy_in(dit_device *device, void *memory, const void *host, int64_t bytes);
dit_status cuda_copy_within(dit_device *device, void *to, const void *from, int64_t bytes);
void *cuda_host_memory(dit_device *device, int64_t bytes);
void cuda_host_memory_free(dit_device *device, void *memory);

dit_status cuda_describe(dit_device *device, struct cJSON *out);
dit_device_reading cuda_read_meter(dit_device *device);

#endif
