/* Stored: reads elements of stored tensors past the page cache, for weights that come again and again.
 *
 * It holds one shard open at a time, and one buffer (base/direct_file.h): blocks lie one behind the other in files, so a
 * shard is opened about once in a round. Not thread safe.
 */
#ifndef DIT_ENGINE_STORED_H
#define DIT_ENGINE_STORED_H

#include "base/safetensors.h"
#include "kernels/pool.h"

typedef struct dit_stored dit_stored;

/* Makes a reader of `file`, which outlives it. Errors: DIT_ERR_MEMORY. close accepts NULL. */
dit_status dit_stored_create(const dit_safetensors *file, dit_stored **out);
void dit_stored_free(dit_stored *stored);
/* Reads elements as dit_tensor_read does, converting on the pool's threads. What is read ahead ends before
 * element `last`, which is none of those asked for and none before them. Errors: those of dit_tensor_read, DIT_ERR_IO. */
dit_status dit_stored_read(dit_stored *stored, dit_pool *pool, const dit_tensor_view *view, int64_t first,
                           int64_t count, int64_t last, float *out);
/* Bytes that came from files so far, with what alignment adds; and whether all of it went past the page cache. */
int64_t dit_stored_bytes(const dit_stored *stored);
bool dit_stored_is_direct(const dit_stored *stored);

#endif
