/* Device facts: what a record says of the device that computed: its state before and after, what slowed it down
 * meanwhile, and how much of its memory was allocated. Without a device nothing is filled. */
#ifndef DIT_ENGINE_DEVICE_FACTS_H
#define DIT_ENGINE_DEVICE_FACTS_H

#include "base/json.h"
#include "engine/runtime/runtime.h"

/* Plain data: ranks send it as bytes. */
typedef struct {
    int64_t reserved_bytes, unplanned_blocks;
    unsigned throttled; /* bits of dit_device_facts_reason: what slowed the device down meanwhile */
} dit_device_account;

/* Reads the device's state before the first measured iteration. *state is replaced; the caller deletes it. Errors:
 * DIT_ERR_MEMORY. */
dit_status dit_device_facts_begin(const dit_runtime *rt, cJSON **state);
/* Reads the state and the memory after a measured iteration, and adds the reasons for lowered clocks. *state is
 * replaced; the caller deletes it. Errors: DIT_ERR_MEMORY. */
dit_status dit_device_facts_update(const dit_runtime *rt, cJSON **state, dit_device_account *account);
/* Returns the name of a reason, bit `bit` of `throttled`; NULL after the last one. */
const char *dit_device_facts_reason(int bit);

#endif
