#include "base/json.h"

#include "base/file.h"
#include "base/json_scan.h"
#include "base/words.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool dit_json_locate(const char *text, size_t length, const char *pointer, int *line, int *column)
{
    return dit_json_scan_locate(text, length, pointer, line, column);
}

/* ---- documents ------------------------------------------------------------------------------------------------- */

static dit_status raise_problem(const dit_json_problem *problem, const char *text, const char *path)
{
    int line, column;
    dit_json_place(text, problem->offset, &line, &column);
    return DIT_FAIL(problem->status, "%s:%d:%d: %s%s%s", path, line, column, problem->pointer,
                    problem->pointer[0] ? ": " : "", problem->what);
}

/* Parses `text` (NUL-terminated) and takes ownership of it; frees it on failure. */
static dit_status parse_owned(char *text, size_t length, const char *path, dit_json *out)
{
    dit_json_problem problem;
    *out = (dit_json){0};
    if (!dit_json_scan(text, length, &problem)) {
        dit_status st = raise_problem(&problem, text, path);
        free(text);
        return st;
    }
    *out = (dit_json){.text = text, .length = length, .path = strdup(path)};
    out->root = out->path ? cJSON_ParseWithLengthOpts(text, length + 1, NULL, 1) : NULL;
    if (out->root) return DIT_OK;
    dit_json_release(out);
    return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory to parse %zu bytes of JSON", path, length);
}

dit_status dit_json_parse(const char *text, size_t length, const char *path, dit_json *out)
{
    *out = (dit_json){0};
    char *copy = length <= DIT_JSON_MAX_BYTES ? malloc(length + 1) : NULL;
    if (length > DIT_JSON_MAX_BYTES)
        return DIT_FAIL(DIT_ERR_JSON_DEPTH, "%s:1:1: %zu bytes; at most %d are read", path, length, DIT_JSON_MAX_BYTES);
    if (!copy) return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for %zu bytes of JSON", path, length);
    if (length) memcpy(copy, text, length);
    copy[length] = '\0';
    return parse_owned(copy, length, path, out);
}

dit_status dit_json_read_file(const char *path, dit_json *out)
{
    char *text;
    size_t length;
    *out = (dit_json){0};
    DIT_TRY(dit_file_read(path, DIT_JSON_MAX_BYTES, &text, &length));
    return parse_owned(text, length, path, out);
}

void dit_json_release(dit_json *document)
{
    cJSON_Delete(document->root);
    free(document->text);
    free(document->path);
    *document = (dit_json){0};
}

/* ---- complaints ------------------------------------------------------------------------------------------------ */

/* Finds the place of `pointer`, or of its nearest ancestor that exists: an absent key is reported at its object. */
static void locate_nearest(const dit_json *document, const char *pointer, int *line, int *column)
{
    char *shorter = strdup(pointer);
    *line = *column = 1;
    if (!shorter) return;
    while (!dit_json_locate(document->text, document->length, shorter, line, column)) {
        char *slash = strrchr(shorter, '/');
        if (!slash) break;
        *slash = '\0';
    }
    free(shorter);
}

dit_status dit_json_fail(const dit_json *document, const char *pointer, dit_status status, const char *format, ...)
{
    char what[1024];
    int line = 1, column = 1;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (document->text) locate_nearest(document, pointer, &line, &column);
    return DIT_FAIL(status, "%s:%d:%d: %.500s%s%s", document->path ? document->path : "<memory>", line, column, pointer,
                    pointer[0] ? ": " : "", what);
}

void dit_json_pointer_join(char *out, size_t size, const char *pointer, const char *key)
{
    int length = snprintf(out, size, "%s/", pointer);
    size_t used = length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
    for (; *key && used + 3 < size; key++) {
        if (*key == '~' || *key == '/')
            used += (size_t)snprintf(out + used, size - used, "~%d", *key == '/');
        else
            out[used++] = *key;
    }
    out[used] = '\0';
}

static const char *type_name(const cJSON *item)
{
    if (cJSON_IsString(item)) return "a string";
    if (cJSON_IsNumber(item)) return "a number";
    if (cJSON_IsBool(item)) return "a boolean";
    if (cJSON_IsArray(item)) return "an array";
    return cJSON_IsObject(item) ? "an object" : "null";
}

