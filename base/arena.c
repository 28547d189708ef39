#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, BLOCK_BYTES = 1 << 20, HUGE_PAGE_BYTES = 2 << 20 };

struct dit_arena_block {
    dit_arena_block *older;
    char *data;
    int64_t size, used;
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

static void ledger_add(dit_arena *arena, int64_t bytes)
{
    dit_memory_ledger *ledger = arena->ledger;
    arena->used += bytes;
    ledger->used[arena->klass] += bytes;
    ledger->total_used += bytes;
    if (ledger->used[arena->klass] > ledger->peak[arena->klass])
        ledger->peak[arena->klass] = ledger->used[arena->klass];
    if (ledger->total_used > ledger->total_peak) ledger->total_peak = ledger->total_used;
}

static void free_block(dit_arena_block *block)
{
    free(block->data);
    free(block);
}

void dit_arena_release(dit_arena *arena)
{
    while (arena->blocks) {
        dit_arena_block *older = arena->blocks->older;
        free_block(arena->blocks);
        arena->blocks = older;
    }
    if (arena->ledger) ledger_add(arena, -arena->used);
}

/* After a reset one block is kept, large enough for all that was used, so that the next pass allocates nothing. */
void dit_arena_reset(dit_arena *arena)
{
    int64_t total = 0;
    for (dit_arena_block *block = arena->blocks; block; block = block->older) total += block->size;
    ledger_add(arena, -arena->used);
    if (!arena->blocks) return;
    if (arena->blocks->older) {
        while (arena->blocks) {
            dit_arena_block *older = arena->blocks->older;
            free_block(arena->blocks);
            arena->blocks = older;
        }
        dit_arena_block *merged = calloc(1, sizeof *merged);
        char *data = merged ? aligned_alloc(HUGE_PAGE_BYTES, (size_t)(total + HUGE_PAGE_BYTES - 1) /
                                                                 HUGE_PAGE_BYTES * HUGE_PAGE_BYTES)
                            : NULL;
        if (!data) { /* the next allocation will report it */
            free(merged);
            return;
        }
        *merged = (dit_arena_block){.data = data, .size = total};
        arena->blocks = merged;
    }
    arena->blocks->used = 0;
}

static dit_status grow(dit_arena *arena, int64_t bytes)
{
    int64_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    size_t alignment = size >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : ALIGNMENT;
    dit_arena_block *block = calloc(1, sizeof *block);
    size = (size + (int64_t)alignment - 1) / (int64_t)alignment * (int64_t)alignment;
    char *data = block ? aligned_alloc(alignment, (size_t)size) : NULL;
    if (!data) {
        free(block);
        return DIT_FAIL(DIT_ERR_MEMORY, "the system has no %lld bytes for class %s", (long long)size,
                        dit_memory_class_name(arena->klass));
    }
    *block = (dit_arena_block){.older = arena->blocks, .data = data, .size = size};
    arena->blocks = block;
    return DIT_OK;
}

static dit_status take(dit_arena *arena, int64_t bytes, void **out)
{
    dit_memory_ledger *ledger = arena->ledger;
    *out = NULL;
    if (bytes < 0 || bytes > INT64_MAX / 2)
        return DIT_FAIL(DIT_ERR_MEMORY, "impossible allocation of %lld bytes", (long long)bytes);
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (ledger->limit && ledger->total_used + bytes > ledger->limit)
        return dit_error_hint(DIT_FAIL(DIT_ERR_MEMORY, "class %s asks for %lld bytes, %lld of %lld are in use",
                                       dit_memory_class_name(arena->klass), (long long)bytes,
                                       (long long)ledger->total_used, (long long)ledger->limit),
                              "raise memory_limit_bytes, lower the resolution, or shard the weights");
    if (!ledger->counting_only) {
        if (!arena->blocks || arena->blocks->size - arena->blocks->used < bytes) {
            DIT_TRY(grow(arena, bytes));
            ledger->calls++;
        }
        *out = arena->blocks->data + arena->blocks->used;
        arena->blocks->used += bytes;
    }
    ledger_add(arena, bytes);
    return DIT_OK;
}

dit_status dit_arena_alloc(dit_arena *arena, int64_t bytes, void **out)
{
    DIT_TRY(take(arena, bytes, out));
    if (*out) memset(*out, 0, (size_t)bytes);
    return DIT_OK;
}

dit_status dit_arena_floats(dit_arena *arena, int64_t count, float **out)
{
    void *data;
    if (count < 0 || count > INT64_MAX / 8)
        return DIT_FAIL(DIT_ERR_MEMORY, "impossible allocation of %lld floats", (long long)count);
    DIT_TRY(take(arena, count * (int64_t)sizeof(float), &data));
    *out = data;
    return DIT_OK;
}

dit_arena_mark dit_arena_get_mark(const dit_arena *arena)
{
    return (dit_arena_mark){arena->blocks, arena->blocks ? arena->blocks->used : 0, arena->used};
}

/* Blocks grown after the mark are kept behind it only if they are the sole block: scratch that grows settles in the
 * first pass and then stays. */
void dit_arena_release_to(dit_arena *arena, dit_arena_mark mark)
{
    if (arena->blocks != mark.block && mark.block == NULL) {
        ledger_add(arena, mark.used - arena->used);
        while (arena->blocks->older) {
            dit_arena_block *older = arena->blocks->older;
            free_block(arena->blocks);
            arena->blocks = older;
        }
        arena->blocks->used = 0;
        return;
    }
    while (arena->blocks != mark.block) {
        dit_arena_block *older = arena->blocks->older;
        free_block(arena->blocks);
        arena->blocks = older;
    }
    if (arena->blocks) arena->blocks->used = mark.block_used;
    ledger_add(arena, mark.used - arena->used);
}
