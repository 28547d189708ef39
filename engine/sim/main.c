/* ditbench-engine-sim: one rank of a simulation. Started by smpirun, as many times as the case has ranks.
 *
 *   smpirun -np N -platform FILE.xml -hostfile FILE ditbench-engine-sim --case FILE --out DIR
 *
 * The case is a denoise case with "simulation" (results/schema/README.md). Everything runs as in ditbench-engine, but
 * operators only take virtual time. Writes record.json with "evidence": "simulated"; bytes and memory are those of the
 * simulation's element type. A rank that needs more memory than the accelerator has is an error after the record is
 * written. On failure error.json and an exit code, as ditbench-engine has them.
 */
#include "engine/attention/attention.h"
#include "engine/pipeline.h"
#include "engine/sim/serial.h"
#include "engine/sim/sim.h"
#include "engine/sim/stretch.h"
#include "version.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *case_path, *out_folder;
} arguments;

static dit_status parse(int argc, char **argv, arguments *out)
{
    *out = (arguments){0};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--case") == 0)
            out->case_path = argv[i + 1];
        else if (strcmp(argv[i], "--out") == 0)
            out->out_folder = argv[i + 1];
        else
            return DIT_FAIL(DIT_ERR_USAGE, "unknown option %s", argv[i]);
    }
    if (out->case_path && out->out_folder && argc % 2) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--case FILE and --out FOLDER are required"),
                          "ditbench-engine-sim " DITBENCH_VERSION " is started by smpirun");
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

/* This rank's measurement, in the simulation's element. The arrays are `it` and outcome's. */
static dit_measurement measurement_of(const dit_sim_outcome *outcome, int steps, dit_iteration *it)
{
    dit_sim_account account = outcome->account;
    dit_measurement m = {.iterations = 1, .steps = steps, .iteration = it, .step_ns = outcome->step_ns};
    dit_sim_account_resize(&account, dit_sim_element_bytes());
    *it = account.counted;
    it->latency_ns = (int64_t)(account.seconds * 1e9 + 0.5);
    m.head.rank = dit_comm_rank(dit_comm_world());
    memcpy(m.head.coordinates, outcome->coordinates, sizeof m.head.coordinates);
    memcpy(m.head.peak, account.peak, sizeof m.head.peak);
    m.head.total_peak = account.total_peak;
    m.head.setup_ns = outcome->setup_ns, m.head.weights_ns = outcome->weights_ns;
    m.head.load_peak = outcome->load_peak / (int64_t)sizeof(float) * dit_sim_element_bytes();
    return m;
}

/* All ranks live in one process: what they have is told by its address, not copied to everybody. */
static dit_status meet(const dit_measurement *own, dit_measurement **out)
{
    const dit_measurement **all;
    int size = dit_comm_size(dit_comm_world());
    int64_t *offsets = calloc((size_t)size + 1, sizeof *offsets);
    *out = own->head.rank == 0 ? calloc((size_t)size, sizeof **out) : NULL;
    if (!offsets || (own->head.rank == 0 && !*out)) {
        free(offsets);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", size);
    }
    dit_status st = dit_comm_collect(dit_comm_world(), &own, (int64_t)sizeof own, (char **)(void *)&all, offsets);
    for (int rank = 0; rank < size && st == DIT_OK && *out; rank++) (*out)[rank] = *all[rank];
    if (st == DIT_OK) free(all);
    free(offsets);
    return st;
}

/* Everything the record is made of; on rank 0 alone. */
typedef struct {
    const dit_json *doc;
    const char *folder, *case_id;
    const dit_measurement *ranks;
    const dit_sim_outcome *outcome;
    const dit_sim_serial *serial;
} report;

static double slowest_seconds(const report *r, int world_size)
{
    int64_t slowest_ns = 0;
    for (int rank = 0; rank < world_size; rank++)
        if (r->ranks[rank].iteration[0].latency_ns > slowest_ns) slowest_ns = r->ranks[rank].iteration[0].latency_ns;
    return (double)slowest_ns * 1e-9;
}

