/* The reference operators: plain equations, reductions in double, one file per operator. They are the oracle of every
 * other backend and what a backend without an entry of its own falls back to. Contracts are in kernels/kernels.h. */
#ifndef DIT_KERNELS_REF_REF_H
#define DIT_KERNELS_REF_REF_H

#include "kernels/kernels.h"

dit_status dit_ref_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                               const float *const *bias, const int64_t *rows, dit_linear *out);
void dit_ref_linear(dit_pool *pool, const dit_linear_args *args);
void dit_ref_attention(dit_pool *pool, const dit_attention_args *args);
void dit_ref_attention_merge(dit_pool *pool, const dit_merge_args *args);
void dit_ref_norm(dit_pool *pool, const dit_norm_args *args);
void dit_ref_qk_norm_rope(dit_pool *pool, const dit_qk_norm_rope_args *args);
void dit_ref_copy(dit_pool *pool, const dit_copy_args *args);
void dit_ref_combine(dit_pool *pool, const dit_combine_args *args);
void dit_ref_activate(dit_pool *pool, const dit_activate_args *args);
void dit_ref_conv(dit_pool *pool, const dit_conv_args *args);
void dit_ref_group_norm(dit_pool *pool, const dit_group_norm_args *args);
void dit_ref_group_moments(dit_pool *pool, const dit_group_norm_args *args);
void dit_ref_timestep(dit_pool *pool, const dit_timestep_args *args);
void dit_ref_gated_add(dit_pool *pool, const dit_gated_add_args *args);
void dit_ref_row_squares(dit_pool *pool, const dit_row_norm_args *args);
void dit_ref_row_scale(dit_pool *pool, const dit_row_norm_args *args);

/* One value through the activation; the single home of the formulas. */
double dit_ref_activation(double x, dit_activation activation);

#endif
