#include "suite/catalogue/way.h"

#include <stdio.h>
#include <string.h>

const char *const *suite_way_words(void)
{
    static const char *const words[] = {
#define WAY_WORD(constant, word, meaning) word,
        SUITE_WAY_LIST(WAY_WORD)
#undef WAY_WORD
            NULL};
    return words;
}

const char *const *suite_balance_words(void)
{
    static const char *const words[] = {"none", "time", "memory", "both", NULL};
    return words;
}

const char *const *suite_unit_words(void)
{
    static const char *const words[] = {"layer", "operator", NULL};
    return words;
}

const char *const *suite_search_order_words(void)
{
    static const char *const words[] = {"joint", "in-turn", NULL};
    return words;
}

/* The way whose word begins at `text`, `length` long; -1: none. */
static int way_of(const char *text, size_t length)
{
    const char *const *words = suite_way_words();
    for (int i = 0; words[i]; i++)
        if (strlen(words[i]) == length && strncmp(words[i], text, length) == 0) return i;
    return -1;
}

bool suite_ways_from_text(const char *text, unsigned *out)
{
    *out = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, "+");
        int way = way_of(at, length);
        if (way < 0 || *out & 1u << way) return false;
        *out |= 1u << way;
        at += length;
        if (!*at) return true;
    }
}

void suite_ways_text(unsigned ways, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < SUITE_WAY_COUNT && used < size; i++)
        if (ways & 1u << i)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "+" : "", suite_way_words()[i]);
}
