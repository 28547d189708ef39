#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, DEVICE_ALIGNMENT = 256, BLOCK_BYTES = 1 << 20, HUGE_PAGE_BYTES = 2 << 20 };

struct dit_arena_block {
    dit_arena_block *older;
    char *data;
    int64_t size, used;
    bool mapped; /* address space of a counting ledger */
};

const char *dit_memory_class_name(dit_memory_class klass)
{
    static const char *const names[DIT_MEMORY_CLASS_COUNT] = {"weights", "state", "activations", "communication"};
    return (unsigned)klass < DIT_MEMORY_CLASS_COUNT ? names[klass] : "unknown";
}

void dit_arena_init(dit_arena *arena, dit_memory_ledger *ledger, dit_memory_class klass)
{
    *arena = (dit_arena){.ledger = ledger, .klass = klass};
}

void dit_ledger_note(dit_memory_ledger *ledger, dit_memory_class klass, int64_t bytes)
{
    ledger->used[klass] += bytes;
    ledger->total_used += bytes;
    if (ledger->used[klass] > ledger->peak[klass]) ledger->peak[klass] = ledger->used[klass];
    if (ledger->total_used > ledger->total_peak) ledger->total_peak = ledger->total_used;
}

static void ledger_add(dit_arena *arena, int64_t bytes)
{
    arena->used += bytes;
    dit_ledger_note(arena->ledger, arena->klass, bytes);
}

static dit_arena_block *pop(dit_arena_block **list)
{
    dit_arena_block *block = *list;
    *list = block->older;
    return block;
}

static void push(dit_arena_block **list, dit_arena_block *block)
{
    block->older = *list;
    *list = block;
}

static void free_blocks(dit_arena_block **list)
{
    while (*list) {
        dit_arena_block *block = pop(list);
        if (block->mapped)
            munmap(block->data, (size_t)block->size);
        else
            free(block->data);
        free(block);
    }
}

/* Address space costs nothing until it is touched, and reads as zero. NULL when the system refuses. */
static char *get_addresses(int64_t size)
{
    void *data = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return data == MAP_FAILED ? NULL : data;
}

/* Allocates memory, or NULL when the system refuses. */
static char *get_memory(bool counting, int64_t alignment, int64_t size)
{
    return counting ? get_addresses(size) : aligned_alloc((size_t)alignment, (size_t)size);
}

/* Frees the device memory beyond `end`. */
static void drop_room(dit_arena *arena, int64_t end)
{
    const dit_memory_device *device = arena->ledger ? arena->ledger->device : NULL;
    if (device && arena->device_end != end) device->drop(device->context, arena->klass, end);
    arena->device_end = end;
}

void dit_arena_release(dit_arena *arena)
{
    drop_room(arena, 0);
    free_blocks(&arena->blocks);
    free_blocks(&arena->spare);
    if (arena->ledger) ledger_add(arena, -arena->used);
}

/* Adds an empty block of at least `bytes` to arena->blocks. */
static dit_status new_block(dit_arena *arena, int64_t bytes)
{
    int64_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    int64_t alignment = size >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : ALIGNMENT;
    size = (size + alignment - 1) / alignment * alignment;
    dit_arena_block *block = calloc(1, sizeof *block);
    bool counting = arena->ledger->counting_only || arena->ledger->on_device;
    char *data = block ? get_memory(counting, alignment, size) : NULL;
    if (!data) {
        free(block);
        return DIT_FAIL(DIT_ERR_MEMORY, "the system has no %lld bytes for class %s", (long long)size,
                        dit_memory_class_name(arena->klass));
    }
    *block = (dit_arena_block){.data = data, .size = size, .mapped = counting};
    push(&arena->blocks, block);
    arena->ledger->calls++;
    return DIT_OK;
}

dit_status dit_arena_reserve(dit_arena *arena, int64_t bytes)
{
    int64_t size = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    dit_arena_block *block = calloc(1, sizeof *block);
    char *data = block ? get_addresses(size) : NULL;
    if (!data) {
        free(block);
        return DIT_FAIL(DIT_ERR_MEMORY, "the system has no addresses for %lld bytes of class %s", (long long)size,
                        dit_memory_class_name(arena->klass));
    }
    madvise(data, (size_t)size, MADV_HUGEPAGE); /* a wish: pages come and go in large pieces */
    *block = (dit_arena_block){.data = data, .size = size, .mapped = true};
    push(&arena->blocks, block);
    return DIT_OK;
}

void dit_arena_discard(dit_arena *arena)
{
    const dit_arena_block *block = arena->blocks;
    if (block) madvise(block->data, (size_t)block->size, MADV_DONTNEED); /* untouched pages cost nothing */
    dit_arena_reset(arena);
}

static int64_t capacity(const dit_arena_block *list)
{
    int64_t total = 0;
    for (; list; list = list->older) total += list->size;
    return total;
}

/* Resets an arena. One block is kept, large enough for all that was used, so that the next pass allocates nothing. */
void dit_arena_reset(dit_arena *arena)
{
    bool single = arena->blocks && !arena->blocks->older && !arena->spare;
    int64_t total = capacity(arena->blocks) + capacity(arena->spare);
    ledger_add(arena, -arena->used);
    drop_room(arena, 0);
    if (total && !single) {
        free_blocks(&arena->blocks);
        free_blocks(&arena->spare);
        if (new_block(arena, total) != DIT_OK) dit_error_clear(); /* the next allocation will report it */
    }
    if (arena->blocks) arena->blocks->used = 0;
}