/* "simulation": how the numbers came about. */
static dit_status describe(const report *r, int world_size, cJSON *more)
{
    int64_t messages = 0;
    cJSON *simulation = cJSON_AddObjectToObject(more, "simulation");
    if (!simulation) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    for (int rank = 0; rank < world_size; rank++) messages += dit_sim_counted_messages(&r->ranks[rank].iteration[0]);
    DIT_TRY(dit_json_add_string(simulation, "accelerator", dit_sim_accelerator()));
    DIT_TRY(dit_json_add_string(simulation, "profile", dit_sim_profile()));
    DIT_TRY(dit_json_add_int(simulation, "element_bytes", dit_sim_element_bytes()));
    DIT_TRY(dit_json_add_int(simulation, "steps_simulated", r->outcome->steps));
    if (r->outcome->layers) DIT_TRY(dit_json_add_int(simulation, "layers_simulated", r->outcome->layers));
    DIT_TRY(dit_json_add_int(simulation, "messages", messages));
    DIT_TRY(dit_json_add_int(simulation, "text_encoder_ns", (int64_t)(r->serial->text_encoder_s * 1e9 + 0.5)));
    DIT_TRY(dit_json_add_int(simulation, "denoise_ns", (int64_t)(slowest_seconds(r, world_size) * 1e9 + 0.5)));
    return dit_json_add_int(simulation, "vae_decode_ns", (int64_t)(r->serial->vae_decode_s * 1e9 + 0.5));
}

/* What comes around the denoising is on every rank; the first one decodes. */
static void add_serial(const report *r, int world_size, dit_measurement *ranks)
{
    const dit_sim_serial *serial = r->serial;
    int64_t ns = (int64_t)((serial->text_encoder_s + serial->vae_decode_s) * 1e9 + 0.5);
    int64_t elements = (serial->text_encoder_bytes + serial->vae_bytes) / (int64_t)sizeof(float);
    int64_t weights = elements * dit_sim_element_bytes();
    int64_t decode = serial->vae_peak_bytes / (int64_t)sizeof(float) * dit_sim_element_bytes();
    for (int rank = 0; rank < world_size; rank++) {
        dit_measurement *m = &ranks[rank];
        int64_t held = m->head.peak[DIT_MEMORY_WEIGHTS] + weights;
        m->iteration[0].latency_ns += ns;
        m->iteration[0].time_ns[DIT_TIME_DECODE] = (int64_t)(serial->vae_decode_s * 1e9 + 0.5);
        m->iteration[0].time_ns[DIT_TIME_PREPARE] += (int64_t)(serial->text_encoder_s * 1e9 + 0.5);
        m->head.peak[DIT_MEMORY_WEIGHTS] = held;
        m->head.total_peak += weights;
        if (rank == 0 && held + decode > m->head.total_peak) m->head.total_peak = held + decode;
    }
}

