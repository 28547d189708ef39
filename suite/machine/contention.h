/* Contention: what other processes do on the cores that this one may use, by the kernel's own counters.
 *
 * /proc/stat tells how long each core was busy; taken off it is what this process and its descendants that have ended
 * used. What is left belongs to others: other programs, and on a virtual machine what the host takes away.
 */
#ifndef DIT_SUITE_MACHINE_CONTENTION_H
#define DIT_SUITE_MACHINE_CONTENTION_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    bool known;      /* false where /proc/stat cannot be read        */
    int64_t when_ns; /* monotonic                                    */
    double busy_s;   /* of all cores that this process may use       */
    double own_s;    /* of this process and its ended descendants    */
    int cores;
} suite_contention_sample;

/* Over a stretch of time. */
typedef struct {
    bool known;
    double other_cores; /* how many cores others used on average, 0 to `cores` */
    int cores;
} suite_contention;

void suite_contention_take(suite_contention_sample *out);
/* From one sample to a later one; unknown where either is, or no time passed. */
suite_contention suite_contention_between(const suite_contention_sample *from, const suite_contention_sample *to);
/* Watches for a quarter of a second. */
suite_contention suite_contention_now(void);
/* Whether others used more than a tenth of the machine: timings are then longer, and scatter. */
bool suite_contention_is_high(const suite_contention *contention);
/* "busy: other processes used 1.2 of 2 cores". */
void suite_contention_text(const suite_contention *contention, char *out, size_t size);

#endif
