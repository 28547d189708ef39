#include "base/words.h"

#include <stdio.h>
#include <string.h>

int dit_words_find(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) return i;
    return -1;
}

void dit_words_join(const char *const *words, char *out, size_t size)
{
    static const char more[] = ", ...";
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; words[i]; i++) {
        size_t length = strlen(words[i]) + (i ? 2 : 0), kept = words[i + 1] ? sizeof more : 1;
        if (used + length + kept > size) {
            snprintf(out + used, size - used, "%s", i ? more : "...");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", words[i]);
    }
}

/* ---- the nearest ------------------------------------------------------------------------------------------------- */

enum { WORD_MAX = 64 };

static int least(int a, int b, int c)
{
    return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

/* Edits (insert, delete, change, swap of neighbours) that turn `a` into `b`: optimal string alignment distance. */
static int edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int rows[3][WORD_MAX + 1]; /* the row before last, the last, the one being made */
    int *older = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++) last[j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            row[j] = least(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (swapped && older[j - 2] + 1 < row[j]) row[j] = older[j - 2] + 1;
        }
        int *spare = older;
        older = last;
        last = row;
        row = spare;
    }
    return last[b_length];
}

const char *dit_nearest_word(const char *word, const char *const *words)
{
    size_t length = strlen(word);
    const char *nearest = NULL;
    int best = (int)length / 3 + 1; /* more edits than this is another word, not a slip */
    if (length > WORD_MAX) return NULL;
    for (; *words; words++) {
        size_t other = strlen(*words);
        int distance = other <= WORD_MAX ? edit_distance(word, length, *words, other) : WORD_MAX;
        if (distance < best || (distance == best && !nearest)) {
            best = distance;
            nearest = *words;
        }
    }
    return nearest;
}

/* ---- complaints -------------------------------------------------------------------------------------------------- */

dit_status dit_words_hint_all(dit_status st, const char *what, const char *const *words)
{
    char all[512];
    dit_words_join(words, all, sizeof all);
    return dit_error_hint(st, "%s: %s", what, all);
}

dit_status dit_words_hint(dit_status st, const char *word, const char *const *words)
{
    const char *near = dit_nearest_word(word, words);
    return near ? dit_error_hint(st, "did you mean \"%s\"?", near) : dit_words_hint_all(st, "there are", words);
}

dit_status dit_fail_word(dit_status status, const char *what, const char *word, const char *const *words)
{
    char all[512];
    const char *near = dit_nearest_word(word, words);
    dit_words_join(words, all, sizeof all);
    dit_status st = DIT_FAIL(status, "%s \"%.100s\" is none of %s", what, word, all);
    return near ? dit_error_hint(st, "did you mean \"%s\"?", near) : st;
}

/* ---- lists in a text --------------------------------------------------------------------------------------------- */

bool dit_words_next(const char **text, char *out, size_t size)
{
    const char *from = *text + strspn(*text, ", ");
    size_t length = strcspn(from, ",");
    *text = from + length;
    while (length && from[length - 1] == ' ') length--;
    snprintf(out, size, "%.*s", (int)length, from);
    return length > 0;
}
