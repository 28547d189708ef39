#include "suite/run/state.h"

#include "base/clock.h"
#include "base/json_writer.h"
#include "reports/text.h"
#include "suite/cases/document.h"
#include "suite/machine/contention.h"
#include "suite/machine/devices.h"
#include "suite/paths.h"
#include "suite/platform/platform.h"
#include "suite/session/plan.h"
#include "suite/simulate/simulated_cases.h"
#include "suite/workload/programs/program.h"
#include "suite/workload/workload.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_DEADLINE_S = 600, RESULT_TEXT = 96 };

/* ---- one item ---------------------------------------------------------------------------------------------------- */

/* What a one-rank case leaves for the others to be compared with. */
static const char *reference_file(const suite_case *one)
{
    return suite_program_of_case(one->document)->result;
}

/* Whether the engine makes a picture for each caption of the case (engine/results/pictures.h). They are alike in every
 * process, so the first one makes them. */
static bool makes_pictures(const suite_case *one)
{
    return dit_json_member(one->document, "conditions") && dit_json_member(one->document, "vae");
}

/* Case `index` if a process of it ended ok, with the path of what it left; else NULL. Of a case that makes pictures only
 * the process that made them counts, because others may be held against its pictures. */
static const suite_case *result_of(const suite_run_state *run, int index, char out[SUITE_PATH])
{
    const suite_case *one = &run->schedule.cases[index];
    if (run->good_process[index] == SUITE_NOT_RUN || (makes_pictures(one) && run->good_process[index])) return NULL;
    if (suite_path(out, "%s/cases/%s/p%d/%s.safetensors", run->session->dir, one->case_id, run->good_process[index],
                   reference_file(one)) != DIT_OK)
        return NULL;
    return access(out, R_OK) == 0 ? one : NULL;
}

/* The one-rank case with the same reference_id, if there is a result of it yet. An oracle is compared with nothing. */
static const suite_case *find_reference(const suite_run_state *run, const suite_case *one, char out[SUITE_PATH])
{
    const suite_case *found = NULL;
    for (int i = 0; i < run->schedule.case_count && !found && one->reference_id[0] && !one->is_oracle; i++) {
        const suite_case *other = &run->schedule.cases[i];
        if (other->is_reference && strcmp(other->reference_id, one->reference_id) == 0) found = result_of(run, i, out);
    }
    return found;
}

/* The case that one names by `id` (its oracle, its converged reference; "": none), if there is a result of it yet. */
static const suite_case *find_named(const suite_run_state *run, const char *id, char out[SUITE_PATH])
{
    const suite_case *found = NULL;
    for (int i = 0; i < run->schedule.case_count && !found && id[0]; i++)
        if (strcmp(run->schedule.cases[i].case_id, id) == 0) found = result_of(run, i, out);
    return found;
}

/* Whether a result of the case is there, or a process that makes one is still to run. */
static bool will_have(const suite_run_state *run, int case_index)
{
    char path[SUITE_PATH];
    bool waits = false;
    for (int i = 0; i < run->schedule.item_count; i++)
        waits |= run->schedule.items[i].case_index == case_index && run->status[i] == SUITE_NOT_RUN;
    return waits || result_of(run, case_index, path);
}

/* Whether the result was never held against the case `other`, which is there, or will be. */
static bool lacks(const suite_run_state *run, int other, const cJSON *result, const char *key)
{
    return !dit_json_text_or(result, key, NULL) && will_have(run, other);
}

bool suite_run_lacks_distance(const suite_run_state *run, int index, const cJSON *result)
{
    const suite_run_item *item = &run->schedule.items[index];
    const suite_case *one = &run->schedule.cases[item->case_index];
    bool lacking = false;
    if (run->status[index] != DIT_OUTCOME_OK || one->is_simulated || one->is_oracle) return false;
    for (int i = 0; i < run->schedule.case_count; i++) {
        const suite_case *other = &run->schedule.cases[i];
        bool referred = other->is_reference && one->reference_id[0] && other != one &&
                        strcmp(other->reference_id, one->reference_id) == 0;
        bool oracle = one->oracle_id[0] && strcmp(other->case_id, one->oracle_id) == 0;
        lacking |= referred && lacks(run, i, result, "reference_case");
        bool converged = one->converged_id[0] && strcmp(other->case_id, one->converged_id) == 0;
        lacking |= oracle && lacks(run, i, result, "oracle_case");
        lacking |= converged && item->process == 0 && lacks(run, i, result, "converged_case");
    }
    return lacking;
}

