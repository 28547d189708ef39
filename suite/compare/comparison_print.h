/* Printing of a comparison: a table for a person, one JSON document, Markdown for a review. */
#ifndef DIT_SUITE_COMPARE_COMPARISON_PRINT_H
#define DIT_SUITE_COMPARE_COMPARISON_PRINT_H

#include "suite/compare/circumstances.h"
#include "suite/compare/comparison.h"

#include <stdio.h>

/* Bytes of a number with all its digits, or of the beginning of a digest. */
enum { SUITE_DIFFERENCE_TEXT = 40 };

/* Prints what changed and the verdict in words. `width` of the screen; 0: no limit. Errors: DIT_ERR_MEMORY. */
dit_status suite_comparison_print(const suite_comparison *comparison, FILE *out, int width);
/* Prints in what the sessions differ besides, at most `most` lines. */
void suite_circumstances_print(const suite_circumstance *items, int count, int most, FILE *out);
/* The document of `compare --json` (results/schema/answers.md), the caller's. Errors: DIT_ERR_MEMORY. */
dit_status suite_comparison_json(const suite_comparison *comparison, const suite_circumstance *items, int count,
                                 cJSON **out);
/* Writes a heading with the verdict, a table of what changed, and the circumstances as Markdown to the file `path`.
 * Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status suite_comparison_markdown(const suite_comparison *comparison, const suite_circumstance *items, int count,
                                     const char *path);
/* What a difference was and is, as text. */
void suite_difference_texts(const suite_difference *difference, char before[SUITE_DIFFERENCE_TEXT],
                            char after[SUITE_DIFFERENCE_TEXT]);
/* "slower: 2 of 7 cases, 5 the same; 1 number changed": one sentence. */
void suite_comparison_summary(const suite_comparison *comparison, char *out, size_t size);

#endif
