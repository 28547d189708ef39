/* Confirm: runs again what made a session, for a second value where one sticks out.
 */
#ifndef DIT_SUITE_TREND_CONFIRM_H
#define DIT_SUITE_TREND_CONFIRM_H

#include "base/json.h"

/* The words of the command that made the session from its verb on, but for its place: a second session needs another one. The caller deletes
 * them; NULL where the session names none. Errors: those of finding and reading the session. */
dit_status suite_confirm_words(const char *session, cJSON **out);
/* Runs this program with those words, its output to standard error, and gives its exit code (128 and the signal, where one
 * ended it). Only what `ditbench run` made is run again, and only where machine and build are those of the session: another
 * value would say nothing of it. Errors: DIT_ERR_UNSUPPORTED, DIT_ERR_ENVIRONMENT with the reason. */
dit_status suite_confirm_run(const char *session, int *exit_code);

#endif
