#include "suite/run/run.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "reports/text.h"
#include "suite/cases/document.h"
#include "suite/console/progress.h"
#include "suite/console/terminal.h"
#include "suite/launch/scratch.h"
#include "suite/machine/contention.h"
#include "suite/machine/devices.h"
#include "suite/machine/environment.h"
#include "suite/paths.h"
#include "suite/platform/platform.h"
#include "suite/platform/profile.h"
#include "suite/session/history.h"
#include "suite/session/index.h"
#include "suite/session/plan.h"
#include "suite/session/results.h"
#include "suite/session/schedule.h"
#include "suite/simulate/published_lines.h"
#include "suite/simulate/simulated_cases.h"
#include "suite/text.h"
#include "suite/workload/case.h"
#include "suite/workload/load.h"
#include "suite/workload/workload.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_RUN = -1, DEFAULT_DEADLINE_S = 600, RESULT_TEXT = 96, MOST_SAMPLES = 1000 };

/* Everything one run needs; run_release accepts a half-built one. */
typedef struct {
    const suite_run_params *params;
    suite_signals *signals;
    suite_run_summary *summary;
    suite_session *session; /* inside summary */
    suite_schedule schedule;
    suite_history history;
    suite_journal *journal;
    const suite_launcher *launcher;
    suite_calibration calibration; /* of simulated cases */
    char engine[SUITE_PATH];       /* of measured cases; "" without one */
    int *status;                   /* per item: an outcome, or NOT_RUN                        */
    int *good_process;             /* per case: a process that ended ok, or NOT_RUN           */
    int cores;
    bool single_copy;
    suite_progress progress;
} run_state;

static void run_release(run_state *run)
{
    suite_journal_close(run->journal);
    suite_schedule_release(&run->schedule);
    suite_history_release(&run->history);
    suite_calibration_release(&run->calibration);
    free(run->status);
    free(run->good_process);
    suite_scratch_close();
}

static dit_status run_init(run_state *run, const suite_run_params *params, suite_signals *signals,
                           suite_run_summary *summary)
{
    *summary = (suite_run_summary){0};
    *run = (run_state){.params = params, .signals = signals, .summary = summary, .session = &summary->session};
    DIT_TRY(suite_launcher_find(params->launcher ? params->launcher : "mpirun", &run->launcher));
    run->cores = suite_launch_cores();
    return DIT_OK;
}

static int count_simulated(const suite_schedule *schedule)
{
    int count = 0;
    for (int i = 0; i < schedule->case_count; i++) count += schedule->cases[i].is_simulated;
    return count;
}

static dit_status find_simulator(const run_state *run)
{
    const suite_simulate_params params = {0};
    if (run->params->dry_run || !run->launcher->runs) return DIT_OK; /* commands can be shown anywhere */
    dit_status st = suite_simulate_check(&params);
    return st == DIT_OK ? st : dit_error_note(st, "the workload has simulated cases");
}

static dit_status find_engine(run_state *run)
{
    const suite_launcher *simulator;
    DIT_TRY(suite_launcher_find("smpirun", &simulator));
    if (run->launcher == simulator)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "launcher smpirun starts no measured cases, and there are some"),
                              "leave --launcher out: simulated cases are started by it anyway");
    run->single_copy = suite_launch_single_copy();
    return suite_launch_engine(run->params->engine, run->engine);
}

/* What the planned cases need of this machine, before anything is run. */
static dit_status find_programs(run_state *run)
{
    int simulated = count_simulated(&run->schedule);
    if (simulated) DIT_TRY(find_simulator(run));
    return simulated == run->schedule.case_count && simulated ? DIT_OK : find_engine(run);
}

/* Places for what is known of each item and case, all still unknown. */
static dit_status run_make_tables(run_state *run)
{
    run->status = malloc(sizeof *run->status * ((size_t)run->schedule.item_count + 1));
    run->good_process = malloc(sizeof *run->good_process * ((size_t)run->schedule.case_count + 1));
    if (!run->status || !run->good_process) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the run");
    for (int i = 0; i < run->schedule.item_count; i++) run->status[i] = NOT_RUN;
    for (int i = 0; i < run->schedule.case_count; i++) run->good_process[i] = NOT_RUN;
    return DIT_OK;
}

static void note_status(run_state *run, int index, dit_outcome status)
{
    const suite_run_item *item = &run->schedule.items[index];
    run->status[index] = (int)status;
    if (status == DIT_OUTCOME_OK) run->good_process[item->case_index] = item->process;
}

/* ---- journal lines ----------------------------------------------------------------------------------------------- */

static cJSON *start_line(const char *kind)
{
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "kind", kind);
    return line;
}

static dit_status add_now(cJSON *line, const char *key)
{
    char now[32];
    dit_clock_utc(now);
    return dit_json_add_string(line, key, now);
}

/* Appends and deletes the line. */
static dit_status finish_line(run_state *run, cJSON *line, dit_status st)
{
    if (st == DIT_OK) st = suite_journal_append(run->journal, line);
    cJSON_Delete(line);
    return st;
}

static dit_status add_command_line(cJSON *line, const suite_run_params *params)
{
    cJSON *list = cJSON_AddArrayToObject(line, "cmdline");
    for (int i = 0; i < params->argc; i++) cJSON_AddItemToArray(list, cJSON_CreateString(params->argv[i]));
    return DIT_OK;
}

