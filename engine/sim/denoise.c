#include "engine/sim/denoise.h"

#include "base/json_writer.h"

#include "engine/attention/attention.h"
#include "engine/case/pipeline.h"
#include "engine/sim/report.h"
#include "engine/sim/serial.h"
#include "engine/sim/stretch.h"

#include <stdlib.h>
#include <string.h>

/* ---- the record -------------------------------------------------------------------------------------------------- */

/* Makes this rank's measurement, in the simulation's element. Its arrays are `it` and the outcome's. */
static dit_measurement measurement_of(const dit_sim *sim, const dit_sim_outcome *outcome, int steps, dit_iteration *it)
{
    dit_sim_account account = outcome->account;
    dit_measurement m = {.iterations = 1, .steps = steps, .iteration = it, .step_ns = outcome->step_ns};
    dit_sim_account_resize(&account, dit_sim_element_bytes(sim));
    *it = account.counted;
    it->latency_ns = (int64_t)(account.seconds * 1e9 + 0.5);
    m.head.rank = dit_comm_rank(dit_comm_world());
    memcpy(m.head.coordinates, outcome->coordinates, sizeof m.head.coordinates);
    memcpy(m.head.peak, account.peak, sizeof m.head.peak);
    m.head.total_peak = account.total_peak;
    m.head.setup_ns = outcome->setup_ns, m.head.weights_ns = outcome->weights_ns;
    m.head.load_peak = dit_sim_in_elements(sim, outcome->load_peak);
    m.head.beside = outcome->shards;
    dit_volume_resize(&m.head.beside, dit_sim_element_bytes(sim));
    it->stream.shard_bytes = dit_sim_in_elements(sim, outcome->shard_bytes);
    return m;
}

/* Adds the messages of shared text encoders, in the simulation's element, and what they hold up. */
static void add_texts(const dit_sim *sim, dit_volume_table *sent, double seconds, dit_measurement *m)
{
    bool timed = false;
    dit_volume_resize(sent, dit_sim_element_bytes(sim));
    dit_volume_add(&m->head.beside, sent);
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        const dit_volume *volume = DIT_VOLUME_AT(sent, at);
        dit_comm_counter *counter = DIT_VOLUME_AT(&m->iteration[0].counters, at);
        if (!volume->messages) continue;
        counter->bytes += volume->bytes, counter->messages += volume->messages;
        if (!timed) counter->time_ns = counter->span_ns = (int64_t)(seconds * 1e9 + 0.5);
        timed = true;
    }
}

/* What the record is made of, on rank 0 alone. */
typedef struct {
    dit_sim *sim;
    const dit_json *doc;
    const char *folder, *case_id;
    dit_measurement *ranks;
    const dit_sim_outcome *outcome;
    const dit_sim_serial *serial;
    dit_request_scope scope;
} report;

static double slowest_seconds(const report *r, int world_size)
{
    int64_t slowest_ns = 0;
    for (int rank = 0; rank < world_size; rank++)
        if (r->ranks[rank].iteration[0].latency_ns > slowest_ns) slowest_ns = r->ranks[rank].iteration[0].latency_ns;
    return (double)slowest_ns * 1e-9;
}

/* Parts of a request that a simulation has no times of, and why. */
static void put_absent(dit_json_writer *w, cJSON *more)
{
    cJSON *absent = dit_json_put_object(w, more, "phases_absent");
    dit_json_put_string(w, absent, dit_part_name(DIT_PART_TOKENIZE), "work of the host that no operator counts");
    dit_json_put_string(w, absent, dit_part_name(DIT_PART_WRITE), "a simulation makes no pictures");
}

