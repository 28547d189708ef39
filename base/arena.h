/* Arena: memory with a named lifetime, counted by class.
 *
 * Every tensor of the engine comes from an arena. An arena belongs to one class; the ledger adds up what all arenas of
 * a class hold and keeps the peaks, which is what the memory records and plots show. A counting ledger (backend
 * `count`) counts the same bytes and hands out address space, which takes no memory while nobody touches it.
 *
 * Memory of a device (kernels/device.h) is named by addresses too: an array of a device ledger has address space of the
 * host, four bytes an element (eight of fp64), and room on the device, where elements may be smaller. Views and strides
 * are computed on addresses, by code that knows of no device; operators find the room. What the host writes at those
 * addresses the device has after `upload`, and the other way round after `download` (engine/runtime/runtime.h).
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
    DIT_MEMORY_WEIGHTS,     /* run: packed weights, tables                        */
    DIT_MEMORY_STATE,       /* image: latents, conditions, K,V stores             */
    DIT_MEMORY_ACTIVATIONS, /* step: everything one forward needs                 */
    DIT_MEMORY_COMM,        /* send and receive buffers                           */
    DIT_MEMORY_CLASS_COUNT
} dit_memory_class;

const char *dit_memory_class_name(dit_memory_class klass);

/* Room on a device. An arena is the only one of its class. */
typedef struct {
    void *context;
    /* Room for `count` elements, known by their addresses from `address` on, after `*end` bytes of the class; *end
     * becomes where it ends. Errors: DIT_ERR_MEMORY. */
    dit_status (*place)(void *context, dit_memory_class klass, const void *address, int64_t count, dit_dtype dtype,
                        int64_t *end);
    /* Addresses of the class whose room lies beyond `end` mean nothing any more. */
    void (*drop)(void *context, dit_memory_class klass, int64_t end);
} dit_memory_device;

/* Bytes per class of one rank. limit 0 means none; calls counts blocks asked of the system (a test asserts that steps
 * ask for none). */
typedef struct {
    int64_t used[DIT_MEMORY_CLASS_COUNT], peak[DIT_MEMORY_CLASS_COUNT];
    int64_t total_used, total_peak, limit, calls;
    bool counting_only;
    bool on_device;                  /* what is counted is room on a device: arrays, not what the host keeps */
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
/* Gives all memory back. Accepts a zeroed arena. */
void dit_arena_release(dit_arena *arena);
/* Forgets contents, keeps capacity. */
void dit_arena_reset(dit_arena *arena);

/* `bytes` of zero-filled memory of the host in *out, aligned to 64 bytes; bytes 0 is allowed: structs and tables of the
 * host's own. Errors: DIT_ERR_MEMORY when the system refuses or ledger->limit would be passed. */
dit_status dit_arena_alloc(dit_arena *arena, int64_t bytes, void **out);
/* `count` floats of the host, not zero-filled: what operators never see. */
dit_status dit_arena_host(dit_arena *arena, int64_t count, float **out);
/* `count` floats for operators, not zero-filled; on a device elements of ledger->dtype. */
dit_status dit_arena_activations(dit_arena *arena, int64_t count, float **out);
/* The same, on a device too fp32: what must not be rounded (latents, log-sums of exponentials, tables of angles). */
dit_status dit_arena_fp32(dit_arena *arena, int64_t count, float **out);
/* `count` elements for operators, fp64 or int32, not zero-filled. */
dit_status dit_arena_array(dit_arena *arena, int64_t count, dit_dtype dtype, void **out);

/* Scratch inside a longer lifetime: mark, allocate, release. */
dit_arena_mark dit_arena_get_mark(const dit_arena *arena);
void dit_arena_release_to(dit_arena *arena, dit_arena_mark mark);

#ifdef __cplusplus
}
#endif
#endif
