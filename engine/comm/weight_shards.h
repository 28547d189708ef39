/* Weight shards: each rank of a group keeps a piece of every chunk of weights, and a chunk is gathered before it is used.
 *
 * A chunk is what a rank holds of one block, as the backend packs it (engine/runtime/weight_stream.h). All ranks of the
 * group would hold equal bits, so that it is the bytes that are cut: piece i of N is the i-th of N equal runs, each a
 * multiple of 64 bytes. Gathers move in the background: they are begun ahead of use, polled at each block, and waited for.
 */
#ifndef DIT_ENGINE_COMM_WEIGHT_SHARDS_H
#define DIT_ENGINE_COMM_WEIGHT_SHARDS_H

#include "base/arena.h"
#include "engine/comm/comm.h"

typedef struct dit_weight_shards dit_weight_shards;

/* Takes memory of `arena` for this rank's piece of each of `count` chunks, which the ranks of `group` share.
 * bytes [count]: of each chunk; at [count]: where it lies, with addresses for N pieces; both are copied. Errors:
 * DIT_ERR_MEMORY. free accepts NULL. */
dit_status dit_weight_shards_create(dit_arena *arena, dit_comm *group, int count, const int64_t *bytes, void *const *at,
                                    dit_weight_shards **out);
void dit_weight_shards_free(dit_weight_shards *shards);
/* Copies this rank's piece of a chunk, which lies there whole. */
void dit_weight_shards_keep(dit_weight_shards *shards, int chunk);
/* Begins to gather a chunk; it lies there whole once wait returns. wait returns at once where no gather of the chunk is
 * under way. Collective: all ranks of the group begin in one order. Errors: those of the communicator. */
dit_status dit_weight_shards_begin(dit_weight_shards *shards, int chunk);
dit_status dit_weight_shards_wait(dit_weight_shards *shards, int chunk);
/* Moves the gathers that are under way. */
void dit_weight_shards_poll(dit_weight_shards *shards);
/* Nanoseconds from the beginnings of gathers to the ends of their waits, so far. */
int64_t dit_weight_shards_span_ns(const dit_weight_shards *shards);
/* Bytes of this rank's piece of a chunk, and how many a gather of the chunk brings. */
int64_t dit_weight_shards_piece(const dit_weight_shards *shards, int chunk);
int64_t dit_weight_shards_received(const dit_weight_shards *shards, int chunk);

#endif
