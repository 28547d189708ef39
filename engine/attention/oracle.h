/* Oracle: the attention of an approximate method, emulated on one rank that has every row.
 *
 * Rows belong to groups: the bands of a pipeline, or patches. In a synchronous forward every key is fresh. Any other
 * forward is about one group. The group's own rows are fresh; the rows of other groups are as old as the method says,
 * or are not there. Such a forward also computes rows of the other groups, but nobody reads them: every call replaces
 * their K and V.
 *
 * A cache leaves out its middle blocks in some steps. Their K and V are those of the steps that compute them: for these
 * blocks such a step does not exist.
 */
#ifndef DIT_ENGINE_ATTENTION_ORACLE_H
#define DIT_ENGINE_ATTENTION_ORACLE_H

#include "base/patches.h"
#include "engine/attention/attention.h"

enum { DIT_ORACLE_ALL = -1 };

/* Blocks that all steps compute, and those that a cache leaves out in some. */
typedef enum { DIT_ORACLE_EVERY_STEP, DIT_ORACLE_COMPUTED_STEPS, DIT_ORACLE_KINDS } dit_oracle_kind;

/* What is emulated, and how far the emulation has come. */
typedef struct {
    dit_parallel parallel;        /* one pipeline, or one row of patches; joint_text is split or replicate       */
    int groups;                   /* how many bands or patches there are                                        */
    int64_t frames;               /* of tokens, of the clip                                                     */
    bool per_frame;               /* the model attends within frames and over time                              */
    int64_t references;           /* the last image rows, of a picture that is not denoised; 0: none            */
    int group;                    /* the group that forwards are about; DIT_ORACLE_ALL: all rows, synchronously */
    dit_oracle_kind kind;         /* of the blocks that run now                                                 */
    bool forgets;                 /* K and V of these blocks are not remembered: the cache leaves them out      */
    int newest[DIT_ORACLE_KINDS]; /* 0 or 1: the store of this step; the other one is the step before's  */
} dit_oracle;

/* Starts with a synchronous forward. `parallel` must be legal and canonical (dit_parallel_emulated). With a single band
 * or patch the oracle is the exact method. */
void dit_oracle_init(dit_oracle *oracle, const dit_parallel *parallel, const dit_facts *facts);
/* True if groups are runs of whole frames. */
bool dit_oracle_is_of_frames(const dit_oracle *oracle);
/* How often a step's forwards about all groups must be made, one group after the other, before the newest is right. */
int64_t dit_oracle_sweeps(const dit_oracle *oracle, const dit_facts *facts);
/* Those of a segment's `rows` image rows, or of frames those of all rows, that belong to group `group`; rows that are
 * denoised and those of a reference are cut each by themselves. */
dit_range dit_oracle_rows(const dit_oracle *oracle, int group, int64_t rows);
/* Ends a step: the newest K and V become the step before's; those of the cache's middle blocks only if it computed them. */
void dit_oracle_end_step(dit_oracle *oracle, bool computed);

/* Makes the policy "oracle" emulate what `oracle` says, which must outlive it. Takes memory from rt->image for the K
 * and V of all its calls in two steps. Errors: DIT_ERR_INTERNAL for other policies, DIT_ERR_MEMORY. */
dit_status dit_attention_set_oracle(dit_attention *attention, const dit_oracle *oracle);

#endif
