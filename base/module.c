#include "base/module.h"

#include <stddef.h>

const char *const *dit_module_names(void)
{
    static const char *const names[] = {
#define MODULE_NAME(constant, name, ...) name,
        DIT_MODULE_LIST(MODULE_NAME)
#undef MODULE_NAME
            NULL};
    return names;
}
