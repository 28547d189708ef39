/* The cost model: values by hand, published products and bandwidths within a stated tolerance, and what no time may do.
 */
#include "kernels/cost/clock.h"
#include "kernels/cost/collective.h"
#include "kernels/cost/operator.h"
#include "kernels/cost/read.h"

#include "base/json.h"
#include "base/rng.h"
#include "base/stats.h"

#include "base/tests/test.h"

#include <dirent.h>

#define ACCELERATORS DITBENCH_SOURCE_DIR "/workloads/accelerators"
#define PROFILES     DITBENCH_SOURCE_DIR "/workloads/profiles"

static dit_cost_profile profile_named(const char *name)
{
    char path[512];
    dit_cost_profile profile;
    snprintf(path, sizeof path, "%s/%s.json", PROFILES, name);
    assert_ok(dit_cost_profile_read(path, &profile));
    return profile;
}

static dit_cost_device device_named(const char *name, const dit_cost_profile *profile)
{
    char path[512];
    dit_cost_device device;
    snprintf(path, sizeof path, "%s/%s.json", ACCELERATORS, name);
    assert_ok(dit_cost_device_read(path, "fp16", profile, &device));
    return device;
}

/* Round numbers: 100 processors of 1 Tflop/s, 1 TB/s, all of it reached. */
static dit_cost_device round_device(void)
{
    return (dit_cost_device){.element_bytes = 2,
                             .peak_flops_per_s = 100e12,
                             .bandwidth_bytes_per_s = 1e12,
                             .processors = 100,
                             .launch_s = 1e-6,
                             .gemm_ceiling = 1,
                             .attention_scale = 1,
                             .head_granularity = 32,
                             .tables = 1,
                             .attention = {{128, {2, {1024, 4096}, {50e12, 80e12}}}}};
}

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
    assert_true(beyond <= 1); /* the H100 at 1024 x 10240 x 2560, slower than its neighbours explain */
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

static const char *const profile_names[] = {"pytorch-eager", "torch-compile", "ditbench"};
enum { PROFILE_COUNT = sizeof profile_names / sizeof profile_names[0] };

static bool has_cost(const char *path)
{
    dit_json doc;
    assert_ok(dit_json_read_file(path, &doc));
    bool has = cJSON_GetObjectItemCaseSensitive(doc.root, "cost") != NULL;
    dit_json_release(&doc);
    return has;
}

/* Calls `check` with each accelerator that has parameters, in each of the types it computes with, and each profile. */
static int each_device(void (*check)(const dit_cost_device *device, const dit_cost_profile *profile))
{
    static const char *const types[] = {"fp16", "bf16", "fp32"};
    DIR *folder = opendir(ACCELERATORS);
    int count = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", ACCELERATORS, entry->d_name);
        if (!strstr(entry->d_name, ".json") || !has_cost(path)) continue;
        for (int i = 0; i < 3 * PROFILE_COUNT; i++) {
            dit_cost_profile profile = profile_named(profile_names[i / 3]);
            dit_cost_device device;
            dit_status st = dit_cost_device_read(path, types[i % 3], &profile, &device);
            bool core = strcmp(entry->d_name, "cpu-core.json") == 0;
            if (st == DIT_ERR_UNSUPPORTED && (i % 3 > 0 || core)) continue; /* no bf16 before Ampere; a core: fp32 */
            assert_ok(st);
            check(&device, &profile);
            count++;
        }
    }
    closedir(folder);
    return count;
}

static void check_knots(const dit_cost_device *device, const dit_cost_profile *profile)
{
    (void)profile;
    if (device->element_bytes != 2) return; /* the tables are of half precision */
    for (int t = 0; t < device->tables; t++) {
        const dit_cost_attention_table *table = device->attention + t;
        for (int i = 0; i < table->flops_per_s.count; i++) {
            int64_t tokens = (int64_t)table->flops_per_s.x[i], batch = 16384 * 8 / tokens + 1;
            dit_cost_attention a = {.B = batch, .H = 32, .Sq = tokens, .Sk = tokens, .D = table->head_dim, .seen = 1};
            double flops = 4.0 * (double)(a.B * a.H * a.D) * (double)tokens * (double)tokens;
            double rate = flops / (dit_cost_attention_seconds(device, &a) - device->launch_s);
            assert_close(rate, table->flops_per_s.y[i] * device->attention_scale, 1e-9);
        }
    }
}

static void attention_is_its_table_at_the_knots_of_every_accelerator(void **state)
{
    (void)state;
    assert_in_range(each_device(check_knots), 9 * PROFILE_COUNT, 1000);
}

static void the_accelerators_of_the_papers_have_parameters(void **state)
{
    static const char *const names[] = {"a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "h100-sxm-80", "h20",
                                        "l20",         "l40",          "rtx-4090",     "t4",          "v100-sxm-32"};
    dit_cost_profile eager = profile_named("pytorch-eager");
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        dit_cost_device d = device_named(names[i], &eager);
        assert_string_equal(d.name, names[i]);
        double rate = 2.0 * 16384 * 16384 * 16384 / dit_cost_gemm_seconds(&d, 16384, 16384, 16384);
        assert_true(rate < d.peak_flops_per_s * d.gemm_ceiling);
        assert_true(rate > d.peak_flops_per_s * d.gemm_ceiling * 0.95);
    }
}

static void a_profile_reads_the_tables_of_its_kernels(void **state)
{
    dit_cost_profile eager = profile_named("pytorch-eager"), ours = profile_named("ditbench");
    (void)state;
    dit_cost_device flash = device_named("h100-sxm-80", &eager), cudnn = device_named("h100-sxm-80", &ours);
    assert_int_equal(flash.tables, 3);
    assert_close(dit_cost_curve_at(&flash.attention[1].flops_per_s, 4096), 368e12, 0);
    assert_close(dit_cost_curve_at(&cudnn.attention[1].flops_per_s, 4096), 609e12, 0);
    assert_int_equal(device_named("v100-sxm-32", &eager).tables, 1);
    assert_ok(dit_cost_device_read(ACCELERATORS "/a100-sxm-80.json", "fp32", &eager, &flash));
    assert_close(flash.attention_scale, 19.5 / 312, 1e-12);
}

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

