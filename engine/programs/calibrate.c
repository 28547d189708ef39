/* calibrate: times operators and messages by shape on this machine; a cost model is fitted to these raw times.
 *
 * All ranks do the same work at the same time, so with as many ranks as cores the times are those of a busy machine.
 * Operators are timed by the processor time of the rank's one thread, which leaves out what other programs take;
 * messages by the clock, because waiting is part of them. A time is the lower quartile over rounds and the mean over
 * ranks. The record is {"schema": "ditbench.record/1", "program": "calibrate", "ranks", "times": [{"op", ...,
 * "seconds"}]}.
 *
 * On a device, operators are timed by the device's events, after a call that clears their operands from its caches.
 * This call takes so long that the host has meanwhile issued everything else, so no host time lies between the events.
 *
 * The shapes come from the operators' files in kernels/cases: their lists `core`, `device` and `few`.
 */
#include "engine/programs/program.h"

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/stats.h"
#include "engine/comm/comm.h"
#include "engine/timing/timing.h"
#include "kernels/cases.h"
#include "kernels/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 400, LEAST_ROUNDS = 9, COLD_BYTES = 64 << 20, CACHE_LINE = 64 };
static const double shape_s = 0.25, shape_limit_s = 1.5;

/* Floats that the clearing call reads and writes: more than any cache of a device holds. */
enum { FLUSH_FLOATS = 1 << 25, FEW_FLUSH_FLOATS = 1 << 10 };

/* Bytes of a message, or of each block of a collective. */
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

/* Replaces *value by its mean over ranks. Collective. */
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

/* Clears the caches near the core by reading more than they hold. A model's weights were last used a step ago, and its
 * activations lie in the next cache. */
static void forget(const volatile char *lines)
{
    for (int64_t i = 0; i < COLD_BYTES; i += CACHE_LINE) (void)lines[i];
}

/* Returns the seconds of a call that finds nothing in the near caches, the median of calls over shape_s. */
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

static void add_shape(dit_json_writer *w, cJSON *item, const dit_kernel_case *c)
{
    const struct {
        const char *key;
        unsigned flag;
    } marks[] = {{"gelu", DIT_CASE_GELU},           {"residual", DIT_CASE_RESIDUAL}, {"gate", DIT_CASE_GATE},
                 {"modulation", DIT_CASE_MODULATE}, {"normed", DIT_CASE_NORM},       {"rms", DIT_CASE_RMS},
                 {"rotary", DIT_CASE_ROPE}};
    const char *key;
    int64_t value;
    dit_json_put_string(w, item, "op", dit_case_operator(c));
    for (int i = 0; dit_case_size(c, i, &key, &value); i++)
        if (value) dit_json_put_int(w, item, key, value);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (c->flags & marks[i].flag) dit_json_put_bool(w, item, marks[i].key, true);
}

static dit_status time_shape(const dit_kernel_case *c, const dit_kernels *table, dit_pool *pool, const char *lines,
                             cJSON *times)
{
    dit_json_writer w = {0};
    dit_case_run run;
    DIT_TRY(dit_case_prepare(c, pool, table, table, &run));
    dit_status st = dit_comm_barrier(dit_comm_world());
    double seconds = st == DIT_OK ? time_calls(&run, table, lines) : 0;
    dit_case_release(&run);
    DIT_TRY(st);
    DIT_TRY(mean_over_ranks(&seconds));
    cJSON *item = dit_json_put_object(&w, times, NULL);
    add_shape(&w, item, c);
    dit_json_put_number(&w, item, "seconds", seconds);
    return w.status;
}

static dit_status add_peak(cJSON *times, double flops_per_s)
{
    dit_json_writer w = {0};
    cJSON *item = dit_json_put_object(&w, times, NULL);
    dit_json_put_string(&w, item, "op", "peak");
    dit_json_put_number(&w, item, "flops_per_s", flops_per_s);
    return w.status;
}

static dit_status time_host_operators(const dit_kernels *table, cJSON *times)
{
    dit_pool *pool;
    char *lines = malloc(COLD_BYTES);
    if (!lines) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for clearing the caches");
    memset(lines, 1, COLD_BYTES);
    dit_status st = dit_pool_create(1, false, &pool);
    if (st != DIT_OK) {
        free(lines);
        return st;
    }
    double peak = dit_kernels_measure_peak_flops(pool);
    st = mean_over_ranks(&peak);
    if (st == DIT_OK) st = add_peak(times, peak);
    const dit_kernel_case *c;
    for (int i = 0; st == DIT_OK && (c = dit_case_at(DIT_CASES_CORE, i)); i++)
        st = time_shape(c, table, pool, lines, times);
    dit_pool_free(pool);
    free(lines);
    return st;
}

