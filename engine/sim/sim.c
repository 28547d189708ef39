#include "engine/sim/sim.h"

#include "base/clock.h"
#include "kernels/cost/clock.h"
#include "kernels/cost/read.h"

#include <math.h>
#include <stdlib.h>

struct dit_sim {
    const dit_sim_grid *grid;
    dit_cost_clock timeline;
    dit_cost_device device;
    dit_cost_device left; /* the device as messages leave it to operators beside them        */
    dit_cost_profile profile;
    dit_sim_links links;
    dit_sim_hops hops;
    bool free_of_charge;
    int64_t batch_at, batch_of; /* the entry of a batch that is under way; of 1: none              */
    double left_s;              /* of the newest operator, when other kernels get processors       */
    double entered_s;           /* SimGrid's time when the newest messages were started            */
    double expected_s, ends_s;  /* how long the library says that they take, and takes at least    */
    double beside_until_s;      /* until when messages hold processors, on the device's timeline   */
    struct {
        dit_status (*start)(void *context); /* NULL: nothing is put off */
        void *context;
        dit_status status; /* the first failure */
    } put_off;
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void charge(void *context, double seconds)
{
    dit_sim *sim = context;
    double began_s = sim->grid->now_s();
    sim->grid->pass(seconds);
    double late_s = sim->grid->now_s() - began_s - seconds; /* more ranks than cores: what others took */
    if (sim->links.shares_memory && late_s > 0) dit_cost_clock_leave(&sim->timeline, late_s);
}

dit_status dit_sim_create(const dit_sim_grid *grid, dit_sim **out)
{
    dit_sim *sim = *out = calloc(1, sizeof *sim);
    if (!sim) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a simulator");
    sim->grid = grid;
    sim->timeline.charge = charge, sim->timeline.context = sim;
    sim->links = dit_sim_links_of(grid);
    sim->hops = dit_sim_hops_of(0);
    sim->batch_of = 1;
    return DIT_OK;
}

void dit_sim_free(dit_sim *sim)
{
    free(sim);
}

static int64_t virtual_ns(void *context)
{
    return (int64_t)(dit_sim_now(context) * 1e9 + 0.5);
}

void dit_sim_set_clock(dit_sim *sim)
{
    dit_clock_set_source(virtual_ns, sim);
}

static void take_time(void *context, const dit_cost_op *op)
{
    dit_sim *sim = context;
    if (sim->free_of_charge) return;
    dit_sim_charge(sim, op);
    (void)dit_sim_start_put_off(sim); /* whoever sends or waits next hears of a failure */
}

dit_status dit_sim_read(dit_sim *sim, const dit_json *doc, int ranks)
{
    static const char *const keys[] = {"accelerator", "profile",         "element", "replay",
                                       "layered",     DIT_SIM_LINK_KEYS, NULL};
    const char *accelerator, *profile, *dtype, *at = "/simulation";
    const cJSON *object;
    dit_cost_device device;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "simulation", &object));
    DIT_TRY(dit_json_only_keys(doc, object, at, keys));
    DIT_TRY(dit_json_require_string(doc, object, at, "accelerator", &accelerator));
    DIT_TRY(dit_json_require_string(doc, object, at, "profile", &profile));
    DIT_TRY(dit_json_require_string(doc, object, at, "element", &dtype));
    DIT_TRY(dit_cost_profile_read(profile, &sim->profile));
    DIT_TRY(dit_cost_device_read(accelerator, dtype, &sim->profile, &device));
    DIT_TRY(dit_sim_links_read(doc, object, at, device.architecture, &sim->links));
    int together = (int)sim->links.devices_per_node;
    sim->device = dit_cost_device_together(&device, ranks < together ? ranks : together);
    sim->left = dit_cost_device_beside(&sim->device, sim->profile.communication_processors);
    dit_cost_set_hook(take_time, sim);
    return DIT_OK;
}

/* ---- what was read ----------------------------------------------------------------------------------------------- */

const char *dit_sim_accelerator(const dit_sim *sim)
{
    return sim->device.name;
}
const char *dit_sim_profile(const dit_sim *sim)
{
    return sim->profile.name;
}
int64_t dit_sim_memory_bytes(const dit_sim *sim)
{
    return sim->device.memory_bytes;
}
int dit_sim_element_bytes(const dit_sim *sim)
{
    return sim->device.element_bytes;
}
const dit_sim_links *dit_sim_get_links(const dit_sim *sim)
{
    return &sim->links;
}
dit_sim_hops *dit_sim_get_hops(dit_sim *sim)
{
    return &sim->hops;
}

/* ---- the guest --------------------------------------------------------------------------------------------------- */

static double guest_now_s(void *context)
{
    return dit_sim_now(context);
}

/* This engine's own ranks, which share memory, exchange entry by entry. Elsewhere the first entry's exchanges carry all
 * entries, and the host has issued the others' operators with the first one's. */
static void begin_entry(void *context, int64_t at, int64_t of)
{
    dit_sim *sim = context;
    if (!sim->links.shares_memory) sim->batch_at = at, sim->batch_of = of;
}

dit_guest dit_sim_guest(dit_sim *sim)
{
    return (dit_guest){.habits = sim->profile.habits,
                       .kernels = dit_kernels_cost(),
                       .context = sim,
                       .now_s = guest_now_s,
                       .begin_entry = begin_entry};
}

