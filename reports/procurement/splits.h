/* Splits: reads the rows of the document. Inside the room only. */
#ifndef DIT_REPORTS_PROCUREMENT_SPLITS_H
#define DIT_REPORTS_PROCUREMENT_SPLITS_H

#include "base/json.h"

#include <stdbool.h>

enum { SPLIT_NAME = 96 };

/* A number with the ends of its interval; 0: there is none. */
typedef struct {
    double value, low, high;
} split_range;

/* One of `splits`. */
typedef struct {
    const cJSON *row;
    char name[SPLIT_NAME]; /* "8xh100-sxm@4" */
    const char *platform, *mesh;
    int devices, replicas;
    bool answers; /* for its machine */
    split_range service, per_1000, rate, own_1000;
} split_row;

/* Reads the document's rows under a key, "splits" or "approximate", that have a time; the caller frees them. *count: how
 * many. Returns NULL without memory. */
split_row *split_rows_of(const cJSON *document, const char *key, int *count);
/* Returns {value, lo, hi} of a member; zeroed where there is none. */
split_range split_range_of(const cJSON *row, const char *key);
/* Returns a member's member; NULL: there is none. */
const cJSON *split_part(const cJSON *row, const char *key, const char *inner);

#endif
