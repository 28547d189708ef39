/* Position: keeps where a rank is, by plain stores, and reports it on request.
 *
 * Code that runs a step, a band or a block stores its number here; communicators store what they wait for. On SIGUSR1 a
 * rank writes one line to stderr and to position-RANK.txt in the folder for records, and goes on. On SIGTERM it writes
 * the line and ends. mpirun passes SIGUSR1 on to its ranks. results/schema/journal.md describes the line.
 */
#ifndef DIT_ENGINE_POSITION_H
#define DIT_ENGINE_POSITION_H

#include "base/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_POSITION_NOBODY = -1, DIT_POSITION_EVERYBODY = -2 };

/* What the rank's thread waits for. */
typedef struct {
    const char *collective;             /* "all_to_all"; lives as long as the program. NULL: nothing holds it up */
    const char *axis;                   /* "ulysses", "world"                                                   */
    const int *ranks;                   /* [size] of the group, by their rank in the world; NULL: 0, 1, ...      */
    int size, own;                      /* own: this rank's place in the group                                   */
    int from, to;                       /* of the group, or DIT_POSITION_NOBODY; from: also ..._EVERYBODY        */
    int64_t received_bytes, sent_bytes; /* received_bytes 0: the size is unknown                     */
    int64_t began_ns;
} dit_position_wait;

/* Volatile, because a signal handler reads it at any moment. */
typedef struct {
    volatile int32_t image, step, patch, layer; /* -1: none */
    const char *volatile phase;                 /* NULL: none */
    volatile dit_position_wait wait;
} dit_position_state;
extern dit_position_state dit_position;

/* Answers both signals from now on, for `rank` of the world, into `out_folder`, which need not exist yet.
 * Errors: DIT_ERR_ENVIRONMENT. */
dit_status dit_position_install(int rank, const char *out_folder);
/* Sets the rank's place on the mesh, which the line names. */
void dit_position_set_mesh(const dit_parallel *parallel, const int coordinates[DIT_AXIS_COUNT]);

/* Counts the image that begins. */
static inline void dit_position_next_image(void)
{
    dit_position.image++;
}
/* Sets the step; DIT_STEP_FILL and -1 mean none. */
static inline void dit_position_set_step(int step)
{
    dit_position.step = step;
}
/* Sets the band of a pipeline; -1: all rows. */
static inline void dit_position_set_patch(int band)
{
    dit_position.patch = band;
}
static inline void dit_position_set_layer(int64_t layer)
{
    dit_position.layer = (int32_t)layer;
}
static inline void dit_position_set_phase(const char *phase)
{
    dit_position.phase = phase;
}
/* Enclose everything that may hold the thread up. Not nested. */
void dit_position_wait_begin(const dit_position_wait *wait);
static inline void dit_position_wait_end(void)
{
    dit_position.wait.collective = NULL;
}

#ifdef __cplusplus
}
#endif
#endif
