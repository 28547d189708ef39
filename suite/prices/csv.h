/* CSV: reads comma-separated text as RFC 4180 has it: fields may be quoted, and a quoted field may hold commas, quotes
 * (written twice) and line ends. The text comes from outside and may be anything.
 */
#ifndef DIT_SUITE_PRICES_CSV_H
#define DIT_SUITE_PRICES_CSV_H

#include "base/status.h"

enum { SUITE_CSV_FIELDS = 64 }; /* of a record, at most */

/* A record. Fields lie in the reader's text and hold until the reader is released. */
typedef struct {
    const char *field[SUITE_CSV_FIELDS];
    int count;
    int line; /* where it begins, from 1 */
} suite_csv_record;

/* Reads one text, record by record. */
typedef struct {
    char *text, *next, *end; /* text: a copy that fields are cut from */
    const char *path;        /* for messages; the caller's */
    int line;
} suite_csv;

/* Starts to read `length` bytes, of which it makes a copy. Errors: DIT_ERR_USAGE for a NUL byte; DIT_ERR_MEMORY. */
dit_status suite_csv_open(suite_csv *csv, const char *text, size_t length, const char *path);
/* Reads the next record that is not an empty line; *more is false at the end. Errors: DIT_ERR_USAGE with PATH:LINE for
 * a quote that is never closed, text behind a closing quote, or more than SUITE_CSV_FIELDS fields. */
dit_status suite_csv_next(suite_csv *csv, suite_csv_record *out, bool *more);
/* Accepts a zeroed one. */
void suite_csv_release(suite_csv *csv);

#endif
