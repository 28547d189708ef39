#include "suite/run/run.h"

#include "base/json.h"
#include "base/log.h"
#include "suite/machine/environment.h"
#include "suite/paths.h"
#include "suite/run/state.h"
#include "suite/session/index.h"
#include "suite/session/plan.h"
#include "suite/simulate/published_lines.h"
#include "suite/simulate/simulated_cases.h"
#include "suite/workload/case.h"
#include "suite/workload/load.h"
#include "suite/workload/workload.h"

#include <string.h>

/* ---- workload ---------------------------------------------------------------------------------------------------- */

dit_status suite_run_plan(suite_run_state *run, const char *path)
{
    suite_workload workload = {0};
    dit_status st = DIT_OK;
    DIT_TRY_GOTO(st, suite_workload_load_set(path, &run->params->settings, &workload), done);
    DIT_TRY_GOTO(st, suite_workload_require_cases(&workload), done);
    if (run->params->processes > 0) workload.processes = run->params->processes;
    if (run->params->trace) DIT_TRY_GOTO(st, suite_workload_trace(&workload), done);
    DIT_TRY_GOTO(st, suite_schedule_make(&workload, run->params->filter, &run->schedule), done);
    if (run->params->measured_only) run->left_out = suite_schedule_drop_simulated(&run->schedule);
    DIT_TRY_GOTO(st, suite_run_find_programs(run), done);
    DIT_TRY_GOTO(st, suite_calibration_load(run->params->calibration, &run->calibration), done);
    DIT_TRY_GOTO(st, suite_published_lines(&workload, &run->calibration, &run->schedule.published), done);
    st = suite_run_make_tables(run);
done:
    suite_workload_release(&workload);
    return st;
}

/* Whether something is to be done: not where every case needs devices that are not here. */
static bool runs_something(const suite_run_state *run)
{
    bool found = false;
    for (int i = 0; i < run->schedule.case_count && !found; i++) {
        suite_outcome outcome = {0};
        found = !suite_run_is_skipped(run, &run->schedule.cases[i], &outcome);
        suite_outcome_release(&outcome);
    }
    return found;
}

dit_status suite_run_begin(suite_run_state *run)
{
    const char *name = dit_json_text_or(run->schedule.workload, "name", NULL);
    if (run->params->name) name = run->params->name;
    DIT_TRY(suite_session_create(run->params->output, name ? name : "workload", run->session));
    DIT_TRY(suite_journal_open(run->session->journal, NULL, NULL, &run->journal));
    DIT_TRY(suite_schedule_save(&run->schedule, run->session));
    DIT_TRY(suite_run_write_head(run));
    if (runs_something(run))
        suite_session_make_latest(run->session);
    else
        run->summary->stays_behind = true;
    return DIT_OK;
}

/* The index is a convenience of `list`; where it cannot be written, list reads the journals. */
static void save_index(const suite_run_state *run)
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
    suite_run_state run;
    dit_status st = suite_run_init(&run, params, NULL, &summary);
    if (st == DIT_OK) st = suite_run_plan(&run, workload);
    suite_run_release(&run);
    return st;
}

dit_status suite_run_workload(const char *workload, const suite_run_params *params, suite_signals *signals,
                              suite_run_summary *out)
{
    suite_run_state run;
    dit_status st = suite_run_init(&run, params, signals, out);
    if (st == DIT_OK) st = suite_run_plan(&run, workload);
    if (st == DIT_OK && !params->dry_run && !run.launcher->writes_script) st = suite_run_begin(&run);
    if (st == DIT_OK)
        st = params->dry_run || !suite_launcher_runs(run.launcher) ? suite_run_preview(&run) : suite_run_items(&run);
    if (st == DIT_OK && !params->dry_run && suite_launcher_runs(run.launcher)) save_index(&run);
    suite_run_release(&run);
    return st;
}

/* ---- resume ------------------------------------------------------------------------------------------------------ */

static bool is_worth_retrying(dit_outcome status)
{
    return status == DIT_OUTCOME_FAILED || status == DIT_OUTCOME_TIMEOUT || status == DIT_OUTCOME_OOM;
}

static const suite_history_result *result_of(const suite_run_state *run, int index)
{
    const suite_run_item *item = &run->schedule.items[index];
    return suite_history_find(&run->history, run->schedule.cases[item->case_index].case_id, item->process);
}

/* With --retry-failed: cases that ran while the one that they are compared with had failed run again, for no result
 * without its distance may stay where an uninterrupted run has one. Latents are there, but only the engine judges them. */