/* ---- what no time may do ------------------------------------------------------------------------------------------
 */

static uint64_t draws;

/* From 0 to 2^bits - 1, small ones as likely as large ones. */
static int64_t any_size(int bits)
{
    uint64_t size = (uint64_t)1 << dit_rng_below(7, 1, draws++, (uint64_t)bits + 1);
    return (int64_t)dit_rng_below(7, 2, draws++, size);
}

static void assert_time(double seconds)
{
    if (!(isfinite(seconds) && seconds >= 0)) fail_msg("a time of %g", seconds);
}

static void assert_not_less(const char *what, double larger, double smaller)
{
    assert_time(larger);
    assert_time(smaller);
    if (!(larger >= smaller * (1 - 1e-12))) fail_msg("%s: %.17g after %.17g", what, larger, smaller);
}

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

static void nothing_to_do_takes_no_time(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_profile eager = profile_named("pytorch-eager");
    dit_cost_time none = dit_cost_op_time(&d, &eager, &(dit_cost_op){.kind = DIT_COST_OP_LINEAR, .n = 64, .k = 64});
    (void)state;
    assert_close(dit_cost_gemm_seconds(&d, 0, 64, 64), 0, 0);
    assert_close(dit_cost_attention_seconds(&d, &(dit_cost_attention){1, 1, 0, 64, 64, 1, 0}), 0, 0);
    assert_close(none.device_s + none.host_s + none.kernels, 0, 0);
}

/* ---- operators and the hook -------------------------------------------------------------------------------------- */

static dit_cost_op heard[8];
static int heard_count;

static void hear(void *context, const dit_cost_op *op)
{
    assert_ptr_equal(context, heard);
    assert_in_range(heard_count, 0, 7);
    heard[heard_count++] = *op;
}

/* Three matrices of 64 x 32, packed together. */
static dit_linear packed_three(dit_arena *arena)
{
    static const float w[64 * 32];
    const float *const pieces[3] = {w, w, w};
    const int64_t rows[3] = {64, 64, 64};
    dit_linear linear;
    assert_ok(dit_kernels_cost()->linear_pack(NULL, arena, 32, 3, pieces, NULL, rows, &linear));
    return linear;
}

static void every_entry_tells_the_hook_what_the_account_of_flops_says(void **state)
{
    const dit_kernels *cost = dit_kernels_cost();
    dit_memory_ledger ledger = {0};
    dit_arena arena;
    float gate[192] = {0}, x[4] = {0};
    (void)state;
    dit_arena_init(&arena, &ledger, DIT_MEMORY_WEIGHTS);
    dit_linear linear = packed_three(&arena);
    dit_cost_set_hook(hear, heard);
    heard_count = 0;
    cost->linear(NULL, &(dit_linear_args){.weights = &linear, .rows = 10, .gate = gate, .residual = x});
    cost->attention(NULL, &(dit_attention_args){.B = 2, .H = 3, .Sq = 5, .Sk = 7, .D = 8});
    cost->attention_merge(NULL, &(dit_merge_args){.B = 2, .H = 3, .S = 5, .D = 8});
    cost->norm(NULL, &(dit_norm_args){.rows = 4, .C = 16, .scale = x});
    cost->qk_norm_rope(NULL, &(dit_qk_norm_rope_args){.rows = 4, .H = 2, .D = 8, .cos = x});
    cost->copy(NULL, &(dit_copy_args){.n0 = 2, .n1 = 3, .n2 = 4, .inner = 5});
    cost->combine(NULL, &(dit_combine_args){.elements = 6, .count = 3});
    cost->activate(NULL, &(dit_activate_args){.elements = 6});
    dit_cost_set_hook(NULL, NULL);
    cost->activate(NULL, &(dit_activate_args){.elements = 6});
    assert_int_equal(heard_count, 8);
    for (int i = 0; i < 8; i++) assert_int_equal(heard[i].kind, (dit_cost_op_kind)i);
    assert_close(heard[0].flops, dit_product_work(10, 192, 32).flops, 0);
    assert_int_equal(heard[0].pieces, 3);
    assert_true(heard[0].gate && heard[0].residual && !heard[0].activation);
    assert_close(heard[1].bytes, 4 * 2 * 3 * 8 * 2 * (5 + 7), 0);
    assert_close(heard[1].attention.seen, 1, 0);
    assert_int_equal(heard[2].elements, 240);
    assert_true(heard[3].modulation && heard[4].rotary && !heard[4].normed);
    assert_int_equal(heard[5].elements, 120);
    assert_int_equal(heard[6].operands, 3);
    assert_close(heard[6].flops, 6 * 5, 0);
    assert_close(heard[7].flops, 6 * 8, 0);
    dit_arena_release(&arena);
}

static void convolutions_and_group_norms_are_told_too(void **state)
{
    const dit_kernels *cost = dit_kernels_cost();
    dit_linear weights = {.n = 16, .k = 9 * 8};
    double moments[4];
    dit_conv_args conv = {.weights = &weights, .frames = 1, .height = 6, .width = 5, .channels = 8, .out = {1, 6, 5}};
    dit_group_norm_args norm = {.batch = 1, .frames = 1, .height = 6, .width = 5, .C = 8, .groups = 2};
    (void)state;
    dit_cost_set_hook(hear, heard);
    heard_count = 0;
    cost->conv(NULL, &conv);
    cost->group_norm(NULL, &norm); /* with its moments */
    norm.moments = moments;
    cost->group_norm(NULL, &norm);
    cost->group_moments(NULL, &norm);
    dit_cost_set_hook(NULL, NULL);
    assert_int_equal(heard_count, 5);
    assert_close(heard[0].flops, dit_conv_work(&conv).flops, 0);
    assert_int_equal(heard[0].input_elements, 240);
    const dit_cost_op_kind kinds[] = {DIT_COST_OP_CONV, DIT_COST_OP_GROUP_MOMENTS, DIT_COST_OP_GROUP_NORM,
                                      DIT_COST_OP_GROUP_NORM, DIT_COST_OP_GROUP_MOMENTS};
    for (int i = 0; i < 5; i++) assert_int_equal(heard[i].kind, kinds[i]);
}

