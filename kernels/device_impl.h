/* The interface for those who implement a device: the table of its functions, and the struct that begins each
 * implementation. host_device.c is the shortest example, cuda/ the other. Users of a device include device.h. */
#ifndef DIT_KERNELS_DEVICE_IMPL_H
#define DIT_KERNELS_DEVICE_IMPL_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *name;
    int (*count)(void);
    dit_status (*open)(const dit_device_params *params, dit_device **out);
    void (*close)(dit_device *device);
    dit_status (*upload)(dit_device *device, const dit_location *location, const void *host, int64_t elements);
    dit_status (*download)(dit_device *device, const dit_location *location, void *host, int64_t elements);
    dit_status (*synchronize)(dit_device *device);
    int64_t (*record_event)(dit_device *device);
    int64_t (*elapsed_ns)(dit_device *device, int64_t from, int64_t to);
    void (*forget_events)(dit_device *device);
    dit_status (*record_begin)(dit_device *device); /* NULL: cannot record; the next three are NULL too */
    dit_status (*record_end)(dit_device *device, dit_device_graph **out);
    dit_status (*launch)(dit_device *device, dit_device_graph *graph);
    void (*graph_free)(dit_device *device, dit_device_graph *graph);
    dit_status (*describe)(dit_device *device, struct cJSON *out);
    dit_device_reading (*read_meter)(dit_device *device); /* NULL: it has none */
    dit_status (*copy_out)(dit_device *device, void *host, const void *memory, int64_t bytes);
    dit_status (*copy_in)(dit_device *device, void *memory, const void *host, int64_t bytes);
    dit_status (*copy_within)(dit_device *device, void *to, const void *from, int64_t bytes);
    void *(*host_memory)(dit_device *device, int64_t bytes);
    void (*host_memory_free)(dit_device *device, void *memory);
} dit_device_ops;

/* The first member of each implementation's struct. */
struct dit_device {
    const dit_device_ops *ops;
    const dit_kernels *kernels;
    dit_address_map *map;
    dit_dtype dtype;
    dit_device_watchdog *watchdogs;
};

/* Asks the device's watchdogs, for waits. Returns the first failure; once expired_s is positive, all are asked. */
dit_status dit_device_ask_watchdogs(const dit_device *device, double expired_s);

extern const dit_device_ops dit_device_host; /* host_device.c */

#ifdef __cplusplus
}
#endif
#endif
