/* Clock: monotonic nanoseconds for measuring, UTC for labels. */
#ifndef DIT_BASE_CLOCK_H
#define DIT_BASE_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns nanoseconds of CLOCK_MONOTONIC, which are comparable within one machine only. */
int64_t dit_clock_ns(void);
/* Makes dit_clock_ns return source(context), the nanoseconds of another clock, from now on. NULL: the machine's
 * again. */
void dit_clock_set_source(int64_t (*source)(void *context), void *context);
/* Writes the time in UTC (RFC 3339) with milliseconds, "2026-01-31T12:00:00.123Z". `out` holds at least 25 bytes. */
void dit_clock_utc(char out[32]);

#ifdef __cplusplus
}
#endif
#endif