/* Adds "simulation", which says how the numbers came about. */
static dit_status describe(const report *r, int world_size, cJSON *more)
{
    dit_json_writer w = {0};
    cJSON *simulation;
    DIT_TRY(dit_sim_describe(r->sim, r->ranks, world_size, r->outcome->steps, more, &simulation));
    if (r->outcome->alike > 0) dit_json_put_number(&w, simulation, "steps_alike", r->outcome->alike);
    if (r->outcome->layers) dit_json_put_int(&w, simulation, "layers_simulated", r->outcome->layers);
    if (r->outcome->hops) dit_json_put_int(&w, simulation, "hops_simulated", r->outcome->hops);
    dit_json_put_int(&w, simulation, "text_encoder_ns", (int64_t)(r->serial->text_encoder_s * 1e9 + 0.5));
    dit_json_put_int(&w, simulation, "denoise_ns", (int64_t)(slowest_seconds(r, world_size) * 1e9 + 0.5));
    dit_json_put_int(&w, simulation, "vae_decode_ns", (int64_t)(r->serial->vae_decode_s * 1e9 + 0.5));
    if (r->serial->pictures_s > 0)
        dit_json_put_int(&w, simulation, "pictures_ns", (int64_t)(r->serial->pictures_s * 1e9 + 0.5));
    if (r->scope != DIT_SCOPE_DENOISE) put_absent(&w, more);
    return w.status;
}

static void note_part(dit_measurement *m, dit_part part, double seconds)
{
    m->head.parts |= 1u << part;
    m->iteration[0].part_ns[part] = (int64_t)(seconds * 1e9 + 0.5);
}

/* Notes the parts of a request, as a measured one has them. */
static void note_parts(const report *r, dit_measurement *m, double denoise_s)
{
    const dit_sim_serial *serial = r->serial;
    if (r->scope == DIT_SCOPE_DENOISE) return;
    note_part(m, DIT_PART_TEXT_ENCODE, serial->text_encoder_s);
    note_part(m, DIT_PART_DENOISE, denoise_s);
    if (r->scope == DIT_SCOPE_PIPELINE) note_part(m, DIT_PART_VAE_DECODE, serial->vae_decode_s + serial->pictures_s);
}

/* Adds what comes around the denoising: weights and time to every rank, the decode's memory to the first one. */
static void add_serial(const report *r, int world_size)
{
    const dit_sim_serial *serial = r->serial;
    int64_t ns = (int64_t)((serial->text_encoder_s + serial->vae_decode_s + serial->pictures_s) * 1e9 + 0.5);
    for (int rank = 0; rank < world_size; rank++) {
        dit_measurement *m = &r->ranks[rank];
        int64_t *weights = &m->head.peak[DIT_MEMORY_WEIGHTS];
        note_parts(r, m, (double)m->iteration[0].latency_ns * 1e-9);
        m->iteration[0].latency_ns += ns;
        m->iteration[0].time_ns[DIT_TIME_DECODE] = (int64_t)((serial->vae_decode_s + serial->pictures_s) * 1e9 + 0.5);
        m->iteration[0].time_ns[DIT_TIME_PREPARE] += (int64_t)(serial->text_encoder_s * 1e9 + 0.5);
        m->head.total_peak = dit_sim_serial_peak(r->sim, serial, rank, *weights, m->head.total_peak);
        *weights += dit_sim_serial_weights(r->sim, serial);
    }
}