static dit_status add_plan(cJSON *line, const suite_schedule *schedule)
{
    cJSON *plan = cJSON_AddObjectToObject(line, "plan");
    const cJSON *seed = cJSON_GetObjectItemCaseSensitive(schedule->workload, "seed");
    if (seed) cJSON_AddItemToObject(plan, "seed", cJSON_Duplicate(seed, true));
    DIT_TRY(dit_json_add_int(plan, "runs", schedule->item_count));
    DIT_TRY(dit_json_add_int(plan, "cases", schedule->case_count));
    return dit_json_add_string(plan, "hash", schedule->hash);
}

static dit_status add_machine(cJSON *line)
{
    cJSON *hardware = NULL, *software = NULL, *suite = NULL;
    DIT_TRY(suite_environment_hardware(&hardware));
    cJSON_AddItemToObject(line, "hardware", hardware);
    DIT_TRY(suite_environment_software(&software));
    cJSON_AddItemToObject(line, "environment", software);
    dit_status st = suite_environment_suite(&suite);
    cJSON_AddItemToObject(line, "suite", suite);
    return st;
}

/* What laid values over the files of machines and software; nothing when nothing did. */
static dit_status add_calibration(cJSON *simulation, const suite_calibration *calibration)
{
    char *text = NULL, hash[DIT_HASH_HEX];
    if (!calibration->source.root) return DIT_OK;
    DIT_TRY(dit_json_canonical(calibration->source.root, &text));
    dit_hash(text, strlen(text), hash);
    free(text);
    cJSON *object = cJSON_AddObjectToObject(simulation, "calibration");
    DIT_TRY(suite_text_add(object, "file", suite_calibration_path(calibration)));
    return dit_json_add_string(object, "hash", hash);
}

/* The software of the simulated cases, each stack once. */
static dit_status add_profiles(const suite_schedule *schedule, cJSON *simulation)
{
    cJSON *profiles = cJSON_AddObjectToObject(simulation, "profiles");
    for (int i = 0; i < schedule->case_count; i++) {
        const char *name = suite_case_platform(schedule->cases[i].document, "profile");
        suite_profile profile;
        if (!schedule->cases[i].is_simulated || cJSON_GetObjectItemCaseSensitive(profiles, name)) continue;
        DIT_TRY(suite_profile_load(name, &profile));
        DIT_TRY(suite_profile_add(&profile, profiles));
    }
    return DIT_OK;
}

/* Of sessions with simulated cases. */
static dit_status add_simulation(const run_state *run, cJSON *line)
{
    char version[256];
    if (!count_simulated(&run->schedule)) return DIT_OK;
    cJSON *simulation = cJSON_AddObjectToObject(line, "simulation");
    suite_environment_probe("smpirun --version 2>/dev/null", version, sizeof version);
    DIT_TRY(suite_text_add(simulation, "simulator", version));
    DIT_TRY(add_profiles(&run->schedule, simulation));
    return add_calibration(simulation, &run->calibration);
}

/* What a person calls the session. */
static dit_status add_names(cJSON *line, const suite_run_params *params)
{
    DIT_TRY(suite_text_add(line, "name", params->name));
    DIT_TRY(suite_text_add(line, "note", params->note));
    cJSON *tags = params->tags.count ? cJSON_AddArrayToObject(line, "tags") : NULL;
    for (int i = 0; i < params->tags.count; i++) cJSON_AddItemToArray(tags, cJSON_CreateString(params->tags.items[i]));
    return DIT_OK;
}

/* What makes times doubtful, as data: "warnings" of a session line or of a result. */
static dit_status add_warning(cJSON *line, const char *text)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(line, "warnings"), *item = cJSON_CreateString(text);
    if (!list) list = cJSON_AddArrayToObject(line, "warnings");
    if (list && item && cJSON_AddItemToArray(list, item)) return DIT_OK;
    cJSON_Delete(item);
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a warning");
}

/* A machine that is busy before anything is measured: told now, when one can still wait, and kept. */
static dit_status add_business(const run_state *run, cJSON *line)
{
    char text[128];
    double load = 0;
    if (count_simulated(&run->schedule) == run->schedule.case_count) return DIT_OK;
    suite_contention contention = suite_contention_now();
    if (!suite_contention_is_high(&contention)) return DIT_OK;
    suite_contention_text(&contention, text, sizeof text);
    if (getloadavg(&load, 1) != 1) load = 0;
    dit_log_warning("%s (load average %.1f) before the first case: latencies will be longer, and scatter", text, load);
    return add_warning(line, text);
}

static dit_status fill_session_line(run_state *run, cJSON *line)
{
    DIT_TRY(dit_json_add_string(line, "schema", "ditbench.journal/1"));
    DIT_TRY(suite_text_add(line, "session_id", run->session->name));
    DIT_TRY(add_names(line, run->params));
    DIT_TRY(add_now(line, "started"));
    cJSON_AddItemToObject(line, "workload", cJSON_Duplicate(run->schedule.workload, true));
    DIT_TRY(add_command_line(line, run->params));
    DIT_TRY(add_plan(line, &run->schedule));
    DIT_TRY(add_simulation(run, line));
    DIT_TRY(add_business(run, line));
    return add_machine(line);
}

