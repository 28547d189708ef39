/* Plan record: answers a case of program layer_plan and leaves the record that a session journals. */
#ifndef DIT_SUITE_LAYERS_PLAN_RECORD_H
#define DIT_SUITE_LAYERS_PLAN_RECORD_H

#include "base/json_writer.h"
#include "suite/layers/planner.h"

/* Reads accelerator.json and profile.json in `folder`, plans the case on the cluster, and writes record.json there;
 * where no plan fits, error.json, too, which says how much memory the least one needs. *exit_code gets what a program
 * that did this would end with. Errors: DIT_ERR_IO, DIT_ERR_JSON_*, DIT_ERR_UNSUPPORTED, those of suite_plan_make and
 * of the watch, which may be NULL. */
dit_status suite_plan_leave_record(const dit_json *document, const suite_cluster *cluster,
                                   const suite_layers_watch *watch, const char *folder, int *exit_code);

/* ---- what records of all planners share -------------------------------------------------------------------------- */

/* 2^53: up to here JSON carries whole numbers exactly. */
#define SUITE_PLAN_MOST_WHOLE 9007199254740992.0

/* What operators cost on the device, with the software. */
typedef struct {
    dit_cost_profile profile;
    dit_cost_device device;
} suite_plan_costs;

/* Reads accelerator.json and profile.json of `folder`, for the element of the case. Errors: DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status suite_plan_read_costs(const dit_json *document, const char *folder, suite_plan_costs *out);
/* Begins a simulated record of a program on so many devices; the writer has it. */
cJSON *suite_plan_begin_record(dit_json_writer *w, const char *program, int devices);
/* Puts a number of bytes, rounded up. What is too large for a record is left out; an error beside it says it in words. */
void suite_plan_put_bytes(dit_json_writer *w, cJSON *memory, const char *key, double bytes);

#endif
