/* Predict: computes by the closed forms what each rank of a case of any program sends in one image. Ranks differ:
 * stages of a pipeline, patches with one neighbour or two, shares of a decode.
 */
#ifndef DIT_SUITE_WORKLOAD_PROGRAMS_PREDICT_H
#define DIT_SUITE_WORKLOAD_PROGRAMS_PREDICT_H

#include "base/cache.h"
#include "base/layer.h"
#include "base/parallel.h"
#include "base/request.h"
#include "suite/platform/profile.h"

/* Everything the closed forms need. A program fills the part that is its own. */
typedef struct suite_prediction {
    const struct suite_program *program;
    dit_parallel parallel; /* legal           */
    dit_facts facts;       /* of denoise      */
    dit_cache cache;       /* of denoise; steps reuse blocks as `use` says, which a caller with a record may set */
    dit_cache_use use;
    dit_request request; /* of denoise: what is beside it */
    dit_rows_facts rows; /* of vae_decode   */
    dit_layer layer;     /* of attention    */
    int simulated_bytes; /* size of the element that a simulation counts everything in; 0: it is measured */
} suite_prediction;

/* Fills *out from a case document, and checks its mesh. `software` is the profile that a simulated case was run with;
 * NULL: the one that its platform names, as it is in workloads/. Errors: DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_*,
 * DIT_ERR_NOT_FOUND. */
dit_status suite_predict_case(const dit_json *document, const suite_profile *software, suite_prediction *out);
/* Returns the bytes of an element of a simulation's dtype: "fp32", "fp16", "bf16", "fp8". */
int suite_predict_element_bytes(const char *element);
void suite_predict_volume(const suite_prediction *prediction, int rank, dit_volume_table *out);
/* The least and the most over the ranks of every number of the table. The bytes are sums of one rank. */
typedef struct {
    dit_volume_table least, most;
    int64_t least_bytes, most_bytes;
} suite_predict_range;
void suite_predict_ranks(const suite_prediction *prediction, suite_predict_range *out);

#endif
