#include "engine/runtime/weight_stream.h"

#include "base/clock.h"
#include "base/direct_file.h"
#include "base/list.h"
#include "engine/runtime/fault.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = DIT_CALL_NAME };
/* Addresses that a chunk may use. Ranks of a simulation share those of one process. */
static const int64_t CHUNK_ADDRESSES = INT64_C(16) << 30, COUNTED_ADDRESSES = INT64_C(4) << 30;

typedef struct {
    dit_arena arena;
    dit_weight_call *calls;
    int call_count;
    int64_t bytes, stored_bytes;
    bool loaded; /* guarded by the mutex */
} chunk;

struct dit_weight_stream {
    dit_weight_taker taker; /* first */
    dit_runtime *rt;
    dit_runtime reader; /* its run arena is that of the chunk in hand */
    dit_pool *own_pool; /* of the thread */
    dit_stored *stored; /* NULL: the file is read as it is mapped */
    chunk *chunks;
    dit_weight_shards *shards; /* NULL: chunks come from files */
    int64_t first;
    int count;
    bool started, counting;
    int current;         /* chunk that is being listed; -1: none */
    char key[KEY_BYTES]; /* what names of its parameters begin with; "": not known yet */
    int in_hand;         /* chunk whose arena the reader has; -1: none */
    dit_residency residency;
    dit_stream_account seen; /* at the last look; uses etc. are totals */
    int64_t load_ns, exposed_ns, gathered_bytes;
    dit_status status;
    char message[512];
    pthread_t thread;
    bool has_thread, ends;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    dit_residency_move *queue; /* ring of moves, [capacity] */
    int queue_capacity, queue_first, queued, running;
};

/* ---- listing ----------------------------------------------------------------------------------------------------- */

/* Length of "transformer_blocks.3." in a name: all up to the first part that is a number; 0: there is none. */
static size_t key_length(const char *name)
{
    for (const char *at = name; (at = strchr(at, '.')); at++) {
        size_t digits = strspn(at + 1, "0123456789");
        if (digits && at[1 + digits] == '.') return (size_t)(at + 1 + digits + 1 - name);
    }
    return 0;
}

static void take_in_hand(dit_weight_stream *s, int index)
{
    if (s->in_hand >= 0) s->chunks[s->in_hand].arena = s->reader.run;
    s->in_hand = index;
    if (index >= 0) s->reader.run = s->chunks[index].arena;
}

/* A block's parameters begin alike. The first name after a block was announced says how. */
static dit_runtime *stream_target(dit_weight_taker *taker, const char *name)
{
    dit_weight_stream *s = (dit_weight_stream *)taker;
    if (s->current < 0) return NULL;
    size_t length = s->key[0] ? strlen(s->key) : key_length(name);
    if (length == 0 || length >= sizeof s->key || (s->key[0] && strncmp(name, s->key, length) != 0)) {
        s->current = -1;
        return NULL;
    }
    memcpy(s->key, name, length);
    s->key[length] = 0;
    take_in_hand(s, s->current);
    return &s->reader;
}

static dit_status copy_name(const char **name)
{
    if (!*name) return DIT_OK;
    *name = strdup(*name);
    return *name ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the name of a parameter");
}

