/* Method: the names papers use, and the degrees they mean at a world size.
 *
 * `method` and `world_size` in a workload are a convenience for the degrees: ulysses at 4 is ulysses_degree 4, usp at
 * 4 is ulysses_degree 2 x ring_degree 2. At world size 1 every method is the single rank.
 */
#ifndef DIT_SUITE_METHOD_H
#define DIT_SUITE_METHOD_H

#include "base/mesh.h"

/* All names, NULL-terminated. */
const char *const *suite_method_names(void);
/* Sets the degrees; joint_text is left alone. Errors: DIT_ERR_CONSTRAINT_METHOD when the method does not exist at this
 * world size ("usp needs two factors above 1"). */
dit_status suite_method_resolve(const char *method, int world_size, dit_parallel *out);
/* The method a mesh amounts to: its axes from slowest to fastest, "cfg+ulysses"; ulysses and ring together are "usp";
 * "single" for one rank. */
void suite_method_name(const dit_parallel *parallel, char out[64]);
/* local, ulysses, ring or usp: how attention finds K and V on this mesh. */
const char *suite_attention_name(const dit_parallel *parallel);

#endif