static void masked_attention_counts_the_pairs_that_see_each_other(void **state)
{
    const int32_t positions[4] = {0, 1, 2, 3};
    dit_attention_args a = {.B = 1, .H = 1, .Sq = 4, .Sk = 4, .D = 8, .q_position = positions, .k_position = positions};
    (void)state;
    dit_cost_set_hook(hear, heard);
    heard_count = 0;
    dit_kernels_cost()->attention(NULL, &a);
    dit_cost_set_hook(NULL, NULL);
    assert_close(heard[0].attention.seen, 10.0 / 16, 1e-15);
}

/* What the mask leaves of eight queries and eight keys at these positions. */
static double uneven_of(const int32_t queries[8], const int32_t keys[8])
{
    dit_attention_args a = {.B = 1, .H = 1, .Sq = 8, .Sk = 8, .D = 8, .q_position = queries, .k_position = keys};
    dit_cost_set_hook(hear, heard);
    heard_count = 0;
    dit_kernels_cost()->attention(NULL, &a);
    dit_cost_set_hook(NULL, NULL);
    return heard[0].attention.uneven;
}

/* Zigzag over two ranks: 0 to 3 and 12 to 15 here, 4 to 11 there. */
static void only_what_rises_with_the_queries_is_uneven(void **state)
{
    static const int32_t here[8] = {0, 1, 2, 3, 12, 13, 14, 15}, there[8] = {4, 5, 6, 7, 8, 9, 10, 11};
    static const int32_t even[8] = {0, 2, 4, 6, 8, 10, 12, 14}, odd[8] = {1, 3, 5, 7, 9, 11, 13, 15};
    (void)state;
    assert_close(uneven_of(here, here), 1, 1e-12);
    assert_close(uneven_of(here, there), 0, 0); /* the later half sees all */
    assert_close(uneven_of(there, here), 0, 0); /* all see the earlier half */
    assert_close(uneven_of(even, odd), 1, 1e-12);
}

static void what_a_stack_fuses_is_fewer_kernels_and_less_time(void **state)
{
    dit_cost_op op = {.kind = DIT_COST_OP_LINEAR,
                      .rows = 4096,
                      .n = 3456,
                      .k = 1152,
                      .pieces = 3,
                      .elements = 4096 * 3456,
                      .activation = true,
                      .gate = true,
                      .residual = true};
    double kernels[PROFILE_COUNT], device_s[PROFILE_COUNT], host_s[PROFILE_COUNT];
    (void)state;
    for (int i = 0; i < PROFILE_COUNT; i++) {
        dit_cost_profile profile = profile_named(profile_names[i]);
        dit_cost_device d = device_named("a100-sxm-80", &profile);
        dit_cost_time time = dit_cost_op_time(&d, &profile, &op);
        kernels[i] = time.kernels;
        device_s[i] = time.device_s;
        host_s[i] = time.host_s;
    }
    assert_close(kernels[0], 6, 0); /* three products, activation, gate, sum */
    assert_close(kernels[1], 5, 0);
    assert_close(kernels[2], 2, 0);
    assert_true(device_s[0] > device_s[1] && device_s[1] > device_s[2]);
    assert_close(host_s[0], 6 * 20e-6, 1e-12);
    assert_close(host_s[2], 2 * 5e-6, 1e-12);
}

static void time_of_an_operator_is_its_product_and_its_passes(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_profile p = {.dispatch_s = 3e-6, .packed_linear = true};
    dit_cost_op op = {
        .kind = DIT_COST_OP_LINEAR, .rows = 128, .n = 256, .k = 1000, .elements = 128 * 256, .residual = true};
    (void)state;
    p.parts[DIT_COST_PART_RESIDUAL] = (dit_cost_part_work){2, 6};
    dit_cost_time time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.device_s, dit_cost_gemm_seconds(&d, 128, 256, 1000) + 2 * 1e-6 + 6 * 2 * 32768 / 1e12, 1e-12);
    assert_close(time.host_s, 9e-6, 1e-12);
    op = (dit_cost_op){.kind = DIT_COST_OP_QK_NORM_ROPE, .elements = 1000, .rotary = true}; /* fused into nothing */
    time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.kernels, 1, 0);
    assert_close(time.device_s, 1e-6 + 2 * 2 * 1000 / 1e12, 1e-12);
    op = (dit_cost_op){.kind = DIT_COST_OP_EXCHANGE, .elements = 1000}; /* the engine's own copy may be all */
    time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.kernels + time.device_s + time.host_s, 0, 0);
    p.parts[DIT_COST_PART_EXCHANGE] = (dit_cost_part_work){1, 2};
    time = dit_cost_op_time(&d, &p, &op);
    assert_close(time.host_s, 3e-6, 1e-12);
    assert_close(time.device_s, 1e-6 + 2 * 2 * 1000 / 1e12, 1e-12);
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

static void add_seconds(void *context, double seconds)
{
    assert_true(seconds > 0);
    *(double *)context += seconds;
}

static void a_step_takes_what_the_slower_of_host_and_device_needs(void **state)
{
    double passed = 0;
    dit_cost_clock bound_by_host = {.charge = add_seconds, .context = &passed}, bound_by_device = {0};
    (void)state;
    for (int i = 0; i < 100; i++) {
        dit_cost_clock_dispatch(&bound_by_host, 20e-6, 5e-6);
        dit_cost_clock_dispatch(&bound_by_device, 5e-6, 20e-6);
    }
    assert_close(passed, 0, 0); /* nobody waits yet */
    assert_close(dit_cost_clock_synchronise(&bound_by_host, 0), 100 * 20e-6 + 5e-6, 1e-12);
    assert_close(passed, 100 * 20e-6 + 5e-6, 1e-12);
    assert_close(dit_cost_clock_synchronise(&bound_by_device, 4e-6), 5e-6 + 100 * 20e-6 + 4e-6, 1e-12);
    assert_close(dit_cost_clock_synchronise(&bound_by_host, 0), passed, 1e-12); /* again: nothing to wait for */
}

