/* Timeline: reads the trace of one case (results/schema/trace.md) as spans of time by rank, and checks it. */
#ifndef DIT_REPORTS_RECORDS_TIMELINE_H
#define DIT_REPORTS_RECORDS_TIMELINE_H

#include "base/status.h"

enum { TIMELINE_RANKS = 1024, TIMELINE_STEPS = 10000, TIMELINE_PATCHES = 1 << 20 };

/* The kinds of spans that a figure tells apart, in the order of its legend. */
typedef enum {
    TIMELINE_LINEAR,
    TIMELINE_ATTENTION,
    TIMELINE_OPERATOR, /* any other                                    */
    TIMELINE_WAIT,     /* the rank's thread held up by communication   */
    TIMELINE_TRANSFER, /* on its way; may lie beside operators         */
    TIMELINE_LAYER,    /* a block of the transformer, around operators */
    TIMELINE_CLASS_COUNT
} timeline_class;

typedef struct {
    double begin, end;            /* seconds from the trace's origin */
    int rank, step, patch, layer; /* -1: none; patch: a band of rows of a pipeline */
    timeline_class class;
} timeline_span;

typedef struct {
    timeline_span *spans; /* in the order of the file: by rank, then by begin */
    int count, ranks, steps, patches;
    double begin, end; /* of all spans */
} timeline;

/* Reads trace.json. `digest` is the digest that the record states, "xxh3:...". Nothing in the file is trusted.
 * Errors: DIT_ERR_IO; DIT_ERR_INTEGRITY for another digest; DIT_ERR_JSON_*; DIT_ERR_MEMORY. release accepts a zeroed
 * timeline. */
dit_status timeline_read(const char *path, const char *digest, timeline *out);
void timeline_release(timeline *t);

/* Return when the first operator of a step begins on rank 0, and when its last span ends on any rank; NAN when the step
 * has none. */
double timeline_step_begin(const timeline *t, int step);
double timeline_step_end(const timeline *t, int step);

#endif