static double deadline_of(const suite_run_state *run, const suite_case *one)
{
    if (run->params->timeout_s > 0) return run->params->timeout_s;
    return one->deadline_s > 0 ? (double)one->deadline_s : DEFAULT_DEADLINE_S;
}

/* A case of an external engine is started by its adapter. One that is not here is seen before anything starts
 * (suite_run_is_skipped); a printed command names it anyway. */
static void plan_adapter(const suite_case *one, suite_run_paths *paths, suite_launch_plan *plan)
{
    const suite_engine *engine = suite_engine_of_case(one->document);
    char reason[SUITE_ADAPTER_REASON];
    if (!engine) return;
    suite_adapter_find(engine, &paths->adapter, reason);
    plan->engine = paths->adapter.program;
    plan->interpreter = paths->adapter.interpreter[0] ? paths->adapter.interpreter : NULL;
    plan->external = one->document;
}

const suite_launcher *suite_run_launcher_of(const suite_run_state *run, const suite_case *one)
{
    return suite_engine_of_case(one->document) ? &suite_adapter_launcher : run->launcher;
}

dit_status suite_run_make_launch_plan(const suite_run_state *run, const suite_run_item *item, suite_run_paths *paths,
                                      suite_launch_plan *out)
{
    const suite_case *one = &run->schedule.cases[item->case_index];
    DIT_TRY(suite_path(paths->case_file, "%s/cases/%s/case.json", run->session->dir, one->case_id));
    DIT_TRY(suite_session_process_dir(run->session, one->case_id, item->process, paths->out_dir));
    paths->reference_case = find_reference(run, one, paths->reference);
    paths->oracle_case = find_named(run, one->oracle_id, paths->oracle);
    bool no_pictures = item->process > 0 && makes_pictures(one);
    paths->converged_case = no_pictures ? NULL : find_named(run, one->converged_id, paths->converged);
    suite_run_plan_wire(one, &paths->wire);
    *out = (suite_launch_plan){
        .engine = run->engine,
        .case_file = paths->case_file,
        .out_dir = paths->out_dir,
        .reference = paths->reference_case ? paths->reference : NULL,
        .oracle = paths->oracle_case ? paths->oracle : NULL,
        .converged = paths->converged_case ? paths->converged : NULL,
        .no_pictures = no_pictures,
        .world_size = one->world_size,
        .threads_per_rank = suite_case_threads(one->document),
        .cores = run->cores,
        .single_copy = run->single_copy,
        .without = &run->params->without,
        .wire = paths->wire.planned ? &paths->wire.wire : NULL,
    };
    plan_adapter(one, paths, out);
    return DIT_OK;
}

/* What the case took, never how long the harness was busy with it: "164.6 s simulated"; "" when it gave no number. */
static void result_text(const suite_outcome *outcome, bool simulated, char out[RESULT_TEXT])
{
    char latency[REPORT_NUMBER_TEXT];
    double latency_ns = outcome->status == DIT_OUTCOME_OK ? suite_record_latency_ns(outcome->record) : -1;
    out[0] = '\0';
    if (outcome->status == DIT_OUTCOME_OOM) snprintf(out, RESULT_TEXT, "out of memory:");
    if (latency_ns < 0) return;
    report_format(REPORT_UNIT_SECONDS, latency_ns * 1e-9, latency);
    bool fake = strcmp(dit_json_text_or(outcome->record, "evidence", ""), DIT_EVIDENCE_FAKE) == 0;
    snprintf(out, RESULT_TEXT, "%s%s", latency, simulated ? " simulated" : fake ? " made up" : "");
}

/* "busy: ...; outlier: ...", for the line of the case; "" when nothing is doubtful. */
static void tell_warnings(const cJSON *line, char *out, size_t size)
{
    const cJSON *item;
    size_t used = 0;
    out[0] = '\0';
    cJSON_ArrayForEach(item, dit_json_member(line, "warnings")) if (used < size) used +=
        (size_t)snprintf(out + used, size - used, "%s%s", used ? "; " : "", item->valuestring);
}

