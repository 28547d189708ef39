/* Devices: lists this machine's accelerators as a document, which the harness asks for before it starts a case. */
#ifndef DIT_ENGINE_DEVICES_H
#define DIT_ENGINE_DEVICES_H

#include "base/json.h"

/* Makes {"schema": "ditbench.devices/1", "backend", "count", "devices": [{"index", ...what a device says of itself, or
 * "error"}], "nccl"?}; without a device also "code", "message" and "hint"?. Not collective, needs no MPI. The caller
 * deletes *out. Errors: DIT_ERR_NOT_FOUND for a backend that is not a device, DIT_ERR_MEMORY. */
dit_status dit_devices_list(const char *backend, cJSON **out);

#endif
