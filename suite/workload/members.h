/* Members: puts parts and parameters of a cell into a case document. Private to suite/workload. */
#ifndef DIT_SUITE_WORKLOAD_MEMBERS_H
#define DIT_SUITE_WORKLOAD_MEMBERS_H

#include "suite/workload/matrix.h"

/* Each returns DIT_ERR_MEMORY when it fails, suite_member_number also what suite_cell_number returns. */

dit_status suite_member_object(cJSON *parent, const char *key, cJSON **out);
dit_status suite_member_bool(cJSON *parent, const char *key, bool value);
/* `item` stays its owner's and has to outlive the document. */
dit_status suite_member_reference(cJSON *parent, const char *key, const cJSON *item);
/* Refers to the member `key` of `from`, if there is one. */
dit_status suite_member_shared(cJSON *parent, const cJSON *from, const char *key);
/* A number of the cell, under the parameter's own key. */
dit_status suite_member_number(cJSON *parent, const suite_cell *cell, suite_parameter parameter);

#endif
