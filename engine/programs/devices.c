#include "engine/programs/devices.h"

#include "base/words.h"
#include "kernels/device.h"

#include <stdio.h>

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the list of devices");
}

/* Adds one device. A device that cannot be opened is listed with the reason. */
static dit_status add_device(const char *backend, int index, cJSON *list)
{
    const dit_device_params params = {.index = index, .dtype = DIT_DTYPE_FP32};
    dit_device *device = NULL;
    cJSON *entry = cJSON_CreateObject();
    if (!entry || !cJSON_AddItemToArray(list, entry)) return no_memory();
    DIT_TRY(dit_json_add_int(entry, "index", index));
    dit_status st = dit_device_open(backend, &params, &device);
    if (st == DIT_OK) st = dit_device_describe(device, entry);
    dit_device_close(device);
    if (st == DIT_OK) return DIT_OK;
    st = dit_json_add_string(entry, "error", dit_error_last()->message);
    dit_error_clear();
    return st;
}

/* Adds the version of the collective library that the backend uses, if it has one. */
static dit_status add_collective_library(const char *backend, cJSON *out)
{
    int (*get)(int *version) = NULL;
    int version = 0;
    char text[32];
    *(const void **)&get = dit_device_symbol(backend, "ncclGetVersion");
    if (!get || get(&version) != 0) return DIT_OK;
    snprintf(text, sizeof text, "%d.%d.%d", version / 10000, version % 10000 / 100, version % 100);
    return dit_json_add_string(out, "nccl", text);
}

static dit_status add_reason(cJSON *out)
{
    const dit_error *error = dit_error_last();
    DIT_TRY(dit_json_add_string(out, "code", dit_status_name(error->status)));
    DIT_TRY(dit_json_add_string(out, "message", error->message[0] ? error->message : "the machine has no such device"));
    if (error->hint[0]) DIT_TRY(dit_json_add_string(out, "hint", error->hint));
    dit_error_clear();
    return DIT_OK;
}

static dit_status fill(const char *backend, cJSON *out)
{
    dit_error_clear();
    int count = dit_device_count(backend);
    cJSON *list = cJSON_AddArrayToObject(out, "devices");
    if (!list) return no_memory();
    DIT_TRY(dit_json_add_string(out, "schema", "ditbench.devices/1"));
    DIT_TRY(dit_json_add_string(out, "backend", backend));
    DIT_TRY(dit_json_add_int(out, "count", count));
    if (count < 1) return add_reason(out);
    for (int i = 0; i < count; i++) DIT_TRY(add_device(backend, i, list));
    return add_collective_library(backend, out);
}

dit_status dit_devices_list(const char *backend, cJSON **out)
{
    *out = NULL;
    if (!dit_device_is_one(backend))
        return dit_fail_word(DIT_ERR_NOT_FOUND, "device backend", backend, dit_device_names());
    *out = cJSON_CreateObject();
    if (!*out) return no_memory();
    dit_status st = fill(backend, *out);
    if (st == DIT_OK) return DIT_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return st;
}
