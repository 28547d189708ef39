/* Network: lists the adapters over which ranks of several machines would exchange, and the variables that NCCL reads.
 * Nothing is tried out. */
#ifndef DIT_SUITE_MACHINE_NETWORK_H
#define DIT_SUITE_MACHINE_NETWORK_H

#include "base/json.h"

/* [{"name", "kind": "ethernet" | "infiniband", "driver"?, "speed_mbit_per_s"?, "rate"?, "state"?}] for the hardware
 * adapters, by name. `root` is the folder of sysfs; NULL: $DITBENCH_SYSFS, else /sys. The caller deletes *out. Errors:
 * DIT_ERR_MEMORY. */
dit_status suite_network_adapters(const char *root, cJSON **out);
/* Builds {"NCCL_...": value} from the environment. The caller deletes *out. Errors: DIT_ERR_MEMORY. */
dit_status suite_network_variables(cJSON **out);

#endif