/* ---- operators of a device --------------------------------------------------------------------------------------- */

typedef struct {
    dit_device *device;
    const dit_kernels *table, *host; /* host: packs weights that are never used */
    dit_pool *pool;
    dit_memory_ledger ledger; /* of `flush` alone: cases have a ledger and a class of their own */
    dit_arena arena;
    dit_combine_args flush;
    bool few;
} device_timer;

enum { DEVICE_ROUNDS = 20, DISPATCHES = 200 };

/* Allocates the two arrays that the clearing call uses. */
static dit_status prepare_flush(device_timer *t)
{
    const int64_t floats = t->few ? FEW_FLUSH_FLOATS : FLUSH_FLOATS;
    float *x, *y;
    t->ledger =
        (dit_memory_ledger){.on_device = true, .device = dit_address_map_device(dit_device_address_map(t->device))};
    dit_arena_init(&t->arena, &t->ledger, DIT_MEMORY_STATE);
    DIT_TRY(dit_arena_fp32(&t->arena, floats, &x));
    DIT_TRY(dit_arena_fp32(&t->arena, floats, &y));
    t->flush = (dit_combine_args){.elements = floats, .count = 1, .y = y};
    t->flush.x[0] = x;
    t->flush.a[0] = 1;
    return dit_device_upload(t->device, x, floats);
}

static dit_status open_device(const char *backend, dit_dtype dtype, device_timer *t)
{
    int count = dit_device_count(backend), local, locals;
    if (count < 1) return dit_error_last()->status != DIT_OK ? dit_error_last()->status : DIT_ERR_ENVIRONMENT;
    dit_comm_local(&local, &locals);
    DIT_TRY(dit_device_open(backend, &(dit_device_params){.index = local % count, .dtype = dtype}, &t->device));
    DIT_TRY(dit_pool_create(1, false, &t->pool));
    DIT_TRY(dit_kernels_get("ref", &t->host));
    t->table = dit_device_kernels(t->device);
    dit_pool_set_device(t->pool, t->device);
    return prepare_flush(t);
}

static void close_device(device_timer *t)
{
    dit_arena_release(&t->arena);
    dit_pool_free(t->pool);
    dit_device_close(t->device);
}

/* Times a call that finds nothing in the caches: the median over rounds, after two rounds that choose algorithms. */
static dit_status time_device_calls(device_timer *t, dit_case_run *run, double *out)
{
    double seconds[DEVICE_ROUNDS];
    int64_t from[DEVICE_ROUNDS], to[DEVICE_ROUNDS];
    dit_case_call(run, t->table);
    dit_case_call(run, t->table);
    DIT_TRY(dit_device_synchronize(t->device));
    for (int i = 0; i < DEVICE_ROUNDS; i++) {
        t->table->combine(t->pool, &t->flush);
        from[i] = dit_device_record_event(t->device);
        dit_case_call(run, t->table);
        to[i] = dit_device_record_event(t->device);
    }
    DIT_TRY(dit_device_synchronize(t->device));
    for (int i = 0; i < DEVICE_ROUNDS; i++) {
        int64_t elapsed_ns = dit_device_elapsed_ns(t->device, from[i], to[i]);
        if (elapsed_ns < 0) return DIT_FAIL(DIT_ERR_DEVICE, "device %s cannot time events", dit_device_name(t->device));
        seconds[i] = 1e-9 * (double)(elapsed_ns > 0 ? elapsed_ns : 1);
    }
    dit_device_forget_events(t->device);
    *out = dit_stats_median(seconds, DEVICE_ROUNDS);
    return DIT_OK;
}

static dit_status time_device_shape(device_timer *t, const dit_kernel_case *c, cJSON *times)
{
    dit_json_writer w = {0};
    dit_case_run run;
    double seconds = 0;
    DIT_TRY(dit_case_prepare(c, t->pool, t->table, t->host, &run));
    dit_status st = dit_comm_barrier(dit_comm_world());
    if (st == DIT_OK) st = time_device_calls(t, &run, &seconds);
    dit_case_release(&run);
    DIT_TRY(st);
    DIT_TRY(mean_over_ranks(&seconds));
    cJSON *item = dit_json_put_object(&w, times, NULL);
    add_shape(&w, item, c);
    dit_json_put_number(&w, item, "seconds", seconds);
    return w.status;
}

static dit_status add_host_time(cJSON *times, const char *op, double seconds)
{
    dit_json_writer w = {0};
    DIT_TRY(mean_over_ranks(&seconds));
    cJSON *item = dit_json_put_object(&w, times, NULL);
    dit_json_put_string(&w, item, "op", op);
    dit_json_put_number(&w, item, "seconds", seconds);
    return w.status;
}

