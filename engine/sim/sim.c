#include "engine/sim/sim.h"

#include "base/clock.h"

#include <mpi.h>
#include <smpi/smpi.h>

static double charged_s;
static void *buffer;
static int64_t buffer_bytes;

static int64_t virtual_ns(void)
{
    return (int64_t)((MPI_Wtime() + charged_s) * 1e9);
}

void dit_sim_start(void)
{
    dit_clock_set_source(virtual_ns);
}

void dit_sim_charge(double seconds)
{
    charged_s += seconds;
}

void dit_sim_flush(void)
{
    double seconds = charged_s;
    charged_s = 0;
    if (seconds > 0) smpi_execute(seconds);
}

/* Never given back: messages may be under way that say they lie there. */
void *dit_sim_buffer(int64_t bytes)
{
    const int64_t least = INT64_C(1) << 30;
    if (bytes <= buffer_bytes) return buffer;
    buffer_bytes = bytes > least ? bytes : least;
    buffer = SMPI_SHARED_MALLOC((size_t)buffer_bytes);
    return buffer;
}

dit_status dit_sim_read(const dit_json *doc)
{
    (void)doc;
    return DIT_OK;
}

const dit_kernels *dit_sim_kernels(void)
{
    return dit_kernels_counting();
}
