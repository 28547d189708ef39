#include "suite/platform/cluster.h"

#include "base/json.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char node_at[] = "/cluster/node";
static const char *const topology_names[] = {"switch", "tree", "mesh", "cores", NULL};

static bool suite_topology_from_name(const char *name, suite_topology *out)
{
    for (int i = 0; i < SUITE_TOPOLOGY_COUNT; i++) {
        if (strcmp(name, topology_names[i]) != 0) continue;
        *out = (suite_topology)i;
        return true;
    }
    return false;
}

/* A cluster being read: `node` is the member of that name. */
typedef struct {
    const dit_json *doc;
    const cJSON *object, *node;
    suite_cluster *cluster;
} cluster_reader;

/* ---- links of a node --------------------------------------------------------------------------------------------- */

/* The class that member `key` of the node, or of the cluster, names. An unknown one is an error of this document. */
static dit_status read_link(const cluster_reader *reader, const cJSON *object, const char *pointer, const char *key,
                            suite_link_class *out)
{
    const char *name;
    char at[256], hint[256];
    DIT_TRY(dit_json_require_string(reader->doc, object, pointer, key, &name));
    dit_status st = suite_link_class_load(name, out);
    if (st != DIT_ERR_NOT_FOUND) return st;
    snprintf(hint, sizeof hint, "%s", dit_error_last()->hint);
    dit_json_pointer_join(at, sizeof at, pointer, key);
    st = dit_json_fail(reader->doc, at, DIT_ERR_JSON_VALUE, "there is no class of links \"%.60s\"", name);
    return dit_error_hint(st, "%s", hint);
}

static dit_status add_link(suite_cluster *cluster, const suite_link *link)
{
    suite_link *larger = realloc(cluster->links, (size_t)(cluster->link_count + 1) * sizeof *larger);
    if (!larger) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the links of a node");
    cluster->links = larger;
    cluster->links[cluster->link_count++] = *link;
    return DIT_OK;
}

/* `times` the bandwidth of a class; `attached` is what a class without its own takes. */
static dit_status fill_link(const cluster_reader *reader, const char *pointer, const char *key, double times,
                            double attached, suite_link *link)
{
    const suite_link_class *own = &link->link_class;
    char at[256];
    double bandwidth = own->bandwidth_bytes_per_s > 0 ? own->bandwidth_bytes_per_s * times : attached;
    dit_json_pointer_join(at, sizeof at, pointer, key);
    if (bandwidth <= 0)
        return dit_json_fail(reader->doc, at, DIT_ERR_JSON_VALUE,
                             "%s takes its bandwidth from what is attached to it, but nothing is attached here",
                             own->name);
    link->bandwidth_bytes_per_s = bandwidth * own->bandwidth_efficiency;
    return DIT_OK;
}

/* `count` links PREFIX0, PREFIX1, ... of the class that node member `key` names; the index of the first in *first. */
static dit_status add_links(const cluster_reader *reader, const char *key, const char *prefix, int count, double times,
                            double attached, int *first)
{
    suite_link link = {0};
    DIT_TRY(read_link(reader, reader->node, node_at, key, &link.link_class));
    DIT_TRY(fill_link(reader, node_at, key, times, attached, &link));
    *first = reader->cluster->link_count;
    for (int i = 0; i < count; i++) {
        snprintf(link.name, sizeof link.name, "%s%d", prefix, i);
        DIT_TRY(add_link(reader->cluster, &link));
    }
    return DIT_OK;
}

static double bandwidth_of(const suite_cluster *cluster, int link)
{
    const suite_link *own = &cluster->links[link];
    return own->bandwidth_bytes_per_s / own->link_class.bandwidth_efficiency;
}

/* ---- network cards ----------------------------------------------------------------------------------------------- */

/* A device uses the card nearest to it by number, or, where there are more cards than devices, its share of them as
 * one. */