/* Times the host: how long it takes to issue an operator while the device is busy, and to find the device idle. */
static dit_status time_host(device_timer *t, cJSON *times)
{
    static const dit_kernel_case small = {DIT_OPERATOR_COMBINE, {1 << 10, 2}, 0}; /* elements, count */
    dit_case_run run;
    double seconds[DEVICE_ROUNDS];
    DIT_TRY(dit_case_prepare(&small, t->pool, t->table, t->host, &run));
    dit_status st = DIT_OK;
    for (int i = 0; i < DEVICE_ROUNDS && st == DIT_OK; i++) {
        double begun = clock_seconds();
        for (int k = 0; k < DISPATCHES; k++) dit_case_call(&run, t->table);
        seconds[i] = (clock_seconds() - begun) / DISPATCHES;
        st = dit_device_synchronize(t->device);
    }
    if (st == DIT_OK) st = add_host_time(times, "dispatch", dit_stats_median(seconds, DEVICE_ROUNDS));
    for (int i = 0; i < DEVICE_ROUNDS && st == DIT_OK; i++) {
        double begun = clock_seconds();
        st = dit_device_synchronize(t->device);
        seconds[i] = clock_seconds() - begun;
    }
    if (st == DIT_OK) st = add_host_time(times, "synchronise", dit_stats_median(seconds, DEVICE_ROUNDS));
    dit_case_release(&run);
    return st;
}

static dit_status time_device_operators(device_timer *t, cJSON *times)
{
    const dit_case_list list = t->few ? DIT_CASES_FEW : DIT_CASES_DEVICE;
    const dit_kernel_case *c;
    for (int i = 0; (c = dit_case_at(list, i)); i++) DIT_TRY(time_device_shape(t, c, times));
    return time_host(t, times);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef struct {
    dit_comm *comm;
    dit_device *device; /* NULL: host memory */
    char *send, *recv;  /* [MESSAGE_ROOM]: one block for each rank */
    dit_memory_ledger ledger;
    dit_arena arena;
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
    bool all; /* true: a block to every rank; false: one message */
} message_kinds[] = {
    {"exchange", call_exchange, false}, {"all_to_all", call_all_to_all, true}, {"all_gather", call_all_gather, true}};
enum { MESSAGE_KINDS = sizeof message_kinds / sizeof message_kinds[0], MESSAGE_ROUNDS = 41, MESSAGE_ROOM = 64 << 20 };

static dit_status time_message(message_run *m, int kind, int64_t bytes, cJSON *times)
{
    dit_json_writer w = {0};
    double seconds[MESSAGE_ROUNDS], lower;
    int calls = bytes < 65536 ? 20 : 1;
    for (int i = 0; i < 2; i++) DIT_TRY(message_kinds[kind].call(m, bytes));
    for (int round = 0; round < MESSAGE_ROUNDS; round++) {
        DIT_TRY(dit_comm_barrier(dit_comm_world()));
        double begun = clock_seconds();
        for (int i = 0; i < calls; i++) DIT_TRY(message_kinds[kind].call(m, bytes));
        if (m->device) DIT_TRY(dit_device_synchronize(m->device));
        seconds[round] = (clock_seconds() - begun) / calls;
    }
    lower = dit_stats_summarise(seconds, MESSAGE_ROUNDS).q1;
    DIT_TRY(mean_over_ranks(&lower));
    cJSON *item = dit_json_put_object(&w, times, NULL);
    dit_json_put_string(&w, item, "op", message_kinds[kind].op);
    dit_json_put_int(&w, item, "bytes", bytes);
    dit_json_put_int(&w, item, "messages", message_kinds[kind].all ? dit_comm_size(m->comm) - 1 : 1);
    dit_json_put_number(&w, item, "seconds", lower);
    return w.status;
}

/* Allocates the buffers and writes them once before they are timed. */
static dit_status take_room(message_run *m)
{
    const int64_t floats = MESSAGE_ROOM / (int64_t)sizeof(float);
    float *send, *recv;
    if (m->device) {
        m->ledger.on_device = true;
        m->ledger.device = dit_address_map_device(dit_device_address_map(m->device));
    }
    dit_arena_init(&m->arena, &m->ledger, DIT_MEMORY_COMM);
    DIT_TRY(dit_arena_fp32(&m->arena, floats, &send));
    DIT_TRY(dit_arena_fp32(&m->arena, floats, &recv));
    m->send = (char *)send;
    m->recv = (char *)recv;
    memset(m->send, 1, MESSAGE_ROOM);
    memset(m->recv, 2, MESSAGE_ROOM);
    if (!m->device) return DIT_OK;
    DIT_TRY(dit_device_upload(m->device, send, floats));
    return dit_device_upload(m->device, recv, floats);
}

static dit_status time_messages(dit_device *device, cJSON *times)
{
    int ranks = dit_comm_size(dit_comm_world());
    dit_parallel parallel = {.degree = {[DIT_AXIS_ULYSSES] = ranks}};
    dit_comm_counters counters = {0};
    dit_timing *timing = NULL;
    message_run m = {.device = device};
    dit_status st = take_room(&m);
    if (st == DIT_OK) st = dit_timing_create(device, &timing);
    if (st == DIT_OK) st = dit_comm_create(&parallel, DIT_AXIS_ULYSSES, &counters, &m.comm);
    if (st == DIT_OK) st = dit_comm_set_device(m.comm, device, timing);
    for (int kind = 0; kind < MESSAGE_KINDS; kind++)
        for (int i = 0; i < MESSAGE_COUNT && st == DIT_OK && message_bytes[i] * ranks <= MESSAGE_ROOM; i++)
            st = time_message(&m, kind, message_bytes[i], times);
    dit_comm_free(m.comm);
    dit_timing_free(timing);
    dit_arena_release(&m.arena);
    return st;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *backend;
    dit_dtype dtype; /* of a device */
    bool few;
} request;

static dit_status write_times(const request *asked, const cJSON *device, const cJSON *times, const char *folder)
{
    dit_json_writer w = {0};
    char path[4096];
    cJSON *record = dit_json_new_object(&w);
    snprintf(path, sizeof path, "%s/record.json", folder);
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "program", "calibrate");
    dit_json_put_string(&w, record, "isa", dit_kernels_isa());
    if (device) dit_json_put_string(&w, record, "element", dit_dtype_name(asked->dtype));
    dit_json_put_reference(&w, record, "device", device);
    dit_json_put_int(&w, record, "ranks", dit_comm_size(dit_comm_world()));
    dit_json_put_reference(&w, record, "times", times);
    return dit_json_finish_file(&w, record, path, false);
}

