/* Pattern: a regular expression that splits or replaces text, as tokenizer.json writes it, run by PCRE2. */
#ifndef DIT_ENGINE_UNICODE_PATTERN_H
#define DIT_ENGINE_UNICODE_PATTERN_H

#include "engine/unicode/utf8.h"

typedef struct dit_pattern dit_pattern;

/* Compiles an expression over code points with Unicode classes; \s is exactly White_Space. ignore_case: letters match
 * in any case. Errors: DIT_ERR_UNSUPPORTED for an expression that PCRE2 refuses, with its words; DIT_ERR_MEMORY. */
dit_status dit_pattern_compile(const char *expression, bool ignore_case, dit_pattern **out);
void dit_pattern_release(dit_pattern *pattern); /* accepts NULL */

/* Finds the next match that is not empty in text[from..], which must be UTF-8. *start == *end == text.length when there is none.
 * Errors: DIT_ERR_UNSUPPORTED for an expression that needs too many steps; DIT_ERR_MEMORY. */
dit_status dit_pattern_find(const dit_pattern *pattern, dit_span text, size_t from, size_t *start, size_t *end);

#endif