/* The closed form of every rank, in the simulation's element. */
static dit_status predict(const dit_pipeline *whole, int world_size, dit_volume_table **out)
{
    *out = calloc((size_t)world_size, sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", world_size);
    for (int rank = 0; rank < world_size; rank++) {
        dit_volume_predict(&whole->rt.parallel, &whole->rt.facts, rank, &(*out)[rank]);
        dit_sim_volume_resize(&(*out)[rank], dit_sim_element_bytes());
    }
    return DIT_OK;
}

static dit_status check_memory(const dit_measurement *ranks, int world_size)
{
    const double gib = 1024.0 * 1024 * 1024;
    int64_t there = dit_sim_memory_bytes();
    for (int rank = 0; rank < world_size; rank++)
        if (there && ranks[rank].head.total_peak > there)
            return dit_error_hint(DIT_FAIL(DIT_ERR_MEMORY, "rank %d needs %.2f GiB, %s has %.2f GiB", rank,
                                           (double)ranks[rank].head.total_peak / gib, dit_sim_accelerator(),
                                           (double)there / gib),
                                  "methods that cut the weights or the picture need less: see ditbench explain");
    return DIT_OK;
}

static dit_status write_record(const report *r, const dit_pipeline *whole, dit_measurement *ranks)
{
    int world_size = dit_comm_size(dit_comm_world());
    dit_volume_table *predicted = NULL;
    cJSON *more = cJSON_CreateObject();
    dit_runtime rt = whole->rt;
    rt.facts.parameters = 0; /* the estimate is one of fp32 */
    dit_status st = more ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    DIT_TRY_GOTO(st, describe(r, world_size, more), done);
    DIT_TRY_GOTO(st, predict(whole, world_size, &predicted), done);
    add_serial(r, world_size, ranks);
    st = dit_record_write_merged(&(dit_record_params){.program = "denoise",
                                                      .evidence = "simulated",
                                                      .kase = &whole->kase,
                                                      .rt = &rt,
                                                      .attention = dit_attention_name(whole->model->attention[0]),
                                                      .predicted = predicted,
                                                      .predicted_each = true,
                                                      .more = more,
                                                      .out_folder = r->folder},
                                 ranks);
    if (st == DIT_OK) st = check_memory(ranks, world_size);
done:
    cJSON_Delete(more);
    free(predicted);
    return st;
}

/* All of the case's steps and blocks, counted on one rank. */
static dit_status write_report(const report *r, dit_measurement *ranks)
{
    dit_pipeline whole = {0};
    cJSON *simulation = cJSON_DetachItemFromObjectCaseSensitive(r->doc->root, "simulation");
    dit_status st = dit_pipeline_create_counting(r->doc, 0, &whole);
    memcpy(whole.kase.case_id, r->case_id, sizeof whole.kase.case_id);
    if (st == DIT_OK) st = write_record(r, &whole, ranks);
    dit_pipeline_release(&whole);
    cJSON_AddItemToObject(r->doc->root, "simulation", simulation);
    return st;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The case as the harness knows it is the document without "simulation". */
static dit_status hash_case(const dit_json *doc, char out[33])
{
    cJSON *simulation = cJSON_DetachItemFromObjectCaseSensitive(doc->root, "simulation");
    dit_status st = dit_case_hash(doc, out);
    cJSON_AddItemToObject(doc->root, "simulation", simulation);
    return st;
}

static dit_status read_stretch(const dit_json *doc, dit_sim_stretch *out)
{
    const cJSON *simulation = cJSON_GetObjectItemCaseSensitive(doc->root, "simulation");
    *out = (dit_sim_stretch){0};
    DIT_TRY(dit_json_optional_bool(doc, simulation, "/simulation", "replay", &out->replay));
    return dit_json_optional_bool(doc, simulation, "/simulation", "layered", &out->layered);
}

static dit_status simulate_case(const dit_json *doc, const char *folder)
{
    dit_sim_stretch stretch;
    dit_sim_outcome outcome;
    dit_sim_serial serial = {0};
    dit_case kase;
    dit_iteration it;
    dit_measurement own, *ranks = NULL;
    char case_id[sizeof kase.case_id];
    DIT_TRY(dit_sim_read(doc));
    DIT_TRY(read_stretch(doc, &stretch));
    DIT_TRY(hash_case(doc, case_id));
    DIT_TRY(dit_case_read(doc, &kase));
    dit_status st = dit_sim_stretched(doc, &stretch, &outcome);
    if (st == DIT_OK) own = measurement_of(&outcome, kase.steps, &it);
    if (st == DIT_OK) st = meet(&own, &ranks);
    if (st == DIT_OK && ranks) st = dit_sim_serial_run(doc, &kase, &serial);
    if (st == DIT_OK && ranks) st = write_report(&(report){doc, folder, case_id, ranks, &outcome, &serial}, ranks);
    if (st == DIT_OK) st = dit_comm_barrier(dit_comm_world()); /* what others have is read until then */
    free(ranks);
    free(outcome.step_ns);
    return st;
}

static dit_status run(const arguments *args)
{
    dit_json doc = {0};
    dit_status st = dit_json_read_file(args->case_path, &doc);
    if (st == DIT_OK && mkdir(args->out_folder, 0777) != 0 && errno != EEXIST)
        st = DIT_FAIL(DIT_ERR_IO, "cannot make %s: %s", args->out_folder, strerror(errno));
    if (st == DIT_OK) st = simulate_case(&doc, args->out_folder);
    dit_json_release(&doc);
    return st;
}

int main(int argc, char **argv)
{
    arguments args;
    dit_status st = parse(argc, argv, &args);
    if (st == DIT_OK) st = dit_comm_start("simulated", &argc, &argv);
    if (st == DIT_OK) st = run(&args);
    if (st != DIT_OK) {
        dit_error_print("ditbench-engine-sim");
        if (args.out_folder) dit_record_write_error(args.out_folder);
        dit_comm_abort(dit_status_exit_code(st));
    }
    dit_comm_finish();
    return dit_status_exit_code(st);
}
