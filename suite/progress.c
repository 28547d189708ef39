#include "suite/progress.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

enum { BAR_CELLS = 24 };

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

void suite_progress_tick(void *context, double elapsed_s)
{
    const suite_progress *progress = context;
    char bar[BAR_CELLS + 1], left[32] = "", now[32];
    if (!progress->terminal || !progress->total) return;
    int full = progress->done * BAR_CELLS / progress->total;
    for (int i = 0; i < BAR_CELLS; i++) bar[i] = i < full ? '=' : i == full ? '>' : ' ';
    bar[BAR_CELLS] = '\0';
    if (progress->timed) {
        double each = progress->timed_s / progress->timed / progress->at_once;
        double seconds = each * (progress->total - progress->done) - elapsed_s;
        suite_progress_duration(seconds > 0 ? seconds : 0, left);
    }
    suite_progress_duration(elapsed_s, now);
    fprintf(stderr, "\r[%s] %d/%d  %s%s  %.60s (%s)\033[K", bar, progress->done, progress->total,
            progress->timed ? "left " : "", left, progress->label ? progress->label : "", now);
    fflush(stderr);
}

void suite_progress_finish(suite_progress *progress, const char *status, double elapsed_s, const char *note)
{
    char took[32];
    progress->done++;
    progress->timed++;
    progress->timed_s += elapsed_s;
    if (progress->quiet) return;
    suite_progress_duration(elapsed_s, took);
    bool good = strcmp(status, "ok") == 0;
    if (progress->terminal && good) return; /* the bar says enough */
    fprintf(stderr, "%s[%d/%d] %-7s %s  %s%s%s\n", progress->terminal ? "\r\033[K" : "", progress->done,
            progress->total, status, progress->label, took, note[0] ? "  " : "", note);
}

void suite_progress_end(suite_progress *progress)
{
    if (progress->terminal) fputs("\r\033[K", stderr);
}
