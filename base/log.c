#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dit_log_level log_level = DIT_LOG_INFO;
static char log_prefix[32];

void dit_log_set_level(dit_log_level level)
{
    log_level = level;
}

void dit_log_set_prefix(const char *prefix)
{
    snprintf(log_prefix, sizeof log_prefix, "%s", prefix);
}

bool dit_log_is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !getenv("NO_COLOR") && !getenv("CI") && !(term && strcmp(term, "dumb") == 0);
}

void dit_log(dit_log_level level, const char *format, ...)
{
    static const char *const words[DIT_LOG_LEVEL_COUNT] = {"error: ", "warning: ", "", "debug: "};
    char line[4096]; /* one write per line, so that ranks do not interleave inside it */
    if (level > log_level) return;
    int used = snprintf(line, sizeof line, "%s%s", log_prefix, words[level]);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    used += length < 0 ? 0 : length;
    if (used > (int)sizeof line - 2) used = (int)sizeof line - 2;
    line[used++] = '\n';
    fwrite(line, 1, (size_t)used, stderr);
}
