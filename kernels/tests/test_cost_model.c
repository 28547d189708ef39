/* The cost model of one device: products, attention and passes over memory by hand, published ones within a stated
 * tolerance, and what no time may do. */
#include "kernels/cost/model.h"

#include "base/stats.h"

#include "kernels/tests/cost_fixture.h"

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

static void one_wave_of_tiles_takes_the_time_of_one_tile(void **state)
{
    dit_cost_device d = round_device();
    (void)state;
    double tile_s = 2.0 * 128 * 256 * 10000 / 1e12;                                           /* 655.36 us */
    assert_close(dit_cost_gemm_seconds(&d, 10 * 128, 10 * 256, 10000), 1e-6 + tile_s, 1e-12); /* 100 tiles */
    d.gemm_fill_k = 100;                                                                      /* one percent of k */
    assert_close(dit_cost_gemm_seconds(&d, 10 * 128, 10 * 256, 10000), 1e-6 + 1.01 * tile_s, 1e-12);
    d.gemm_ceiling = 0.5;
    assert_close(dit_cost_gemm_seconds(&d, 10 * 128, 10 * 256, 10000), 1e-6 + 2.02 * tile_s, 1e-12);
}

/* A processor of 1 Tflop/s writes the 64 KiB of a tile with its 10 GB/s of the memory, and computes nothing. */
static void a_tile_is_written_while_its_processor_computes_nothing(void **state)
{
    dit_cost_device d = round_device();
    (void)state;
    double write_s = 2.0 * 128 * 256 / 10e9, compute_s = 2.0 * 128 * 256 * 1000 / 1e12;
    d.gemm_fill_k = dit_cost_fill_k(&d, false);
    assert_close(d.gemm_fill_k, 100, 1e-12); /* peak / bandwidth */
    assert_close(dit_cost_gemm_seconds(&d, 10 * 128, 10 * 256, 1000), 1e-6 + compute_s + write_s, 1e-12);
    assert_close(dit_cost_fill_k(&d, true), 50, 1e-12);
    d.element_bytes = 4;
    assert_close(dit_cost_fill_k(&d, false), 200, 1e-12);
    dit_cost_profile eager = profile_named("pytorch-eager"); /* from the facts of the files: Ampere, and Hopper */
    assert_close(device_named("a100-sxm-80", &eager).gemm_fill_k, 312e12 / 2039e9, 1e-12);
    assert_close(device_named("h20", &eager).gemm_fill_k, 148e12 / 4000e9 / 2, 1e-12);
}

static void one_row_more_than_a_wave_costs_another_wave_of_the_best_tile(void **state)
{
    dit_cost_device d = round_device();
    (void)state;
    /* 11 x 10 large tiles are two waves; 11 x 20 of half the size are three at 0.9, 22 x 20 quarters five at 0.75 */
    double half_s = 128.0 * 256 * 10000 / 1e12, quarter_s = half_s / 2;
    double want = fmin(2 * 2 * half_s, fmin(3 * half_s / 0.9, 5 * quarter_s / 0.75));
    assert_close(dit_cost_gemm_seconds(&d, 10 * 128 + 1, 10 * 256, 10000), 1e-6 + want, 1e-12);
}

static void a_thin_product_waits_for_its_weights(void **state)
{
    dit_cost_device d = round_device();
    (void)state;
    d.peak_flops_per_s = 400e12;
    double bytes = 2.0 * (1 * 16384 + 16384.0 * 16384 + 1 * 16384);
    assert_close(dit_cost_gemm_seconds(&d, 1, 16384, 16384), 1e-6 + bytes / 1e12, 1e-12);
}

static void a_convolution_reads_its_picture_once(void **state)
{
    dit_cost_device d = round_device();
    (void)state;
    d.peak_flops_per_s = 1e18; /* only memory counts */
    double product = dit_cost_gemm_seconds(&d, 4096, 64, 9 * 64),
           conv = dit_cost_conv_seconds(&d, 4096, 64, 576, 4096 * 64);
    assert_close(conv, 1e-6 + 2.0 * (4096 * 64 + 64 * 576 + 4096 * 64) / 1e12, 1e-3);
    assert_true(product > 4 * (conv - 1e-6));
}

