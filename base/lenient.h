/* Lenient: reads JSON as Python's json module writes it, for configs that other programs made.
 *
 * Python writes -Infinity and null ("default"), which the standard and our strict reader refuse; here both mean
 * "absent". It writes integers of any length, which here become doubles beyond 16 digits. Everything else is read as
 * strictly as our own files.
 */
#ifndef DIT_BASE_LENIENT_H
#define DIT_BASE_LENIENT_H

#include "base/json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a file and drops members without a value. Errors: as dit_json_read_file. */
dit_status dit_json_read_lenient(const char *path, dit_json *out);
/* Removes members whose value is null, at every depth. */
void dit_json_drop_nulls(cJSON *value);

#ifdef __cplusplus
}
#endif
#endif