static dit_status record_outcome(suite_run_state *run, int index, const char *started, const suite_run_paths *paths,
                                 suite_outcome *outcome)
{
    dit_json_writer w = {0};
    const suite_run_item *item = &run->schedule.items[index];
    const suite_case *one = &run->schedule.cases[item->case_index];
    const char *message = dit_json_text_or(outcome->error, "message", NULL);
    char result[RESULT_TEXT], note[256];
    cJSON *line = suite_run_start_line(&w, "result");
    dit_json_put_string(&w, line, "started", started);
    if (paths->reference_case) dit_json_put_string(&w, line, "reference_case", paths->reference_case->case_id);
    if (paths->oracle_case) dit_json_put_string(&w, line, "oracle_case", paths->oracle_case->case_id);
    if (paths->converged_case) dit_json_put_string(&w, line, "converged_case", paths->converged_case->case_id);
    suite_run_fill_result_line(&w, line, one, item, outcome);
    if (!one->is_simulated) suite_run_add_contention(&w, line, &paths->contention);
    if (!one->is_simulated) suite_run_warn_of_outlier(&w, line, outcome);
    if (!one->is_simulated) suite_run_warn_of_ranks(&w, line, outcome);
    suite_run_add_wire(&w, line, &paths->wire, one, outcome);
    tell_warnings(line, note, sizeof note);
    suite_run_note_result(run, index, outcome->status, line);
    DIT_TRY(suite_run_finish_line(run, &w, line));
    if (outcome->status == DIT_OUTCOME_OK)
        suite_precision_note(&run->precision, item->case_index, suite_record_latency_ns(outcome->record));
    result_text(outcome, one->is_simulated, result);
    const suite_progress_case told = {.status = dit_outcome_name(outcome->status),
                                      .result = result,
                                      .note = message ? message : note,
                                      .elapsed_s = (double)outcome->elapsed_ns * 1e-9};
    suite_progress_finish(&run->progress, &told);
    return w.status;
}

/* A case of an external engine that cannot be started here is skipped with the reason. */
static bool lacks_engine(const suite_case *one, suite_outcome *outcome)
{
    const suite_engine *engine = suite_engine_of_case(one->document);
    suite_adapter adapter;
    char reason[SUITE_ADAPTER_REASON];
    if (!engine || suite_adapter_find(engine, &adapter, reason)) return false;
    suite_outcome_skip(outcome, reason, "");
    return true;
}

/* A case of devices that this machine does not have, or not enough of, is skipped with the reason. */
bool suite_run_is_skipped(const suite_run_state *run, const suite_case *one, suite_outcome *outcome)
{
    const char *backend = suite_case_platform(one->document, "backend");
    suite_platform platform = {0};
    suite_devices devices;
    char reason[640];
    if (suite_run_wire_refusal(run, one, outcome)) return true;
    if (!suite_backend_is_device(backend)) return lacks_engine(one, outcome);
    if (suite_platform_load(suite_case_platform(one->document, "name"), &platform) != DIT_OK) dit_error_clear();
    suite_devices_find(run->engine, backend, &devices);
    const suite_device_need need = {
        .ranks = one->world_size, .shared = platform.share_devices, .memory_bytes = one->predicted_memory_bytes};
    suite_devices_refusal(&devices, backend, &need, reason);
    if (!reason[0]) return lacks_engine(one, outcome);
    suite_outcome_skip(outcome, reason, devices.hint);
    return true;
}

/* What to do where the launcher itself cannot be started. */
static dit_status hint_launcher(const suite_run_state *run, dit_status st)
{
    bool single = true;
    if (st != DIT_ERR_ENVIRONMENT || strcmp(run->launcher->name, "mpirun") != 0) return st;
    for (int i = 0; i < run->schedule.case_count; i++) single = single && run->schedule.cases[i].world_size == 1;
    if (single) return dit_error_hint(st, "these cases have one rank: --launcher local needs no mpirun");
    return dit_error_hint(st, "apt-get install openmpi-bin; cases of one rank run without it: "
                              "--filter 'world_size == 1' --launcher local");
}