static void curves_are_exact_at_their_knots_and_logarithmic_between(void **state)
{
    dit_cost_curve c = {3, {1, 100, 10000}, {1, 2, 4}};
    (void)state;
    for (int i = 0; i < c.count; i++) assert_close(dit_cost_curve_at(&c, c.x[i]), c.y[i], 0);
    assert_close(dit_cost_curve_at(&c, 10), 1.5, 1e-12);
    assert_close(dit_cost_curve_at(&c, 1000), 3, 1e-12);
    assert_close(dit_cost_curve_at(&c, 0.5), 1, 0);
    assert_close(dit_cost_curve_at(&c, 1e9), 4, 0);
    assert_close(dit_cost_curve_at(&(dit_cost_curve){0}, 7), 1, 0);
}

static void attention_fills_heads_up_to_the_granularity(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_attention a = {.B = 2, .H = 16, .Sq = 4096, .Sk = 4096, .D = 96, .seen = 1};
    (void)state;
    double padded = dit_cost_attention_seconds(&d, &a);
    assert_close(padded, 1e-6 + 4.0 * 32 * 4096 * 4096 * 96 / 80e12, 1e-12);
    a.D = 72;
    assert_close(dit_cost_attention_seconds(&d, &a), padded, 0);
    a.seen = 0.5;
    assert_close(dit_cost_attention_seconds(&d, &a) - 1e-6, (padded - 1e-6) / 2, 1e-12);
}

/* 80 TFLOP/s with heads of 128 are 6.4 ps a pair; 0.4 of them an exponential leave 6 for the products, 3 with 64. */
static void exponentials_cost_small_heads_as_much_as_large_ones(void **state)
{
    (void)state;
    dit_cost_device d = round_device();
    dit_cost_attention a = {.B = 1, .H = 64, .Sq = 4096, .Sk = 4096, .D = 64, .seen = 1};
    double pairs = 64.0 * 4096 * 4096, plain_s = dit_cost_attention_seconds(&d, &a) - 1e-6;
    assert_close(plain_s, pairs * 3.2e-12, 1e-9);
    d.exponentials_per_s = 2.5e12;
    assert_close(dit_cost_attention_seconds(&d, &a) - 1e-6, pairs * 3.4e-12, 1e-9);
    a.D = 128;
    assert_close(dit_cost_attention_seconds(&d, &a) - 1e-6, pairs * 6.4e-12, 1e-9);
}

static void few_tiles_leave_processors_idle_and_few_keys_have_a_start(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_attention a = {.B = 1, .H = 1, .Sq = 128, .Sk = 1024, .D = 128, .seen = 1};
    (void)state;
    double tile_s = 4.0 * 128 * 1024 * 128 / (50e12 / 100);
    assert_close(dit_cost_attention_seconds(&d, &a), 1e-6 + tile_s, 1e-12);
    a.H = 100; /* a hundred tiles side by side take as long as one */
    assert_close(dit_cost_attention_seconds(&d, &a), 1e-6 + tile_s, 1e-12);
    a.H = 150;
    assert_close(dit_cost_attention_seconds(&d, &a), 1e-6 + 1.5 * tile_s, 1e-12);
    a.H = 100;
    a.Sk = 120; /* 128, and 128 more to start and end: 256 of the knot's 1152 */
    assert_close(dit_cost_attention_seconds(&d, &a), 1e-6 + tile_s * 256 / 1152, 1e-12);
}

/* 200 tiles for 100 processors: half of the pairs, and at the end half of what a whole tile takes. */
static void under_a_causal_mask_the_last_tiles_are_waited_for(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_attention a = {.B = 1, .H = 200, .Sq = 128, .Sk = 1024, .D = 128, .seen = 0.5};
    double tile_s = 4.0 * 128 * 1024 * 128 / (50e12 / 100);
    (void)state;
    assert_close(dit_cost_attention_seconds(&d, &a), 1e-6 + 200 * 0.5 / 100 * tile_s, 1e-12);
    a.uneven = 1;
    assert_close(dit_cost_attention_seconds(&d, &a), 1e-6 + (1 + 0.495) * tile_s, 1e-12);
    a.H = 2000; /* it is no longer for more tiles */
    assert_close(dit_cost_attention_seconds(&d, &a), 1e-6 + (10 + 0.495) * tile_s, 1e-12);
    a.H = 100; /* one on each: as long as the longest */
    assert_close(dit_cost_attention_seconds(&d, &a), 1e-6 + (0.5 + 0.495) * tile_s, 1e-12);
    d.processors = 1; /* nobody waits for nobody */
    assert_close(dit_cost_attention_seconds(&d, &a), 1e-6 + 50 * tile_s / 100, 1e-12);
}

