#include "kernels/cuda/nvml.h"

#include "base/json_writer.h"

#include <dlfcn.h>
#include <math.h>
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

static void add_unsigned(dit_json_writer *w, cJSON *out, const char *key, bool known, double value)
{
    if (known) dit_json_put_number(w, out, key, value);
}

static void add_driver(dit_json_writer *w, const nvml *n, cJSON *out)
{
    char version[80] = "";
    nvml_return (*call)(char *, unsigned) = function(n, "nvmlSystemGetDriverVersion");
    if (!call || call(version, sizeof version) != 0) return;
    dit_json_put_string(w, out, "driver", version);
}

static void add_clocks(dit_json_writer *w, const nvml *n, cJSON *out)
{
    unsigned value = 0;
    cJSON *clocks = dit_json_put_object(w, out, "clocks_mhz");
    bool known = ask_of(n, "nvmlDeviceGetClockInfo", CLOCK_SM, &value);
    add_unsigned(w, clocks, "sm", known, value);
    known = ask_of(n, "nvmlDeviceGetMaxClockInfo", CLOCK_SM, &value);
    add_unsigned(w, clocks, "sm_max", known, value);
    known = ask_of(n, "nvmlDeviceGetClockInfo", CLOCK_MEMORY, &value);
    add_unsigned(w, clocks, "memory", known, value);
    known = ask_of(n, "nvmlDeviceGetMaxClockInfo", CLOCK_MEMORY, &value);
    add_unsigned(w, clocks, "memory_max", known, value);
}

static void add_power(dit_json_writer *w, const nvml *n, cJSON *out)
{
    unsigned value = 0;
    bool known = ask(n, "nvmlDeviceGetPowerUsage", &value); /* mW */
    add_unsigned(w, out, "power_w", known, value / 1000.0);
    known = ask(n, "nvmlDeviceGetEnforcedPowerLimit", &value);
    add_unsigned(w, out, "power_limit_w", known, value / 1000.0);
    known = ask_of(n, "nvmlDeviceGetTemperature", SENSOR_GPU, &value);
    add_unsigned(w, out, "temperature_c", known, value);
}

static void add_throttle(dit_json_writer *w, const nvml *n, cJSON *out)
{
    unsigned long long reasons = 0;
    nvml_return (*call)(nvml_device, unsigned long long *) = function(n, "nvmlDeviceGetCurrentClocksEventReasons");
    if (!call) call = function(n, "nvmlDeviceGetCurrentClocksThrottleReasons"); /* its name before driver 535 */
    if (!call || call(n->device, &reasons) != 0) return;
    cJSON *list = dit_json_put_array(w, out, "throttle_reasons");
    for (int i = 0; i < THROTTLE_WORDS; i++)
        if (reasons & throttle_words[i].bit) dit_json_put_string(w, list, NULL, throttle_words[i].word);
}

static void add_ecc_count(dit_json_writer *w, const nvml *n, cJSON *ecc, const char *key, int type, int counter)
{
    unsigned long long count = 0;
    nvml_return (*call)(nvml_device, int, int, unsigned long long *) = function(n, "nvmlDeviceGetTotalEccErrors");
    bool known = call && call(n->device, type, counter, &count) == 0;
    add_unsigned(w, ecc, key, known, (double)count);
}

static void add_ecc(dit_json_writer *w, const nvml *n, cJSON *out)
{
    unsigned now = 0, after_reboot = 0;
    nvml_return (*mode)(nvml_device, unsigned *, unsigned *) = function(n, "nvmlDeviceGetEccMode");
    if (!mode || mode(n->device, &now, &after_reboot) != 0) return;
    cJSON *ecc = dit_json_put_object(w, out, "ecc");
    dit_json_put_bool(w, ecc, "on", now == 1);
    add_ecc_count(w, n, ecc, "corrected", ECC_CORRECTED, ECC_VOLATILE);
    add_ecc_count(w, n, ecc, "uncorrected", ECC_UNCORRECTED, ECC_VOLATILE);
    add_ecc_count(w, n, ecc, "corrected_ever", ECC_CORRECTED, ECC_AGGREGATE);
    add_ecc_count(w, n, ecc, "uncorrected_ever", ECC_UNCORRECTED, ECC_AGGREGATE);
}

