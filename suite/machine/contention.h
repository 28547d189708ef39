/* Contention: measures what other processes do on the cores that this one may use, by the kernel's own counters.
 *
 * /proc/stat tells how long each core was busy. The time that this process and its ended descendants used is taken off.
 * The rest belongs to others: other programs, and on a virtual machine the host.
 */
#ifndef DIT_SUITE_MACHINE_CONTENTION_H
#define DIT_SUITE_MACHINE_CONTENTION_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The share of the cores that others may use before times that were taken meanwhile are doubtful. */
#define SUITE_CONTENTION_LIMIT 0.1

typedef struct {
    bool known;      /* false where /proc/stat cannot be read        */
    int64_t when_ns; /* monotonic                                    */
    double busy_s;   /* of all cores that this process may use       */
    double own_s;    /* of this process and its ended descendants    */
    int cores;
} suite_contention_sample;

/* What others used over a stretch of time. */
typedef struct {
    bool known;
    double other_cores; /* how many cores others used on average, 0 to `cores` */
    int cores;
} suite_contention;

void suite_contention_take(suite_contention_sample *out);
/* Returns what others used from one sample to a later one; unknown where either sample is, and over a
 * time so short that a tick or two of the kernel would decide whether it is much (a tenth of a second on two cores). */
suite_contention suite_contention_between(const suite_contention_sample *from, const suite_contention_sample *to);
/* Watches for a quarter of a second. */
suite_contention suite_contention_now(void);
/* True if others used more than a tenth of the machine. Timings are then longer, and scatter. */
bool suite_contention_is_high(const suite_contention *contention);
/* Writes "busy: other processes used 1.2 of 2 cores". */
void suite_contention_text(const suite_contention *contention, char *out, size_t size);

#endif
