/* Layer run: one attention layer made ready: the seeded q, k, v of a rank's tokens, the policy, and the result.
 *
 * Each number of q, k and v is a function of the seed, the operand and its place in the whole [batch, tokens, heads,
 * D], so that every mesh and layout computes the same layer.
 */
#ifndef DIT_ENGINE_ATTENTION_LAYER_H
#define DIT_ENGINE_ATTENTION_LAYER_H

#include "base/layer.h"
#include "engine/attention/attention.h"

typedef struct {
    dit_runtime *rt;
    dit_layer layer;
    dit_token_cut cut;
    uint64_t seed;
    dit_attention *attention;
    dit_mask *mask;             /* NULL: full or causal                                                    */
    dit_attention_order *order; /* [r]                                                                     */
    int64_t first_row, rows;    /* of the ring rank's rows, this rank's, as far as they are tokens         */
    float *qkv;                 /* [batch, cut.rows, (heads + 2 kv_heads) head_dim]; padding is zero       */
    float *out;                 /* [batch, cut.rows, heads head_dim]                                       */
} dit_layer_run;

/* Draws the operands and creates the policy called `policy`, as dit_attention_create does. The layer must be legal on
 * rt's mesh. Memory belongs to rt's arenas. Errors: those of dit_attention_create; DIT_ERR_MEMORY. release takes a
 * zeroed run. */
dit_status dit_layer_run_create(dit_runtime *rt, const dit_layer *layer, const char *policy, uint64_t seed,
                                dit_layer_run *out);
/* Gives the closed form of every rank's volume, [world size], from malloc. Errors: DIT_ERR_MEMORY. */
dit_status dit_layer_run_volumes(const dit_layer_run *run, dit_volume_table **out);
void dit_layer_run_release(dit_layer_run *run);
/* Computes run->out once. Collective. */
dit_status dit_layer_run_forward(dit_layer_run *run);

/* Gives every rank the whole result, [batch, tokens, heads, D] in the order of the tokens, from malloc; the caller
 * frees it. Collective. Errors: DIT_ERR_NONFINITE, DIT_ERR_MEMORY. */
dit_status dit_layer_run_collect(const dit_layer_run *run, float **out);

/* How far this rank's part of the result is from the plain reference operator on the whole sequence. */
typedef struct {
    bool done;               /* false: the layer is too large for the reference operator */
    double difference, norm; /* sums of squares: of differences, of the reference        */
} dit_layer_check_sums;
dit_status dit_layer_run_check(const dit_layer_run *run, dit_layer_check_sums *out);

#endif
