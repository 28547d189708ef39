#include "engine/programs/devices.h"

#include "base/json_writer.h"
#include "base/words.h"
#include "kernels/device.h"

#include <stdio.h>

/* Adds one device. A device that cannot be opened is listed with the reason. */
static dit_status add_device(const char *backend, int index, cJSON *list)
{
    dit_json_writer w = {0};
    const dit_device_params params = {.index = index, .dtype = DIT_DTYPE_FP32};
    dit_device *device = NULL;
    cJSON *entry = dit_json_put_object(&w, list, NULL);
    dit_json_put_int(&w, entry, "index", index);
    dit_status st = dit_device_open(backend, &params, &device);
    if (st == DIT_OK) st = dit_device_describe(device, entry);
    dit_device_close(device);
    if (st == DIT_OK) return w.status;
    dit_json_put_string(&w, entry, "error", dit_error_last()->message);
    dit_error_clear();
    return w.status;
}

/* Adds the version of the collective library that the backend uses, if it has one. */
static void add_collective_library(dit_json_writer *w, const char *backend, cJSON *out)
{
    int (*get)(int *version) = NULL;
    int version = 0;
    char text[32];
    *(const void **)&get = dit_device_symbol(backend, "ncclGetVersion");
    if (!get || get(&version) != 0) return;
    snprintf(text, sizeof text, "%d.%d.%d", version / 10000, version % 10000 / 100, version % 100);
    dit_json_put_string(w, out, "nccl", text);
}

static void add_reason(dit_json_writer *w, cJSON *out)
{
    const dit_error *error = dit_error_last();
    dit_json_put_string(w, out, "code", dit_status_name(error->status));
    dit_json_put_string(w, out, "message", error->message[0] ? error->message : "the machine has no such device");
    if (error->hint[0]) dit_json_put_string(w, out, "hint", error->hint);
    dit_error_clear();
}

static dit_status fill(const char *backend, cJSON *out)
{
    dit_json_writer w = {0};
    dit_error_clear();
    int count = dit_device_count(backend);
    cJSON *list = dit_json_put_array(&w, out, "devices");
    dit_json_put_string(&w, out, "schema", "ditbench.devices/1");
    dit_json_put_string(&w, out, "backend", backend);
    dit_json_put_int(&w, out, "count", count);
    if (count < 1) {
        add_reason(&w, out);
        return w.status;
    }
    for (int i = 0; i < count; i++) DIT_TRY(add_device(backend, i, list));
    add_collective_library(&w, backend, out);
    return w.status;
}

dit_status dit_devices_list(const char *backend, cJSON **out)
{
    *out = NULL;
    if (!dit_device_is_one(backend))
        return dit_fail_word(DIT_ERR_NOT_FOUND, "device backend", backend, dit_device_names());
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    if (w.status == DIT_OK) dit_json_put_status(&w, fill(backend, document));
    return dit_json_finish(&w, document, out);
}
