/* Token list: the ids of prompts as a document, to try a tokenizer at the command line and to test it. */
#ifndef DIT_ENGINE_TEXT_TOKEN_LIST_H
#define DIT_ENGINE_TEXT_TOKEN_LIST_H

#include "base/json.h"

/* Makes {"schema": "ditbench.tokens/1", "tokenizers": [{"name", "class", "ids", "length"?, "rows": [{"ids", "count",
 * "mask"?}]}]} from the prompts in a file: JSON, which is a list of them or {"prompts", "length"?, "class"?}, or text, one
 * a line. `folder` is a tokenizer's, whose rows are cut and padded only where there is a length; or a pipeline's with
 * model_index.json, of which all tokenizers are asked by the pipeline's rules. Not collective, needs no MPI. The caller
 * deletes *out. Errors: those of engine/text; DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status dit_token_list_make(const char *folder, const char *prompts_path, cJSON **out);

#endif
