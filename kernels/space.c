#include "kernels/space.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, LEAST_BLOCK_BYTES = 32 << 20 };

/* Room [begin, end) of a class, counted through all its blocks. */
typedef struct {
    char *memory;
    int64_t begin, end;
} block;

/* Addresses [begin, end) of one array. */
typedef struct {
    uintptr_t begin, end;
    char *data;
    dit_element element;
    dit_memory_class klass;
    int64_t offset; /* in its class */
} span;

struct dit_space {
    dit_space_memory memory;
    dit_memory_device device;
    int64_t planned[DIT_MEMORY_CLASS_COUNT];
    struct {
        block *at;
        int count;
    } blocks[DIT_MEMORY_CLASS_COUNT];
    int64_t unplanned;
    span *spans; /* by address */
    int64_t span_count, span_room;
};

static int64_t address_bytes(dit_element element)
{
    return element == DIT_ELEMENT_FP64 ? 8 : 4;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* A block behind the last one, for at least `bytes`. */
static dit_status add_block(dit_space *space, dit_memory_class klass, int64_t bytes)
{
    int count = space->blocks[klass].count;
    int64_t size = bytes > LEAST_BLOCK_BYTES ? bytes : LEAST_BLOCK_BYTES;
    if (!count && space->planned[klass] >= bytes) size = space->planned[klass];
    block *grown = realloc(space->blocks[klass].at, ((size_t)count + 1) * sizeof *grown);
    if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d blocks", count + 1);
    space->blocks[klass].at = grown;
    char *memory = space->memory.get(space->memory.context, size);
    if (!memory)
        return dit_error_hint(DIT_FAIL(DIT_ERR_MEMORY, "the device has no %lld bytes for class %s", (long long)size,
                                       dit_memory_class_name(klass)),
                              "lower the resolution, or shard over more devices");
    int64_t begin = count ? grown[count - 1].end : 0;
    grown[count] = (block){memory, begin, begin + size};
    space->blocks[klass].count++;
    if (count || !space->planned[klass]) space->unplanned++;
    return DIT_OK;
}

/* Where `bytes` of a class may begin, not before `from`: inside one block. */
static dit_status find_room(dit_space *space, dit_memory_class klass, int64_t from, int64_t bytes, char **data,
                            int64_t *offset)
{
    for (int i = 0;; i++) {
        if (i == space->blocks[klass].count) DIT_TRY(add_block(space, klass, bytes));
        const block *b = &space->blocks[klass].at[i];
        *offset = from > b->begin ? from : b->begin;
        *data = b->memory + (*offset - b->begin);
        if (b->end - *offset >= bytes) return DIT_OK;
    }
}

/* ---- spans ------------------------------------------------------------------------------------------------------- */

/* How many spans begin at or before the address. */
static int64_t spans_until(const dit_space *space, uintptr_t address)
{
    int64_t low = 0, high = space->span_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (space->spans[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static dit_status add_span(dit_space *space, const span *added)
{
    if (space->span_count == space->span_room) {
        int64_t room = space->span_room ? 2 * space->span_room : 256;
        span *grown = realloc(space->spans, (size_t)room * sizeof *grown);
        if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld arrays", (long long)room);
        space->spans = grown;
        space->span_room = room;
    }
    int64_t at = spans_until(space, added->begin);
    memmove(space->spans + at + 1, space->spans + at, (size_t)(space->span_count - at) * sizeof *space->spans);
    space->spans[at] = *added;
    space->span_count++;
    return DIT_OK;
}

static dit_status place(void *context, dit_memory_class klass, const void *address, int64_t count, dit_element element,
                        int64_t *end)
{
    dit_space *space = context;
    int64_t bytes = (count * dit_element_bytes(element) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    span added = {.begin = (uintptr_t)address, .element = element, .klass = klass};
    if (!count) return DIT_OK; /* nothing has no address of its own */
    added.end = added.begin + (uintptr_t)(count * address_bytes(element));
    DIT_TRY(find_room(space, klass, *end, bytes, &added.data, &added.offset));
    DIT_TRY(add_span(space, &added));
    *end = added.offset + bytes;
    return DIT_OK;
}

static void drop(void *context, dit_memory_class klass, int64_t end)
{
    dit_space *space = context;
    int64_t kept = 0;
    for (int64_t i = 0; i < space->span_count; i++)
        if (space->spans[i].klass != klass || space->spans[i].offset < end) space->spans[kept++] = space->spans[i];
    space->span_count = kept;
}

bool dit_space_find(const dit_space *space, const void *address, dit_spot *out)
{
    uintptr_t wanted = (uintptr_t)address;
    int64_t at = spans_until(space, wanted) - 1;
    if (at < 0 || wanted >= space->spans[at].end) return false;
    const span *s = &space->spans[at];
    int64_t unit = address_bytes(s->element), first = (int64_t)(wanted - s->begin) / unit;
    *out = (dit_spot){.data = s->data + first * dit_element_bytes(s->element),
                      .element = s->element,
                      .left = (int64_t)(s->end - s->begin) / unit - first};
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

dit_status dit_space_create(const dit_space_memory *memory, const int64_t planned[DIT_MEMORY_CLASS_COUNT],
                            dit_space **out)
{
    dit_space *space = calloc(1, sizeof *space);
    *out = space;
    if (!space) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a space");
    space->memory = *memory;
    space->device = (dit_memory_device){space, place, drop};
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++)
        space->planned[i] = (planned[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return DIT_OK;
}

void dit_space_free(dit_space *space)
{
    if (!space) return;
    for (int klass = 0; klass < DIT_MEMORY_CLASS_COUNT; klass++) {
        for (int i = 0; i < space->blocks[klass].count; i++)
            space->memory.give_back(space->memory.context, space->blocks[klass].at[i].memory);
        free(space->blocks[klass].at);
    }
    free(space->spans);
    free(space);
}

const dit_memory_device *dit_space_device(dit_space *space)
{
    return &space->device;
}

int64_t dit_space_bytes(const dit_space *space, dit_memory_class klass)
{
    int count = space->blocks[klass].count;
    return count ? space->blocks[klass].at[count - 1].end : 0;
}

int64_t dit_space_unplanned_blocks(const dit_space *space)
{
    return space->unplanned;
}
