/* List: arrays that grow by one entry at a time. */
#ifndef DIT_BASE_LIST_H
#define DIT_BASE_LIST_H

#include "base/status.h"

#include <stddef.h>

/* Makes room for one more entry of `size` bytes in the array *list, which has `count` and came from this function or is
 * NULL; the caller frees it. Only a count that is a power of two makes it larger: room doubles. Errors:
 * DIT_ERR_MEMORY, and *list stays as it was. */
dit_status dit_list_grow(void **list, int count, size_t size);

#endif
