/* Predicts the seconds of one kernel from its shape. model.h has formulas and sources. */
#include "kernels/cost/model.h"

#include <math.h>

enum { ATTENTION_QUERIES = 128, ATTENTION_KEYS = 64, ATTENTION_FILL_KEYS = 128, ATTENTION_RESIDENT = 2 };

static double ceil_div(int64_t value, int64_t by)
{
    return (double)((value + by - 1) / by);
}

double dit_cost_curve_at(const dit_cost_curve *curve, double x)
{
    int last = curve->count - 1, i = 0;
    if (curve->count == 0) return 1;
    if (x <= curve->x[0]) return curve->y[0];
    if (x >= curve->x[last]) return curve->y[last];
    while (x > curve->x[i + 1]) i++;
    double along = log(x / curve->x[i]) / log(curve->x[i + 1] / curve->x[i]);
    return curve->y[i] + along * (curve->y[i + 1] - curve->y[i]);
}

static double memory_seconds(const dit_cost_device *device, double bytes)
{
    return bytes / (device->bandwidth_bytes_per_s * dit_cost_curve_at(&device->bandwidth_fraction, bytes));
}

/* Returns how many times faster than device memory bytes of one kernel are that lie in the last cache. */
static double cache_speed(const dit_cost_device *device, double bytes)
{
    static const double all = 0.7, none = 1.4; /* shares of the cache */
    if (!(device->l2_bytes > 0 && device->l2_speed > 1)) return 1;
    double held = (none - bytes / device->l2_bytes) / (none - all);
    return 1 + fmin(fmax(held, 0), 1) * (device->l2_speed - 1);
}

double dit_cost_elementwise_seconds(const dit_cost_device *device, double bytes)
{
    if (!(bytes > 0)) return 0;
    return device->launch_s + memory_seconds(device, bytes) / cache_speed(device, bytes);
}

/* ---- matrix products --------------------------------------------------------------------------------------------- */

/* Output tiles that libraries offer. A smaller tile loads more operands for each product, so its rate is a fraction of
 * the largest tile's. One list serves all accelerators; it was chosen on the published products of
 * tests/test_cost_model.c. */
static const dit_cost_tile tiles[] = {{128, 256, 1.0}, {256, 128, 1.0}, {128, 128, 0.9}, {64, 256, 0.8},
                                      {256, 64, 0.8},  {128, 64, 0.75}, {64, 128, 0.75}, {64, 64, 0.65}};
enum { TILE_COUNT = sizeof tiles / sizeof tiles[0] };

double dit_cost_fill_k(const dit_cost_device *device, bool overlaps)
{
    double k = device->element_bytes * device->peak_flops_per_s / (2 * device->bandwidth_bytes_per_s);
    return overlaps ? k / 2 : k;
}

static double tiled_seconds(const dit_cost_device *device, const dit_cost_tile *tile, int64_t rows, int64_t n,
                            int64_t k)
{
    double waves = ceil(ceil_div(rows, tile->rows) * ceil_div(n, tile->columns) / device->processors);
    double flops = 2.0 * (double)tile->rows * (double)tile->columns * ((double)k + device->gemm_fill_k);
    double rate = device->peak_flops_per_s / device->processors * device->gemm_ceiling * tile->efficiency;
    return waves * flops / rate;
}

static double fastest_tile(const dit_cost_device *device, int64_t rows, int64_t n, int64_t k)
{
    const dit_cost_tile *tile = device->tiles ? device->tile : tiles;
    int count = device->tiles ? device->tiles : TILE_COUNT;
    double best = tiled_seconds(device, tile, rows, n, k);
    for (int i = 1; i < count; i++) best = fmin(best, tiled_seconds(device, tile + i, rows, n, k));
    return best;
}

double dit_cost_conv_seconds(const dit_cost_device *device, int64_t positions, int64_t n, int64_t k, int64_t input)
{
    double elements = (double)input + (double)n * (double)k + (double)positions * (double)n;
    if (positions <= 0 || n <= 0 || k <= 0) return 0;
    return device->launch_s +
           fmax(fastest_tile(device, positions, n, k), memory_seconds(device, elements * device->element_bytes));
}

