/* Device facts: what a record says of the device that computed: how it was before and after, whether it was held back
 * meanwhile, and the memory that was got from it. All of it nothing where there is no device. */
#ifndef DIT_ENGINE_DEVICE_FACTS_H
#define DIT_ENGINE_DEVICE_FACTS_H

#include "engine/record.h"

/* The state before the first measured iteration. Errors: DIT_ERR_MEMORY. */
dit_status dit_device_facts_begin(dit_measurement *measurement, const dit_runtime *rt);
/* After every measured iteration: the newest state, and all reasons so far that held its clocks back. */
dit_status dit_device_facts_update(dit_measurement *measurement, const dit_runtime *rt);
/* Why a device was held back: the name of bit `bit`, NULL behind the last. */
const char *dit_device_facts_reason(int bit);

#endif
