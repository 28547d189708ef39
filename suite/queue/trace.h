/* Trace: requests as somebody wrote them down, a CSV file with the columns "second" and "class". */
#ifndef DIT_SUITE_QUEUE_TRACE_H
#define DIT_SUITE_QUEUE_TRACE_H

#include "base/status.h"

#include <stddef.h>

/* Requests in order. release accepts a zeroed one. */
typedef struct {
    double *seconds; /* [count] not descending           */
    int *classes;    /* [count] indices into the classes */
    int count;
} suite_trace;

/* Reads a file; `names` are those of the classes, NULL-terminated. Errors: DIT_ERR_IO; DIT_ERR_USAGE with file and line
 * for other columns, a second that is none or goes back, a class without a name, no request, or more than four
 * million; DIT_ERR_MEMORY. */
dit_status suite_trace_read(const char *path, const char *const *names, suite_trace *out);
/* Reads a text in memory; messages call it `path`. Errors as above. */
dit_status suite_trace_parse(const char *text, size_t length, const char *path, const char *const *names,
                             suite_trace *out);
void suite_trace_release(suite_trace *trace);
/* Requests in a second of the whole trace; 0 when it takes no time. */
double suite_trace_rate(const suite_trace *trace);

#endif
