/* Cache record: what a cached run, or the oracle of one, decided, for its record and for others to compare with. */
#ifndef DIT_ENGINE_CACHE_RECORD_H
#define DIT_ENGINE_CACHE_RECORD_H

#include "base/json_writer.h"
#include "base/safetensors.h"
#include "engine/cache/cache.h"
#include "engine/sampling/sampler.h"

/* Adds "cache" (results/schema/record.md) to a record: settings, decisions, bytes. `state_bytes` are what a rank keeps. */
void dit_cache_record_put(dit_json_writer *w, const dit_cache_run *run, int64_t state_bytes, cJSON *record);

/* Adds "cache_blocks", where blocks were reused by themselves: of each, how many steps did. */
void dit_cache_record_put_blocks(dit_json_writer *w, const dit_cache_log *log, cJSON *out);

/* Writes an oracle's latents and, beside them, tensor cache_computed [groups, steps, 1 + blocks]: 1 for a computed step, and
 * for each computed block where the policy decides for each; else there are no blocks. Errors: DIT_ERR_IO,
 * DIT_ERR_MEMORY. */
dit_status dit_cache_record_write(const char *path, const dit_tensor_out *latents, const dit_sampler *oracle);

/* Compares a rank's decisions with those of its group in the oracle whose latents are at `path`. *alike: all are equal. Where they differ, the
 * first test that came out otherwise must have been nearer to the threshold than DIT_CACHE_MARGIN of it; then *alike is
 * false, and `reason` says so. Errors: DIT_ERR_MISMATCH naming the step; those of reading the file. */
#define DIT_CACHE_MARGIN 1e-4
dit_status dit_cache_record_compare(const char *path, const dit_cache *cache, const dit_cache_log *log, bool *alike,
                                    char reason[256]);

#endif