static void messages_stand_in_the_queue_of_the_device_and_not_of_the_host(void **state)
{
    double passed = 0;
    dit_cost_clock c = {.charge = add_seconds, .context = &passed};
    (void)state;
    dit_cost_clock_dispatch(&c, 1, 10);
    assert_close(dit_cost_clock_enter(&c, 2), 11, 0);
    assert_close(passed, 11, 0);
    dit_cost_clock_leave(&c, 5);
    assert_close(c.device_s, 16, 0);
    assert_close(c.host_s, 3, 0); /* free to issue what follows */
    dit_cost_clock_dispatch(&c, 1, 1);
    assert_close(dit_cost_clock_synchronise(&c, 0), 17, 0);
    assert_close(passed, 12, 0); /* the five seconds passed with the messages */
    dit_cost_clock_dispatch(&c, 3, 0.5);
    assert_close(dit_cost_clock_enter(&c, 0), 20.5, 0); /* the host was late */
}

static void messages_issued_earlier_start_before_the_device_is_done(void **state)
{
    double passed = 0;
    dit_cost_clock c = {.charge = add_seconds, .context = &passed};
    (void)state;
    dit_cost_clock_dispatch(&c, 1, 10);
    assert_close(dit_cost_clock_enter_before(&c, 4), 7, 0);
    dit_cost_clock_leave(&c, 1); /* beside the last four seconds */
    assert_close(c.device_s, 11, 0);
    assert_close(dit_cost_clock_enter_before(&c, 4), 8, 0); /* they cannot start in the past */
    dit_cost_clock_leave(&c, 5);
    assert_close(c.device_s, 13, 0);
    assert_close(passed, 7, 0);
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static dit_cost_group group_of(dit_cost_link_kind inside, double bandwidth, int ranks, int nodes)
{
    return (dit_cost_group){.inside = inside,
                            .generation = DIT_COST_AMPERE,
                            .bandwidth_bytes_per_s = bandwidth,
                            .ranks = ranks,
                            .nodes = nodes};
}

static void latencies_are_those_of_the_tuner(void **state)
{
    dit_cost_group nvlink = group_of(DIT_COST_NVLINK, 240e9, 8, 1), pcie = group_of(DIT_COST_PCIE, 12e9, 4, 1);
    dit_cost_group nodes = group_of(DIT_COST_NVLINK, 240e9, 16, 2);
    (void)state;
    dit_cost_exchange e = dit_cost_exchange_of(&nvlink, DIT_COST_ALL_REDUCE, 1024);
    assert_int_equal(e.algorithm, DIT_COST_RING);
    assert_int_equal(e.protocol, DIT_COST_LL);
    assert_close(e.latency_s, 6.6e-6 + 14 * 0.6e-6, 1e-12);
    assert_close(e.bandwidth_factor, 87.7 / 240, 1e-12);
    e = dit_cost_exchange_of(&nvlink, DIT_COST_ALL_GATHER, 1e6);
    assert_int_equal(e.protocol, DIT_COST_LL);
    e = dit_cost_exchange_of(&nvlink, DIT_COST_ALL_REDUCE, 16e6);
    assert_int_equal(e.protocol, DIT_COST_LL128);
    assert_close(e.seconds, 14e-6 + 14 * 1.9e-6 + 16e6 * 14 / 8 / (0.92 * 240e9), 1e-12);
    e = dit_cost_exchange_of(&nvlink, DIT_COST_ALL_REDUCE, 1e9);
    assert_int_equal(e.protocol, DIT_COST_SIMPLE);
    assert_close(e.bandwidth_factor, 1, 0);
    for (double bytes = 1; bytes < 1e10; bytes *= 2)
        assert_int_not_equal(dit_cost_exchange_of(&pcie, DIT_COST_ALL_REDUCE, bytes).protocol, DIT_COST_LL128);
    nodes.network_bandwidth_bytes_per_s = 200e9;
    e = dit_cost_exchange_of(&nodes, DIT_COST_ALL_GATHER, 1e10);
    assert_int_equal(e.algorithm, DIT_COST_RING);
    assert_close(e.latency_s, 8.4e-6 + 14 * 3.4e-6 + 14e-6, 1e-12);
    assert_close(e.seconds, e.latency_s + 1e10 * 15 / 16 / 200e9, 1e-9);
    assert_close(e.front_latency_s, e.latency_s, 0);
    nodes.network_latency_s = 5e-6; /* the links' own, which are not put in front once more */
    assert_close(dit_cost_exchange_of(&nodes, DIT_COST_ALL_GATHER, 1e10).front_latency_s, e.latency_s - 5e-6, 1e-12);
    nodes.network_latency_s = 1;
    assert_close(dit_cost_exchange_of(&nodes, DIT_COST_ALL_GATHER, 1e10).front_latency_s, 0, 0);
}

/* Two nodes: every node sends what it has once each way, where a ring sends it twice; more: twice. */
static void trees_are_for_sums_of_many_nodes(void **state)
{
    dit_cost_group g = group_of(DIT_COST_NVLINK, 240e9, 16, 2);
    (void)state;
    g.network_bandwidth_bytes_per_s = 50e9;
    dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e10);
    assert_int_equal(e.algorithm, DIT_COST_TREE);
    assert_int_equal(e.protocol, DIT_COST_SIMPLE);
    assert_close(e.latency_s, 8.4e-6 + 2 * (7 * 4e-6 + 14e-6), 1e-12);
    assert_close(e.seconds, e.latency_s + 1e10 / (0.92 * 50e9), 1e-9);
    g.ranks = 32, g.nodes = 4;
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e10);
    assert_int_equal(e.algorithm, DIT_COST_RING);
    assert_close(e.seconds, e.latency_s + 1e10 * 62 / 32 / 50e9, 1e-9);
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1024); /* latency goes with the logarithm of the nodes */
    assert_int_equal(e.algorithm, DIT_COST_TREE);
    assert_close(e.latency_s, 6.8e-6 + 2 * (7 * 0.6e-6 + 2 * 5e-6), 1e-12);
    for (double bytes = 1; bytes < 1e10; bytes *= 2)
        assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, bytes).algorithm, DIT_COST_RING);
}

