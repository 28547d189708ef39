/* A management library that knows one GPU, for tests: four links of which three are up and lead to two peers, no ECC
 * totals of the whole life, and a power limit that it does not tell. It takes 123.456 W all the time, by its power and
 * by its counter of energy; FAKE_NVML_COUNTER is a factor on the counter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    char legacy_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} pci;
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6 };
static int gpu;
#define EMULATED "0000:00:00.0" /* where the emulated device says it is */

#define FAKE(name, ...)                                                                                                \
    int name(__VA_ARGS__);                                                                                             \
    int name(__VA_ARGS__)

FAKE(nvmlInit_v2, void)
{
    return OK;
}
FAKE(nvmlShutdown, void)
{
    return OK;
}
FAKE(nvmlDeviceGetHandleByPciBusId_v2, const char *bus_id, void **out)
{
    *out = &gpu;
    return strcmp(bus_id, "0000:1b:00.0") == 0 || strcmp(bus_id, EMULATED) == 0 ? OK : NOT_FOUND;
}
FAKE(nvmlSystemGetDriverVersion, char *out, unsigned size)
{
    snprintf(out, size, "580.65.06");
    return OK;
}
FAKE(nvmlDeviceGetClockInfo, void *device, int clock, unsigned *out)
{
    *out = clock == 1 ? 1980 : clock == 2 ? 3201 : 0;
    return device == &gpu ? OK : NOT_FOUND;
}
FAKE(nvmlDeviceGetMaxClockInfo, void *device, int clock, unsigned *out)
{
    *out = clock == 1 ? 1985 : 3202;
    return device == &gpu ? OK : NOT_FOUND;
}
FAKE(nvmlDeviceGetPowerUsage, void *device, unsigned *out)
{
    *out = 123456;
    return device == &gpu ? OK : NOT_FOUND;
}
FAKE(nvmlDeviceGetTotalEnergyConsumption, void *device, unsigned long long *out)
{
    struct timespec now;
    const char *factor = getenv("FAKE_NVML_COUNTER");
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    *out = (unsigned long long)(123456 * seconds * (factor ? atof(factor) : 1));
    return device == &gpu ? OK : NOT_FOUND;
}
FAKE(nvmlDeviceGetEnforcedPowerLimit, void *device, unsigned *out)
{
    (void)device;
    *out = 1;
    return NOT_SUPPORTED;
}
FAKE(nvmlDeviceGetTemperature, void *device, int sensor, unsigned *out)
{
    *out = sensor == 0 ? 41 : 0;
    return device == &gpu ? OK : NOT_FOUND;
}
FAKE(nvmlDeviceGetCurrentClocksThrottleReasons, void *device, unsigned long long *out)
{
    *out = 0x4 | 0x40;
    return device == &gpu ? OK : NOT_FOUND;
}
FAKE(nvmlDeviceGetEccMode, void *device, unsigned *now, unsigned *after)
{
    *now = 1, *after = 0;
    return device == &gpu ? OK : NOT_FOUND;
}
FAKE(nvmlDeviceGetTotalEccErrors, void *device, int type, int counter, unsigned long long *out)
{
    *out = type == 0 ? 7 : 2;
    return device == &gpu && counter == 0 ? OK : NOT_SUPPORTED;
}
FAKE(nvmlDeviceGetCurrPcieLinkGeneration, void *device, unsigned *out)
{
    *out = 5;
    return device == &gpu ? OK : NOT_FOUND;
}
FAKE(nvmlDeviceGetCurrPcieLinkWidth, void *device, unsigned *out)
{
    *out = 16;
    return device == &gpu ? OK : NOT_FOUND;
}
FAKE(nvmlDeviceGetNvLinkState, void *device, unsigned link, unsigned *out)
{
    *out = link != 1;
    return device == &gpu && link < 4 ? OK : NOT_SUPPORTED;
}
FAKE(nvmlDeviceGetNvLinkRemotePciInfo_v2, void *device, unsigned link, pci *out)
{
    snprintf(out->bus_id, sizeof out->bus_id, link == 3 ? "00000000:0A:00.0" : "00000000:0B:00.0");
    return device == &gpu && link != 1 ? OK : NOT_SUPPORTED;
}
FAKE(nvmlDeviceGetNvLinkVersion, void *device, unsigned link, unsigned *out)
{
    *out = link == 0 ? 4 : 0;
    return device == &gpu ? OK : NOT_FOUND;
}
