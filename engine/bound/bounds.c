#include "engine/bound/bounds.h"

#include "base/json_writer.h"
#include "engine/bound/lone_rank.h"
#include "engine/case/pipeline.h"
#include "engine/results/record.h"
#include "engine/sim/account.h"
#include "engine/sim/serial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Simulations take repeats for alike that differ by 1e-5 (DIT_SIM_SHARES_ALIKE), and their records have whole
 * nanoseconds: bounds are lowered by this share. */
static const double SLACK = 2e-5;

/* More ranks than this have no bound of the wire: looking up their routes takes too long. */
enum { WIRE_RANKS = 512, MOST_BLOCKS = 512 };

/* Seconds of the denoising, and bytes of a simulated element. */
typedef struct {
    double device_s, host_s, wire_s, chain_s, floor_s, serial_s;
    int64_t memory_bytes, blocks;
    double block_s[MOST_BLOCKS]; /* [blocks] what the rank spent in each block of the model; 0: it has not this one */
} bounds;

/* The simulator as the engine's guest, and beside it the time in each block. */
typedef struct {
    dit_guest guest;
    bounds *told;
    int64_t at; /* the block that is under way; -1: none */
    double began_s;
} block_watch;

static double watch_now_s(void *context)
{
    const block_watch *watch = context;
    return watch->guest.now_s(watch->guest.context);
}

static void watch_entry(void *context, int64_t at, int64_t of)
{
    const block_watch *watch = context;
    watch->guest.begin_entry(watch->guest.context, at, of);
}

static void watch_attention(void *context, bool begins)
{
    const block_watch *watch = context;
    watch->guest.at_attention(watch->guest.context, begins);
}

static void watch_piece(void *context, const dit_piece *piece)
{
    block_watch *watch = context;
    bool begins = piece && piece->kind == DIT_PIECE_BLOCK && piece->block < MOST_BLOCKS;
    if (begins) watch->at = piece->block, watch->began_s = watch_now_s(watch);
    watch->guest.at_piece(watch->guest.context, piece);
    if (piece || watch->at < 0) return;
    watch->told->block_s[watch->at] += watch_now_s(watch) - watch->began_s;
    watch->at = -1;
}

static void watch_wait(void *context)
{
    const block_watch *watch = context;
    watch->guest.wait_for_device(watch->guest.context);
}

static dit_guest watched(block_watch *watch)
{
    dit_guest guest = watch->guest;
    guest.context = watch;
    guest.now_s = watch_now_s, guest.begin_entry = watch_entry;
    guest.at_piece = watch_piece, guest.at_attention = watch_attention;
    guest.wait_for_device = watch_wait;
    return guest;
}

/* ---- steps until they repeat ------------------------------------------------------------------------------------- */

/* Where the rank was when it began a step. */
typedef struct {
    double now_s, host_s, device_busy_s, host_busy_s, flops;
} moment;

typedef struct {
    dit_sim *sim;
    dit_lone_rank *lone;
    int steps, left_out;
    moment at[3]; /* the newest first */
    int begun;
    bool unlike; /* steps differ: the first ones of displaced patches, those that a cache reuses */
} own_steps;

static moment moment_of(const dit_sim *sim, const dit_runtime *rt)
{
    return (moment){.now_s = dit_sim_now(sim),
                    .host_s = dit_sim_host_now(sim),
                    .device_busy_s = dit_sim_device_busy(sim),
                    .host_busy_s = dit_sim_host_busy(sim),
                    .flops = rt->flops.linear + rt->flops.attention + rt->flops.convolution + rt->flops.other};
}

/* Whether the newest two steps took the same time, with the host ahead in this one and in all that are left. */
static bool repeats(const own_steps *own, int step)
{
    const moment *now = &own->at[0];
    double newer_s = now->now_s - own->at[1].now_s, older_s = own->at[1].now_s - own->at[2].now_s;
    double same_s = 1e-9 * now->now_s, host_step_s = now->host_s - own->at[1].host_s;
    int left = own->steps - step;
    return fabs(newer_s - older_s) <= same_s &&
           now->host_s + left * host_step_s <= now->now_s + left * newer_s + same_s;
}

static int begin_step(void *context, const dit_runtime *rt, int step)
{
    own_steps *own = context;
    if (own->left_out) return step;
    own->at[2] = own->at[1], own->at[1] = own->at[0];
    own->at[0] = moment_of(own->sim, rt);
    own->begun++;
    dit_lone_rank_mark(own->lone);
    if (own->unlike || own->begun < 3 || step + 1 >= own->steps || !repeats(own, step)) return step;
    own->left_out = own->steps - 1 - step;
    return own->steps - 1;
}

