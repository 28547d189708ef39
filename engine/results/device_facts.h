/* Device facts: what a record says of the device that computed: its state before and after, what held it back
 * meanwhile, and the memory that was got from it. Nothing of this is filled where there is no device. */
#ifndef DIT_ENGINE_DEVICE_FACTS_H
#define DIT_ENGINE_DEVICE_FACTS_H

#include "base/json.h"
#include "engine/runtime/runtime.h"

/* Plain data: ranks send it as bytes. */
typedef struct {
    int64_t reserved_bytes, unplanned_blocks;
    unsigned throttled; /* bits of dit_device_facts_reason: what held the device back meanwhile */
} dit_device_account;

/* Reads the device's state before the first measured iteration. *state is replaced; the caller deletes it. Errors:
 * DIT_ERR_MEMORY. */
dit_status dit_device_facts_begin(const dit_runtime *rt, cJSON **state);
/* Reads the newest state after a measured iteration, its memory, and adds the reasons that held its clocks back. *state
 * is replaced; the caller deletes it. Errors: DIT_ERR_MEMORY. */
dit_status dit_device_facts_update(const dit_runtime *rt, cJSON **state, dit_device_account *account);
/* Returns why a device was held back: the name of bit `bit`, NULL behind the last. */
const char *dit_device_facts_reason(int bit);

#endif
