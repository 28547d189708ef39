/* Method: the names papers use, and the degrees they mean at a world size.
 *
 * `method` and `world_size` in a workload are a convenience for the degrees: ulysses at 4 is ulysses_degree 4, usp at
 * 4 is ulysses_degree 2 x ring_degree 2, pcpp at 4 is patch_degree 4 with patch_method pcpp. At world size 1 every
 * method is the single rank.
 */
#ifndef DIT_SUITE_CATALOGUE_METHOD_H
#define DIT_SUITE_CATALOGUE_METHOD_H

#include "base/parallel.h"

/* One row of the table. `cfg` takes a factor of 2 first; the axes share what is left, as even as it goes, earlier ones
 * the larger factors. */
typedef struct {
    const char *name;
    bool cfg;
    int axis_count;
    dit_axis axes[3];
    dit_patch_method patch_method; /* of the patch axis */
} suite_method;

/* The table ends with a row whose name is NULL. */
extern const suite_method suite_methods[];
/* All names, NULL-terminated. */
const char *const *suite_method_names(void);
/* What a workload may say: all names and "hybrid", NULL-terminated. */
const char *const *suite_method_words(void);

/* "hybrid" is no method but a search: every mesh of cfg (1 or 2), pipefusion, ring and ulysses at a world size. */
bool suite_method_is_search(const char *word);
int suite_method_mesh_count(int world_size);
/* Sets the degrees of mesh `index` < suite_method_mesh_count: cfg slowest, ulysses fastest; everything else is left
 * alone. */
void suite_method_mesh(int world_size, int index, dit_parallel *out);
/* Whether a method gives the one-rank result whatever its warm-up; the others do where every step is synchronous. */
bool suite_method_is_exact(const suite_method *method);
/* The fewest ranks above one that a method runs on; 1 for single. */
int suite_method_least_ranks(const suite_method *method);

/* Sets the degrees, and patch_method where there is a patch axis; everything else is left alone. Errors:
 * DIT_ERR_CONSTRAINT_METHOD when the method does not exist at this world size ("usp needs two factors above 1"). */
dit_status suite_method_resolve(const char *method, int world_size, dit_parallel *out);
/* The method a mesh amounts to: its axes from slowest to fastest, "cfg+ulysses"; ulysses and ring together are "usp",
 * the patch axis is called by its patch_method; "single" for one rank. */
void suite_method_name(const dit_parallel *parallel, char out[64]);
/* local, ulysses, ring, usp or the patch_method: how attention finds K and V on this mesh. */
const char *suite_attention_name(const dit_parallel *parallel);

#endif