/* Makes the closed form of every rank, in the simulation's element. What a cache decides is foreseen by then. */
static dit_status predict(const dit_sim *sim, const dit_pipeline *whole, int world_size, dit_volume_table **out)
{
    *out = calloc((size_t)world_size, sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", world_size);
    dit_cache_use use = dit_cache_own_use(whole->sampler.cache);
    for (int rank = 0; rank < world_size; rank++) {
        dit_volume_predict_cached(&whole->rt.parallel, &whole->rt.facts, &use, rank, &(*out)[rank]);
        dit_volume_resize(&(*out)[rank], dit_sim_element_bytes(sim));
    }
    return DIT_OK;
}

static dit_status write_record(const report *r, const dit_pipeline *whole)
{
    int world_size = dit_comm_size(dit_comm_world());
    dit_volume_table *predicted = NULL;
    cJSON *more = cJSON_CreateObject();
    dit_runtime rt = whole->rt;
    dit_cache_run *cache = whole->sampler.cache;
    int64_t kept = cache ? dit_sim_in_elements(r->sim, dit_cache_state_bytes(cache)) : 0;
    rt.facts.parameters = 0; /* the estimate is one of fp32 */
    if (cache) dit_cache_foresee(cache);
    dit_status st = more ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    DIT_TRY_GOTO(st, describe(r, world_size, more), done); /* the denoising alone */
    DIT_TRY_GOTO(st, predict(r->sim, whole, world_size, &predicted), done);
    add_serial(r, world_size);
    st = dit_record_write_merged(&(dit_record_params){.program = "denoise",
                                                      .kase = &whole->kase,
                                                      .rt = &rt,
                                                      .attention = dit_attention_name(whole->model->attention[0]),
                                                      .predicted = predicted,
                                                      .predicted_each = true,
                                                      .cache = cache,
                                                      .cache_state_bytes = kept,
                                                      .more = more,
                                                      .out_folder = r->folder},
                                 r->ranks);
    if (st == DIT_OK) st = dit_sim_check_memory(r->sim, r->ranks, world_size);
done:
    cJSON_Delete(more);
    free(predicted);
    return st;
}

/* Writes the record of the whole case: all of its steps and blocks are counted on one rank. */
static dit_status write_report(const report *r)
{
    dit_json_writer w = {0};
    dit_pipeline whole = {0};
    dit_guest guest = dit_sim_guest(r->sim);
    cJSON *simulation = cJSON_DetachItemFromObjectCaseSensitive(r->doc->root, "simulation");
    dit_status st = dit_pipeline_create_counting(r->doc, 0, &guest, &whole);
    if (st == DIT_OK) {
        memcpy(whole.kase.case_id, r->case_id, sizeof whole.kase.case_id);
        st = write_record(r, &whole);
    }
    dit_pipeline_release(&whole);
    dit_json_put_item(&w, r->doc->root, "simulation", simulation);
    return st == DIT_OK ? w.status : st;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static dit_status read_stretch(const dit_json *doc, dit_sim_stretch *out)
{
    const cJSON *simulation = dit_json_member(doc->root, "simulation");
    *out = (dit_sim_stretch){0};
    DIT_TRY(dit_json_optional_bool(doc, simulation, "/simulation", "replay", &out->replay));
    return dit_json_optional_bool(doc, simulation, "/simulation", "layered", &out->layered);
}

dit_status dit_sim_denoise(dit_sim *sim, const dit_json *doc, const char *folder)
{
    dit_sim_stretch stretch;
    dit_sim_outcome outcome;
    dit_sim_serial serial = {0};
    dit_volume_table sent;
    double exchange_s = 0;
    dit_case kase;
    dit_iteration it;
    dit_measurement own, *ranks = NULL;
    char case_id[sizeof kase.case_id];
    DIT_TRY(read_stretch(doc, &stretch));
    DIT_TRY(dit_sim_hash_case(doc, case_id));
    DIT_TRY(dit_case_read(doc, &kase));
    dit_status st = dit_sim_stretched(sim, doc, &stretch, &outcome);
    if (st == DIT_OK) own = measurement_of(sim, &outcome, kase.steps, &it);
    if (st == DIT_OK) st = dit_sim_serial_exchange(sim, doc, &sent, &exchange_s);
    if (st == DIT_OK) add_texts(sim, &sent, exchange_s, &own);
    if (st == DIT_OK) st = dit_sim_meet(&own, &ranks);
    if (st == DIT_OK && ranks) st = dit_sim_serial_run(sim, doc, &kase, &serial);
    serial.text_encoder_s += exchange_s;
    if (st == DIT_OK && ranks)
        st = write_report(&(report){sim, doc, folder, case_id, ranks, &outcome, &serial, kase.scope});
    if (st == DIT_OK) st = dit_comm_barrier(dit_comm_world()); /* what others have is read until then */
    free(ranks);
    free(outcome.step_ns);
    return st;
}
