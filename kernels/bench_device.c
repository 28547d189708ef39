#include "kernels/bench_device.h"

#include "base/clock.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

enum { GEMM_LEAST = 256, GEMM_MOST = 8192, GEMM_CALLS = 4, GEMM_WINDOWS = 8 };
enum { MOST_ROUNDS = 15, LEAST_ROUNDS = 3, MOST_CALLS = 256, MOST_COPIES = 8 };
static const double gemm_call_ns = 1e6, round_ns = 2e6, case_ns = 1e9;

/* ---- the product of matrices ------------------------------------------------------------------------------------- */

/* Fills x evenly over [-1, 1): the power that a product takes depends on its data. */
static void fill_evenly(float *x, int64_t count)
{
    uint32_t state = 2463534242u;
    for (int64_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        x[i] = (float)(int32_t)state * 0x1p-31f;
    }
}

static dit_status gemm_fill(dit_bench_gemm *g)
{
    float *w;
    DIT_TRY(dit_arena_activations(&g->arena, g->n * g->n, &g->x));
    DIT_TRY(dit_arena_activations(&g->arena, g->n * g->n, &g->y));
    DIT_TRY(dit_arena_host(&g->arena, g->n * g->n, &w));
    fill_evenly(g->x, g->n * g->n);
    fill_evenly(w, g->n * g->n);
    const float *pieces[1] = {w}, *bias[1] = {NULL};
    DIT_TRY(g->table->linear_pack(g->pool, &g->arena, g->n, 1, pieces, bias, &g->n, &g->packed));
    return g->device ? dit_device_upload(g->device, g->x, g->n * g->n) : DIT_OK;
}

/* Measures the nanoseconds between two events, which enclose the work; on the host by the clock. */
typedef struct {
    dit_device *device;
    int64_t begin;
} stopwatch;

static void watch_begin(stopwatch *watch, dit_device *device)
{
    if (device) dit_device_forget_events(device);
    *watch = (stopwatch){device, device ? dit_device_record_event(device) : dit_clock_ns()};
}

static dit_status watch_end(const stopwatch *watch, double *ns)
{
    if (!watch->device) {
        *ns = (double)(dit_clock_ns() - watch->begin);
        return DIT_OK;
    }
    int64_t end = dit_device_record_event(watch->device);
    DIT_TRY(dit_device_synchronize(watch->device));
    *ns = (double)dit_device_elapsed_ns(watch->device, watch->begin, end);
    return *ns > 0 ? DIT_OK : DIT_FAIL(DIT_ERR_DEVICE, "the device measured no time");
}

/* Returns how many products are timed together: one, where a single call takes longer than a round. */
static int gemm_calls(const dit_bench_gemm *g)
{
    double call_ns = dit_product_work(g->n, g->n, g->n).flops * 1e9 / g->flop_per_s;
    return call_ns > round_ns ? 1 : GEMM_CALLS;
}

static dit_status gemm_measure(dit_bench_gemm *g, int calls, double *flop_per_s)
{
    const dit_linear_args args = {.weights = &g->packed, .rows = g->n, .x = g->x, .ldx = g->n, .y = g->y, .ldy = g->n};
    stopwatch watch;
    double ns;
    watch_begin(&watch, g->device);
    for (int i = 0; i < calls; i++) g->table->linear(g->pool, &args);
    DIT_TRY(watch_end(&watch, &ns));
    *flop_per_s = dit_product_work(g->n, g->n, g->n).flops * calls * 1e9 / ns;
    g->flop_per_s = fmax(g->flop_per_s, *flop_per_s);
    return DIT_OK;
}

static dit_status gemm_choose(dit_bench_gemm *g)
{
    double flop_per_s = 0;
    for (g->n = GEMM_LEAST;; g->n *= 2) {
        dit_arena_reset(&g->arena);
        DIT_TRY(gemm_fill(g));
        DIT_TRY(gemm_measure(g, 1, &flop_per_s)); /* chooses an algorithm */
        g->flop_per_s = 0;
        DIT_TRY(gemm_measure(g, 1, &flop_per_s));
        double least_ns = g->device ? gemm_call_ns : 10 * gemm_call_ns;
        if (g->n == GEMM_MOST || dit_product_work(g->n, g->n, g->n).flops * 1e9 / flop_per_s >= least_ns) return DIT_OK;
    }
}

dit_status dit_bench_gemm_measure(dit_bench_gemm *gemm, double *flop_per_s)
{
    return gemm_measure(gemm, gemm_calls(gemm), flop_per_s);
}

dit_status dit_bench_gemm_prepare(dit_pool *pool, const dit_kernels *table, dit_bench_gemm *out)
{
    double flop_per_s;
    *out = (dit_bench_gemm){.pool = pool, .table = table, .device = dit_pool_device(pool)};
    if (out->device) out->ledger = dit_case_ledger(out->device);
    dit_arena_init(&out->arena, &out->ledger, DIT_MEMORY_WEIGHTS); /* a class that cases do not use */
    DIT_TRY(gemm_choose(out));
    for (int i = 0; i < GEMM_WINDOWS; i++) DIT_TRY(dit_bench_gemm_measure(out, &flop_per_s));
    return DIT_OK;
}

