#include "kernels/cuda/nvml.h"

#include "base/json.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The part of NVML's binary interface that is used; its documentation ("NVML API Reference") promises stability. */
typedef void *nvml_device;
typedef int nvml_return; /* 0: success */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, MOST_LINKS = 18 };
enum { ECC_CORRECTED, ECC_UNCORRECTED };
enum { ECC_VOLATILE, ECC_AGGREGATE };

typedef struct {
    char legacy_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} nvml_pci;

typedef struct {
    void *library;
    nvml_device device;
} nvml;

static const struct {
    uint64_t bit;
    const char *word;
} throttle_words[] = {
    {0x1, "idle"},
    {0x2, "application_clocks"},
    {0x4, "power_cap"},
    {0x8, "hardware_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "thermal_slowdown"},
    {0x40, "hardware_thermal_slowdown"},
    {0x80, "power_brake"},
    {0x100, "display_clocks"},
};
enum { THROTTLE_WORDS = sizeof throttle_words / sizeof throttle_words[0] };

/* ---- the library ------------------------------------------------------------------------------------------------- */

static void *function(const nvml *n, const char *name)
{
    return dlsym(n->library, name);
}

/* Calls name(device, &value). Returns true if NVML gave a value. */
static bool ask(const nvml *n, const char *name, unsigned *value)
{
    nvml_return (*call)(nvml_device, unsigned *) = function(n, name);
    return call && call(n->device, value) == 0;
}

/* Calls name(device, what, &value). Returns true if NVML gave a value. */
static bool ask_of(const nvml *n, const char *name, int what, unsigned *value)
{
    nvml_return (*call)(nvml_device, int, unsigned *) = function(n, name);
    return call && call(n->device, what, value) == 0;
}

static const char *open_library(nvml *n, const char *pci_bus_id)
{
    const char *path = getenv("DITBENCH_NVML_LIBRARY");
    n->library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library) return "no library";
    nvml_return (*init)(void) = function(n, "nvmlInit_v2");
    nvml_return (*find)(const char *, nvml_device *) = function(n, "nvmlDeviceGetHandleByPciBusId_v2");
    if (!init || !find) return "not a known version";
    if (init() != 0) return "the driver does not answer";
    return find(pci_bus_id, &n->device) == 0 ? NULL : "the device is not visible";
}