static void retry_unjudged(suite_run_state *run)
{
    int count = 0;
    for (int i = 0; i < run->schedule.item_count; i++) {
        const suite_history_result *result = result_of(run, i);
        if (!result || !suite_run_lacks_distance(run, i, result->document)) continue;
        run->status[i] = SUITE_NOT_RUN;
        count++;
    }
    if (count)
        dit_log_info("%d result%s made while the case to compare with had failed: run again", count,
                     count == 1 ? " was" : "s were");
}

/* What the journal says of each item. */
static void take_history(suite_run_state *run)
{
    for (int i = 0; i < run->schedule.item_count; i++) {
        const suite_history_result *result = result_of(run, i);
        bool simulated = run->schedule.cases[run->schedule.items[i].case_index].is_simulated;
        bool verdict = result && result->status == DIT_OUTCOME_OOM && simulated;
        if (!result || (run->params->retry_failed && !verdict && is_worth_retrying(result->status))) continue;
        suite_run_note_result(run, i, result->status, result->document);
    }
    if (run->params->retry_failed) retry_unjudged(run);
    for (int i = 0; i < run->schedule.item_count; i++)
        if (run->status[i] == DIT_OUTCOME_OK)
            suite_precision_note(&run->precision, run->schedule.items[i].case_index,
                                 suite_history_latency_ns(result_of(run, i)->document));
}

static dit_status check_same_plan(const suite_run_state *run)
{
    const cJSON *plan = dit_json_member(run->history.session, "plan");
    const char *hash = dit_json_text_or(plan, "hash", NULL);
    if (!run->history.session || (hash && strcmp(hash, run->schedule.hash) == 0)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_INTEGRITY, "%s/plan.json is not the plan that this session was started with",
                    run->session->dir);
}

static dit_status check_same_hardware(const suite_run_state *run)
{
    const cJSON *then = dit_json_member(run->history.session, "hardware");
    const char *id = dit_json_text_or(then, "hardware_id", NULL);
    cJSON *now = NULL;
    if (!id || run->params->other_hardware) return DIT_OK;
    DIT_TRY(suite_environment_hardware(&now));
    const char *here = dit_json_text_or(now, "hardware_id", NULL);
    bool same = here && strcmp(here, id) == 0;
    cJSON_Delete(now);
    if (same) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_ENVIRONMENT, "this session was begun on other hardware (%s)", id),
        "run the workload anew here, or allow results of both machines in one session with --other-hardware");
}

/* Of the session: results with other values would not belong together. */
static dit_status load_same_calibration(suite_run_state *run)
{
    const cJSON *simulation = dit_json_member(run->history.session, "simulation");
    const cJSON *then = dit_json_member(simulation, "calibration");
    const char *file = dit_json_text_or(then, "file", NULL);
    if (!simulation) return suite_calibration_load(run->history.session ? "none" : NULL, &run->calibration);
    DIT_TRY(suite_calibration_load(file ? file : "none", &run->calibration));
    dit_json_writer w = {0};
    cJSON *now = dit_json_new_object(&w);
    dit_status st = now ? suite_run_add_calibration(now, &run->calibration) : w.status;
    const cJSON *loaded = dit_json_member(now, "calibration");
    if (st == DIT_OK && then && !cJSON_Compare(then, loaded, true))
        st = dit_error_hint(DIT_FAIL(DIT_ERR_INTEGRITY, "%s is not what this session was begun with", file),
                            "put the file back, or run the workload anew");
    cJSON_Delete(now);
    return st;
}

static dit_status reopen_session(suite_run_state *run, const char *name)
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
    DIT_TRY(suite_run_find_programs(run));
    DIT_TRY(load_same_calibration(run));
    DIT_TRY(suite_run_make_tables(run));
    take_history(run);
    return DIT_OK;
}

static dit_status continue_items(suite_run_state *run)
{
    bool had_head = run->history.session != NULL;
    DIT_TRY(suite_run_write_head(run));
    suite_run_fill_summary(run);
    if (run->summary->complete && run->history.complete) {
        dit_log_info("nothing to do: the session is complete");
        return DIT_OK;
    }
    if (had_head) DIT_TRY(suite_run_write_resume(run));
    return suite_run_items(run);
}

dit_status suite_run_resume(const char *session, const suite_run_params *params, suite_signals *signals,
                            suite_run_summary *out)
{
    suite_run_state run;
    dit_status st = suite_run_init(&run, params, signals, out);
    if (st == DIT_OK) st = reopen_session(&run, session);
    if (st == DIT_OK)
        st = params->dry_run || !suite_launcher_runs(run.launcher) ? suite_run_preview(&run) : continue_items(&run);
    if (st == DIT_OK && !params->dry_run && suite_launcher_runs(run.launcher)) save_index(&run);
    suite_run_release(&run);
    return st;
}
