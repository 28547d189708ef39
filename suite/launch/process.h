/* Process: starts a command as the leader of its own session, waits for it under a deadline, and ends its whole tree.
 *
 * The harness is the subreaper of everything it starts, so that an orphan (a rank whose mpirun was killed) is still
 * found among its descendants; and each tree carries DITBENCH_ATTEMPT=<name> in its environment, so that what a killed
 * harness left behind can be found too. The child dies with the harness (PDEATHSIG). When suite_process_run returns,
 * nothing of the tree is left, whatever happened. One tree at a time.
 */
#ifndef DIT_SUITE_LAUNCH_PROCESS_H
#define DIT_SUITE_LAUNCH_PROCESS_H

#include "base/status.h"
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

/* SIGINT and SIGTERM, held back while a run is in progress so that state can be saved. The first asks for an orderly
 * stop, the second for an immediate one. */
typedef struct {
    sigset_t before;
    int received; /* the first signal, 0 for none */
    int count;
} suite_signals;

void suite_signals_block(suite_signals *signals);
void suite_signals_restore(suite_signals *signals);
/* Takes pending signals into account; returns the first one received, 0 for none. */
int suite_signals_poll(suite_signals *signals);

typedef struct {
    char *const *argv;      /* NULL-terminated; argv[0] is looked up in PATH                           */
    char *const *env;       /* "NAME=VALUE", added to the environment; NULL-terminated, or NULL        */
    const char *folder;     /* to start in; NULL: here                                                 */
    const char *attempt;    /* value of DITBENCH_ATTEMPT; must be unique to this tree                  */
    const char *log_path;   /* stdout and stderr are appended here                                     */
    int stdout_fd;          /* > 0: stdout goes there instead of the log                               */
    double deadline_s;      /* 0: none                                                                 */
    double grace_s;         /* between SIGTERM and SIGKILL; 0: 3 s                                     */
    suite_signals *signals; /* NULL: a signal ends the harness as usual          */
    void (*tick)(void *context, double elapsed_s); /* called a few times a second; may be NULL        */
    void *context;
    /* Called once, when the deadline has passed and before anything is ended; may be NULL. */
    void (*late)(void *context, pid_t leader);
    void *late_context;
} suite_process_params;

typedef enum {
    SUITE_PROCESS_EXITED,      /* exit_code holds                            */
    SUITE_PROCESS_SIGNALED,    /* ended by signal_number, not by us          */
    SUITE_PROCESS_TIMEOUT,     /* past the deadline; ended by us             */
    SUITE_PROCESS_INTERRUPTED, /* the harness got a signal; ended by us      */
    SUITE_PROCESS_END_COUNT
} suite_process_end;

typedef struct {
    suite_process_end end;
    int exit_code, signal_number;
    int64_t elapsed_ns;
    bool oom_killed; /* the kernel's out-of-memory killer struck somewhere on this machine meanwhile */
    int leftovers;   /* processes that had to be killed after the leader was gone                    */
} suite_process_result;

/* Runs the command to its end. Errors: DIT_ERR_ENVIRONMENT when it cannot be started, DIT_ERR_IO for the log. */
dit_status suite_process_run(const suite_process_params *params, suite_process_result *out);

/* Kills every process (of ours) whose DITBENCH_ATTEMPT starts with `prefix`; returns how many. For trees of a harness
 * that was killed: call it only while holding the lock of what `prefix` names. */
int suite_process_sweep(const char *prefix);

/* State of the process of the tree `attempt` in whose environment `variable` is `value`: 'R', 'S', 'T' for stopped, ...
 * as in /proc/PID/stat; 0: there is none. */
char suite_process_state(const char *attempt, const char *variable, int value);

/* Start time of a process in clock ticks since boot, 0 when there is no such process: with the pid it is an identity.
 */
uint64_t suite_process_start_time(pid_t pid);

#endif
