/* Cluster: reads the machine that a simulated platform declares: accelerators, the links between those of a node,
 * adapters, and the fabric between nodes.
 *
 * Facts live in three kinds of files: workloads/accelerators/NAME.json, the classes of links of
 * workloads/links/links.json, and the "cluster" of workloads/platforms/NAME.json, which refers to both by name. A fact
 * that has no source says so: an object's "assumed" names members that are present and why, its "unknown" members that
 * are not; the reader holds them to that.
 *
 * Every node is the same tree of links. A path is a list of hops over them; cluster_xml.c writes the same paths for
 * SimGrid. Devices are numbered node by node, which is the order of ranks: tensor fastest, data slowest.
 */
#ifndef DIT_SUITE_PLATFORM_CLUSTER_H
#define DIT_SUITE_PLATFORM_CLUSTER_H

#include "base/json.h"
#include "kernels/cost/accelerator.h"

enum {
    SUITE_NODE_DEVICES = 128,   /* at most, of one node                                  */
    SUITE_CLUSTER_NODES = 8192, /* at most                                               */
    SUITE_NODE_SOCKETS = 2,     /* at most: one link joins them                          */
    SUITE_PATH_HOPS = 16,       /* no path within a node, or out of it, is longer        */
    SUITE_OUTSIDE = -1,         /* in place of a device: the fabric                      */
};

/* An accelerator. Texts and facts lie inside `source`; release accepts a zeroed one. */
typedef struct {
    dit_json source;
    const char *title, *vendor;
    dit_accelerator facts;
} suite_accelerator;

/* Loads workloads/accelerators/NAME.json. Errors: DIT_ERR_NOT_FOUND with the nearest name, DIT_ERR_JSON_*. */
dit_status suite_accelerator_load(const char *name, suite_accelerator *out);
void suite_accelerator_release(suite_accelerator *accelerator);

typedef enum {
    SUITE_LINK_DUPLEX,   /* each direction has the bandwidth, shared by all who go that way */
    SUITE_LINK_SHARED,   /* both directions share it                                        */
    SUITE_LINK_PER_FLOW, /* a limit of each message alone, nothing is shared                */
    SUITE_LINK_SHARING_COUNT
} suite_link_sharing;

/* A class of links, with its fitted values. */
typedef struct {
    char name[32], kind[32];
    suite_link_sharing sharing;
    double bandwidth_bytes_per_s; /* of a direction; 0: "attached", the sum of what is attached         */
    double latency_s;             /* 0 where it is unknown                                              */
    double bandwidth_efficiency;  /* fitted; the simulated link has bandwidth times this                */
    double many_peers_efficiency; /* fitted; of a rank's bandwidth for every doubling of the peers that it exchanges
                                     with at once: not in the links, but of the collective library      */
    double few_peers_efficiency;  /* fitted; the same up to three peers; as many_peers_efficiency unless stated */
    double channels;              /* of a collective; a message has one. 1: none of this matters        */
    bool trees;                   /* whether sums go over trees                                         */
} suite_link_class;

/* Reads one class of workloads/links/links.json. Errors: DIT_ERR_NOT_FOUND naming the nearest class, DIT_ERR_JSON_*. */
dit_status suite_link_class_load(const char *name, suite_link_class *out);

/* One link of a node. */
typedef struct {
    char name[32]; /* "device3", "root0", "socket", "pair0-4", "nic0" */
    suite_link_class link_class;
    double bandwidth_bytes_per_s; /* of a direction, efficiency applied */
} suite_link;

/* `down`: against the direction in which the link counts, which is away from the device, from socket 0 to 1, and from
 * the lower device of a pair to the higher. */
typedef struct {
    int link;
    bool down;
} suite_hop;

/* Cores: a machine whose devices are the cores of one host. More ranks than cores share the cores. Messages are copies
 * that the ranks' cores make: device_link is no link of the simulation, but says how fast the cores copy. */
typedef enum {
    SUITE_TOPOLOGY_SWITCH,
    SUITE_TOPOLOGY_TREE,
    SUITE_TOPOLOGY_MESH,
    SUITE_TOPOLOGY_CORES,
    SUITE_TOPOLOGY_COUNT
} suite_topology;

typedef struct {
    char name[64], accelerator[64];
    char host[64];     /* the platform that has the same hosts, whose fitted host_scale holds here; else `name` */
    double host_scale; /* of what a software profile says that the host's work costs */
    bool knows_host;   /* the file states host_scale: it was measured */
    bool of_source;    /* a machine with the hosts of one source; lists of machines leave it out unless it is named */
    double pageable_copy_bytes_per_s; /* from its memory that is not locked to a device; 0: as the profile says */
    int nodes, devices;               /* devices: of one node */
    int ranks;                        /* at most; more than nodes * devices of cores only */
    suite_topology topology;
    int sockets, switches_per_socket; /* trees; 0 switches: devices hang at the root complex */
    bool peer_to_peer;                /* trees; else copies pass through host memory         */
    int nics;                         /* of a node; 0: unknown, one node only                */
    suite_link *links;                /* of a node: [link_count]                             */
    int link_count;
    int pair_link[SUITE_NODE_DEVICES][SUITE_NODE_DEVICES]; /* meshes: link between two devices, -1: none */
    int device_link, host_link, switch_link, root_link, socket_link, staging_link, nic_link; /* first; -1: none */
    suite_link fabric; /* of one node to the fabric; zeroed with one node    */
} suite_cluster;

/* Loads workloads/platforms/NAME.json, which must have a "cluster", and the classes it refers to. release accepts a
 * zeroed one. Errors: DIT_ERR_NOT_FOUND; DIT_ERR_UNSUPPORTED for a platform without cluster; DIT_ERR_JSON_*. */
dit_status suite_cluster_load(const char *name, suite_cluster *out);
/* Reads the "cluster" of a platform document that is already in memory. */
dit_status suite_cluster_read(const dit_json *doc, suite_cluster *out);
void suite_cluster_release(suite_cluster *cluster);

/* Lists the hops from device `from` to device `to` of one node (both below cluster->devices, different), or to the
 * fabric (SUITE_OUTSIDE, which needs NICs). Returns their number. The way back is the list of hops reversed. */
int suite_cluster_path(const suite_cluster *cluster, int from, int to, suite_hop out[SUITE_PATH_HOPS]);
/* Return the sum of latencies, and the least bandwidth, between any two devices of the cluster, as a message alone sees
 * them. A link that a path crosses twice counts twice. */
void suite_cluster_pair(const suite_cluster *cluster, int from, int to, double *latency_s,
                        double *bandwidth_bytes_per_s);
/* Returns how many times `bandwidth`, which a message between nodes has, the channels of a collective get out of an
 * adapter; 1 with one node. */
double suite_cluster_channels_times(const suite_cluster *cluster, double bandwidth);

#endif