static void a_kernel_behind_attention_has_processors_at_its_end(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_attention a = {.B = 1, .H = 75, .Sq = 128, .Sk = 1024, .D = 128, .seen = 1};
    (void)state;
    assert_close(dit_cost_attention_last_share(&d, &a, 25), 1, 0); /* free from the start */
    a.H = 76;
    assert_close(dit_cost_attention_last_share(&d, &a, 25), 0.5, 1e-12);
    a.H = 800; /* a quarter of the tiles, until both of 25 processors are done: (25 / 100)^(1/2) of that */
    assert_close(dit_cost_attention_last_share(&d, &a, 25), 0.25 * 0.5, 1e-12);
    dit_cost_profile p = {.communication_processors = 25};
    dit_cost_op op = {.kind = DIT_COST_OP_ATTENTION, .attention = a, .elements = 1};
    dit_cost_time time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.last_s, 0.125 * time.device_s, 1e-12);
    op = (dit_cost_op){.kind = DIT_COST_OP_COPY, .elements = 1000};
    p.parts[DIT_COST_PART_COPY] = (dit_cost_part_work){1, 2};
    time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.last_s, time.device_s, 0);
}

static void elementwise_is_bytes_over_the_bandwidth_that_so_many_bytes_get(void **state)
{
    dit_cost_device d = round_device();
    (void)state;
    d.bandwidth_fraction = (dit_cost_curve){2, {1e6, 1e8}, {0.5, 0.9}};
    assert_close(dit_cost_elementwise_seconds(&d, 1e6), 1e-6 + 2e-6, 1e-12);
    assert_close(dit_cost_elementwise_seconds(&d, 1e7), 1e-6 + 1e7 / 0.7e12, 1e-12);
    assert_close(dit_cost_elementwise_seconds(&d, 9e8), 1e-6 + 1e-3, 1e-12);
    assert_close(dit_cost_elementwise_seconds(&d, 0), 0, 0);
}

/* A cache of 100 MB, 2.5 times as fast: all of it up to 70 MB, half of the gain at 105, nothing from 140 on. */
static void passes_that_fit_the_last_cache_are_faster(void **state)
{
    dit_cost_device d = round_device();
    (void)state;
    d.l2_bytes = 100e6;
    assert_close(dit_cost_elementwise_seconds(&d, 50e6), 1e-6 + 50e-6, 1e-12); /* without a speed: off */
    d.l2_speed = 2.5;
    assert_close(dit_cost_elementwise_seconds(&d, 50e6), 1e-6 + 20e-6, 1e-12);
    assert_close(dit_cost_elementwise_seconds(&d, 70e6), 1e-6 + 28e-6, 1e-12);
    assert_close(dit_cost_elementwise_seconds(&d, 105e6), 1e-6 + 60e-6, 1e-12);
    assert_close(dit_cost_elementwise_seconds(&d, 140e6), 1e-6 + 140e-6, 1e-12);
    dit_cost_profile eager = profile_named("pytorch-eager");
    assert_close(device_named("l40", &eager).l2_bytes * device_named("l40", &eager).l2_speed, 240.0 * (1 << 20), 1e-12);
    assert_close(device_named("a100-sxm-80", &eager).l2_speed, 0, 0);
}

static void processors_that_communicate_do_not_compute(void **state)
{
    dit_cost_device d = round_device(), left = dit_cost_device_beside(&d, 20);
    dit_cost_attention a = {.B = 8, .H = 100, .Sq = 1024, .Sk = 1024, .D = 128, .seen = 1};
    (void)state;
    double alone = dit_cost_gemm_seconds(&d, 1280, 2560, 10000) - 1e-6;
    assert_true(dit_cost_gemm_seconds(&left, 1280, 2560, 10000) - 1e-6 > alone / 0.8); /* and a second wave */
    assert_close((dit_cost_attention_seconds(&left, &a) - 1e-6) * 0.8, dit_cost_attention_seconds(&d, &a) - 1e-6,
                 1e-12);
    assert_close(dit_cost_elementwise_seconds(&left, 1e8), dit_cost_elementwise_seconds(&d, 1e8), 0);
    assert_close(dit_cost_device_beside(&d, 1000).processors, 1, 0);
    assert_close(dit_cost_device_beside(&d, 0).peak_flops_per_s, d.peak_flops_per_s, 0);
}

/* ---- published --------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *source, *accelerator;
    int64_t rows, n, k;
    double tflops;
    bool call; /* timed from the host: dispatch and synchronisation included */
} gemm_row;

