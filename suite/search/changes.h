/* Changes: which mesh would win on a machine of which one part is faster. It asks for bounds anew, and simulates nothing.
 */
#ifndef DIT_SUITE_SEARCH_CHANGES_H
#define DIT_SUITE_SEARCH_CHANGES_H

#include "suite/search/found.h"

/* Fills search->changes, if they are asked for and there is a winner with a time. Errors: those of suite_bounds_of. */
dit_status suite_search_find_changes(suite_search *search);

#endif
