/* Network: the adapters that ranks of several machines would speak over, and what is said to NCCL. Read, not tried. */
#ifndef DIT_SUITE_MACHINE_NETWORK_H
#define DIT_SUITE_MACHINE_NETWORK_H

#include "base/json.h"

/* [{"name", "kind": "ethernet" | "infiniband", "driver"?, "speed_mbit_per_s"?, "rate"?, "state"?}] of adapters
 * that are hardware, by name. `root`: of sysfs; NULL: $DITBENCH_SYSFS, else /sys. The caller deletes *out. Errors:
 * DIT_ERR_MEMORY. */
dit_status suite_network_adapters(const char *root, cJSON **out);
/* {"NCCL_...": value} of the environment. The caller deletes *out. Errors: DIT_ERR_MEMORY. */
dit_status suite_network_variables(cJSON **out);

#endif