static dit_status stream_note(dit_weight_taker *taker, const dit_weight_call *call)
{
    dit_weight_stream *s = (dit_weight_stream *)taker;
    chunk *c = &s->chunks[s->in_hand];
    void *list = c->calls;
    DIT_TRY(dit_list_grow(&list, c->call_count, sizeof *c->calls));
    c->calls = list;
    dit_weight_call *own = &c->calls[c->call_count];
    *own = *call;
    own->weights.stored = s->stored;
    DIT_TRY(copy_name(&own->name));
    c->call_count++;
    for (int i = 0; i < own->count && own->kind == DIT_CALL_LINEAR; i++) DIT_TRY(copy_name(&own->parts[i].prefix));
    s->rt->parameters += s->reader.parameters;
    s->rt->stored_bytes += s->reader.stored_bytes;
    c->stored_bytes += s->reader.stored_bytes;
    s->reader.parameters = s->reader.stored_bytes = 0;
    return DIT_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static dit_status load_chunk(dit_weight_stream *s, int index)
{
    const chunk *c = &s->chunks[index];
    dit_status st = DIT_OK;
    take_in_hand(s, index);
    for (int i = 0; i < c->call_count && st == DIT_OK; i++) st = dit_weights_repeat(&s->reader, &c->calls[i]);
    take_in_hand(s, -1);
    return st;
}

static void keep_failure(dit_weight_stream *s, dit_status st)
{
    if (s->status != DIT_OK) return;
    s->status = st;
    snprintf(s->message, sizeof s->message, "%s", dit_error_last()->message);
}

/* Makes one move. The mutex is not held. */
static dit_status make_move(dit_weight_stream *s, const dit_residency_move *move)
{
    if (s->shards && move->load) {
        s->gathered_bytes += dit_weight_shards_received(s->shards, move->chunk);
        return dit_weight_shards_begin(s->shards, move->chunk);
    }
    if (s->counting) return DIT_OK;
    if (move->load) return load_chunk(s, move->chunk);
    dit_arena_discard(&s->chunks[move->chunk].arena);
    return DIT_OK;
}

static void finish_move(dit_weight_stream *s, const dit_residency_move *move, dit_status st, int64_t ns)
{
    if (move->load) s->load_ns += ns;
    s->chunks[move->chunk].loaded = move->load;
    if (st != DIT_OK) keep_failure(s, st);
}

/* Reads what is queued, in order, so that memory is given back before more is taken. */
static void *read_queue(void *context)
{
    dit_weight_stream *s = context;
    pthread_mutex_lock(&s->mutex);
    for (;;) {
        while (!s->queued && !s->ends) pthread_cond_wait(&s->changed, &s->mutex);
        if (s->ends) break;
        dit_residency_move move = s->queue[s->queue_first];
        s->queue_first = (s->queue_first + 1) % s->queue_capacity;
        s->queued--, s->running = 1;
        pthread_mutex_unlock(&s->mutex);
        int64_t began = dit_clock_ns();
        dit_status st = s->status == DIT_OK ? make_move(s, &move) : DIT_OK;
        pthread_mutex_lock(&s->mutex);
        s->running = 0;
        finish_move(s, &move, st, dit_clock_ns() - began);
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

static void queue_moves(dit_weight_stream *s)
{
    const dit_residency *r = &s->residency;
    pthread_mutex_lock(&s->mutex);
    while (s->queue_capacity - s->queued < r->move_count) pthread_cond_wait(&s->changed, &s->mutex);
    for (int i = 0; i < r->move_count; i++) s->queue[(s->queue_first + s->queued++) % s->queue_capacity] = r->moves[i];
    pthread_cond_broadcast(&s->changed);
    while (!s->chunks[r->last].loaded && s->status == DIT_OK) pthread_cond_wait(&s->changed, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
}

static void make_moves(dit_weight_stream *s)
{
    for (int i = 0; i < s->residency.move_count && s->status == DIT_OK; i++) {
        const dit_residency_move *move = &s->residency.moves[i];
        int64_t began = dit_clock_ns();
        dit_status st = make_move(s, move);
        finish_move(s, move, st, dit_clock_ns() - began);
    }
    if (!s->shards || s->status != DIT_OK) return;
    dit_status st = dit_weight_shards_wait(s->shards, s->residency.last);
    if (st != DIT_OK) keep_failure(s, st);
    dit_weight_shards_poll(s->shards);
    s->load_ns = dit_weight_shards_span_ns(s->shards);
}

/* Counts the memory of the moves as they are told: it is never less than what is held. */
static void count_moves(dit_weight_stream *s)
{
    for (int i = 0; i < s->residency.move_count; i++) {
        const dit_residency_move *move = &s->residency.moves[i];
        int64_t bytes = s->chunks[move->chunk].bytes;
        dit_ledger_note(&s->rt->ledger, DIT_MEMORY_WEIGHTS, move->load ? bytes : -bytes);
    }
}

static void use_chunk(dit_weight_stream *s, int index)
{
    if (s->count > 1 && s->residency.last == index) return; /* it is in use still */
    dit_residency_use(&s->residency, index);
    count_moves(s);
    int64_t began = dit_clock_ns();
    if (s->has_thread)
        queue_moves(s);
    else
        make_moves(s);
    if (!s->counting) s->exposed_ns += dit_clock_ns() - began;
}

void dit_weight_stream_enter(dit_weight_stream *s, int64_t index)
{
    if (!s || index < s->first || index >= s->first + s->count) return;
    if (s->started) {
        use_chunk(s, (int)(index - s->first));
        return;
    }
    s->current = (int)(index - s->first);
    s->key[0] = 0;
}

void dit_weight_stream_follow(dit_weight_stream *s, bool more)
{
    if (s) s->residency.follows = more;
}

dit_status dit_weight_stream_status(const dit_weight_stream *s)
{
    if (!s || s->status == DIT_OK) return DIT_OK;
    return dit_error_note(DIT_FAIL(s->status, "%s", s->message), "reading a block's weights");
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static dit_status check_shards(const dit_runtime *rt)
{
    int degree = dit_parallel_degree(&rt->parallel, DIT_AXIS_FSDP);
    if (rt->device || rt->ledger.on_device)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED,
                                       "fsdp_degree %d: weights of a block come and go in host memory only; a device's "
                                       "weights have one arena, whose arrays stay",
                                       degree),
                              "use backend cpu, or a simulated platform");
    if (!rt->ledger.counting_only && strcmp(rt->kernels->name, "ref") == 0)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "fsdp_degree %d: backend ref holds weights otherwise", degree),
            "use backend cpu");
    return DIT_OK;
}

static dit_status check_support(const dit_runtime *rt)
{
    const char *tier = dit_offload_tiers[rt->offload.tier];
    if (rt->offload.tier == DIT_OFFLOAD_PEERS) return check_shards(rt);
    if (rt->device || rt->ledger.on_device)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "offload %s: weights stream to host memory only", tier),
                              "use backend cpu");
    if (rt->guest) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "offload %s is not simulated", tier);
    if (!rt->ledger.counting_only && strcmp(rt->kernels->name, "ref") == 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "offload %s: backend ref holds weights otherwise", tier),
                              "use backend cpu");
    return DIT_OK;
}

