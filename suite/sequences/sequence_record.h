/* Sequence record: answers a case of program sequence_plan and leaves the record that a session journals. */
#ifndef DIT_SUITE_SEQUENCES_SEQUENCE_RECORD_H
#define DIT_SUITE_SEQUENCES_SEQUENCE_RECORD_H

#include "suite/sequences/sequence_planner.h"

/* As suite_plan_leave_record (suite/layers/plan_record.h), of a case of this program. */
dit_status suite_sequence_leave_record(const dit_json *document, const suite_cluster *cluster,
                                       const suite_layers_watch *watch, const char *folder, int *exit_code);

#endif
