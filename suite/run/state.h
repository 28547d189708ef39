/* State: holds what one run knows, and declares the steps that its files share. Private to suite/run. */
#ifndef DIT_SUITE_RUN_STATE_H
#define DIT_SUITE_RUN_STATE_H

#include "suite/console/progress.h"
#include "suite/launch/adapter.h"
#include "suite/machine/contention.h"
#include "suite/platform/calibration.h"
#include "suite/run/params.h"
#include "suite/run/precision.h"
#include "suite/session/history.h"
#include "suite/session/schedule.h"

enum { SUITE_NOT_RUN = -1 };

/* Everything one run needs; suite_run_release accepts a half-built one. */
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
    int *status;                   /* per item: an outcome, or SUITE_NOT_RUN                        */
    bool *unsteady;                /* per item: the machine did not hold still (suite_history_is_unsteady) */
    double *other_share;           /* per item: of the cores, what other processes used; NAN: nobody knows  */
    int *good_process;             /* per case: the first process that ended ok, or SUITE_NOT_RUN   */
    int left_out;                  /* simulated cases of a run that measures only */
    int cores;
    bool single_copy;
    suite_precision precision;
    suite_progress progress;
} suite_run_state;

/* The emulated link of one launch, if there is one. */
typedef struct {
    bool planned, known; /* known: it answered after the launch, too */
    suite_wire wire;
    suite_wire_rate before, after;
    int64_t sent_before[SUITE_WIRE_ENDS], sent[SUITE_WIRE_ENDS]; /* sent: during the launch */
} suite_run_wire;

/* Paths of one item's launch. */
typedef struct {
    char case_file[SUITE_PATH], out_dir[SUITE_PATH], reference[SUITE_PATH], oracle[SUITE_PATH], converged[SUITE_PATH];
    suite_adapter adapter;                                           /* of a case of an external engine */
    const suite_case *reference_case, *oracle_case, *converged_case; /* NULL: none */
    suite_contention contention;                                     /* while it ran; unknown of a simulation */
    suite_run_wire wire;
} suite_run_paths;

/* ---- state.c: before anything runs ------------------------------------------------------------------------------- */

void suite_run_release(suite_run_state *run);
dit_status suite_run_init(suite_run_state *run, const suite_run_params *params, suite_signals *signals,
                          suite_run_summary *summary);
int suite_run_count_simulated(const suite_schedule *schedule);
/* Checks what the planned cases need of this machine, before anything is run. */
dit_status suite_run_find_programs(suite_run_state *run);
/* Loads and plans the workload, and finds what it needs of this machine. */
dit_status suite_run_plan(suite_run_state *run, const char *workload);
/* Makes the session: the folder, the lock, the plan, the first line, in this order, so that what is half made is never
 * run. */
dit_status suite_run_begin(suite_run_state *run);
/* Makes places for what is known about each item and case; nothing is known yet. */
dit_status suite_run_make_tables(suite_run_state *run);
/* Takes an outcome with its line of the journal. */
void suite_run_note_result(suite_run_state *run, int index, dit_outcome status, const cJSON *line);

/* ---- lines.c: lines of the journal ------------------------------------------------------------------------------- */

/* Makes a line of this kind, which the caller owns; NULL after a failure. */
cJSON *suite_run_start_line(dit_json_writer *w, const char *kind);
/* Appends the line unless a call of `w` had failed, and deletes it in any case. */
dit_status suite_run_finish_line(suite_run_state *run, dit_json_writer *w, cJSON *line);
/* Adds which calibration laid values over the data files; adds nothing where none did. */
dit_status suite_run_add_calibration(cJSON *simulation, const suite_calibration *calibration);
/* Writes the session line, and the lines of dropped cells and published points, as far as the journal lacks them. */
dit_status suite_run_write_head(suite_run_state *run);
dit_status suite_run_write_resume(suite_run_state *run);
dit_status suite_run_write_end(suite_run_state *run, bool complete, const char *reason);
/* Adds what makes times doubtful, as data, to "warnings" of a session line or of a result. */
void suite_run_add_warning(dit_json_writer *w, cJSON *line, const char *text);
/* Warns of an iteration far from the others, which shows what ran beside it and no property of the case. */
void suite_run_warn_of_outlier(dit_json_writer *w, cJSON *line, const suite_outcome *outcome);
void suite_run_add_contention(dit_json_writer *w, cJSON *line, const suite_contention *contention);
void suite_run_fill_result_line(dit_json_writer *w, cJSON *line, const suite_case *one, const suite_run_item *item,
                                suite_outcome *outcome);

