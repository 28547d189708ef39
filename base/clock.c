#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t (*clock_source)(void *context);
static void *clock_context;

void dit_clock_set_source(int64_t (*source)(void *context), void *context)
{
    clock_source = source, clock_context = context;
}

int64_t dit_clock_ns(void)
{
    if (clock_source) return clock_source(clock_context);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void dit_clock_utc(char out[32])
{
    struct timespec now;
    struct tm utc;
    char date[24];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out, 32, "%s.%03dZ", date, (int)(now.tv_nsec / 1000000));
}
