#include "suite/text.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Length of the UTF-8 character at `s`, 0 when there is none. */
static int utf8_length(const unsigned char *s)
{
    int length = s[0] < 0x80             ? 1
                 : (s[0] & 0xe0) == 0xc0 ? 2
                 : (s[0] & 0xf0) == 0xe0 ? 3
                 : (s[0] & 0xf8) == 0xf0 ? 4
                                         : 0;
    unsigned value = length ? s[0] & (0xffu >> (length == 1 ? 1 : length + 1)) : 0;
    static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        value = value << 6 | (s[i] & 0x3f);
    }
    bool surrogate = value >= 0xd800 && value <= 0xdfff;
    return value >= least[length] && value <= 0x10ffff && !surrogate ? length : 0;
}

void suite_text_clean(char *text)
{
    unsigned char *s = (unsigned char *)text;
    while (*s) {
        int length = utf8_length(s);
        bool control = (*s < 0x20 && *s != '\n' && *s != '\t') || *s == 0x7f;
        if (length == 0 || control) *s = '?';
        s += length ? length : 1;
    }
}

void suite_text_put(dit_json_writer *w, cJSON *parent, const char *key, const char *text)
{
    if (w->status != DIT_OK || !text) return;
    char *copy = strdup(text);
    if (!copy) {
        dit_json_put_status(w, DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", key ? key : "a text"));
        return;
    }
    suite_text_clean(copy);
    dit_json_put_string(w, parent, key, copy);
    free(copy);
}

void suite_text_tail(const char *path, char *out, size_t capacity)
{
    out[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file) return;
    fseek(file, 0, SEEK_END);
    long size = ftell(file), start = size - (long)capacity + 1;
    fseek(file, start > 0 ? start : 0, SEEK_SET);
    size_t used = fread(out, 1, capacity - 1, file);
    out[used] = '\0';
    fclose(file);
    for (size_t i = 0; i < used; i++) {
        if (!out[i]) out[i] = '?';
    }
    char *newline = start > 0 ? strchr(out, '\n') : NULL; /* the first line is cut: drop it */
    if (newline) memmove(out, newline + 1, strlen(newline));
    suite_text_clean(out);
}