dit_status suite_run_one(suite_run_state *run, int index)
{
    const suite_run_item *item = &run->schedule.items[index];
    const suite_case *one = &run->schedule.cases[item->case_index];
    suite_run_paths paths = {0};
    suite_launch_plan plan;
    suite_outcome outcome = {0};
    char started[32];
    suite_launch_options options = {
        .deadline_s = deadline_of(run, one),
        .signals = run->signals,
        .tick = suite_progress_tick,
        .context = &run->progress,
    };
    DIT_TRY(suite_run_make_launch_plan(run, item, &paths, &plan));
    DIT_TRY(suite_path_remove(paths.out_dir)); /* what a killed harness left half done */
    DIT_TRY(suite_path_make(paths.out_dir));
    suite_progress_start(&run->progress, one->label);
    dit_clock_utc(started);
    dit_status st = DIT_OK;
    suite_contention_sample before, after;
    suite_contention_take(&before);
    bool skipped = suite_run_is_skipped(run, one, &outcome) || !suite_run_open_wire(&paths.wire, &outcome);
    if (!skipped) st = hint_launcher(run, suite_launch_run(suite_run_launcher_of(run, one), &plan, &options, &outcome));
    suite_contention_take(&after);
    if (!skipped) suite_run_close_wire(&paths.wire);
    if (!skipped) paths.contention = suite_contention_between(&before, &after);
    if (st == DIT_OK && !outcome.interrupted) st = record_outcome(run, index, started, &paths, &outcome);
    if (st != DIT_OK) dit_error_note(st, "running %s, process %d", one->label, item->process);
    suite_outcome_release(&outcome);
    return st;
}

/* ---- simulated items --------------------------------------------------------------------------------------------- */

/* Simulated items that follow each other. */
typedef struct {
    suite_run_state *run;
    const int *indices;         /* of the schedule's items */
    double max_time_s;          /* 0: no limit             */
    int64_t started, newest_ns; /* of the run; when the newest case ended */
    bool out_of_time;
    char label[48]; /* of the progress bar */
} run_batch;

static const suite_case *case_of(const suite_run_state *run, int index)
{
    return &run->schedule.cases[run->schedule.items[index].case_index];
}

static bool is_over_time(int64_t started, double max_time_s)
{
    return max_time_s > 0 && (double)(dit_clock_ns() - started) * 1e-9 > max_time_s;
}

static bool batch_goes_on(void *context)
{
    run_batch *batch = context;
    batch->out_of_time = is_over_time(batch->started, batch->max_time_s);
    return !batch->out_of_time;
}

static dit_status batch_done(int item, const char *started, suite_outcome *outcome, void *context)
{
    run_batch *batch = context;
    const suite_run_paths none = {0};
    int index = batch->indices[item];
    batch->run->progress.label = case_of(batch->run, index)->label;
    dit_status st = record_outcome(batch->run, index, started, &none, outcome);
    batch->newest_ns = dit_clock_ns();
    batch->run->progress.label = batch->label;
    return st;
}

static void batch_tick(void *context)
{
    const run_batch *batch = context;
    suite_progress_tick(&batch->run->progress, (double)(dit_clock_ns() - batch->newest_ns) * 1e-9);
}

static dit_status fill_batch(const run_batch *batch, suite_batch_item *items, int count)
{
    for (int i = 0; i < count; i++) {
        const suite_case *one = case_of(batch->run, batch->indices[i]);
        items[i] = (suite_batch_item){.kase = one, .deadline_s = deadline_of(batch->run, one)};
        DIT_TRY(suite_session_process_dir(batch->run->session, one->case_id,
                                          batch->run->schedule.items[batch->indices[i]].process, items[i].out_dir));
    }
    return DIT_OK;
}

static dit_status run_simulated(run_batch *batch, int count)
{
    suite_run_state *run = batch->run;
    suite_batch_item *items = calloc((size_t)count + 1, sizeof *items);
    const suite_batch params = {.items = items,
                                .count = count,
                                .at_once = run->params->jobs,
                                .calibration = &run->calibration,
                                .signals = run->signals,
                                .goes_on = batch_goes_on,
                                .tick = batch_tick,
                                .done = batch_done,
                                .context = batch};
    dit_status st = items ? fill_batch(batch, items, count) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a batch");
    run->progress.at_once = run->params->jobs > 0 ? run->params->jobs : run->cores;
    snprintf(batch->label, sizeof batch->label, "simulations, %d at a time", run->progress.at_once);
    batch->newest_ns = dit_clock_ns();
    suite_progress_start(&run->progress, batch->label);
    if (st == DIT_OK) st = suite_batch_run(&params);
    run->progress.at_once = 1;
    free(items);
    return st;
}

/* ---- all items --------------------------------------------------------------------------------------------------- */

/* Planned, and not run because the case's interval is as narrow as was asked for. */
static bool is_needless(const suite_run_state *run, int index)
{
    return run->status[index] == SUITE_NOT_RUN &&
           suite_precision_is_enough(&run->precision, &run->schedule.items[index]);
}