static void switches_add_up_from_hopper_on(void **state)
{
    dit_cost_group g = group_of(DIT_COST_NVLINK, 367.6e9, 8, 1);
    (void)state;
    g.nvswitch = true;
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9).algorithm, DIT_COST_RING); /* Ampere */
    g.generation = DIT_COST_HOPPER;
    dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9);
    assert_int_equal(e.algorithm, DIT_COST_NVLS);
    assert_close(e.seconds, 25e-6 + 1e9 / (8 * 40e9 * 0.85), 1e-12); /* 8 channels of 40 GB/s in 367.6 */
    assert_true(e.bandwidth_factor > 1);                             /* than a ring */
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, 1e9).algorithm, DIT_COST_RING);
    g.nvswitch = false;
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9).algorithm, DIT_COST_RING);
    g.nvswitch = true;
    g.ranks = 4; /* too few channels */
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9).algorithm, DIT_COST_RING);
    g.ranks = 16, g.nodes = 2, g.network_bandwidth_bytes_per_s = 400e9;
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, 1e9);
    assert_int_equal(e.algorithm, DIT_COST_NVLS_TREE);
    assert_close(e.latency_s, 25e-6 + 2 * 20.9e-6, 1e-12);
    assert_close(e.seconds, e.latency_s + 1e9 * 30 / 16 / (8 * 57.7e9), 1e-12);
}

/* A rank's simulated messages may have less, or more, than the library has: all adapters of a node, the switch. */
static void simulated_messages_take_the_librarys_time(void **state)
{
    dit_cost_group g = group_of(DIT_COST_NVLINK, 367.6e9, 16, 2);
    (void)state;
    g.generation = DIT_COST_HOPPER;
    g.network_bandwidth_bytes_per_s = 400e9;
    g.ring_bandwidth_bytes_per_s = 50e9; /* one adapter of eight */
    for (double bytes = 1024; bytes < 1e10; bytes *= 4) {
        dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, bytes);
        double passed = bytes * 15 / 16, simulated = passed / e.bandwidth_factor / g.ring_bandwidth_bytes_per_s;
        assert_close(e.front_latency_s + simulated, e.seconds, 1e-12 * e.seconds + 1e-15);
    }
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, 1e10).bandwidth_factor, 367.6 / 50, 1e-12);
}

/* Published layer rates of PCIe hosts come to 3.8 GB/s for a rank of Ulysses among 4, to 1.2 among 8, and to 15 for a
 * rank of a ring. Inside a node the ends take that; the links between them pass what they pass. */
static void many_peers_at_once_have_less_each_for_every_doubling(void **state)
{
    dit_cost_group g = group_of(DIT_COST_PCIE, 15e9, 8, 1);
    (void)state;
    double alone = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).seconds;
    g.inside_many_peers_efficiency = 0.5;
    dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9);
    assert_close(e.seconds - e.latency_s, (alone - e.latency_s) * pow(2, log2(7)), 1e-9);
    assert_close(e.ends_s, e.seconds, 0);
    assert_close(e.bandwidth_factor, 1, 0);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 7e9).ends_s, 0, 0);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_GATHER, 7e9).ends_s, 0, 0);
    g.ranks = 2;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).ends_s, 0, 0);
    g.ranks = 5;
    e = dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9);
    assert_close(e.ends_s, e.latency_s + 7e9 / (15e9 / 4), 1e-9);
    g.network_many_peers_efficiency = 0.1;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).ends_s, e.ends_s, 0);
    g.nodes = 2; /* the network's */
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).ends_s, 0, 0);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).bandwidth_factor, 0.01, 1e-12);
    g.network_many_peers_efficiency = 0.9;
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7e9).bandwidth_factor, 0.81, 1e-12);
}

/* NCCL 2.18: 32 channels, halved until no channel has more than four messages of an all-to-all. */
static void a_message_among_eight_has_half_of_the_channels(void **state)
{
    static const struct {
        int ranks;
        double share;
    } rows[] = {{2, 1}, {4, 1}, {5, 0.5}, {8, 0.5}, {9, 0.25}, {16, 0.25}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_cost_group g = group_of(DIT_COST_NVLINK, 200e9, rows[i].ranks, 1);
        assert_close(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 1e9).bandwidth_factor, rows[i].share, 1e-12);
        assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 1e9).bandwidth_factor, 1, 1e-12);
        g.inside = DIT_COST_PCIE;
        assert_close(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 1e9).bandwidth_factor, 1, 1e-12);
    }
}

static void generations_are_read_from_the_architecture(void **state)
{
    dit_cost_profile eager = profile_named("pytorch-eager");
    (void)state;
    assert_int_equal(dit_cost_generation_of(device_named("t4", &eager).architecture), DIT_COST_VOLTA);
    assert_int_equal(dit_cost_generation_of(device_named("v100-sxm-32", &eager).architecture), DIT_COST_VOLTA);
    assert_int_equal(dit_cost_generation_of(device_named("l40", &eager).architecture), DIT_COST_AMPERE);
    assert_int_equal(dit_cost_generation_of(device_named("h20", &eager).architecture), DIT_COST_HOPPER);
    assert_int_equal(dit_cost_generation_of(device_named("b200-sxm-180", &eager).architecture), DIT_COST_BLACKWELL);
}

/* ---- measured collectives ---------------------------------------------------------------------------------------- */

/* A curve of workloads/links (nccl-tests, Vidur): its class, the start of its "setup", the member of its points (NULL:
 * time_us), and the classes that its ranks are joined by. */
typedef struct {
    const char *link, *setup, *busbw;
    dit_cost_collective collective;
    dit_cost_generation generation;
    bool nvswitch;
    int ranks, nodes;
    const char *inside, *network;          /* network NULL: one node                                      */
    double adapters;                       /* of a node                                                   */
    double least, most;                    /* model over measured, of every point                         */
    double large, large_least, large_most; /* and of those at or above so many bytes                      */
} curve;