/* Takes the first spare block that is large enough, else a new one. Equal requests find equal blocks on each pass. */
static dit_status grow(dit_arena *arena, int64_t bytes)
{
    for (dit_arena_block **link = &arena->spare; *link; link = &(*link)->older) {
        if ((*link)->size < bytes) continue;
        dit_arena_block *block = pop(link);
        block->used = 0;
        push(&arena->blocks, block);
        return DIT_OK;
    }
    return new_block(arena, bytes);
}

static bool is_possible(int64_t bytes)
{
    return bytes >= 0 && bytes <= INT64_MAX / 2;
}

static int64_t rounded_up(int64_t bytes, int64_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/* Takes `bytes` of addresses, which count as `counted` bytes. */
static dit_status take(dit_arena *arena, int64_t bytes, int64_t counted, void **out)
{
    dit_memory_ledger *ledger = arena->ledger;
    *out = NULL;
    if (!is_possible(bytes)) return DIT_FAIL(DIT_ERR_MEMORY, "impossible allocation of %lld bytes", (long long)bytes);
    bytes = rounded_up(bytes, ALIGNMENT);
    if (ledger->limit && (counted > ledger->limit || ledger->total_used > ledger->limit - counted))
        return dit_error_hint(DIT_FAIL(DIT_ERR_MEMORY, "class %s asks for %lld bytes, but %lld of %lld are in use",
                                       dit_memory_class_name(arena->klass), (long long)counted,
                                       (long long)ledger->total_used, (long long)ledger->limit),
                              "raise memory_limit_bytes, lower the resolution, or shard the weights");
    if (!arena->blocks || arena->blocks->size - arena->blocks->used < bytes) DIT_TRY(grow(arena, bytes));
    *out = arena->blocks->data + arena->blocks->used;
    arena->blocks->used += bytes;
    ledger_add(arena, counted);
    return DIT_OK;
}

/* Takes host memory, which a device's ledger does not count. */
static dit_status take_host(dit_arena *arena, int64_t bytes, void **out)
{
    return take(arena, bytes, arena->ledger->on_device || !is_possible(bytes) ? 0 : rounded_up(bytes, ALIGNMENT), out);
}

dit_status dit_arena_alloc(dit_arena *arena, int64_t bytes, void **out)
{
    DIT_TRY(take_host(arena, bytes, out));
    if (!arena->ledger->counting_only) memset(*out, 0, (size_t)bytes);
    return DIT_OK;
}

dit_status dit_arena_array(dit_arena *arena, int64_t count, dit_dtype dtype, void **out)
{
    const dit_memory_device *device = arena->ledger->device;
    int64_t stored = dit_dtype_bytes(dtype), address = stored > 4 ? stored : 4;
    *out = NULL;
    if (count < 0 || count > INT64_MAX / 16)
        return DIT_FAIL(DIT_ERR_MEMORY, "impossible allocation of %lld elements", (long long)count);
    if (!arena->ledger->on_device) return take_host(arena, count * stored, out);
    DIT_TRY(take(arena, count * address, rounded_up(count * stored, DEVICE_ALIGNMENT), out));
    return device ? device->place(device->context, arena->klass, *out, count, dtype, &arena->device_end) : DIT_OK;
}

static dit_status take_floats(dit_arena *arena, int64_t count, dit_dtype dtype, float **out)
{
    void *data;
    dit_status st = dit_arena_array(arena, count, dtype, &data);
    *out = data;
    return st;
}

dit_status dit_arena_activations(dit_arena *arena, int64_t count, float **out)
{
    return take_floats(arena, count, arena->ledger->dtype, out);
}

dit_status dit_arena_fp32(dit_arena *arena, int64_t count, float **out)
{
    return take_floats(arena, count, DIT_DTYPE_FP32, out);
}

dit_status dit_arena_host(dit_arena *arena, int64_t count, float **out)
{
    void *data;
    *out = NULL;
    if (count < 0 || count > INT64_MAX / 16)
        return DIT_FAIL(DIT_ERR_MEMORY, "impossible allocation of %lld floats", (long long)count);
    DIT_TRY(take_host(arena, count * (int64_t)sizeof(float), &data));
    *out = data;
    return DIT_OK;
}

dit_arena_mark dit_arena_get_mark(const dit_arena *arena)
{
    return (dit_arena_mark){arena->blocks, arena->blocks ? arena->blocks->used : 0, arena->used, arena->device_end};
}

/* Returns to a mark. Blocks that were added after it are kept as spare, so only the first pass allocates scratch. */
void dit_arena_release_to(dit_arena *arena, dit_arena_mark mark)
{
    while (arena->blocks && arena->blocks != mark.block) push(&arena->spare, pop(&arena->blocks));
    if (arena->blocks) arena->blocks->used = mark.block_used;
    drop_room(arena, mark.device_end);
    ledger_add(arena, mark.used - arena->used);
}
