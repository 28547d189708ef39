/* Links of the simulated machine, as its collective library sees them: what the case says of them, and between the
 * ranks of a group SimGrid's own routes.
 */
#ifndef DIT_ENGINE_SIM_LINKS_H
#define DIT_ENGINE_SIM_LINKS_H

#include "base/json.h"
#include "kernels/cost/collective.h"

/* Keys of the case's "simulation" that are read here. */
#define DIT_SIM_LINK_KEYS                                                                                              \
    "inside", "nvswitch", "devices_per_node", "node_devices", "bandwidth_bytes_per_s", "inside_latency_s",             \
        "inside_many_peers_efficiency", "adapters_per_node", "network_bandwidth_bytes_per_s", "network_latency_s",     \
        "network_many_peers_efficiency"

/* Reads them: "inside" is "nvlink", "pcie" or "memory" (devices are cores of one host), "nvswitch" whether over a
 * switch, network_bandwidth_bytes_per_s that of one adapter, devices_per_node those with ranks, node_devices all. What
 * is optional: nvswitch false, many_peers 1, node_devices as many as have ranks, the others 0. `architecture` is the
 * accelerator's. Errors: DIT_ERR_JSON_*. */
dit_status dit_sim_links_read(const dit_json *doc, const cJSON *object, const char *at, const char *architecture);
/* Of the group of these ranks of the world, in group order, ascending. Rank R is host "deviceR" where all devices have
 * ranks. */
dit_cost_group dit_sim_links_group(const int *ranks, int size);
/* Devices are cores of one host, and messages copies that they make. */
bool dit_sim_shares_memory(void);
/* Of so many messages and bytes there. */
double dit_sim_copy_seconds(int messages, double bytes);
int dit_sim_devices_per_node(void);

#endif
