/* Shim: lies to a program about the machine, for tests of the harness. Loaded with LD_PRELOAD.
 *
 *   DITBENCH_SHIM_CLOCK=SECONDS   the clock on the wall jumps forth and back by so much, at every third look
 *   DITBENCH_SHIM_OOM=1           the kernel's count of out-of-memory kills in /proc/vmstat grows at every look
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int clock_function(clockid_t, struct timespec *);
typedef FILE *open_function(const char *, const char *);

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static int looks;
    clock_function *real;
    void *found = next("clock_gettime");
    memcpy(&real, &found, sizeof real);
    int result = real(clock, out);
    const char *jump = getenv("DITBENCH_SHIM_CLOCK");
    if (clock == CLOCK_REALTIME && jump) out->tv_sec += looks++ / 3 % 2 ? atol(jump) : -atol(jump);
    return result;
}

FILE *fopen(const char *path, const char *mode)
{
    static int looks;
    static char text[64];
    open_function *real;
    void *found = next("fopen");
    memcpy(&real, &found, sizeof real);
    if (!getenv("DITBENCH_SHIM_OOM") || strcmp(path, "/proc/vmstat") != 0) return real(path, mode);
    snprintf(text, sizeof text, "nr_free_pages 1\noom_kill %d\n", ++looks);
    return fmemopen(text, strlen(text), "r");
}
