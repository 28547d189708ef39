/* Arena: memory with a named lifetime, counted by class.
 *
 * Every tensor of the engine comes from an arena. An arena belongs to one class; the ledger adds up the bytes of all
 * arenas of a class and keeps the peaks, which records and plots show. A counting ledger (backend `count`) counts equal
 * bytes but gives only address space, which takes no memory as long as nobody touches it.
 *
 * Device memory (kernels/device.h) is named by addresses, too. An array of a device's ledger has host addresses, four
 * bytes an element (eight for fp64), and memory on the device, where elements may be smaller. Code that knows of no
 * device computes views and strides on addresses; operators find the device memory (kernels/address_map.h). The host
 * writes to its addresses and uploads, or downloads and then reads there (engine/runtime/runtime.h).
 *
 * Invariants: blocks are 64-byte aligned; reset keeps capacity and forgets contents; `used` never exceeds `peak`.
 * Not thread safe: an arena belongs to the rank's main thread.
 */
#ifndef DIT_BASE_ARENA_H
#define DIT_BASE_ARENA_H

#include "base/dtype.h"
#include "base/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DIT_MEMORY_WEIGHTS,     /* of a run: packed weights, tables                   */
    DIT_MEMORY_STATE,       /* of an image: latents, conditions, stores of K and V */
    DIT_MEMORY_ACTIVATIONS, /* of a step: everything that one forward needs       */
    DIT_MEMORY_COMM,        /* send and receive buffers                           */
    DIT_MEMORY_CLASS_COUNT
} dit_memory_class;

const char *dit_memory_class_name(dit_memory_class klass);

/* How arrays get memory on a device. Each class has only one arena. */
typedef struct {
    void *context;
    /* Gives `count` elements, whose addresses begin at `address`, memory after the class's first `*end` bytes, and sets
     * *end to where this memory ends. Errors: DIT_ERR_MEMORY. */
    dit_status (*place)(void *context, dit_memory_class klass, const void *address, int64_t count, dit_dtype dtype,
                        int64_t *end);
    /* Forgets the arrays of the class whose memory lies beyond `end`. */
    void (*drop)(void *context, dit_memory_class klass, int64_t end);
} dit_memory_device;

/* Bytes per class of one rank. limit 0: there is none. `calls` counts the blocks that were allocated from the system; a
 * test asserts that steps allocate none. */
typedef struct {
    int64_t used[DIT_MEMORY_CLASS_COUNT], peak[DIT_MEMORY_CLASS_COUNT];
    int64_t total_used, total_peak, limit, calls;
    bool counting_only;
    bool on_device;                  /* counts the bytes of arrays on a device, and no host memory */
    dit_dtype dtype;                 /* of dit_arena_activations: fp32, but on a device                           */
    const dit_memory_device *device; /* NULL: the host's memory, or a count of a device's                    */
} dit_memory_ledger;

typedef struct dit_arena_block dit_arena_block;
typedef struct {
    dit_memory_ledger *ledger;
    dit_memory_class klass;
    dit_arena_block *blocks; /* newest first                                  */
    dit_arena_block *spare;  /* emptied by release_to, used before new ones   */
    int64_t used;            /* bytes, as the ledger counts                   */
    int64_t device_end;      /* where room on the device ends                 */
} dit_arena;

/* A point to return to; valid until an older mark is released or the arena is reset. */
typedef struct {
    dit_arena_block *block;
    int64_t block_used, used, device_end;
} dit_arena_mark;

/* `ledger` must outlive the arena. Allocates nothing yet. */
void dit_arena_init(dit_arena *arena, dit_memory_ledger *ledger, dit_memory_class klass);
/* Frees all memory. Accepts a zeroed arena. */
void dit_arena_release(dit_arena *arena);
/* Forgets contents, keeps capacity. */
void dit_arena_reset(dit_arena *arena);
/* Gives an empty arena addresses for `bytes`, which take memory as they are touched. Errors: DIT_ERR_MEMORY. */
dit_status dit_arena_reserve(dit_arena *arena, int64_t bytes);
/* Resets a reserved arena and gives its memory back to the system. The addresses stay: equal allocations in equal order
 * get them again. */
void dit_arena_discard(dit_arena *arena);
/* Counts bytes that are held outside of arenas; negative ones are given back. */
void dit_ledger_note(dit_memory_ledger *ledger, dit_memory_class klass, int64_t bytes);

/* Allocates `bytes` (0 is allowed) of zero-filled host memory, aligned to 64 bytes, for structs and tables of the host.
 * Errors: DIT_ERR_MEMORY when the system refuses, or ledger->limit would be exceeded. */
dit_status dit_arena_alloc(dit_arena *arena, int64_t bytes, void **out);
/* Allocates `count` floats of host memory, not zero-filled, which operators never see. */
dit_status dit_arena_host(dit_arena *arena, int64_t count, float **out);
/* Allocates `count` floats for operators, not zero-filled; on a device they are elements of ledger->dtype. */
dit_status dit_arena_activations(dit_arena *arena, int64_t count, float **out);
/* Allocates `count` floats for operators that are fp32 on a device, too: values that must not be rounded, such as
 * latents, log-sums of exponentials and tables of angles. */
dit_status dit_arena_fp32(dit_arena *arena, int64_t count, float **out);
/* Allocates `count` elements for operators, fp64 or int32, not zero-filled. */
dit_status dit_arena_array(dit_arena *arena, int64_t count, dit_dtype dtype, void **out);

/* Scratch inside a longer lifetime: mark, allocate, release. */
dit_arena_mark dit_arena_get_mark(const dit_arena *arena);
void dit_arena_release_to(dit_arena *arena, dit_arena_mark mark);

#ifdef __cplusplus
}
#endif
#endif
