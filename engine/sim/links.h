/* Links: the simulated machine as its collective library sees it. The case says how devices are joined; the bandwidth
 * between two of them is that of SimGrid's route.
 */
#ifndef DIT_ENGINE_SIM_LINKS_H
#define DIT_ENGINE_SIM_LINKS_H

#include "base/json.h"
#include "engine/sim/simgrid.h"
#include "kernels/cost/collective.h"

/* Keys of the case's "simulation" that dit_sim_links_read reads. */
#define DIT_SIM_LINK_KEYS                                                                                              \
    "inside", "nvswitch", "devices_per_node", "node_devices", "bandwidth_bytes_per_s", "inside_latency_s",             \
        "inside_many_peers_efficiency", "inside_few_peers_efficiency", "adapters_per_node",                            \
        "network_bandwidth_bytes_per_s", "network_latency_s", "network_many_peers_efficiency",                         \
        "network_few_peers_efficiency", "network_collective_times", "network_trees"

typedef struct {
    const dit_sim_grid *grid;
    dit_cost_group any;                          /* what all groups have in common; its ranks and nodes are 0 */
    int64_t devices_per_node, adapters_per_node; /* devices: those that have ranks                            */
    int64_t node_devices;                        /* all devices of a node                                     */
    bool shares_memory;                          /* devices are cores of one host, messages are their copies  */
} dit_sim_links;

/* Links before a case is read: one device a node. */
dit_sim_links dit_sim_links_of(const dit_sim_grid *grid);
/* Reads the keys above from `object`. "inside" is "nvlink", "pcie" or "memory" (the devices are cores of one host);
 * "nvswitch" says that NVLink goes over a switch; network_bandwidth_bytes_per_s is that of one adapter. Optional are
 * nvswitch (false), network_trees (true), the efficiencies (1; of few peers: as of many), node_devices
 * (devices_per_node), adapters_per_node (1), network_collective_times (1) and the other numbers (0). `architecture` is
 * the accelerator's. Errors: DIT_ERR_JSON_*. */
dit_status dit_sim_links_read(const dit_json *doc, const cJSON *object, const char *at, const char *architecture,
                              dit_sim_links *links);
enum { DIT_SIM_DEVICE_NAME = 32 };
/* Names the host of the platform that rank R is on. */
void dit_sim_links_device(const dit_sim_links *links, int rank, char out[DIT_SIM_DEVICE_NAME]);
/* The group of these ranks of the world, which ascend. Rank R is host "deviceR" of the platform where all devices have
 * ranks; else the ranks of a node are its first devices. */
dit_cost_group dit_sim_links_group(const dit_sim_links *links, const int *ranks, int size);
/* Seconds that a core takes for `messages` messages and for copying `bytes` bytes. For links that share memory. */
double dit_sim_links_copy_seconds(const dit_sim_links *links, int messages, double bytes);

#endif
