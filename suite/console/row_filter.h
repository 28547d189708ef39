/* Row filter: keeps the rows of a list that a person wants to see. */
#ifndef DIT_SUITE_CONSOLE_ROW_FILTER_H
#define DIT_SUITE_CONSOLE_ROW_FILTER_H

#include "base/json.h"

/* Removes from `rows` (an array of flat objects) those that `filter` does not keep. A filter with an operator in it
 * ("memory_gib >= 40 && vendor == 'nvidia'") is an expression over the members; a list of words is one string with
 * commas. Any other is text that some member must contain, whatever the case of its letters. NULL keeps all.
 * Errors: DIT_ERR_EXPRESSION; for a name that no row has, with the names there are. */
dit_status suite_row_filter(cJSON *rows, const char *filter);
/* True if a filter has an operator in it. */
bool suite_row_filter_is_expression(const char *filter);

#endif
