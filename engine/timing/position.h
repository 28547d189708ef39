/* Position: where a rank is, kept all the time by plain stores, and told when somebody asks.
 *
 * Whoever runs something leaves its number here; communicators leave what they are held up by. On SIGUSR1 a rank writes
 * one line to stderr and to position-RANK.txt in the folder for records, and goes on; on SIGTERM it writes it too, and
 * ends. mpirun hands SIGUSR1 on to its ranks, so a run is asked by asking mpirun. Line: results/schema/README.md.
 */
#ifndef DIT_ENGINE_POSITION_H
#define DIT_ENGINE_POSITION_H

#include "base/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_POSITION_NOBODY = -1, DIT_POSITION_EVERYBODY = -2 };

/* What holds the rank's own thread up. */
typedef struct {
    const char *collective;             /* "all_to_all"; lives as long as the program. NULL: nothing holds it up */
    const char *axis;                   /* "ulysses", "world"                                                   */
    const int *ranks;                   /* [size] of the group, by their rank in the world; NULL: 0, 1, ...      */
    int size, own;                      /* own: this rank's place in the group                                   */
    int from, to;                       /* of the group, or DIT_POSITION_NOBODY; from: DIT_POSITION_EVERYBODY    */
    int64_t received_bytes, sent_bytes; /* received_bytes 0: of a size that is not known             */
    int64_t began_ns;
} dit_position_wait;

/* Read by a signal handler at any moment, hence volatile. */
typedef struct {
    volatile int32_t image, step, patch, layer; /* -1: none */
    const char *volatile phase;                 /* NULL: none */
    volatile dit_position_wait wait;
} dit_position_state;
extern dit_position_state dit_position;

/* From now on both signals are answered: for `rank` of the world, into `out_folder`, which need not exist yet.
 * Errors: DIT_ERR_ENVIRONMENT. */
dit_status dit_position_install(int rank, const char *out_folder);
/* Where on the mesh the rank is, for the line. */
void dit_position_set_mesh(const dit_parallel *parallel, const int coordinates[DIT_AXIS_COUNT]);

/* Another image begins. */
static inline void dit_position_next_image(void)
{
    dit_position.image++;
}
/* DIT_STEP_FILL and -1: none. */
static inline void dit_position_set_step(int step)
{
    dit_position.step = step;
}
/* The band of a pipeline; -1: all rows. */
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
/* Around everything that may hold the thread up. Not nested. */
void dit_position_wait_begin(const dit_position_wait *wait);
static inline void dit_position_wait_end(void)
{
    dit_position.wait.collective = NULL;
}

#ifdef __cplusplus
}
#endif
#endif