/* LLMCompass: its A100 matmul CSV. Vidur: derived from its operator times. All of them were
 * looked at when the efficiencies of smaller tiles and gemm_fill_k were chosen (kernels/cost/model.c): none of these
 * residuals is of rows that nobody had seen. */
static const gemm_row gemm_rows[] = {
    {"LLMCompass", "a100-sxm-80", 64, 12288, 12288, 101.7, true},
    {"LLMCompass", "a100-sxm-80", 128, 12288, 12288, 193, true},
    {"LLMCompass", "a100-sxm-80", 256, 12288, 12288, 242.7, true},
    {"LLMCompass", "a100-sxm-80", 512, 12288, 12288, 252.7, true},
    {"LLMCompass", "a100-sxm-80", 1024, 12288, 12288, 257.9, true},
    {"LLMCompass", "a100-sxm-80", 2048, 12288, 12288, 262.2, true},
    {"LLMCompass", "a100-sxm-80", 4096, 12288, 12288, 277.5, true},
    {"LLMCompass", "a100-sxm-80", 8192, 12288, 12288, 286.9, true},
    {"LLMCompass", "a100-sxm-80", 16384, 12288, 12288, 290.5, true},
    {"LLMCompass", "a100-sxm-80", 8192, 64, 64, 2.27, true},
    {"LLMCompass", "a100-sxm-80", 8192, 128, 128, 8.7, true},
    {"LLMCompass", "a100-sxm-80", 8192, 256, 256, 30, true},
    {"LLMCompass", "a100-sxm-80", 8192, 512, 512, 91, true},
    {"LLMCompass", "a100-sxm-80", 8192, 1024, 1024, 185, true},
    {"LLMCompass", "a100-sxm-80", 8192, 2048, 2048, 244, true},
    {"LLMCompass", "a100-sxm-80", 8192, 4096, 4096, 269, true},
    {"LLMCompass", "a100-sxm-80", 8192, 8192, 8192, 278, true},
    {"LLMCompass", "a100-sxm-80", 8192, 16384, 16384, 293, true},
    {"Vidur", "a100-sxm-80", 4096, 10240, 2560, 247.7, false},
    {"Vidur", "a100-sxm-80", 4096, 2560, 10240, 271.8, false},
    {"Vidur", "a100-sxm-80", 1024, 10240, 2560, 232, false},
    {"Vidur", "a100-sxm-80", 1024, 2560, 10240, 184.5, false},
    {"Vidur", "h100-sxm-80", 4096, 10240, 2560, 728, false},
    {"Vidur", "h100-sxm-80", 4096, 2560, 10240, 642, false},
    {"Vidur", "h100-sxm-80", 1024, 10240, 2560, 444, false},
    {"Vidur", "h100-sxm-80", 1024, 2560, 10240, 532, false},
};
enum { GEMM_ROWS = sizeof gemm_rows / sizeof gemm_rows[0] };

/* Seconds of the model over those published, less 1. */
static double gemm_residual(const gemm_row *row, const dit_cost_profile *eager)
{
    dit_cost_device d = device_named(row->accelerator, eager);
    double seconds = dit_cost_gemm_seconds(&d, row->rows, row->n, row->k);
    if (row->call) seconds += eager->dispatch_s + eager->synchronise_s;
    return seconds * row->tflops * 1e12 / (2.0 * (double)row->rows * (double)row->n * (double)row->k) - 1;
}

static void published_products_are_met_within_10_percent_at_the_median(void **state)
{
    dit_cost_profile eager = profile_named("pytorch-eager");
    double sizes[GEMM_ROWS], worst = 0;
    int beyond = 0;
    (void)state;
    print_message("# %-10s %-12s %6s %6s %6s %9s %9s %7s\n", "source", "accelerator", "rows", "n", "k", "published",
                  "model", "time");
    for (int i = 0; i < GEMM_ROWS; i++) {
        const gemm_row *r = gemm_rows + i;
        double residual = gemm_residual(r, &eager);
        print_message("# %-10s %-12s %6lld %6lld %6lld %9.2f %9.2f %+6.1f%%\n", r->source, r->accelerator,
                      (long long)r->rows, (long long)r->n, (long long)r->k, r->tflops, r->tflops / (1 + residual),
                      100 * residual);
        sizes[i] = fabs(residual);
        worst = fmax(worst, sizes[i]);
        beyond += sizes[i] > 0.15;
    }
    double median = dit_stats_median(sizes, GEMM_ROWS);
    print_message("# TFLOP/s of %d products; time: median %.1f %%, worst %.1f %%\n", GEMM_ROWS, 100 * median,
                  100 * worst);
    assert_true(median <= 0.10);
    /* The H100 at 1024 x 10240 x 2560, slower than its neighbours explain; and two small ones of the A100 of LLMCompass,
     * which was up to 8 % faster at every large size than the ceiling that others measured. */
    assert_true(beyond <= 3);
    assert_true(worst <= 0.35);
}

