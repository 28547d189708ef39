/* Stuck ranks: asks the ranks of a case that is past its deadline where they are (engine/timing/position.h). */
#ifndef DIT_SUITE_LAUNCH_STUCK_RANKS_H
#define DIT_SUITE_LAUNCH_STUCK_RANKS_H

#include "base/buffer.h"
#include "base/json.h"
#include <sys/types.h>

enum { SUITE_POSITION = 1024 }; /* bytes of the line in which a rank tells where it is */

typedef struct {
    const char *out_dir; /* where the ranks write; also the DITBENCH_ATTEMPT of their tree */
    int world_size;
    cJSON *lines; /* filled by ask: one text a rank; NULL: nobody answered. The caller's    */
} suite_positions;

/* Asks all ranks through their launcher, process `leader`, and waits for their answers, a second at most. A rank that
 * does not answer gets a line that says so, and what the kernel knows of it. positions: a suite_positions; its type
 * fits suite_process_params.late. */
void suite_positions_ask(void *positions, pid_t leader);

/* Appends some of the lines to a message, those first of ranks that hold the others up: that do not answer, or wait for
 * nothing. lines: as above. */
void suite_positions_name(const cJSON *lines, dit_buffer *message);

#endif