/* ---- ranks.c: what single ranks show ----------------------------------------------------------------------------- */

/* Warns of a rank that computes much longer for its work than the others in four of five iterations, and of one whose
 * resident memory grows from iteration to iteration; names the rank. */
void suite_run_warn_of_ranks(dit_json_writer *w, cJSON *line, const suite_outcome *outcome);

/* ---- items.c: one item, simulated items, all items --------------------------------------------------------------- */

/* Fills what to start for an item, and where it finds and leaves its files. */
dit_status suite_run_make_launch_plan(const suite_run_state *run, const suite_run_item *item, suite_run_paths *paths,
                                      suite_launch_plan *out);
/* Finds what starts a case: the run's launcher, or that of adapters. */
const suite_launcher *suite_run_launcher_of(const suite_run_state *run, const suite_case *one);
/* Skips a case, with the reason, if this machine has none or too few of the devices that it needs, or lacks its engine.
 */
bool suite_run_is_skipped(const suite_run_state *run, const suite_case *one, suite_outcome *outcome);
/* Returns whether the line of an item that ended ok says that it ran before the case with which it is compared (its
 * one-rank reference, its oracle, its converged one) had a result, and that case has one now or is to run. */
bool suite_run_lacks_distance(const suite_run_state *run, int index, const cJSON *result);
/* Counts outcomes into the summary. */
void suite_run_fill_summary(suite_run_state *run);
/* Runs item `index` to its end and journals it. */
dit_status suite_run_one(suite_run_state *run, int index);
/* Runs the items that are not done yet: measured items one after the other, simulated ones several at a time. */
dit_status suite_run_items(suite_run_state *run);

/* ---- wires.c: emulated links ------------------------------------------------------------------------------------- */

/* Names the link that the case's platform emulates between two ranks or more; makes nothing. */
void suite_run_plan_wire(const suite_case *one, suite_run_wire *out);
/* Skips a case that needs a link where the launcher cannot use one. */
bool suite_run_wire_refusal(const suite_run_state *run, const suite_case *one, suite_outcome *outcome);
/* Makes and probes what is planned. False, and the outcome says why the case is skipped, where this machine cannot. */
bool suite_run_open_wire(suite_run_wire *wire, suite_outcome *outcome);
/* Reads the bytes that crossed, probes again, and removes it. */
void suite_run_close_wire(suite_run_wire *wire);
/* Adds "link": shaping, both probes, bytes that crossed and bytes that ranks counted; warns where they disagree. */
void suite_run_add_wire(dit_json_writer *w, cJSON *line, const suite_run_wire *wire, const suite_case *one,
                        const suite_outcome *outcome);

/* ---- preview.c: commands only ------------------------------------------------------------------------------------ */

/* Prints the plan with its commands; an unwritten session is called SESSION. */
dit_status suite_run_preview(suite_run_state *run);

/* ---- sbatch.c ---------------------------------------------------------------------------------------------------- */

/* Prints a script for Slurm that begins the session of params->output in its allocation, and in later ones goes on with
 * it. Errors: DIT_ERR_USAGE without an output, or where JSON was asked for. */
dit_status suite_run_print_script(suite_run_state *run);

#endif