/* Adds the steps that were left out, each like the newest one that was done. */
static void add_steps(const own_steps *own, bounds *out)
{
    const double times = own->left_out;
    const moment *now = &own->at[0], *before = &own->at[1];
    out->chain_s += times * (now->now_s - before->now_s);
    out->device_s += times * (now->device_busy_s - before->device_busy_s);
    out->host_s += times * (now->host_busy_s - before->host_busy_s);
    out->floor_s += times * (now->flops - before->flops) / dit_sim_get_device(own->sim)->peak_flops_per_s;
    dit_lone_rank_repeat(own->lone, own->left_out);
}

static dit_status run_steps(const dit_json *doc, own_steps *own, dit_pipeline *p, bounds *out)
{
    int64_t elapsed_ns;
    block_watch watch = {.guest = dit_sim_guest(own->sim), .told = out, .at = -1};
    dit_guest guest = watched(&watch);
    guest.begin_step = begin_step, guest.steps = own;
    DIT_TRY(dit_pipeline_create_guest(doc, &guest, p));
    dit_runtime_reset_account(&p->rt);
    moment began = moment_of(own->sim, &p->rt);
    DIT_TRY(dit_pipeline_run(p, NULL, &elapsed_ns));
    moment ended = moment_of(own->sim, &p->rt);
    out->chain_s = p->elapsed_s;
    out->blocks = p->rt.facts.layers <= MOST_BLOCKS ? p->rt.facts.layers : 0;
    out->device_s = ended.device_busy_s - began.device_busy_s;
    out->host_s = ended.host_busy_s - began.host_busy_s;
    out->floor_s = ended.flops / dit_sim_get_device(own->sim)->peak_flops_per_s;
    add_steps(own, out);
    bool whole = dit_parallel_degree(&p->rt.parallel, DIT_AXIS_FSDP) == 1; /* shards have groups of other distances */
    bool alike = whole && !dit_parallel_is_displaced(&p->rt.parallel) && own->lone->size <= WIRE_RANKS;
    return alike ? dit_lone_rank_wire(own->lone, &out->wire_s) : DIT_OK;
}

/* ---- one rank of a case ------------------------------------------------------------------------------------------ */

/* As a simulation's record has it. */
static int64_t memory_of(const dit_sim *sim, const dit_pipeline *p, int rank, const dit_sim_serial *serial)
{
    const dit_memory_ledger *ledger = &p->rt.ledger;
    return dit_sim_serial_peak(sim, serial, rank, dit_sim_in_elements(sim, ledger->peak[DIT_MEMORY_WEIGHTS]),
                               dit_sim_in_elements(sim, ledger->total_peak));
}

static dit_status run_alone(const dit_json *doc, const dit_case *kase, own_steps *own, bounds *out)
{
    dit_pipeline pipeline = {0};
    dit_sim_serial serial;
    dit_status st = run_steps(doc, own, &pipeline, out);
    if (st == DIT_OK) {
        dit_sim_let_host_ahead(own->sim);
        st = dit_sim_serial_run(own->sim, doc, kase, &serial);
    }
    if (st == DIT_OK) {
        out->serial_s = serial.text_encoder_s + serial.vae_decode_s + serial.pictures_s;
        out->memory_bytes = memory_of(own->sim, &pipeline, own->lone->rank, &serial);
    }
    dit_pipeline_release(&pipeline);
    return st;
}

/* The cost model wants the document as it is written, which reading the case changes. */
static dit_status bound_rank(const dit_json *doc, int rank, int size, bounds *out)
{
    dit_sim *sim;
    dit_lone_rank lone = {0};
    dit_case kase;
    DIT_TRY(dit_sim_create(&dit_lone_grid, &sim));
    dit_sim_set_clock(sim);
    dit_sim_set_least(sim);
    dit_status st = dit_sim_read(sim, doc, size);
    if (st == DIT_OK) st = dit_case_read(doc, &kase);
    if (st == DIT_OK) st = dit_lone_rank_start(sim, rank, size, &lone);
    own_steps own = {.sim = sim, .lone = &lone};
    if (st == DIT_OK) {
        own.steps = kase.steps;
        own.unlike = dit_parallel_is_displaced(&kase.parallel) || kase.cache.policy != DIT_CACHE_NONE ||
                     kase.parallel.fsdp_degree > 1;
    }
    if (st == DIT_OK) st = run_alone(doc, &kase, &own, out);
    dit_lone_rank_finish(&lone);
    dit_sim_free(sim);
    return st;
}

