/* Plan record: answers a case of program layer_plan and leaves the record that a session journals. */
#ifndef DIT_SUITE_LAYERS_PLAN_RECORD_H
#define DIT_SUITE_LAYERS_PLAN_RECORD_H

#include "suite/layers/planner.h"

/* Reads accelerator.json and profile.json in `folder`, plans the case on the cluster, and writes record.json there;
 * where no plan fits, error.json, too, which says how much memory the least one needs. *exit_code gets what a program
 * that did this would end with. Errors: DIT_ERR_IO, DIT_ERR_JSON_*, DIT_ERR_UNSUPPORTED, those of suite_plan_make and
 * of the watch, which may be NULL. */
dit_status suite_plan_leave_record(const dit_json *document, const suite_cluster *cluster,
                                   const suite_layers_watch *watch, const char *folder, int *exit_code);

#endif
