/* Edit plan: how a picture is drawn again after an edit of its caption, from what the run before kept.
 *
 * The run of the old caption keeps its latents and the K and V of every step. The run of the new caption starts from the
 * same noise, computes all rows in its first steps, and sees which latents have moved away from the old ones. From then on
 * it computes those rows of tokens alone, over the kept K and V of all others, whose latents are the old run's.
 *
 * Source: FISEdit (arXiv:2305.17423), which does so in a U-Net; here its idea on transformers.
 */
#ifndef DIT_BASE_EDIT_PLAN_H
#define DIT_BASE_EDIT_PLAN_H

#include "base/facts.h"
#include "base/json_writer.h"
#include "base/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int dense_steps;    /* first steps, which compute all rows; 0: there is no plan                                  */
    double threshold;   /* a token has changed where it moved by more than this share of what moved most, in [0, 1)  */
    double dense_share; /* all rows are computed where more than this share of them would be, in (0, 1]             */
} dit_edit_plan;

/* Reads {"dense_steps": 4, "threshold": 0.1, "dense_share": 0.6}; dense_share may be left out. Errors: DIT_ERR_JSON_*. */
dit_status dit_edit_plan_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_edit_plan *out);
void dit_edit_plan_to_json(dit_json_writer *w, const dit_edit_plan *plan, cJSON *object);
/* Writes "edit(4 0.1)"; with another dense_share than 0.6 "edit(4 0.1 dense 0.5)"; "none" of no plan. */
void dit_edit_plan_label(const dit_edit_plan *plan, char *out, size_t size);
/* Checks the plan against mesh and model; without a plan it accepts all. Errors: DIT_ERR_CONSTRAINT_METHOD where there are
 * several ranks, several frames or two transformers, or no step is left after the dense ones. */
dit_status dit_edit_plan_check(const dit_edit_plan *plan, const dit_parallel *parallel, const dit_facts *facts);
/* Returns the bytes that the old run keeps: its latents, and K and V of the image rows of all layers and steps. */
int64_t dit_edit_plan_kept_bytes(const dit_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
