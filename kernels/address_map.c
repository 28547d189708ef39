#include "kernels/address_map.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, LEAST_BLOCK_BYTES = 32 << 20 };

/* Bytes [begin, end) of a class, counted through all its blocks. */
typedef struct {
    char *memory;
    int64_t begin, end;
} block;

/* Addresses [begin, end) of one array. */
typedef struct {
    uintptr_t begin, end;
    char *data;
    dit_dtype dtype;
    dit_memory_class klass;
    int64_t offset; /* in its class */
} span;

struct dit_address_map {
    dit_address_map_memory memory;
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

static int64_t address_bytes(dit_dtype dtype)
{
    return dtype == DIT_DTYPE_FP64 ? 8 : 4;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Adds a block of at least `bytes` behind the last one. */
static dit_status add_block(dit_address_map *map, dit_memory_class klass, int64_t bytes)
{
    int count = map->blocks[klass].count;
    int64_t size = bytes > LEAST_BLOCK_BYTES ? bytes : LEAST_BLOCK_BYTES;
    if (!count && map->planned[klass] >= bytes) size = map->planned[klass];
    block *grown = realloc(map->blocks[klass].at, ((size_t)count + 1) * sizeof *grown);
    if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d blocks", count + 1);
    map->blocks[klass].at = grown;
    char *memory = map->memory.allocate(map->memory.context, size);
    if (!memory)
        return dit_error_hint(DIT_FAIL(DIT_ERR_MEMORY, "the device has no %lld bytes for class %s", (long long)size,
                                       dit_memory_class_name(klass)),
                              "lower the resolution, or shard over more devices");
    int64_t begin = count ? grown[count - 1].end : 0;
    grown[count] = (block){memory, begin, begin + size};
    map->blocks[klass].count++;
    if (count || !map->planned[klass]) map->unplanned++;
    return DIT_OK;
}

/* Finds the first place not before `from` where `bytes` of a class fit into one block. */
static dit_status find_room(dit_address_map *map, dit_memory_class klass, int64_t from, int64_t bytes, char **data,
                            int64_t *offset)
{
    for (int i = 0;; i++) {
        if (i == map->blocks[klass].count) DIT_TRY(add_block(map, klass, bytes));
        const block *b = &map->blocks[klass].at[i];
        *offset = from > b->begin ? from : b->begin;
        *data = b->memory + (*offset - b->begin);
        if (b->end - *offset >= bytes) return DIT_OK;
    }
}

/* ---- spans ------------------------------------------------------------------------------------------------------- */

/* Counts the spans that begin at or before the address. */
static int64_t spans_until(const dit_address_map *map, uintptr_t address)
{
    int64_t low = 0, high = map->span_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (map->spans[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static dit_status add_span(dit_address_map *map, const span *added)
{
    if (map->span_count == map->span_room) {
        int64_t room = map->span_room ? 2 * map->span_room : 256;
        span *grown = realloc(map->spans, (size_t)room * sizeof *grown);
        if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld arrays", (long long)room);
        map->spans = grown;
        map->span_room = room;
    }
    int64_t at = spans_until(map, added->begin);
    memmove(map->spans + at + 1, map->spans + at, (size_t)(map->span_count - at) * sizeof *map->spans);
    map->spans[at] = *added;
    map->span_count++;
    return DIT_OK;
}

static dit_status place(void *context, dit_memory_class klass, const void *address, int64_t count, dit_dtype dtype,
                        int64_t *end)
{
    dit_address_map *map = context;
    int64_t bytes = (count * dit_dtype_bytes(dtype) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    span added = {.begin = (uintptr_t)address, .dtype = dtype, .klass = klass};
    if (!count) return DIT_OK; /* an empty array has no address of its own */
    added.end = added.begin + (uintptr_t)(count * address_bytes(dtype));
    DIT_TRY(find_room(map, klass, *end, bytes, &added.data, &added.offset));
    DIT_TRY(add_span(map, &added));
    *end = added.offset + bytes;
    return DIT_OK;
}

static void drop(void *context, dit_memory_class klass, int64_t end)
{
    dit_address_map *map = context;
    int64_t kept = 0;
    for (int64_t i = 0; i < map->span_count; i++)
        if (map->spans[i].klass != klass || map->spans[i].offset < end) map->spans[kept++] = map->spans[i];
    map->span_count = kept;
}

bool dit_address_map_find(const dit_address_map *map, const void *address, dit_location *out)
{
    uintptr_t wanted = (uintptr_t)address;
    int64_t at = spans_until(map, wanted) - 1;
    if (at < 0 || wanted >= map->spans[at].end) return false;
    const span *s = &map->spans[at];
    int64_t unit = address_bytes(s->dtype), first = (int64_t)(wanted - s->begin) / unit;
    *out = (dit_location){.data = s->data + first * dit_dtype_bytes(s->dtype),
                          .dtype = s->dtype,
                          .left = (int64_t)(s->end - s->begin) / unit - first};
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

dit_status dit_address_map_create(const dit_address_map_memory *memory, const int64_t planned[DIT_MEMORY_CLASS_COUNT],
                                  dit_address_map **out)
{
    dit_address_map *map = calloc(1, sizeof *map);
    *out = map;
    if (!map) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an address map");
    map->memory = *memory;
    map->device = (dit_memory_device){map, place, drop};
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++)
        map->planned[i] = (planned[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return DIT_OK;
}

void dit_address_map_free(dit_address_map *map)
{
    if (!map) return;
    for (int klass = 0; klass < DIT_MEMORY_CLASS_COUNT; klass++) {
        for (int i = 0; i < map->blocks[klass].count; i++)
            map->memory.free(map->memory.context, map->blocks[klass].at[i].memory);
        free(map->blocks[klass].at);
    }
    free(map->spans);
    free(map);
}

const dit_memory_device *dit_address_map_device(dit_address_map *map)
{
    return &map->device;
}

int64_t dit_address_map_bytes(const dit_address_map *map, dit_memory_class klass)
{
    int count = map->blocks[klass].count;
    return count ? map->blocks[klass].at[count - 1].end : 0;
}

int64_t dit_address_map_unplanned_blocks(const dit_address_map *map)
{
    return map->unplanned;
}
