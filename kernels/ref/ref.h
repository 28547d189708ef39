/* The reference operators: plain equations, reductions in double, one file per operator. All other backends are checked
 * against them and may use their entries. Each file also has the operator's work. kernels/operators.h says what each
 * operator computes. */
#ifndef DIT_KERNELS_REF_REF_H
#define DIT_KERNELS_REF_REF_H

#include "kernels/kernels.h"

dit_status dit_ref_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                               const float *const *bias, const int64_t *rows, dit_linear *out);
#define DIT_REF_OPERATOR(ID, name, args_type, ...) void dit_ref_##name(dit_pool *pool, const args_type *args);
DIT_OPERATOR_LIST(DIT_REF_OPERATOR)
#undef DIT_REF_OPERATOR

/* Applies the activation to one value; the only place with its formulas in double. */
double dit_ref_activation(double x, dit_activation activation);

/* Returns row `row` of all batch entries' rows, of row_squares and row_scale. */
float *dit_row_norm_row(const dit_row_norm_args *args, int64_t row);
/* Returns what row_scale multiplies a row by, beside the weight. */
float dit_row_norm_factor(const dit_row_norm_args *args, int64_t row);

#endif