/* Lines of `kind` for the entries of a list of the plan that the journal does not have yet. */
static dit_status write_list(run_state *run, const char *kind, const cJSON *list, int written)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list)
    {
        if (written-- > 0) continue;
        cJSON *line = cJSON_Duplicate(entry, true);
        cJSON_AddStringToObject(line, "kind", kind);
        DIT_TRY(finish_line(run, line, DIT_OK));
    }
    return DIT_OK;
}

/* The session line, and those of dropped cells and published points, as far as the journal lacks them. */
static dit_status write_head(run_state *run)
{
    if (suite_journal_lines(run->journal) == 0) {
        cJSON *line = start_line("session");
        DIT_TRY(finish_line(run, line, fill_session_line(run, line)));
    }
    DIT_TRY(write_list(run, "dropped", run->schedule.dropped, run->history.dropped_count));
    return write_list(run, "published", run->schedule.published, run->history.published_count);
}

static dit_status write_resume(run_state *run)
{
    cJSON *line = start_line("resume");
    dit_status st = add_now(line, "started");
    if (st == DIT_OK) st = add_command_line(line, run->params);
    return finish_line(run, line, st);
}

static dit_status write_end(run_state *run, bool complete, const char *reason)
{
    cJSON *line = start_line("end");
    cJSON_AddBoolToObject(line, "complete", complete);
    cJSON_AddStringToObject(line, "end_reason", reason);
    return finish_line(run, line, add_now(line, "ended"));
}

/* An iteration far from the others: what ran beside it, and no property of the case. */
static dit_status warn_of_outlier(cJSON *line, const suite_outcome *outcome)
{
    const cJSON *samples = cJSON_GetObjectItemCaseSensitive(outcome->record, "samples");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(samples, "latency_ns"), *item;
    double values[MOST_SAMPLES];
    char text[128];
    int count = 0;
    cJSON_ArrayForEach(item, list) if (count < MOST_SAMPLES) values[count++] = item->valuedouble;
    int worst = dit_stats_outlier(values, count);
    if (worst < 0 || outcome->status != DIT_OUTCOME_OK) return DIT_OK;
    snprintf(text, sizeof text, "outlier: iteration %d of %d took %.2g times the median", worst + 1, count,
             values[worst] / dit_stats_median(values, count));
    return add_warning(line, text);
}

static dit_status add_contention(cJSON *line, const suite_contention *contention)
{
    char text[128];
    if (!contention->known) return DIT_OK;
    DIT_TRY(dit_json_add_number(line, "other_cores", contention->other_cores));
    if (!suite_contention_is_high(contention)) return DIT_OK;
    suite_contention_text(contention, text, sizeof text);
    return add_warning(line, text);
}

static dit_status fill_result_line(cJSON *line, const suite_case *one, const suite_run_item *item,
                                   suite_outcome *outcome)
{
    DIT_TRY(dit_json_add_string(line, "case_id", one->case_id));
    DIT_TRY(suite_text_add(line, "label", one->label));
    DIT_TRY(dit_json_add_int(line, "process", item->process));
    DIT_TRY(dit_json_add_int(line, "order", item->order));
    DIT_TRY(dit_json_add_int(line, "block", item->block));
    DIT_TRY(add_now(line, "ended"));
    DIT_TRY(dit_json_add_int(line, "elapsed_ns", outcome->elapsed_ns));
    DIT_TRY(dit_json_add_int(line, "exit_code", outcome->exit_code));
    DIT_TRY(dit_json_add_string(line, "status", dit_outcome_name(outcome->status)));
    if (outcome->error) cJSON_AddItemToObject(line, "error", cJSON_Duplicate(outcome->error, true));
    cJSON_AddItemToObject(line, "case", cJSON_Duplicate(one->document, true));
    cJSON_AddItemToObject(line, "tags", cJSON_Duplicate(one->tags, true));
    if (outcome->record) cJSON_AddItemToObject(line, "record", cJSON_Duplicate(outcome->record, true));
    return DIT_OK;
}

/* ---- one item ---------------------------------------------------------------------------------------------------- */

/* What a one-rank case leaves for the others to be compared with. */
static const char *reference_file(const suite_case *one)
{
    const char *program = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one->document, "program"));
    return program && strcmp(program, "vae_decode") == 0 ? "images" : "latents";
}

/* Case `index` if a process of it ended ok, with the path of what it left; else NULL. */
static const suite_case *result_of(const run_state *run, int index, char out[SUITE_PATH])
{
    const suite_case *one = &run->schedule.cases[index];
    if (run->good_process[index] == NOT_RUN) return NULL;
    if (suite_path(out, "%s/cases/%s/p%d/%s.safetensors", run->session->dir, one->case_id, run->good_process[index],
                   reference_file(one)) != DIT_OK)
        return NULL;
    return access(out, R_OK) == 0 ? one : NULL;
}

/* The one-rank case with the same reference_id, if there is a result of it yet. An oracle is compared with nothing. */
static const suite_case *find_reference(const run_state *run, const suite_case *one, char out[SUITE_PATH])
{
    const suite_case *found = NULL;
    for (int i = 0; i < run->schedule.case_count && !found && one->reference_id[0] && !one->is_oracle; i++) {
        const suite_case *other = &run->schedule.cases[i];
        if (other->is_reference && strcmp(other->reference_id, one->reference_id) == 0) found = result_of(run, i, out);
    }
    return found;
}

