/* collective: measures the bus bandwidth of what ranks exchange, by size, in the conventions of nccl-tests.
 *
 * `bytes` is the size of the larger side on a rank: for all_reduce the tensor, for all_gather all that is received, for
 * reduce_scatter and all_to_all all that is sent, for send_recv the message, which goes to the next rank of a ring
 * while another comes from the rank before. algbw = bytes / seconds. busbw is algbw times a factor (table below) that
 * makes it the rate of the slowest link under ideal use of links, so that it can be compared between numbers of ranks
 * n.
 *
 * Seconds are those of one call among `iterations` calls in a row, from a barrier until the rank's device is done; the
 * maximum over ranks. All groups along the axis work at the same time. Each size is checked before it is timed, by fp32
 * values whose sums are exact in any order.
 *
 *   {"schema": "ditbench.case/1", "program": "collective", "collective": {"operations": [...], "axis": "world",
 *    "min_bytes": 8, "max_bytes": 67108864, "factor": 2, "warmup_runs": 5, "iterations": 20, "limit_s": 2},
 *    "parallel": {...}, "platform": {...}}
 * Without `parallel` all ranks are one group. Sizes that take longer than limit_s get fewer iterations, but at least 3.
 */
#include "base/exchange.h"
#include "engine/case/platform.h"
#include "engine/programs/program.h"

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/label.h"
#include "engine/comm/comm.h"
#include "engine/programs/collective.h"
#include "kernels/device.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS = DIT_EXCHANGE_COUNT, LEAST_ITERATIONS = 3 };

typedef struct {
    int64_t min_bytes, max_bytes, factor, warmup_runs, iterations;
    double limit_s;
    bool wanted[OPERATIONS];
    dit_axis axis;
} collective_config;

typedef struct {
    collective_config config;
    dit_device *device; /* NULL: host memory */
    dit_comm *comm;
    dit_memory_ledger ledger;
    dit_arena arena;
    float *send, *recv; /* [elements of max_bytes] */
    int rank, size;     /* of the group            */
    int64_t wrong;      /* wrong elements on all ranks */
    cJSON *table;
} bench;

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Arguments of a call; `block` elements are a rank's part. */
typedef struct {
    bench *b;
    int64_t elements, block;
    bool in_place;
} call_args;

static float *own_block(const call_args *a, float *buffer)
{
    return buffer + a->b->rank * a->block;
}

static dit_status call_all_reduce(const call_args *a)
{
    return dit_comm_reduce(a->b->comm, a->b->send, a->in_place ? a->b->send : a->b->recv, a->elements, false);
}

static dit_status call_reduce_scatter(const call_args *a)
{
    return dit_comm_reduce(a->b->comm, a->b->send, a->b->recv, a->elements, true);
}

static dit_status call_all_gather(const call_args *a)
{
    const float *send = a->in_place ? own_block(a, a->b->recv) : a->b->send;
    return dit_comm_all_gather(a->b->comm, send, a->b->recv, a->block * (int64_t)sizeof *send);
}

static dit_status call_all_to_all(const call_args *a)
{
    return dit_comm_all_to_all(a->b->comm, a->b->send, a->b->recv, a->block * (int64_t)sizeof *a->b->send);
}

static dit_status call_send_recv(const call_args *a)
{
    const bench *b = a->b;
    dit_comm_exchange exchange;
    DIT_TRY(dit_comm_exchange_begin(b->comm, b->send, (b->rank + 1) % b->size, b->recv,
                                    (b->rank + b->size - 1) % b->size, a->elements * (int64_t)sizeof *b->send,
                                    &exchange));
    return dit_comm_exchange_wait(b->comm, &exchange);
}

/* Returns element `i` of what `rank` sends: a whole number up to 63, so that fp32 holds the sums over all ranks. */
static float sent(int rank, int64_t i)
{
    return (float)((rank * 13 + i) % 64);
}

static float summed(const call_args *a, int64_t i)
{
    float sum = 0;
    for (int rank = 0; rank < a->b->size; rank++) sum += sent(rank, i);
    return sum;
}

static float expect_scattered(const call_args *a, int64_t i)
{
    return summed(a, a->b->rank * a->block + i);
}

static float expect_gathered(const call_args *a, int64_t i)
{
    return sent((int)(i / a->block), i % a->block);
}

