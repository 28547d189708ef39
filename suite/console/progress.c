#include "suite/console/progress.h"

#include "base/log.h"
#include "suite/console/terminal.h"

#include <stdio.h>
#include <string.h>

enum { BAR_CELLS = 24, LEAST_WIDTH = 60, USUAL_WIDTH = 80 };

void suite_progress_init(suite_progress *progress, int total, int done, bool quiet)
{
    *progress = (suite_progress){.total = total, .done = done, .at_once = 1, .quiet = quiet};
    progress->terminal = !quiet && dit_log_is_terminal();
}

void suite_progress_duration(double seconds, char out[32])
{
    long whole = (long)(seconds + 0.5);
    if (seconds < 59.95)
        snprintf(out, 32, "%.1f s", seconds);
    else if (whole < 3600)
        snprintf(out, 32, "%ld min %02ld s", whole / 60, whole % 60);
    else
        snprintf(out, 32, "%ld h %02ld min", whole / 3600, whole % 3600 / 60);
}

void suite_progress_start(suite_progress *progress, const char *label)
{
    progress->label = label;
    suite_progress_tick(progress, 0);
}

/* "[=====>   ]", or nothing where the line is too short for it. */
static void draw_bar(const suite_progress *progress, int cells, char bar[BAR_CELLS + 4])
{
    int full = progress->done * cells / progress->total, used = 0;
    if (cells <= 0) return (void)(bar[0] = '\0');
    bar[used++] = '[';
    for (int i = 0; i < cells; i++) bar[used++] = i < full ? '=' : i == full ? '>' : ' ';
    memcpy(bar + used, "] ", 3);
}

/* A quarter of the line, but nothing of a short one. */
static int bar_cells(int width)
{
    return width < LEAST_WIDTH ? 0 : width / 4 < BAR_CELLS ? width / 4 : BAR_CELLS;
}

void suite_progress_tick(void *context, double elapsed_s)
{
    const suite_progress *progress = context;
    char bar[BAR_CELLS + 4], left[32] = "", now[32], state[128];
    if (!progress->terminal || !progress->total) return;
    if (progress->timed) {
        double each = progress->timed_s / progress->timed / progress->at_once;
        double seconds = each * (progress->total - progress->done) - elapsed_s;
        suite_progress_duration(seconds > 0 ? seconds : 0, left);
    }
    suite_progress_duration(elapsed_s, now);
    int used = snprintf(state, sizeof state, "%d/%d  %s%s%srunning %s  ", progress->done, progress->total,
                        progress->timed ? "left " : "", left, progress->timed ? ", " : "", now);
    int width = suite_terminal_width(stderr);
    if (width <= 0) width = USUAL_WIDTH;
    draw_bar(progress, bar_cells(width), bar);
    int room = width - 1 - (int)strlen(bar) - used; /* the last column stays free: some terminals wrap there */
    fprintf(stderr, "\r%s%.*s%.*s\033[K", bar, room < 0 ? width - 1 : used, state, room < 0 ? 0 : room,
            progress->label ? progress->label : "");
    fflush(stderr);
}

static void print_line(const suite_progress *progress, const char *status, const char *what, const char *result,
                       const char *note)
{
    fprintf(stderr, "%s%s%s[%d/%d] %s%-7s%s %s%s%s%s%s\n", progress->terminal ? "\r\033[K" : "",
            progress->prefix ? progress->prefix : "", progress->prefix ? " " : "", progress->done, progress->total,
            suite_colour_start(stderr, status), status, suite_colour_end(stderr, status), what, result[0] ? "  " : "",
            result, note[0] ? "  " : "", note);
}

/* One line for all runs that were skipped for one reason; `newer` finished runs came after them. */
static void tell_skipped(suite_progress *progress, int newer)
{
    char what[64];
    if (!progress->skipped) return;
    progress->done -= newer;
    snprintf(what, sizeof what, "%d run%s", progress->skipped, suite_plural(progress->skipped));
    print_line(progress, "skipped", what, "", progress->skip_reason);
    progress->done += newer;
    progress->skipped = 0;
}

static void note_skipped(suite_progress *progress, const char *reason)
{
    if (progress->skipped && strncmp(progress->skip_reason, reason, sizeof progress->skip_reason - 1) != 0)
        tell_skipped(progress, 1);
    snprintf(progress->skip_reason, sizeof progress->skip_reason, "%s", reason);
    progress->skipped++;
}

void suite_progress_finish(suite_progress *progress, const suite_progress_case *told)
{
    progress->done++;
    progress->timed++;
    progress->timed_s += told->elapsed_s;
    if (progress->quiet) return;
    if (strcmp(told->status, "skipped") == 0) return note_skipped(progress, told->note);
    tell_skipped(progress, 1);
    print_line(progress, told->status, progress->label, told->result, told->note);
}

void suite_progress_end(suite_progress *progress)
{
    if (!progress->quiet) tell_skipped(progress, 0);
    if (progress->terminal) fputs("\r\033[K", stderr);
}