/* The oracle of an approximate case, if there is a result of it yet. */
static const suite_case *find_oracle(const run_state *run, const suite_case *one, char out[SUITE_PATH])
{
    const suite_case *found = NULL;
    for (int i = 0; i < run->schedule.case_count && !found && one->oracle_id[0]; i++)
        if (strcmp(run->schedule.cases[i].case_id, one->oracle_id) == 0) found = result_of(run, i, out);
    return found;
}

static double deadline_of(const run_state *run, const suite_case *one)
{
    if (run->params->timeout_s > 0) return run->params->timeout_s;
    return one->deadline_s > 0 ? (double)one->deadline_s : DEFAULT_DEADLINE_S;
}

/* Paths of one item's launch. */
typedef struct {
    char case_file[SUITE_PATH], out_dir[SUITE_PATH], reference[SUITE_PATH], oracle[SUITE_PATH];
    const suite_case *reference_case, *oracle_case; /* NULL: none */
    suite_contention contention;                    /* while it ran; unknown of a simulation */
} item_paths;

static dit_status make_launch_plan(const run_state *run, const suite_run_item *item, item_paths *paths,
                                   suite_launch_plan *out)
{
    const suite_case *one = &run->schedule.cases[item->case_index];
    DIT_TRY(suite_path(paths->case_file, "%s/cases/%s/case.json", run->session->dir, one->case_id));
    DIT_TRY(suite_session_process_dir(run->session, one->case_id, item->process, paths->out_dir));
    paths->reference_case = find_reference(run, one, paths->reference);
    paths->oracle_case = find_oracle(run, one, paths->oracle);
    *out = (suite_launch_plan){
        .engine = run->engine,
        .case_file = paths->case_file,
        .out_dir = paths->out_dir,
        .reference = paths->reference_case ? paths->reference : NULL,
        .oracle = paths->oracle_case ? paths->oracle : NULL,
        .world_size = one->world_size,
        .threads_per_rank = suite_case_threads(one->document),
        .cores = run->cores,
        .single_copy = run->single_copy,
    };
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
    snprintf(out, RESULT_TEXT, "%s%s", latency, simulated ? " simulated" : "");
}

/* "busy: ...; outlier: ...", for the line of the case; "" when nothing is doubtful. */
static void tell_warnings(const cJSON *line, char *out, size_t size)
{
    const cJSON *item;
    size_t used = 0;
    out[0] = '\0';
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(line, "warnings")) if (used < size) used +=
        (size_t)snprintf(out + used, size - used, "%s%s", used ? "; " : "", item->valuestring);
}

static dit_status record_outcome(run_state *run, int index, const char *started, const item_paths *paths,
                                 suite_outcome *outcome)
{
    const suite_run_item *item = &run->schedule.items[index];
    const suite_case *one = &run->schedule.cases[item->case_index];
    const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(outcome->error, "message"));
    char result[RESULT_TEXT], note[256];
    cJSON *line = start_line("result");
    cJSON_AddStringToObject(line, "started", started);
    if (paths->reference_case) cJSON_AddStringToObject(line, "reference_case", paths->reference_case->case_id);
    if (paths->oracle_case) cJSON_AddStringToObject(line, "oracle_case", paths->oracle_case->case_id);
    dit_status st = fill_result_line(line, one, item, outcome);
    if (st == DIT_OK && !one->is_simulated) st = add_contention(line, &paths->contention);
    if (st == DIT_OK && !one->is_simulated) st = warn_of_outlier(line, outcome);
    tell_warnings(line, note, sizeof note);
    DIT_TRY(finish_line(run, line, st));
    note_status(run, index, outcome->status);
    result_text(outcome, one->is_simulated, result);
    const suite_progress_case told = {.status = dit_outcome_name(outcome->status),
                                      .result = result,
                                      .note = message ? message : note,
                                      .elapsed_s = (double)outcome->elapsed_ns * 1e-9};
    suite_progress_finish(&run->progress, &told);
    return DIT_OK;
}

/* A case of devices that this machine does not have, or not enough of, is skipped with the reason. */
static bool is_skipped(const run_state *run, const suite_case *one, suite_outcome *outcome)
{
    const char *backend = suite_case_platform(one->document, "backend");
    suite_platform platform = {0};
    suite_devices devices;
    char reason[640];
    if (!suite_backend_is_device(backend)) return false;
    if (suite_platform_load(suite_case_platform(one->document, "name"), &platform) != DIT_OK) dit_error_clear();
    suite_devices_find(run->engine, backend, &devices);
    const suite_device_need need = {
        .ranks = one->world_size, .shared = platform.share_devices, .memory_bytes = one->predicted_memory_bytes};
    suite_devices_refusal(&devices, backend, &need, reason);
    if (!reason[0]) return false;
    suite_outcome_skip(outcome, reason, devices.hint);
    return true;
}

/* What to do where the launcher itself cannot be started. */
static dit_status hint_launcher(const run_state *run, dit_status st)
{
    bool single = true;
    if (st != DIT_ERR_ENVIRONMENT || strcmp(run->launcher->name, "mpirun") != 0) return st;
    for (int i = 0; i < run->schedule.case_count; i++) single = single && run->schedule.cases[i].world_size == 1;
    if (single) return dit_error_hint(st, "these cases have one rank: --launcher local needs no mpirun");
    return dit_error_hint(st, "apt-get install openmpi-bin; cases of one rank run without it: "
                              "--filter 'world_size == 1' --launcher local");
}

