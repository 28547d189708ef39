/* Simulate: runs a case on a simulated cluster, with the engine that smpicc compiled (ditbench-engine-sim) under
 * smpirun.
 *
 * The cluster becomes SimGrid's XML and a file of hosts. The case gets "simulation", which says where the cost model's
 * parameters are and what the links are like. The times that come back are virtual.
 */
#ifndef DIT_SUITE_SIMULATE_SIMULATE_H
#define DIT_SUITE_SIMULATE_SIMULATE_H

#include "suite/launch/process.h"
#include "suite/paths.h"
#include "suite/platform/calibration.h"

/* How many times as fast parts of the machine are as the platform says; 0: as fast. */
typedef struct {
    double host;   /* what its host issues   */
    double links;  /* bandwidth of all links */
    double device; /* arithmetic and memory  */
} suite_simulate_faster;

/* What a simulation is told beside the case. */
typedef struct {
    const char *engine;  /* NULL: ditbench-engine-sim beside this program */
    const char *element; /* "fp16": of the published numbers              */
    double deadline_s;   /* of one case                                   */
    bool replay;         /* every step, not as many as it takes until they repeat */
    bool layered;        /* some blocks and hops of few ranks, too, as of very many */
    suite_simulate_faster faster;
    suite_signals *signals;               /* NULL: a signal ends the program, as usual */
    const suite_calibration *calibration; /* laid over accelerator, profile and links; NULL: nothing */
} suite_simulate_params;

/* What came back. Bytes and memory are counted in the dtype, for the rank that has most. */
typedef struct {
    double seconds, decode_seconds; /* the decode is part of it; 0: there is none */
    int64_t steps;                  /* that were simulated; the rest repeated */
    double step_s;                  /* each of the rest; 0: there is none */
    int64_t sent_bytes, memory_bytes;
} suite_simulated;

/* Finds smpirun and the engine. Errors: DIT_ERR_ENVIRONMENT with what to install or build. */
dit_status suite_simulate_check(const suite_simulate_params *params);
/* Finds the path of the engine: `given`, else ditbench-engine-sim beside the running program. Errors:
 * DIT_ERR_ENVIRONMENT. */
dit_status suite_simulate_engine(const char *given, char out[SUITE_PATH]);
/* Leaves in `folder`, which exists, what the launcher smpirun starts from: platform.xml, hosts, accelerator.json,
 * profile.json and case.json, which is `document` with "simulation". Needs no SimGrid. Errors: DIT_ERR_NOT_FOUND,
 * DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_PLATFORM, DIT_ERR_IO. */
dit_status suite_simulate_prepare(const suite_simulate_params *params, const char *folder, const cJSON *document,
                                  int world_size, const char *platform, const char *profile);
/* Makes a folder for the files of one simulation. The caller removes it. Errors: DIT_ERR_IO. */
dit_status suite_simulate_folder(char out[SUITE_PATH]);
/* Runs what was prepared in `folder` as `ranks` ranks, which leave record.json there. Errors: DIT_ERR_TIMEOUT,
 * DIT_ERR_INTERRUPTED, DIT_ERR_ENVIRONMENT, and what the engine says of the case. */
dit_status suite_simulate_run(const suite_simulate_params *params, const char *folder, int ranks);
/* A case of program bounds (engine/bound/bounds.h); ranks NULL: rank 0. */
typedef struct {
    const cJSON *document, *ranks;
    int world_size;
    bool blocks; /* the time in each block is asked for, too */
} suite_simulate_bounded;
/* As suite_simulate_prepare, for the bounds of many cases on one platform: run it as one rank. */
dit_status suite_simulate_prepare_bounds(const suite_simulate_params *params, const char *folder,
                                         const suite_simulate_bounded *cases, int count, const char *platform,
                                         const char *profile);
/* Simulates `document` (a denoise case of `world_size` ranks) on workloads/platforms/PLATFORM with the profile.
 * Errors: DIT_ERR_NOT_FOUND, DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_PLATFORM, DIT_ERR_TIMEOUT, DIT_ERR_INTERRUPTED, and
 * what the engine says of the case. */
dit_status suite_simulate_case(const suite_simulate_params *params, const cJSON *document, int world_size,
                               const char *platform, const char *profile, suite_simulated *out);

#endif