static dit_status read_nics(const cluster_reader *reader)
{
    suite_cluster *cluster = reader->cluster;
    int64_t nics = 0;
    DIT_TRY(dit_json_optional_int(reader->doc, reader->node, node_at, "nics", 1, 1024, &nics));
    if (!nics) {
        if (dit_json_member(reader->node, "nic_link"))
            return dit_json_fail(reader->doc, node_at, DIT_ERR_JSON_MISSING, "\"nics\" is required with \"nic_link\"");
        return DIT_OK;
    }
    if (cluster->devices % nics && nics % cluster->devices)
        return dit_json_fail(reader->doc, "/cluster/node/nics", DIT_ERR_JSON_VALUE,
                             "%lld cards cannot be shared evenly by %d devices", (long long)nics, cluster->devices);
    bool more = nics > cluster->devices;
    cluster->nics = more ? cluster->devices : (int)nics;
    return add_links(reader, "nic_link", "nic", cluster->nics, more ? (double)nics / cluster->devices : 1, 0,
                     &cluster->nic_link);
}

static int nic_of(const suite_cluster *cluster, int device)
{
    return device * cluster->nics / cluster->devices;
}

/* The way from a device to its card, of nodes whose devices speak to each other over something else than PCIe. */
static dit_status read_host_links(const cluster_reader *reader)
{
    if (!dit_json_member(reader->node, "host_link")) return DIT_OK;
    return add_links(reader, "host_link", "host", reader->cluster->devices, 1, 0, &reader->cluster->host_link);
}

/* ---- switch ------------------------------------------------------------------------------------------------------ */

static const char *const switch_keys[] = {"devices", "topology", "device_link", "host_link", "nics", "nic_link", NULL};
static const char *const nic_facts[] = {"nic_link", NULL};

static dit_status read_switch(const cluster_reader *reader)
{
    suite_cluster *cluster = reader->cluster;
    DIT_TRY(suite_evidence_check(reader->doc, reader->node, node_at, switch_keys, nic_facts));
    DIT_TRY(add_links(reader, "device_link", "device", cluster->devices, 1, 0, &cluster->device_link));
    return read_host_links(reader);
}

/* ---- tree -------------------------------------------------------------------------------------------------------- */

static const char *const tree_keys[] = {
    "devices",     "topology",  "device_link", "sockets",      "switches_per_socket",
    "switch_link", "root_link", "socket_link", "peer_to_peer", "staging_link",
    "nics",        "nic_link",  NULL};
static const char *const tree_facts[] = {"sockets", "switches_per_socket", "peer_to_peer", "nic_link", NULL};

static dit_status read_sockets(const cluster_reader *reader)
{
    suite_cluster *cluster = reader->cluster;
    int64_t sockets = 1, switches = 0;
    cluster->peer_to_peer = true;
    DIT_TRY(dit_json_require_int(reader->doc, reader->node, node_at, "sockets", 1, SUITE_NODE_SOCKETS, &sockets));
    DIT_TRY(dit_json_optional_int(reader->doc, reader->node, node_at, "switches_per_socket", 0, SUITE_NODE_DEVICES,
                                  &switches));
    DIT_TRY(dit_json_optional_bool(reader->doc, reader->node, node_at, "peer_to_peer", &cluster->peer_to_peer));
    cluster->sockets = (int)sockets;
    cluster->switches_per_socket = (int)switches;
    int64_t parts = sockets * (switches ? switches : 1);
    if (cluster->devices % parts == 0) return DIT_OK;
    return dit_json_fail(reader->doc, "/cluster/node/devices", DIT_ERR_JSON_VALUE,
                         "%d devices cannot be divided evenly over %lld %s", cluster->devices, (long long)parts,
                         switches ? "switches" : "sockets");
}

