#include "suite/workload/members.h"

static dit_status added(const void *item)
{
    return item ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

dit_status suite_member_object(cJSON *parent, const char *key, cJSON **out)
{
    *out = cJSON_AddObjectToObject(parent, key);
    return added(*out);
}

dit_status suite_member_bool(cJSON *parent, const char *key, bool value)
{
    return added(cJSON_AddBoolToObject(parent, key, value));
}

dit_status suite_member_reference(cJSON *parent, const char *key, const cJSON *item)
{
    if (cJSON_AddItemReferenceToObject(parent, key, (cJSON *)(uintptr_t)item)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

dit_status suite_member_shared(cJSON *parent, const cJSON *from, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
    return item ? suite_member_reference(parent, key, item) : DIT_OK;
}

dit_status suite_member_number(cJSON *parent, const suite_cell *cell, suite_parameter parameter)
{
    double value;
    DIT_TRY(suite_cell_number(cell, parameter, &value));
    return dit_json_add_number(parent, suite_parameter_key(parameter), value);
}
