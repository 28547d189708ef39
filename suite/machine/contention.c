#include "suite/machine/contention.h"

#include "base/clock.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const double WATCHED_S = 0.25;
static const double LEAST_TICKS = 2; /* of the kernel, in which the limit shows */

/* Busy time of a line "cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ..." in seconds; guests are inside user. */
static double busy_of(const char *numbers)
{
    unsigned long long user, nice, system, idle, wait, irq, softirq, steal;
    int read = sscanf(numbers, "%llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq,
                      &softirq, &steal);
    return read == 8 ? (double)(user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK) : 0;
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

static double used_by(int who)
{
    struct rusage usage;
    return getrusage(who, &usage) == 0 ? seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime) : 0;
}

void suite_contention_take(suite_contention_sample *out)
{
    char line[512];
    cpu_set_t allowed;
    FILE *file = fopen("/proc/stat", "re");
    *out = (suite_contention_sample){.when_ns = dit_clock_ns()};
    if (!file) return;
    bool any = sched_getaffinity(0, sizeof allowed, &allowed) != 0; /* more cores than the mask holds: all count */
    while (fgets(line, sizeof line, file)) {
        int core, used = 0;
        if (sscanf(line, "cpu%d%n", &core, &used) != 1 || !used) continue;
        if (!any && (core >= CPU_SETSIZE || !CPU_ISSET(core, &allowed))) continue;
        out->busy_s += busy_of(line + used);
        out->cores++;
    }
    fclose(file);
    out->own_s = used_by(RUSAGE_SELF) + used_by(RUSAGE_CHILDREN);
    out->known = out->cores > 0;
}

suite_contention suite_contention_between(const suite_contention_sample *from, const suite_contention_sample *to)
{
    double elapsed_s = (double)(to->when_ns - from->when_ns) * 1e-9;
    const double ticks = elapsed_s * (double)sysconf(_SC_CLK_TCK) * SUITE_CONTENTION_LIMIT * to->cores;
    suite_contention out = {.known = from->known && to->known && ticks >= LEAST_TICKS, .cores = to->cores};
    if (!out.known) return out;
    out.other_cores = (to->busy_s - from->busy_s - (to->own_s - from->own_s)) / elapsed_s;
    if (out.other_cores < 0) out.other_cores = 0; /* the kernel counts in ticks of a hundredth of a second */
    if (out.other_cores > out.cores) out.other_cores = out.cores;
    return out;
}

suite_contention suite_contention_now(void)
{
    suite_contention_sample from, to;
    const struct timespec pause = {.tv_nsec = (long)(WATCHED_S * 1e9)};
    suite_contention_take(&from);
    nanosleep(&pause, NULL);
    suite_contention_take(&to);
    return suite_contention_between(&from, &to);
}

bool suite_contention_is_high(const suite_contention *contention)
{
    return contention->known && contention->other_cores > SUITE_CONTENTION_LIMIT * contention->cores;
}

void suite_contention_text(const suite_contention *contention, char *out, size_t size)
{
    snprintf(out, size, "busy: other processes used %.1f of %d core%s", contention->other_cores, contention->cores,
             contention->cores == 1 ? "" : "s");
}
