/* Lenient: JSON as Python's json module writes it, for configs that other programs made.
 *
 * It writes -Infinity and null ("default") where the standard and our strict reader have no place for them; both mean
 * "absent" here. Everything else is read as strictly as our own files.
 */
#ifndef DIT_BASE_LENIENT_H
#define DIT_BASE_LENIENT_H

#include "base/json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a file; members without a value are gone. Errors as dit_json_read_file. */
dit_status dit_json_read_lenient(const char *path, dit_json *out);
/* Removes members whose value is null, at every depth. */
void dit_json_drop_nulls(cJSON *value);

#ifdef __cplusplus
}
#endif
#endif
