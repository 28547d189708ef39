/* Cut list: every way of cutting devices that a rule allows. */
#ifndef DIT_SUITE_SEQUENCES_CUT_LIST_H
#define DIT_SUITE_SEQUENCES_CUT_LIST_H

#include "base/status.h"
#include "suite/catalogue/cut.h"
#include "suite/queue/partition.h"

#include <stdbool.h>

enum { SUITE_CUT_SIZES = SUITE_PARTITION_DEGREES, SUITE_CUT_TEXT = 96 };

/* groups[i] groups of sizes[i] devices, sizes descending. */
typedef struct {
    int sizes[SUITE_CUT_SIZES], groups[SUITE_CUT_SIZES], count;
} suite_cut;
/* Writes "2 x 4 + 8 x 1". */
void suite_cut_text(const suite_cut *cut, char out[SUITE_CUT_TEXT]);

/* Lists the cuts; *count of them, which the caller frees. The rules one and equal have the same list. Errors:
 * DIT_ERR_MEMORY. */
dit_status suite_cuts_list(suite_cut_rule rule, int devices, suite_cut **out, int *count);
/* Whether all groups have one size. */
bool suite_cut_is_equal(const suite_cut *cut);
bool suite_cut_is_same(const suite_cut *a, const suite_cut *b);

#endif
