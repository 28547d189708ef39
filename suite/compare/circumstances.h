/* Circumstances: in what two sessions differ besides their numbers, ranked by how likely it explains a change.
 *
 * Every value under the session lines' hardware, environment, suite, simulation and workload is compared. The rank
 * comes from a table of what is known to move times (circumstances.c); what is not in it stands last.
 */
#ifndef DIT_SUITE_COMPARE_CIRCUMSTANCES_H
#define DIT_SUITE_COMPARE_CIRCUMSTANCES_H

#include "base/json.h"

typedef struct {
    char path[160];          /* "environment/libraries/nccl" */
    char old[120], now[120]; /* as text; "" where a side does not say */
    int rank;                /* 0 explains most */
    const char *reason;      /* why it may move times; "" for the rest */
} suite_circumstance;

/* The differences of two session lines, the likeliest first. `partial`: one is a baseline's, which keeps a part only,
 * so that what stands in one alone is no difference. *out from malloc, NULL for none. Errors: DIT_ERR_MEMORY. */
dit_status suite_circumstances_compare(const cJSON *old, const cJSON *now, bool partial, suite_circumstance **out,
                                       int *count);

#endif
