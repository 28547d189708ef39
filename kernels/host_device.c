/* Device "host": keeps arrays apart from the host's addresses and runs the cpu backend's operators over them.
 *
 * It computes nothing faster. On any machine it shows whether the host and the operators exchange everything by upload
 * and download, and it is the shortest example of a device: a call returns when its work is done.
 */
#include "kernels/device_impl.h"

#include "base/clock.h"
#include "base/json_writer.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    dit_device device;
    const dit_kernels *cpu;
    bool lost; /* an operand's address belongs to no array: the next wait reports it */
    int64_t *events, event_count, event_room;
} host_device;

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Allocates memory full of NaN, so that reading what nobody wrote shows. */
static void *get_memory(void *context, int64_t bytes)
{
    (void)context;
    void *memory = malloc((size_t)bytes);
    if (memory) memset(memory, 0xFF, (size_t)bytes);
    return memory;
}

static void give_back(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static dit_status host_upload(dit_device *device, const dit_location *location, const void *host, int64_t elements)
{
    (void)device;
    memcpy(location->data, host, (size_t)(elements * dit_dtype_bytes(location->dtype)));
    return DIT_OK;
}

static dit_status host_download(dit_device *device, const dit_location *location, void *host, int64_t elements)
{
    (void)device;
    memcpy(host, location->data, (size_t)(elements * dit_dtype_bytes(location->dtype)));
    return DIT_OK;
}

/* Finds an operand's device memory; NULL for NULL. */
static void *room(host_device *d, const void *address)
{
    dit_location location;
    if (!address) return NULL;
    if (dit_address_map_find(d->device.map, address, &location)) return location.data;
    d->lost = true;
    return NULL;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Packs weights with the cpu backend, whose operators alone read them: they need no device memory. */
static dit_status host_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                                   const float *const *bias, const int64_t *rows, dit_linear *out)
{
    const dit_kernels *cpu;
    DIT_TRY(dit_kernels_get("cpu", &cpu));
    return cpu->linear_pack(pool, arena, k, pieces, w, bias, rows, out);
}

/* Defines every operator: it finds its operands on the device, then calls the cpu backend. A row's operands expand in
 * the body below: DIT_OPERAND(x) replaces member x of `found`, a copy of the arguments, by its room on `device`. */
#define DIT_OPERAND(member) found.member = room(device, found.member);
#define HOST_OPERATOR(ID, name, args_type, cpu_, cases, cost, account, trace, operands)                                \
    static void host_##name(dit_pool *pool, const args_type *asked)                                                    \
    {                                                                                                                  \
        host_device *device = (host_device *)dit_pool_device(pool);                                                    \
        args_type found = *asked;                                                                                      \
        operands if (!device->lost) device->cpu->name(pool, &found);                                                   \
    }
DIT_OPERATOR_LIST(HOST_OPERATOR)

static const dit_kernels host_table = {.name = "host",
                                       .entries = true,
                                       .linear_pack = host_linear_pack,
#define HOST_ENTRY(ID, name, ...) .name = host_##name,
                                       DIT_OPERATOR_LIST(HOST_ENTRY)};

/* ---- the device -------------------------------------------------------------------------------------------------- */

static int host_count(void)
{
    return 1;
}

static void host_close(dit_device *device)
{
    dit_address_map_free(device->map);
    free(((host_device *)device)->events);
    free(device);
}

static dit_status host_open(const dit_device_params *params, dit_device **out)
{
    static const dit_address_map_memory memory = {.allocate = get_memory, .free = give_back};
    if (params->dtype != DIT_DTYPE_FP32)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "device host computes in fp32, not in %s", dit_dtype_name(params->dtype)),
            "leave out platform.element");
    host_device *d = calloc(1, sizeof *d);
    if (!d) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a device");
    d->device = (dit_device){.ops = &dit_device_host, .kernels = &host_table, .dtype = params->dtype};
    dit_status st = dit_kernels_get("cpu", &d->cpu);
    if (st == DIT_OK) st = dit_address_map_create(&memory, params->planned, &d->device.map);
    if (st == DIT_OK)
        *out = &d->device;
    else
        host_close(&d->device);
    return st;
}

static dit_status host_synchronize(dit_device *device)
{
    host_device *d = (host_device *)device;
    DIT_TRY(dit_device_ask_watchdogs(device, 0));
    if (!d->lost) return DIT_OK;
    d->lost = false;
    return DIT_FAIL(DIT_ERR_INTERNAL, "an operator was given an address that belongs to no array of the device");
}

static dit_status host_move(dit_device *device, void *to, const void *from, int64_t bytes)
{
    (void)device;
    memcpy(to, from, (size_t)bytes);
    return DIT_OK;
}

static void *host_memory(dit_device *device, int64_t bytes)
{
    (void)device;
    return malloc((size_t)bytes);
}

static void host_memory_free(dit_device *device, void *memory)
{
    (void)device;
    free(memory);
}

static int64_t host_record_event(dit_device *device)
{
    host_device *d = (host_device *)device;
    if (d->event_count == d->event_room) {
        int64_t room = d->event_room ? 2 * d->event_room : 1024;
        int64_t *grown = realloc(d->events, (size_t)room * sizeof *grown);
        if (!grown) return -1;
        d->events = grown;
        d->event_room = room;
    }
    d->events[d->event_count] = dit_clock_ns();
    return d->event_count++;
}

static int64_t host_elapsed_ns(dit_device *device, int64_t from, int64_t to)
{
    const host_device *d = (host_device *)device;
    return d->events[to] - d->events[from];
}

static void host_forget_events(dit_device *device)
{
    ((host_device *)device)->event_count = 0;
}

static dit_status host_describe(dit_device *device, struct cJSON *out)
{
    dit_json_writer w = {0};
    (void)device;
    dit_json_put_string(&w, out, "name", "host");
    return w.status;
}

const dit_device_ops dit_device_host = {
    .name = "host",
    .count = host_count,
    .open = host_open,
    .close = host_close,
    .upload = host_upload,
    .download = host_download,
    .synchronize = host_synchronize,
    .record_event = host_record_event,
    .elapsed_ns = host_elapsed_ns,
    .forget_events = host_forget_events,
    .describe = host_describe,
    .copy_out = host_move,
    .copy_in = host_move,
    .copy_within = host_move,
    .host_memory = host_memory,
    .host_memory_free = host_memory_free,
};