static float expect_exchanged(const call_args *a, int64_t i)
{
    return sent((int)(i / a->block), a->b->rank * a->block + i % a->block);
}

static float expect_passed(const call_args *a, int64_t i)
{
    return sent((a->b->rank + a->b->size - 1) % a->b->size, i);
}

/* The operations, with their factor of busbw. An all-reduce of S bytes moves S/n from each rank to every other twice,
 * once to be added and once as the sum: 2 (n-1)/n S through each rank's link. Gathering, scattering and exchanging move
 * it once. A message crosses a link once. `whole`: the ranks share the elements; `sends_block` and `gives_block`: the
 * filled, and the checked, elements are one block instead of all. */
static const struct {
    double ranks_to_rank; /* times (n-1)/n; 0: busbw is algbw */
    bool whole, sends_block, gives_block, has_in_place;
    dit_status (*call)(const call_args *args);
    float (*expected)(const call_args *args, int64_t i);
} operations[OPERATIONS] = {
    [DIT_EXCHANGE_ALL_REDUCE] = {2, false, false, false, true, call_all_reduce, summed},
    [DIT_EXCHANGE_ALL_GATHER] = {1, true, true, false, true, call_all_gather, expect_gathered},
    [DIT_EXCHANGE_REDUCE_SCATTER] = {1, true, false, true, false, call_reduce_scatter, expect_scattered},
    [DIT_EXCHANGE_ALL_TO_ALL] = {1, true, false, false, false, call_all_to_all, expect_exchanged},
    [DIT_EXCHANGE_SEND_RECV] = {0, false, false, false, false, call_send_recv, expect_passed},
};

