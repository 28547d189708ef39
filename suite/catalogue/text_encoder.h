/* Text encoder: reads what a pipeline encodes its prompt with, as the numbers from which a simulation charges time.
 *
 * workloads/text_encoders/NAME.json has the layers of one; a model's file says which it uses and how many tokens they
 * are padded to: "text_encoders": [{"name": "t5-xxl", "tokens": 512}].
 */
#ifndef DIT_SUITE_CATALOGUE_TEXT_ENCODER_H
#define DIT_SUITE_CATALOGUE_TEXT_ENCODER_H

#include "base/json.h"

/* Replaces each entry of a model's list by the whole encoder: {"name", "layers", "width", "heads", "head_dim",
 * "feed_forward", "gated", "tokens", "runs"}; `runs` texts are encoded one after the other. Errors: DIT_ERR_NOT_FOUND
 * with the nearest name, DIT_ERR_JSON_* in either file. */
dit_status suite_text_encoders_resolve(const dit_json *model, cJSON *list, int runs);

#endif
