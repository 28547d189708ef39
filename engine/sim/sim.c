#include "engine/sim/sim.h"

#include "base/architecture.h"
#include "base/clock.h"
#include "kernels/cost/clock.h"
#include "kernels/cost/read.h"
#include "kernels/cost/wrapped.h"

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
    bool free_of_charge, least; /* least: dit_sim_set_least */
    struct {
        dit_census *of[2], *at;          /* of one batch row (NULL: operators cost their parts), of more; the piece's */
        int64_t blocks[DIT_BLOCK_KINDS]; /* of the case's model                                                  */
        bool piece, attention, done;     /* in a piece, in its attention; both halves of the piece are charged   */
        bool alone;                      /* the world has one rank                                               */
        dit_census_call call;
        int tensor, calls; /* calls: the branches of guidance, one after the other, or all at once: 1 */
    } census;
    dit_wrapped wrap;
    int64_t batch_at, batch_of; /* the entry of a batch that is under way; of 1: none              */
    double left_s;              /* of the newest operator, when other kernels get processors       */
    double entered_s;           /* SimGrid's time when the newest messages were started            */
    double expected_s, ends_s;  /* how long the library says that they take, and takes at least    */
    double beside_until_s;      /* until when messages hold processors, on the device's timeline   */
    struct {
        dit_status (*start)(void *context); /* NULL: nothing is put off */
        void *context;
        dit_status status; /* the first failure */
        double beside_s;   /* of the operator that it waited for: how long that goes on beside it, on the mean */
        double slower;     /* and how much longer that takes, as a share                                       */
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
    for (int i = 0; sim && i < 2; i++) dit_census_free(sim->census.of[i]);
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

/* The messages that were put off have started. The rest of the operator runs beside them, for as long as they last. */
static void slow_down_the_rest(dit_sim *sim)
{
    double beside_s = fmin(sim->put_off.beside_s, sim->expected_s);
    if (beside_s > 0) dit_cost_clock_dispatch(&sim->timeline, 0, beside_s * sim->put_off.slower);
}

static bool is_census(const dit_sim *sim)
{
    return sim->census.of[0] != NULL;
}

static void charge_cross(dit_sim *sim, const dit_cost_op *op)
{
    dit_cost_time time = dit_wrapped_cross_time(&sim->wrap, &sim->device, &sim->profile, op,
                                                sim->census.call.size.batch, sim->census.calls);
    dit_cost_clock_dispatch_many(&sim->timeline, time.kernels, time.host_s, time.device_s);
    sim->left_s = time.device_s / fmax(time.kernels, 1);
}

/* In a piece that a census counts, operators are charged with it, but for attention and what is made around it. */
static bool is_counted(const dit_sim *sim, const dit_cost_op *op)
{
    if (!is_census(sim) || !sim->census.piece || sim->census.attention) return false;
    return op->kind != DIT_COST_OP_ATTENTION;
}

/* Attention to text, of a block whose own operators are counted. */
static bool is_cross(const dit_sim *sim, const dit_cost_op *op)
{
    return sim->wrap.of.crosses && op->kind == DIT_COST_OP_ATTENTION && sim->census.piece && !sim->census.attention;
}

static void take_time(void *context, const dit_cost_op *op)
{
    dit_sim *sim = context;
    if (sim->free_of_charge || is_counted(sim, op)) return;
    bool waits = sim->put_off.start;
    if (is_cross(sim, op))
        charge_cross(sim, op);
    else
        dit_sim_charge(sim, op);
    (void)dit_sim_start_put_off(sim); /* whoever sends or waits next hears of a failure */
    if (waits) slow_down_the_rest(sim);
}

/* Finds what the profile's census says of the case's model, if it has one, and what is wrapped around its attention. */
static dit_status read_census(dit_sim *sim, const dit_json *doc)
{
    const cJSON *config = dit_json_member(dit_json_member(doc->root, "model"), "config");
    const char *name = dit_json_text_or(config, "_class_name", NULL);
    const dit_architecture *architecture = name ? dit_architecture_find(name) : NULL;
    if (!sim->profile.census[0] || !architecture) return DIT_OK;
    for (int kind = 0; kind < DIT_BLOCK_KINDS; kind++)
        if (architecture->kinds[kind].key)
            sim->census.blocks[kind] = dit_json_int_or(config, architecture->kinds[kind].key, 0);
    sim->census.tensor = (int)dit_json_int_or(dit_json_member(doc->root, "parallel"), "tensor_degree", 1);
    for (int batched = 0; batched < 2; batched++)
        DIT_TRY(dit_census_read(sim->profile.census, config, batched, &sim->census.of[batched]));
    return is_census(sim) ? dit_wrapped_read(doc, sim->profile.wrapper, &sim->wrap) : DIT_OK;
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
    sim->census.alone = ranks == 1;
    dit_cost_set_hook(take_time, sim);
    return read_census(sim, doc);
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
int64_t dit_sim_in_elements(const dit_sim *sim, int64_t fp32_bytes)
{
    return fp32_bytes / (int64_t)sizeof(float) * sim->device.element_bytes;
}
const dit_cost_device *dit_sim_get_device(const dit_sim *sim)
{
    return &sim->device;
}
const dit_cost_profile *dit_sim_get_profile(const dit_sim *sim)
{
    return &sim->profile;
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

/* Seconds of work that takes `alone_s`, of which the first `beside_s` are beside messages, where it takes `slow_s`. */
static double slowed(double beside_s, double slow_s, double alone_s)
{
    if (!(beside_s > 0)) return alone_s;
    return slow_s <= beside_s ? slow_s : beside_s + (1 - beside_s / slow_s) * alone_s;
}

/* ---- pieces that a census counts --------------------------------------------------------------------------------- */

static void charge_call(dit_sim *sim, dit_census_half half)
{
    const dit_census_call *call = &sim->census.call;
    dit_census_time now = dit_census_half_time(sim->census.at, &sim->device, &sim->profile, call, half);
    if (!(now.time.host_s + now.time.device_s > 0)) return;
    double beside_s = sim->beside_until_s - fmax(sim->timeline.device_s, sim->timeline.host_s), slow_s = 0;
    if (beside_s > 0)
        slow_s = dit_census_half_time(sim->census.at, &sim->left, &sim->profile, call, half).time.device_s;
    double device_s = slowed(beside_s, slow_s, now.time.device_s);
    dit_cost_clock_dispatch_many(&sim->timeline, now.time.kernels, now.time.host_s, device_s);
    if (now.waits) dit_cost_clock_synchronise(&sim->timeline, now.wait_s);
    sim->left_s = device_s / fmax(now.time.kernels, 1);
    (void)dit_sim_start_put_off(sim); /* as in take_time */
}

static void charge_half(dit_sim *sim, dit_census_half half)
{
    for (int i = 0; i < sim->census.calls; i++) charge_call(sim, half);
}

/* How many forwards the software makes of this rank's batch rows: one of all, one of each branch of guidance, or, where
 * the census has none of several rows, one of each. */
static int calls_of(const dit_sim *sim, const dit_piece *piece)
{
    if (piece->batch > 1 && !sim->census.of[1]) return (int)piece->batch;
    return piece->branches > 1 ? dit_census_forwards(sim->census.of[0]) : 1;
}

static dit_census_call call_of(const dit_sim *sim, const dit_piece *piece)
{
    dit_census_call call = {
        .piece = DIT_CENSUS_BLOCK, .index = piece->block, .tensor = sim->census.tensor, .alone = sim->census.alone};
    if (piece->kind == DIT_PIECE_BEGIN) call.piece = DIT_CENSUS_BEGIN;
    if (piece->kind == DIT_PIECE_HEAD) call.piece = DIT_CENSUS_HEAD;
    while (call.piece == DIT_CENSUS_BLOCK && call.kind + 1 < DIT_BLOCK_KINDS &&
           call.index >= sim->census.blocks[call.kind])
        call.index -= sim->census.blocks[call.kind++];
    call.blocks = sim->census.blocks[call.kind];
    call.size = (dit_census_size){.batch = (double)piece->batch / sim->census.calls,
                                  .image = (double)piece->image_rows,
                                  .text = (double)piece->text_rows,
                                  .frames = (double)(piece->segments > 1 ? piece->segments : piece->frames)};
    call.size.frame_image = call.size.image / fmax(call.size.frames, 1);
    call.size.edge = sqrt(call.size.frame_image);
    return call;
}

static void end_wrap(dit_sim *sim)
{
    dit_cost_time time = dit_wrapped_end(&sim->wrap, &sim->device, &sim->profile);
    if (!(time.host_s + time.device_s > 0)) return;
    dit_cost_clock_dispatch_many(&sim->timeline, time.kernels, time.host_s, time.device_s);
    sim->left_s = time.device_s / fmax(time.kernels, 1);
    (void)dit_sim_start_put_off(sim); /* as in take_time */
}

static void at_piece(void *context, const dit_piece *piece)
{
    dit_sim *sim = context;
    if (!is_census(sim)) return;
    sim->census.piece = piece != NULL;
    if (!piece) {
        if (!sim->census.done) charge_half(sim, DIT_CENSUS_AFTER);
        return;
    }
    sim->census.done = piece->kind == DIT_PIECE_BEFORE; /* its operators are counted in the pieces behind it */
    if (sim->census.done) return;
    sim->census.calls = calls_of(sim, piece);
    sim->census.call = call_of(sim, piece);
    sim->census.at = sim->census.of[sim->census.call.size.batch > 1];
    charge_half(sim, DIT_CENSUS_BEFORE);
}

static void at_attention(void *context, bool begins)
{
    dit_sim *sim = context;
    sim->census.attention = begins;
    if (!sim->census.piece) return;
    if (begins)
        dit_wrapped_begin(&sim->wrap, sim->census.call.size.batch, sim->census.calls);
    else
        end_wrap(sim);
    if (begins || sim->census.done) return;
    charge_half(sim, DIT_CENSUS_AFTER);
    sim->census.done = true;
}

static void wait_for_device(void *context)
{
    dit_sim_synchronise(context);
}

dit_guest dit_sim_guest(dit_sim *sim)
{
    return (dit_guest){.habits = sim->profile.habits,
                       .kernels = dit_kernels_cost(),
                       .context = sim,
                       .now_s = guest_now_s,
                       .begin_entry = begin_entry,
                       .at_piece = at_piece,
                       .at_attention = at_attention,
                       .wait_for_device = wait_for_device};
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

void dit_sim_set_least(dit_sim *sim)
{
    sim->least = true;
}

void dit_sim_let_host_ahead(dit_sim *sim)
{
    const double long_ago_s = 1e6;
    sim->timeline.device_s = fmax(sim->timeline.device_s, sim->timeline.host_s);
    sim->timeline.host_s -= long_ago_s;
}

double dit_sim_device_busy(const dit_sim *sim)
{
    return sim->timeline.device_busy_s;
}

double dit_sim_host_busy(const dit_sim *sim)
{
    return sim->timeline.host_busy_s;
}

static dit_cost_time op_time(const dit_sim *sim, const dit_cost_device *device, const dit_cost_op *op)
{
    dit_cost_time time;
    if (dit_wrapped_op_time(&sim->wrap, device, &sim->profile, op, &time)) return time;
    return dit_cost_op_time(device, &sim->profile, op);
}

/* Beside messages an operator is slower; the part of it behind their end is not. */
static double device_seconds(const dit_sim *sim, const dit_cost_op *op, const dit_cost_time *time)
{
    double starts_s = fmax(sim->timeline.device_s, sim->timeline.host_s + time->host_s);
    double beside_s = sim->beside_until_s - starts_s;
    if (!(beside_s > 0)) return time->device_s;
    return slowed(beside_s, op_time(sim, &sim->left, op).device_s, time->device_s);
}

/* Messages wait for the end of the operator, or start with it: it is a tie. They start as much before the end as they
 * would on the mean, which is no longer than the mean of both outcomes. */
static void share_the_start(dit_sim *sim, const dit_cost_op *op, double device_s)
{
    double before_s = fmax(device_s - sim->left_s, 0), slow_s = 0;
    sim->put_off.beside_s = (1 - sim->profile.kernels_before_messages) * before_s;
    if (sim->put_off.beside_s > 0) slow_s = op_time(sim, &sim->left, op).device_s;
    sim->put_off.slower = slow_s > device_s ? slow_s / device_s - 1 : 0;
    sim->left_s += sim->put_off.beside_s;
}

void dit_sim_charge(dit_sim *sim, const dit_cost_op *op)
{
    dit_cost_time time = op_time(sim, &sim->device, op);
    dit_wrapped_saw(&sim->wrap, op);
    if (!(time.device_s + time.host_s > 0)) return; /* the library makes nothing of it */
    if (sim->batch_at > 0) time.host_s = 0;
    double device_s = device_seconds(sim, op, &time);
    dit_cost_clock_dispatch(&sim->timeline, time.host_s, device_s);
    sim->left_s = time.last_s;
    if (sim->put_off.start) share_the_start(sim, op, device_s);
}

void dit_sim_charge_counted(dit_sim *sim, const dit_census_time *time)
{
    dit_cost_clock_dispatch_many(&sim->timeline, time->time.kernels, time->time.host_s, time->time.device_s);
    if (time->waits) dit_cost_clock_synchronise(&sim->timeline, time->wait_s);
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
    int calls = sim->census.attention && sim->census.calls > 1 ? sim->census.calls : 1; /* each sends its own rows */
    dit_cost_clock_dispatch(&sim->timeline, calls * dit_cost_collective_dispatch_seconds(&sim->profile), 0);
    sim->left_s = 0;
    if (sim->least) return false;
    return sim->profile.kernels_before_messages > 0 && sim->timeline.host_s < sim->timeline.device_s;
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
    bool ahead = sim->least && beside && collective == DIT_COST_SEND_RECV && sim->profile.kernels_before_messages > 0;
    if (exchange.front_latency_s > 0 && !ahead) sim->grid->pass(exchange.front_latency_s);
    bool queued = collective == DIT_COST_ALL_GATHER && sim->beside_until_s > sim->timeline.charged_s;
    double done_s = (queued ? sim->beside_until_s : sim->timeline.charged_s) + exchange.seconds;
    if (beside && !sim->least) sim->beside_until_s = fmax(sim->beside_until_s, done_s);
    return 1 / exchange.bandwidth_factor;
}

bool dit_sim_gathers_ring(const dit_sim *sim)
{
    return sim->wrap.in && sim->wrap.of.self.gathers;
}

void dit_sim_knows_links(dit_sim *sim, bool ring, const dit_cost_group *links)
{
    *(ring ? &sim->wrap.ring_links : &sim->wrap.ulysses_links) = *links;
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
