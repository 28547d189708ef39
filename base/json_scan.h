/* The strict JSON scanner; private to base/. json.h has the interface for everyone else.
 *
 * Checks a text against RFC 8259 and the house's limits without building anything. Recursion is bounded by the depth
 * limit; time is O(n log n) and memory O(n) on any input, hostile ones included.
 */
#ifndef DIT_BASE_JSON_SCAN_H
#define DIT_BASE_JSON_SCAN_H

#include "base/status.h"

enum {
    DIT_JSON_MAX_DEPTH = 64,
    DIT_JSON_MAX_BYTES = 64 << 20,
    DIT_JSON_MAX_VALUES = 4 << 20,   /* cJSON takes about 80 bytes a value: without this "[0,0,..." costs gigabytes */
    DIT_JSON_MAX_NUMBER_LENGTH = 63, /* cJSON copies a number to 64 bytes and silently drops the rest */
};
#define DIT_JSON_MAX_INTEGER 9007199254740992 /* 2^53 */

/* What is wrong with a text, and where. */
typedef struct {
    dit_status status;
    size_t offset;
    char what[256];
    char pointer[256]; /* of the innermost value; shortened when long */
} dit_json_problem;

/* Returns true when `text` is one acceptable document; else fills *problem with the first error. */
bool dit_json_scan(const char *text, size_t length, dit_json_problem *problem);
/* Computes line and column, from 1, of a byte offset. */
void dit_json_place(const char *text, size_t offset, int *line, int *column);
/* Does what dit_json_locate of json.h says. */
bool dit_json_scan_locate(const char *text, size_t length, const char *pointer, int *line, int *column);
/* Returns the length of the valid UTF-8 sequence at `bytes`, or 0. */
size_t dit_json_utf8_length(const unsigned char *bytes, size_t available);

#endif