double dit_collective_bus_factor(const char *operation, int ranks)
{
    int i = dit_exchange_from_name(operation);
    if (i < 0) return 0;
    return operations[i].ranks_to_rank > 0 ? operations[i].ranks_to_rank * (ranks - 1) / ranks : 1;
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

/* The maximum of values[0] and the sum of values[1] over all ranks. Collective. */
static dit_status agree(double values[2])
{
    int ranks = dit_comm_size(dit_comm_world());
    int64_t *offsets = calloc((size_t)ranks + 1, sizeof *offsets);
    char *all = NULL;
    if (!offsets) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", ranks);
    dit_status st = dit_comm_collect(dit_comm_world(), values, 2 * (int64_t)sizeof *values, &all, offsets);
    values[1] = 0;
    for (int rank = 0; rank < ranks && st == DIT_OK; rank++) {
        double other[2];
        memcpy(other, all + offsets[rank], sizeof other);
        if (other[0] > values[0]) values[0] = other[0];
        values[1] += other[1];
    }
    free(all);
    free(offsets);
    return st;
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

static dit_status upload(const bench *b, const float *data, int64_t elements)
{
    return b->device ? dit_device_upload(b->device, data, elements) : DIT_OK;
}

static dit_status download(const bench *b, const float *data, int64_t elements)
{
    return b->device ? dit_device_download(b->device, data, elements) : DIT_OK;
}

static dit_status fill(const call_args *a, int operation)
{
    const bench *b = a->b;
    bool block = operations[operation].sends_block;
    float *send = block && a->in_place ? own_block(a, b->recv) : b->send;
    int64_t count = block ? a->block : a->elements;
    memset(b->recv, 0xFF, (size_t)a->elements * sizeof *b->recv); /* NaN */
    if (!a->in_place || block) DIT_TRY(upload(b, b->recv, a->elements));
    for (int64_t i = 0; i < count; i++) send[i] = sent(b->rank, i);
    return upload(b, send, count);
}

/* Makes one call with fresh values and counts the wrong results. */
static dit_status check(const call_args *a, int operation, int64_t *wrong)
{
    bench *b = a->b;
    const float *given = a->in_place && !operations[operation].sends_block ? b->send : b->recv;
    int64_t count = operations[operation].gives_block ? a->block : a->elements;
    double values[2] = {0, 0};
    DIT_TRY(fill(a, operation));
    DIT_TRY(operations[operation].call(a));
    DIT_TRY(download(b, given, count));
    for (int64_t i = 0; i < count; i++) values[1] += given[i] != operations[operation].expected(a, i);
    DIT_TRY(agree(values));
    *wrong = (int64_t)values[1];
    b->wrong += *wrong;
    return DIT_OK;
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

static dit_status synchronize(const bench *b)
{
    return b->device ? dit_device_synchronize(b->device) : DIT_OK;
}

/* Times calls: *seconds is that of one call, the maximum over ranks. */
static dit_status time_calls(const call_args *a, int operation, int64_t count, double *seconds)
{
    double values[2] = {0, 0};
    DIT_TRY(synchronize(a->b));
    DIT_TRY(dit_comm_barrier(dit_comm_world()));
    int64_t began = dit_clock_ns();
    for (int64_t i = 0; i < count; i++) DIT_TRY(operations[operation].call(a));
    DIT_TRY(synchronize(a->b));
    values[0] = 1e-9 * (double)(dit_clock_ns() - began) / (double)count;
    DIT_TRY(agree(values));
    *seconds = values[0];
    return DIT_OK;
}

static int64_t iterations_for(const collective_config *config, double seconds)
{
    double most = seconds > 0 ? config->limit_s / seconds : (double)config->iterations;
    int64_t count = most < (double)config->iterations ? (int64_t)most : config->iterations;
    int64_t least = config->iterations < LEAST_ITERATIONS ? config->iterations : LEAST_ITERATIONS;
    return count > least ? count : least;
}

typedef struct {
    int64_t bytes, iterations, wrong;
    double seconds, algbw, busbw; /* GB/s: 10^9 bytes */
} row;

static void add_row(dit_json_writer *w, bench *b, int operation, bool in_place, const row *r)
{
    cJSON *item = dit_json_put_object(w, b->table, NULL);
    dit_json_put_string(w, item, "operation", dit_exchange_names()[operation]);
    dit_json_put_int(w, item, "bytes", r->bytes);
    dit_json_put_string(w, item, "place", in_place ? "in" : "out");
    dit_json_put_int(w, item, "iterations", r->iterations);
    dit_json_put_number(w, item, "seconds", r->seconds);
    dit_json_put_number(w, item, "algbw_gb_per_s", r->algbw);
    dit_json_put_number(w, item, "busbw_gb_per_s", r->busbw);
    dit_json_put_int(w, item, "wrong", r->wrong);
    if (dit_comm_rank(dit_comm_world()) != 0) return;
    printf("%-14s %12lld  %-5s %11.1f us %9.3f %9.3f GB/s  %s\n", dit_exchange_names()[operation], (long long)r->bytes,
           in_place ? "in" : "out", r->seconds * 1e6, r->algbw, r->busbw, r->wrong ? "WRONG" : "ok");
    fflush(stdout);
}

static dit_status run_size(const call_args *a, int operation)
{
    dit_json_writer w = {0};
    bench *b = a->b;
    row r = {.bytes = a->elements * (int64_t)sizeof(float), .iterations = b->config.warmup_runs};
    DIT_TRY(check(a, operation, &r.wrong));
    DIT_TRY(time_calls(a, operation, r.iterations > 0 ? r.iterations : 1, &r.seconds));
    r.iterations = iterations_for(&b->config, r.seconds);
    DIT_TRY(time_calls(a, operation, r.iterations, &r.seconds));
    r.algbw = r.seconds > 0 ? (double)r.bytes / r.seconds * 1e-9 : 0;
    r.busbw = r.algbw * dit_collective_bus_factor(dit_exchange_names()[operation], b->size);
    add_row(&w, b, operation, a->in_place, &r);
    return w.status;
}

/* Runs all sizes. A size is cut to whole elements of whole blocks; sizes of no element are left out. */
static dit_status run_operation(bench *b, int operation)
{
    int64_t last = 0;
    for (int64_t bytes = b->config.min_bytes; bytes <= b->config.max_bytes; bytes *= b->config.factor) {
        int64_t shared = operations[operation].whole ? b->size : 1, block = bytes / (int64_t)sizeof(float) / shared;
        call_args a = {.b = b, .elements = block * shared, .block = block};
        if (a.elements == last) continue;
        last = a.elements;
        DIT_TRY(run_size(&a, operation));
        a.in_place = true;
        if (operations[operation].has_in_place) DIT_TRY(run_size(&a, operation));
    }
    return DIT_OK;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static dit_status read_operations(const dit_json *doc, const cJSON *object, collective_config *out)
{
    const cJSON *list = NULL, *item;
    DIT_TRY(dit_json_optional_array(doc, object, "/collective", "operations", &list));
    for (int i = 0; i < OPERATIONS; i++) out->wanted[i] = !list;
    cJSON_ArrayForEach(item, list)
    {
        const char *name = cJSON_GetStringValue(item);
        int found = name ? dit_exchange_from_name(name) : -1;
        if (found < 0)
            return dit_json_fail(doc, "/collective/operations", DIT_ERR_JSON_VALUE,
                                 "\"%s\" is not all_reduce, all_gather, reduce_scatter, all_to_all or send_recv",
                                 name ? name : "?");
        out->wanted[found] = true;
    }
    return DIT_OK;
}

static dit_status read_axis(const dit_json *doc, const cJSON *object, dit_axis *out)
{
    const char *name = "world";
    DIT_TRY(dit_json_optional_string(doc, object, "/collective", "axis", &name));
    if (dit_axis_from_name(name, out)) return DIT_OK;
    return dit_json_fail(doc, "/collective/axis", DIT_ERR_JSON_VALUE, "\"%s\" is neither world nor an axis", name);
}

static dit_status read_config(const dit_json *doc, collective_config *out)
{
    static const char *const keys[] = {"operations",  "axis",       "min_bytes", "max_bytes", "factor",
                                       "warmup_runs", "iterations", "limit_s",   NULL};
    const cJSON *object = NULL;
    *out = (collective_config){.min_bytes = 8,
                               .max_bytes = 64 << 20,
                               .factor = 2,
                               .warmup_runs = 5,
                               .iterations = 20,
                               .limit_s = 2,
                               .axis = DIT_AXIS_WORLD};
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "collective", &object));
    for (int i = 0; i < OPERATIONS; i++) out->wanted[i] = !object;
    if (!object) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, object, "/collective", keys));
    DIT_TRY(read_operations(doc, object, out));
    DIT_TRY(read_axis(doc, object, &out->axis));
    int64_t most = (int64_t)1 << 40;
    DIT_TRY(dit_json_optional_int(doc, object, "/collective", "min_bytes", 4, most, &out->min_bytes));
    DIT_TRY(dit_json_optional_int(doc, object, "/collective", "max_bytes", out->min_bytes, most, &out->max_bytes));
    DIT_TRY(dit_json_optional_int(doc, object, "/collective", "factor", 2, 1024, &out->factor));
    DIT_TRY(dit_json_optional_int(doc, object, "/collective", "warmup_runs", 0, 10000, &out->warmup_runs));
    DIT_TRY(dit_json_optional_int(doc, object, "/collective", "iterations", 1, 1000000, &out->iterations));
    return dit_json_optional_number(doc, object, "/collective", "limit_s", 0, 86400, &out->limit_s);
}

