/* Edit: executors that draw a picture again after an edit of its caption. sampler->edit is set; each runs the old caption
 * with sampler->keeps, then the new one. */
#ifndef DIT_ENGINE_EDITS_EDIT_H
#define DIT_ENGINE_EDITS_EDIT_H

#include "engine/sampling/sampler.h"

/* The oracle computes all rows in every step. */
extern const dit_executor dit_executor_edit, dit_executor_edit_oracle;

/* Sets edit_log.differs of the newest run of executor "edit": it looks at all latents, so no clock should run. Errors:
 * DIT_ERR_DEVICE. */
dit_status dit_edit_count_differing(dit_sampler *sampler);

#endif
