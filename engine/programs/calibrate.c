/* calibrate: how long operators and messages take on this machine, by shape: raw times that a cost model is fitted to.
 *
 * All ranks do the same at the same time, so that with as many ranks as cores the times are those of a busy machine.
 * Operators are timed by the processor time of the rank's one thread, which does not count what other programs take;
 * messages by the clock, since waiting is part of them. A time is the lower quartile of its rounds, the mean over
 * ranks. The record is {"schema": "ditbench.record/1", "program": "calibrate", "ranks", "times": [{"op", ...,
 * "seconds"}]}.
 */
#include "engine/programs/program.h"

#include "base/clock.h"
#include "base/stats.h"
#include "engine/comm/comm.h"
#include "kernels/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 400, LEAST_ROUNDS = 9, COLD_BYTES = 64 << 20, CACHE_LINE = 64 };
static const double shape_s = 0.25, shape_limit_s = 1.5;

#define LINEAR(r, n_, k_, f)                                                                                           \
    {                                                                                                                  \
        .op = DIT_OPERATOR_LINEAR, .rows = r, .n = n_, .k = k_, .flags = f                                             \
    }
#define ATTENTION(h, q, keys, d)                                                                                       \
    {                                                                                                                  \
        .op = DIT_OPERATOR_ATTENTION, .B = 1, .H = h, .Sq = q, .Sk = keys, .D = d, .flags = DIT_CASE_STRIDED           \
    }
#define NORM(r, n_, f)                                                                                                 \
    {                                                                                                                  \
        .op = DIT_OPERATOR_NORM, .rows = r, .n = n_, .flags = f                                                        \
    }
#define HEADS(r, h, d, f)                                                                                              \
    {                                                                                                                  \
        .op = DIT_OPERATOR_QK_NORM_ROPE, .rows = r, .H = h, .D = d, .flags = f                                         \
    }
#define COPY(q, h, d)                                                                                                  \
    {                                                                                                                  \
        .op = DIT_OPERATOR_COPY, .B = 1, .H = h, .Sq = q, .D = d                                                       \
    }
#define COMBINE(elements, count)                                                                                       \
    {                                                                                                                  \
        .op = DIT_OPERATOR_COMBINE, .n = elements, .k = count                                                          \
    }
#define MERGE(s, h, d)                                                                                                 \
    {                                                                                                                  \
        .op = DIT_OPERATOR_ATTENTION_MERGE, .B = 1, .H = h, .Sq = s, .D = d                                            \
    }

/* Products from those of a patch to those of a whole picture; short ones (k 64) with each epilogue; attention from the
 * keys of one ring rank on, with heads as models have them; copies from what a cache holds to what none does. */
