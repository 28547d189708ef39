/* Devices: accelerators with memory of their own and a queue of work. One per rank, beside its pool of threads.
 *
 * Operators of a device get their operands by address like all others (kernels/space.h finds the room); they return
 * before the work is done. What fails meanwhile is reported by the next wait, upload or download. Implementations are in the
 * table of device.c and include device_impl.h; `cuda` is a library of its own, loaded when it is asked for, so that the
 * engine runs without it.
 *
 * Order: everything that is asked of a device happens in that order, but for what a communicator has under way.
 */
#ifndef DIT_KERNELS_DEVICE_H
#define DIT_KERNELS_DEVICE_H

#include "kernels/kernels.h"
#include "kernels/space.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cJSON;
typedef struct dit_device dit_device;
typedef struct dit_device_graph dit_device_graph;

typedef struct {
    int index;                               /* among the devices that this process may use                    */
    dit_element element;                     /* of activations and weights: fp32, bf16 or fp16                 */
    int64_t planned[DIT_MEMORY_CLASS_COUNT]; /* bytes of each class, got at once; 0: as needed                 */
    double deadline_s; /* of every wait; 0: DITBENCH_DEVICE_DEADLINE, or DIT_DEVICE_DEADLINE_S                       */
    const char *cache_folder; /* where choices of algorithms are kept between runs; NULL: nowhere */
    bool fp8_linear;          /* linear layers in fp8: another result, which the case declares  */
} dit_device_params;
enum { DIT_DEVICE_DEADLINE_S = 600 };

/* Errors: DIT_ERR_NOT_FOUND (name), DIT_ERR_ENVIRONMENT (no such library or device here, and why), DIT_ERR_DEVICE (the
 * library cannot be loaded), DIT_ERR_UNSUPPORTED (element), DIT_ERR_MEMORY. */
dit_status dit_device_open(const char *name, const dit_device_params *params, dit_device **out);
void dit_device_close(dit_device *device); /* accepts NULL; ends what is under way */
/* Whether the backend of that name is a device. */
bool dit_device_is_one(const char *name);
/* How many devices of that backend this machine has; 0 with the reason in dit_error_last(). */
int dit_device_count(const char *name);
/* An object of a device's library by name ("dit_comm_nccl"), or NULL. */
const void *dit_device_symbol(const char *device, const char *symbol);

const char *dit_device_name(const dit_device *device);
/* Of activations and weights, as it was opened with. */
dit_element dit_device_element(const dit_device *device);
dit_space *dit_device_space(const dit_device *device);
const dit_kernels *dit_device_kernels(const dit_device *device);

/* Elements from `address` on, of one array: from the host's memory at those addresses to the device's room, or back.
 * Rounds to the array's elements, and makes floats of them. upload returns when the host may write there again, download when
 * the values are there. Errors: DIT_ERR_INTERNAL (no array's addresses), DIT_ERR_DEVICE, DIT_ERR_TIMEOUT. */
dit_status dit_device_upload(dit_device *device, const void *address, int64_t elements);
dit_status dit_device_download(dit_device *device, const void *address, int64_t elements);
/* Until everything that was asked for is done. Errors: the first failure since the last wait; DIT_ERR_TIMEOUT. */
dit_status dit_device_synchronize(dit_device *device);

/* Bytes of the device's memory as they are, which spots name (kernels/space.h), in the order of the queue: to the host,
 * where they lie when it returns; from the host, which may write there again when it returns; and on the device, before
 * it is done. For communicators that pass the host. Errors: DIT_ERR_DEVICE, DIT_ERR_TIMEOUT. */
dit_status dit_device_copy_out(dit_device *device, void *host, const void *memory, int64_t bytes);
dit_status dit_device_copy_in(dit_device *device, void *memory, const void *host, int64_t bytes);
dit_status dit_device_copy_within(dit_device *device, void *to, const void *from, int64_t bytes);
/* Memory of the host that such copies are fast with. NULL: there is none. */
void *dit_device_host_memory(dit_device *device, int64_t bytes);
void dit_device_host_memory_free(dit_device *device, void *memory); /* accepts NULL */

/* Something that works beside the queue and may fail or hang there (a communicator). Waits of the device ask it again
 * and again: not DIT_OK ends the wait with that error. expired_s: 0, or the seconds after which the wait gives up; then
 * what is under way has to end, and the status says what that was, DIT_OK: nothing. */
typedef struct dit_device_watchdog {
    dit_status (*check)(void *context, double expired_s);
    void *context;
    struct dit_device_watchdog *next; /* the device's */
} dit_device_watchdog;
void dit_device_add_watchdog(dit_device *device, dit_device_watchdog *watchdog); /* keeps it until it is removed */
void dit_device_remove_watchdog(dit_device *device, dit_device_watchdog *watchdog);

/* A point in the queue, and nanoseconds between two that were reached (after a wait). Events are forgotten together and
 * used again. -1: an event while a graph is recorded, or no memory for one. */
int64_t dit_device_record_event(dit_device *device);
int64_t dit_device_elapsed_ns(dit_device *device, int64_t from, int64_t to); /* -1: not known */
void dit_device_forget_events(dit_device *device);

/* What is asked for between begin and end is not done but recorded; launch does it, with the same addresses. A device
 * that cannot record returns DIT_ERR_UNSUPPORTED from begin. */
bool dit_device_can_record(const dit_device *device);
dit_status dit_device_record_begin(dit_device *device);
dit_status dit_device_record_end(dit_device *device, dit_device_graph **out);
dit_status dit_device_launch(dit_device *device, dit_device_graph *graph);
void dit_device_graph_free(dit_device *device, dit_device_graph *graph);

/* Adds to `out`: name, memory, driver and library versions, clocks, power, throttle reasons, ECC, links: what can be
 * known of this device now. */
dit_status dit_device_describe(dit_device *device, struct cJSON *out);

#ifdef __cplusplus
}
#endif
#endif
