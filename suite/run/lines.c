#include "suite/run/state.h"

#include "base/clock.h"
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

cJSON *suite_run_start_line(const char *kind)
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
dit_status suite_run_finish_line(suite_run_state *run, cJSON *line, dit_status st)
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
dit_status suite_run_add_calibration(cJSON *simulation, const suite_calibration *calibration)
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
static dit_status add_simulation(const suite_run_state *run, cJSON *line)
{
    char version[256];
    if (!suite_run_count_simulated(&run->schedule)) return DIT_OK;
    cJSON *simulation = cJSON_AddObjectToObject(line, "simulation");
    suite_environment_probe("smpirun --version 2>/dev/null", version, sizeof version);
    DIT_TRY(suite_text_add(simulation, "simulator", version));
    DIT_TRY(add_profiles(&run->schedule, simulation));
    return suite_run_add_calibration(simulation, &run->calibration);
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

/* Of which pairs the run is a side. */
static dit_status add_pairing(cJSON *line, const suite_run_params *params)
{
    if (!params->ab) return DIT_OK;
    cJSON *copy = cJSON_Duplicate(params->ab, true);
    if (copy && cJSON_AddItemToObject(line, "ab", copy)) return DIT_OK;
    cJSON_Delete(copy);
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the pairing");
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
static dit_status add_business(const suite_run_state *run, cJSON *line)
{
    char text[128];
    double load = 0;
    if (suite_run_count_simulated(&run->schedule) == run->schedule.case_count) return DIT_OK;
    suite_contention contention = suite_contention_now();
    if (!suite_contention_is_high(&contention)) return DIT_OK;
    suite_contention_text(&contention, text, sizeof text);
    if (getloadavg(&load, 1) != 1) load = 0;
    dit_log_warning("%s (load average %.1f) before the first case: latencies will be longer, and scatter", text, load);
    return add_warning(line, text);
}

static dit_status fill_session_line(suite_run_state *run, cJSON *line)
{
    DIT_TRY(dit_json_add_string(line, "schema", "ditbench.journal/1"));
    DIT_TRY(suite_text_add(line, "session_id", run->session->name));
    DIT_TRY(add_names(line, run->params));
    DIT_TRY(add_pairing(line, run->params));
    DIT_TRY(add_now(line, "started"));
    cJSON_AddItemToObject(line, "workload", cJSON_Duplicate(run->schedule.workload, true));
    DIT_TRY(add_command_line(line, run->params));
    DIT_TRY(add_plan(line, &run->schedule));
    DIT_TRY(add_simulation(run, line));
    DIT_TRY(add_business(run, line));
    return add_machine(line);
}

/* Lines of `kind` for the entries of a list of the plan that the journal does not have yet. */
static dit_status write_list(suite_run_state *run, const char *kind, const cJSON *list, int written)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list)
    {
        if (written-- > 0) continue;
        cJSON *line = cJSON_Duplicate(entry, true);
        cJSON_AddStringToObject(line, "kind", kind);
        DIT_TRY(suite_run_finish_line(run, line, DIT_OK));
    }
    return DIT_OK;
}

/* The session line, and those of dropped cells and published points, as far as the journal lacks them. */
dit_status suite_run_write_head(suite_run_state *run)
{
    if (suite_journal_lines(run->journal) == 0) {
        cJSON *line = suite_run_start_line("session");
        DIT_TRY(suite_run_finish_line(run, line, fill_session_line(run, line)));
    }
    DIT_TRY(write_list(run, "dropped", run->schedule.dropped, run->history.dropped_count));
    return write_list(run, "published", run->schedule.published, run->history.published_count);
}

dit_status suite_run_write_resume(suite_run_state *run)
{
    cJSON *line = suite_run_start_line("resume");
    dit_status st = add_now(line, "started");
    if (st == DIT_OK) st = add_command_line(line, run->params);
    return suite_run_finish_line(run, line, st);
}

dit_status suite_run_write_end(suite_run_state *run, bool complete, const char *reason)
{
    cJSON *line = suite_run_start_line("end");
    cJSON_AddBoolToObject(line, "complete", complete);
    cJSON_AddStringToObject(line, "end_reason", reason);
    return suite_run_finish_line(run, line, add_now(line, "ended"));
}

/* An iteration far from the others: what ran beside it, and no property of the case. */
dit_status suite_run_warn_of_outlier(cJSON *line, const suite_outcome *outcome)
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

dit_status suite_run_add_contention(cJSON *line, const suite_contention *contention)
{
    char text[128];
    if (!contention->known) return DIT_OK;
    DIT_TRY(dit_json_add_number(line, "other_cores", contention->other_cores));
    if (!suite_contention_is_high(contention)) return DIT_OK;
    suite_contention_text(contention, text, sizeof text);
    return add_warning(line, text);
}

dit_status suite_run_fill_result_line(cJSON *line, const suite_case *one, const suite_run_item *item,
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
