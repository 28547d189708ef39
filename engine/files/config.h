/* Config: reads JSON as diffusers writes it (base/lenient.h: null and -Infinity mean "absent"), by tables. */
#ifndef DIT_ENGINE_CONFIG_H
#define DIT_ENGINE_CONFIG_H

#include "base/json.h"
#include <stddef.h>

/* A config object inside a document. */
typedef struct {
    const dit_json *doc;
    const cJSON *object;
    const char *pointer; /* its JSON pointer, for messages */
} dit_config;

/* A config key and the member that it fills. Models, VAEs and schedulers read their configs by tables of these. */
typedef enum { DIT_FIELD_INT, DIT_FIELD_NUMBER, DIT_FIELD_BOOL } dit_field_kind;
typedef struct {
    const char *key;
    dit_field_kind kind;
    size_t offset;   /* of an int64_t, double or bool in the struct that is filled          */
    double fallback; /* for an absent key or null (diffusers' default); NAN: the key is required  */
    double min, max; /* limits of numbers                                                    */
} dit_config_field;
#define DIT_CONFIG_INT(type, member, key, fallback, min, max)                                                          \
    {                                                                                                                  \
        key, DIT_FIELD_INT, offsetof(type, member), fallback, min, max                                                 \
    }
#define DIT_CONFIG_NUMBER(type, member, key, fallback, min, max)                                                       \
    {                                                                                                                  \
        key, DIT_FIELD_NUMBER, offsetof(type, member), fallback, min, max                                              \
    }
#define DIT_CONFIG_BOOL(type, member, key, fallback)                                                                   \
    {                                                                                                                  \
        key, DIT_FIELD_BOOL, offsetof(type, member), fallback, 0, 1                                                    \
    }
#define DIT_CONFIG_END                                                                                                 \
    {                                                                                                                  \
        0                                                                                                              \
    }
/* Fills `out` from the table (ended by DIT_CONFIG_END). Errors: DIT_ERR_JSON_*. */
dit_status dit_config_read(const dit_config *config, const dit_config_field *fields, void *out);

/* An option that would change results and for which only one value is implemented. `only` is that value as text
 * ("gelu-approximate", "true", "0.5", "null"); an absent key is accepted, too. */
typedef struct {
    const char *key, *only;
} dit_config_only;
/* Checks a table that ends with {0}. Errors: DIT_ERR_UNSUPPORTED, which names key, value and the implemented value. */
dit_status dit_config_require_only(const dit_config *config, const dit_config_only *options);

/* Reads a list of at most `capacity` integers; an absent key leaves *count -1. Errors: DIT_ERR_JSON_*. */
dit_status dit_config_read_ints(const dit_config *config, const char *key, int64_t min, int64_t max, int capacity,
                                int64_t *out, int *count);

/* Gives word `index` of a key that is a list of words, or the word of one that is a word; NULL: the key is absent. Errors:
 * DIT_ERR_JSON_VALUE where the list has no such word. */
dit_status dit_config_word_at(const dit_config *config, const char *key, int index, const char **out);

/* Reads a list of at most `capacity` numbers, likewise. */
dit_status dit_config_read_numbers(const dit_config *config, const char *key, double min, double max, int capacity,
                                   double *out, int *count);

/* Reads a file that diffusers may have written, and drops members without a value. Errors: as dit_json_read_file. */
dit_status dit_config_read_file(const char *path, dit_json *out);
/* Removes members whose value is null, at every depth. */
void dit_config_drop_nulls(cJSON *value);

#endif
