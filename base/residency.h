/* Residency: which blocks' weights are in memory when a model does not fit, and what is read and dropped before a block
 * runs.
 *
 * A chunk is one block's weights. Blocks run in a cycle, 0 to L - 1 and again, so what is needed next is known. Three
 * rules say who goes: `lru` drops the chunk that was used longest ago, `belady` the one whose next use is farthest
 * (Belady, IBM Systems Journal 5, 1966), and `prefetch` does as belady, but reads `depth` chunks ahead of the one in
 * use, which are not dropped meanwhile. All is integer arithmetic on a table: the engine acts on the moves, a count of
 * them alone needs no weights. A use out of the cycle is allowed, and only makes the guess about the next use wrong.
 *
 * Chunks that come from peers have no room of their own: the one that was used goes before the next one is used, and the
 * chunk in use and `depth` ahead of it are held. So every use is one load, and no more than 1 + depth chunks are there.
 */
#ifndef DIT_BASE_RESIDENCY_H
#define DIT_BASE_RESIDENCY_H

#include "base/json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where weights lie that are not resident. Documents name those below COUNT; peers follow from fsdp_degree: each rank
 * of a group keeps a piece of every chunk, and the pieces are gathered. */
typedef enum {
    DIT_OFFLOAD_NONE,
    DIT_OFFLOAD_HOST,
    DIT_OFFLOAD_DISK,
    DIT_OFFLOAD_COUNT,
    DIT_OFFLOAD_PEERS = DIT_OFFLOAD_COUNT
} dit_offload_tier;
typedef enum {
    DIT_RESIDENCY_BELADY,
    DIT_RESIDENCY_LRU,
    DIT_RESIDENCY_PREFETCH,
    DIT_RESIDENCY_COUNT
} dit_residency_policy;
extern const char *const dit_offload_tiers[DIT_OFFLOAD_COUNT + 1];        /* NULL-terminated: "none", "host", "disk" */
extern const char *const dit_residency_policies[DIT_RESIDENCY_COUNT + 1]; /* "belady", "lru", "prefetch"            */

typedef struct {
    dit_offload_tier tier;
    dit_residency_policy policy;
    int depth;                /* chunks that are read ahead; 0 unless prefetch */
    int64_t resident_weights; /* bytes that chunks may take together           */
} dit_offload;

const char *dit_offload_tier_name(dit_offload_tier tier); /* "peers", too */

/* Reads {"tier": "disk", "policy": "prefetch", "depth": 1, "resident_weights": bytes}; no policy: prefetch, no depth: 1.
 * NULL for `object`: nothing is offloaded. Errors: DIT_ERR_JSON_*. */
dit_status dit_offload_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_offload *out);

/* Puts them into `document` as its member "offload", in words; nothing where all weights stay. */
dit_status dit_offload_put(const dit_offload *offload, cJSON *document);

/* One thing to do before a block runs. */
typedef struct {
    int chunk;
    bool load; /* false: its memory is given back */
} dit_residency_move;

typedef struct {
    dit_offload rules;
    int count;
    int64_t *bytes;   /* [count] of each chunk */
    int64_t *used_at; /* [count] number of the newest use; 0: none */
    bool *resident;   /* [count] loaded, or told to be             */
    bool *fresh;      /* [count] loaded since its newest use       */
    dit_residency_move *moves;
    int move_count; /* of the newest use */
    int last;       /* the chunk in use; -1: none yet */
    bool cyclic;    /* every use so far was the next one of the cycle */
    bool follows;   /* of peers: another cycle follows this one, so that its first chunks may be loaded ahead */
    int64_t uses, hits, loads;
    int64_t used_bytes, peak_bytes, loaded_bytes;
} dit_residency;

/* Prepares a table of `count` chunks, with nothing resident. `bytes` is copied. Errors: DIT_ERR_MEMORY, also when the
 * chunk in use and those ahead of it do not fit together. release accepts a zeroed one. */
dit_status dit_residency_init(const dit_offload *rules, int count, const int64_t *bytes, dit_residency *out);
void dit_residency_release(dit_residency *residency);
/* Says in residency->moves what to do, in that order, for `chunk` to be used. */
void dit_residency_use(dit_residency *residency, int chunk);

/* Counts the loads of the first `uses` uses of a cycle of `blocks` equal chunks of which `room` fit (at least 1 + depth).
 *
 * All fit: each is loaded once. lru: every use loads, because the chunk that is needed next was used longest ago. belady
 * drops the chunk that was just used; after the first round, room - 1 hits are followed by blocks - room loads, with
 * period blocks - 1. Reading `depth` ahead touches chunks so much earlier and keeps so many from being dropped: room -
 * 1 - depth hits, then blocks - room loads, with period blocks - 1 - depth. From peers: every use loads. */
int64_t dit_residency_closed_loads(const dit_offload *rules, int64_t blocks, int64_t room, int64_t uses);
/* Rounds up the piece of a chunk of `bytes` that each of `ranks` peers keeps: to 64 bytes. */
int64_t dit_residency_piece(int64_t bytes, int64_t ranks);
/* Counts what uses [first, first + uses) of a cycle that begins with nothing resident load; from peers, that they are
 * loaded for. loads [count]: of each chunk, by the table; *total: of all, by the closed form where chunks are equal, else the sum. Errors: those of init. */
dit_status dit_residency_predict(const dit_offload *rules, int count, const int64_t *bytes, int64_t first, int64_t uses,
                                 int64_t *loads, int64_t *total);

#ifdef __cplusplus
}
#endif
#endif
