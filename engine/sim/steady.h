/* Steady: when what a simulated rank repeats - steps of a denoising, forwards of a layer - has become the same each
 * time.
 *
 * Once two repeats in a row take every rank the same time, all further ones do: simulation has no chance in it, and the
 * second began as the first did, later.
 */
#ifndef DIT_ENGINE_SIM_STEADY_H
#define DIT_ENGINE_SIM_STEADY_H

#include "engine/sim/account.h"

enum { DIT_SIM_MARKS = 3 };
/* When this rank began its newest repeats, and what it had counted by then; the newest last. Zeroed at the start. */
typedef struct {
    int count;
    double began_s[DIT_SIM_MARKS], host_s[DIT_SIM_MARKS];
    dit_iteration counted[DIT_SIM_MARKS];
} dit_sim_marks;

/* Another repeat begins now. */
void dit_sim_mark(dit_sim_marks *marks, const dit_runtime *rt);
/* One repeat: the newest that has another one behind it. */
dit_sim_account dit_sim_marked(const dit_sim_marks *marks);
/* Between how far repeats may differ and yet be the same, as a share of one. SimGrid shares links out to 1e-5: where
 * ranks of several nodes meet on one, repeats go on differing by that. */
#define DIT_SIM_SHARES_ALIKE 1e-5
/* Collective: whether the last two repeats took all ranks the same time, to 1e-9 of all time so far or to `alike` of a
 * repeat, and no host is caught up with in the `left` repeats to come: one that is ahead of its device but slower holds
 * it up from then on. *seconds: what a repeat takes, the mean of ranks. Errors: DIT_ERR_MEMORY, DIT_ERR_MPI. */
dit_status dit_sim_is_steady(const dit_sim_marks *marks, double alike, int left, bool *steady, double *seconds);

#endif
