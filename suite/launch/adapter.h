/* Adapter: finds the program that runs cases by an external engine, and checks what it leaves (docs/external.md). */
#ifndef DIT_SUITE_LAUNCH_ADAPTER_H
#define DIT_SUITE_LAUNCH_ADAPTER_H

#include "suite/catalogue/engine.h"
#include "suite/launch/outcome.h"
#include "suite/paths.h"

enum { SUITE_ADAPTER_REASON = 640 };

typedef struct {
    char interpreter[SUITE_PATH]; /* "": the program is started by itself */
    char program[SUITE_PATH];
} suite_adapter;

/* Finds what starts cases of an external engine on this machine. Returns false where there is nothing, with the
 * reason and the command that helps. */
bool suite_adapter_find(const suite_engine *engine, suite_adapter *out, char reason[SUITE_ADAPTER_REASON]);

/* Returns the external engine of a case document; NULL where ours runs it. */
const suite_engine *suite_engine_of_case(const cJSON *document);

/* Where an adapter ran a case. */
typedef struct {
    const cJSON *document; /* of the case                                                   */
    const char *out_dir;   /* has record.json, which out->record holds                      */
    const char *reference; /* latents of ditbench-engine's one-rank case; NULL: none so far */
} suite_adapter_run;

/* Checks the record of an external engine that ended well, and the latents beside it: it must name its engine and
 * version and have a sample for each iteration, and its latents must be finite and those of the reference. Writes
 * `validation` into the record and into record.json: an adapter does not judge itself. Sets the error of what is wrong.
 */
void suite_adapter_check(const suite_adapter_run *run, suite_outcome *out);

#endif