static const dit_kernel_case shapes[] = {
    LINEAR(1, 6912, 1152, DIT_CASE_BIAS),
    LINEAR(1, 1152, 256, DIT_CASE_BIAS),
    LINEAR(16, 1152, 1152, DIT_CASE_BIAS),
    LINEAR(32, 384, 384, DIT_CASE_BIAS),
    LINEAR(64, 576, 576, DIT_CASE_BIAS),
    LINEAR(64, 1152, 1152, DIT_CASE_BIAS),
    LINEAR(77, 1536, 1536, DIT_CASE_BIAS),
    LINEAR(120, 2304, 1152, DIT_CASE_BIAS),
    LINEAR(128, 3456, 1152, DIT_CASE_BIAS),
    LINEAR(256, 512, 512, DIT_CASE_BIAS),
    LINEAR(256, 1152, 1152, DIT_CASE_BIAS),
    LINEAR(256, 4608, 1152, DIT_CASE_BIAS),
    LINEAR(256, 1152, 4608, DIT_CASE_BIAS),
    LINEAR(512, 576, 576, DIT_CASE_BIAS),
    LINEAR(512, 1536, 512, DIT_CASE_BIAS),
    LINEAR(512, 2304, 576, DIT_CASE_BIAS),
    LINEAR(1024, 512, 2048, DIT_CASE_BIAS),
    LINEAR(1024, 1152, 1152, DIT_CASE_BIAS),
    LINEAR(1024, 3072, 768, DIT_CASE_BIAS),
    LINEAR(2048, 1152, 1152, DIT_CASE_BIAS),
    LINEAR(512, 1152, 64, DIT_CASE_BIAS),
    LINEAR(512, 1152, 64, DIT_CASE_BIAS | DIT_CASE_GELU),
    LINEAR(512, 1152, 64, DIT_CASE_BIAS | DIT_CASE_RESIDUAL),
    LINEAR(512, 1152, 64, DIT_CASE_BIAS | DIT_CASE_RESIDUAL | DIT_CASE_GATE),
    ATTENTION(64, 64, 64, 64),
    ATTENTION(32, 128, 128, 64),
    ATTENTION(16, 256, 256, 64),
    ATTENTION(8, 512, 512, 64),
    ATTENTION(4, 1024, 1024, 64),
    ATTENTION(2, 2048, 2048, 64),
    ATTENTION(64, 64, 64, 72),
    ATTENTION(32, 128, 128, 72),
    ATTENTION(16, 256, 256, 72),
    ATTENTION(8, 512, 512, 72),
    ATTENTION(4, 1024, 1024, 72),
    ATTENTION(2, 2048, 2048, 72),
    ATTENTION(64, 64, 64, 128),
    ATTENTION(32, 128, 128, 128),
    ATTENTION(16, 256, 256, 128),
    ATTENTION(8, 512, 512, 128),
    ATTENTION(4, 1024, 1024, 128),
    ATTENTION(2, 2048, 2048, 128),
    MERGE(1024, 8, 64),
    NORM(512, 1152, 0),
    NORM(512, 1152, DIT_CASE_MODULATE),
    HEADS(512, 16, 72, DIT_CASE_NORM),
    HEADS(512, 16, 72, DIT_CASE_NORM | DIT_CASE_RMS),
    HEADS(512, 16, 72, DIT_CASE_ROPE),
    COPY(64, 8, 64),
    COPY(512, 16, 64),
    COMBINE(16, 1),
    COMBINE(1 << 12, 2),
    COMBINE(1 << 14, 2),
    COMBINE(1 << 16, 2),
    COMBINE(3 << 16, 2),
    COMBINE(1 << 19, 2),
    COMBINE(1 << 20, 2),
    COMBINE(1 << 21, 2),
    COMBINE(1 << 22, 2),
    COMBINE(1 << 23, 2),
    COMBINE(1 << 19, 1),
    COMBINE(1 << 19, 3),
};
enum { SHAPE_COUNT = sizeof shapes / sizeof shapes[0] };

/* Of a message, or of each block of a collective. */
static const int64_t message_bytes[] = {64,     1024,   4096,    16384,   65536,   131072,
                                        262144, 524288, 1048576, 2097152, 4194304, 8388608};
enum { MESSAGE_COUNT = sizeof message_bytes / sizeof message_bytes[0] };

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double clock_seconds(void)
{
    return 1e-9 * (double)dit_clock_ns();
}

/* The mean over ranks, on every rank. Collective. */
static dit_status mean_over_ranks(double *value)
{
    int ranks = dit_comm_size(dit_comm_world());
    char *all;
    double sum = 0;
    int64_t *offsets = calloc((size_t)ranks + 1, sizeof *offsets);
    if (!offsets) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", ranks);
    dit_status st = dit_comm_collect(dit_comm_world(), value, (int64_t)sizeof *value, &all, offsets);
    for (int rank = 0; rank < ranks && st == DIT_OK; rank++) {
        double other;
        memcpy(&other, all + offsets[rank], sizeof other);
        sum += other;
    }
    if (st == DIT_OK) free(all);
    free(offsets);
    *value = sum / ranks;
    return st;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Reads more than the caches near a core hold: a model's weights were last used a step ago, and its activations lie
 * where the next cache has them. */
static void forget(const volatile char *lines)
{
    for (int64_t i = 0; i < COLD_BYTES; i += CACHE_LINE) (void)lines[i];
}

/* Seconds of a call that finds nothing near, the median of calls over shape_s. */
static double time_calls(dit_case_run *run, const dit_kernels *table, const char *lines)
{
    double seconds[MOST_ROUNDS], first = clock_seconds();
    int rounds = 0;
    dit_case_call(run, table);
    while (rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || clock_seconds() - first < shape_s)) {
        forget(lines);
        double begun = processor_seconds();
        dit_case_call(run, table);
        seconds[rounds++] = processor_seconds() - begun;
        if (rounds >= 3 && clock_seconds() - first > shape_limit_s) break;
    }
    return dit_stats_median(seconds, rounds);
}