/* A member that says something about a part the node does not have. */
static dit_status refuse(const cluster_reader *reader, const char *key, const char *why)
{
    char at[256];
    if (!dit_json_member(reader->node, key)) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, node_at, key);
    return dit_json_fail(reader->doc, at, DIT_ERR_JSON_VALUE, "%s", why);
}

static dit_status read_tree_trunk(const cluster_reader *reader, double below_root)
{
    suite_cluster *cluster = reader->cluster;
    DIT_TRY(add_links(reader, "root_link", "root", cluster->sockets, 1, below_root, &cluster->root_link));
    if (cluster->sockets > 1)
        DIT_TRY(add_links(reader, "socket_link", "socket", 1, 1, 0, &cluster->socket_link));
    else
        DIT_TRY(refuse(reader, "socket_link", "a node with one socket has no link to another"));
    if (cluster->peer_to_peer)
        return refuse(reader, "staging_link", "with peer_to_peer nothing is staged in host memory");
    return add_links(reader, "staging_link", "staging", cluster->sockets, 1, 0, &cluster->staging_link);
}

static dit_status read_tree(const cluster_reader *reader)
{
    suite_cluster *cluster = reader->cluster;
    DIT_TRY(suite_evidence_check(reader->doc, reader->node, node_at, tree_keys, tree_facts));
    DIT_TRY(read_sockets(reader));
    DIT_TRY(add_links(reader, "device_link", "device", cluster->devices, 1, 0, &cluster->device_link));
    int switches = cluster->sockets * cluster->switches_per_socket;
    if (!switches) {
        DIT_TRY(refuse(reader, "switch_link", "there are no switches_per_socket"));
        return read_tree_trunk(reader,
                               bandwidth_of(cluster, cluster->device_link) * cluster->devices / cluster->sockets);
    }
    DIT_TRY(add_links(reader, "switch_link", "switch", switches, 1, 0, &cluster->switch_link));
    return read_tree_trunk(reader, bandwidth_of(cluster, cluster->switch_link) * cluster->switches_per_socket);
}

/* ---- mesh -------------------------------------------------------------------------------------------------------- */

static const char *const mesh_keys[] = {"devices",   "topology", "device_link", "pairs",
                                        "host_link", "nics",     "nic_link",    NULL};

static dit_status add_pair(const cluster_reader *reader, const suite_link_class *link_class, int a, int b, int links)
{
    suite_cluster *cluster = reader->cluster;
    suite_link link = {.link_class = *link_class};
    DIT_TRY(fill_link(reader, node_at, "device_link", links, 0, &link));
    snprintf(link.name, sizeof link.name, "pair%d-%d", a, b);
    cluster->pair_link[a][b] = cluster->pair_link[b][a] = cluster->link_count;
    return add_link(cluster, &link);
}

/* [device, device, number of links] */
static dit_status read_pair(const cluster_reader *reader, const suite_link_class *link_class, const cJSON *pair,
                            const char *pointer)
{
    const suite_cluster *cluster = reader->cluster;
    int value[3];
    if (!cJSON_IsArray(pair) || cJSON_GetArraySize(pair) != 3)
        return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_TYPE, "a pair is [device, device, links]");
    for (int i = 0; i < 3; i++) {
        const cJSON *item = cJSON_GetArrayItem(pair, i);
        if (!cJSON_IsNumber(item) || item->valuedouble != item->valueint || item->valueint < 0)
            return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_TYPE, "a pair is three whole numbers");
        value[i] = item->valueint;
    }
    if (value[0] >= value[1] || value[1] >= cluster->devices || value[2] < 1 || value[2] > 1024)
        return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_VALUE,
                             "a pair is two devices below %d, the lower first, and at least one link",
                             cluster->devices);
    if (cluster->pair_link[value[0]][value[1]] >= 0)
        return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_VALUE, "devices %d and %d are linked twice", value[0],
                             value[1]);
    return add_pair(reader, link_class, value[0], value[1], value[2]);
}

