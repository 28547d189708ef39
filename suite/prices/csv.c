#include "suite/prices/csv.h"

#include <stdlib.h>
#include <string.h>

dit_status suite_csv_open(suite_csv *csv, const char *text, size_t length, const char *path)
{
    *csv = (suite_csv){.path = path, .line = 1};
    if (memchr(text, '\0', length)) return DIT_FAIL(DIT_ERR_USAGE, "%s is no text: it holds a NUL byte", path);
    csv->text = malloc(length + 1);
    if (!csv->text) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", path);
    memcpy(csv->text, text, length);
    csv->text[length] = '\0';
    csv->next = csv->text;
    csv->end = csv->text + length;
    if (length >= 3 && memcmp(csv->text, "\xEF\xBB\xBF", 3) == 0) csv->next += 3; /* byte order mark */
    return DIT_OK;
}

static void skip_empty_lines(suite_csv *csv)
{
    for (; csv->next < csv->end && (*csv->next == '\n' || *csv->next == '\r'); csv->next++)
        csv->line += *csv->next == '\n' || csv->next[1] != '\n'; /* "\r\n" is one end, "\r" alone is one, too */
}

static bool ends_field(char c)
{
    return c == ',' || c == '\n' || c == '\r' || c == '\0';
}

/* Moves behind a field's end. Returns whether another field follows in the record. */
static bool pass_end(suite_csv *csv)
{
    if (csv->next >= csv->end) return false;
    char end = *csv->next;
    *csv->next++ = '\0';
    if (end == '\r' && csv->next < csv->end && *csv->next == '\n') csv->next++, end = '\n';
    csv->line += end != ',';
    return end == ',';
}

/* Takes the quotes off in place: the field never grows. */
static dit_status read_quoted(suite_csv *csv, const char **out)
{
    int begin = csv->line;
    char *to = csv->next++;
    *out = to;
    for (;; csv->next++) {
        if (csv->next >= csv->end)
            return DIT_FAIL(DIT_ERR_USAGE, "%s:%d: a quoted field is never closed", csv->path, begin);
        if (*csv->next == '"' && csv->next[1] != '"') break;
        csv->next += *csv->next == '"';
        csv->line += *csv->next == '\n';
        *to++ = *csv->next;
    }
    csv->next++;
    if (!ends_field(*csv->next))
        return DIT_FAIL(DIT_ERR_USAGE, "%s:%d: text follows the end of a quoted field", csv->path, csv->line);
    *to = '\0'; /* at or before the closing quote, which has been passed */
    return DIT_OK;
}

dit_status suite_csv_next(suite_csv *csv, suite_csv_record *out, bool *more)
{
    bool follows = true;
    skip_empty_lines(csv);
    *more = csv->next < csv->end;
    *out = (suite_csv_record){.line = csv->line};
    while (*more && follows) {
        if (out->count == SUITE_CSV_FIELDS)
            return DIT_FAIL(DIT_ERR_USAGE, "%s:%d: more than %d fields", csv->path, out->line, SUITE_CSV_FIELDS);
        if (*csv->next == '"') {
            DIT_TRY(read_quoted(csv, &out->field[out->count++]));
        } else {
            out->field[out->count++] = csv->next;
            while (!ends_field(*csv->next)) csv->next++;
        }
        follows = pass_end(csv);
    }
    return DIT_OK;
}

void suite_csv_release(suite_csv *csv)
{
    free(csv->text);
    *csv = (suite_csv){0};
}
