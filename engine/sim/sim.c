#include "engine/sim/sim.h"

#include "base/clock.h"
#include "engine/sim/links.h"
#include "kernels/cost/clock.h"
#include "kernels/cost/read.h"

#include <math.h>
#include <mpi.h>
#include <simgrid/engine.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of this rank: the simulator gives every rank globals of its own. */
static dit_cost_clock timeline;
static dit_cost_device device;
static dit_cost_profile profile;
static bool charged = true;            /* operators are                                               */
static int64_t batch_at, batch_of = 1; /* of the entries of a batch                                   */
static double left_s;                  /* of the newest operator, when other kernels get processors   */
static double expected_s;              /* of the newest messages, by their library                    */
static double entered_s, ends_s;       /* and how long it takes at least                              */
static double beside_until_s;          /* until when messages hold processors, on the device's timeline */
static dit_cost_device left;           /* the device as they leave it                                  */
/* Where all messages of all ranks are said to lie; mapped as it is needed. */
static struct {
    void *at;
    int64_t bytes;
} * buffer;

/* ---- time -------------------------------------------------------------------------------------------------------- */

double dit_sim_now(void)
{
    double now = timeline.device_s > timeline.host_s ? timeline.device_s : timeline.host_s;
    return now > timeline.charged_s ? now : timeline.charged_s;
}

double dit_sim_host_now(void)
{
    return timeline.host_s;
}

static int64_t virtual_ns(void)
{
    return (int64_t)(dit_sim_now() * 1e9 + 0.5);
}

static void charge(void *context, double seconds)
{
    double began_s = simgrid_get_clock();
    (void)context;
    smpi_execute(seconds);
    double late_s = simgrid_get_clock() - began_s - seconds; /* more ranks than cores: what others took */
    if (dit_sim_shares_memory() && late_s > 0) dit_cost_clock_leave(&timeline, late_s);
}

dit_status dit_sim_shared(int64_t bytes, void **out)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) *out = calloc(1, (size_t)bytes);
    MPI_Bcast(out, (int)sizeof *out, MPI_BYTE, 0, MPI_COMM_WORLD);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for what ranks share");
}

dit_status dit_sim_start(int *ranks)
{
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
    timeline.charge = charge;
    dit_clock_set_source(virtual_ns);
    return dit_sim_shared((int64_t)sizeof *buffer, (void **)&buffer);
}

/* Beside messages an operator is slower; what is left of it when they are done is not. */
static double device_seconds(const dit_cost_op *op, const dit_cost_time *time)
{
    double starts_s = timeline.host_s + time->host_s;
    if (starts_s < timeline.device_s) starts_s = timeline.device_s;
    double beside_s = beside_until_s - starts_s;
    if (!(beside_s > 0)) return time->device_s;
    double slow_s = dit_cost_op_time(&left, &profile, op).device_s;
    return slow_s <= beside_s ? slow_s : beside_s + (1 - beside_s / slow_s) * time->device_s;
}

void dit_sim_charge(const dit_cost_op *op)
{
    dit_cost_time time = dit_cost_op_time(&device, &profile, op);
    if (batch_at > 0) time.host_s = 0;
    dit_cost_clock_dispatch(&timeline, time.host_s, device_seconds(op, &time));
    left_s = time.last_s;
}

void dit_sim_free_of_charge(bool free)
{
    charged = !free;
}

static void take_time(void *context, const dit_cost_op *op)
{
    (void)context;
    if (!charged) return;
    dit_sim_charge(op);
    dit_sim_start_put_off();
}

/* ---- the case ---------------------------------------------------------------------------------------------------- */

dit_status dit_sim_read(const dit_json *doc)
{
    static const char *const keys[] = {"accelerator", "profile",         "element", "replay",
                                       "layered",     DIT_SIM_LINK_KEYS, NULL};
    const char *accelerator, *stack, *dtype, *at = "/simulation";
    const cJSON *object;
    int ranks = 1, devices;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "simulation", &object));
    DIT_TRY(dit_json_only_keys(doc, object, at, keys));
    DIT_TRY(dit_json_require_string(doc, object, at, "accelerator", &accelerator));
    DIT_TRY(dit_json_require_string(doc, object, at, "profile", &stack));
    DIT_TRY(dit_json_require_string(doc, object, at, "element", &dtype));
    DIT_TRY(dit_cost_profile_read(stack, &profile));
    DIT_TRY(dit_cost_device_read(accelerator, dtype, &profile, &device));
    DIT_TRY(dit_sim_links_read(doc, object, at, device.architecture));
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    devices = dit_sim_devices_per_node();
    device = dit_cost_device_together(&device, ranks < devices ? ranks : devices);
    left = dit_cost_device_beside(&device, profile.communication_processors);
    dit_cost_set_hook(take_time, NULL);
    return DIT_OK;
}

