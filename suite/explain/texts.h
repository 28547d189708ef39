/* Texts: what the text encoders of a model weigh and send in each way of sharing them between ranks
 * (base/text_parallel.h). They run before the transformer, and are freed before it is loaded. Pure formulas over the
 * numbers of workloads/text_encoders. */
#ifndef DIT_SUITE_EXPLAIN_TEXTS_H
#define DIT_SUITE_EXPLAIN_TEXTS_H

#include "base/json.h"

/* Appends "text_encoders" to `parent`: for each encoder and way {"name", "text_encoder_parallel", "tokens", "prompts",
 * "weights_bytes": of the blocks, on a rank, "sent_bytes": by the rank that sends most}, or "code" and "reason" in place
 * of the last two: why so many ranks cannot go it. Key heads weigh as many as heads. Nothing where the model states no
 * encoders. Errors: DIT_ERR_NOT_FOUND and DIT_ERR_JSON_* of the model's files; DIT_ERR_MEMORY. */
dit_status suite_texts_to_json(const char *model, int ranks, int element_bytes, cJSON *parent);

#endif
