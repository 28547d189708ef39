#include "engine/sim/layer.h"

#include "base/json_writer.h"

#include "engine/attention/balance.h"
#include "engine/case/case.h"
#include "engine/case/platform.h"
#include "engine/sim/account.h"
#include "engine/sim/report.h"
#include "engine/sim/watch.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    dit_sim *sim;
    const dit_json *doc;
    const char *folder;
    dit_case kase; /* id, parallel, attention */
    dit_layer layer;
    dit_guest guest;
    dit_runtime rt;
    dit_layer_run run;
    dit_iteration before, now; /* counted when the newest two forwards began */
    bool waits;                /* the host, for the device, after every forward */
    bool steady;
    int forwards; /* that were simulated, without the warm-up */
    double seconds;
    dit_iteration iteration;
    dit_measurement measured;
} sim_layer;

static dit_status read_case(sim_layer *p)
{
    dit_case_platform platform = {.parallel = &p->kase.parallel};
    DIT_TRY(dit_sim_hash_case(p->doc, p->kase.case_id));
    DIT_TRY(dit_layer_from_case(p->doc, p->doc->root, "", &p->layer));
    DIT_TRY(dit_case_read_platform(p->doc, &platform));
    p->kase.attention = platform.attention;
    if (p->layer.ring == DIT_RING_WHOLE_ROWS || p->layer.whole_scores)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s computes its rows with no operator of the table: it is not simulated",
                        platform.attention);
    if (p->layer.mask)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "mask %s is not simulated: no accelerator's kernel that skips by it has been timed",
                        dit_mask_name(p->layer.mask));
    const cJSON *measure = dit_json_member(p->doc->root, "measure");
    p->waits = dit_json_is_true(measure, "waits");
    p->guest = dit_sim_guest(p->sim);
    p->kase.parallel.habits.exchange_alone = p->guest.habits.exchange_alone && !p->layer.packed;
    return dit_layer_check(&p->kase.parallel, &p->layer);
}

static dit_status set_up(sim_layer *p)
{
    int64_t began_ns = dit_clock_ns();
    dit_runtime_params params = {.guest = &p->guest, .parallel = p->kase.parallel};
    int sequence = dit_parallel_sequence_degree(&p->kase.parallel);
    params.facts = (dit_facts){.image_tokens = sequence, .heads = sequence}; /* legality is base/layer.h's */
    params.facts.num_images = params.facts.guidance_branches = params.facts.steps = 1;
    DIT_TRY(dit_runtime_init(&params, &p->rt));
    DIT_TRY(dit_layer_run_create(&p->rt, &p->layer, p->kase.attention, 0, &p->run));
    p->measured.head.setup_ns = dit_clock_ns() - began_ns;
    return DIT_OK;
}

static void tear_down(sim_layer *p)
{
    dit_layer_run_release(&p->run);
    dit_runtime_release(&p->rt);
}

/* ---- forwards ---------------------------------------------------------------------------------------------------- */

/* The time of a forward where forwards never get to take the same time: the slowest rank's mean over the newer half. */
static dit_status mean_of_half(const double *began_s, int forwards, double *seconds)
{
    double own = (began_s[forwards] - began_s[forwards / 2]) / (forwards - forwards / 2);
    int size = dit_comm_size(dit_comm_world());
    double *all = calloc((size_t)size, sizeof *all);
    if (!all) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", size);
    dit_status st = dit_comm_all_gather(dit_comm_world(), &own, all, (int64_t)sizeof own);
    *seconds = 0;
    for (int rank = 0; rank < size && st == DIT_OK; rank++)
        if (all[rank] > *seconds) *seconds = all[rank];
    free(all);
    return st;
}

/* The most that are simulated. */
enum { FORWARDS = 64 };

/* Runs forwards until they are alike, or FORWARDS of them. began_s [FORWARDS + 1]. */
static dit_status run_forwards(sim_layer *p, dit_sim_watch *watch, double *began_s)
{
    for (p->forwards = 0;; p->forwards++) {
        p->steady = dit_sim_watch_begin(watch, p->sim, p->forwards) > p->forwards;
        p->before = p->now, p->now = dit_sim_counted(&p->rt);
        began_s[p->forwards] = dit_sim_now(p->sim);
        if (p->steady || p->forwards == FORWARDS) return DIT_OK;
        DIT_TIMED(&p->rt, DIT_TIME_BLOCKS, DIT_TRY(dit_layer_run_forward(&p->run)));
        if (p->waits) dit_sim_synchronise(p->sim);
    }
}

