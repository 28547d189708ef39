/* Foreign: flags of xDiT that `ditbench generate` understands without having what they switch on.
 *
 * A command line that works there should not fail here for a word: a flag that changes nothing here is taken with a
 * note, one whose method is not built is refused with the reason. The list follows xDiT's xfuser/config/args.py.
 */
#ifndef DIT_SUITE_GENERATE_XDIT_FLAGS_H
#define DIT_SUITE_GENERATE_XDIT_FLAGS_H

#include "suite/console/cli.h"

enum { SUITE_FOREIGN_MOST = 96 };

/* What was said, by row of the table. */
typedef struct {
    bool given[SUITE_FOREIGN_MOST];
    const char *value[SUITE_FOREIGN_MOST];
} suite_foreign;

/* Fills `options` with one unlisted row per flag, at most SUITE_FOREIGN_MOST, and the ending one. */
void suite_foreign_options(suite_foreign *foreign, suite_option *options);
/* Notes what is harmless in the log. Errors: DIT_ERR_UNSUPPORTED at the first that is not, naming it and the reason. */
dit_status suite_foreign_judge(const suite_foreign *foreign);

#endif
