#include "suite/error_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ":12:" -> 12 and the rest; NULL when it is something else. */
static const char *take_number(const char *text, int *number)
{
    char *end;
    if (*text != ':' || text[1] < '0' || text[1] > '9') return NULL;
    *number = (int)strtol(text + 1, &end, 10);
    return *end == ':' ? end : NULL;
}

void suite_place_split(const char *message, suite_place *out)
{
    *out = (suite_place){.what = message};
    for (const char *colon = strchr(message, ':'); colon; colon = strchr(colon + 1, ':')) {
        int line, column;
        const char *rest = take_number(colon, &line);
        rest = rest ? take_number(rest, &column) : NULL;
        if (!rest || rest[1] != ' ') continue;
        snprintf(out->file, sizeof out->file, "%.*s", (int)(colon - message), message);
        out->line = line;
        out->column = column;
        out->what = rest + 2;
        break;
    }
    const char *end = out->line && out->what[0] == '/' ? strstr(out->what, ": ") : NULL;
    if (!end) return;
    snprintf(out->pointer, sizeof out->pointer, "%.*s", (int)(end - out->what), out->what);
    out->what = end + 2;
}

void suite_place_put(dit_json_writer *w, cJSON *error, const char *message)
{
    suite_place place;
    suite_place_split(message, &place);
    if (!place.line) return;
    cJSON *where = dit_json_put_object(w, error, "where");
    dit_json_put_string(w, where, "file", place.file);
    dit_json_put_int(w, where, "line", place.line);
    dit_json_put_int(w, where, "column", place.column);
    dit_json_put_string(w, where, "pointer", place.pointer);
}
