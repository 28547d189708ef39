/* safetensors: memory-mapped tensors by name, from one file or from a folder with a sharded index.
 *
 * Format: 8-byte little-endian header length, JSON header, raw little-endian data. A file is hostile until proven
 * otherwise: every offset is checked against the mapping before any view is given out, so a view never reads out of
 * bounds. Refused: truncation, header length beyond the file or 100 MB, malformed or duplicate keys, unknown dtypes,
 * shapes whose size overflows or differs from the offsets, overlapping or gapped data, trailing bytes. The format does
 * not align data, so read a view through dit_tensor_read. If another process truncates the file while it is mapped, a
 * read ends this process.
 * Format source: huggingface/safetensors README.
 */
#ifndef DIT_BASE_SAFETENSORS_H
#define DIT_BASE_SAFETENSORS_H

#include "base/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DIT_STORED_F32,
    DIT_STORED_F16,
    DIT_STORED_BF16,
    DIT_STORED_F64,
    DIT_STORED_I64,
    DIT_STORED_I32,
    DIT_STORED_I16,
    DIT_STORED_I8,
    DIT_STORED_U8,
    DIT_STORED_BOOL,
    DIT_STORED_COUNT
} dit_stored_dtype;
const char *dit_stored_dtype_name(dit_stored_dtype dtype); /* "F32" as the format spells it */
int64_t dit_stored_dtype_bytes(dit_stored_dtype dtype);

enum { DIT_TENSOR_MAX_RANK = 8 };

/* A tensor inside the mapping; valid until the file is closed. */
typedef struct {
    const char *name;
    dit_stored_dtype dtype;
    int rank;
    int64_t shape[DIT_TENSOR_MAX_RANK];
    int64_t elements, bytes;
    const void *data;
} dit_tensor_view;

typedef struct dit_safetensors dit_safetensors;

/* Opens a .safetensors file, or a folder: `diffusion_pytorch_model.safetensors` (as diffusers writes it) or
 * `model.safetensors` (as transformers does), or the shards that `diffusion_pytorch_model.safetensors.index.json` or
 * `model.safetensors.index.json` names (file names in the index must not leave the folder).
 * Errors: DIT_ERR_IO; DIT_ERR_SAFETENSORS_* naming path, tensor and byte (a header that is not JSON is
 * DIT_ERR_SAFETENSORS_HEADER and quotes the JSON complaint; so is a rank above DIT_TENSOR_MAX_RANK);
 * DIT_ERR_TENSOR_MISSING when a shard lacks what the index places there; DIT_ERR_JSON_* for the
 * index itself. */
dit_status dit_safetensors_open(const char *path, dit_safetensors **out);
/* Opens bytes in memory, which must stay valid. For tests and fuzzing. */
dit_status dit_safetensors_open_memory(const void *data, int64_t bytes, const char *name, dit_safetensors **out);
void dit_safetensors_close(dit_safetensors *file); /* accepts NULL */

int dit_safetensors_count(const dit_safetensors *file);
void dit_safetensors_at(const dit_safetensors *file, int index, dit_tensor_view *out); /* in order of name */
/* False when there is no tensor of that name. */
bool dit_safetensors_find(const dit_safetensors *file, const char *name, dit_tensor_view *out);
/* Writes "xxh3:..." of all tensors: their names, types and bytes, in order of name; shapes and the file's layout do not
 * count. Errors: DIT_ERR_MEMORY. */
dit_status dit_safetensors_digest(const dit_safetensors *file, char out[48]);
/* Finds a tensor of that shape. A negative extent in `shape` accepts any. Errors, which name the file:
 * DIT_ERR_TENSOR_MISSING, DIT_ERR_SHAPE. */
dit_status dit_safetensors_require(const dit_safetensors *file, const char *name, int rank, const int64_t *shape,
                                   dit_tensor_view *out);

/* Says where a tensor of the file lies on the disk: the path of its shard, which the file owns, and the offset of its data.
 * False for bytes in memory. */
bool dit_safetensors_locate(const dit_safetensors *file, const dit_tensor_view *view, const char **path,
                            int64_t *offset);
/* Drops the pages of all shards that this process has mapped; a later read maps them again. */
void dit_safetensors_forget(const dit_safetensors *file);

/* out[i] = (float) element first + i, i in [0, count); any dtype, bounds checked.
 * Errors: DIT_ERR_SHAPE outside of the tensor; DIT_ERR_NONFINITE, which names the first NaN or infinity. */
dit_status dit_tensor_read(const dit_tensor_view *view, int64_t first, int64_t count, float *out);

/* One tensor to write. */
typedef struct {
    const char *name;
    int rank;
    int64_t shape[DIT_TENSOR_MAX_RANK];
    const float *data;
} dit_tensor_out;
/* Writes fp32 tensors through a temporary file, fsync and rename. Errors: DIT_ERR_IO. */
dit_status dit_safetensors_write(const char *path, const dit_tensor_out *tensors, int count);

#ifdef __cplusplus
}
#endif
#endif
