#include "suite/catalogue/cut.h"

#include <stddef.h>

const char *const *suite_cut_words(void)
{
    static const char *const words[SUITE_CUT_COUNT + 1] = {"one", "equal", "groups", "any", NULL};
    return words;
}
