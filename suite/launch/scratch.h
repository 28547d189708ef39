/* Scratch: keeps one folder for the temporary files of launchers and MPI (session folders, shared-memory segments).
 *
 * It lies in /dev/shm where there is one (segments backed by a disk would be written back while we measure), and its
 * name holds who owns it: PREFIX.<uid>.<pid>.<start time>. The owner removes it; what a killed owner left is removed by
 * the next harness that starts, which can tell by the name that the owner is dead.
 */
#ifndef DIT_SUITE_LAUNCH_SCRATCH_H
#define DIT_SUITE_LAUNCH_SCRATCH_H

#include "suite/paths.h"

/* Removes scratch folders of dead owners, then makes this process's own (once) and returns its path in `out`. */
dit_status suite_scratch_open(char out[SUITE_PATH]);
/* Empties it between two launches. */
dit_status suite_scratch_empty(void);
/* Removes this process's scratch folder; fine when there is none. */
void suite_scratch_close(void);

#endif