static dit_status open_device(const dit_case_platform *platform, bench *b)
{
    int local_rank, local_size, count = dit_device_count(platform->backend);
    dit_device_params params = {.dtype = platform->dtype};
    if (count < 1) return dit_error_last()->status != DIT_OK ? dit_error_last()->status : DIT_ERR_ENVIRONMENT;
    dit_comm_local(&local_rank, &local_size);
    params.index = local_rank % count;
    DIT_TRY(dit_device_open(platform->backend, &params, &b->device));
    b->ledger.device = dit_address_map_device(dit_device_address_map(b->device));
    b->ledger.on_device = true;
    return DIT_OK;
}

static dit_status open_bench(const dit_case_platform *platform, dit_comm_counters *counters, bench *b)
{
    int degrees = dit_parallel_world_size(platform->parallel), ranks = dit_comm_size(dit_comm_world());
    if (degrees == 1) platform->parallel->degree[DIT_AXIS_DATA] = degrees = ranks;
    if (degrees != ranks)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT, "the degrees multiply to %d, but the run has %d ranks", degrees,
                        ranks);
    const dit_kernels *table; /* only checks that the backend exists: it computes nothing here */
    if (dit_device_is_one(platform->backend))
        DIT_TRY(open_device(platform, b));
    else
        DIT_TRY(dit_kernels_get(platform->backend, &table));
    DIT_TRY(dit_comm_create(platform->parallel, b->config.axis, counters, &b->comm));
    DIT_TRY(dit_comm_set_device(b->comm, b->device, NULL));
    b->rank = dit_comm_rank(b->comm), b->size = dit_comm_size(b->comm);
    dit_arena_init(&b->arena, &b->ledger, DIT_MEMORY_COMM);
    DIT_TRY(dit_arena_fp32(&b->arena, b->config.max_bytes / (int64_t)sizeof(float), &b->send));
    return dit_arena_fp32(&b->arena, b->config.max_bytes / (int64_t)sizeof(float), &b->recv);
}