bool dit_sim_batch(const dit_sim *sim, int64_t *bytes)
{
    *bytes *= sim->batch_of;
    return sim->batch_at == 0;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

double dit_sim_now(const dit_sim *sim)
{
    return fmax(dit_sim_device_now(sim), fmax(dit_sim_host_now(sim), sim->timeline.charged_s));
}

double dit_sim_host_now(const dit_sim *sim)
{
    return sim->timeline.host_s;
}

double dit_sim_device_now(const dit_sim *sim)
{
    return sim->timeline.device_s;
}

void dit_sim_wait_until(dit_sim *sim, double device_s)
{
    sim->timeline.device_s = fmax(sim->timeline.device_s, device_s);
}

/* Beside messages an operator is slower; the part of it behind their end is not. */
static double device_seconds(const dit_sim *sim, const dit_cost_op *op, const dit_cost_time *time)
{
    double starts_s = fmax(sim->timeline.device_s, sim->timeline.host_s + time->host_s);
    double beside_s = sim->beside_until_s - starts_s;
    if (!(beside_s > 0)) return time->device_s;
    double slow_s = dit_cost_op_time(&sim->left, &sim->profile, op).device_s;
    return slow_s <= beside_s ? slow_s : beside_s + (1 - beside_s / slow_s) * time->device_s;
}

void dit_sim_charge(dit_sim *sim, const dit_cost_op *op)
{
    dit_cost_time time = dit_cost_op_time(&sim->device, &sim->profile, op);
    if (sim->batch_at > 0) time.host_s = 0;
    dit_cost_clock_dispatch(&sim->timeline, time.host_s, device_seconds(sim, op, &time));
    sim->left_s = time.last_s;
}

void dit_sim_set_free_of_charge(dit_sim *sim, bool free_of_charge)
{
    sim->free_of_charge = free_of_charge;
}

void dit_sim_synchronise(dit_sim *sim)
{
    dit_cost_clock_synchronise(&sim->timeline, 0);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

bool dit_sim_issue(dit_sim *sim)
{
    dit_cost_clock_dispatch(&sim->timeline, sim->profile.collective_dispatch_s, 0);
    sim->left_s = 0;
    return sim->profile.kernels_before_messages && sim->timeline.host_s < sim->timeline.device_s;
}

void dit_sim_put_off(dit_sim *sim, dit_status (*start)(void *context), void *context)
{
    sim->put_off.start = start, sim->put_off.context = context;
}

dit_status dit_sim_start_put_off(dit_sim *sim)
{
    dit_status (*start)(void *context) = sim->put_off.start;
    sim->put_off.start = NULL;
    if (start && sim->put_off.status == DIT_OK) sim->put_off.status = start(sim->put_off.context);
    return sim->put_off.status;
}

/* What the library makes of messages of `bytes` bytes of fp32. */
static dit_cost_exchange exchange_of(const dit_sim *sim, const dit_cost_group *group, dit_cost_collective collective,
                                     double bytes)
{
    return dit_cost_exchange_of(group, collective, bytes * sim->device.element_bytes / (double)sizeof(float));
}

double dit_sim_enter(dit_sim *sim, const dit_cost_group *group, dit_cost_collective collective, double bytes,
                     bool beside)
{
    dit_cost_exchange exchange = exchange_of(sim, group, collective, bytes);
    dit_cost_clock_enter_before(&sim->timeline, sim->left_s);
    sim->left_s = 0;
    sim->entered_s = sim->grid->now_s();
    sim->ends_s = sim->expected_s = 0;
    if (sim->links.shares_memory) return 1;
    if (!beside) sim->ends_s = exchange.ends_s;
    sim->expected_s = exchange.seconds;
    if (exchange.front_latency_s > 0) sim->grid->pass(exchange.front_latency_s);
    bool queued = collective == DIT_COST_ALL_GATHER && sim->beside_until_s > sim->timeline.charged_s;
    double done_s = (queued ? sim->beside_until_s : sim->timeline.charged_s) + exchange.seconds;
    if (beside) sim->beside_until_s = fmax(sim->beside_until_s, done_s);
    return 1 / exchange.bandwidth_factor;
}

void dit_sim_pass_over(dit_sim *sim, const dit_cost_group *group, double bytes)
{
    dit_cost_exchange exchange = exchange_of(sim, group, DIT_COST_SEND_RECV, bytes);
    sim->beside_until_s = fmax(sim->beside_until_s, sim->timeline.device_s + exchange.seconds);
}

double dit_sim_done_after(const dit_sim *sim, double free_s)
{
    return fmax(free_s, sim->entered_s) + sim->expected_s;
}

void dit_sim_not_before(dit_sim *sim, double when_s)
{
    double seconds = when_s - sim->grid->now_s();
    if (seconds > 0) sim->grid->pass(seconds);
}

void dit_sim_copy(dit_sim *sim, int messages, double bytes)
{
    if (!sim->links.shares_memory || messages == 0) return;
    dit_cost_clock_dispatch(&sim->timeline, 0, dit_sim_links_copy_seconds(&sim->links, messages, bytes));
}

void dit_sim_enter_wait(dit_sim *sim)
{
    dit_cost_clock_enter(&sim->timeline, 0);
    sim->entered_s = sim->grid->now_s();
}

void dit_sim_leave(dit_sim *sim)
{
    if (sim->ends_s > 0) dit_sim_not_before(sim, sim->entered_s + sim->ends_s);
    sim->ends_s = 0;
    dit_cost_clock_leave(&sim->timeline, sim->grid->now_s() - sim->entered_s);
}

int64_t dit_sim_wire(const dit_sim *sim, int64_t bytes, double stretch)
{
    double wire = (double)bytes * sim->device.element_bytes / (double)sizeof(float) * stretch;
    return ((int64_t)wire + 3) / 4 * 4;
}