/* A runtime that lays out and loads the weights of blocks: what those functions need, and its own account. */
static void make_reader(dit_weight_stream *s)
{
    dit_runtime *rt = s->rt;
    s->reader = (dit_runtime){.kernels = dit_kernels_counting(),
                              .pool = rt->pool,
                              .threads = rt->threads,
                              .parallel = rt->parallel,
                              .facts = rt->facts,
                              .catalogue = rt->catalogue};
    memcpy(s->reader.coordinates, rt->coordinates, sizeof rt->coordinates);
    s->reader.ledger.counting_only = true;
    dit_arena_init(&s->reader.run, &s->reader.ledger, DIT_MEMORY_WEIGHTS);
    dit_arena_init(&s->reader.step, &s->reader.ledger, DIT_MEMORY_ACTIVATIONS);
}

static dit_status set_up(dit_weight_stream *s, const dit_weights *weights)
{
    bool from_disk = s->rt->offload.tier == DIT_OFFLOAD_DISK && weights->file;
    s->chunks = calloc((size_t)s->count + 1, sizeof *s->chunks);
    if (!s->chunks) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d chunks", s->count);
    for (int i = 0; i < s->count; i++) {
        dit_arena_init(&s->chunks[i].arena, &s->reader.ledger, DIT_MEMORY_WEIGHTS);
        DIT_TRY(dit_arena_reserve(&s->chunks[i].arena, s->counting ? COUNTED_ADDRESSES : CHUNK_ADDRESSES));
    }
    return from_disk && !s->counting ? dit_stored_create(weights->file, &s->stored) : DIT_OK;
}

dit_status dit_weight_stream_create(dit_runtime *rt, const dit_weights *weights, int64_t first, int64_t count,
                                    dit_weight_stream **out)
{
    *out = NULL;
    if (rt->offload.tier == DIT_OFFLOAD_NONE) return DIT_OK;
    DIT_TRY(check_support(rt));
    dit_weight_stream *s = calloc(1, sizeof *s);
    if (!s) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a stream of weights");
    s->taker = (dit_weight_taker){stream_target, stream_note};
    s->rt = rt, s->first = first, s->count = (int)count;
    s->counting = rt->ledger.counting_only;
    s->current = s->in_hand = -1;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    make_reader(s);
    dit_status st = set_up(s, weights);
    if (st != DIT_OK) {
        dit_weight_stream_free(s);
        return st;
    }
    rt->taker = &s->taker;
    *out = s;
    return DIT_OK;
}

static void free_chunk(chunk *c)
{
    for (int i = 0; i < c->call_count; i++) {
        dit_weight_call *call = &c->calls[i];
        free((void *)(uintptr_t)call->name);
        for (int k = 0; k < call->count && call->kind == DIT_CALL_LINEAR; k++)
            free((void *)(uintptr_t)call->parts[k].prefix);
    }
    free(c->calls);
    dit_arena_release(&c->arena);
}