/* One element-wise kernel of eager PyTorch, on the device. */
static const struct {
    const char *source, *accelerator, *what;
    double elements;
    dit_cost_part part;
    double us;
} pass_rows[] = {
    {"Vidur", "a100-sxm-80", "add 4096 x 8192", 4096 * 8192, DIT_COST_PART_RESIDUAL, 112},
    {"Vidur", "h100-sxm-80", "add 4096 x 8192", 4096 * 8192, DIT_COST_PART_RESIDUAL, 62},
    {"Vidur", "a100-sxm-80", "norm 4096 x 8192", 4096 * 8192, DIT_COST_PART_NORM, 190},
    {"Vidur", "a100-sxm-80", "norm 4096 x 4096", 4096 * 4096, DIT_COST_PART_NORM, 105},
    {"LLMCompass", "a100-sxm-80", "gelu, best rate", 1 << 28, DIT_COST_PART_ACTIVATION, (1 << 28) / 390e3},
    {"LLMCompass", "a100-sxm-80", "norm, best rate", 1 << 28, DIT_COST_PART_NORM, (1 << 28) / 386e3},
};
enum { PASS_ROWS = sizeof pass_rows / sizeof pass_rows[0] };

static void published_passes_over_memory_are_met_within_a_quarter_at_the_median(void **state)
{
    dit_cost_profile eager = profile_named("pytorch-eager");
    double sizes[PASS_ROWS], worst = 0;
    (void)state;
    for (int i = 0; i < PASS_ROWS; i++) {
        dit_cost_device d = device_named(pass_rows[i].accelerator, &eager);
        double bytes = pass_rows[i].elements * d.element_bytes * eager.parts[pass_rows[i].part].passes;
        double us = 1e6 * dit_cost_elementwise_seconds(&d, bytes), residual = us / pass_rows[i].us - 1;
        print_message("# %-10s %-12s %-18s %8.1f us, model %8.1f us, %+6.1f%%\n", pass_rows[i].source,
                      pass_rows[i].accelerator, pass_rows[i].what, pass_rows[i].us, us, 100 * residual);
        sizes[i] = fabs(residual);
        worst = fmax(worst, sizes[i]);
    }
    double median = dit_stats_median(sizes, PASS_ROWS);
    print_message("# %d passes over memory: median %.1f %%, worst %.1f %%\n", PASS_ROWS, 100 * median, 100 * worst);
    assert_true(median <= 0.25);
    assert_true(worst <= 0.5);
}

/* ---- every file -------------------------------------------------------------------------------------------------- */

/* By hand: 16 x 96 of a tile of 8 x 48 are four tiles, one row is cheaper on a tile of its own; of attention, 100
 * queries are three tiles of 48. Beside another core rates are those of `together`, and a third changes nothing. */
static void a_core_has_tiles_of_its_own_and_shares_its_memory(void **state)
{
    dit_cost_device d = {.peak_flops_per_s = 1e9, .bandwidth_bytes_per_s = 1e30, .processors = 1, .gemm_ceiling = 0.5};
    (void)state;
    d.element_bytes = 4, d.attention_scale = 1, d.head_granularity = 1, d.tables = 1;
    d.tiles = 2, d.tile[0] = (dit_cost_tile){8, 48, 1}, d.tile[1] = (dit_cost_tile){1, 48, 0.25};
    d.attention_queries = 48, d.attention_keys = 1;
    d.attention[0] = (dit_cost_attention_table){.head_dim = 64, .flops_per_s = {1, {1}, {1e9}}};
    d.together = (dit_cost_together){.ranks = 2, .compute = 0.8, .bandwidth = 0.5};
    assert_close(dit_cost_gemm_seconds(&d, 16, 96, 10), 4 * 2.0 * 8 * 48 * 10 / 0.5e9, 1e-12);
    assert_close(dit_cost_gemm_seconds(&d, 1, 96, 10), 2 * 2.0 * 48 * 10 / 0.125e9, 1e-12);
    dit_cost_attention a = {.B = 1, .H = 1, .Sq = 100, .Sk = 77, .D = 64, .seen = 1};
    assert_close(dit_cost_attention_seconds(&d, &a), 3 * 4.0 * 48 * 77 * 64 / 1e9, 1e-12);
    for (int ranks = 1; ranks <= 3; ranks++) {
        dit_cost_device busy = dit_cost_device_together(&d, ranks);
        assert_close(busy.peak_flops_per_s, ranks > 1 ? 0.8e9 : 1e9, 1e-12);
        assert_close(busy.bandwidth_bytes_per_s, ranks > 1 ? 0.5e30 : 1e30, 1e-12);
        assert_close(busy.attention_scale, ranks > 1 ? 0.8 : 1, 1e-12);
    }
}