static const curve curves[] = {
    {"nvlink-a100", "8xA100 NVLink3", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 8, 1, "nvlink-a100", NULL, 0,
     0.30, 1.01, 512 << 20, 0.96, 1.01},
    {"nvlink-a100", "A100 DGX, same node", NULL, DIT_COST_SEND_RECV, DIT_COST_AMPERE, true, 2, 1, "nvlink-a100", NULL,
     0, 0.85, 1.05, 64 << 20, 0.98, 1.02},
    {"nvlink-a100", "A100 DGX; fit alpha 36", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 2, 1, "nvlink-a100",
     NULL, 0, 0.65, 0.80, 64 << 20, 0.65, 0.75},
    {"nvlink-a100", "A100 DGX; fit alpha 29", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 4, 1, "nvlink-a100",
     NULL, 0, 0.15, 0.80, 64 << 20, 0.70, 0.80},
    {"nvlink-a100", "A100 DGX; fit alpha 39", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 8, 1, "nvlink-a100",
     NULL, 0, 0.20, 0.85, 64 << 20, 0.80, 0.85},
    {"nvlink-h100", "8xH200; NCCL picks", "busbw_gbs", DIT_COST_ALL_REDUCE, DIT_COST_HOPPER, true, 8, 1, "nvlink-h100",
     NULL, 0, 0.35, 1.02, 256 << 20, 0.93, 1.02},
    {"nvlink-h100", "8xH200, NVLS off", "busbw_gbs", DIT_COST_ALL_REDUCE, DIT_COST_HOPPER, false, 8, 1, "nvlink-h100",
     NULL, 0, 0.98, 1.02, 0, 0.98, 1.02},
    {"nvlink-h100", "8xH200", "busbw_gbs", DIT_COST_ALL_GATHER, DIT_COST_HOPPER, true, 8, 1, "nvlink-h100", NULL, 0,
     0.97, 1.01, 0, 0.97, 1.01},
    {"nvlink-h100", "8xH200", "busbw_gbs", DIT_COST_REDUCE_SCATTER, DIT_COST_HOPPER, true, 8, 1, "nvlink-h100", NULL, 0,
     0.97, 1.01, 0, 0.97, 1.01},
    {"nvlink-h100", "H100 DGX same node", NULL, DIT_COST_SEND_RECV, DIT_COST_HOPPER, true, 2, 1, "nvlink-h100", NULL, 0,
     0.95, 1.50, 64 << 20, 0.98, 1.02},
    {"nvlink-b200", "8xB200 one P6", "busbw_gbs_1_node", DIT_COST_ALL_REDUCE, DIT_COST_BLACKWELL, true, 8, 1,
     "nvlink-b200", NULL, 0, 0.25, 1.03, 256 << 20, 0.80, 1.03},
    {"nvlink-b200", "8xB200 one P6", "busbw_gbs_4_nodes", DIT_COST_ALL_REDUCE, DIT_COST_BLACKWELL, true, 32, 4,
     "nvlink-b200", "efa-v4", 8, 0.07, 1.03, 1 << 30, 0.95, 1.03},
    {"efa-v1", "2x p4de", NULL, DIT_COST_ALL_REDUCE, DIT_COST_AMPERE, true, 16, 2, "nvlink-a100", "efa-v1", 4, 0.15,
     1.02, 256 << 20, 0.95, 1.02},
    {"efa-v2", "2x p5", NULL, DIT_COST_ALL_REDUCE, DIT_COST_HOPPER, true, 16, 2, "nvlink-h100", "efa-v2", 32, 0.20,
     1.07, 1 << 30, 0.95, 1.07},
    {"infiniband-ndr", "H100 DGX across", NULL, DIT_COST_SEND_RECV, DIT_COST_HOPPER, true, 2, 2, "nvlink-h100",
     "infiniband-ndr", 1, 0.50, 0.80, 64 << 20, 0.70, 0.80},
    {"pcie5-x16", "tuned 37.6", NULL, DIT_COST_ALL_REDUCE, DIT_COST_BLACKWELL, false, 8, 1, "pcie5-x16", NULL, 0, 0.95,
     1.30, 256 << 20, 0.95, 1.30},
};
enum { CURVES = sizeof curves / sizeof curves[0] };

static const cJSON *link_class_of(const dit_json *links, const char *name)
{
    const cJSON *found = cJSON_GetObjectItem(cJSON_GetObjectItem(links->root, "classes"), name);
    if (!found) fail_msg("workloads/links has no class %s", name);
    return found;
}

static double link_bandwidth_of(const dit_json *links, const char *name)
{
    const cJSON *one = link_class_of(links, name);
    return cJSON_GetObjectItem(one, "bandwidth_bytes_per_s")->valuedouble *
           cJSON_GetObjectItem(cJSON_GetObjectItem(one, "fitted"), "bandwidth_efficiency")->valuedouble;
}

static const cJSON *points_of(const dit_json *links, const curve *c)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(link_class_of(links, c->link), "measured"))
    {
        const char *setup = cJSON_GetStringValue(cJSON_GetObjectItem(row, "setup"));
        const char *collective = cJSON_GetStringValue(cJSON_GetObjectItem(row, "collective"));
        if (strcmp(collective, dit_cost_collective_name(c->collective)) == 0 &&
            strncmp(setup, c->setup, strlen(c->setup)) == 0)
            return cJSON_GetObjectItem(row, "points");
    }
    fail_msg("%s has no measured \"%s\"", c->link, c->setup);
    return NULL;
}

static dit_cost_group group_of_curve(const dit_json *links, const curve *c)
{
    dit_cost_group g = group_of(strncmp(c->inside, "pcie", 4) ? DIT_COST_NVLINK : DIT_COST_PCIE,
                                link_bandwidth_of(links, c->inside), c->ranks, c->nodes);
    g.generation = c->generation;
    g.nvswitch = c->nvswitch;
    if (c->network) g.network_bandwidth_bytes_per_s = c->adapters * link_bandwidth_of(links, c->network);
    return g;
}

/* 0: the point has no time. */
static double measured_s(const curve *c, const cJSON *point, double bytes)
{
    const cJSON *time = cJSON_GetObjectItem(point, "time_us"), *rate = cJSON_GetObjectItem(point, c->busbw);
    double steps = c->collective == DIT_COST_ALL_REDUCE ? 2 * (c->ranks - 1) : c->ranks - 1;
    if (!c->busbw) return cJSON_IsNumber(time) ? 1e-6 * time->valuedouble : 0;
    return cJSON_IsNumber(rate) && rate->valuedouble >= 0.1 ? bytes * steps / c->ranks / (1e9 * rate->valuedouble) : 0;
}