/* Simulates a warm-up and as many forwards as it takes, from a barrier on. The runtime stays. */
static dit_status simulate(sim_layer *p)
{
    double began_s[FORWARDS + 1];
    dit_sim_watch *watch;
    DIT_TRY(set_up(p));
    DIT_TRY(dit_sim_watch_open(&(dit_sim_watch_params){.repeats = FORWARDS + 2, .endless = true}, &watch));
    DIT_TRY(dit_comm_barrier(dit_comm_world()));
    DIT_TRY(dit_layer_run_forward(&p->run));
    dit_runtime_reset_account(&p->rt);
    dit_status st = run_forwards(p, watch, began_s);
    if (st == DIT_OK && !p->steady) st = mean_of_half(began_s, p->forwards, &p->seconds);
    if (p->steady) p->seconds = dit_sim_watch_seconds(watch);
    dit_sim_watch_close(watch);
    return st;
}

/* Makes this rank's measurement of one forward, in the simulation's element. */
static void take_measurement(sim_layer *p)
{
    dit_measurement *m = &p->measured;
    dit_sim_account account = {0};
    dit_sim_counted_grow(&account.counted, 1, &p->now, &p->before);
    memcpy(account.peak, p->rt.ledger.peak, sizeof account.peak);
    account.total_peak = p->rt.ledger.total_peak;
    dit_sim_account_resize(&account, dit_sim_element_bytes(p->sim));
    p->iteration = account.counted;
    p->iteration.latency_ns = (int64_t)(p->seconds * 1e9 + 0.5);
    m->iterations = m->steps = 1;
    m->iteration = &p->iteration, m->step_ns = &p->iteration.latency_ns;
    m->head.rank = dit_comm_rank(dit_comm_world());
    memcpy(m->head.coordinates, p->rt.coordinates, sizeof m->head.coordinates);
    memcpy(m->head.peak, account.peak, sizeof m->head.peak);
    m->head.total_peak = m->head.load_peak = account.total_peak;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static dit_status describe(const sim_layer *p, const dit_measurement *ranks, cJSON *more)
{
    dit_json_writer w = {0};
    cJSON *simulation;
    DIT_TRY(dit_sim_describe(p->sim, ranks, dit_comm_size(dit_comm_world()), p->forwards + 1, more, &simulation));
    dit_json_put_bool(&w, simulation, "steady", p->steady);
    return w.status;
}

static dit_status write_record(const sim_layer *p, const dit_measurement *ranks, cJSON *more)
{
    dit_volume_table *predicted;
    int size = dit_comm_size(dit_comm_world());
    DIT_TRY(describe(p, ranks, more));
    DIT_TRY(dit_layer_run_volumes(&p->run, &predicted));
    for (int rank = 0; rank < size; rank++) dit_volume_resize(&predicted[rank], dit_sim_element_bytes(p->sim));
    dit_status st = dit_record_write_merged(&(dit_record_params){.program = "attention",
                                                                 .kase = &p->kase,
                                                                 .rt = &p->rt,
                                                                 .attention = dit_attention_name(p->run.attention),
                                                                 .predicted = predicted,
                                                                 .predicted_each = true,
                                                                 .more = more,
                                                                 .out_folder = p->folder},
                                            ranks);
    free(predicted);
    return st == DIT_OK ? dit_sim_check_memory(p->sim, ranks, size) : st;
}

/* All ranks tell "layer" and "balance". There is no operator check, because nothing was computed. */
static dit_status report(const sim_layer *p)
{
    dit_layer_share share = {.flops = p->iteration.flops.attention,
                             .latency_ns = p->iteration.latency_ns,
                             .exposed_ns = dit_comm_exposed_ns(&p->iteration.counters)};
    dit_measurement *ranks = NULL;
    double rel_l2;
    cJSON *more = cJSON_CreateObject();
    dit_status st = more ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    if (st == DIT_OK) st = dit_sim_meet(&p->measured, &ranks);
    if (st == DIT_OK) st = dit_layer_report(&p->run, &share, 0, more, &rel_l2);
    cJSON_DeleteItemFromObjectCaseSensitive(more, "operator_check");
    if (st == DIT_OK && ranks) st = write_record(p, ranks, more);
    if (st == DIT_OK) st = dit_comm_barrier(dit_comm_world()); /* what others have is read until then */
    cJSON_Delete(more);
    free(ranks);
    return st;
}

dit_status dit_sim_layer(dit_sim *sim, const dit_json *doc, const char *folder)
{
    sim_layer *p = calloc(1, sizeof *p);
    if (!p) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a layer");
    p->sim = sim, p->doc = doc, p->folder = folder;
    dit_status st = read_case(p);
    if (st == DIT_OK) st = simulate(p);
    if (st == DIT_OK) take_measurement(p);
    if (st == DIT_OK) st = report(p);
    tear_down(p);
    free(p);
    return st;
}
