#include "engine/runtime/weight_catalogue.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

static bool has(const dit_weight_catalogue *catalogue, const char *name)
{
    for (int i = catalogue->count - 1; i >= 0; i--)
        if (strcmp(catalogue->parameters[i].name, name) == 0) return true;
    return false;
}

dit_status dit_weight_catalogue_add(dit_weight_catalogue *catalogue, const dit_parameter *parameter)
{
    if (has(catalogue, parameter->name)) return DIT_OK;
    void *list = catalogue->parameters;
    DIT_TRY(dit_list_grow(&list, catalogue->count, sizeof *catalogue->parameters));
    catalogue->parameters = list;
    dit_parameter *own = &catalogue->parameters[catalogue->count];
    *own = *parameter;
    own->name = strdup(parameter->name);
    if (!own->name) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the name of a parameter");
    catalogue->count++;
    return DIT_OK;
}

void dit_weight_catalogue_release(dit_weight_catalogue *catalogue)
{
    for (int i = 0; i < catalogue->count; i++) free((void *)(uintptr_t)catalogue->parameters[i].name);
    free(catalogue->parameters);
    *catalogue = (dit_weight_catalogue){0};
}
