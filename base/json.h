/* JSON: cJSON behind a strict door.
 *
 * cJSON 1.7.15 accepts trailing bytes and duplicate keys, prints NaN as null and rounds 64-bit integers to doubles.
 * Here a scanner of our own first checks a text: RFC 8259, UTF-8, depth <= 64, at most 64 MiB and 4 Mi values, no
 * duplicate keys, no trailing bytes, no \u0000, numbers of at most 63 characters, integers within +-2^53 unless written
 * with a fraction or exponent, finite numbers. Only then does cJSON parse it. The scanner also finds the place of a
 * JSON pointer, so every later complaint names file, line and column.
 */
#ifndef DIT_BASE_JSON_H
#define DIT_BASE_JSON_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A parsed document that remembers its text, for error messages. release accepts a zeroed one. */
typedef struct {
    cJSON *root;
    char *text;
    size_t length;
    char *path; /* name used in messages: a file path, or "<command line>" */
} dit_json;

/* Parses `length` bytes (need not end in NUL). `path` is only a name for messages; both are copied.
 * Errors: DIT_ERR_JSON_*, message "PATH:LINE:COLUMN: what" with the JSON pointer of the innermost value. */
dit_status dit_json_parse(const char *text, size_t length, const char *path, dit_json *out);
/* Reads and parses a whole file. Errors: DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status dit_json_read_file(const char *path, dit_json *out);
void dit_json_release(dit_json *document);

/* Finds line and column (from 1; column counts bytes) of the value that a JSON pointer ("/axes/model/0") names; for an
 * object's member, those of its key. Returns false when the pointer names nothing. */
bool dit_json_locate(const char *text, size_t length, const char *pointer, int *line, int *column);

/* Writes POINTER/key, with the escapes of RFC 6901; cut when it is longer than `size` - 1. */
void dit_json_pointer_join(char *out, size_t size, const char *pointer, const char *key);

/* Raises `status` as "PATH:LINE:COLUMN: POINTER: message". */
dit_status dit_json_fail(const dit_json *document, const char *pointer, dit_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Versions of documents: "ditbench.journal/1" is version 1 of the journal. Nothing converts documents of another version.
 * dit_schema_accepts returns whether `found` is `wanted`; if not, `out` says whether it is older, newer or another kind of
 * document, and what to do. dit_json_require_schema checks member "schema" of the document. Errors: DIT_ERR_JSON_VALUE
 * with that text, DIT_ERR_JSON_MISSING. */
bool dit_schema_accepts(const char *found, const char *wanted, char *out, size_t size);
dit_status dit_json_require_schema(const dit_json *doc, const char *wanted);

/* Typed access. `pointer` is the JSON pointer of `object` (for messages), key the member's name.
 * A `require_*` function fails with DIT_ERR_JSON_MISSING when the key is absent, an `optional_*` one leaves *out as it
 * is; both fail with DIT_ERR_JSON_TYPE for a wrong type and DIT_ERR_JSON_VALUE outside [min, max].
 * Strings stay owned by the document. */
dit_status dit_json_require_string(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                   const char **out);
dit_status dit_json_optional_string(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                    const char **out);
dit_status dit_json_require_int(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                int64_t min, int64_t max, int64_t *out);
dit_status dit_json_optional_int(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                 int64_t min, int64_t max, int64_t *out);
dit_status dit_json_require_number(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                   double min, double max, double *out);
dit_status dit_json_optional_number(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                    double min, double max, double *out);
dit_status dit_json_optional_bool(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                  bool *out);
dit_status dit_json_require_object(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                   const cJSON **out);
dit_status dit_json_optional_object(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                    const cJSON **out);
dit_status dit_json_optional_array(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                   const cJSON **out);
/* Fails with DIT_ERR_JSON_UNKNOWN_KEY at the first member of `object` not in `keys` (NULL-terminated); the hint names
 * the nearest valid key. */
dit_status dit_json_only_keys(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *keys);
/* Fails with DIT_ERR_JSON_VALUE as `WHAT "WORD" is none of a, b, c`; the hint names the nearest of `words`
 * (NULL-terminated). */
dit_status dit_json_fail_word(const dit_json *doc, const char *pointer, const char *what, const char *word,
                              const char *const *words);

/* Access without complaints, for what we wrote ourselves or have checked already. `object` may be NULL or no object.
 * The typed ones return `otherwise` when the member is absent or has another type; int_or does so for a fraction and
 * for a number beyond 2^53, too. Strings stay owned by the document. */
const cJSON *dit_json_member(const cJSON *object, const char *key); /* NULL when absent */
const char *dit_json_text_or(const cJSON *object, const char *key, const char *otherwise);
double dit_json_number_or(const cJSON *object, const char *key, double otherwise);
int64_t dit_json_int_or(const cJSON *object, const char *key, int64_t otherwise);
bool dit_json_is_true(const cJSON *object, const char *key);

/* Writes compact JSON with object keys sorted bytewise at every level, so that equal documents give equal bytes. The
 * caller frees *out with free(). */
dit_status dit_json_canonical(const cJSON *root, char **out);
/* Writes pretty (or compact) JSON and a newline through a temporary file, fsync and rename, so that the final name
 * never holds a part. Errors: DIT_ERR_IO. */
dit_status dit_json_write_file(const cJSON *root, const char *path, bool compact);

#ifdef __cplusplus
}
#endif
#endif