static dit_status run_item(run_state *run, int index)
{
    const suite_run_item *item = &run->schedule.items[index];
    const suite_case *one = &run->schedule.cases[item->case_index];
    item_paths paths = {0};
    suite_launch_plan plan;
    suite_outcome outcome = {0};
    char started[32];
    suite_launch_options options = {
        .deadline_s = deadline_of(run, one),
        .signals = run->signals,
        .tick = suite_progress_tick,
        .context = &run->progress,
    };
    DIT_TRY(make_launch_plan(run, item, &paths, &plan));
    DIT_TRY(suite_path_remove(paths.out_dir)); /* what a killed harness left half done */
    DIT_TRY(suite_path_make(paths.out_dir));
    suite_progress_start(&run->progress, one->label);
    dit_clock_utc(started);
    dit_status st = DIT_OK;
    suite_contention_sample before, after;
    suite_contention_take(&before);
    bool skipped = is_skipped(run, one, &outcome);
    if (!skipped) st = hint_launcher(run, suite_launch_run(run->launcher, &plan, &options, &outcome));
    suite_contention_take(&after);
    if (!skipped) paths.contention = suite_contention_between(&before, &after);
    if (st == DIT_OK && !outcome.interrupted) st = record_outcome(run, index, started, &paths, &outcome);
    if (st != DIT_OK) dit_error_note(st, "running %s, process %d", one->label, item->process);
    suite_outcome_release(&outcome);
    return st;
}

/* ---- simulated items --------------------------------------------------------------------------------------------- */

/* Simulated items that follow each other. */
typedef struct {
    run_state *run;
    const int *indices;         /* of the schedule's items */
    double max_time_s;          /* 0: no limit             */
    int64_t started, newest_ns; /* of the run; when the newest case ended */
    bool out_of_time;
    char label[48]; /* of the progress bar */
} run_batch;

static const suite_case *case_of(const run_state *run, int index)
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
    const item_paths none = {0};
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
    run_state *run = batch->run;
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

static void fill_summary(run_state *run)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run->schedule.workload, "name"));
    suite_run_summary *summary = run->summary;
    int done = 0;
    strncpy(summary->workload, name ? name : "", sizeof summary->workload - 1);
    summary->planned = run->schedule.item_count;
    summary->dropped = cJSON_GetArraySize(run->schedule.dropped);
    memset(summary->counts, 0, sizeof summary->counts);
    summary->verdicts = 0;
    for (int i = 0; i < run->schedule.item_count; i++) {
        if (run->status[i] == NOT_RUN) continue;
        summary->counts[run->status[i]]++;
        summary->verdicts += run->status[i] == DIT_OUTCOME_OOM && case_of(run, i)->is_simulated;
        done++;
    }
    summary->complete = done == run->schedule.item_count;
    summary->signal_number = run->signals->received;
}

static int count_left(const run_state *run)
{
    int left = 0;
    for (int i = 0; i < run->schedule.item_count; i++) left += run->status[i] == NOT_RUN;
    return left;
}

/* What is left, in order: simulated items that follow each other side by side, measured ones alone. */
static dit_status run_left(run_state *run, const int *left, int count, bool *out_of_time)
{
    run_batch batch = {.run = run, .max_time_s = run->params->max_time_s, .started = dit_clock_ns()};
    for (int i = 0, next; i < count && !*out_of_time; i = next) {
        next = i + 1;
        if (suite_signals_poll(run->signals)) break;
        *out_of_time = is_over_time(batch.started, batch.max_time_s);
        if (*out_of_time) break;
        if (!case_of(run, left[i])->is_simulated) {
            DIT_TRY(run_item(run, left[i]));
            continue;
        }
        while (next < count && case_of(run, left[next])->is_simulated) next++;
        batch.indices = left + i;
        DIT_TRY(run_simulated(&batch, next - i));
        *out_of_time = batch.out_of_time;
    }
    return DIT_OK;
}

static dit_status run_items(run_state *run)
{
    const char *reason = "finished";
    bool out_of_time = false;
    const int64_t started = dit_clock_ns();
    int left = count_left(run), count = 0;
    int *indices = malloc(sizeof *indices * ((size_t)left + 1));
    if (!indices) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the run");
    for (int i = 0; i < run->schedule.item_count; i++)
        if (run->status[i] == NOT_RUN) indices[count++] = i;
    suite_progress_init(&run->progress, run->schedule.item_count, run->schedule.item_count - left, run->params->quiet);
    dit_status st = run_left(run, indices, count, &out_of_time);
    free(indices);
    if (out_of_time) reason = "time_limit";
    suite_progress_end(&run->progress);
    run->summary->wall_s = (double)(dit_clock_ns() - started) * 1e-9;
    fill_summary(run);
    if (run->signals->received) reason = "interrupted";
    if (st == DIT_OK) st = write_end(run, run->summary->complete, reason);
    return st;
}

/* ---- commands only ----------------------------------------------------------------------------------------------- */

static char *command_text(const suite_launcher *launcher, const suite_launch_plan *plan)
{
    suite_command command = {0};
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    if (file && launcher->command(plan, &command) == DIT_OK) suite_command_print(&command, file);
    if (file) fclose(file);
    suite_command_release(&command);
    return text;
}

