#include "suite/run.h"

#include "base/clock.h"
#include "base/log.h"
#include "suite/environment.h"
#include "suite/history.h"
#include "suite/progress.h"
#include "suite/schedule.h"
#include "suite/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_RUN = -1, DEFAULT_DEADLINE_S = 600 };

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
    char engine[SUITE_PATH];
    int *status;       /* per item: an outcome, or NOT_RUN                        */
    int *good_process; /* per case: a process that ended ok, or NOT_RUN           */
    int cores;
    bool single_copy;
    suite_progress progress;
} run_state;

static void run_release(run_state *run)
{
    suite_journal_close(run->journal);
    suite_schedule_release(&run->schedule);
    suite_history_release(&run->history);
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
    DIT_TRY(suite_launch_engine(params->engine, run->engine));
    run->cores = suite_launch_cores();
    run->single_copy = suite_launch_single_copy();
    return DIT_OK;
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

static void note_status(run_state *run, int index, suite_outcome_status status)
{
    const suite_run_item *item = &run->schedule.items[index];
    run->status[index] = (int)status;
    if (status == SUITE_OUTCOME_OK) run->good_process[item->case_index] = item->process;
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

static dit_status fill_session_line(run_state *run, cJSON *line)
{
    DIT_TRY(dit_json_add_string(line, "schema", "ditbench.journal/1"));
    DIT_TRY(suite_text_add(line, "session_id", run->session->name));
    DIT_TRY(add_now(line, "started"));
    cJSON_AddItemToObject(line, "workload", cJSON_Duplicate(run->schedule.workload, true));
    DIT_TRY(add_command_line(line, run->params));
    DIT_TRY(add_plan(line, &run->schedule));
    return add_machine(line);
}

/* The session line and the dropped lines, as far as the journal lacks them. */
static dit_status write_head(run_state *run)
{
    const cJSON *dropped;
    int at = 0;
    if (suite_journal_lines(run->journal) == 0) {
        cJSON *line = start_line("session");
        DIT_TRY(finish_line(run, line, fill_session_line(run, line)));
    }
    cJSON_ArrayForEach(dropped, run->schedule.dropped)
    {
        if (at++ < run->history.dropped_count) continue;
        cJSON *line = cJSON_Duplicate(dropped, true);
        cJSON_AddStringToObject(line, "kind", "dropped");
        DIT_TRY(finish_line(run, line, DIT_OK));
    }
    return DIT_OK;
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
    DIT_TRY(dit_json_add_string(line, "status", suite_outcome_name(outcome->status)));
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

static dit_status record_outcome(run_state *run, int index, const char *started, const item_paths *paths,
                                 suite_outcome *outcome)
{
    const suite_run_item *item = &run->schedule.items[index];
    const suite_case *one = &run->schedule.cases[item->case_index];
    const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(outcome->error, "message"));
    cJSON *line = start_line("result");
    cJSON_AddStringToObject(line, "started", started);
    if (paths->reference_case) cJSON_AddStringToObject(line, "reference_case", paths->reference_case->case_id);
    if (paths->oracle_case) cJSON_AddStringToObject(line, "oracle_case", paths->oracle_case->case_id);
    DIT_TRY(finish_line(run, line, fill_result_line(line, one, item, outcome)));
    note_status(run, index, outcome->status);
    suite_progress_finish(&run->progress, suite_outcome_name(outcome->status), (double)outcome->elapsed_ns * 1e-9,
                          message ? message : "");
    return DIT_OK;
}

static dit_status run_item(run_state *run, int index)
{
    const suite_run_item *item = &run->schedule.items[index];
    const suite_case *one = &run->schedule.cases[item->case_index];
    item_paths paths;
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
    dit_status st = suite_launch_run(run->launcher, &plan, &options, &outcome);
    if (st == DIT_OK && !outcome.interrupted) st = record_outcome(run, index, started, &paths, &outcome);
    if (st != DIT_OK) dit_error_note(st, "running %s, process %d", one->label, item->process);
    suite_outcome_release(&outcome);
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
    for (int i = 0; i < run->schedule.item_count; i++) {
        if (run->status[i] == NOT_RUN) continue;
        summary->counts[run->status[i]]++;
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

static dit_status run_items(run_state *run)
{
    int64_t started = dit_clock_ns();
    double max_time_s = run->params->max_time_s;
    const char *reason = "finished";
    int left = count_left(run);
    dit_status st = DIT_OK;
    suite_progress_init(&run->progress, run->schedule.item_count, run->schedule.item_count - left, run->params->quiet);
    for (int i = 0; i < run->schedule.item_count && st == DIT_OK; i++) {
        if (run->status[i] != NOT_RUN) continue;
        if (suite_signals_poll(run->signals)) break;
        if (max_time_s > 0 && (double)(dit_clock_ns() - started) * 1e-9 > max_time_s) {
            reason = "time_limit";
            break;
        }
        st = run_item(run, i);
    }
    suite_progress_end(&run->progress);
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

static dit_status preview_item(const run_state *run, const suite_run_item *item, cJSON *list)
{
    const suite_case *one = &run->schedule.cases[item->case_index];
    item_paths paths;
    suite_launch_plan plan;
    DIT_TRY(make_launch_plan(run, item, &paths, &plan));
    char *text = command_text(run->launcher, &plan);
    if (run->params->json) {
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
    if (!run->params->json) {
        printf("# workload %s: %d runs of %d cases, %d cells dropped\n", run->summary->workload,
               run->schedule.item_count, run->schedule.case_count, run->summary->dropped);
    }
    for (int i = 0; i < run->schedule.item_count && st == DIT_OK; i++)
        st = preview_item(run, &run->schedule.items[i], list);
    cJSON_AddItemToObject(document, "dropped", cJSON_Duplicate(run->schedule.dropped, true));
    char *text = run->params->json ? cJSON_Print(document) : NULL;
    if (text) puts(text);
    free(text);
    cJSON_Delete(document);
    return st;
}

/* ---- workload ---------------------------------------------------------------------------------------------------- */

static dit_status plan_workload(run_state *run, const char *path)
{
    suite_workload workload = {0};
    dit_status st = DIT_OK;
    DIT_TRY_GOTO(st, suite_workload_load(path, &workload), done);
    if (run->params->processes > 0) workload.processes = run->params->processes;
    if (run->params->trace) DIT_TRY_GOTO(st, suite_workload_trace(&workload), done);
    DIT_TRY_GOTO(st, suite_schedule_make(&workload, run->params->filter, &run->schedule), done);
    st = run_make_tables(run);
done:
    suite_workload_release(&workload);
    return st;
}

/* The folder, the lock, the plan, the first line: in this order, so that what is half made is never run. */
static dit_status open_session(run_state *run)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run->schedule.workload, "name"));
    DIT_TRY(suite_session_create(run->params->output, name ? name : "workload", run->session));
    DIT_TRY(suite_journal_open(run->session->journal, NULL, NULL, &run->journal));
    DIT_TRY(suite_schedule_save(&run->schedule, run->session));
    return write_head(run);
}

dit_status suite_run_workload(const char *workload, const suite_run_params *params, suite_signals *signals,
                              suite_run_summary *out)
{
    run_state run;
    dit_status st = run_init(&run, params, signals, out);
    if (st == DIT_OK) st = plan_workload(&run, workload);
    if (st == DIT_OK && !params->dry_run) st = open_session(&run);
    if (st == DIT_OK) st = params->dry_run || !run.launcher->runs ? preview(&run) : run_items(&run);
    run_release(&run);
    return st;
}

/* ---- resume ------------------------------------------------------------------------------------------------------ */

static bool is_worth_retrying(suite_outcome_status status)
{
    return status == SUITE_OUTCOME_FAILED || status == SUITE_OUTCOME_TIMEOUT || status == SUITE_OUTCOME_OOM;
}

/* What the journal says of each item. */
static void take_history(run_state *run)
{
    for (int i = 0; i < run->schedule.item_count; i++) {
        const suite_run_item *item = &run->schedule.items[i];
        const suite_case *one = &run->schedule.cases[item->case_index];
        const suite_history_result *result = suite_history_find(&run->history, one->case_id, item->process);
        if (!result || (run->params->retry_failed && is_worth_retrying(result->status))) continue;
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

static dit_status reopen_session(run_state *run, const char *name)
{
    char prefix[SUITE_PATH];
    DIT_TRY(suite_session_find(name, run->session));
    DIT_TRY(suite_journal_open(run->session->journal, suite_history_visit, &run->history, &run->journal));
    suite_history_finish(&run->history);
    DIT_TRY(suite_path(prefix, "%s/", run->session->dir));
    int stale = suite_process_sweep(prefix);
    if (stale) dit_log_info("ended %d processes that the last run left behind", stale);
    dit_status st = suite_schedule_load(run->session, &run->schedule);
    if (st != DIT_OK) return dit_error_note(st, "reading the plan of session %s", run->session->name);
    DIT_TRY(check_same_plan(run));
    DIT_TRY(check_same_hardware(run));
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
        wrong |= one->counts[SUITE_OUTCOME_INVALID] > 0;
        failed |=
            one->counts[SUITE_OUTCOME_FAILED] + one->counts[SUITE_OUTCOME_TIMEOUT] + one->counts[SUITE_OUTCOME_OOM] > 0;
        ran |= one->counts[SUITE_OUTCOME_OK] > 0;
        skipped |= one->counts[SUITE_OUTCOME_SKIPPED] > 0 || one->planned == 0;
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
    for (int i = 0; i < SUITE_OUTCOME_COUNT; i++) {
        cJSON_AddNumberToObject(document, suite_outcome_name((suite_outcome_status)i), summary->counts[i]);
        done += summary->counts[i];
    }
    cJSON_AddNumberToObject(document, "done", done);
    cJSON_AddNumberToObject(document, "dropped", summary->dropped);
    cJSON_AddBoolToObject(document, "complete", summary->complete);
    if (!summary->complete) cJSON_AddStringToObject(document, "resume", summary->session.dir);
    return document;
}

void suite_run_summary_print(const suite_run_summary *summary)
{
    int done = 0;
    for (int i = 0; i < SUITE_OUTCOME_COUNT; i++) done += summary->counts[i];
    printf("%s: %d of %d runs", summary->workload, done, summary->planned);
    for (int i = 0; i < SUITE_OUTCOME_COUNT; i++) {
        if (summary->counts[i]) printf(", %d %s", summary->counts[i], suite_outcome_name((suite_outcome_status)i));
    }
    printf("; %d cells dropped\nsession %s\n", summary->dropped, summary->session.dir);
    fflush(stdout);
    if (!summary->complete) fprintf(stderr, "to go on: ditbench resume %s\n", summary->session.dir);
}