static dit_status read_request(const dit_json *doc, request *out)
{
    static const char *const keys[] = {"schema", "program", "backend", "element", "few", NULL};
    const char *dtype = NULL;
    *out = (request){.backend = "cpu"};
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "backend", &out->backend));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "element", &dtype));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "few", &out->few));
    out->dtype = strcmp(out->backend, "cuda") == 0 ? DIT_DTYPE_BF16 : DIT_DTYPE_FP32;
    if (!dtype || dit_dtype_from_name(dtype, &out->dtype)) return DIT_OK;
    return dit_json_fail(doc, "/element", DIT_ERR_JSON_VALUE, "\"%s\" is not a dtype: fp32, bf16 or fp16", dtype);
}

static dit_status time_host_machine(const request *asked, cJSON *times)
{
    const dit_kernels *table;
    DIT_TRY(dit_kernels_get(asked->backend, &table));
    DIT_TRY(time_host_operators(table, times));
    return dit_comm_size(dit_comm_world()) > 1 ? time_messages(NULL, times) : DIT_OK;
}

static dit_status time_device(const request *asked, cJSON *device, cJSON *times)
{
    device_timer t = {.few = asked->few};
    dit_status st = open_device(asked->backend, asked->dtype, &t);
    if (st == DIT_OK) st = dit_device_describe(t.device, device);
    if (st == DIT_OK) st = time_device_operators(&t, times);
    if (st == DIT_OK && dit_comm_size(dit_comm_world()) > 1) st = time_messages(t.device, times);
    close_device(&t);
    return st;
}

static dit_status calibrate_run(const dit_program_args *args, bool *skipped)
{
    request asked;
    (void)skipped;
    DIT_TRY(read_request(args->doc, &asked));
    bool on_device = dit_device_is_one(asked.backend);
    cJSON *times = cJSON_CreateArray(), *device = on_device ? cJSON_CreateObject() : NULL;
    dit_status st = times && (device || !on_device) ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times");
    if (st == DIT_OK) st = on_device ? time_device(&asked, device, times) : time_host_machine(&asked, times);
    if (st == DIT_OK && dit_comm_rank(dit_comm_world()) == 0) st = write_times(&asked, device, times, args->out_folder);
    cJSON_Delete(times);
    cJSON_Delete(device);
    return st;
}

const dit_program dit_program_calibrate = {
    .name = "calibrate",
    .help = "time operators and messages by shape, for a cost model",
    .run = calibrate_run,
};
