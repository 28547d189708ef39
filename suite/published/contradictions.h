/* Contradictions: reads which published points other published numbers contradict
 * (results/published/contradictions.json). */
#ifndef DIT_SUITE_PUBLISHED_CONTRADICTIONS_H
#define DIT_SUITE_PUBLISHED_CONTRADICTIONS_H

#include "base/json.h"

/* Reads and checks the file. Errors: DIT_ERR_ENVIRONMENT without results/published, DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status suite_contradictions_read(dit_json *out);
/* True if the contradiction `one` is about point `index` of a file, which the last part of its path names. */
bool suite_contradictions_concern(const dit_json *contradictions, const cJSON *one, const char *file, int index);
/* True if any contradiction is about the point. */
bool suite_contradictions_doubt(const dit_json *contradictions, const char *file, int index);

#endif
