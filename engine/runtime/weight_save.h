/* Weight save: writes seeded weights as safetensors, in shards, without holding them. */
#ifndef DIT_ENGINE_WEIGHT_SAVE_H
#define DIT_ENGINE_WEIGHT_SAVE_H

#include "engine/runtime/weights.h"

/* Saves the parameters of a catalogue, as `seed` makes them, into `folder` (base/safetensors_save.h). In bf16 they are
 * rounded, so they are other weights than the seed's in fp32. *bytes (or NULL): those of all data. Errors: those of
 * dit_safetensors_save. */
dit_status dit_weight_save(const dit_weight_catalogue *catalogue, dit_pool *pool, uint64_t seed, dit_stored_dtype dtype,
                           int64_t shard_bytes, const char *folder, int64_t *bytes);

#endif
