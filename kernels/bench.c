/* Runs the case list: each case is compared with the reference, then timed. Also measures the two ceilings of the
 * machine: multiply-adds in registers, and copy bandwidth.
 *
 * The speed of a shared machine drifts within seconds. So the peak is measured before and after each round of a timed
 * case, for about half as long as the round (a shorter measurement would slip between the neighbours' time slices), and
 * of_peak is the median of the rounds' own ratios.
 */
#include "kernels/bench.h"
#include "kernels/bench_device.h"
#include "kernels/cases.h"
#include "kernels/cpu/cpu.h"

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PEAK_PIECES = 16,
    PEAK_PIECES_MAX = 16 * 24,
    PEAK_ROUNDS = 40000,
    PEAK_WINDOWS = 40,
    COPY_WINDOWS = 5,
    MAX_ROUNDS = 64,
    MIN_ROUNDS = 5
};
enum { SHAPE_BYTES = 128, LINE_BYTES = 320 };
static const int64_t copy_bytes = (int64_t)96 << 20, copy_piece_bytes = (int64_t)8 << 20;
static const double round_ns = 4e6, case_ns = 1.2e8, case_limit_ns = 2.5e9;

/* ---- ceilings ---------------------------------------------------------------------------------------------------- */

typedef struct {
    const dit_cpu_isa *isa;
    _Atomic int64_t flops;
} peak_window;

static void peak_pieces(void *context, int64_t begin, int64_t end, int worker)
{
    peak_window *window = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) window->flops += (int64_t)window->isa->peak_burst(PEAK_ROUNDS);
}

/* Measures flop/s over one window of `pieces` bursts per thread; 16 bursts take one to a few milliseconds. */
static double measure_peak_window(dit_pool *pool, int64_t pieces)
{
    peak_window window = {.isa = dit_cpu_current()};
    int64_t begin = dit_clock_ns();
    dit_pool_run(pool, pieces * dit_pool_threads(pool), 1, peak_pieces, &window);
    return (double)window.flops * 1e9 / (double)(dit_clock_ns() - begin);
}

/* Returns the rate of the best window: a peak is what the machine can do, not what it did while it was disturbed. */
double dit_kernels_measure_peak_flops(dit_pool *pool)
{
    double best = 0;
    measure_peak_window(pool, PEAK_PIECES); /* wakes the threads and the clock of the cores */
    for (int i = 0; i < PEAK_WINDOWS; i++) best = fmax(best, measure_peak_window(pool, PEAK_PIECES));
    return best;
}

typedef struct {
    char *to, *from;
} copy_window;

static void copy_pieces(void *context, int64_t begin, int64_t end, int worker)
{
    copy_window *window = context;
    (void)worker;
    memcpy(window->to + begin, window->from + begin, (size_t)(end - begin));
}