static dit_status read_pairs(const cluster_reader *reader, const suite_link_class *link_class)
{
    const cJSON *pairs = dit_json_member(reader->node, "pairs"), *pair;
    const char *word = cJSON_GetStringValue(pairs);
    int index = 0, devices = reader->cluster->devices;
    char at[64];
    if (word && strcmp(word, "all") == 0) {
        for (int a = 0; a < devices; a++)
            for (int b = a + 1; b < devices; b++) DIT_TRY(add_pair(reader, link_class, a, b, 1));
        return DIT_OK;
    }
    if (!cJSON_IsArray(pairs))
        return dit_json_fail(reader->doc, node_at, DIT_ERR_JSON_TYPE,
                             "\"pairs\" is required: \"all\", or a list of [device, device, links]");
    cJSON_ArrayForEach(pair, pairs)
    {
        snprintf(at, sizeof at, "/cluster/node/pairs/%d", index++);
        DIT_TRY(read_pair(reader, link_class, pair, at));
    }
    return DIT_OK;
}

/* The device that passes on what a and b, which no link joins, send each other: the widest way, then the lowest
 * number; -1: none is joined to both. a < b. */
static int mesh_between(const suite_cluster *cluster, int a, int b)
{
    int best = -1;
    double widest = 0;
    for (int c = 0; c < cluster->devices; c++) {
        int first = cluster->pair_link[a][c], second = cluster->pair_link[c][b];
        if (c == a || c == b || first < 0 || second < 0) continue;
        double width = cluster->links[first].bandwidth_bytes_per_s,
               other = cluster->links[second].bandwidth_bytes_per_s;
        if (other < width) width = other;
        if (width <= widest) continue;
        widest = width;
        best = c;
    }
    return best;
}

static dit_status check_mesh(const cluster_reader *reader)
{
    const suite_cluster *cluster = reader->cluster;
    for (int a = 0; a < cluster->devices; a++)
        for (int b = a + 1; b < cluster->devices; b++)
            if (cluster->pair_link[a][b] < 0 && mesh_between(cluster, a, b) < 0)
                return dit_json_fail(reader->doc, "/cluster/node/pairs", DIT_ERR_JSON_VALUE,
                                     "no device is linked to both %d and %d", a, b);
    return DIT_OK;
}

static dit_status read_mesh(const cluster_reader *reader)
{
    suite_cluster *cluster = reader->cluster;
    suite_link_class link_class;
    DIT_TRY(suite_evidence_check(reader->doc, reader->node, node_at, mesh_keys, nic_facts));
    DIT_TRY(read_link(reader, reader->node, node_at, "device_link", &link_class));
    for (int a = 0; a < SUITE_NODE_DEVICES; a++)
        for (int b = 0; b < SUITE_NODE_DEVICES; b++) cluster->pair_link[a][b] = -1;
    DIT_TRY(read_pairs(reader, &link_class));
    DIT_TRY(check_mesh(reader));
    return read_host_links(reader);
}

/* ---- cores ------------------------------------------------------------------------------------------------------- */

static const char *const cores_keys[] = {"devices", "topology", "device_link", "max_ranks", NULL};