/* A printed command can be run: unless nothing is to be written, what a simulation starts from is left for it. */
static dit_status preview_simulated(const run_state *run, const suite_case *one, const char *out_dir, char **text)
{
    const suite_launcher *launcher;
    suite_launch_plan plan;
    char engine[SUITE_PATH];
    DIT_TRY(suite_launcher_find("smpirun", &launcher));
    DIT_TRY(suite_batch_plan(one, out_dir, engine, &plan));
    if (!run->params->dry_run) DIT_TRY(suite_path_make(out_dir));
    if (!run->params->dry_run) DIT_TRY(suite_batch_prepare(one, &run->calibration, out_dir));
    *text = command_text(launcher, &plan);
    return DIT_OK;
}

static dit_status preview_item(const run_state *run, const suite_run_item *item, cJSON *list)
{
    const suite_case *one = &run->schedule.cases[item->case_index];
    item_paths paths;
    suite_launch_plan plan;
    char *text = NULL;
    DIT_TRY(make_launch_plan(run, item, &paths, &plan));
    if (one->is_simulated)
        DIT_TRY(preview_simulated(run, one, paths.out_dir, &text));
    else
        text = command_text(run->launcher, &plan);
    if (run->params->previews) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(list, row);
        DIT_TRY(dit_json_add_int(row, "order", item->order));
        DIT_TRY(dit_json_add_int(row, "process", item->process));
        DIT_TRY(dit_json_add_int(row, "block", item->block));
        DIT_TRY(dit_json_add_string(row, "case_id", one->case_id));
        DIT_TRY(suite_text_add(row, "label", one->label));
        DIT_TRY(suite_text_add(row, "command", text));
    } else {
        printf("# %d  %s  process %d\n%s\n", item->order, one->label, item->process, text ? text : "");
    }
    free(text);
    return DIT_OK;
}

/* Prints the plan with its commands; an unwritten session is called SESSION. */
static dit_status preview(run_state *run)
{
    dit_status st = DIT_OK;
    cJSON *document = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(document, "runs");
    if (!run->session->dir[0]) strcpy(run->session->dir, "SESSION");
    fill_summary(run);
    cJSON_AddStringToObject(document, "workload", run->summary->workload);
    if (!run->params->previews) {
        printf("# workload %s: %d run%s of %d case%s, %d cell%s dropped\n", run->summary->workload,
               run->schedule.item_count, suite_plural(run->schedule.item_count), run->schedule.case_count,
               suite_plural(run->schedule.case_count), run->summary->dropped, suite_plural(run->summary->dropped));
    }
    for (int i = 0; i < run->schedule.item_count && st == DIT_OK; i++)
        st = preview_item(run, &run->schedule.items[i], list);
    cJSON_AddItemToObject(document, "dropped", cJSON_Duplicate(run->schedule.dropped, true));
    if (!run->params->previews || !cJSON_AddItemToArray(run->params->previews, document)) cJSON_Delete(document);
    return st;
}

/* ---- workload ---------------------------------------------------------------------------------------------------- */

static dit_status plan_workload(run_state *run, const char *path)
{
    suite_workload workload = {0};
    dit_status st = DIT_OK;
    DIT_TRY_GOTO(st, suite_workload_load_set(path, &run->params->settings, &workload), done);
    DIT_TRY_GOTO(st, suite_workload_require_cases(&workload), done);
    if (run->params->processes > 0) workload.processes = run->params->processes;
    if (run->params->trace) DIT_TRY_GOTO(st, suite_workload_trace(&workload), done);
    DIT_TRY_GOTO(st, suite_schedule_make(&workload, run->params->filter, &run->schedule), done);
    DIT_TRY_GOTO(st, find_programs(run), done);
    DIT_TRY_GOTO(st, suite_calibration_load(run->params->calibration, &run->calibration), done);
    DIT_TRY_GOTO(st, suite_published_lines(&workload, &run->calibration, &run->schedule.published), done);
    st = run_make_tables(run);
done:
    suite_workload_release(&workload);
    return st;
}

/* Whether something is to be done: not where every case needs devices that are not here. */
static bool runs_something(const run_state *run)
{
    bool found = false;
    for (int i = 0; i < run->schedule.case_count && !found; i++) {
        suite_outcome outcome = {0};
        found = !is_skipped(run, &run->schedule.cases[i], &outcome);
        suite_outcome_release(&outcome);
    }
    return found;
}

/* The folder, the lock, the plan, the first line: in this order, so that what is half made is never run. */
static dit_status open_session(run_state *run)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run->schedule.workload, "name"));
    if (run->params->name) name = run->params->name;
    DIT_TRY(suite_session_create(run->params->output, name ? name : "workload", run->session));
    DIT_TRY(suite_journal_open(run->session->journal, NULL, NULL, &run->journal));
    DIT_TRY(suite_schedule_save(&run->schedule, run->session));
    DIT_TRY(write_head(run));
    if (runs_something(run))
        suite_session_make_latest(run->session);
    else
        run->summary->stays_behind = true;
    return DIT_OK;
}

/* The index is a convenience of `list`; where it cannot be written, list reads the journals. */
static void save_index(const run_state *run)
{
    char root[SUITE_PATH];
    const char *slash = strrchr(run->session->dir, '/');
    if (!slash || run->params->output || suite_path(root, "%.*s", (int)(slash - run->session->dir), run->session->dir))
        return;
    if (suite_index_save(root) != DIT_OK) dit_log_debug("no index: %s", dit_error_last()->message);
    dit_error_clear();
}