static void close_bench(bench *b)
{
    dit_comm_free(b->comm);
    if (b->arena.ledger) dit_arena_release(&b->arena);
    dit_device_close(b->device);
}

static void add_result(dit_json_writer *w, const bench *b, const dit_case_platform *platform, cJSON *record)
{
    cJSON *result = dit_json_put_object(w, record, "collective");
    dit_json_put_string(w, result, "axis", dit_axis_name(b->config.axis));
    dit_json_put_int(w, result, "ranks", b->size);
    dit_json_put_int(w, result, "groups", dit_comm_size(dit_comm_world()) / b->size);
    dit_json_put_string(w, result, "backend", platform->backend);
    dit_json_put_string(w, result, "transport", dit_comm_transport(b->comm));
    dit_json_put_int(w, result, "warmup_runs", b->config.warmup_runs);
    dit_json_put_int(w, result, "wrong", b->wrong);
    dit_json_put_reference(w, result, "table", b->table);
    cJSON *environment = dit_json_put_object(w, record, "environment");
    dit_json_put_string(w, environment, "mpi", dit_comm_library());
    dit_json_put_string(w, environment, "communicator", dit_comm_transport(b->comm));
    dit_json_put_string(w, environment, "version", DITBENCH_VERSION);
    cJSON *device = b->device ? dit_json_put_object(w, environment, "device") : NULL;
    if (device) dit_json_put_status(w, dit_device_describe(b->device, device));
}

static dit_status write_record(const bench *b, const dit_case_platform *platform, const char *folder)
{
    char path[4096], label[64];
    dit_json_writer w = {0};
    cJSON *record = dit_json_new_object(&w);
    snprintf(path, sizeof path, "%s/record.json", folder);
    dit_parallel_label(platform->parallel, label);
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "evidence", "measured");
    dit_json_put_string(&w, record, "program", "collective");
    dit_json_put_int(&w, record, "world_size", dit_comm_size(dit_comm_world()));
    dit_json_put_string(&w, dit_json_put_object(&w, record, "mesh"), "label", label);
    add_result(&w, b, platform, record);
    return dit_json_finish_file(&w, record, path, false);
}

static void print_head(const bench *b)
{
    if (dit_comm_rank(dit_comm_world()) != 0) return;
    printf("%d ranks along %s, %s\n", b->size, dit_axis_name(b->config.axis), dit_comm_transport(b->comm));
    printf("%-14s %12s  %-5s %11s    %9s %9s\n", "operation", "bytes", "place", "time", "algbw", "busbw");
}

static dit_status run_all(bench *b)
{
    print_head(b);
    for (int i = 0; i < OPERATIONS; i++)
        if (b->config.wanted[i]) DIT_TRY(run_operation(b, i));
    return DIT_OK;
}

static dit_status collective_run(const dit_program_args *args, bool *skipped)
{
    static const char *const keys[] = {"schema", "program", "collective", "parallel", "platform", NULL};
    dit_parallel parallel;
    dit_case_platform platform = {.parallel = &parallel};
    dit_comm_counters counters = {0};
    bench b = {.table = NULL};
    (void)skipped;
    DIT_TRY(dit_json_only_keys(args->doc, args->doc->root, "", keys));
    DIT_TRY(dit_case_read_platform(args->doc, &platform));
    DIT_TRY(read_config(args->doc, &b.config));
    b.table = cJSON_CreateArray();
    dit_status st = b.table ? open_bench(&platform, &counters, &b) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table");
    if (st == DIT_OK) st = run_all(&b);
    if (st == DIT_OK && dit_comm_rank(dit_comm_world()) == 0) st = write_record(&b, &platform, args->out_folder);
    if (st == DIT_OK && b.wrong)
        st = DIT_FAIL(DIT_ERR_MISMATCH, "%lld received elements differ from what the ranks sent", (long long)b.wrong);
    close_bench(&b);
    cJSON_Delete(b.table);
    return st;
}

const dit_program dit_program_collective = {
    .name = "collective",
    .help = "bus bandwidth of all-reduce, all-gather, reduce-scatter, all-to-all, send/recv by size",
    .run = collective_run,
};
