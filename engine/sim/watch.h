/* Watch: when what simulated ranks repeat - steps of a denoising, forwards of a layer - has become the same each time.
 *
 * All ranks are of one process, so that one of them can look at all without a message that would take time. Once two
 * repeats in a row take every rank the same time, all further ones do: simulation has no chance in it, and the second
 * began as the first did, later. Those that no rank has begun yet are then left out, up to the last, which may be
 * unlike.
 */
#ifndef DIT_ENGINE_SIM_WATCH_H
#define DIT_ENGINE_SIM_WATCH_H

#include "engine/sim/sim.h"

/* Repeats are alike when the newest two are, to 1e-9 of all time so far; with messages that are under way from one into
 * the next, when the newest six are: what drains from a busy link changes nothing for a few of them, and then does.
 * Those that never become so: when the newest two agree to DIT_SIM_SHARES_ALIKE, and the newest three together with the
 * three before to a tenth of it. */
typedef struct {
    int repeats;  /* in all                                                                              */
    int first;    /* that may be like the one behind it                                                  */
    bool carries; /* messages are under way from one repeat into the next                                */
    bool close;   /* two that agree to DIT_SIM_SHARES_ALIKE are enough                                   */
    bool endless; /* hosts are to stay ahead for ever, not for `repeats`; and only 1e-9 is enough        */
} dit_sim_watch_params;

typedef struct dit_sim_watch dit_sim_watch;

/* Collective. All ranks get the same one; they meet before the first repeat, and each closes it. Errors:
 * DIT_ERR_MEMORY.
 */
dit_status dit_sim_watch_open(const dit_sim_watch_params *params, dit_sim_watch **out);
void dit_sim_watch_close(dit_sim_watch *watch);
/* Repeat `at`, from 0, begins on this rank now. Returns the repeat that it is to do: this one, or the last one, all
 * between being left out. Left out are only those that all ranks leave out. No host is caught up with in them: one that
 * is ahead of its device but slower holds it up from then on. */
int dit_sim_watch_begin(dit_sim_watch *watch, const dit_sim *sim, int at);
/* How many were left out, what each of them takes, the mean of ranks, and to which share of it they agree (0: 1e-9). */
int dit_sim_watch_left_out(const dit_sim_watch *watch);
double dit_sim_watch_seconds(const dit_sim_watch *watch);
double dit_sim_watch_alike(const dit_sim_watch *watch);

#endif