static dit_status read_cores(const cluster_reader *reader)
{
    static const char *const facts[] = {NULL};
    suite_cluster *cluster = reader->cluster;
    int64_t ranks = cluster->devices;
    if (cluster->nodes > 1)
        return dit_json_fail(reader->doc, "/cluster/nodes", DIT_ERR_JSON_VALUE,
                             "a cluster of topology \"cores\" has one node");
    DIT_TRY(suite_evidence_check(reader->doc, reader->node, node_at, cores_keys, facts));
    DIT_TRY(dit_json_optional_int(reader->doc, reader->node, node_at, "max_ranks", cluster->devices, 1024, &ranks));
    DIT_TRY(add_links(reader, "device_link", "memory", 1, 1, 0, &cluster->device_link));
    cluster->ranks = (int)ranks;
    return DIT_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static dit_status read_node(const cluster_reader *reader)
{
    static dit_status (*const read[])(const cluster_reader *) = {read_switch, read_tree, read_mesh, read_cores};
    suite_cluster *cluster = reader->cluster;
    int64_t devices;
    const char *word;
    DIT_TRY(dit_json_require_int(reader->doc, reader->node, node_at, "devices", 1, SUITE_NODE_DEVICES, &devices));
    DIT_TRY(dit_json_require_string(reader->doc, reader->node, node_at, "topology", &word));
    cluster->devices = (int)devices;
    cluster->ranks = cluster->nodes * cluster->devices;
    if (!suite_topology_from_name(word, &cluster->topology))
        return dit_json_fail_word(reader->doc, "/cluster/node/topology", "topology", word, topology_names);
    DIT_TRY(read[cluster->topology](reader));
    return read_nics(reader);
}

static dit_status read_fabric(const cluster_reader *reader)
{
    suite_cluster *cluster = reader->cluster;
    if (cluster->nodes == 1) {
        if (!dit_json_member(reader->object, "fabric_link")) return DIT_OK;
        return dit_json_fail(reader->doc, "/cluster/fabric_link", DIT_ERR_JSON_VALUE,
                             "a cluster of one node has no fabric");
    }
    if (!cluster->nics)
        return dit_json_fail(reader->doc, node_at, DIT_ERR_JSON_MISSING,
                             "\"nics\" and \"nic_link\" are required with more than one node");
    DIT_TRY(read_link(reader, reader->object, "/cluster", "fabric_link", &cluster->fabric.link_class));
    snprintf(cluster->fabric.name, sizeof cluster->fabric.name, "fabric");
    return fill_link(reader, "/cluster", "fabric_link", 1, bandwidth_of(cluster, cluster->nic_link) * cluster->nics,
                     &cluster->fabric);
}

static dit_status read_members(const cluster_reader *reader)
{
    static const char *const keys[] = {"accelerator", "nodes",     "node",      "fabric_link",
                                       "host_scale",  "host_like", "of_source", "pageable_copy_bytes_per_s",
                                       NULL};
    static const char *const facts[] = {NULL};
    suite_cluster *cluster = reader->cluster;
    const char *name, *accelerator, *host;
    int64_t nodes;
    DIT_TRY(suite_evidence_sources(reader->doc, reader->doc->root, ""));
    DIT_TRY(suite_evidence_check(reader->doc, reader->object, "/cluster", keys, facts));
    DIT_TRY(dit_json_require_string(reader->doc, reader->doc->root, "", "name", &name));
    DIT_TRY(dit_json_require_string(reader->doc, reader->object, "/cluster", "accelerator", &accelerator));
    DIT_TRY(dit_json_require_int(reader->doc, reader->object, "/cluster", "nodes", 1, SUITE_CLUSTER_NODES, &nodes));
    snprintf(cluster->name, sizeof cluster->name, "%s", name);
    cluster->host_scale = 1;
    DIT_TRY(dit_json_optional_number(reader->doc, reader->object, "/cluster", "host_scale", 0.01, 100,
                                     &cluster->host_scale));
    cluster->knows_host = dit_json_member(reader->object, "host_scale");
    host = name;
    DIT_TRY(dit_json_optional_string(reader->doc, reader->object, "/cluster", "host_like", &host));
    snprintf(cluster->host, sizeof cluster->host, "%s", host);
    DIT_TRY(dit_json_optional_bool(reader->doc, reader->object, "/cluster", "of_source", &cluster->of_source));
    DIT_TRY(dit_json_optional_number(reader->doc, reader->object, "/cluster", "pageable_copy_bytes_per_s", 1, 1e15,
                                     &cluster->pageable_copy_bytes_per_s));
    snprintf(cluster->accelerator, sizeof cluster->accelerator, "%s", accelerator);
    cluster->nodes = (int)nodes;
    DIT_TRY(read_node(reader));
    return read_fabric(reader);
}

dit_status suite_cluster_read(const dit_json *doc, suite_cluster *out)
{
    cluster_reader reader = {.doc = doc, .cluster = out};
    *out = (suite_cluster){.device_link = -1,
                           .host_link = -1,
                           .switch_link = -1,
                           .root_link = -1,
                           .socket_link = -1,
                           .staging_link = -1,
                           .nic_link = -1};
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "cluster", &reader.object));
    DIT_TRY(dit_json_require_object(doc, reader.object, "/cluster", "node", &reader.node));
    dit_status st = read_members(&reader);
    if (st != DIT_OK) suite_cluster_release(out);
    return st;
}

