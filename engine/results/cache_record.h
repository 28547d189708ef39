/* Cache record: what a cached run, or the oracle of one, decided, for its record and for others to compare with. */
#ifndef DIT_ENGINE_CACHE_RECORD_H
#define DIT_ENGINE_CACHE_RECORD_H

#include "base/json_writer.h"
#include "base/safetensors.h"
#include "engine/cache/cache.h"

/* Adds "cache" (results/schema/record.md) to a record. state_bytes: of one rank, 0 of an oracle; deciders: ranks that
 * agreed on each test. */
void dit_cache_record_put(dit_json_writer *w, const dit_cache *cache, const dit_cache_log *log, int64_t state_bytes,
                          int64_t deciders, cJSON *record);

/* Fills two tensors [steps] that an oracle leaves beside its latents: cache_computed, 1 for a computed step, and
 * cache_values, -1 for a step without a test. The arrays hold steps floats and outlive the tensors. */
void dit_cache_record_tensors(const dit_cache_log *log, float *computed, float *values, dit_tensor_out out[2]);

/* Compares decisions with those of the oracle whose latents are at `path`. *alike: all are equal. Where they differ, the
 * first test that came out otherwise must have been nearer to the threshold than DIT_CACHE_MARGIN of it; then *alike is
 * false, and `reason` says so. Errors: DIT_ERR_MISMATCH naming the step; those of reading the file. */
#define DIT_CACHE_MARGIN 1e-4
dit_status dit_cache_record_compare(const char *path, const dit_cache *cache, const dit_cache_log *log, bool *alike,
                                    char reason[256]);

#endif
