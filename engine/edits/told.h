/* Told: what a record tells of pictures that were drawn again after an edit of their captions. */
#ifndef DIT_ENGINE_EDITS_TOLD_H
#define DIT_ENGINE_EDITS_TOLD_H

#include "base/edit_plan.h"
#include "engine/quality/comparison.h"
#include "engine/sampling/edit_log.h"
#include "engine/shapes/split.h"

/* Adds "edit" to a record: the plan, and what the newest run did. */
void dit_edits_put_run(dit_json_writer *w, const dit_edit_plan *plan, const dit_facts *facts, const dit_edit_log *log,
                       cJSON *record);

/* Pictures of the first edits of a split. */
typedef struct {
    dit_split split;
    const dit_facts *facts;
    const dit_edit_log *logs; /* [batches]; NULL: they were drawn from nothing                    */
    int64_t batches;
    const dit_judged_set *own, *reference; /* reference: those that one rank drew from nothing, or NULL        */
} dit_edited;

/* Adds "edits" to `quality`: how often the edited word is right; where there are logs, which share of rows was computed, and
 * how near the pictures are to the reference, inside and outside the region where the renders of the two captions differ.
 * Errors: those of the rule; DIT_ERR_SHAPE. */
dit_status dit_edits_put_pictures(dit_json_writer *w, const dit_edited *edited, cJSON *quality);

#endif