int dit_sim_element_bytes(void)
{
    return device.element_bytes;
}
const char *dit_sim_accelerator(void)
{
    return device.name;
}
const char *dit_sim_profile(void)
{
    return profile.name;
}
int64_t dit_sim_memory_bytes(void)
{
    return device.memory_bytes;
}

static double guest_now_s(void *context)
{
    (void)context;
    return dit_sim_now();
}

/* This engine's own ranks, which share memory, take entry by entry. Others' first one's exchanges carry all entries, and
 * the host has issued the others' operators with the first one's. */
static void begin_entry(void *context, int64_t at, int64_t of)
{
    (void)context;
    if (!dit_sim_shares_memory()) batch_at = at, batch_of = of;
}

dit_guest dit_sim_guest(void)
{
    return (dit_guest){
        .habits = profile.habits, .kernels = dit_kernels_cost(), .now_s = guest_now_s, .begin_entry = begin_entry};
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

bool dit_sim_batch(int64_t *bytes)
{
    *bytes *= batch_of;
    return batch_at == 0;
}

bool dit_sim_issue(void)
{
    dit_cost_clock_dispatch(&timeline, profile.collective_dispatch_s, 0);
    left_s = 0;
    return profile.kernels_before_messages && timeline.host_s < timeline.device_s;
}

double dit_sim_enter(const dit_cost_group *group, dit_cost_collective collective, double bytes, bool beside)
{
    dit_cost_exchange exchange =
        dit_cost_exchange_of(group, collective, bytes * device.element_bytes / (double)sizeof(float));
    dit_cost_clock_enter_before(&timeline, left_s);
    left_s = 0;
    entered_s = simgrid_get_clock();
    ends_s = expected_s = 0;
    if (dit_sim_shares_memory()) return 1;
    if (!beside) ends_s = exchange.ends_s;
    expected_s = exchange.seconds;
    if (exchange.front_latency_s > 0) smpi_execute(exchange.front_latency_s);
    bool queued = collective == DIT_COST_ALL_GATHER && beside_until_s > timeline.charged_s;
    double done_s = (queued ? beside_until_s : timeline.charged_s) + exchange.seconds;
    if (beside && done_s > beside_until_s) beside_until_s = done_s;
    return 1 / exchange.bandwidth_factor;
}

void dit_sim_pass_over(const dit_cost_group *group, double bytes)
{
    dit_cost_exchange exchange =
        dit_cost_exchange_of(group, DIT_COST_SEND_RECV, bytes * device.element_bytes / (double)sizeof(float));
    beside_until_s = fmax(beside_until_s, timeline.device_s + exchange.seconds);
}

double dit_sim_device_now(void)
{
    return timeline.device_s;
}

void dit_sim_wait_until(double device_s)
{
    timeline.device_s = fmax(timeline.device_s, device_s);
}

double dit_sim_done_after(double free_s)
{
    return (free_s > entered_s ? free_s : entered_s) + expected_s;
}

void dit_sim_not_before(double when_s)
{
    double left_s = when_s - simgrid_get_clock();
    if (left_s > 0) smpi_execute(left_s);
}

void dit_sim_copy(int messages, double bytes)
{
    double seconds = dit_sim_copy_seconds(messages, bytes);
    if (dit_sim_shares_memory() && messages > 0) dit_cost_clock_dispatch(&timeline, 0, seconds);
}

void dit_sim_enter_wait(void)
{
    dit_cost_clock_enter(&timeline, 0);
    entered_s = simgrid_get_clock();
}

void dit_sim_leave(void)
{
    if (ends_s > 0) dit_sim_not_before(entered_s + ends_s);
    ends_s = 0;
    dit_cost_clock_leave(&timeline, simgrid_get_clock() - entered_s);
}

void dit_sim_synchronise(void)
{
    dit_cost_clock_synchronise(&timeline, 0);
}

int64_t dit_sim_wire(int64_t bytes, double stretch)
{
    double wire = (double)bytes * device.element_bytes / (double)sizeof(float) * stretch;
    return ((int64_t)wire + 3) / 4 * 4;
}

/* Never given back: messages may be under way that say they lie there. */
void *dit_sim_buffer(int64_t bytes)
{
    const int64_t least = INT64_C(1) << 22;
    if (bytes <= buffer->bytes) return buffer->at;
    buffer->bytes = bytes > least ? 2 * bytes : least;
    buffer->at = SMPI_SHARED_MALLOC((size_t)buffer->bytes);
    return buffer->at;
}