static dit_status bound_copy(const dit_json *doc, const cJSON *kase, int rank, bounds *out)
{
    dit_json view = *doc;
    dit_parallel parallel;
    *out = (bounds){0};
    view.root = cJSON_Duplicate(kase, true);
    if (!view.root) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    dit_status st = dit_parallel_from_json(&view, dit_json_member(view.root, "parallel"), "/parallel", &parallel);
    int size = st == DIT_OK ? dit_parallel_world_size(&parallel) : 0;
    if (st == DIT_OK && rank >= size)
        st = DIT_FAIL(DIT_ERR_JSON_VALUE, "rank %d of a case of %d ranks is asked for", rank, size);
    if (st == DIT_OK) st = bound_rank(&view, rank, size, out);
    cJSON_Delete(view.root);
    return st;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static void take_larger(const bounds *rank, bounds *all)
{
    all->device_s = fmax(all->device_s, rank->device_s), all->host_s = fmax(all->host_s, rank->host_s);
    all->wire_s = fmax(all->wire_s, rank->wire_s), all->chain_s = fmax(all->chain_s, rank->chain_s);
    all->floor_s = fmax(all->floor_s, rank->floor_s), all->serial_s = fmax(all->serial_s, rank->serial_s);
    if (rank->memory_bytes > all->memory_bytes) all->memory_bytes = rank->memory_bytes;
    all->blocks = rank->blocks;
    for (int64_t i = 0; i < rank->blocks; i++) all->block_s[i] = fmax(all->block_s[i], rank->block_s[i]);
}

static void write_bounds(dit_json_writer *w, const bounds *found, bool blocks, cJSON *out)
{
    /* the chain has all operators of device and host, so another bound is named where it is no lower */
    const struct {
        const char *name, *key;
        double seconds;
    } rows[] = {{"wire", "wire_s", found->wire_s},
                {"device", "device_s", found->device_s},
                {"host", "host_s", found->host_s},
                {"chain", "chain_s", found->chain_s},
                {"floor", "floor_s", found->floor_s}};
    int most = 0;
    for (int i = 1; i < (int)(sizeof rows / sizeof *rows); i++)
        if (rows[i].seconds > rows[most].seconds * (1 + 1e-9)) most = i;
    dit_json_put_number(w, out, "seconds", (1 - SLACK) * (rows[most].seconds + found->serial_s));
    dit_json_put_string(w, out, "bound", rows[most].name);
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
        dit_json_put_number(w, out, rows[i].key, rows[i].seconds + found->serial_s);
    dit_json_put_number(w, out, "serial_s", found->serial_s);
    dit_json_put_int(w, out, "memory_bytes", found->memory_bytes);
    cJSON *list = blocks ? dit_json_put_array(w, out, "block_s") : NULL;
    for (int64_t i = 0; list && i < found->blocks; i++) dit_json_put_number(w, list, NULL, found->block_s[i]);
}

static dit_status bound_ranks(const dit_json *doc, const cJSON *kase, const cJSON *ranks, bounds *all)
{
    bounds found;
    *all = (bounds){0};
    if (!ranks) return bound_copy(doc, kase, 0, all);
    for (const cJSON *rank = ranks->child; rank; rank = rank->next) {
        if (!cJSON_IsNumber(rank) || rank->valuedouble < 0 || rank->valuedouble > 65535)
            return DIT_FAIL(DIT_ERR_JSON_VALUE, "\"ranks\" has something that is no rank");
        DIT_TRY(bound_copy(doc, kase, rank->valueint, &found));
        take_larger(&found, all);
    }
    return DIT_OK;
}

static dit_status bound_entry(const dit_json *doc, const cJSON *entry, const char *at, bounds *out)
{
    static const char *const keys[] = {"case", "ranks", "blocks", NULL};
    const cJSON *kase, *ranks = NULL;
    DIT_TRY(dit_json_only_keys(doc, entry, at, keys));
    DIT_TRY(dit_json_require_object(doc, entry, at, "case", &kase));
    DIT_TRY(dit_json_optional_array(doc, entry, at, "ranks", &ranks));
    return bound_ranks(doc, kase, ranks, out);
}

static dit_status write_entry(const dit_json *doc, const cJSON *entry, int index, cJSON *list)
{
    dit_json_writer w = {0};
    bounds found;
    char at[32];
    snprintf(at, sizeof at, "/cases/%d", index);
    cJSON *out = dit_json_put_object(&w, list, NULL);
    dit_status st = bound_entry(doc, entry, at, &found);
    if (st == DIT_OK)
        write_bounds(&w, &found, dit_json_is_true(entry, "blocks"), out);
    else
        dit_record_put_error(&w, st, out);
    return w.status;
}

dit_status dit_bounds(const dit_json *doc, const char *folder)
{
    static const char *const keys[] = {"schema", "program", "cases", NULL};
    dit_json_writer w = {0};
    const cJSON *cases = NULL, *entry;
    char path[4096];
    int index = 0;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "cases", &cases));
    cJSON *record = dit_json_new_object(&w), *list = dit_json_put_array(&w, record, "bounds");
    cJSON_ArrayForEach(entry, cases) if (w.status == DIT_OK)
        dit_json_put_status(&w, write_entry(doc, entry, index++, list));
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "evidence", "simulated");
    dit_json_put_string(&w, record, "program", "bounds");
    snprintf(path, sizeof path, "%s/record.json", folder);
    return dit_json_finish_file(&w, record, path, false);
}
