/* Text encoder: reads what a pipeline encodes its prompt with, as the numbers from which a simulation charges time.
 *
 * workloads/text_encoders/NAME.json has the layers of one; a model's file says which it uses and how many tokens they
 * are padded to, and what the pipeline takes of it: "text_encoders": [{"name": "llama-3-8b", "tokens": 351, "crop": 95,
 * "skip": 2}, {"name": "clip-l", "tokens": 77, "pooled": true}] (base/request.h has the words).
 */
#ifndef DIT_SUITE_CATALOGUE_TEXT_ENCODER_H
#define DIT_SUITE_CATALOGUE_TEXT_ENCODER_H

#include "base/json.h"

/* Replaces each entry of a model's list by the whole encoder: {"name", "layers", "width", "heads", "head_dim",
 * "feed_forward", "gated", "tokens", "runs"}, with "key_heads", "skip", "crop" and "pooled" (a width) where they are not
 * the usual ones; `runs` texts are encoded one after the other. Errors: DIT_ERR_NOT_FOUND with the nearest name,
 * DIT_ERR_JSON_* in either file. */
dit_status suite_text_encoders_resolve(const dit_json *model, cJSON *list, int runs);

/* Returns a copy of a resolved list without the members that count only where ranks share the encoders; the caller deletes
 * it. NULL: no memory, or no list. */
cJSON *suite_text_encoders_plain(const cJSON *list);

#endif
