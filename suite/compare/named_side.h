/* Named side: finds what a person names as one side of a comparison.
 *
 * A side is named by a session (folder, journal, name, unique beginning, "latest"), by a baseline file, or by the
 * commit of a build: the newest whole session under results/local that was run with it.
 */
#ifndef DIT_SUITE_COMPARE_NAMED_SIDE_H
#define DIT_SUITE_COMPARE_NAMED_SIDE_H

#include "suite/compare/side.h"

/* Errors: DIT_ERR_NOT_FOUND; those of reading a journal or a baseline file (DIT_ERR_JSON_*). */
dit_status suite_side_load(const char *name, suite_side *out);

#endif
