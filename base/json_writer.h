/* JSON writer: documents that are built line after line and judged once, at the end.
 *
 * A writer begins as {0}. It remembers the first failure, and every later call does nothing, so that no document lacks
 * a member without anybody noticing:
 *
 *     dit_json_writer w = {0};
 *     cJSON *line = dit_json_new_object(&w);
 *     dit_json_put_string(&w, line, "kind", "result");
 *     cJSON *sizes = dit_json_put_array(&w, line, "sizes");
 *     for (int i = 0; i < count; i++) dit_json_put_int(&w, sizes, NULL, size[i]);
 *     return dit_json_finish(&w, line, out);
 *
 * Every function that puts takes the object and a key (copied), or an array and NULL for the key, which appends. It
 * refuses what JSON cannot carry exactly.
 * Failures: DIT_ERR_MEMORY; DIT_ERR_NONFINITE; DIT_ERR_JSON_NUMBER for an integer beyond 2^53.
 */
#ifndef DIT_BASE_JSON_WRITER_H
#define DIT_BASE_JSON_WRITER_H

#include "base/json.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    dit_status status; /* of the first failure; DIT_OK before it */
} dit_json_writer;

/* Creates a document's root. It belongs to the caller, who passes it to dit_json_finish. NULL after a failure. */
cJSON *dit_json_new_object(dit_json_writer *w);
cJSON *dit_json_new_array(dit_json_writer *w);

/* Adds a new member, which belongs to `parent`. NULL after a failure. */
cJSON *dit_json_put_object(dit_json_writer *w, cJSON *parent, const char *key);
cJSON *dit_json_put_array(dit_json_writer *w, cJSON *parent, const char *key);

void dit_json_put_int(dit_json_writer *w, cJSON *parent, const char *key, int64_t value);
void dit_json_put_number(dit_json_writer *w, cJSON *parent, const char *key, double value);
void dit_json_put_bool(dit_json_writer *w, cJSON *parent, const char *key, bool value);
void dit_json_put_null(dit_json_writer *w, cJSON *parent, const char *key);
/* Copies `value`; a NULL is not written. */
void dit_json_put_string(dit_json_writer *w, cJSON *parent, const char *key, const char *value);

/* Takes ownership of `item`, also when it fails. NULL counts as a failure to allocate memory. */
void dit_json_put_item(dit_json_writer *w, cJSON *parent, const char *key, cJSON *item);
/* Copies `item` and all below it; a NULL is not written. */
void dit_json_put_copy(dit_json_writer *w, cJSON *parent, const char *key, const cJSON *item);
/* Adds `item` without a copy; the caller keeps it at least as long as `parent`. A NULL is not written. */
void dit_json_put_reference(dit_json_writer *w, cJSON *parent, const char *key, const cJSON *item);

/* Remembers the status of a call that built a part, when it failed and nothing had before. */
void dit_json_put_status(dit_json_writer *w, dit_status status);

/* Ends a document. Gives `root` to *out; after a failure deletes it, sets *out to NULL and returns the failure. */
dit_status dit_json_finish(dit_json_writer *w, cJSON *root, cJSON **out);
/* Ends a document that is a file: writes `root` as dit_json_write_file does, unless a call had failed, and deletes it
 * in any case. Errors: DIT_ERR_IO, too. */
dit_status dit_json_finish_file(dit_json_writer *w, cJSON *root, const char *path, bool compact);

#ifdef __cplusplus
}
#endif
#endif
