/* Space: the meshes that a search chooses from. */
#ifndef DIT_SUITE_SEARCH_SPACE_H
#define DIT_SUITE_SEARCH_SPACE_H

#include "suite/platform/platform.h"
#include "suite/search/found.h"

/* Lists the candidates of every number of ranks that the goal asks for, and the meshes that no rule allows. Errors:
 * those of suite_meshes_expand. */
dit_status suite_search_expand(suite_search *search);
/* Adds, once the bounds are known, each mesh with stages again, its blocks shared out by the time that each takes, where
 * that makes the slowest stage faster. Only quality approximate has stages. Errors: those of suite_meshes_expand. */
dit_status suite_search_add_uneven(suite_search *search, const suite_platform *platform);

#endif
