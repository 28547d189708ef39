#include "engine/sim/simgrid.h"

#include <mpi.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <smpi/smpi.h>
#include <stdlib.h>
#include <xbt/dynar.h>

static double now_s(void)
{
    return simgrid_get_clock();
}

static void pass(double seconds)
{
    smpi_execute(seconds);
}

static double bandwidth(const char *from, const char *to)
{
    sg_host_t a = sg_host_by_name(from), b = sg_host_by_name(to);
    return a && b && a != b ? sg_host_get_route_bandwidth(a, b) : 0;
}

const dit_sim_grid dit_sim_simgrid = {.now_s = now_s, .pass = pass, .bandwidth = bandwidth};

int dit_sim_route(const char *from, const char *to, int room, dit_sim_route_link *out, double *latency_s)
{
    sg_host_t a = sg_host_by_name(from), b = sg_host_by_name(to);
    *latency_s = 0;
    if (!a || !b || a == b) return 0;
    xbt_dynar_t links = xbt_dynar_new(sizeof(sg_link_t), NULL);
    sg_host_get_route(a, b, links);
    int count = (int)xbt_dynar_length(links);
    for (int i = 0; i < count && i < room; i++) {
        const_sg_link_t link = xbt_dynar_get_as(links, (unsigned long)i, sg_link_t);
        out[i] = (dit_sim_route_link){link, sg_link_get_bandwidth(link), sg_link_is_shared(link) != 0};
    }
    *latency_s = sg_host_get_route_latency(a, b);
    xbt_dynar_free(&links);
    return count;
}

dit_status dit_sim_shared(int64_t bytes, void **out)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) *out = calloc(1, (size_t)bytes);
    MPI_Bcast(out, (int)sizeof *out, MPI_BYTE, 0, MPI_COMM_WORLD);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for what ranks share");
}
