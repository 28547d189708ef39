/* Calibrate, measured: fits what the cost model needs to know of this machine's cores and memory to the times of the
 * engine's own operators and messages on them.
 *
 * The engine (program calibrate) times operators of many shapes on one rank and on as many as there are cores, and
 * messages between those. From these raw times a few parameters are fitted, and data files are written in the formats
 * of workloads/: an accelerator (one core), a profile (what the engine's element-wise work comes to), a class of links
 * (memory) and a platform (the machine). They are looked for before those of workloads/ (suite/catalogue/catalogue.h).
 */
#ifndef DIT_SUITE_CALIBRATE_CALIBRATE_MEASURED_H
#define DIT_SUITE_CALIBRATE_CALIBRATE_MEASURED_H

#include "base/json.h"

/* Zero means default. */
typedef struct {
    const char *engine;                            /* NULL: ditbench-engine beside this program          */
    const char *output;                            /* folder; NULL: the one that is looked into first    */
    const char *raw;                               /* raw times measured before; NULL: they are measured */
    const char *backend, *element;                 /* NULL: cpu; of a device "cuda" ..., and its element */
    bool few;                                      /* as few shapes as will do: of emulated devices      */
    double deadline_s;                             /* of one measurement                                 */
    void (*tick)(void *context, double elapsed_s); /* while something is measured; may be NULL           */
    void *context;
} suite_calibrate_measured_params;

/* Measures unless there is a raw file, fits, and writes raw.json (ditbench.calibration-raw/1),
 * accelerators/cpu-core.json, profiles/cpu.json, links/local.json and platforms/local-cpu-simulated.json under the
 * folder: equal raw times give equal bytes. For a device it writes accelerators/local-gpu.json and
 * profiles/local-gpu.json, and for several devices also a class of links and platforms/local-gpu-simulated.json.
 * *summary belongs to the caller: {"output", "raw", "ranks", "products", "attention", "messages": {"count",
 * "median_error"}, "together"}. Errors: DIT_ERR_IO, DIT_ERR_JSON_*, DIT_ERR_ENVIRONMENT, DIT_ERR_INTERRUPTED, and what
 * the engine says. */
dit_status suite_calibrate_measured(const suite_calibrate_measured_params *params, cJSON **summary);

#endif
