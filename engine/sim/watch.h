/* Watch: notices when what simulated ranks repeat, the steps of a denoising or the forwards of a layer, takes the same
 * time each time.
 *
 * All ranks live in one process, so the last rank to begin a repeat can look at all of them without a message, which
 * would take time. Once two repeats in a row have taken every rank the same time, all later ones do, too: a simulation
 * has no chance in it, and each repeat begins as the one before began, only later. The repeats that no rank has begun
 * by then are left out, up to the last one, which may differ.
 */
#ifndef DIT_ENGINE_SIM_WATCH_H
#define DIT_ENGINE_SIM_WATCH_H

#include "engine/sim/sim.h"

/* Repeats are alike when the newest two agree to 1e-9 of all time so far. Where messages are under way from one repeat
 * into the next, the newest six must agree: what drains from a busy link changes nothing for a few repeats, and then
 * does. Repeats that never agree so far are alike when the newest two agree to DIT_SIM_SHARES_ALIKE, and the newest
 * three together agree with the three before to a tenth of that. */
typedef struct {
    int repeats;  /* how many there are in all                                                           */
    int first;    /* the first repeat that may be like the next one                                      */
    bool carries; /* messages are under way from one repeat into the next                                */
    bool close;   /* two repeats that agree to DIT_SIM_SHARES_ALIKE are enough                           */
    bool endless; /* hosts must stay ahead for ever, not for `repeats`; only agreement to 1e-9 is enough */
} dit_sim_watch_params;

typedef struct dit_sim_watch dit_sim_watch;

/* Opens one watch for all ranks, each of which closes it. Collective; the caller makes ranks meet before the first
 * repeat. Errors: DIT_ERR_MEMORY. */
dit_status dit_sim_watch_open(const dit_sim_watch_params *params, dit_sim_watch **out);
void dit_sim_watch_close(dit_sim_watch *watch);
/* Repeat `at`, from 0, begins on this rank now. Returns the repeat to do: this one, or the last one where all between
 * are left out, on all ranks. A host that falls behind its device in the repeats left out is not noticed, so repeats
 * are alike only where every host stays ahead. */
int dit_sim_watch_begin(dit_sim_watch *watch, const dit_sim *sim, int at);
/* How many repeats were left out; the seconds of each, as the mean of ranks; and the share of it to which repeats
 * agreed (0: 1e-9). */
int dit_sim_watch_left_out(const dit_sim_watch *watch);
double dit_sim_watch_seconds(const dit_sim_watch *watch);
double dit_sim_watch_alike(const dit_sim_watch *watch);

#endif