static void close_library(const nvml *n)
{
    nvml_return (*shutdown)(void) = n->library ? function(n, "nvmlShutdown") : NULL;
    if (shutdown) shutdown();
    if (n->library) dlclose(n->library);
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static dit_status add_unsigned(cJSON *out, const char *key, bool known, double value)
{
    return known ? dit_json_add_number(out, key, value) : DIT_OK;
}

static dit_status new_object(cJSON *out, const char *key, cJSON **object)
{
    *object = cJSON_AddObjectToObject(out, key);
    return *object ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", key);
}

static dit_status add_driver(const nvml *n, cJSON *out)
{
    char version[80] = "";
    nvml_return (*call)(char *, unsigned) = function(n, "nvmlSystemGetDriverVersion");
    if (!call || call(version, sizeof version) != 0) return DIT_OK;
    return dit_json_add_string(out, "driver", version);
}

static dit_status add_clocks(const nvml *n, cJSON *out)
{
    unsigned value = 0;
    cJSON *clocks;
    DIT_TRY(new_object(out, "clocks_mhz", &clocks));
    bool known = ask_of(n, "nvmlDeviceGetClockInfo", CLOCK_SM, &value);
    DIT_TRY(add_unsigned(clocks, "sm", known, value));
    known = ask_of(n, "nvmlDeviceGetMaxClockInfo", CLOCK_SM, &value);
    DIT_TRY(add_unsigned(clocks, "sm_max", known, value));
    known = ask_of(n, "nvmlDeviceGetClockInfo", CLOCK_MEMORY, &value);
    DIT_TRY(add_unsigned(clocks, "memory", known, value));
    known = ask_of(n, "nvmlDeviceGetMaxClockInfo", CLOCK_MEMORY, &value);
    return add_unsigned(clocks, "memory_max", known, value);
}

static dit_status add_power(const nvml *n, cJSON *out)
{
    unsigned value = 0;
    bool known = ask(n, "nvmlDeviceGetPowerUsage", &value); /* mW */
    DIT_TRY(add_unsigned(out, "power_w", known, value / 1000.0));
    known = ask(n, "nvmlDeviceGetEnforcedPowerLimit", &value);
    DIT_TRY(add_unsigned(out, "power_limit_w", known, value / 1000.0));
    known = ask_of(n, "nvmlDeviceGetTemperature", SENSOR_GPU, &value);
    return add_unsigned(out, "temperature_c", known, value);
}

static dit_status add_throttle(const nvml *n, cJSON *out)
{
    unsigned long long reasons = 0;
    nvml_return (*call)(nvml_device, unsigned long long *) = function(n, "nvmlDeviceGetCurrentClocksEventReasons");
    if (!call) call = function(n, "nvmlDeviceGetCurrentClocksThrottleReasons"); /* its name before driver 535 */
    if (!call || call(n->device, &reasons) != 0) return DIT_OK;
    cJSON *list = cJSON_AddArrayToObject(out, "throttle_reasons");
    if (!list) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for throttle_reasons");
    for (int i = 0; i < THROTTLE_WORDS; i++)
        if (reasons & throttle_words[i].bit) cJSON_AddItemToArray(list, cJSON_CreateString(throttle_words[i].word));
    return DIT_OK;
}

static dit_status add_ecc_count(const nvml *n, cJSON *ecc, const char *key, int type, int counter)
{
    unsigned long long count = 0;
    nvml_return (*call)(nvml_device, int, int, unsigned long long *) = function(n, "nvmlDeviceGetTotalEccErrors");
    bool known = call && call(n->device, type, counter, &count) == 0;
    return add_unsigned(ecc, key, known, (double)count);
}

static dit_status add_ecc(const nvml *n, cJSON *out)
{
    unsigned now = 0, after_reboot = 0;
    nvml_return (*mode)(nvml_device, unsigned *, unsigned *) = function(n, "nvmlDeviceGetEccMode");
    cJSON *ecc;
    if (!mode || mode(n->device, &now, &after_reboot) != 0) return DIT_OK;
    DIT_TRY(new_object(out, "ecc", &ecc));
    cJSON_AddBoolToObject(ecc, "on", now == 1);
    DIT_TRY(add_ecc_count(n, ecc, "corrected", ECC_CORRECTED, ECC_VOLATILE));
    DIT_TRY(add_ecc_count(n, ecc, "uncorrected", ECC_UNCORRECTED, ECC_VOLATILE));
    DIT_TRY(add_ecc_count(n, ecc, "corrected_ever", ECC_CORRECTED, ECC_AGGREGATE));
    return add_ecc_count(n, ecc, "uncorrected_ever", ECC_UNCORRECTED, ECC_AGGREGATE);
}

static dit_status add_pcie(const nvml *n, cJSON *out)
{
    unsigned value = 0;
    cJSON *pcie;
    DIT_TRY(new_object(out, "pcie", &pcie));
    bool known = ask(n, "nvmlDeviceGetCurrPcieLinkGeneration", &value);
    DIT_TRY(add_unsigned(pcie, "generation", known, value));
    known = ask(n, "nvmlDeviceGetMaxPcieLinkGeneration", &value);
    DIT_TRY(add_unsigned(pcie, "generation_max", known, value));
    known = ask(n, "nvmlDeviceGetCurrPcieLinkWidth", &value);
    DIT_TRY(add_unsigned(pcie, "width", known, value));
    known = ask(n, "nvmlDeviceGetMaxPcieLinkWidth", &value);
    return add_unsigned(pcie, "width_max", known, value);
}

/* Counts the different devices that the links lead to: switches or GPUs. */
static int count_peers(const nvml *n, const unsigned *links, int count)
{
    nvml_pci peers[MOST_LINKS];
    nvml_return (*call)(nvml_device, unsigned, nvml_pci *) = function(n, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    int different = 0;
    for (int i = 0; call && i < count; i++) {
        int same = 0;
        memset(&peers[different], 0, sizeof peers[0]);
        if (call(n->device, links[i], &peers[different]) != 0) continue;
        while (same < different && strcasecmp(peers[same].bus_id, peers[different].bus_id) != 0) same++;
        different += same == different;
    }
    return different;
}

static dit_status add_nvlink(const nvml *n, cJSON *out)
{
    unsigned links[MOST_LINKS], on = 0, version = 0;
    int count = 0, present = 0;
    nvml_return (*call)(nvml_device, unsigned, unsigned *) = function(n, "nvmlDeviceGetNvLinkState");
    cJSON *nvlink;
    for (unsigned link = 0; call && link < MOST_LINKS; link++) {
        if (call(n->device, link, &on) != 0) continue;
        present++;
        if (on) links[count++] = link;
    }
    if (!present) return DIT_OK;
    DIT_TRY(new_object(out, "nvlink", &nvlink));
    DIT_TRY(dit_json_add_int(nvlink, "links", present));
    DIT_TRY(dit_json_add_int(nvlink, "links_active", count));
    DIT_TRY(dit_json_add_int(nvlink, "peers", count_peers(n, links, count)));
    bool known = count && ask_of(n, "nvmlDeviceGetNvLinkVersion", (int)links[0], &version);
    return add_unsigned(nvlink, "version", known, version);
}

static dit_status add_facts(const nvml *n, cJSON *out)
{
    DIT_TRY(add_driver(n, out));
    DIT_TRY(add_clocks(n, out));
    DIT_TRY(add_power(n, out));
    DIT_TRY(add_throttle(n, out));
    DIT_TRY(add_ecc(n, out));
    DIT_TRY(add_pcie(n, out));
    return add_nvlink(n, out);
}

dit_status cuda_nvml_describe(const char *pci_bus_id, cJSON *out)
{
    nvml n = {0};
    const char *why_not = open_library(&n, pci_bus_id);
    dit_status st = why_not ? dit_json_add_string(out, "nvml", why_not) : add_facts(&n, out);
    close_library(&n);
    return st;
}
