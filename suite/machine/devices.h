/* Devices: asks the engine which accelerators this machine has for a backend. The harness itself links no device
 * library. */
#ifndef DIT_SUITE_MACHINE_DEVICES_H
#define DIT_SUITE_MACHINE_DEVICES_H

#include "base/json.h"

/* What a machine has. `list` is the engine's document (results/schema/devices.md), NULL where the engine
 * could not be asked. */
typedef struct {
    int count;
    int64_t memory_bytes;        /* of the smallest; 0: not told */
    char reason[512], hint[512]; /* why there are none */
    const cJSON *list;
} suite_devices;

/* Asks the engine (NULL: the one beside this program) once, and keeps the answer. It returns no error: whatever goes
 * wrong is the reason why there are no devices. */
void suite_devices_find(const char *engine, const char *backend, suite_devices *out);
/* What a case needs of devices. */
typedef struct {
    int ranks;
    bool shared;          /* all ranks may share one device; else each needs its own */
    int64_t memory_bytes; /* estimated peak of one rank; 0: not known                */
} suite_device_need;

/* Writes the reason why a case cannot run on these devices (too few, or too little memory in each), or "" if it can. */
void suite_devices_refusal(const suite_devices *devices, const char *backend, const suite_device_need *need,
                           char out[640]);

#endif