static void end_thread(dit_weight_stream *s)
{
    if (!s->has_thread) return;
    pthread_mutex_lock(&s->mutex);
    s->ends = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    s->has_thread = false;
}

void dit_weight_stream_free(dit_weight_stream *s)
{
    if (!s) return;
    end_thread(s);
    s->rt->taker = NULL;
    take_in_hand(s, -1);
    for (int i = 0; s->chunks && i < s->count; i++) free_chunk(&s->chunks[i]);
    dit_arena_release(&s->reader.step);
    dit_pool_free(s->own_pool);
    dit_stored_free(s->stored);
    dit_weight_shards_free(s->shards);
    dit_residency_release(&s->residency);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    free(s->queue);
    free(s->chunks);
    free(s);
}

static dit_status make_table(dit_weight_stream *s)
{
    int64_t *bytes = calloc((size_t)s->count + 1, sizeof *bytes);
    if (!bytes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table of %d chunks", s->count);
    for (int i = 0; i < s->count; i++) bytes[i] = s->chunks[i].bytes = s->chunks[i].arena.used;
    dit_status st = dit_residency_init(&s->rt->offload, s->count, bytes, &s->residency);
    free(bytes);
    return st;
}

/* From now on the reader loads for real, in memory for as much as one load stages at most. */
static dit_status prepare_reader(dit_weight_stream *s)
{
    int64_t staging = s->reader.ledger.peak[DIT_MEMORY_ACTIVATIONS];
    bool from_disk = s->rt->offload.tier == DIT_OFFLOAD_DISK, once = s->rt->offload.tier == DIT_OFFLOAD_PEERS;
    s->seen.staging_bytes = staging + (from_disk ? DIT_DIRECT_BUFFER_BYTES : 0);
    dit_arena_release(&s->reader.step);
    if (!once) dit_ledger_note(&s->rt->ledger, DIT_MEMORY_WEIGHTS, s->seen.staging_bytes);
    for (int i = 0; i < s->count; i++) dit_arena_reset(&s->chunks[i].arena);
    if (s->counting) return DIT_OK;
    s->reader.kernels = s->rt->kernels;
    s->reader.ledger.counting_only = false;
    s->reader.catalogue = NULL;
    return dit_arena_reserve(&s->reader.step, staging > 0 ? staging : 1);
}

static dit_status start_thread(dit_weight_stream *s)
{
    s->queue_capacity = 4 * s->count + s->rt->offload.depth + 4;
    s->queue = calloc((size_t)s->queue_capacity, sizeof *s->queue);
    if (!s->queue) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a queue of %d moves", s->queue_capacity);
    DIT_TRY(dit_pool_create(1, false, &s->own_pool));
    s->reader.pool = s->own_pool, s->reader.threads = 1;
    if (pthread_create(&s->thread, NULL, read_queue, s) != 0)
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the thread that reads weights cannot be started");
    s->has_thread = true;
    return DIT_OK;
}

/* Reads each chunk once and keeps this rank's piece of it. */
static dit_status read_shards(dit_weight_stream *s)
{
    for (int i = 0; i < s->count; i++) {
        int64_t held = s->chunks[i].bytes + s->seen.staging_bytes;
        dit_ledger_note(&s->rt->ledger, DIT_MEMORY_WEIGHTS, held);
        if (!s->counting) {
            DIT_TRY(load_chunk(s, i));
            dit_weight_shards_keep(s->shards, i);
            dit_arena_discard(&s->chunks[i].arena);
        }
        dit_ledger_note(&s->rt->ledger, DIT_MEMORY_WEIGHTS, -held);
    }
    dit_arena_release(&s->reader.step);
    return DIT_OK;
}

static dit_status take_shards(dit_weight_stream *s)
{
    void **at = calloc((size_t)s->count + 1, sizeof *at);
    dit_status st = at ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for shards of %d blocks", s->count);
    for (int i = 0; i < s->count && st == DIT_OK; i++) st = dit_arena_alloc(&s->chunks[i].arena, 0, &at[i]);
    if (st == DIT_OK)
        st = dit_weight_shards_create(&s->rt->run, s->rt->comm[DIT_AXIS_FSDP], s->count, s->residency.bytes, at,
                                      &s->shards);
    free(at);
    return st == DIT_OK ? read_shards(s) : st;
}

dit_status dit_weight_stream_start(dit_weight_stream *s)
{
    if (!s) return DIT_OK;
    take_in_hand(s, -1);
    s->current = -1;
    s->started = true;
    s->rt->taker = NULL;
    DIT_TRY(make_table(s));
    DIT_TRY(prepare_reader(s));
    if (s->rt->offload.tier == DIT_OFFLOAD_PEERS) return take_shards(s);
    return s->counting || s->rt->offload.depth == 0 ? DIT_OK : start_thread(s);
}

/* ---- the account ------------------------------------------------------------------------------------------------- */

static void wait_for_queue(dit_weight_stream *s)
{
    if (!s->has_thread) return;
    pthread_mutex_lock(&s->mutex);
    while ((s->queued || s->running) && s->status == DIT_OK) pthread_cond_wait(&s->changed, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
}

static dit_status predict(const dit_weight_stream *s, int64_t first, dit_stream_account *out)
{
    int64_t *loads = calloc((size_t)s->count + 1, sizeof *loads);
    if (!loads) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to predict loads");
    dit_status st = dit_residency_predict(&s->rt->offload, s->count, s->residency.bytes, first, out->uses, loads,
                                          &out->predicted_loads);
    out->predicted_loads += dit_fault_bytes("weights", 1);
    out->predicted_read_bytes = 0;
    for (int i = 0; i < s->count; i++)
        out->predicted_read_bytes +=
            loads[i] * (s->shards ? dit_weight_shards_received(s->shards, i) : s->chunks[i].stored_bytes);
    free(loads);
    return st;
}

static dit_status check(const dit_weight_stream *s, const dit_stream_account *out)
{
    bool read = (s->counting && !s->shards) || out->read_bytes == out->predicted_read_bytes;
    if (out->loads == out->predicted_loads && read) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_BYTES_MISMATCH,
                 "%lld blocks were read (%lld bytes) in %lld uses, but base/residency.h says %lld (%lld bytes)",
                 (long long)out->loads, (long long)out->read_bytes, (long long)out->uses,
                 (long long)out->predicted_loads, (long long)out->predicted_read_bytes),
        "either the stream reads too much or too little, or the closed form is wrong");
}

