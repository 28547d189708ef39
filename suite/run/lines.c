#include "suite/run/state.h"

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/stats.h"
#include "suite/cases/document.h"
#include "suite/machine/contention.h"
#include "suite/machine/environment.h"
#include "suite/platform/profile.h"
#include "suite/session/plan.h"
#include "suite/text.h"
#include "suite/workload/workload.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 1000 };

cJSON *suite_run_start_line(dit_json_writer *w, const char *kind)
{
    cJSON *line = dit_json_new_object(w);
    dit_json_put_string(w, line, "kind", kind);
    return line;
}

static void add_now(dit_json_writer *w, cJSON *line, const char *key)
{
    char now[32];
    dit_clock_utc(now);
    dit_json_put_string(w, line, key, now);
}

/* Appends and deletes the line. */
dit_status suite_run_finish_line(suite_run_state *run, dit_json_writer *w, cJSON *line)
{
    if (w->status == DIT_OK) dit_json_put_status(w, suite_journal_append(run->journal, line));
    cJSON_Delete(line);
    return w->status;
}

/* Which allocation of Slurm ran it: a session may have several. */
static void add_job(dit_json_writer *w, cJSON *line)
{
    const char *job = getenv("SLURM_JOB_ID");
    if (job) suite_text_put(w, line, "slurm_job_id", job);
}

static void add_command_line(dit_json_writer *w, cJSON *line, const suite_run_params *params)
{
    cJSON *list = dit_json_put_array(w, line, "cmdline");
    for (int i = 0; i < params->argc; i++) dit_json_put_string(w, list, NULL, params->argv[i]);
}

static void add_plan(dit_json_writer *w, cJSON *line, const suite_schedule *schedule)
{
    cJSON *plan = dit_json_put_object(w, line, "plan");
    const cJSON *seed = dit_json_member(schedule->workload, "seed");
    dit_json_put_copy(w, plan, "seed", seed);
    dit_json_put_int(w, plan, "runs", schedule->item_count);
    dit_json_put_int(w, plan, "cases", schedule->case_count);
    dit_json_put_string(w, plan, "hash", schedule->hash);
}

static dit_status add_machine(cJSON *line)
{
    dit_json_writer w = {0};
    cJSON *hardware = NULL, *software = NULL, *suite = NULL;
    DIT_TRY(suite_environment_hardware(&hardware));
    dit_json_put_item(&w, line, "hardware", hardware);
    DIT_TRY(suite_environment_software(&software));
    dit_json_put_item(&w, line, "environment", software);
    DIT_TRY(suite_environment_suite(&suite));
    dit_json_put_item(&w, line, "suite", suite);
    return w.status;
}

/* What laid values over the files of machines and software; nothing when nothing did. */
dit_status suite_run_add_calibration(cJSON *simulation, const suite_calibration *calibration)
{
    dit_json_writer w = {0};
    char *text = NULL, hash[DIT_HASH_HEX];
    if (!calibration->source.root) return w.status;
    DIT_TRY(dit_json_canonical(calibration->source.root, &text));
    dit_hash(text, strlen(text), hash);
    free(text);
    cJSON *object = dit_json_put_object(&w, simulation, "calibration");
    suite_text_put(&w, object, "file", suite_calibration_path(calibration));
    dit_json_put_string(&w, object, "hash", hash);
    return w.status;
}

/* The software of the simulated cases, each stack once. */
static dit_status add_profiles(const suite_schedule *schedule, cJSON *simulation)
{
    dit_json_writer w = {0};
    cJSON *profiles = dit_json_put_object(&w, simulation, "profiles");
    for (int i = 0; i < schedule->case_count; i++) {
        const char *name = suite_case_platform(schedule->cases[i].document, "profile");
        suite_profile profile;
        if (!schedule->cases[i].is_simulated || dit_json_member(profiles, name)) continue;
        DIT_TRY(suite_profile_load(name, &profile));
        DIT_TRY(suite_profile_add(&profile, profiles));
    }
    return w.status;
}

/* Of sessions with simulated cases. */
static dit_status add_simulation(const suite_run_state *run, cJSON *line)
{
    dit_json_writer w = {0};
    char version[256];
    if (!suite_run_count_simulated(&run->schedule)) return w.status;
    cJSON *simulation = dit_json_put_object(&w, line, "simulation");
    suite_environment_probe("smpirun --version 2>/dev/null", version, sizeof version);
    suite_text_put(&w, simulation, "simulator", version);
    DIT_TRY(add_profiles(&run->schedule, simulation));
    dit_json_put_status(&w, suite_run_add_calibration(simulation, &run->calibration));
    return w.status;
}

/* What a person calls the session. */
static void add_names(dit_json_writer *w, cJSON *line, const suite_run_params *params)
{
    suite_text_put(w, line, "name", params->name);
    suite_text_put(w, line, "note", params->note);
    cJSON *tags = params->tags.count ? dit_json_put_array(w, line, "tags") : NULL;
    for (int i = 0; i < params->tags.count; i++) dit_json_put_string(w, tags, NULL, params->tags.items[i]);
}

void suite_run_add_warning(dit_json_writer *w, cJSON *line, const char *text)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(line, "warnings");
    if (!list) list = dit_json_put_array(w, line, "warnings");
    dit_json_put_string(w, list, NULL, text);
}