static void add_pcie(dit_json_writer *w, const nvml *n, cJSON *out)
{
    unsigned value = 0;
    cJSON *pcie = dit_json_put_object(w, out, "pcie");
    bool known = ask(n, "nvmlDeviceGetCurrPcieLinkGeneration", &value);
    add_unsigned(w, pcie, "generation", known, value);
    known = ask(n, "nvmlDeviceGetMaxPcieLinkGeneration", &value);
    add_unsigned(w, pcie, "generation_max", known, value);
    known = ask(n, "nvmlDeviceGetCurrPcieLinkWidth", &value);
    add_unsigned(w, pcie, "width", known, value);
    known = ask(n, "nvmlDeviceGetMaxPcieLinkWidth", &value);
    add_unsigned(w, pcie, "width_max", known, value);
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

static void add_nvlink(dit_json_writer *w, const nvml *n, cJSON *out)
{
    unsigned links[MOST_LINKS], on = 0, version = 0;
    int count = 0, present = 0;
    nvml_return (*call)(nvml_device, unsigned, unsigned *) = function(n, "nvmlDeviceGetNvLinkState");
    for (unsigned link = 0; call && link < MOST_LINKS; link++) {
        if (call(n->device, link, &on) != 0) continue;
        present++;
        if (on) links[count++] = link;
    }
    if (!present) return;
    cJSON *nvlink = dit_json_put_object(w, out, "nvlink");
    dit_json_put_int(w, nvlink, "links", present);
    dit_json_put_int(w, nvlink, "links_active", count);
    dit_json_put_int(w, nvlink, "peers", count_peers(n, links, count));
    bool known = count && ask_of(n, "nvmlDeviceGetNvLinkVersion", (int)links[0], &version);
    add_unsigned(w, nvlink, "version", known, version);
}

static void add_facts(dit_json_writer *w, const nvml *n, cJSON *out)
{
    add_driver(w, n, out);
    add_clocks(w, n, out);
    add_power(w, n, out);
    add_throttle(w, n, out);
    add_ecc(w, n, out);
    add_pcie(w, n, out);
    add_nvlink(w, n, out);
}

dit_status cuda_nvml_describe(const char *pci_bus_id, cJSON *out)
{
    dit_json_writer w = {0};
    nvml n = {0};
    const char *why_not = open_library(&n, pci_bus_id);
    if (why_not)
        dit_json_put_string(&w, out, "nvml", why_not);
    else
        add_facts(&w, &n, out);
    close_library(&n);
    return w.status;
}

/* ---- the meter --------------------------------------------------------------------------------------------------- */

struct cuda_meter {
    nvml library;
    nvml_return (*energy)(nvml_device, unsigned long long *millijoules); /* NULL: a library that cannot tell */
};

cuda_meter *cuda_meter_open(const char *pci_bus_id)
{
    cuda_meter *meter = calloc(1, sizeof *meter);
    if (!meter) return NULL;
    if (!open_library(&meter->library, pci_bus_id)) {
        meter->energy = function(&meter->library, "nvmlDeviceGetTotalEnergyConsumption");
        return meter;
    }
    cuda_meter_close(meter);
    return NULL;
}

void cuda_meter_close(cuda_meter *meter)
{
    if (meter) close_library(&meter->library);
    free(meter);
}

dit_device_reading cuda_meter_read(const cuda_meter *meter)
{
    dit_device_reading out = {NAN, NAN};
    unsigned long long millijoules = 0;
    unsigned milliwatts = 0;
    if (!meter) return out;
    if (meter->energy && meter->energy(meter->library.device, &millijoules) == 0)
        out.energy_j = (double)millijoules / 1000;
    if (ask(&meter->library, "nvmlDeviceGetPowerUsage", &milliwatts)) out.power_w = milliwatts / 1000.0;
    return out;
}
