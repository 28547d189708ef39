/* Lists all devices, and forwards the interface of device.h to them. */
#include "kernels/device_impl.h"

#include "base/words.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `library` is the file that defines dit_device_<name>, in ../lib from the program's folder; NULL: built in. */
static const struct {
    const char *name, *library, *variable;
    const dit_device_ops *ops;
} devices[] = {
    {"host", NULL, NULL, &dit_device_host},
    {"cuda", "ditbench-cuda.so", "DITBENCH_CUDA_LIBRARY", NULL},
};
enum { DEVICES = sizeof devices / sizeof *devices };

/* ---- finding one ------------------------------------------------------------------------------------------------- */

static int index_of(const char *name)
{
    for (int i = 0; i < DEVICES; i++)
        if (strcmp(devices[i].name, name) == 0) return i;
    return -1;
}

const char *const *dit_device_names(void)
{
    static const char *names[DEVICES + 1];
    for (int i = 0; i < DEVICES; i++) names[i] = devices[i].name;
    return names;
}

bool dit_device_is_one(const char *name)
{
    return index_of(name) >= 0;
}

/* Gives the path of a device's library: ../lib/LIBRARY from the program's folder, or what the variable names. */
static void library_path(int index, char out[PATH_MAX])
{
    char program[PATH_MAX] = "";
    const char *said = getenv(devices[index].variable);
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) program[length] = '\0';
    if (said)
        snprintf(out, PATH_MAX, "%s", said);
    else if (snprintf(out, PATH_MAX, "%s/../lib/%s", dirname(program), devices[index].library) >= PATH_MAX)
        out[0] = '\0';
}

static dit_status load(int index, void **out)
{
    static void *handles[DEVICES];
    char path[PATH_MAX];
    if (!handles[index]) {
        library_path(index, path);
        if (access(path, R_OK) != 0)
            return dit_error_hint(
                DIT_FAIL(DIT_ERR_ENVIRONMENT, "backend %s is not built: there is no %s", devices[index].name, path),
                "make builds it where there is a toolkit (CUDA_HOME)");
        handles[index] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handles[index])
            return DIT_FAIL(DIT_ERR_DEVICE, "backend %s cannot be loaded: %s", devices[index].name, dlerror());
    }
    *out = handles[index];
    return DIT_OK;
}

static dit_status find(const char *name, const dit_device_ops **out)
{
    int index = index_of(name);
    char symbol[64];
    void *handle;
    *out = NULL;
    if (index < 0) return dit_fail_word(DIT_ERR_NOT_FOUND, "device backend", name, dit_device_names());
    *out = devices[index].ops;
    if (*out) return DIT_OK;
    DIT_TRY(load(index, &handle));
    snprintf(symbol, sizeof symbol, "dit_device_%s", name);
    *out = dlsym(handle, symbol);
    if (!*out)
        return DIT_FAIL(DIT_ERR_DEVICE,
                        "the library of backend %s has no symbol %s: it belongs to another version of ditbench", name,
                        symbol);
    return DIT_OK;
}

const void *dit_device_symbol(const char *device, const char *symbol)
{
    int index = index_of(device);
    void *handle;
    if (index < 0 || !devices[index].library) return NULL;
    if (load(index, &handle) == DIT_OK) return dlsym(handle, symbol);
    dit_error_clear();
    return NULL;
}

int dit_device_count(const char *name)
{
    const dit_device_ops *ops;
    return find(name, &ops) == DIT_OK ? ops->count() : 0;
}

/* Returns the limit of each wait; DITBENCH_DEVICE_DEADLINE sets another one, for tests. */
static double default_deadline_s(void)
{
    const char *said = getenv("DITBENCH_DEVICE_DEADLINE");
    double seconds = said ? strtod(said, NULL) : 0;
    return seconds > 0 ? seconds : DIT_DEVICE_DEADLINE_S;
}