/* Whether the case is the first on a simulated platform of whose host nothing was fitted. */
static bool has_unknown_host(const suite_run_state *run, int index, const char *platform)
{
    suite_cluster cluster = {0};
    if (!run->schedule.cases[index].is_simulated) return false;
    for (int i = 0; i < index; i++)
        if (strcmp(dit_json_text_or(run->schedule.cases[i].tags, "platform", ""), platform) == 0) return false;
    bool known =
        suite_cluster_load(platform, &cluster) != DIT_OK || suite_calibration_knows_host(&run->calibration, &cluster);
    dit_error_clear();
    suite_cluster_release(&cluster);
    return !known;
}

static void name_unknown_hosts(const suite_run_state *run, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < run->schedule.case_count && used < size; i++) {
        const char *platform = dit_json_text_or(run->schedule.cases[i].tags, "platform", "");
        if (has_unknown_host(run, i, platform))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", platform);
    }
}

void suite_run_fill_summary(suite_run_state *run)
{
    const char *name = dit_json_text_or(run->schedule.workload, "name", NULL);
    suite_run_summary *summary = run->summary;
    int done = 0, needless = 0;
    strncpy(summary->workload, name ? name : "", sizeof summary->workload - 1);
    summary->planned = run->schedule.item_count;
    summary->dropped = cJSON_GetArraySize(run->schedule.dropped);
    memset(summary->counts, 0, sizeof summary->counts);
    summary->verdicts = summary->unsteady = 0;
    for (int i = 0; i < run->schedule.item_count; i++) {
        needless += is_needless(run, i);
        if (run->status[i] == SUITE_NOT_RUN) continue;
        summary->counts[run->status[i]]++;
        summary->unsteady += run->unsteady[i] && run->status[i] == DIT_OUTCOME_OK;
        summary->verdicts += run->status[i] == DIT_OUTCOME_OOM && case_of(run, i)->is_simulated;
        done++;
    }
    summary->complete = done + needless == run->schedule.item_count;
    summary->needless = needless;
    name_unknown_hosts(run, summary->unknown_hosts, sizeof summary->unknown_hosts);
    summary->signal_number = run->signals->received;
}

static int count_left(const suite_run_state *run)
{
    int left = 0;
    for (int i = 0; i < run->schedule.item_count; i++) left += run->status[i] == SUITE_NOT_RUN;
    return left;
}

/* What is left, in order: simulated items that follow each other side by side, measured ones alone. */
static dit_status run_left(suite_run_state *run, const int *left, int count, bool *out_of_time)
{
    run_batch batch = {.run = run, .max_time_s = run->params->max_time_s, .started = dit_clock_ns()};
    for (int i = 0, next; i < count && !*out_of_time; i = next) {
        next = i + 1;
        if (suite_signals_poll(run->signals)) break;
        *out_of_time = is_over_time(batch.started, batch.max_time_s);
        if (*out_of_time) break;
        if (is_needless(run, left[i])) continue;
        if (!case_of(run, left[i])->is_simulated) {
            DIT_TRY(suite_run_one(run, left[i]));
            continue;
        }
        while (next < count && case_of(run, left[next])->is_simulated) next++;
        batch.indices = left + i;
        DIT_TRY(run_simulated(&batch, next - i));
        *out_of_time = batch.out_of_time;
    }
    return DIT_OK;
}

dit_status suite_run_items(suite_run_state *run)
{
    const char *reason = "finished";
    bool out_of_time = false;
    const int64_t started = dit_clock_ns();
    int left = count_left(run), count = 0;
    int *indices = malloc(sizeof *indices * ((size_t)left + 1));
    if (!indices) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the run");
    for (int i = 0; i < run->schedule.item_count; i++)
        if (run->status[i] == SUITE_NOT_RUN) indices[count++] = i;
    suite_progress_init(&run->progress, run->schedule.item_count, run->schedule.item_count - left, run->params->quiet);
    dit_status st = run_left(run, indices, count, &out_of_time);
    free(indices);
    if (out_of_time) reason = "time_limit";
    suite_progress_end(&run->progress);
    run->summary->wall_s = (double)(dit_clock_ns() - started) * 1e-9;
    suite_run_fill_summary(run);
    if (run->summary->complete && run->summary->needless) reason = "precise";
    if (run->signals->received) reason = "interrupted";
    if (st == DIT_OK) st = suite_run_write_end(run, run->summary->complete, reason);
    return st;
}