/* ---- what no time may do ----------------------------------------------------------------------------------------- */

static void check_products(const dit_cost_device *d)
{
    int64_t m = any_size(18), n = any_size(16), k = any_size(16), more = any_size(12);
    double seconds = dit_cost_gemm_seconds(d, m, n, k);
    assert_not_less("rows", dit_cost_gemm_seconds(d, m + more, n, k), seconds);
    assert_not_less("n", dit_cost_gemm_seconds(d, m, n + more, k), seconds);
    assert_not_less("k", dit_cost_gemm_seconds(d, m, n, k + more), seconds);
    assert_not_less("input", dit_cost_conv_seconds(d, m, n, k, 100 + more), dit_cost_conv_seconds(d, m, n, k, 100));
    assert_not_less("bytes", dit_cost_elementwise_seconds(d, (double)(m * n + more)),
                    dit_cost_elementwise_seconds(d, (double)(m * n)));
}

static void check_attention(const dit_cost_device *d)
{
    dit_cost_attention a = {any_size(3), any_size(6), any_size(17), any_size(17), any_size(9), 0.5, 0.25};
    int64_t *sizes[] = {&a.B, &a.H, &a.Sq, &a.Sk, &a.D};
    double seconds = dit_cost_attention_seconds(d, &a);
    for (int i = 0; i < 5; i++) {
        int64_t was = *sizes[i];
        *sizes[i] += any_size(8);
        assert_not_less("attention", dit_cost_attention_seconds(d, &a), seconds);
        *sizes[i] = was;
    }
    a.uneven = 0.3;
    assert_not_less("unevenness", dit_cost_attention_seconds(d, &a), seconds);
    a.seen = 0.7;
    assert_not_less("pairs", dit_cost_attention_seconds(d, &a), seconds);
}

static void check_random(const dit_cost_device *device, const dit_cost_profile *profile)
{
    dit_cost_device left = dit_cost_device_beside(device, profile->communication_processors);
    for (int i = 0; i < 300; i++) {
        check_products(device);
        check_products(&left);
        check_attention(device);
        check_attention(&left);
    }
}

static void no_time_falls_when_a_size_grows_or_is_not_a_number(void **state)
{
    (void)state;
    assert_true(each_device(check_random) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_wave_of_tiles_takes_the_time_of_one_tile),
        cmocka_unit_test(a_tile_is_written_while_its_processor_computes_nothing),
        cmocka_unit_test(one_row_more_than_a_wave_costs_another_wave_of_the_best_tile),
        cmocka_unit_test(a_thin_product_waits_for_its_weights),
        cmocka_unit_test(a_convolution_reads_its_picture_once),
        cmocka_unit_test(curves_are_exact_at_their_knots_and_logarithmic_between),
        cmocka_unit_test(attention_fills_heads_up_to_the_granularity),
        cmocka_unit_test(exponentials_cost_small_heads_as_much_as_large_ones),
        cmocka_unit_test(few_tiles_leave_processors_idle_and_few_keys_have_a_start),
        cmocka_unit_test(under_a_causal_mask_the_last_tiles_are_waited_for),
        cmocka_unit_test(a_kernel_behind_attention_has_processors_at_its_end),
        cmocka_unit_test(elementwise_is_bytes_over_the_bandwidth_that_so_many_bytes_get),
        cmocka_unit_test(passes_that_fit_the_last_cache_are_faster),
        cmocka_unit_test(processors_that_communicate_do_not_compute),
        cmocka_unit_test(published_products_are_met_within_10_percent_at_the_median),
        cmocka_unit_test(published_passes_over_memory_are_met_within_a_quarter_at_the_median),
        cmocka_unit_test(a_core_has_tiles_of_its_own_and_shares_its_memory),
        cmocka_unit_test(no_time_falls_when_a_size_grows_or_is_not_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
