/* Oracle: attention as an approximate method makes it, on one rank that has every row.
 *
 * Rows belong to groups: bands of a pipeline, or patches. In a synchronous forward every key is fresh. Otherwise a
 * forward is about one group: its own rows are fresh, rows of other groups are what they were when they were last
 * fresh, or are not there, as the method says. What a forward computes of rows of other groups means nothing, and
 * reaches nobody: their K and V are replaced at every call.
 */
#ifndef DIT_ENGINE_ATTENTION_ORACLE_H
#define DIT_ENGINE_ATTENTION_ORACLE_H

#include "base/patches.h"
#include "engine/attention/attention.h"

enum { DIT_ORACLE_ALL = -1 };

/* What is emulated, and where that stands. */
typedef struct {
    dit_parallel parallel; /* of one pipeline, or one row of patches; joint_text split or replicate   */
    int groups;            /* bands or patches                                                        */
    int group;             /* that forwards are about; DIT_ORACLE_ALL: synchronous, about all rows    */
    int newest;            /* 0 or 1: the store of this step; the other one has that of the step before */
} dit_oracle;

/* `parallel` must be legal and canonical (dit_parallel_emulated). Starts synchronous. A single band or patch is the
 * exact method. */
void dit_oracle_init(dit_oracle *oracle, const dit_parallel *parallel, const dit_facts *facts);
/* Image rows of group `group`, of `rows` that a segment has. */
dit_range dit_oracle_rows(const dit_oracle *oracle, int group, int64_t rows);
/* What is the newest K and V becomes that of the step before. */
void dit_oracle_end_step(dit_oracle *oracle);

/* Makes a policy of the name "oracle" look at `oracle`, which must outlive it, and takes memory for K and V of all its
 * calls, two steps of them, from rt->image. Errors: DIT_ERR_INTERNAL for other policies, DIT_ERR_MEMORY. */
dit_status dit_attention_set_oracle(dit_attention *attention, const dit_oracle *oracle);

#endif
