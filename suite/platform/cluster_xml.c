#include "suite/platform/cluster_xml.h"

#include <string.h>

static const char *policy_of(suite_link_sharing sharing)
{
    static const char *const policies[] = {"SPLITDUPLEX", "SHARED", "FATPIPE"};
    return policies[sharing];
}

static void write_link(const suite_link *link, int node, const char *indent, FILE *file)
{
    fprintf(file, "%s<link id=\"node%d.%s\" bandwidth=\"%.12gBps\" latency=\"%.12gs\" sharing_policy=\"%s\"/>\n",
            indent, node, link->name, link->bandwidth_bytes_per_s, link->link_class.latency_s,
            policy_of(link->link_class.sharing));
}

static void write_hop(const suite_link *link, int node, bool down, FILE *file)
{
    fprintf(file, "<link_ctn id=\"node%d.%s\"", node, link->name);
    if (link->link_class.sharing == SUITE_LINK_DUPLEX) fprintf(file, " direction=\"%s\"", down ? "DOWN" : "UP");
    fputs("/>", file);
}

static void write_hops(const suite_cluster *cluster, int node, int from, int to, FILE *file)
{
    suite_hop hops[SUITE_PATH_HOPS];
    int count = suite_cluster_path(cluster, from, to, hops);
    for (int i = 0; i < count; i++) write_hop(&cluster->links[hops[i].link], node, hops[i].down, file);
    fputs("</route>\n", file);
}

/* The way back of a route is its mirror image, directions included. */
static void write_routes(const suite_cluster *cluster, int node, FILE *file)
{
    int first = node * cluster->devices;
    for (int from = 0; from < cluster->devices; from++) {
        for (int to = from + 1; to < cluster->devices; to++) {
            fprintf(file, "      <route src=\"device%d\" dst=\"device%d\">", first + from, first + to);
            write_hops(cluster, node, from, to, file);
        }
        if (cluster->nodes == 1) continue;
        fprintf(file, "      <route src=\"device%d\" dst=\"node%d.gate\">", first + from, node);
        write_hops(cluster, node, from, SUITE_OUTSIDE, file);
    }
}

/* One host with so many cores. What ranks send each other costs their cores time, which the engine charges, and nothing
 * more: the link is as good as none. */
static void write_cores(const suite_cluster *cluster, FILE *file)
{
    fprintf(file, "    <host id=\"device0\" speed=\"1f\" core=\"%d\"/>\n", cluster->devices);
    fputs("    <link id=\"node0.memory0\" bandwidth=\"1e18Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n", file);
    fputs("    <route src=\"device0\" dst=\"device0\"><link_ctn id=\"node0.memory0\"/></route>\n", file);
}

static void write_node(const suite_cluster *cluster, int node, FILE *file)
{
    fprintf(file, "    <zone id=\"node%d\" routing=\"Full\">\n", node);
    for (int device = 0; device < cluster->devices; device++)
        fprintf(file, "      <host id=\"device%d\" speed=\"1f\"/>\n", node * cluster->devices + device);
    if (cluster->nodes > 1) fprintf(file, "      <router id=\"node%d.gate\"/>\n", node);
    for (int link = 0; link < cluster->link_count; link++) write_link(&cluster->links[link], node, "      ", file);
    write_routes(cluster, node, file);
    fputs("    </zone>\n", file);
}

static void write_fabric(const suite_cluster *cluster, FILE *file)
{
    if (cluster->nodes == 1) return;
    fputs("    <zone id=\"fabric\" routing=\"Full\">\n      <router id=\"fabric.core\"/>\n    </zone>\n", file);
    for (int node = 0; node < cluster->nodes; node++) write_link(&cluster->fabric, node, "    ", file);
    for (int node = 0; node < cluster->nodes; node++) {
        fprintf(file, "    <zoneRoute src=\"node%d\" dst=\"fabric\" gw_src=\"node%d.gate\" gw_dst=\"fabric.core\">",
                node, node);
        write_hop(&cluster->fabric, node, false, file);
        fputs("</zoneRoute>\n", file);
    }
}

static void write_config(FILE *file)
{
    static const char *const settings[][2] = {{"network/TCP-gamma", "0"},
                                              {"network/crosstraffic", "0"},
                                              {"smpi/host-speed", "1f"},
                                              {"smpi/cpu-threshold", "0"},
                                              {"smpi/simulate-computation", "no"}};
    fputs("  <config>\n", file);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        fprintf(file, "    <prop id=\"%s\" value=\"%s\"/>\n", settings[i][0], settings[i][1]);
    fputs("  </config>\n", file);
}

static dit_status check_written(FILE *file, const char *what)
{
    if (fflush(file) == 0 && !ferror(file)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_IO, "cannot write %s", what);
}

dit_status suite_cluster_write_xml(const suite_cluster *cluster, FILE *file)
{
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n", file);
    fprintf(file, "<!-- %s: %d x %d %s; network/model is for the command line of smpirun, CM02 -->\n", cluster->name,
            cluster->nodes, cluster->devices, cluster->accelerator);
    fputs("<platform version=\"4.1\">\n", file);
    write_config(file);
    fprintf(file, "  <zone id=\"cluster\" routing=\"%s\">\n", cluster->nodes > 1 ? "Floyd" : "Full");
    bool cores = cluster->topology == SUITE_TOPOLOGY_CORES;
    if (cores) write_cores(cluster, file);
    for (int node = 0; node < cluster->nodes && !cores; node++) write_node(cluster, node, file);
    write_fabric(cluster, file);
    fputs("  </zone>\n</platform>\n", file);
    return check_written(file, "a platform");
}

int suite_cluster_ranks_per_node(const suite_cluster *cluster, int ranks)
{
    int nodes = (ranks + cluster->devices - 1) / cluster->devices;
    if (cluster->topology == SUITE_TOPOLOGY_CORES || nodes < 2) return cluster->devices;
    return (ranks + nodes - 1) / nodes;
}

dit_status suite_cluster_write_hostfile(const suite_cluster *cluster, int ranks, FILE *file)
{
    int devices = cluster->nodes * cluster->devices;
    bool cores = cluster->topology == SUITE_TOPOLOGY_CORES;
    if (ranks > cluster->ranks)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_PLATFORM, "%d ranks on the %d devices of %s", ranks, devices, cluster->name);
    int share = suite_cluster_ranks_per_node(cluster, ranks);
    for (int rank = 0; rank < ranks; rank++)
        fprintf(file, "device%d\n", cores ? 0 : rank / share * cluster->devices + rank % share);
    return check_written(file, "a list of hosts");
}