static void check_point(const curve *c, const dit_cost_group *g, double bytes, double measured)
{
    dit_cost_exchange e = dit_cost_exchange_of(g, c->collective, bytes);
    double ratio = e.seconds / measured;
    print_message("# %-12s %2d of %d, %-12s %11.0f bytes: %9.1f us, model %9.1f (%s %s), %.2f of it\n",
                  dit_cost_collective_name(c->collective), c->ranks, c->nodes, c->network ? c->network : c->inside,
                  bytes, 1e6 * measured, 1e6 * e.seconds, dit_cost_algorithm_name(e.algorithm),
                  dit_cost_protocol_name(e.protocol), ratio);
    bool large = bytes >= c->large;
    if (!(ratio >= (large ? c->large_least : c->least) && ratio <= (large ? c->large_most : c->most)))
        fail_msg("%s of %.0f bytes: %.3f of what was measured", c->setup, bytes, ratio);
}

static void measured_collectives_are_met_within_the_bounds_of_their_curves(void **state)
{
    dit_json links;
    (void)state;
    assert_ok(dit_json_read_file(DITBENCH_SOURCE_DIR "/workloads/links/links.json", &links));
    for (int i = 0; i < CURVES; i++) {
        const curve *c = &curves[i];
        const cJSON *point;
        int checked = 0;
        dit_cost_group g = group_of_curve(&links, c);
        cJSON_ArrayForEach(point, points_of(&links, c))
        {
            const cJSON *bytes = cJSON_GetObjectItem(point, "bytes");
            double measured = cJSON_IsNumber(bytes) ? measured_s(c, point, bytes->valuedouble) : 0;
            if (!(measured > 0)) continue;
            check_point(c, &g, bytes->valuedouble, measured);
            checked++;
        }
        assert_true(checked > 0);
    }
    dit_json_release(&links);
}

/* The same source, 8 GiB over so many H200, and the largest payload over B200. */
static void the_switch_is_chosen_from_five_devices_on(void **state)
{
    static const struct {
        dit_cost_generation generation;
        double link_bytes_per_s;
        int ranks;
        double busbw_bytes_per_s;
    } rows[] = {{DIT_COST_HOPPER, 367.6e9, 4, 363.3e9}, {DIT_COST_HOPPER, 367.6e9, 5, 414.2e9},
                {DIT_COST_HOPPER, 367.6e9, 6, 435.6e9}, {DIT_COST_HOPPER, 367.6e9, 7, 460e9},
                {DIT_COST_HOPPER, 367.6e9, 8, 473e9},   {DIT_COST_BLACKWELL, 673e9, 4, 673e9},
                {DIT_COST_BLACKWELL, 673e9, 8, 838e9}};
    const double bytes = 8589934592;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dit_cost_group g = group_of(DIT_COST_NVLINK, rows[i].link_bytes_per_s, rows[i].ranks, 1);
        g.generation = rows[i].generation;
        g.nvswitch = true;
        dit_cost_exchange e = dit_cost_exchange_of(&g, DIT_COST_ALL_REDUCE, bytes);
        double ratio = e.seconds * rows[i].busbw_bytes_per_s / (bytes * 2 * (rows[i].ranks - 1) / rows[i].ranks);
        print_message("# all_reduce %d of generation %d: %s, %.2f of what was measured\n", rows[i].ranks,
                      (int)rows[i].generation, dit_cost_algorithm_name(e.algorithm), ratio);
        assert_int_equal(e.algorithm, rows[i].ranks > 4 ? DIT_COST_NVLS : DIT_COST_RING);
        assert_true(ratio > 0.85 && ratio < 1.03);
    }
}

static void messages_between_two_ranks_change_protocol_at_16_kib(void **state)
{
    dit_cost_group g = group_of(DIT_COST_PCIE, 24e9, 8, 1);
    (void)state;
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 16384).protocol, DIT_COST_LL);
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_SEND_RECV, 16385).protocol, DIT_COST_SIMPLE);
    assert_int_equal(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 7 * 16384).protocol, DIT_COST_LL);
    assert_close(dit_cost_exchange_of(&g, DIT_COST_ALL_TO_ALL, 24e6).seconds, 8.4e-6 + 5.7e-6 + 1e-3, 1e-12);
    dit_cost_exchange alone = dit_cost_exchange_of(&(dit_cost_group){.ranks = 1}, DIT_COST_ALL_REDUCE, 1e6);
    assert_close(alone.seconds + alone.latency_s + alone.front_latency_s, 0, 0);
    assert_close(alone.bandwidth_factor, 1, 0);
}

static void no_exchange_gets_faster_with_bytes_or_ranks(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        dit_cost_collective kind = (dit_cost_collective)dit_rng_below(7, 3, draws++, DIT_COST_COLLECTIVE_COUNT);
        dit_cost_group g = group_of(i % 2 ? DIT_COST_NVLINK : DIT_COST_PCIE, 1e9 * (1 + (double)any_size(8)), 0, 1);
        g.ranks = 2 + (int)any_size(5);
        g.nodes = i % 3 ? 1 : 1 + (int)any_size(1) % g.ranks;
        g.generation = (dit_cost_generation)(i % DIT_COST_GENERATION_COUNT);
        g.nvswitch = i % 5 == 0;
        if (i % 7) g.network_bandwidth_bytes_per_s = 1e9 * (1 + (double)any_size(6));
        g.inside_many_peers_efficiency = i % 4 ? 0.7 : 0;
        double bytes = (double)any_size(32);
        dit_cost_exchange e = dit_cost_exchange_of(&g, kind, bytes);
        assert_not_less("bytes", dit_cost_exchange_of(&g, kind, bytes + (double)any_size(20)).seconds, e.seconds);
        assert_true(e.bandwidth_factor > 0 && isfinite(e.seconds) && e.latency_s >= 0);
        assert_true(g.nvswitch || g.nodes > 1 || e.bandwidth_factor <= 1);
        /* more peers: smaller messages, and their protocol; more of a switch's channels; nothing hid the hops */
        if (kind == DIT_COST_ALL_TO_ALL || g.nvswitch || g.ranks == g.nodes) continue;
        g.ranks++;
        assert_not_less("ranks", dit_cost_exchange_of(&g, kind, bytes).seconds, e.seconds);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static const char whole_device[] =
    "{\"schema\":\"ditbench.accelerator/"
    "1\",\"name\":\"d\",\"architecture\":\"a\",\"memory_bytes\":1,\"memory_bandwidth_bytes_per_s\":1e12,"
    "\"streaming_multiprocessors\":8,\"peak_flops_per_s\":{\"fp16\":1e12},\"cost\":{\"gemm_ceiling\":0.5,\"launch_s\":"
    "1e-6,"
    "\"attention\":[{\"kernel\":\"k\",\"head_dim\":64,\"tokens\":[1024,2048],\"flops_per_s\":[1e11,1.2e11]},"
    "{\"kernel\":\"k\",\"head_dim\":128,\"tokens\":[1024],\"flops_per_s\":[1.9e11]}]}}";

/* Reads whole_device with `from` replaced by `to`. */
static dit_status read_changed(const char *from, const char *to, const char *dtype)
{
    char path[TEST_FOLDER], text[2048];
    const char *at = strstr(whole_device, from);
    dit_cost_profile profile = {0};
    dit_cost_device device;
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole_device), whole_device, to, at + strlen(from));
    test_file_make(path, text, strlen(text));
    dit_status st = dit_cost_device_read(path, dtype, &profile, &device);
    unlink(path);
    return st;
}

