/* Devices: accelerators with memory of their own and a queue of work. A rank has one, beside its thread pool.
 *
 * A device's operators get their operands by host address, like all operators (kernels/address_map.h finds the device
 * memory). They return before the work is done; the next wait, upload or download reports what failed meanwhile. The
 * table in device.c lists the implementations, which include device_impl.h. `cuda` is a library of its own that is
 * loaded when it is asked for, so the engine runs without it.
 *
 * Order: a device does everything in the order it was asked for, except for messages that a communicator has under way.
 */
#ifndef DIT_KERNELS_DEVICE_H
#define DIT_KERNELS_DEVICE_H

#include "kernels/kernels.h"
#include "kernels/address_map.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cJSON;
typedef struct dit_device dit_device;
typedef struct dit_device_graph dit_device_graph;

typedef struct {
    int index;                               /* of the device, among those that this process may use           */
    dit_dtype dtype;                         /* of activations and weights: fp32, bf16 or fp16                 */
    int64_t planned[DIT_MEMORY_CLASS_COUNT]; /* bytes of each class, allocated at once; 0: as needed           */
    double deadline_s;        /* limit of each wait; 0: DITBENCH_DEVICE_DEADLINE, or else DIT_DEVICE_DEADLINE_S */
    const char *cache_folder; /* keeps the chosen algorithms between runs; NULL: they are not kept */
    bool fp8_linear;          /* computes linear layers in fp8: the result differs, so the case must ask for it */
} dit_device_params;
enum { DIT_DEVICE_DEADLINE_S = 600 };

/* Errors: DIT_ERR_NOT_FOUND (name), DIT_ERR_ENVIRONMENT (no such library or device here, and why), DIT_ERR_DEVICE (the
 * library cannot be loaded), DIT_ERR_UNSUPPORTED (element), DIT_ERR_MEMORY. */
dit_status dit_device_open(const char *name, const dit_device_params *params, dit_device **out);
void dit_device_close(dit_device *device); /* accepts NULL; ends what is under way */
/* The names of all backends that are devices, with NULL at the end. */
const char *const *dit_device_names(void);
/* True if the backend of that name is a device. */
bool dit_device_is_one(const char *name);
/* Counts this machine's devices of that backend. Where there are none it returns 0, with the reason in
 * dit_error_last(). */
int dit_device_count(const char *name);
/* Returns an object of a device's library by name ("dit_comm_nccl"), or NULL. */
const void *dit_device_symbol(const char *device, const char *symbol);

const char *dit_device_name(const dit_device *device);
/* The type of activations and weights that the device was opened with. */
dit_dtype dit_device_dtype(const dit_device *device);
dit_address_map *dit_device_address_map(const dit_device *device);
const dit_kernels *dit_device_kernels(const dit_device *device);

/* Copies `elements` elements of one array, from `address` on, from host memory at that address to the device, or back.
 * Host memory holds floats; upload rounds them to the array's type, download widens them. upload returns when the host
 * may write there again, download when the values have arrived.
 * Errors: DIT_ERR_INTERNAL (the address belongs to no array), DIT_ERR_DEVICE, DIT_ERR_TIMEOUT. */
dit_status dit_device_upload(dit_device *device, const void *address, int64_t elements);
dit_status dit_device_download(dit_device *device, const void *address, int64_t elements);
/* Waits until everything that was asked for is done. Errors: the first failure since the last wait; DIT_ERR_TIMEOUT. */
dit_status dit_device_synchronize(dit_device *device);

/* Copy bytes unchanged, in the order of the queue; `memory` is the `data` of a location (kernels/address_map.h). They
 * serve communicators that pass messages through the host. copy_out returns when the host has the bytes, copy_in when
 * the host may write there again; copy_within returns before the copy is done.
 * Errors: DIT_ERR_DEVICE, DIT_ERR_TIMEOUT. */
dit_status dit_device_copy_out(dit_device *device, void *host, const void *memory, int64_t bytes);
dit_status dit_device_copy_in(dit_device *device, void *memory, const void *host, int64_t bytes);
dit_status dit_device_copy_within(dit_device *device, void *to, const void *from, int64_t bytes);
/* Allocates host memory that copy_out and copy_in are fast with. NULL: there is none left. */
void *dit_device_host_memory(dit_device *device, int64_t bytes);
void dit_device_host_memory_free(dit_device *device, void *memory); /* accepts NULL */

/* A watchdog observes something that works beside the queue and may fail or hang there, such as a communicator. Each
 * wait of the device calls `check` again and again; a status other than DIT_OK ends the wait with that error. When a
 * wait gives up, expired_s is the seconds it has waited, else 0. Then `check` ends what is still under way and
 * returns an error that names it, or DIT_OK when nothing was under way. */
typedef struct dit_device_watchdog {
    dit_status (*check)(void *context, double expired_s);
    void *context;
    struct dit_device_watchdog *next; /* used by the device */
} dit_device_watchdog;
void dit_device_add_watchdog(dit_device *device,
                             dit_device_watchdog *watchdog); /* not owned; stays until it is removed */
void dit_device_remove_watchdog(dit_device *device, dit_device_watchdog *watchdog);

/* record_event marks a point in the queue and returns its index, or -1 while a graph is recorded or when there is no
 * memory. elapsed_ns gives the nanoseconds between two events, after a wait. All events are forgotten together, and
 * reused. */
int64_t dit_device_record_event(dit_device *device);
int64_t dit_device_elapsed_ns(dit_device *device, int64_t from, int64_t to); /* -1: unknown */
void dit_device_forget_events(dit_device *device);

/* Work that is asked for between begin and end is recorded instead of done; launch does it, on the recorded addresses.
 * begin returns DIT_ERR_UNSUPPORTED on a device that cannot record. */
bool dit_device_can_record(const dit_device *device);
dit_status dit_device_record_begin(dit_device *device);
dit_status dit_device_record_end(dit_device *device, dit_device_graph **out);
dit_status dit_device_launch(dit_device *device, dit_device_graph *graph);
void dit_device_graph_free(dit_device *device, dit_device_graph *graph);

/* What the device's own meter shows: energy since some time in the past, and power now. NAN: it does not tell. */
typedef struct {
    double energy_j, power_w;
} dit_device_reading;
/* Reads the device's meter. May be called beside the device's other functions, but by one thread at a time. Never
 * fails: what the device does not tell is NAN. */
dit_device_reading dit_device_read_meter(dit_device *device);

/* Adds what can be known about the device now to `out`: name, memory, driver and library versions, clocks, power,
 * throttle reasons, ECC, links. */
dit_status dit_device_describe(dit_device *device, struct cJSON *out);

#ifdef __cplusplus
}
#endif
#endif
