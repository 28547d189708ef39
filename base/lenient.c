#include "base/lenient.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENIENT_BYTES_MAX = 64 << 20 };

/* Replaces NaN and infinities outside of strings by null, padded so that lines and columns stay. */
static void replace_nonfinite(char *text, size_t length)
{
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        for (size_t word = 0; word < 3 && !quoted && i < length; word++) {
            size_t size = strlen(words[word]);
            if (length - i < size || memcmp(text + i, words[word], size) != 0) continue;
            if (size < 4) continue; /* "NaN" is shorter than "null": left for the reader to refuse */
            memset(text + i, ' ', size);
            memcpy(text + i, "null", 4);
        }
    }
}

/* Python writes integers of any length, such as a limit of 1e30 that means "none". Rewrites those of more than 16 digits
 * outside of strings as doubles, in the room of their digits: 1000000000000000019 becomes 1.00000000000000e18. */
static void rewrite_long_integers(char *text, size_t length)
{
    char exponent[16];
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (quoted && text[i] == '\\') {
            i++;
            continue;
        }
        if (text[i] == '"') quoted = !quoted;
        size_t digits = quoted ? 0 : strspn(text + i, "0123456789");
        if (digits > 16 && digits < 300 && text[i] != '0' &&
            !strchr(".eE", text[i + digits] ? text[i + digits] : ' ')) {
            size_t size = (size_t)snprintf(exponent, sizeof exponent, "e%zu", digits - 1);
            memmove(text + i + 2, text + i + 1, digits - size - 2);
            text[i + 1] = '.';
            memcpy(text + i + digits - size, exponent, size);
        }
        /* A fraction's digits are none of an integer. */
        if (digits) i += strspn(text + i, "0123456789.eE+-") - 1;
    }
}

void dit_json_drop_nulls(cJSON *value)
{
    cJSON *child = value ? value->child : NULL;
    while (child) {
        cJSON *next = child->next;
        if (cJSON_IsNull(child) && cJSON_IsObject(value))
            cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
        else
            dit_json_drop_nulls(child);
        child = next;
    }
}

dit_status dit_json_read_lenient(const char *path, dit_json *out)
{
    char *text;
    size_t length;
    DIT_TRY(dit_file_read(path, LENIENT_BYTES_MAX, &text, &length));
    replace_nonfinite(text, length);
    rewrite_long_integers(text, length);
    dit_status st = dit_json_parse(text, length, path, out);
    free(text);
    if (st == DIT_OK) dit_json_drop_nulls(out->root);
    return st;
}
