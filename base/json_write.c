/* Writes JSON. cJSON 1.7.15 prints a double with 15 digits when these are within one part in 2^52 of it, so its text
 * does not always read back as an equal number; and it prints NaN as null. Hence our own printer. */
#include "base/json.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/json_scan.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    dit_buffer out;
    bool sorted, pretty;
    int depth;
} printer;

/* Prints the shortest text that reads back as exactly `value`. */
static dit_status print_number(printer *p, double value)
{
    char text[40];
    if (!isfinite(value)) return DIT_FAIL(DIT_ERR_NONFINITE, "NaN and infinity cannot be written as JSON");
    if (value == floor(value) && fabs(value) <= (double)DIT_JSON_MAX_INTEGER) {
        dit_buffer_printf(&p->out, "%lld", (long long)value);
        return DIT_OK;
    }
    /* With up to DBL_DIG digits %g gives back the decimal that it came from, so no shorter text need be tried. */
    for (int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    dit_buffer_text(&p->out, text);
    if (!strpbrk(text, ".e")) dit_buffer_text(&p->out, ".0"); /* the reader refuses integers beyond 2^53 */
    return DIT_OK;
}

/* Prints a string. Bytes that are not UTF-8 (in a log's tail, a file name) become U+FFFD, so that we can read what we
 * write. */
static void print_string(printer *p, const char *string)
{
    static const char short_escapes[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const unsigned char *bytes = (const unsigned char *)string;
    size_t left = strlen(string);
    dit_buffer_char(&p->out, '"');
    while (left) {
        size_t length = dit_json_utf8_length(bytes, left);
        const char *escape = strchr(short_escapes, *bytes);
        if (length == 0)
            dit_buffer_text(&p->out, "\xEF\xBF\xBD");
        else if (escape)
            dit_buffer_printf(&p->out, "\\%c", letters[escape - short_escapes]);
        else if (*bytes < 0x20)
            dit_buffer_printf(&p->out, "\\u%04x", *bytes);
        else
            dit_buffer_append(&p->out, bytes, length);
        bytes += length ? length : 1;
        left -= length ? length : 1;
    }
    dit_buffer_char(&p->out, '"');
}

static void print_break(printer *p, int depth)
{
    if (!p->pretty) return;
    dit_buffer_char(&p->out, '\n');
    for (int i = 0; i < depth; i++) dit_buffer_text(&p->out, "  ");
}

static dit_status print_value(printer *p, const cJSON *item);

static int compare_members(const void *left, const void *right)
{
    return strcmp((*(const cJSON *const *)left)->string, (*(const cJSON *const *)right)->string);
}

/* Lists the members of `object` in the order of printing; the caller frees the list. */
static dit_status list_members(const printer *p, const cJSON *object, const cJSON ***out, int *count)
{
    *count = cJSON_GetArraySize(object);
    const cJSON **sorted = malloc(((size_t)*count + 1) * sizeof *sorted), *item;
    int i = 0;
    if (!sorted) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to write %d members", *count);
    cJSON_ArrayForEach(item, object) sorted[i++] = item;
    qsort(sorted, (size_t)*count, sizeof *sorted, compare_members);
    for (i = 1; i < *count; i++) {
        if (strcmp(sorted[i - 1]->string, sorted[i]->string) != 0) continue;
        dit_status st = DIT_FAIL(DIT_ERR_JSON_DUPLICATE_KEY, "key \"%s\" would be written twice", sorted[i]->string);
        free(sorted);
        return st;
    }
    i = 0;
    if (!p->sorted) cJSON_ArrayForEach(item, object) sorted[i++] = item;
    *out = sorted;
    return DIT_OK;
}

static dit_status print_object(printer *p, const cJSON *object)
{
    const cJSON **members = NULL;
    dit_status st = DIT_OK;
    int count;
    DIT_TRY(list_members(p, object, &members, &count));
    dit_buffer_char(&p->out, '{');
    for (int i = 0; i < count && st == DIT_OK; i++) {
        if (i) dit_buffer_char(&p->out, ',');
        print_break(p, p->depth);
        print_string(p, members[i]->string);
        dit_buffer_text(&p->out, p->pretty ? ": " : ":");
        st = print_value(p, members[i]);
    }
    free(members);
    if (count) print_break(p, p->depth - 1);
    dit_buffer_char(&p->out, '}');
    return st;
}

static bool holds_containers(const cJSON *array)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        if (cJSON_IsObject(item) || cJSON_IsArray(item)) return true;
    }
    return false;
}

/* Prints an array. Plain values stay on one line, because people read samples and shapes, too. */
static dit_status print_array(printer *p, const cJSON *array)
{
    const cJSON *item;
    bool broken = p->pretty && holds_containers(array);
    dit_buffer_char(&p->out, '[');
    cJSON_ArrayForEach(item, array)
    {
        if (item != array->child) dit_buffer_text(&p->out, p->pretty && !broken ? ", " : ",");
        if (broken) print_break(p, p->depth);
        DIT_TRY(print_value(p, item));
    }
    if (broken) print_break(p, p->depth - 1);
    dit_buffer_char(&p->out, ']');
    return DIT_OK;
}

static dit_status print_container(printer *p, const cJSON *item)
{
    if (p->depth == DIT_JSON_MAX_DEPTH)
        return DIT_FAIL(DIT_ERR_JSON_DEPTH, "JSON nested more than %d deep cannot be read back", DIT_JSON_MAX_DEPTH);
    p->depth++;
    dit_status st = cJSON_IsObject(item) ? print_object(p, item) : print_array(p, item);
    p->depth--;
    return st;
}

static dit_status print_value(printer *p, const cJSON *item)
{
    if (cJSON_IsObject(item) || cJSON_IsArray(item)) return print_container(p, item);
    if (cJSON_IsNumber(item)) return print_number(p, item->valuedouble);
    if (cJSON_IsString(item) && item->valuestring)
        print_string(p, item->valuestring);
    else if (cJSON_IsBool(item))
        dit_buffer_text(&p->out, cJSON_IsTrue(item) ? "true" : "false");
    else if (cJSON_IsNull(item))
        dit_buffer_text(&p->out, "null");
    else
        return DIT_FAIL(DIT_ERR_INTERNAL, "a cJSON node of type %d cannot be written", item ? item->type : -1);
    return DIT_OK;
}

/* Prints the whole document. On success the caller owns p->out. */
static dit_status print_document(printer *p, const cJSON *root)
{
    dit_status st = print_value(p, root);
    if (st == DIT_OK && p->out.failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory to write a JSON document");
    if (st != DIT_OK) dit_buffer_release(&p->out);
    return st;
}

dit_status dit_json_canonical(const cJSON *root, char **out)
{
    printer p = {.sorted = true};
    *out = NULL;
    DIT_TRY(print_document(&p, root));
    *out = p.out.data;
    return DIT_OK;
}

dit_status dit_json_write_file(const cJSON *root, const char *path, bool compact)
{
    printer p = {.pretty = !compact};
    dit_status st = print_document(&p, root);
    if (st != DIT_OK) return dit_error_note(st, "writing %s", path);
    const dit_file_piece pieces[] = {{p.out.data, p.out.used}, {"\n", 1}};
    st = dit_file_write(path, pieces, 2);
    dit_buffer_release(&p.out);
    return st;
}