dit_status dit_device_open(const char *name, const dit_device_params *params, dit_device **out)
{
    const dit_device_ops *ops;
    dit_device_params complete = *params;
    *out = NULL;
    DIT_TRY(find(name, &ops));
    if (complete.deadline_s <= 0) complete.deadline_s = default_deadline_s();
    return ops->open(&complete, out);
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

void dit_device_close(dit_device *device)
{
    if (device) device->ops->close(device);
}

const char *dit_device_name(const dit_device *device)
{
    return device->ops->name;
}
dit_dtype dit_device_dtype(const dit_device *device)
{
    return device->dtype;
}

dit_address_map *dit_device_address_map(const dit_device *device)
{
    return device->map;
}
const dit_kernels *dit_device_kernels(const dit_device *device)
{
    return device->kernels;
}

/* Finds where `elements` elements from `address` on lie. All must belong to one array. */
static dit_status locate(const dit_device *device, const void *address, int64_t elements, dit_location *out)
{
    if (!dit_address_map_find(device->map, address, out))
        return DIT_FAIL(DIT_ERR_INTERNAL, "address %p belongs to no array of the device", address);
    if (elements < 0 || elements > out->left)
        return DIT_FAIL(DIT_ERR_INTERNAL, "%lld elements asked for, the array has %lld more", (long long)elements,
                        (long long)out->left);
    return DIT_OK;
}

dit_status dit_device_upload(dit_device *device, const void *address, int64_t elements)
{
    dit_location location;
    if (!elements) return DIT_OK;
    DIT_TRY(locate(device, address, elements, &location));
    return device->ops->upload(device, &location, address, elements);
}

dit_status dit_device_download(dit_device *device, const void *address, int64_t elements)
{
    dit_location location;
    if (!elements) return DIT_OK;
    DIT_TRY(locate(device, address, elements, &location));
    return device->ops->download(device, &location, (void *)address, elements);
}

dit_status dit_device_synchronize(dit_device *device)
{
    return device->ops->synchronize(device);
}

dit_status dit_device_copy_out(dit_device *device, void *host, const void *memory, int64_t bytes)
{
    return bytes ? device->ops->copy_out(device, host, memory, bytes) : DIT_OK;
}
dit_status dit_device_copy_in(dit_device *device, void *memory, const void *host, int64_t bytes)
{
    return bytes ? device->ops->copy_in(device, memory, host, bytes) : DIT_OK;
}
dit_status dit_device_copy_within(dit_device *device, void *to, const void *from, int64_t bytes)
{
    return bytes && to != from ? device->ops->copy_within(device, to, from, bytes) : DIT_OK;
}
void *dit_device_host_memory(dit_device *device, int64_t bytes)
{
    return device->ops->host_memory(device, bytes);
}
void dit_device_host_memory_free(dit_device *device, void *memory)
{
    if (memory) device->ops->host_memory_free(device, memory);
}

void dit_device_add_watchdog(dit_device *device, dit_device_watchdog *watchdog)
{
    watchdog->next = device->watchdogs;
    device->watchdogs = watchdog;
}

void dit_device_remove_watchdog(dit_device *device, dit_device_watchdog *watchdog)
{
    for (dit_device_watchdog **at = &device->watchdogs; *at; at = &(*at)->next)
        if (*at == watchdog) {
            *at = watchdog->next;
            return;
        }
}

dit_status dit_device_ask_watchdogs(const dit_device *device, double expired_s)
{
    dit_status first = DIT_OK;
    for (const dit_device_watchdog *watchdog = device->watchdogs; watchdog; watchdog = watchdog->next) {
        if (first != DIT_OK && expired_s <= 0) return first;
        DIT_KEEP_FIRST(first, watchdog->check(watchdog->context, expired_s));
    }
    return first;
}

int64_t dit_device_record_event(dit_device *device)
{
    return device->ops->record_event(device);
}
int64_t dit_device_elapsed_ns(dit_device *device, int64_t from, int64_t to)
{
    return from < 0 || to < 0 ? -1 : device->ops->elapsed_ns(device, from, to);
}
void dit_device_forget_events(dit_device *device)
{
    device->ops->forget_events(device);
}

bool dit_device_can_record(const dit_device *device)
{
    return device->ops->record_begin != NULL;
}

dit_status dit_device_record_begin(dit_device *device)
{
    if (!device->ops->record_begin)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "device %s cannot record graphs", device->ops->name);
    return device->ops->record_begin(device);
}
dit_status dit_device_record_end(dit_device *device, dit_device_graph **out)
{
    return device->ops->record_end(device, out);
}
dit_status dit_device_launch(dit_device *device, dit_device_graph *graph)
{
    return device->ops->launch(device, graph);
}
void dit_device_graph_free(dit_device *device, dit_device_graph *graph)
{
    if (graph) device->ops->graph_free(device, graph);
}

dit_device_reading dit_device_read_meter(dit_device *device)
{
    return device->ops->read_meter ? device->ops->read_meter(device) : (dit_device_reading){NAN, NAN};
}

dit_status dit_device_describe(dit_device *device, struct cJSON *out)
{
    return device->ops->describe(device, out);
}