dit_status suite_cluster_load(const char *name, suite_cluster *out)
{
    dit_json doc;
    dit_status st;
    *out = (suite_cluster){0};
    DIT_TRY(suite_catalogue_read("platforms", "platform", name, "ditbench.platform/1", &doc));
    if (dit_json_member(doc.root, "cluster"))
        st = suite_cluster_read(&doc, out);
    else
        st =
            dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "platform %s declares no cluster: it is a real machine", name),
                           "name a simulated one, for example 8xa100-sxm");
    dit_json_release(&doc);
    return st;
}

void suite_cluster_release(suite_cluster *cluster)
{
    free(cluster->links);
    *cluster = (suite_cluster){0};
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static int hop(suite_hop *out, int count, int link, bool down)
{
    if (link < 0) return count;
    out[count] = (suite_hop){link, down};
    return count + 1;
}

static int socket_of(const suite_cluster *cluster, int device)
{
    return device * cluster->sockets / cluster->devices;
}

/* The switch of a device, or -1. */
static int switch_of(const suite_cluster *cluster, int device)
{
    if (cluster->switch_link < 0) return -1;
    return device * cluster->sockets * cluster->switches_per_socket / cluster->devices;
}

static int switch_hop(const suite_cluster *cluster, suite_hop *out, int count, int device, bool down)
{
    int number = switch_of(cluster, device);
    return number < 0 ? count : hop(out, count, cluster->switch_link + number, down);
}

/* Up to the root complex, and past it to that of socket `to` unless they are the same. */
static int climb(const suite_cluster *cluster, suite_hop *out, int device, int to, bool staged)
{
    int from = socket_of(cluster, device);
    int count = hop(out, 0, cluster->device_link + device, false);
    count = switch_hop(cluster, out, count, device, false);
    count = hop(out, count, cluster->root_link + from, false);
    if (staged) count = hop(out, count, cluster->staging_link + from, false);
    if (from != to) count = hop(out, count, cluster->socket_link, from > to);
    return from != to || staged ? hop(out, count, cluster->root_link + to, true) : count;
}

static int tree_path(const suite_cluster *cluster, int from, int to, suite_hop *out)
{
    bool near =
        cluster->peer_to_peer && switch_of(cluster, from) >= 0 && switch_of(cluster, from) == switch_of(cluster, to);
    if (near) {
        int count = hop(out, 0, cluster->device_link + from, false);
        return hop(out, count, cluster->device_link + to, true);
    }
    int count = climb(cluster, out, from, socket_of(cluster, to), !cluster->peer_to_peer);
    count = switch_hop(cluster, out, count, to, true);
    return hop(out, count, cluster->device_link + to, true);
}

static int mesh_path(const suite_cluster *cluster, int from, int to, suite_hop *out)
{
    int direct = cluster->pair_link[from][to];
    if (direct >= 0) return hop(out, 0, direct, from > to);
    int between = mesh_between(cluster, from < to ? from : to, from < to ? to : from);
    int count = hop(out, 0, cluster->pair_link[from][between], from > between);
    return hop(out, count, cluster->pair_link[between][to], between > to);
}

/* A card hangs at the socket of the first device that uses it. */
static int outside_path(const suite_cluster *cluster, int from, suite_hop *out)
{
    int nic = nic_of(cluster, from), count = 0;
    if (cluster->topology == SUITE_TOPOLOGY_TREE)
        count = climb(cluster, out, from, nic * cluster->sockets / cluster->nics, false);
    else if (cluster->host_link >= 0)
        count = hop(out, 0, cluster->host_link + from, false);
    return hop(out, count, cluster->nic_link + nic, false);
}

int suite_cluster_path(const suite_cluster *cluster, int from, int to, suite_hop out[SUITE_PATH_HOPS])
{
    if (to == SUITE_OUTSIDE) return outside_path(cluster, from, out);
    if (cluster->topology == SUITE_TOPOLOGY_TREE) return tree_path(cluster, from, to, out);
    if (cluster->topology == SUITE_TOPOLOGY_MESH) return mesh_path(cluster, from, to, out);
    if (cluster->topology == SUITE_TOPOLOGY_CORES) return hop(out, 0, cluster->device_link, false);
    int count = hop(out, 0, cluster->device_link + from, false);
    return hop(out, count, cluster->device_link + to, true);
}

/* Of one path: what it adds to the latency, and the least bandwidth; a link that is crossed twice gives half. */
static void weigh(const suite_cluster *cluster, const suite_hop *hops, int count, double *latency_s,
                  double *bandwidth_bytes_per_s)
{
    for (int i = 0; i < count; i++) {
        const suite_link *link = &cluster->links[hops[i].link];
        int times = 0;
        for (int j = 0; j < count; j++)
            times += hops[j].link == hops[i].link &&
                     (link->link_class.sharing == SUITE_LINK_SHARED || hops[j].down == hops[i].down);
        if (link->link_class.sharing == SUITE_LINK_PER_FLOW) times = 1;
        double bandwidth = link->bandwidth_bytes_per_s / times;
        *latency_s += link->link_class.latency_s;
        if (bandwidth < *bandwidth_bytes_per_s) *bandwidth_bytes_per_s = bandwidth;
    }
}

void suite_cluster_pair(const suite_cluster *cluster, int from, int to, double *latency_s,
                        double *bandwidth_bytes_per_s)
{
    suite_hop hops[SUITE_PATH_HOPS];
    int devices = cluster->devices;
    *latency_s = 0;
    *bandwidth_bytes_per_s = 1e300;
    if (from / devices == to / devices) {
        int count = suite_cluster_path(cluster, from % devices, to % devices, hops);
        weigh(cluster, hops, count, latency_s, bandwidth_bytes_per_s);
        return;
    }
    int count = suite_cluster_path(cluster, from % devices, SUITE_OUTSIDE, hops);
    weigh(cluster, hops, count, latency_s, bandwidth_bytes_per_s);
    count = suite_cluster_path(cluster, to % devices, SUITE_OUTSIDE, hops);
    weigh(cluster, hops, count, latency_s, bandwidth_bytes_per_s);
    *latency_s += 2 * cluster->fabric.link_class.latency_s;
    if (cluster->fabric.bandwidth_bytes_per_s < *bandwidth_bytes_per_s)
        *bandwidth_bytes_per_s = cluster->fabric.bandwidth_bytes_per_s;
}

double suite_cluster_channels_times(const suite_cluster *cluster, double bandwidth)
{
    const suite_link *fabric = &cluster->fabric;
    if (cluster->nodes <= 1 || !(fabric->link_class.channels > 1)) return 1;
    double flows = fabric->link_class.channels * fabric->bandwidth_bytes_per_s;
    double adapter = cluster->links[cluster->nic_link].bandwidth_bytes_per_s, most = flows < adapter ? flows : adapter;
    return most > bandwidth ? most / bandwidth : 1;
}
