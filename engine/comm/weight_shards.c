#include "engine/comm/weight_shards.h"

#include "base/clock.h"
#include "base/residency.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    char *at;    /* of the whole chunk, not owned */
    char *piece; /* in the arena                  */
    int64_t bytes, piece_bytes, began_ns;
    dit_comm_exchange gather;
    bool under_way;
} shard;

struct dit_weight_shards {
    dit_comm *group;
    int count;
    int64_t span_ns;
    shard shards[];
};

dit_status dit_weight_shards_create(dit_arena *arena, dit_comm *group, int count, const int64_t *bytes, void *const *at,
                                    dit_weight_shards **out)
{
    dit_weight_shards *s = calloc(1, sizeof *s + (size_t)count * sizeof *s->shards);
    *out = s;
    if (!s) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for shards of %d blocks", count);
    s->count = count, s->group = group;
    for (int i = 0; i < count; i++) {
        void *piece;
        int64_t piece_bytes = dit_residency_piece(bytes[i], dit_comm_size(s->group));
        DIT_TRY(dit_arena_alloc(arena, piece_bytes, &piece));
        s->shards[i] = (shard){.at = at[i], .piece = piece, .bytes = bytes[i], .piece_bytes = piece_bytes};
    }
    return DIT_OK;
}

void dit_weight_shards_free(dit_weight_shards *shards)
{
    free(shards);
}

void dit_weight_shards_keep(dit_weight_shards *s, int chunk)
{
    const shard *own = &s->shards[chunk];
    int64_t first = dit_comm_rank(s->group) * own->piece_bytes, count = own->bytes - first;
    if (count > own->piece_bytes) count = own->piece_bytes;
    if (count > 0) memcpy(own->piece, own->at + first, (size_t)count);
}

dit_status dit_weight_shards_begin(dit_weight_shards *s, int chunk)
{
    shard *own = &s->shards[chunk];
    own->began_ns = dit_clock_ns();
    DIT_TRY(dit_comm_all_gather_begin(s->group, own->piece, own->at, own->piece_bytes, &own->gather));
    own->under_way = true;
    return DIT_OK;
}

dit_status dit_weight_shards_wait(dit_weight_shards *s, int chunk)
{
    shard *own = &s->shards[chunk];
    if (!own->under_way) return DIT_OK;
    own->under_way = false;
    DIT_TRY(dit_comm_exchange_wait(s->group, &own->gather));
    s->span_ns += dit_clock_ns() - own->began_ns;
    return DIT_OK;
}

void dit_weight_shards_poll(dit_weight_shards *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->shards[i].under_way) dit_comm_exchange_poll(s->group, &s->shards[i].gather);
}

int64_t dit_weight_shards_span_ns(const dit_weight_shards *s)
{
    return s->span_ns;
}
int64_t dit_weight_shards_piece(const dit_weight_shards *s, int chunk)
{
    return s->shards[chunk].piece_bytes;
}
int64_t dit_weight_shards_received(const dit_weight_shards *s, int chunk)
{
    return (dit_comm_size(s->group) - 1) * s->shards[chunk].piece_bytes;
}