void dit_bench_gemm_release(dit_bench_gemm *gemm)
{
    dit_arena_release(&gemm->arena);
    *gemm = (dit_bench_gemm){0};
}

/* ---- a case ------------------------------------------------------------------------------------------------------ */

typedef struct {
    dit_case_run *runs[MOST_COPIES], others[MOST_COPIES - 1];
    int copies, calls;
    const dit_kernels *table;
    dit_device *device;
    dit_device_graph *graph; /* NULL: the device cannot record */
} timed_case;

/* Returns how many copies of the operands it takes until the cache has lost the first copy when the last is done. */
static int copies_wanted(dit_case_run *run, dit_dtype dtype, int64_t cache_bytes)
{
    double wanted = ceil(2 * (double)cache_bytes / dit_case_bytes(run, dtype));
    return wanted < 1 ? 1 : wanted > MOST_COPIES ? MOST_COPIES : (int)wanted;
}

static dit_status copy_operands(timed_case *t, dit_case_run *run, int wanted)
{
    t->runs[0] = run;
    for (t->copies = 1; t->copies < wanted; t->copies++) {
        dit_case_run *next = &t->others[t->copies - 1];
        DIT_TRY(dit_case_prepare_beside(run, t->table, next));
        t->runs[t->copies] = next;
        DIT_TRY(dit_case_reset(next));
    }
    return DIT_OK;
}

static void call_all(timed_case *t)
{
    for (int i = 0; i < t->calls; i++) dit_case_call(t->runs[i % t->copies], t->table);
}

static dit_status one_round(timed_case *t, double *ns)
{
    stopwatch watch;
    dit_status st = DIT_OK;
    watch_begin(&watch, t->device);
    if (t->graph)
        st = dit_device_launch(t->device, t->graph);
    else
        call_all(t);
    DIT_KEEP_FIRST(st, watch_end(&watch, ns));
    *ns /= t->calls;
    return st;
}

static dit_status record_calls(timed_case *t)
{
    dit_status st = dit_device_record_begin(t->device);
    if (st == DIT_ERR_UNSUPPORTED) {
        dit_error_clear();
        return DIT_OK;
    }
    DIT_TRY(st);
    call_all(t);
    return dit_device_record_end(t->device, &t->graph);
}

/* Sets the calls of a round, a multiple of the copies. The very first round only warms up. */
static dit_status plan_calls(timed_case *t)
{
    double ns = 0;
    t->calls = t->copies;
    DIT_TRY(one_round(t, &ns));
    DIT_TRY(one_round(t, &ns));
    double turns = ceil(round_ns / (ns * t->copies)), most = MOST_CALLS / t->copies;
    t->calls = t->copies * (int)fmin(turns, most);
    DIT_TRY(record_calls(t));
    return one_round(t, &ns);
}

static dit_status time_rounds(timed_case *t, dit_bench_gemm *gemm, dit_device_timing *out)
{
    double time_ns[MOST_ROUNDS], of_gemm[MOST_ROUNDS], before, after, flops = dit_case_work(t->runs[0]).flops;
    int64_t begin = dit_clock_ns();
    int rounds = 0;
    DIT_TRY(plan_calls(t));
    DIT_TRY(gemm_measure(gemm, gemm_calls(gemm), &before));
    while (rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || (double)(dit_clock_ns() - begin) < case_ns)) {
        DIT_TRY(one_round(t, &time_ns[rounds]));
        DIT_TRY(gemm_measure(gemm, gemm_calls(gemm), &after));
        of_gemm[rounds] = flops * 1e9 / time_ns[rounds] / (0.5 * (before + after));
        before = after;
        rounds++;
    }
    *out = (dit_device_timing){.copies = t->copies, .recorded = t->graph != NULL};
    out->spread = dit_stats_summarise(time_ns, rounds);
    out->time_ns = out->spread.median;
    out->of_gemm = dit_stats_median(of_gemm, rounds);
    return DIT_OK;
}

dit_status dit_bench_device_time(dit_case_run *run, const dit_kernels *table, dit_bench_gemm *gemm, int64_t cache_bytes,
                                 dit_device_timing *out)
{
    timed_case *t = calloc(1, sizeof *t);
    if (!t) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a timed case");
    t->table = table;
    t->device = run->device;
    dit_status st = copy_operands(t, run, copies_wanted(run, dit_device_dtype(run->device), cache_bytes));
    if (st == DIT_OK) st = time_rounds(t, gemm, out);
    dit_device_graph_free(t->device, t->graph);
    for (int i = t->copies - 1; i > 0; i--) dit_case_release(t->runs[i]);
    free(t);
    return st;
}