static dit_status add_shape(cJSON *item, const dit_kernel_case *c)
{
    const struct {
        const char *key;
        int64_t value;
    } sizes[] = {{"rows", c->rows}, {"n", c->n},   {"k", c->k},   {"B", c->B},
                 {"H", c->H},       {"Sq", c->Sq}, {"Sk", c->Sk}, {"D", c->D}};
    const struct {
        const char *key;
        unsigned flag;
    } marks[] = {{"gelu", DIT_CASE_GELU},           {"residual", DIT_CASE_RESIDUAL}, {"gate", DIT_CASE_GATE},
                 {"modulation", DIT_CASE_MODULATE}, {"normed", DIT_CASE_NORM},       {"rms", DIT_CASE_RMS},
                 {"rotary", DIT_CASE_ROPE}};
    DIT_TRY(dit_json_add_string(item, "op", dit_operator_name(c->op)));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value) DIT_TRY(dit_json_add_int(item, sizes[i].key, sizes[i].value));
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (c->flags & marks[i].flag) cJSON_AddBoolToObject(item, marks[i].key, true);
    return DIT_OK;
}

static dit_status new_item(cJSON *times, cJSON **out)
{
    *out = cJSON_CreateObject();
    if (*out && cJSON_AddItemToArray(times, *out)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times");
}

static dit_status time_shape(const dit_kernel_case *c, const dit_kernels *table, dit_pool *pool, const char *lines,
                             cJSON *times)
{
    dit_case_run run;
    cJSON *item;
    DIT_TRY(dit_case_prepare(c, pool, table, table, &run));
    dit_status st = dit_comm_barrier(dit_comm_world());
    double seconds = st == DIT_OK ? time_calls(&run, table, lines) : 0;
    dit_case_release(&run);
    DIT_TRY(st);
    DIT_TRY(mean_over_ranks(&seconds));
    DIT_TRY(new_item(times, &item));
    DIT_TRY(add_shape(item, c));
    return dit_json_add_number(item, "seconds", seconds);
}

static dit_status time_operators(const dit_kernels *table, cJSON *times)
{
    dit_pool *pool;
    cJSON *item;
    char *lines = malloc(COLD_BYTES);
    if (!lines) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for what fills the caches");
    memset(lines, 1, COLD_BYTES);
    dit_status st = dit_pool_create(1, false, &pool);
    if (st != DIT_OK) {
        free(lines);
        return st;
    }
    double peak = dit_kernels_measure_peak_flops(pool);
    st = mean_over_ranks(&peak);
    if (st == DIT_OK) st = new_item(times, &item);
    if (st == DIT_OK) st = dit_json_add_string(item, "op", "peak");
    if (st == DIT_OK) st = dit_json_add_number(item, "flops_per_s", peak);
    for (int i = 0; i < SHAPE_COUNT && st == DIT_OK; i++) st = time_shape(&shapes[i], table, pool, lines, times);
    dit_pool_free(pool);
    free(lines);
    return st;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef struct {
    dit_comm *comm;
    char *send, *recv; /* [MESSAGE_ROOM]: one block for each rank */
} message_run;

static dit_status call_exchange(message_run *m, int64_t bytes)
{
    int size = dit_comm_size(m->comm), rank = dit_comm_rank(m->comm);
    dit_comm_exchange exchange;
    DIT_TRY(dit_comm_exchange_begin(m->comm, m->send, (rank + 1) % size, m->recv, (rank + size - 1) % size, bytes,
                                    &exchange));
    return dit_comm_exchange_wait(m->comm, &exchange);
}

static dit_status call_all_to_all(message_run *m, int64_t bytes)
{
    return dit_comm_all_to_all(m->comm, m->send, m->recv, bytes);
}

static dit_status call_all_gather(message_run *m, int64_t bytes)
{
    return dit_comm_all_gather(m->comm, m->send, m->recv, bytes);
}

static const struct {
    const char *op;
    dit_status (*call)(message_run *m, int64_t bytes);
    bool all; /* a block to everybody, not one message */
} message_kinds[] = {
    {"exchange", call_exchange, false}, {"all_to_all", call_all_to_all, true}, {"all_gather", call_all_gather, true}};
enum { MESSAGE_KINDS = sizeof message_kinds / sizeof message_kinds[0], MESSAGE_ROUNDS = 41, MESSAGE_ROOM = 64 << 20 };

static dit_status time_message(message_run *m, int kind, int64_t bytes, cJSON *times)
{
    double seconds[MESSAGE_ROUNDS], lower;
    int calls = bytes < 65536 ? 20 : 1;
    cJSON *item;
    for (int i = 0; i < 2; i++) DIT_TRY(message_kinds[kind].call(m, bytes));
    for (int round = 0; round < MESSAGE_ROUNDS; round++) {
        DIT_TRY(dit_comm_barrier(dit_comm_world()));
        double begun = clock_seconds();
        for (int i = 0; i < calls; i++) DIT_TRY(message_kinds[kind].call(m, bytes));
        seconds[round] = (clock_seconds() - begun) / calls;
    }
    lower = dit_stats_summarise(seconds, MESSAGE_ROUNDS).q1;
    DIT_TRY(mean_over_ranks(&lower));
    DIT_TRY(new_item(times, &item));
    DIT_TRY(dit_json_add_string(item, "op", message_kinds[kind].op));
    DIT_TRY(dit_json_add_int(item, "bytes", bytes));
    DIT_TRY(dit_json_add_int(item, "messages", message_kinds[kind].all ? dit_comm_size(m->comm) - 1 : 1));
    return dit_json_add_number(item, "seconds", lower);
}

static dit_status time_messages(cJSON *times)
{
    int ranks = dit_comm_size(dit_comm_world());
    size_t room = MESSAGE_ROOM;
    dit_parallel parallel = {.degree = {[DIT_AXIS_ULYSSES] = ranks}};
    dit_comm_counters counters = {0};
    message_run m = {.send = calloc(1, room), .recv = calloc(1, room)};
    dit_status st = m.send && m.recv ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for messages of %d ranks", ranks);
    if (st == DIT_OK) st = dit_comm_create(&parallel, DIT_AXIS_ULYSSES, &counters, &m.comm);
    if (st == DIT_OK) memset(m.send, 1, room), memset(m.recv, 2, room);
    for (int kind = 0; kind < MESSAGE_KINDS; kind++)
        for (int i = 0; i < MESSAGE_COUNT && st == DIT_OK && message_bytes[i] * ranks <= MESSAGE_ROOM; i++)
            st = time_message(&m, kind, message_bytes[i], times);
    dit_comm_free(m.comm);
    free(m.send);
    free(m.recv);
    return st;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static dit_status write_times(cJSON *times, const char *folder)
{
    char path[4096];
    cJSON *record = cJSON_CreateObject();
    snprintf(path, sizeof path, "%s/record.json", folder);
    dit_status st = record ? dit_json_add_string(record, "schema", "ditbench.record/1")
                           : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    DIT_KEEP_FIRST(st, dit_json_add_string(record, "program", "calibrate"));
    DIT_KEEP_FIRST(st, dit_json_add_string(record, "isa", dit_kernels_isa()));
    DIT_KEEP_FIRST(st, dit_json_add_int(record, "ranks", dit_comm_size(dit_comm_world())));
    if (st == DIT_OK && !cJSON_AddItemReferenceToObject(record, "times", times))
        st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    if (st == DIT_OK) st = dit_json_write_file(record, path, false);
    cJSON_Delete(record);
    return st;
}

static dit_status calibrate_run(const dit_program_args *args, bool *skipped)
{
    static const char *const keys[] = {"schema", "program", "backend", NULL};
    const char *backend = "cpu";
    const dit_kernels *table;
    (void)skipped;
    DIT_TRY(dit_json_only_keys(args->doc, args->doc->root, "", keys));
    DIT_TRY(dit_json_optional_string(args->doc, args->doc->root, "", "backend", &backend));
    DIT_TRY(dit_kernels_get(backend, &table));
    cJSON *times = cJSON_CreateArray();
    dit_status st = times ? time_operators(table, times) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times");
    if (st == DIT_OK && dit_comm_size(dit_comm_world()) > 1) st = time_messages(times);
    if (st == DIT_OK && dit_comm_rank(dit_comm_world()) == 0) st = write_times(times, args->out_folder);
    cJSON_Delete(times);
    return st;
}

const dit_program dit_program_calibrate = {
    .name = "calibrate",
    .help = "time operators and messages by shape, for a cost model",
    .run = calibrate_run,
};
