/* Members: puts members of other documents and parameters of a cell into a case document. Private to suite/workload. */
#ifndef DIT_SUITE_WORKLOAD_MEMBERS_H
#define DIT_SUITE_WORKLOAD_MEMBERS_H

#include "base/json_writer.h"
#include "suite/workload/matrix.h"

/* Refers to the member `key` of `from`, if there is one. It stays with its owner, who has to outlive `parent`. */
void suite_member_shared(dit_json_writer *w, cJSON *parent, const cJSON *from, const char *key);
/* Puts a number of the cell under the parameter's own key. The writer's status may become what suite_cell_number
 * returns. */
void suite_member_number(dit_json_writer *w, cJSON *parent, const suite_cell *cell, suite_parameter parameter);

#endif