static void bad_parameters_are_refused_by_name(void **state)
{
    (void)state;
    assert_ok(read_changed("0.5", "0.6", "fp16"));
    assert_int_equal(read_changed("0.5", "1.5", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("\"gemm_ceiling\":0.5,", "", "fp16"), DIT_ERR_JSON_MISSING);
    assert_int_equal(read_changed("launch_s", "lunch_s", "fp16"), DIT_ERR_JSON_UNKNOWN_KEY);
    assert_int_equal(read_changed("accelerator/1", "accelerator/2", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("\"cost\":", "\"costs\":", "fp16"), DIT_ERR_UNSUPPORTED);
    assert_int_equal(read_changed("0.5", "0.6", "bf16"), DIT_ERR_UNSUPPORTED);
    assert_non_null(strstr(dit_error_last()->message, "bf16"));
    assert_int_equal(read_changed("0.5", "0.6", "int3"), DIT_ERR_NOT_FOUND);
    assert_int_equal(read_changed("\"kernel\":\"k\",\"head_dim\":64", "\"head_dim\":64", "fp16"), DIT_ERR_JSON_MISSING);
    assert_int_equal(read_changed("[1024,2048]", "[2048,1024]", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("[1024,2048]", "[1024]", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("1.2e11", "1.8e11", "fp16"), DIT_ERR_JSON_VALUE); /* time would fall */
    assert_int_equal(read_changed("1.9e11", "2.1e11", "fp16"), DIT_ERR_JSON_VALUE); /* over heads, too */
    assert_int_equal(read_changed("1.9e11", "\"fast\"", "fp16"), DIT_ERR_JSON_TYPE);
}

static void a_profile_must_say_every_part(void **state)
{
    dit_cost_profile profile;
    (void)state;
    assert_int_equal(dit_cost_profile_read(ACCELERATORS "/a100-sxm-80.json", &profile), DIT_ERR_JSON_VALUE);
    assert_int_equal(dit_cost_profile_read(PROFILES "/nobody.json", &profile), DIT_ERR_IO);
    profile = profile_named("ditbench");
    assert_string_equal(profile.name, "ditbench");
    assert_true(profile.packed_linear);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_wave_of_tiles_takes_the_time_of_one_tile),
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
        cmocka_unit_test(processors_that_communicate_do_not_compute),
        cmocka_unit_test(published_products_are_met_within_10_percent_at_the_median),
        cmocka_unit_test(published_passes_over_memory_are_met_within_a_quarter_at_the_median),
        cmocka_unit_test(attention_is_its_table_at_the_knots_of_every_accelerator),
        cmocka_unit_test(the_accelerators_of_the_papers_have_parameters),
        cmocka_unit_test(a_profile_reads_the_tables_of_its_kernels),
        cmocka_unit_test(a_core_has_tiles_of_its_own_and_shares_its_memory),
        cmocka_unit_test(no_time_falls_when_a_size_grows_or_is_not_a_number),
        cmocka_unit_test(nothing_to_do_takes_no_time),
        cmocka_unit_test(every_entry_tells_the_hook_what_the_account_of_flops_says),
        cmocka_unit_test(convolutions_and_group_norms_are_told_too),
        cmocka_unit_test(masked_attention_counts_the_pairs_that_see_each_other),
        cmocka_unit_test(only_what_rises_with_the_queries_is_uneven),
        cmocka_unit_test(what_a_stack_fuses_is_fewer_kernels_and_less_time),
        cmocka_unit_test(time_of_an_operator_is_its_product_and_its_passes),
        cmocka_unit_test(a_step_takes_what_the_slower_of_host_and_device_needs),
        cmocka_unit_test(messages_stand_in_the_queue_of_the_device_and_not_of_the_host),
        cmocka_unit_test(messages_issued_earlier_start_before_the_device_is_done),
        cmocka_unit_test(latencies_are_those_of_the_tuner),
        cmocka_unit_test(trees_are_for_sums_of_many_nodes),
        cmocka_unit_test(switches_add_up_from_hopper_on),
        cmocka_unit_test(simulated_messages_take_the_librarys_time),
        cmocka_unit_test(many_peers_at_once_have_less_each_for_every_doubling),
        cmocka_unit_test(a_message_among_eight_has_half_of_the_channels),
        cmocka_unit_test(generations_are_read_from_the_architecture),
        cmocka_unit_test(measured_collectives_are_met_within_the_bounds_of_their_curves),
        cmocka_unit_test(the_switch_is_chosen_from_five_devices_on),
        cmocka_unit_test(messages_between_two_ranks_change_protocol_at_16_kib),
        cmocka_unit_test(no_exchange_gets_faster_with_bytes_or_ranks),
        cmocka_unit_test(bad_parameters_are_refused_by_name),
        cmocka_unit_test(a_profile_must_say_every_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