enum { POINTER_BYTES = 1024 };

static dit_status wrong_type(const dit_json *doc, const char *pointer, const char *key, const char *wanted,
                             const cJSON *item)
{
    char place[POINTER_BYTES];
    dit_json_pointer_join(place, sizeof place, pointer, key);
    return dit_json_fail(doc, place, DIT_ERR_JSON_TYPE, "expected %s, found %s", wanted, type_name(item));
}

static dit_status missing(const dit_json *doc, const char *pointer, const char *key)
{
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "required key \"%s\" is absent", key);
}

/* ---- typed access ---------------------------------------------------------------------------------------------- */

dit_status dit_json_optional_string(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                    const char **out)
{
    const cJSON *item = dit_json_member(object, key);
    if (!item) return DIT_OK;
    if (!cJSON_IsString(item)) return wrong_type(doc, pointer, key, "a string", item);
    *out = item->valuestring;
    return DIT_OK;
}

dit_status dit_json_require_string(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                   const char **out)
{
    if (!dit_json_member(object, key)) return missing(doc, pointer, key);
    return dit_json_optional_string(doc, object, pointer, key, out);
}

static dit_status out_of_range(const dit_json *doc, const char *pointer, const char *key, double min, double max,
                               double value)
{
    char place[POINTER_BYTES];
    dit_json_pointer_join(place, sizeof place, pointer, key);
    return dit_json_fail(doc, place, DIT_ERR_JSON_VALUE, "expected a value in [%.17g, %.17g], found %.17g", min, max,
                         value);
}

dit_status dit_json_optional_int(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                 int64_t min, int64_t max, int64_t *out)
{
    const cJSON *item = dit_json_member(object, key);
    if (!item) return DIT_OK;
    if (!cJSON_IsNumber(item)) return wrong_type(doc, pointer, key, "an integer", item);
    double value = item->valuedouble;
    if (value != floor(value)) {
        char place[POINTER_BYTES];
        dit_json_pointer_join(place, sizeof place, pointer, key);
        return dit_json_fail(doc, place, DIT_ERR_JSON_TYPE, "expected an integer, found %.17g", value);
    }
    if (fabs(value) > (double)DIT_JSON_MAX_INTEGER || (int64_t)value < min || (int64_t)value > max)
        return out_of_range(doc, pointer, key, (double)min, (double)max, value);
    *out = (int64_t)value;
    return DIT_OK;
}

dit_status dit_json_require_int(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                int64_t min, int64_t max, int64_t *out)
{
    if (!dit_json_member(object, key)) return missing(doc, pointer, key);
    return dit_json_optional_int(doc, object, pointer, key, min, max, out);
}

dit_status dit_json_optional_number(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                    double min, double max, double *out)
{
    const cJSON *item = dit_json_member(object, key);
    if (!item) return DIT_OK;
    if (!cJSON_IsNumber(item)) return wrong_type(doc, pointer, key, "a number", item);
    if (!(item->valuedouble >= min && item->valuedouble <= max))
        return out_of_range(doc, pointer, key, min, max, item->valuedouble);
    *out = item->valuedouble;
    return DIT_OK;
}

dit_status dit_json_require_number(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                   double min, double max, double *out)
{
    if (!dit_json_member(object, key)) return missing(doc, pointer, key);
    return dit_json_optional_number(doc, object, pointer, key, min, max, out);
}

dit_status dit_json_optional_bool(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                  bool *out)
{
    const cJSON *item = dit_json_member(object, key);
    if (!item) return DIT_OK;
    if (!cJSON_IsBool(item)) return wrong_type(doc, pointer, key, "a boolean", item);
    *out = cJSON_IsTrue(item);
    return DIT_OK;
}

dit_status dit_json_optional_object(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                    const cJSON **out)
{
    const cJSON *item = dit_json_member(object, key);
    if (!item) return DIT_OK;
    if (!cJSON_IsObject(item)) return wrong_type(doc, pointer, key, "an object", item);
    *out = item;
    return DIT_OK;
}

