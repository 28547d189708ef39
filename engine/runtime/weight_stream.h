/* Weight stream: weights of blocks that come when a block is about to run, and go when others need the room.
 *
 * A chunk is what a rank holds of one block. Its arrays keep their addresses for the whole run, so model code knows
 * nothing of this: only the memory behind the addresses comes and goes. While a model is created, loads of a block's
 * weights are listed and their addresses laid out; nothing is read. From then on every block is announced before it runs
 * (dit_weight_stream_enter), base/residency.h says what to drop and what to read, and the listed loads are made again.
 * Without a look-ahead the caller's threads read; with one a thread of its own reads while the block before computes.
 * Where a rank only counts, memory is counted alike and nothing is read.
 *
 * Where weights lie in shards (fsdp_degree), the source is peers: each chunk is read once when the stream starts, a rank
 * keeps its piece of it (engine/comm/weight_shards.h), and what comes back before a block runs is gathered from the ranks
 * of the group.
 */
#ifndef DIT_ENGINE_WEIGHT_STREAM_H
#define DIT_ENGINE_WEIGHT_STREAM_H

#include "base/residency.h"
#include "engine/comm/weight_shards.h"
#include "engine/runtime/weights.h"

typedef struct dit_weight_stream dit_weight_stream;

/* What happened between two looks. Plain data: ranks send it as bytes. */
typedef struct {
    int64_t uses, hits, loads;                     /* of chunks */
    int64_t loaded_bytes;                          /* that loads took in memory */
    int64_t read_bytes;                            /* of parameters as they are stored, or what came from peers */
    int64_t fetched_bytes;                         /* that came from files, with alignment */
    int64_t load_ns;                               /* reading, converting and packing */
    int64_t exposed_ns;                            /* of these, how long a block waited */
    int64_t predicted_loads, predicted_read_bytes; /* by base/residency.h; -1: blocks were not used in a cycle */
    int64_t chunks, largest_bytes;                 /* of the whole run, as what follows */
    int64_t peak_bytes, staging_bytes;             /* memory of chunks, and of their loading */
    int64_t direct;                                /* 1: all reads went past the page cache */
    int64_t shard_bytes;                           /* of the rank's pieces of all chunks; 0: there are no shards */
} dit_stream_account;

/* Begins to take the weights of blocks [first, first + count), as rt->offload asks. NULL where it asks for nothing.
 * Errors: DIT_ERR_UNSUPPORTED on devices, under a guest but for shards, and for the backend ref; DIT_ERR_MEMORY. free
 * accepts NULL, and comes before rt is released. */
dit_status dit_weight_stream_create(dit_runtime *rt, const dit_weights *weights, int64_t first, int64_t count,
                                    dit_weight_stream **out);
void dit_weight_stream_free(dit_weight_stream *stream);
/* Ends the listing. Errors: DIT_ERR_MEMORY, also where resident_weights are too few. */
dit_status dit_weight_stream_start(dit_weight_stream *stream);
/* Says that what follows is about block `index` of the whole model: until the next call its weights are listed, or are
 * resident. A failure is kept for dit_weight_stream_status. */
void dit_weight_stream_enter(dit_weight_stream *stream, int64_t index);
/* Says whether more forwards follow the one that begins, so that its end may gather the first blocks of the next one.
 * Without shards it means nothing. A stream starts, and a run of it ends, with false. */
void dit_weight_stream_follow(dit_weight_stream *stream, bool more);
/* Adds what this rank must send of its shards in a run, by base/volume.h. NULL: nothing. */
void dit_weight_stream_volume(const dit_weight_stream *stream, int rank, dit_volume_table *out);
/* Returns the bytes of this rank's shards; 0 where there are none. */
int64_t dit_weight_stream_shard_bytes(const dit_weight_stream *stream);
/* Returns what failed so far, and raises it again. NULL: DIT_OK. */
dit_status dit_weight_stream_status(const dit_weight_stream *stream);
/* Waits until nothing is being read, and tells what happened since the last call. Errors: DIT_ERR_BYTES_MISMATCH where
 * loads or bytes are not those of base/residency.h; DIT_ERR_MEMORY. */
dit_status dit_weight_stream_account(dit_weight_stream *stream, dit_stream_account *out);

#endif