double dit_cost_gemm_seconds(const dit_cost_device *device, int64_t rows, int64_t n, int64_t k)
{
    return dit_cost_conv_seconds(device, rows, n, k, rows * k);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static double table_rate(const dit_cost_attention_table *table, double keys)
{
    double first = table->flops_per_s.x[0], rate = dit_cost_curve_at(&table->flops_per_s, keys);
    if (keys >= first) return rate;
    return rate * keys / (keys + ATTENTION_FILL_KEYS) * (first + ATTENTION_FILL_KEYS) / first;
}

/* Returns the rate for a head size without a table, from another size's table: a pair of query and key takes the time
 * of the products, which grows with the head size, and that of one exponential, which does not. */
static double resized_rate(const dit_cost_device *device, const dit_cost_attention_table *table, double keys,
                           double head_dim)
{
    double rate = table_rate(table, keys), of_table = (double)table->head_dim;
    double exponential_s = device->exponentials_per_s > 0 ? 1 / device->exponentials_per_s : 0;
    double products_s = 4 * of_table / rate - exponential_s;
    if (!(exponential_s > 0) || !(products_s > 0)) return rate;
    return 4 * head_dim / (products_s * head_dim / of_table + exponential_s);
}

/* Returns the rate for a head size: linear between the head sizes that have a table. */
static double attention_rate(const dit_cost_device *device, double keys, double head_dim)
{
    const dit_cost_attention_table *table = device->attention;
    int last = device->tables - 1, i = 0;
    if (head_dim <= (double)table[0].head_dim) return resized_rate(device, table, keys, head_dim);
    if (head_dim >= (double)table[last].head_dim) return resized_rate(device, table + last, keys, head_dim);
    while (head_dim > (double)table[i + 1].head_dim) i++;
    double below = (double)table[i].head_dim, above = (double)table[i + 1].head_dim;
    double along = (head_dim - below) / (above - below);
    return (1 - along) * table_rate(table + i, keys) + along * table_rate(table + i + 1, keys);
}

static int64_t queries_of_tile(const dit_cost_device *device)
{
    return device->attention_queries ? device->attention_queries : ATTENTION_QUERIES;
}

static double tiles_of(const dit_cost_device *device, const dit_cost_attention *a)
{
    return (double)a->B * (double)a->H * ceil_div(a->Sq, queries_of_tile(device));
}

double dit_cost_attention_last_share(const dit_cost_device *device, const dit_cost_attention *a, double wanted)
{
    double tile_count = tiles_of(device, a), taken = fmin(wanted / device->processors, 1);
    if (tile_count <= device->processors - wanted) return 1;
    return fmin(1, ATTENTION_RESIDENT * device->processors / tile_count) * (1 - sqrt(taken));
}

static double attention_compute(const dit_cost_device *device, const dit_cost_attention *a)
{
    int64_t filled = device->attention_keys ? device->attention_keys : ATTENTION_KEYS;
    double keys = ceil_div(a->Sk, filled) * (double)filled;
    double head_dim = ceil_div(a->D, device->head_granularity) * (double)device->head_granularity;
    double tile_count = tiles_of(device, a);
    double tile_flops = 4.0 * (double)queries_of_tile(device) * keys * head_dim;
    double rate = attention_rate(device, keys, head_dim) * device->attention_scale;
    double tiles_in_turn = fmax(tile_count, device->processors) * a->seen;
    double tiles_in_the_end = (device->processors - 1) / 2 * a->uneven;
    return (tiles_in_turn + tiles_in_the_end) * tile_flops / rate;
}

double dit_cost_attention_seconds(const dit_cost_device *device, const dit_cost_attention *a)
{
    double elements = 2.0 * (double)a->B * (double)a->H * (double)a->D * ((double)a->Sq + (double)a->Sk);
    if (a->B <= 0 || a->H <= 0 || a->Sq <= 0 || a->Sk <= 0 || a->D <= 0) return 0;
    return device->launch_s +
           fmax(attention_compute(device, a), memory_seconds(device, elements * device->element_bytes));
}

/* ---- beside communication ---------------------------------------------------------------------------------------- */

dit_cost_device dit_cost_device_beside(const dit_cost_device *device, double taken)
{
    dit_cost_device left = *device;
    left.processors = fmax(device->processors - fmax(taken, 0), 1);
    left.peak_flops_per_s *= left.processors / device->processors;
    left.attention_scale *= left.processors / device->processors;
    return left;
}

dit_cost_device dit_cost_device_together(const dit_cost_device *device, int ranks)
{
    dit_cost_device busy = *device;
    const dit_cost_together *full = &device->together;
    if (full->ranks <= 1 || ranks <= 1) return busy;
    double share = fmin(1, (ranks - 1) / (full->ranks - 1));
    double compute = 1 - share * (1 - full->compute), bandwidth = 1 - share * (1 - full->bandwidth);
    busy.peak_flops_per_s *= compute;
    busy.attention_scale *= compute;
    busy.bandwidth_bytes_per_s *= bandwidth;
    return busy;
}
