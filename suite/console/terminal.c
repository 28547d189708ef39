#include "suite/console/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct {
    const char *word, *escape;
} colours[] = {
    {"ok", "\033[32m"},      {"skipped", "\033[33m"}, {"oom", "\033[33m"},     {"missing", "\033[33m"},
    {"warning", "\033[33m"}, {"failed", "\033[31m"},  {"FAILED", "\033[31m"},  {"timeout", "\033[31m"},
    {"invalid", "\033[31m"}, {"damaged", "\033[31m"}, {"running", "\033[36m"}, {"unfinished", "\033[33m"},
};

int suite_terminal_width(FILE *stream)
{
    const char *given = getenv("COLUMNS");
    struct winsize size;
    int width = given ? atoi(given) : 0;
    if (width > 0) return width;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* True when `stream` is a terminal that takes colour: NO_COLOR and CI unset, TERM not "dumb". */
static bool suite_terminal_colours(FILE *stream)
{
    const char *term = getenv("TERM");
    return isatty(fileno(stream)) && !getenv("NO_COLOR") && !getenv("CI") && !(term && strcmp(term, "dumb") == 0);
}

const char *suite_colour_start(FILE *stream, const char *word)
{
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        if (strcmp(colours[i].word, word) == 0) return suite_terminal_colours(stream) ? colours[i].escape : "";
    return "";
}

const char *suite_colour_end(FILE *stream, const char *word)
{
    return suite_colour_start(stream, word)[0] ? "\033[0m" : "";
}

const char *suite_plural(long count)
{
    return count == 1 ? "" : "s";
}
