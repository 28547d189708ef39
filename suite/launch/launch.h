/* Launch: starts the engine on one case through a launcher and turns whatever happens into an outcome.
 *
 * A launcher is one row of a table: how the command line is made. A crash, a hang, an out-of-memory kill or a missing
 * record is an outcome of the case (status and error), never a failure of the harness.
 */
#ifndef DIT_SUITE_LAUNCH_LAUNCH_H
#define DIT_SUITE_LAUNCH_LAUNCH_H

#include "suite/launch/command.h"
#include "suite/launch/outcome.h"
#include "suite/launch/process.h"
#include "suite/launch/wire.h"
#include "suite/paths.h"
#include "suite/text.h"

/* The network model that the files of suite/platform/cluster_xml.h are written for. */
#define SUITE_SMPI_MODEL "--cfg=network/model:CM02"

/* What to start. Strings stay the caller's. */
typedef struct {
    const char *engine;    /* path of ditbench-engine                                              */
    const char *case_file; /* --case                                                               */
    const char *out_dir;   /* --out; must exist; gets engine.log                                   */
    const char *reference; /* --reference; NULL when there is none                                 */
    const char *oracle;    /* --oracle, of approximate methods; NULL when there is none            */
    const char *converged; /* --converged, of a case that makes pictures; NULL when there is none  */
    const char *scratch;   /* for session folders and shared-memory segments; NULL: the default's  */
    bool no_pictures;      /* --no-pictures: an earlier process of the case made them                      */
    int world_size, threads_per_rank;
    int cores;                    /* of this machine                                                      */
    bool single_copy;             /* ranks may read each other's memory (suite_launch_single_copy)        */
    bool simulated;               /* out_dir holds what suite_simulate_prepare left; case_file is not read */
    const char *interpreter;      /* of an adapter that is a script; NULL: `engine` is started by itself          */
    const cJSON *external;        /* document of a case whose `engine` is an adapter (adapter.h); NULL: it is ours */
    int64_t device_memory_bytes;  /* of a simulated device: what counts more is out of memory; 0: no limit */
    const suite_strings *without; /* nodes that get no rank; only launchers that choose nodes; NULL: none  */
    const suite_wire *wire;       /* the first half of the ranks runs on its first host; NULL: all ranks run here */
} suite_launch_plan;

/* A way to start `world_size` processes. */
typedef struct {
    const char *name, *help;
    bool runs;          /* false: the command is only printed */
    bool writes_script; /* of all commands one batch script is printed, and no session is begun */
    bool chooses_nodes; /* it can leave nodes of the allocation out                             */
    dit_status (*command)(const suite_launch_plan *plan, suite_command *out); /* required */
} suite_launcher;

/* The table ends with a row whose name is NULL. */
extern const suite_launcher suite_launchers[];
/* Starts adapters of external engines, whatever launcher the engine's own cases have; no row, as nobody chooses it. */
extern const suite_launcher suite_adapter_launcher;
/* False where the commands of the launcher are only printed: always, or because there is no allocation of Slurm. */
bool suite_launcher_runs(const suite_launcher *launcher);
/* Writes "NODE,NODE,...". Errors: DIT_ERR_USAGE, where that is too long. */
dit_status suite_launch_node_list(const suite_strings *nodes, char out[SUITE_PATH]);
/* Says whether the launcher can keep ranks off these nodes. Errors: DIT_ERR_USAGE, where it starts them on this machine
 * only, or where a name is none of a node. */
dit_status suite_launcher_check_without(const suite_launcher *launcher, const suite_strings *nodes);
/* Errors: DIT_ERR_NOT_FOUND with the nearest name. */
dit_status suite_launcher_find(const char *name, const suite_launcher **out);

/* How to run the process; see suite_process_params. */
typedef struct {
    double deadline_s;
    int stdout_fd; /* > 0: the engine's stdout goes there */
    suite_signals *signals;
    void (*tick)(void *context, double elapsed_s);
    void *context;
} suite_launch_options;

/* Runs the case to its end. Errors (the harness's, not the case's): DIT_ERR_ENVIRONMENT when the launcher cannot be
 * started, DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status suite_launch_run(const suite_launcher *launcher, const suite_launch_plan *plan,
                            const suite_launch_options *options, suite_outcome *out);
/* The two halves of suite_launch_run, for callers that run a case in one process and judge it in another: the first
 * runs the process to its end (errors as above), the second turns the files that it left in out_dir into an outcome. A
 * record whose evidence is not that of the plan, simulated or measured, is invalid. */
dit_status suite_launch_process(const suite_launcher *launcher, const suite_launch_plan *plan,
                                const suite_launch_options *options, suite_process_result *out);
void suite_launch_judge(const suite_launch_plan *plan, const suite_launch_options *options,
                        const suite_process_result *result, suite_outcome *out);

/* Finds the path of the engine: `given`, else ditbench-engine beside the running program. Errors:
 * DIT_ERR_ENVIRONMENT. */
dit_status suite_launch_engine(const char *given, char out[SUITE_PATH]);
/* True when one process may read the memory of its sibling (process_vm_readv); containers often forbid it. */
bool suite_launch_single_copy(void);
/* Returns the number of cores that this process may use. */
int suite_launch_cores(void);

#endif
