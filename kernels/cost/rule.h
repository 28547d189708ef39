/* Rule: what a compiler or CUDA graphs make of the operators that a census counted. It says which of them become one
 * kernel, whether views cost the host anything, and what one launch is: an operator, a half of a part (a graph ends
 * where attention begins), a whole forward with its attention and messages, or what it was before a compiler came.
 * Files of workloads/profiles/rules/.
 */
#ifndef DIT_KERNELS_COST_RULE_H
#define DIT_KERNELS_COST_RULE_H

#include "base/json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* UNCOMPILED: the host takes as long as for the operators that were counted, whatever became of them on the device. */
typedef enum { DIT_RULE_OPERATOR, DIT_RULE_HALF, DIT_RULE_FORWARD, DIT_RULE_UNCOMPILED } dit_rule_launch;
/* Zeroed: operators as they were counted, one by one. */
typedef struct {
    bool chains;     /* an element-wise chain between products is one kernel */
    bool views_free; /* the host makes no views                               */
    dit_rule_launch launches;
} dit_rule;

/* Reads the file at `path`. Errors: DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status dit_rule_read(const char *path, dit_rule *out);

#ifdef __cplusplus
}
#endif
#endif