void dit_weight_stream_volume(const dit_weight_stream *s, int rank, dit_volume_table *out)
{
    if (s && s->shards)
        dit_volume_predict_shards(&s->rt->parallel, &s->rt->facts, rank, s->residency.bytes, s->count, out);
}

int64_t dit_weight_stream_shard_bytes(const dit_weight_stream *s)
{
    int64_t bytes = 0;
    for (int i = 0; s && s->shards && i < s->count; i++) bytes += dit_weight_shards_piece(s->shards, i);
    return bytes;
}

dit_status dit_weight_stream_account(dit_weight_stream *s, dit_stream_account *out)
{
    *out = (dit_stream_account){0};
    if (!s) return DIT_OK;
    wait_for_queue(s);
    DIT_TRY(dit_weight_stream_status(s));
    const dit_residency *r = &s->residency;
    dit_stream_account now = s->seen;
    now.uses = r->uses, now.hits = r->hits, now.loads = r->loads, now.loaded_bytes = r->loaded_bytes;
    now.read_bytes = s->shards ? s->gathered_bytes : s->reader.stored_bytes;
    now.shard_bytes = dit_weight_stream_shard_bytes(s);
    now.fetched_bytes = s->stored ? dit_stored_bytes(s->stored) : 0;
    now.load_ns = s->load_ns, now.exposed_ns = s->exposed_ns;
    *out = now;
    out->uses -= s->seen.uses, out->hits -= s->seen.hits, out->loads -= s->seen.loads;
    out->loaded_bytes -= s->seen.loaded_bytes, out->read_bytes -= s->seen.read_bytes;
    out->fetched_bytes -= s->seen.fetched_bytes;
    out->load_ns -= s->seen.load_ns, out->exposed_ns -= s->seen.exposed_ns;
    out->chunks = s->count, out->peak_bytes = r->peak_bytes;
    for (int i = 0; i < s->count; i++)
        if (r->bytes[i] > out->largest_bytes) out->largest_bytes = r->bytes[i];
    out->direct = s->stored && dit_stored_is_direct(s->stored);
    out->predicted_loads = out->predicted_read_bytes = -1;
    if (r->cyclic) DIT_TRY(predict(s, s->seen.uses, out));
    s->seen = now;
    return r->cyclic ? check(s, out) : DIT_OK;
}
