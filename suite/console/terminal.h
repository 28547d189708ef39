/* Terminal: finds how wide the reader's screen is, and gives verdicts their colours. */
#ifndef DIT_SUITE_CONSOLE_TERMINAL_H
#define DIT_SUITE_CONSOLE_TERMINAL_H

#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>

/* Returns the columns of text: $COLUMNS when it is set, else the width of the terminal that `stream` writes to, else 0
 * (a file or a pipe: no limit). */
int suite_terminal_width(FILE *stream);
/* Return the escape that starts the colour of a verdict ("ok", "oom", "failed", "missing", ...) on `stream`, and the
 * one that ends it; "" for other words and where no colour belongs. Static strings. */
const char *suite_colour_start(FILE *stream, const char *word);
const char *suite_colour_end(FILE *stream, const char *word);
/* Returns "", or "s" for any count but 1: printf("%d run%s", count, suite_plural(count)). */
const char *suite_plural(long count);

#endif