/* A machine that is busy before anything is measured: told now, when one can still wait, and kept. */
static void add_business(dit_json_writer *w, const suite_run_state *run, cJSON *line)
{
    char text[128];
    double load = 0;
    if (suite_run_count_simulated(&run->schedule) == run->schedule.case_count) return;
    suite_contention contention = suite_contention_now();
    if (!suite_contention_is_high(&contention)) return;
    suite_contention_text(&contention, text, sizeof text);
    if (getloadavg(&load, 1) != 1) load = 0;
    dit_log_warning("%s (load average %.1f) before the first case: latencies will be longer, and scatter", text, load);
    suite_run_add_warning(w, line, text);
}

static void fill_session_line(dit_json_writer *w, suite_run_state *run, cJSON *line)
{
    dit_json_put_string(w, line, "schema", "ditbench.journal/1");
    suite_text_put(w, line, "session_id", run->session->name);
    add_names(w, line, run->params);
    dit_json_put_copy(w, line, "ab", run->params->ab); /* of which pairs the run is a side */
    add_now(w, line, "started");
    dit_json_put_copy(w, line, "workload", run->schedule.workload);
    add_command_line(w, line, run->params);
    add_job(w, line);
    add_plan(w, line, &run->schedule);
    if (w->status == DIT_OK) dit_json_put_status(w, add_simulation(run, line));
    add_business(w, run, line);
    if (w->status == DIT_OK) dit_json_put_status(w, add_machine(line));
}

/* Lines of `kind` for the entries of a list of the plan that the journal does not have yet. */
static dit_status write_list(suite_run_state *run, const char *kind, const cJSON *list, int written)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list)
    {
        if (written-- > 0) continue;
        dit_json_writer w = {0};
        cJSON *line = suite_run_start_line(&w, kind), *member = NULL;
        cJSON_ArrayForEach(member, entry) dit_json_put_copy(&w, line, member->string, member);
        DIT_TRY(suite_run_finish_line(run, &w, line));
    }
    return DIT_OK;
}

/* The session line, and those of dropped cells and published points, as far as the journal lacks them. */
dit_status suite_run_write_head(suite_run_state *run)
{
    dit_json_writer w = {0};
    if (suite_journal_lines(run->journal) == 0) {
        cJSON *line = suite_run_start_line(&w, "session");
        fill_session_line(&w, run, line);
        DIT_TRY(suite_run_finish_line(run, &w, line));
    }
    DIT_TRY(write_list(run, "dropped", run->schedule.dropped, run->history.dropped_count));
    return write_list(run, "published", run->schedule.published, run->history.published_count);
}

dit_status suite_run_write_resume(suite_run_state *run)
{
    dit_json_writer w = {0};
    cJSON *line = suite_run_start_line(&w, "resume");
    add_now(&w, line, "started");
    add_job(&w, line);
    add_command_line(&w, line, run->params);
    return suite_run_finish_line(run, &w, line);
}

dit_status suite_run_write_end(suite_run_state *run, bool complete, const char *reason)
{
    dit_json_writer w = {0};
    cJSON *line = suite_run_start_line(&w, "end");
    dit_json_put_bool(&w, line, "complete", complete);
    dit_json_put_string(&w, line, "end_reason", reason);
    suite_precision_put(&run->precision, &run->schedule, &w, line);
    add_now(&w, line, "ended");
    return suite_run_finish_line(run, &w, line);
}

/* An iteration far from the others: what ran beside it, and no property of the case. */
void suite_run_warn_of_outlier(dit_json_writer *w, cJSON *line, const suite_outcome *outcome)
{
    const cJSON *samples = dit_json_member(outcome->record, "samples");
    const cJSON *list = dit_json_member(samples, "latency_ns"), *item;
    double values[MOST_SAMPLES];
    char text[128];
    int count = 0;
    cJSON_ArrayForEach(item, list) if (count < MOST_SAMPLES) values[count++] = item->valuedouble;
    int worst = dit_stats_outlier(values, count);
    if (worst < 0 || outcome->status != DIT_OUTCOME_OK) return;
    snprintf(text, sizeof text, "outlier: iteration %d of %d took %.2g times the median", worst + 1, count,
             values[worst] / dit_stats_median(values, count));
    suite_run_add_warning(w, line, text);
}

void suite_run_add_contention(dit_json_writer *w, cJSON *line, const suite_contention *contention)
{
    char text[128];
    if (!contention->known) return;
    dit_json_put_number(w, line, "other_cores", contention->other_cores);
    dit_json_put_int(w, line, "of_cores", contention->cores);
    if (!suite_contention_is_high(contention)) return;
    suite_contention_text(contention, text, sizeof text);
    suite_run_add_warning(w, line, text);
}

void suite_run_fill_result_line(dit_json_writer *w, cJSON *line, const suite_case *one, const suite_run_item *item,
                                suite_outcome *outcome)
{
    dit_json_put_string(w, line, "case_id", one->case_id);
    suite_text_put(w, line, "label", one->label);
    dit_json_put_int(w, line, "process", item->process);
    dit_json_put_int(w, line, "order", item->order);
    dit_json_put_int(w, line, "block", item->block);
    add_now(w, line, "ended");
    dit_json_put_int(w, line, "elapsed_ns", outcome->elapsed_ns);
    dit_json_put_int(w, line, "exit_code", outcome->exit_code);
    dit_json_put_string(w, line, "status", dit_outcome_name(outcome->status));
    dit_json_put_copy(w, line, "error", outcome->error);
    dit_json_put_copy(w, line, "case", one->document);
    dit_json_put_copy(w, line, "tags", one->tags);
    dit_json_put_copy(w, line, "record", outcome->record);
    dit_json_put_status(w, outcome->writer.status);
}
