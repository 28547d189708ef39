/* Edit: what the attention policies "edit" and "edit_oracle" do with the K and V of an earlier run. Both are for one rank. */
#ifndef DIT_ENGINE_ATTENTION_EDIT_H
#define DIT_ENGINE_ATTENTION_EDIT_H

#include "base/patches.h"
#include "engine/attention/attention.h"

typedef enum {
    DIT_EDIT_PLAIN, /* attends to its own rows                                                              */
    DIT_EDIT_KEEP,  /* does so, and keeps K and V of the image rows for the step of the window              */
    DIT_EDIT_TAKE   /* attends to kept K and V of that step, but for the rows `fresh`, which are its own     */
} dit_edit_mode;

/* Sets what the forwards that follow do. fresh: image rows; policy "edit" has windows of just these rows, "edit_oracle" of
 * all. Does nothing to other policies. */
void dit_attention_edit(dit_attention *attention, dit_edit_mode mode, dit_range fresh);

/* ---- for the two policies ---------------------------------------------------------------------------------------- */

/* How the state of both begins. */
typedef struct {
    dit_edit_mode mode;
    dit_range fresh;
    int64_t text, rows, width; /* rows of text and of the image in a call; floats of a row of K */
} attention_edit;

/* Takes zeroed host memory of `bytes` for the policy's state, and fills in the sizes. Errors: DIT_ERR_UNSUPPORTED for a layer
 * alone; DIT_ERR_MEMORY. */
dit_status attention_edit_take(dit_attention *attention, int64_t bytes);

#endif
