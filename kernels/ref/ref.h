/* The reference operators: plain equations, reductions in double, one file per operator. They are the oracle of every
 * other backend and what a backend without an entry of its own falls back to. Each file also has the operator's work.
 * Contracts are in kernels/operators.h. */
#ifndef DIT_KERNELS_REF_REF_H
#define DIT_KERNELS_REF_REF_H

#include "kernels/kernels.h"

dit_status dit_ref_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                               const float *const *bias, const int64_t *rows, dit_linear *out);
#define DIT_REF_OPERATOR(ID, name, args_type, ...) void dit_ref_##name(dit_pool *pool, const args_type *args);
DIT_OPERATOR_LIST(DIT_REF_OPERATOR)
#undef DIT_REF_OPERATOR

/* One value through the activation; the single home of the formulas. */
double dit_ref_activation(double x, dit_activation activation);

#endif
