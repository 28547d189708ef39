#include "engine/results/device_facts.h"

#include "base/json_writer.h"
#include <string.h>

/* The reasons for lowered clocks that mean a limit under load; a device also lowers its clocks when it rests, or by
 * choice. */
static const char *const limits[] = {"power_cap",   "thermal_slowdown",  "hardware_thermal_slowdown",
                                     "power_brake", "hardware_slowdown", NULL};

const char *dit_device_facts_reason(int bit)
{
    return bit < (int)(sizeof limits / sizeof *limits) ? limits[bit] : NULL;
}

static unsigned reasons_of(const cJSON *facts)
{
    const cJSON *reason;
    unsigned found = 0;
    cJSON_ArrayForEach(reason, dit_json_member(facts, "throttle_reasons"))
    {
        for (int i = 0; limits[i] && cJSON_IsString(reason); i++)
            if (strcmp(reason->valuestring, limits[i]) == 0) found |= 1u << i;
    }
    return found;
}

/* Reads the device's state. Whatever the device does not tell is left out: that must not end a measurement. */
static dit_status take(const dit_runtime *rt, cJSON **out)
{
    dit_json_writer w = {0};
    cJSON_Delete(*out);
    *out = dit_json_new_object(&w);
    if (w.status != DIT_OK || dit_device_describe(rt->device, *out) == DIT_OK) return w.status;
    dit_json_put_string(&w, *out, "error", dit_error_last()->message);
    dit_error_clear();
    return w.status;
}

dit_status dit_device_facts_begin(const dit_runtime *rt, cJSON **state)
{
    return rt->device ? take(rt, state) : DIT_OK;
}

dit_status dit_device_facts_update(const dit_runtime *rt, cJSON **state, dit_device_account *account)
{
    if (!rt->device) return DIT_OK;
    const dit_address_map *map = dit_device_address_map(rt->device);
    DIT_TRY(take(rt, state));
    account->throttled |= reasons_of(*state);
    account->reserved_bytes = 0;
    for (int klass = 0; klass < DIT_MEMORY_CLASS_COUNT; klass++)
        account->reserved_bytes += dit_address_map_bytes(map, (dit_memory_class)klass);
    account->unplanned_blocks = dit_address_map_unplanned_blocks(map);
    return DIT_OK;
}
