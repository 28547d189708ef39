/* Devices: which accelerators this machine has for a backend, as the engine tells: the harness links none of theirs. */
#ifndef DIT_SUITE_MACHINE_DEVICES_H
#define DIT_SUITE_MACHINE_DEVICES_H

#include "base/json.h"

/* What a machine has. `list` is the engine's document (results/schema/README.md, "Devices"), NULL where the engine
 * could not be asked. */
typedef struct {
    int count;
    int64_t memory_bytes;        /* of the smallest; 0: not told */
    char reason[512], hint[512]; /* why there are none */
    const cJSON *list;
} suite_devices;

/* Whether a platform's backend computes on devices: those are what its ranks are counted by, and it has an element
 * type. */
bool suite_backend_is_device(const char *backend);
/* Asks the engine (NULL: the one beside this program) once; answers are kept. No error: whatever goes wrong is the
 * reason why there are none. */
void suite_devices_find(const char *engine, const char *backend, suite_devices *out);
/* The shipped platform of a backend, for cases that no workload places. */
const char *suite_backend_platform(const char *backend);
/* The reason why `ranks` ranks cannot have a device each, or, `shared`, one at all: "" when they can. */
void suite_devices_refusal(const suite_devices *devices, const char *backend, int ranks, bool shared, char out[640]);

#endif
