/* Sequence planner: cuts devices into groups that share the tokens of sequences, batch after batch, so that each batch is
 * done soon.
 *
 * A group works on its sequences one after the other; a batch takes as long as the group that is done last, and its end
 * (sequence_cost.h). Every cut that the question allows is tried, with the assignment of suite/queue/assignment.h:
 * longest first and exchanges. Groups of several sizes are FlexSP's (arXiv:2412.01523), of any size ByteScale's
 * (arXiv:2502.21231); a cut that changes now and then for lengths that drift is re-planning.
 */
#ifndef DIT_SUITE_SEQUENCES_SEQUENCE_PLANNER_H
#define DIT_SUITE_SEQUENCES_SEQUENCE_PLANNER_H

#include "suite/sequences/cut_list.h"
#include "suite/sequences/sequence_cost.h"

typedef struct {
    suite_cut cut;
    double seconds; /* with its end and a change before it                               */
    double one_s;   /* by the cut of one size that serves all batches soonest; INFINITY: none does */
    double bound_s; /* no assignment on so many devices is under it                      */
    bool changed;   /* the cut is another than that of the batch before                  */
} suite_sequence_batch;

typedef struct {
    bool found;                    /* every sequence fits some group                  */
    suite_sequence_batch *batches; /* [question.batches]                              */
    int count, changes;
    double seconds, one_s, bound_s; /* of all batches                                 */
    double fullest_bytes;      /* of a device, over all batches; not found: that the longest sequence needs on all */
    double state_bytes, flops; /* flops: forward and backward                     */
} suite_sequence_plan;
/* Accepts a zeroed one. */
void suite_sequence_plan_release(suite_sequence_plan *plan);

/* Plans. That nothing fits is no error. Errors: DIT_ERR_CONSTRAINT_PRODUCT for groups of any size over several nodes;
 * DIT_ERR_MEMORY; those of the watch. */
dit_status suite_sequence_plan_make(const suite_sequence_question *question, const suite_plan_machine *machine,
                                    suite_sequence_plan *out);

#endif
