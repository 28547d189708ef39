/* Edit log: what the newest run of an edited caption did (base/edit_plan.h, engine/edits/). */
#ifndef DIT_ENGINE_SAMPLING_EDIT_LOG_H
#define DIT_ENGINE_SAMPLING_EDIT_LOG_H

#include "base/patches.h"

typedef struct {
    dit_range rows;  /* image rows that sparse steps computed                                           */
    int64_t changed; /* tokens that moved by more than the threshold                                    */
    bool dense;      /* more rows than dense_share would have been computed, so that all were           */
    double computed; /* rows of all steps over those of a whole run                                     */
    int64_t differs; /* floats of kept rows that are not those of the old picture; of an exact run none */
} dit_edit_log;

#endif
