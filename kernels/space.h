/* Space: where on a device the arrays lie that the host names by addresses (base/arena.h, ledgers of devices).
 *
 * An array has address space of the host, four bytes an element (eight of fp64), and room on the device. Room is one
 * block per memory class, planned before anything is allocated, taken and given back like a stack; what the plan did
 * not foresee gets blocks of its own, which are counted. Knows no CUDA: whoever makes a space says how memory is got.
 */
#ifndef DIT_KERNELS_SPACE_H
#define DIT_KERNELS_SPACE_H

#include "base/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dit_space dit_space;

/* How room is got on the device; get: NULL when there is none. */
typedef struct {
    void *context;
    void *(*get)(void *context, int64_t bytes);
    void (*give_back)(void *context, void *memory);
} dit_space_memory;

/* An element of an array, and how many there are from it to the end of the array. */
typedef struct {
    void *data; /* on the device */
    dit_element element;
    int64_t left;
} dit_spot;

/* planned: bytes of each class that are got at once when its first array comes; 0: as needed. Errors: DIT_ERR_MEMORY.
 */
dit_status dit_space_create(const dit_space_memory *memory, const int64_t planned[DIT_MEMORY_CLASS_COUNT],
                            dit_space **out);
void dit_space_free(dit_space *space); /* accepts NULL */
/* For ledgers; valid as long as the space. */
const dit_memory_device *dit_space_device(dit_space *space);
/* False when no array has the address. NULL is no array's. */
bool dit_space_find(const dit_space *space, const void *address, dit_spot *out);
/* Bytes got from the device, and how many blocks were got beyond the planned ones. */
int64_t dit_space_bytes(const dit_space *space, dit_memory_class klass);
int64_t dit_space_unplanned_blocks(const dit_space *space);

#ifdef __cplusplus
}
#endif
#endif
