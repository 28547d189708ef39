#include "engine/sim/simgrid.h"

#include <mpi.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdlib.h>

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

dit_status dit_sim_shared(int64_t bytes, void **out)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) *out = calloc(1, (size_t)bytes);
    MPI_Bcast(out, (int)sizeof *out, MPI_BYTE, 0, MPI_COMM_WORLD);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for what ranks share");
}