dit_status suite_run_check(const char *workload, const suite_run_params *params)
{
    suite_run_summary summary;
    run_state run;
    dit_status st = run_init(&run, params, NULL, &summary);
    if (st == DIT_OK) st = plan_workload(&run, workload);
    run_release(&run);
    return st;
}

dit_status suite_run_workload(const char *workload, const suite_run_params *params, suite_signals *signals,
                              suite_run_summary *out)
{
    run_state run;
    dit_status st = run_init(&run, params, signals, out);
    if (st == DIT_OK) st = plan_workload(&run, workload);
    if (st == DIT_OK && !params->dry_run) st = open_session(&run);
    if (st == DIT_OK) st = params->dry_run || !run.launcher->runs ? preview(&run) : run_items(&run);
    if (st == DIT_OK && !params->dry_run && run.launcher->runs) save_index(&run);
    run_release(&run);
    return st;
}

/* ---- resume ------------------------------------------------------------------------------------------------------ */

static bool is_worth_retrying(dit_outcome status)
{
    return status == DIT_OUTCOME_FAILED || status == DIT_OUTCOME_TIMEOUT || status == DIT_OUTCOME_OOM;
}

/* What the journal says of each item. */
static void take_history(run_state *run)
{
    for (int i = 0; i < run->schedule.item_count; i++) {
        const suite_run_item *item = &run->schedule.items[i];
        const suite_case *one = &run->schedule.cases[item->case_index];
        const suite_history_result *result = suite_history_find(&run->history, one->case_id, item->process);
        bool verdict = result && result->status == DIT_OUTCOME_OOM && one->is_simulated;
        if (!result || (run->params->retry_failed && !verdict && is_worth_retrying(result->status))) continue;
        note_status(run, i, result->status);
    }
}

static dit_status check_same_plan(const run_state *run)
{
    const cJSON *plan = cJSON_GetObjectItemCaseSensitive(run->history.session, "plan");
    const char *hash = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(plan, "hash"));
    if (!run->history.session || (hash && strcmp(hash, run->schedule.hash) == 0)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_INTEGRITY, "%s/plan.json is not the plan that this session was started with",
                    run->session->dir);
}

static dit_status check_same_hardware(const run_state *run)
{
    const cJSON *then = cJSON_GetObjectItemCaseSensitive(run->history.session, "hardware");
    const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(then, "hardware_id"));
    cJSON *now = NULL;
    if (!id || run->params->other_hardware) return DIT_OK;
    DIT_TRY(suite_environment_hardware(&now));
    const char *here = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(now, "hardware_id"));
    bool same = here && strcmp(here, id) == 0;
    cJSON_Delete(now);
    if (same) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "this session was begun on other hardware (%s)", id),
                          "run the workload anew here, or allow the mixture with --other-hardware");
}

/* Of the session: results with other values would not belong together. */
static dit_status load_same_calibration(run_state *run)
{
    const cJSON *simulation = cJSON_GetObjectItemCaseSensitive(run->history.session, "simulation");
    const cJSON *then = cJSON_GetObjectItemCaseSensitive(simulation, "calibration");
    const char *file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(then, "file"));
    if (!simulation) return suite_calibration_load(run->history.session ? "none" : NULL, &run->calibration);
    DIT_TRY(suite_calibration_load(file ? file : "none", &run->calibration));
    cJSON *now = cJSON_CreateObject();
    dit_status st = now ? add_calibration(now, &run->calibration) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a name");
    const cJSON *loaded = cJSON_GetObjectItemCaseSensitive(now, "calibration");
    if (st == DIT_OK && then && !cJSON_Compare(then, loaded, true))
        st = dit_error_hint(DIT_FAIL(DIT_ERR_INTEGRITY, "%s is not what this session was begun with", file),
                            "put the file back, or run the workload anew");
    cJSON_Delete(now);
    return st;
}

static dit_status reopen_session(run_state *run, const char *name)
{
    char prefix[SUITE_PATH];
    DIT_TRY(suite_session_find(name, run->session));
    DIT_TRY(suite_journal_open(run->session->journal, suite_history_visit, &run->history, &run->journal));
    suite_history_finish(&run->history);
    DIT_TRY(suite_path(prefix, "%s/", run->session->dir));
    int stale = suite_process_sweep(prefix);
    if (stale) dit_log_info("ended %d process%s that the last run left behind", stale, stale == 1 ? "" : "es");
    dit_status st = suite_schedule_load(run->session, &run->schedule);
    if (st != DIT_OK) return dit_error_note(st, "reading the plan of session %s", run->session->name);
    DIT_TRY(check_same_plan(run));
    DIT_TRY(check_same_hardware(run));
    DIT_TRY(find_programs(run));
    DIT_TRY(load_same_calibration(run));
    DIT_TRY(run_make_tables(run));
    take_history(run);
    return DIT_OK;
}

static dit_status continue_items(run_state *run)
{
    bool had_head = run->history.session != NULL;
    DIT_TRY(write_head(run));
    fill_summary(run);
    if (run->summary->complete && run->history.complete) {
        dit_log_info("nothing to do: the session is complete");
        return DIT_OK;
    }
    if (had_head) DIT_TRY(write_resume(run));
    return run_items(run);
}

