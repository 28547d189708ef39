/* Config: JSON as diffusers writes it. Python's json writes -Infinity and null ("default") where the standard and our
 * strict reader have no place for them; both mean "absent" here. Everything else is read as strictly as our own files.
 */
#ifndef DIT_ENGINE_CONFIG_H
#define DIT_ENGINE_CONFIG_H

#include "base/json.h"

/* Reads a file that diffusers may have written; members without a value are gone. Errors as dit_json_read_file. */
dit_status dit_config_read_file(const char *path, dit_json *out);
/* Removes members whose value is null, at every depth. */
void dit_config_drop_nulls(cJSON *value);

#endif
