#include "suite/run/state.h"

#include "suite/launch/scratch.h"
#include "suite/session/plan.h"
#include "suite/simulate/simulate.h"
#include "suite/simulate/simulated_cases.h"

#include <math.h>
#include <stdlib.h>

void suite_run_release(suite_run_state *run)
{
    suite_journal_close(run->journal);
    suite_schedule_release(&run->schedule);
    suite_history_release(&run->history);
    suite_calibration_release(&run->calibration);
    suite_precision_release(&run->precision);
    free(run->status);
    free(run->unsteady);
    free(run->other_share);
    free(run->good_process);
    suite_scratch_close();
}

dit_status suite_run_init(suite_run_state *run, const suite_run_params *params, suite_signals *signals,
                          suite_run_summary *summary)
{
    *summary = (suite_run_summary){0};
    *run = (suite_run_state){.params = params, .signals = signals, .summary = summary, .session = &summary->session};
    DIT_TRY(suite_launcher_find(params->launcher ? params->launcher : "mpirun", &run->launcher));
    DIT_TRY(suite_launcher_check_without(run->launcher, &params->without));
    run->cores = suite_launch_cores();
    suite_wire_sweep();
    return DIT_OK;
}

int suite_run_count_simulated(const suite_schedule *schedule)
{
    int count = 0;
    for (int i = 0; i < schedule->case_count; i++) count += schedule->cases[i].is_simulated;
    return count;
}

static int count_planned(const suite_schedule *schedule)
{
    int count = 0;
    for (int i = 0; i < schedule->case_count; i++) count += suite_batch_is_planned(&schedule->cases[i]);
    return count;
}

static dit_status find_simulator(const suite_run_state *run)
{
    const suite_simulate_params params = {0};
    if (run->params->dry_run || !suite_launcher_runs(run->launcher)) return DIT_OK; /* commands can be shown anywhere */
    dit_status st = suite_simulate_check(&params);
    return st == DIT_OK ? st : dit_error_note(st, "the workload has simulated cases");
}

static dit_status find_engine(suite_run_state *run)
{
    const suite_launcher *simulator;
    DIT_TRY(suite_launcher_find("smpirun", &simulator));
    if (run->launcher == simulator)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "launcher smpirun cannot start measured cases, and the workload has some"),
            "leave --launcher out: smpirun starts simulated cases anyway");
    run->single_copy = suite_launch_single_copy();
    return suite_launch_engine(run->params->engine, run->engine);
}

/* What the planned cases need of this machine, before anything is run. */
dit_status suite_run_find_programs(suite_run_state *run)
{
    int simulated = suite_run_count_simulated(&run->schedule);
    if (simulated > count_planned(&run->schedule)) DIT_TRY(find_simulator(run));
    return simulated == run->schedule.case_count && simulated ? DIT_OK : find_engine(run);
}

/* Places for what is known of each item and case, all still unknown. */
dit_status suite_run_make_tables(suite_run_state *run)
{
    run->status = malloc(sizeof *run->status * ((size_t)run->schedule.item_count + 1));
    run->unsteady = calloc((size_t)run->schedule.item_count + 1, sizeof *run->unsteady);
    run->other_share = malloc(sizeof *run->other_share * ((size_t)run->schedule.item_count + 1));
    run->good_process = malloc(sizeof *run->good_process * ((size_t)run->schedule.case_count + 1));
    if (!run->status || !run->unsteady || !run->other_share || !run->good_process)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the run");
    for (int i = 0; i < run->schedule.item_count; i++) run->status[i] = SUITE_NOT_RUN, run->other_share[i] = NAN;
    for (int i = 0; i < run->schedule.case_count; i++) run->good_process[i] = SUITE_NOT_RUN;
    return suite_precision_init(&run->schedule, &run->precision);
}

void suite_run_note_result(suite_run_state *run, int index, dit_outcome status, const cJSON *line)
{
    const suite_run_item *item = &run->schedule.items[index];
    run->status[index] = (int)status;
    run->unsteady[index] = suite_history_is_unsteady(line);
    run->other_share[index] = dit_json_number_or(line, "other_cores", NAN) / dit_json_number_or(line, "of_cores", NAN);
    int *good = &run->good_process[item->case_index];
    if (status == DIT_OUTCOME_OK && (*good == SUITE_NOT_RUN || item->process < *good)) *good = item->process;
}