dit_status suite_run_resume(const char *session, const suite_run_params *params, suite_signals *signals,
                            suite_run_summary *out)
{
    run_state run;
    dit_status st = run_init(&run, params, signals, out);
    if (st == DIT_OK) st = reopen_session(&run, session);
    if (st == DIT_OK) st = params->dry_run || !run.launcher->runs ? preview(&run) : continue_items(&run);
    if (st == DIT_OK && !params->dry_run && run.launcher->runs) save_index(&run);
    run_release(&run);
    return st;
}

/* ---- summary ----------------------------------------------------------------------------------------------------- */

int suite_run_exit_code(const suite_run_summary *summaries, int count)
{
    bool interrupted = false, wrong = false, failed = false, ran = false, skipped = false, terminated = false;
    for (int i = 0; i < count; i++) {
        const suite_run_summary *one = &summaries[i];
        interrupted |= one->signal_number == SIGINT;
        terminated |= one->signal_number == SIGTERM;
        wrong |= one->counts[DIT_OUTCOME_INVALID] > 0;
        failed |= one->counts[DIT_OUTCOME_FAILED] + one->counts[DIT_OUTCOME_TIMEOUT] + one->counts[DIT_OUTCOME_OOM] -
                      one->verdicts >
                  0;
        ran |= one->counts[DIT_OUTCOME_OK] + one->verdicts > 0;
        skipped |= one->counts[DIT_OUTCOME_SKIPPED] > 0 || one->planned == 0;
    }
    if (interrupted || terminated) return interrupted ? DIT_EXIT_INTERRUPTED : DIT_EXIT_TERMINATED;
    if (wrong) return DIT_EXIT_VERIFICATION;
    if (failed) return DIT_EXIT_CASE;
    return skipped && !ran ? DIT_EXIT_SKIPPED : DIT_EXIT_OK;
}

cJSON *suite_run_summary_json(const suite_run_summary *summary)
{
    cJSON *document = cJSON_CreateObject();
    int done = 0;
    cJSON_AddStringToObject(document, "session", summary->session.name);
    cJSON_AddStringToObject(document, "path", summary->session.dir);
    cJSON_AddStringToObject(document, "workload", summary->workload);
    cJSON_AddNumberToObject(document, "planned", summary->planned);
    for (int i = 0; i < DIT_OUTCOME_COUNT; i++) {
        cJSON_AddNumberToObject(document, dit_outcome_name((dit_outcome)i), summary->counts[i]);
        done += summary->counts[i];
    }
    cJSON_AddNumberToObject(document, "done", done);
    cJSON_AddNumberToObject(document, "dropped", summary->dropped);
    cJSON_AddBoolToObject(document, "complete", summary->complete);
    if (!summary->complete) cJSON_AddStringToObject(document, "resume", summary->session.dir);
    return document;
}

/* What another command calls the session: its name where it lies among the others, else its path, quoted for a shell
 * where that is needed. */
static void name_session(const suite_session *session, char *out, size_t size)
{
    char root[SUITE_PATH], among[SUITE_PATH], real[SUITE_PATH];
    bool named = suite_session_root(root) == DIT_OK && suite_path(among, "%s/%s", root, session->name) == DIT_OK &&
                 realpath(among, real) && strcmp(real, session->dir) == 0;
    const char *text = named ? session->name : session->dir;
    snprintf(out, size, strpbrk(text, " \t'\"$&;()<>|*?`\\") ? "'%s'" : "%s", text);
}

static void print_counts(const suite_run_summary *summary)
{
    int done = 0;
    char took[32];
    for (int i = 0; i < DIT_OUTCOME_COUNT; i++) done += summary->counts[i];
    printf("%s: %d of %d run%s", summary->workload, done, summary->planned, suite_plural(summary->planned));
    for (int i = 0; i < DIT_OUTCOME_COUNT; i++) {
        const char *word = dit_outcome_name((dit_outcome)i);
        if (summary->counts[i])
            printf(", %s%d %s%s", suite_colour_start(stdout, word), summary->counts[i], word,
                   suite_colour_end(stdout, word));
    }
    suite_progress_duration(summary->wall_s, took);
    if (summary->wall_s > 0) printf(", in %s", took);
    if (summary->dropped) printf("; %d cell%s dropped", summary->dropped, suite_plural(summary->dropped));
    printf("\n");
}

/* The fastest cases; a journal that cannot be read is `verify`'s business. */
static void print_results(const suite_run_summary *summary)
{
    suite_results results;
    dit_status st = suite_results_load(summary->session.journal, &results);
    if (st == DIT_OK) st = suite_results_print_fastest(&results, stdout, suite_terminal_width(stdout));
    if (st != DIT_OK) dit_log_warning("no table of results: %s", dit_error_last()->message);
    suite_results_release(&results);
    dit_error_clear();
}

void suite_run_summary_print(const suite_run_summary *summary, bool quiet)
{
    char name[SUITE_PATH + 2];
    bool ran = summary->counts[DIT_OUTCOME_SKIPPED] < summary->planned;
    print_counts(summary);
    if (!quiet && ran) print_results(summary);
    name_session(&summary->session, name, sizeof name);
    printf("session %s\n", summary->session.dir);
    if (summary->stays_behind) printf("nothing was run: `latest` stays the session that it was\n");
    if (!quiet && summary->complete && ran)
        printf("next: ditbench show %s      every case\n      ditbench report %s    figures and a page\n", name, name);
    fflush(stdout);
    if (!summary->complete) fprintf(stderr, "to go on: ditbench resume %s\n", name);
}
