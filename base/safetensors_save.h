/* safetensors, saved in shards: tensors that need not be in memory, in fp32 or bf16, with the index that diffusers reads. */
#ifndef DIT_BASE_SAFETENSORS_SAVE_H
#define DIT_BASE_SAFETENSORS_SAVE_H

#include "base/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One tensor to save. */
typedef struct {
    const char *name;
    int rank;
    int64_t shape[DIT_TENSOR_MAX_RANK];
} dit_tensor_plan;

/* Where the numbers come from: makes elements [first, first + count) of tensor `index` in `out`. */
typedef struct {
    dit_status (*make)(void *context, int index, int64_t first, int64_t count, float *out);
    void *context;
} dit_tensor_source;

typedef struct {
    const dit_tensor_plan *tensors; /* saved in this order */
    int count;
    dit_stored_dtype dtype; /* DIT_STORED_F32 or DIT_STORED_BF16, rounded to nearest, ties to even */
    int64_t shard_bytes;    /* most bytes of data in one file; a larger tensor has one of its own  */
    dit_tensor_source source;
} dit_safetensors_plan;

/* Writes diffusion_pytorch_model.safetensors into `folder`, which is made where it is not there, or shards
 * diffusion_pytorch_model-00001-of-0000N.safetensors and their index. No file has its final name before it is whole and
 * on the disk; its pages are dropped from the cache. *bytes (or NULL): those of all data. Errors: DIT_ERR_IO,
 * DIT_ERR_MEMORY, those of the source; DIT_ERR_UNSUPPORTED for another dtype. */
dit_status dit_safetensors_save(const dit_safetensors_plan *plan, const char *folder, int64_t *bytes);
/* Rounds fp32 to bf16 bits, to nearest, ties to even. `value` is finite. */
uint16_t dit_bf16_round(float value);

#ifdef __cplusplus
}
#endif
#endif
