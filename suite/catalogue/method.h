/* Method: turns `method` and `world_size` of a workload into degrees. A method is a name of base/method.h,
 * or the search "hybrid": every mesh of the searched axes at a world size.
 */
#ifndef DIT_SUITE_CATALOGUE_METHOD_H
#define DIT_SUITE_CATALOGUE_METHOD_H

#include "base/parallel.h"

/* The methods that `ditbench list methods` shows and the tests run with every model, NULL-terminated: every row of
 * base/method.h, and the products of them that papers use. Every other product works as well. */
const char *const *suite_method_names(void);
/* Checks that a workload may say `word`: a method, or "hybrid". Errors: as dit_method_from_name. */
dit_status suite_method_check(const char *word);

bool suite_method_is_search(const char *word);
int suite_method_mesh_count(int world_size);
/* Sets the degrees of mesh `index` < suite_method_mesh_count, and nothing else. cfg varies slowest, ulysses fastest. */
void suite_method_mesh(int world_size, int index, dit_parallel *out);

#endif
