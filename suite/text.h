/* Text: makes text from outside (logs, environment variables, command lines) fit for JSON and for a terminal. */
#ifndef DIT_SUITE_TEXT_H
#define DIT_SUITE_TEXT_H

#include "base/json_writer.h"

enum { SUITE_MOST_STRINGS = 64 };
/* The values of an option that may be repeated. The strings are the caller's. */
typedef struct {
    const char *items[SUITE_MOST_STRINGS];
    int count;
} suite_strings;

/* Replaces, in place, bytes that are not UTF-8 and control characters other than tab and newline by '?'. */
void suite_text_clean(char *text);
/* Adds a cleaned copy of `text`, as dit_json_put_string does; a NULL is not written. */
void suite_text_put(dit_json_writer *w, cJSON *parent, const char *key, const char *text);
/* Copies the last lines of a file, at most `capacity` - 1 bytes, cleaned; "" when the file cannot be read. */
void suite_text_tail(const char *path, char *out, size_t capacity);

#endif
