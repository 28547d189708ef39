#include "suite/machine/device_report.h"

#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool number_of(const cJSON *object, const char *key, double *out)
{
    const cJSON *item = dit_json_member(object, key);
    *out = cJSON_IsNumber(item) ? item->valuedouble : 0;
    return cJSON_IsNumber(item);
}

/* ", " behind what is there. */
static void put(dit_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(dit_buffer *out, const char *format, ...)
{
    char piece[512];
    va_list args;
    va_start(args, format);
    vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    dit_buffer_printf(out, "%s%s", out->used ? ", " : "", piece);
}

static void put_text(dit_buffer *out, const cJSON *object, const char *key, const char *format_of_one)
{
    char piece[256];
    if (!dit_json_text_or(object, key, "")[0]) return;
    snprintf(piece, sizeof piece, "%s %.200s", format_of_one, dit_json_text_or(object, key, ""));
    put(out, "%s", piece[0] == ' ' ? piece + 1 : piece);
}

/* ---- one device -------------------------------------------------------------------------------------------------- */

static void describe_model(const cJSON *device, dit_buffer *out)
{
    double value;
    put(out, "%.128s",
        dit_json_text_or(device, "name", "")[0] ? dit_json_text_or(device, "name", "") : "without a name");
    if (number_of(device, "memory_bytes", &value)) put(out, "%.1f GiB", value / (1 << 30));
    if (number_of(device, "compute_capability", &value)) put(out, "sm_%.0f", value);
    put_text(out, device, "driver", "driver");
}

static void describe_clock(const cJSON *clocks, const char *what, const char *key, const char *most_key,
                           dit_buffer *out)
{
    double now, most;
    bool known = number_of(clocks, key, &now), limited = number_of(clocks, most_key, &most);
    if (known && limited)
        put(out, "%s %.0f of %.0f MHz", what, now, most);
    else if (known)
        put(out, "%s %.0f MHz", what, now);
}

static void describe_reasons(const cJSON *device, dit_buffer *out)
{
    const cJSON *reason, *reasons = dit_json_member(device, "throttle_reasons");
    bool first = true;
    cJSON_ArrayForEach(reason, reasons)
    {
        if (!cJSON_IsString(reason)) continue;
        dit_buffer_printf(out, "%s%.64s", first ? ", clocks held by " : " and ", reason->valuestring);
        first = false;
    }
    if (reasons && first) put(out, "clocks held by nothing");
}

static void describe_state(const cJSON *device, dit_buffer *out)
{
    const cJSON *clocks = dit_json_member(device, "clocks_mhz"), *ecc = dit_json_member(device, "ecc");
    double power, limit, value;
    describe_clock(clocks, "SM", "sm", "sm_max", out);
    describe_clock(clocks, "memory", "memory", "memory_max", out);
    bool drawn = number_of(device, "power_w", &power), limited = number_of(device, "power_limit_w", &limit);
    if (drawn && limited)
        put(out, "%.0f of %.0f W", power, limit);
    else if (limited)
        put(out, "at most %.0f W", limit);
    if (number_of(device, "temperature_c", &value)) put(out, "%.0f C", value);
    if (ecc) put(out, "ECC %s", cJSON_IsTrue(dit_json_member(ecc, "on")) ? "on" : "off");
    describe_reasons(device, out);
    if (!out->used)
        put(out, "%s",
            dit_json_text_or(device, "nvml", "")[0] ? dit_json_text_or(device, "nvml", "") : "nothing is told");
}

static void describe_links(const cJSON *device, dit_buffer *out)
{
    const cJSON *pcie = dit_json_member(device, "pcie"), *nvlink = dit_json_member(device, "nvlink");
    double generation, width, links, active, peers;
    if (number_of(pcie, "generation", &generation) && number_of(pcie, "width", &width)) {
        double most_generation, most_width;
        if (!number_of(pcie, "generation_max", &most_generation)) most_generation = generation;
        if (!number_of(pcie, "width_max", &most_width)) most_width = width;
        put(out, "PCIe %.0f x%.0f of %.0f x%.0f", generation, width, most_generation, most_width);
    }
    if (number_of(nvlink, "links", &links) && number_of(nvlink, "links_active", &active)) {
        number_of(nvlink, "peers", &peers);
        put(out, "NVLink %.0f of %.0f to %.0f peers", active, links, peers);
    } else if (pcie) {
        put(out, "no NVLink");
    }
    if (cJSON_IsArray(dit_json_member(device, "peer_access")))
        put(out, "peer access to %d", cJSON_GetArraySize(dit_json_member(device, "peer_access")));
    if (!out->used) put(out, "nothing is told");
}

/* ---- all devices ------------------------------------------------------------------------------------------------- */

enum { MOST_DEVICES = 64 };

/* What is told of a device; the caller releases it. */
static dit_buffer describe_one(const cJSON *device, void (*describe)(const cJSON *device, dit_buffer *out))
{
    dit_buffer text = {0};
    if (dit_json_text_or(device, "error", "")[0])
        dit_buffer_text(&text, dit_json_text_or(device, "error", ""));
    else
        describe(device, &text);
    return text;
}

/* "2 x A; B": devices that are told alike are told once. */
static void join(const suite_devices *devices, void (*describe)(const cJSON *device, dit_buffer *out), dit_buffer *out)
{
    dit_buffer texts[MOST_DEVICES];
    const cJSON *device;
    int count = 0, alike;
    cJSON_ArrayForEach(device, dit_json_member(devices->list, "devices"))
    {
        if (count < MOST_DEVICES) texts[count++] = describe_one(device, describe);
    }
    for (int i = 0; i < count; i += alike) {
        for (alike = 1; i + alike < count; alike++)
            if (!texts[i].data || !texts[i + alike].data || strcmp(texts[i].data, texts[i + alike].data) != 0) break;
        if (!texts[i].data) continue;
        if (out->used) dit_buffer_text(out, "; ");
        if (alike > 1) dit_buffer_printf(out, "%d x ", alike);
        dit_buffer_text(out, texts[i].data);
    }
    for (int i = 0; i < count; i++) dit_buffer_release(&texts[i]);
}

void suite_device_line_models(const suite_devices *devices, dit_buffer *out)
{
    join(devices, describe_model, out);
}
void suite_device_line_state(const suite_devices *devices, dit_buffer *out)
{
    join(devices, describe_state, out);
}
void suite_device_line_links(const suite_devices *devices, dit_buffer *out)
{
    join(devices, describe_links, out);
}

bool suite_devices_throttled(const suite_devices *devices)
{
    static const char *const rest[] = {"idle", "application_clocks", "display_clocks", "sync_boost"};
    const cJSON *device, *reason;
    cJSON_ArrayForEach(device, dit_json_member(devices->list, "devices"))
    {
        cJSON_ArrayForEach(reason, dit_json_member(device, "throttle_reasons"))
        {
            bool harmless = !cJSON_IsString(reason);
            for (size_t i = 0; !harmless && i < sizeof rest / sizeof *rest; i++)
                harmless = strcmp(reason->valuestring, rest[i]) == 0;
            if (!harmless) return true;
        }
    }
    return false;
}

/* The same for all devices: those of the first. */
void suite_device_line_libraries(const suite_devices *devices, dit_buffer *out)
{
    const cJSON *first = cJSON_GetArrayItem(dit_json_member(devices->list, "devices"), 0), *used;
    put_text(out, first, "cuda_runtime", "CUDA");
    put_text(out, first, "cuda_driver", "driver for CUDA");
    put_text(out, first, "cublaslt", "cuBLASLt");
    put_text(out, first, "cudnn", "cuDNN");
    put_text(out, devices->list, "nccl", "NCCL");
    cJSON_ArrayForEach(used, dit_json_member(first, "libraries"))
        put_text(out, dit_json_member(first, "libraries"), used->string, used->string);
    if (!out->used) put(out, "loaded");
}

void suite_network_line(const cJSON *adapters, dit_buffer *out)
{
    const cJSON *adapter;
    double speed;
    cJSON_ArrayForEach(adapter, adapters)
    {
        put(out, "%.64s", dit_json_text_or(adapter, "name", ""));
        if (number_of(adapter, "speed_mbit_per_s", &speed)) dit_buffer_printf(out, " %.0f Mbit/s", speed);
        if (dit_json_text_or(adapter, "rate", "")[0])
            dit_buffer_printf(out, " %.64s", dit_json_text_or(adapter, "rate", ""));
        if (dit_json_text_or(adapter, "state", "")[0])
            dit_buffer_printf(out, " %.32s", dit_json_text_or(adapter, "state", ""));
        if (dit_json_text_or(adapter, "driver", "")[0])
            dit_buffer_printf(out, " (%.64s)", dit_json_text_or(adapter, "driver", ""));
    }
}
