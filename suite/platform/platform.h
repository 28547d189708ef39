/* Platform: reads a file of workloads/platforms: which backend and launcher a workload's cases use, and how many
 * devices with how much memory they have.
 *
 * Reading a platform starts no program: the engine is asked about this machine's devices when a case is to
 * run (suite/machine/devices.h).
 */
#ifndef DIT_SUITE_PLATFORM_PLATFORM_H
#define DIT_SUITE_PLATFORM_PLATFORM_H

#include "base/json.h"

typedef struct {
    char name[64], title[128];
    char backend[16];            /* cpu, ref, cuda, host, cost                                                  */
    char launcher[16];           /* mpirun, srun, smpirun, print                                                */
    int devices;                 /* cores or accelerators; "auto": cores this process may use, and of a device's
                               backend no limit: a case that finds too few is skipped when it is to run      */
    int max_ranks;               /* ranks allowed although they outnumber the devices; 0: no oversubscription   */
    int64_t memory_bytes;        /* "auto": what this machine, or its control group, has                     */
    bool memory_per_device;      /* memory_bytes is each device's; else all ranks share it                 */
    bool on_device;              /* the backend computes on devices: ranks count them, whatever their threads */
    bool share_devices;          /* ranks may share one, for tests                                         */
    double link_rate_bits_per_s; /* of an emulated link between two halves of the ranks; 0: there is none */
    double link_delay_s;         /* that it has beyond the delay of virtual interfaces                     */
} suite_platform;

/* Loads workloads/platforms/NAME.json and resolves "auto" on this machine; a simulated platform has the devices and the
 * memory of its cluster (suite/platform/cluster.h). Errors as suite_model_load. */
dit_status suite_platform_load(const char *name, suite_platform *out);

/* True if a backend computes on devices. A platform of such a backend counts ranks by devices, and its cases have a
 * dtype. */
bool suite_backend_is_device(const char *backend);
/* Returns the shipped platform of a backend, for cases that no workload places. */
const char *suite_backend_platform(const char *backend);

#endif
