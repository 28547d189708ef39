/* Reads the cost model's parameters: accelerators (workloads/accelerators) and software profiles (workloads/profiles).
 */
#ifndef DIT_KERNELS_COST_READ_H
#define DIT_KERNELS_COST_READ_H

#include "base/status.h"
#include "kernels/cost/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a profile, schema ditbench.profile/1. Every part must be there. Errors: DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status dit_cost_profile_read(const char *path, dit_cost_profile *out);
/* Reads an accelerator, schema ditbench.accelerator/1, that computes in `dtype` (a key of its peak_flops_per_s: "fp32",
 * "fp16", "bf16", "fp8"). Attention takes the tables of the first of the profile's kernels that the file has, else the
 * file's first. Tables are fp16; a dtype with a lower peak is slower in that ratio.
 * Errors: DIT_ERR_IO, DIT_ERR_JSON_*; DIT_ERR_NOT_FOUND for an unknown dtype; DIT_ERR_UNSUPPORTED when the file has no
 * `cost`, or no peak for `dtype`. */
dit_status dit_cost_device_read(const char *path, const char *dtype, const dit_cost_profile *profile,
                                dit_cost_device *out);

#ifdef __cplusplus
}
#endif
#endif