/* Copy bandwidth in bytes/s (read + written) over buffers far beyond the caches, measured now. */
static double measure_bandwidth(dit_pool *pool)
{
    double best = 0;
    copy_window window = {malloc((size_t)copy_bytes), malloc((size_t)copy_bytes)};
    if (window.to && window.from) {
        memset(window.to, 1, (size_t)copy_bytes);
        memset(window.from, 2, (size_t)copy_bytes);
        for (int i = 0; i < COPY_WINDOWS; i++) {
            int64_t begin = dit_clock_ns();
            dit_pool_run(pool, copy_bytes, copy_piece_bytes, copy_pieces, &window);
            best = fmax(best, 2e9 * (double)copy_bytes / (double)(dit_clock_ns() - begin));
        }
    }
    free(window.to);
    free(window.from);
    return best;
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

typedef struct {
    char shape[SHAPE_BYTES];
    double error, tolerance, lse_error;
    bool passed, timed, has_lse;
    double time_ns, flop_per_s, of_peak, byte_per_s;
    dit_summary spread; /* over rounds, of the ns that one call takes */
    int copies;         /* of the operands on a device; 0 on the host */
} case_result;

/* The tables, threads and device that cases run on. */
typedef struct {
    const dit_kernel_bench *bench;
    const dit_kernels *table;
    dit_pool *pool;
    dit_device *device; /* NULL: the host */
    dit_bench_gemm gemm;
    int64_t cache_bytes;
} bench_place;

/* How many calls a round has, so that it is long beside the clock's resolution, and how long the peak is measured. */
typedef struct {
    int calls;
    int64_t peak_pieces;
} round_plan;

static round_plan plan_round(dit_case_run *run, const dit_kernels *table)
{
    dit_case_call(run, table);
    int64_t begin = dit_clock_ns();
    dit_case_call(run, table);
    double once = (double)(dit_clock_ns() - begin);
    begin = dit_clock_ns();
    measure_peak_window(run->pool, PEAK_PIECES);
    double window = (double)(dit_clock_ns() - begin);
    round_plan plan = {.calls = once >= round_ns ? 1 : (int)(round_ns / (once + 1)) + 1};
    double pieces = PEAK_PIECES * 0.5 * plan.calls * once / window;
    plan.peak_pieces = (int64_t)fmin(fmax(pieces, PEAK_PIECES), PEAK_PIECES_MAX);
    return plan;
}

static void time_on_host(dit_case_run *run, const dit_kernels *table, case_result *result)
{
    double time_ns[MAX_ROUNDS], of_peak[MAX_ROUNDS], spent = 0;
    double flops = dit_case_work(run).flops;
    round_plan plan = plan_round(run, table);
    int rounds = 0;
    double before = measure_peak_window(run->pool, plan.peak_pieces);
    while (rounds < MAX_ROUNDS && spent < case_limit_ns && (rounds < MIN_ROUNDS || spent < case_ns)) {
        int64_t begin = dit_clock_ns();
        for (int i = 0; i < plan.calls; i++) dit_case_call(run, table);
        double elapsed_ns = (double)(dit_clock_ns() - begin);
        double after = measure_peak_window(run->pool, plan.peak_pieces);
        time_ns[rounds] = elapsed_ns / plan.calls;
        of_peak[rounds] = flops * 1e9 / time_ns[rounds] / (0.5 * (before + after));
        rounds++;
        before = after;
        spent += elapsed_ns;
    }
    result->spread = dit_stats_summarise(time_ns, rounds);
    result->time_ns = result->spread.median;
    result->of_peak = dit_stats_median(of_peak, rounds);
}

static dit_status time_on_device(bench_place *place, dit_case_run *run, case_result *result)
{
    dit_device_timing timing;
    DIT_TRY(dit_bench_device_time(run, place->table, &place->gemm, place->cache_bytes, &timing));
    result->spread = timing.spread;
    result->copies = timing.copies;
    result->time_ns = timing.time_ns;
    result->of_peak = timing.of_gemm;
    return DIT_OK;
}

static dit_status time_case(bench_place *place, dit_case_run *run, case_result *result)
{
    dit_work work = dit_case_work(run);
    if (place->device) {
        DIT_TRY(time_on_device(place, run, result));
        work.bytes = dit_case_bytes(run, dit_device_dtype(place->device));
    } else {
        time_on_host(run, place->table, result);
    }
    result->timed = true;
    result->flop_per_s = work.flops * 1e9 / result->time_ns;
    result->byte_per_s = work.bytes * 1e9 / result->time_ns;
    return DIT_OK;
}

static dit_status check_case(bench_place *place, dit_case_run *run, const dit_kernels *reference, case_result *result)
{
    const dit_kernel_case *c = run->c;
    bool on_device = place->device != NULL;
    dit_dtype dtype = place->bench->dtype;
    dit_case_distance distance;
    DIT_TRY(dit_case_error(run, place->table, reference, &distance));
    double lse_tolerance = on_device ? dit_case_lse_tolerance(c, dtype) : dit_operator_tolerance(c->op);
    result->has_lse = run->lse_floats > 0;
    result->error = distance.out;
    result->lse_error = distance.lse;
    result->tolerance = on_device ? dit_case_tolerance(c, dtype) : dit_operator_tolerance(c->op);
    result->passed = distance.out <= result->tolerance && distance.lse <= lse_tolerance;
    return DIT_OK;
}

static dit_status run_case(const dit_kernel_case *c, bench_place *place, case_result *result)
{
    const dit_kernels *reference;
    dit_case_run run;
    DIT_TRY(dit_kernels_get("ref", &reference));
    DIT_TRY(dit_case_prepare(c, place->pool, place->table, reference, &run));
    dit_status st = check_case(place, &run, reference, result);
    if (st == DIT_OK && place->bench->time && result->passed && (c->flags & DIT_CASE_TIMED))
        st = time_case(place, &run, result);
    dit_case_release(&run);
    return st;
}

static bool is_selected(const dit_kernel_case *c, const bench_place *place, const char *shape)
{
    const char *filter = place->bench->filter;
    if ((c->flags & (DIT_CASE_LARGE | DIT_CASE_ON_DEVICE)) && !place->bench->time) return false;
    if ((c->flags & DIT_CASE_ON_DEVICE) && !place->device) return false;
    return !filter || strstr(dit_case_operator(c), filter) || strstr(shape, filter);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void show_case(const dit_kernel_bench *bench, const dit_kernel_case *c, const case_result *r)
{
    char line[LINE_BYTES];
    if (!bench->progress) return;
    int used = snprintf(line, sizeof line, "%-15s %-52s error %8.2g of %-6.2g %s", dit_case_operator(c), r->shape,
                        r->error, r->tolerance, r->passed ? "PASS" : "FAIL");
    if (r->has_lse && !r->passed) used += snprintf(line + used, sizeof line - (size_t)used, " lse %.2g", r->lse_error);
    if (r->timed)
        used += snprintf(line + used, sizeof line - (size_t)used, " %10.3f ms [%.3f, %.3f] n=%d %8.1f GFLOP/s",
                         r->time_ns / 1e6, r->spread.min / 1e6, r->spread.max / 1e6, r->spread.n, r->flop_per_s / 1e9);
    if (r->timed && dit_operator_is_compute_bound(c->op))
        snprintf(line + used, sizeof line - (size_t)used, "  %.3f of peak", r->of_peak);
    else if (r->timed)
        snprintf(line + used, sizeof line - (size_t)used, "  %.1f GB/s", r->byte_per_s / 1e9);
    bench->progress(bench->context, line);
}

/* Adds "spread_ns": the least, the quartiles, the median and the most of the rounds. */
static void add_spread(dit_json_writer *w, cJSON *item, const dit_summary *spread)
{
    cJSON *object = dit_json_put_object(w, item, "spread_ns");
    dit_json_put_int(w, object, "min", (int64_t)spread->min);
    dit_json_put_int(w, object, "q1", (int64_t)spread->q1);
    dit_json_put_int(w, object, "median", (int64_t)spread->median);
    dit_json_put_int(w, object, "q3", (int64_t)spread->q3);
    dit_json_put_int(w, object, "max", (int64_t)spread->max);
}

static void add_timing(dit_json_writer *w, cJSON *item, const dit_kernel_case *c, const case_result *r)
{
    if (!r->timed) return;
    dit_json_put_int(w, item, "time_ns", (int64_t)r->time_ns);
    dit_json_put_int(w, item, "rounds", r->spread.n);
    add_spread(w, item, &r->spread);
    if (r->copies) dit_json_put_int(w, item, "copies", r->copies);
    dit_json_put_number(w, item, "gflop_per_s", r->flop_per_s / 1e9);
    if (dit_operator_is_compute_bound(c->op)) dit_json_put_number(w, item, "of_peak", r->of_peak);
    dit_json_put_number(w, item, "gb_per_s", r->byte_per_s / 1e9);
}

static void add_case(dit_json_writer *w, cJSON *cases, const dit_kernel_case *c, const case_result *r)
{
    cJSON *item = dit_json_put_object(w, cases, NULL);
    dit_json_put_string(w, item, "op", dit_case_operator(c));
    dit_json_put_string(w, item, "shape", r->shape);
    if (isfinite(r->error)) dit_json_put_number(w, item, "max_error", r->error);
    dit_json_put_number(w, item, "tolerance", r->tolerance);
    if (r->has_lse && isfinite(r->lse_error)) dit_json_put_number(w, item, "lse_error", r->lse_error);
    dit_json_put_string(w, item, "verdict", r->passed ? "pass" : "fail");
    add_timing(w, item, c, r);
}

/* The of_peak of each timed case of one operator, in the order of the list. */
typedef struct {
    double of_peak[MAX_ROUNDS];
    int count;
} peak_summary;

static void summary_collect(peak_summary summary[DIT_OPERATOR_COUNT], const dit_kernel_case *c, const case_result *r)
{
    dit_operator op = c->op;
    if (!r->timed || !dit_case_is_compute_bound(c) || summary[op].count == MAX_ROUNDS) return;
    summary[op].of_peak[summary[op].count++] = r->of_peak;
}

static void add_summary(dit_json_writer *w, cJSON *report, const peak_summary summary[DIT_OPERATOR_COUNT])
{
    cJSON *list = dit_json_put_array(w, report, "summary");
    for (int op = 0; op < DIT_OPERATOR_COUNT; op++) {
        if (summary[op].count == 0) continue;
        dit_summary s = dit_stats_summarise(summary[op].of_peak, summary[op].count);
        cJSON *item = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, item, "op", dit_operator_name((dit_operator)op));
        dit_json_put_number(w, item, "of_peak_median", s.median);
        dit_json_put_number(w, item, "of_peak_min", s.min);
    }
}

static void add_ceilings(dit_json_writer *w, cJSON *report, const bench_place *place)
{
    dit_json_put_number(w, report, "peak_gflop_per_s", dit_kernels_measure_peak_flops(place->pool) / 1e9);
    if (!place->bench->time) return;
    dit_json_put_number(w, report, "copy_gb_per_s", measure_bandwidth(place->pool) / 1e9);
}

/* Adds what the device says of itself and, where something is timed, its rate at a matrix product. */
static dit_status add_device(cJSON *report, bench_place *place)
{
    dit_json_writer w = {0};
    cJSON *device = dit_json_put_object(&w, report, "device");
    dit_json_put_string(&w, report, "element", dit_dtype_name(place->bench->dtype));
    DIT_TRY(dit_device_describe(place->device, device));
    const cJSON *cache = cJSON_GetObjectItemCaseSensitive(device, "l2_bytes");
    place->cache_bytes = cJSON_IsNumber(cache) ? (int64_t)cache->valuedouble : 0;
    if (!place->bench->time) return w.status;
    DIT_TRY(dit_bench_gemm_prepare(place->pool, place->table, &place->gemm));
    dit_json_put_int(&w, report, "gemm_size", place->gemm.n);
    dit_json_put_number(&w, report, "peak_gflop_per_s", place->gemm.flop_per_s / 1e9);
    return w.status;
}

static dit_status add_machine(cJSON *report, bench_place *place)
{
    dit_json_writer w = {0};
    dit_json_put_string(&w, report, "backend", place->table->name);
    dit_json_put_string(&w, report, "isa", dit_kernels_isa());
    dit_json_put_int(&w, report, "threads", place->bench->threads);
    if (place->device) {
        dit_json_put_status(&w, add_device(report, place));
        return w.status;
    }
    add_ceilings(&w, report, place);
    return w.status;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

typedef struct {
    int ran, failed;
    char first_failure[LINE_BYTES];
    peak_summary summary[DIT_OPERATOR_COUNT];
} bench_totals;

static dit_status run_cases(bench_place *place, cJSON *cases, bench_totals *totals)
{
    dit_json_writer w = {0};
    const dit_kernel_case *c;
    for (int i = 0; (c = dit_case_at(DIT_CASES_CHECKED, i)); i++) {
        case_result result = {0};
        dit_case_describe(c, result.shape, sizeof result.shape);
        if (!is_selected(c, place, result.shape)) continue;
        dit_status st = run_case(c, place, &result);
        if (st != DIT_OK) return dit_error_note(st, "%s %s", dit_case_operator(c), result.shape);
        add_case(&w, cases, c, &result);
        show_case(place->bench, c, &result);
        summary_collect(totals->summary, c, &result);
        totals->ran++;
        if (result.passed || totals->failed++) continue;
        snprintf(totals->first_failure, sizeof totals->first_failure, "%s %s: error %.3g, allowed %.3g",
                 dit_case_operator(c), result.shape, result.error, result.tolerance);
    }
    return w.status;
}

static dit_status bench_at(bench_place *place, cJSON *report)
{
    dit_json_writer w = {0};
    bench_totals totals = {0};
    cJSON *cases = dit_json_put_array(&w, report, "cases");
    DIT_TRY(add_machine(report, place));
    DIT_TRY(run_cases(place, cases, &totals));
    if (totals.ran == 0) return DIT_FAIL(DIT_ERR_NOT_FOUND, "no kernel case matches '%s'", place->bench->filter);
    if (place->bench->time) add_summary(&w, report, totals.summary);
    if (totals.failed)
        return DIT_FAIL(DIT_ERR_MISMATCH, "%d of %d kernel cases differ from the reference; the first: %s",
                        totals.failed, totals.ran, totals.first_failure);
    return w.status;
}

static dit_status bench_with(const dit_kernel_bench *bench, const dit_kernels *table, dit_device *device, cJSON *report)
{
    bench_place place = {.bench = bench, .table = table, .device = device};
    DIT_TRY(dit_pool_create(bench->threads, bench->threads <= sysconf(_SC_NPROCESSORS_ONLN), &place.pool));
    dit_pool_set_device(place.pool, device);
    dit_status st = bench_at(&place, report);
    dit_bench_gemm_release(&place.gemm);
    dit_pool_free(place.pool);
    return st;
}

dit_status dit_kernels_bench_table(const dit_kernel_bench *bench, const dit_kernels *table, cJSON *report)
{
    return bench_with(bench, table, NULL, report);
}

dit_status dit_kernels_bench_device(const dit_kernel_bench *bench, dit_device *device, const dit_kernels *table,
                                    cJSON *report)
{
    return bench_with(bench, table, device, report);
}

static dit_status bench_on_device(const dit_kernel_bench *bench, cJSON *report)
{
    const dit_device_params params = {.dtype = bench->dtype};
    dit_device *device;
    DIT_TRY(dit_device_open(bench->backend, &params, &device));
    dit_status st = dit_kernels_bench_device(bench, device, dit_device_kernels(device), report);
    dit_device_close(device);
    return st;
}

dit_status dit_kernels_bench(const dit_kernel_bench *bench, cJSON *report)
{
    const dit_kernels *table;
    if (dit_device_is_one(bench->backend)) return bench_on_device(bench, report);
    if (bench->dtype != DIT_DTYPE_FP32)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "backend %s computes in fp32, not in %s", bench->backend,
                        dit_dtype_name(bench->dtype));
    DIT_TRY(dit_kernels_get(bench->backend, &table));
    return dit_kernels_bench_table(bench, table, report);
}
