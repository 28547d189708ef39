/* Cut: the words in which a workload asks how devices are cut into groups that share sequences. */
#ifndef DIT_SUITE_CATALOGUE_CUT_H
#define DIT_SUITE_CATALOGUE_CUT_H

/* Each allows what the one before does, and more. */
typedef enum {
    SUITE_CUT_ONE,    /* groups of one size, which never changes            */
    SUITE_CUT_EQUAL,  /* groups of one size                                 */
    SUITE_CUT_GROUPS, /* groups of several sizes, powers of two             */
    SUITE_CUT_ANY,    /* groups of any numbers of devices                   */
    SUITE_CUT_COUNT
} suite_cut_rule;
const char *const *suite_cut_words(void); /* "one", "equal", "groups", "any", NULL */

#endif
