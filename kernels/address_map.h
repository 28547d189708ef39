/* Address map: finds where on a device an array lies that the host names by addresses (base/arena.h, device ledgers).
 *
 * An array has addresses in the host's address space, four bytes an element (eight for fp64), and memory on the device.
 * Device memory is one block per memory class, planned before anything is allocated, and used like a stack. Arrays that
 * the plan did not foresee get further blocks, which are counted. The map knows no CUDA: whoever creates one says how
 * memory is allocated.
 */
#ifndef DIT_KERNELS_ADDRESS_MAP_H
#define DIT_KERNELS_ADDRESS_MAP_H

#include "base/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dit_address_map dit_address_map;

/* How device memory is allocated. allocate returns NULL when the device has no more. */
typedef struct {
    void *context;
    void *(*allocate)(void *context, int64_t bytes);
    void (*free)(void *context, void *memory);
} dit_address_map_memory;

/* Where one element of an array lies, and how many elements the array has from there on. */
typedef struct {
    void *data; /* on the device */
    dit_dtype dtype;
    int64_t left;
} dit_location;

/* planned: bytes of each class, allocated at once when the class gets its first array; 0: blocks are allocated as
 * arrays come. Errors: DIT_ERR_MEMORY. */
dit_status dit_address_map_create(const dit_address_map_memory *memory, const int64_t planned[DIT_MEMORY_CLASS_COUNT],
                                  dit_address_map **out);
void dit_address_map_free(dit_address_map *map); /* accepts NULL */
/* What a ledger needs to place arrays on the device; valid as long as the map. */
const dit_memory_device *dit_address_map_device(dit_address_map *map);
/* Finds the device location of a host address. Returns false when no array has that address; no array has NULL. */
bool dit_address_map_find(const dit_address_map *map, const void *address, dit_location *out);
/* Bytes that were allocated on the device for a class, and how many blocks were allocated beyond the planned ones. */
int64_t dit_address_map_bytes(const dit_address_map *map, dit_memory_class klass);
int64_t dit_address_map_unplanned_blocks(const dit_address_map *map);

#ifdef __cplusplus
}
#endif
#endif
