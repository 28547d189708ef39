#include "base/list.h"

#include <limits.h>
#include <stdlib.h>

dit_status dit_list_grow(void **list, int count, size_t size)
{
    if (count & (count - 1)) return DIT_OK;
    void *larger = count <= INT_MAX / 2 ? reallocarray(*list, count ? 2 * (size_t)count : 1, size) : NULL;
    if (!larger) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for more than %d entries of a list", count);
    *list = larger;
    return DIT_OK;
}