dit_status dit_json_require_object(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                   const cJSON **out)
{
    if (!dit_json_member(object, key)) return missing(doc, pointer, key);
    return dit_json_optional_object(doc, object, pointer, key, out);
}

dit_status dit_json_optional_array(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                   const cJSON **out)
{
    const cJSON *item = dit_json_member(object, key);
    if (!item) return DIT_OK;
    if (!cJSON_IsArray(item)) return wrong_type(doc, pointer, key, "an array", item);
    *out = item;
    return DIT_OK;
}

/* ---- members as they are --------------------------------------------------------------------------------------- */

const cJSON *dit_json_member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *dit_json_text_or(const cJSON *object, const char *key, const char *otherwise)
{
    const cJSON *item = dit_json_member(object, key);
    return cJSON_IsString(item) ? item->valuestring : otherwise;
}

double dit_json_number_or(const cJSON *object, const char *key, double otherwise)
{
    const cJSON *item = dit_json_member(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

int64_t dit_json_int_or(const cJSON *object, const char *key, int64_t otherwise)
{
    double value = dit_json_number_or(object, key, 0.5);
    return fabs(value) <= (double)DIT_JSON_MAX_INTEGER && value == floor(value) ? (int64_t)value : otherwise;
}

bool dit_json_is_true(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(dit_json_member(object, key));
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

/* The number behind the last '/' of "NAME/NUMBER" with the name of `like`; -1: it has none, or another name. */
static long version_of(const char *schema, const char *like)
{
    const size_t length = (size_t)(strrchr(like, '/') - like) + 1;
    char *end = NULL;
    if (strncmp(schema, like, length) != 0 || !isdigit((unsigned char)schema[length])) return -1;
    long version = strtol(schema + length, &end, 10);
    return *end ? -1 : version;
}

bool dit_schema_accepts(const char *found, const char *wanted, char *out, size_t size)
{
    const long have = version_of(found, wanted), reads = version_of(wanted, wanted);
    if (strcmp(found, wanted) == 0) return true;
    if (have < 0 || have == reads)
        snprintf(out, size, "schema \"%.60s\" is not \"%s\", the document that is needed here", found, wanted);
    else
        snprintf(out, size,
                 "schema \"%.60s\" is %s than \"%s\", which this program reads, and nothing converts it: use the "
                 "ditbench that wrote it, or make the document anew",
                 found, have > reads ? "newer" : "older", wanted);
    return false;
}

dit_status dit_json_require_schema(const dit_json *doc, const char *wanted)
{
    char text[320];
    const char *found = "";
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "schema", &found));
    if (dit_schema_accepts(found, wanted, text, sizeof text)) return DIT_OK;
    return dit_json_fail(doc, "/schema", DIT_ERR_JSON_VALUE, "%s", text);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

dit_status dit_json_fail_word(const dit_json *doc, const char *pointer, const char *what, const char *word,
                              const char *const *words)
{
    char all[512];
    const char *near = dit_nearest_word(word, words);
    dit_words_join(words, all, sizeof all);
    dit_status st = dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%s \"%.100s\" is none of %s", what, word, all);
    return near ? dit_error_hint(st, "did you mean \"%s\"?", near) : st;
}

dit_status dit_json_only_keys(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *keys)
{
    const cJSON *item;
    if (!cJSON_IsObject(object))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "expected an object, found %s", type_name(object));
    cJSON_ArrayForEach(item, object)
    {
        if (dit_words_find(keys, item->string) >= 0) continue;
        char place[POINTER_BYTES], valid[256];
        const char *nearest = dit_nearest_word(item->string, keys);
        dit_json_pointer_join(place, sizeof place, pointer, item->string);
        dit_status st = dit_json_fail(doc, place, DIT_ERR_JSON_UNKNOWN_KEY, "unknown key \"%.100s\"", item->string);
        dit_words_join(keys, valid, sizeof valid);
        return nearest ? dit_error_hint(st, "did you mean \"%s\"?", nearest)
                       : dit_error_hint(st, "the keys known here are: %s", valid);
    }
    return DIT_OK;
}
