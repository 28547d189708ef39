/* Environment: records what this machine is and what the numbers were made with.
 *
 * Hardware facts that do not change from day to day are hashed into hardware_id; other facts (clocks, load, variables)
 * are recorded, and are no part of the identity. Everything is read, nothing is measured.
 */
#ifndef DIT_SUITE_MACHINE_ENVIRONMENT_H
#define DIT_SUITE_MACHINE_ENVIRONMENT_H

#include "base/json.h"

/* {"hardware_id","cpu","packages","cores","processing_units","numa_nodes","memory_bytes","caches":[...],"gpu":...}.
 * The caller deletes *out. Errors: DIT_ERR_ENVIRONMENT when hwloc cannot read the machine. */
dit_status suite_environment_hardware(cJSON **out);
/* {"kernel","libc","compiler","mpi","libraries","variables","clock","load_average",...}. The caller deletes *out. */
dit_status suite_environment_software(cJSON **out);
/* {"name","version","commit","dirty"} of this suite. The caller deletes *out. */
dit_status suite_environment_suite(cJSON **out);
/* Copies the first line that a command prints on stdout; "" when the command cannot be run. */
void suite_environment_probe(const char *command, char *out, size_t capacity);

#endif
