#include "reports/draw/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GNUPLOT_SECONDS = 120, GNUPLOT_NOT_FOUND = 127 };

/* In the child: both outputs go to `output`; SIGALRM ends what never ends. */
static void become_gnuplot(const char *program, const char *folder, char *const *arguments, int output)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) _exit(126);
    if (folder && chdir(folder) != 0) _exit(126);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("GNUPLOT_LIB");
    alarm(GNUPLOT_SECONDS);
    execvp(program, arguments);
    _exit(GNUPLOT_NOT_FOUND);
}

/* Keeps the beginning of what comes through the pipe and reads on to its end. */
static void drain(int input, char *said, size_t capacity)
{
    size_t used = 0;
    char rest[512];
    for (;;) {
        bool keep = used + 1 < capacity;
        ssize_t got = read(input, keep ? said + used : rest, keep ? capacity - 1 - used : sizeof rest);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (keep) used += (size_t)got;
    }
    said[used] = '\0';
}

/* Exit status of the program, with what it printed; negative when it could not be started at all. */
static int run(const char *program, const char *folder, char *const *arguments, char *said, size_t capacity)
{
    int ends[2], status = 0;
    said[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    pid_t child = fork();
    if (child == 0) become_gnuplot(program, folder, arguments, ends[1]);
    close(ends[1]);
    if (child > 0) drain(ends[0], said, capacity);
    close(ends[0]);
    if (child < 0) return -1;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

dit_status gnuplot_missing(const char *program)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "%s cannot be started, and it draws the figures", program),
                          "apt-get install gnuplot-nox");
}

dit_status gnuplot_check(const char *program)
{
    char said[256], name[] = "gnuplot", flag[] = "--version";
    char *const arguments[] = {name, flag, NULL};
    return run(program, NULL, arguments, said, sizeof said) == 0 ? DIT_OK : gnuplot_missing(program);
}

dit_status gnuplot_run(const char *program, const char *folder, const char *id, const char *format)
{
    char said[1024], name[] = "gnuplot", defaults[] = "--default-settings", command[] = "-e", set[64], script[256];
    char *const arguments[] = {name, defaults, command, set, script, NULL};
    snprintf(set, sizeof set, "format='%s'", format);
    snprintf(script, sizeof script, "%s.gp", id);
    int status = run(program, folder, arguments, said, sizeof said);
    if (status == 0) return DIT_OK;
    if (status < 0 || status == GNUPLOT_NOT_FOUND) return gnuplot_missing(program);
    return DIT_FAIL(DIT_ERR_IO, "gnuplot ended with status %d on %s/%s: %.600s", status, folder, script, said);
}
