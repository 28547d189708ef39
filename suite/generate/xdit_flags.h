/* xDiT flags: takes the flags of xDiT for features that `ditbench generate` does not have.
 *
 * A command line that works with xDiT should not fail here for a word. A flag that would change nothing is accepted
 * with a note; a flag whose method is not implemented is refused with the reason. The list follows xDiT's
 * xfuser/config/args.py.
 */
#ifndef DIT_SUITE_GENERATE_XDIT_FLAGS_H
#define DIT_SUITE_GENERATE_XDIT_FLAGS_H

#include "suite/console/cli.h"

enum { SUITE_FOREIGN_MOST = 96 };

/* The flags that were given, by row of the table. */
typedef struct {
    bool given[SUITE_FOREIGN_MOST];
    const char *value[SUITE_FOREIGN_MOST];
} suite_foreign;

/* Fills `options` with one unlisted row per flag, at most SUITE_FOREIGN_MOST, and the ending one. */
void suite_foreign_options(suite_foreign *foreign, suite_option *options);
/* Notes harmless flags in the log. Errors: DIT_ERR_UNSUPPORTED at the first other flag, with its name and the
 * reason. */
dit_status suite_foreign_judge(const suite_foreign *foreign);

#endif
