/* Cost model of an accelerator: predicts the seconds of one kernel from its shape. Pure functions of parameters.
 *
 * Every time is a device time: the kernel alone on the device, with its start, without the host. The formulas have few
 * parameters, which describe the accelerator and never a model, a method or a figure; workloads/accelerators holds them
 * with their sources. No time falls when a size grows, and work of size 0 takes 0 s.
 */
#ifndef DIT_KERNELS_COST_MODEL_H
#define DIT_KERNELS_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_COST_KNOTS = 16, DIT_COST_TABLES = 8, DIT_COST_TILES = 8, DIT_COST_NAME = 64 };

/* A curve y over x: linear in log(x) between knots, constant outside of them. x ascends from above 0, y is above 0.
 * Where y is a rate and x a size, time x / y must not fall: y[i+1] - y[i] <= y[i] log(x[i+1] / x[i]). count 0: y is 1
 * everywhere. */
typedef struct {
    int count;
    double x[DIT_COST_KNOTS], y[DIT_COST_KNOTS];
} dit_cost_curve;

double dit_cost_curve_at(const dit_cost_curve *curve, double x);

/* Rate of the attention kernel over tokens, for heads of that size and enough of them to fill the device. */
typedef struct {
    int64_t head_dim;
    dit_cost_curve flops_per_s;
} dit_cost_attention_table;

/* An output tile that a library offers. efficiency: rate of a full tile as a fraction of the largest tile's rate. */
typedef struct {
    int64_t rows, columns;
    double efficiency;
} dit_cost_tile;

/* What cores that share memory lose when they work at the same time: the rates of one core beside `ranks` - 1 others,
 * as fractions of its rates alone. ranks 0: nothing is shared. */
typedef struct {
    double ranks, compute, bandwidth;
} dit_cost_together;

/* One accelerator that computes in one dtype. */
typedef struct {
    char name[DIT_COST_NAME], architecture[DIT_COST_NAME];
    int64_t memory_bytes;
    int element_bytes;            /* of activations and weights                                                     */
    double peak_flops_per_s;      /* of matrix products of that type, dense                                         */
    double fp32_flops_per_s;      /* of fp32 products without tensor cores; 0: not known                            */
    double bandwidth_bytes_per_s; /* of device memory                                                               */
    double l2_bytes, l2_speed;    /* the last cache, and its speed in that of device memory; 0 or at most 1: none   */
    double processors;            /* streaming multiprocessors; beside communication also a fraction of one         */
    double clock_hz;              /* of a processor, by its rate of fp32 without tensor cores; 0: not known         */
    double launch_s;              /* from one kernel's end to the next one's first result, both queued              */
    double gemm_ceiling;          /* of the peak, in (0, 1]: the best that a matrix product of any shape gets       */
    double gemm_fill_k;           /* writing a tile takes as long as so many steps of k: dit_cost_fill_k              */
    int tiles;                    /* 0: the tiles of GPU libraries                                                  */
    dit_cost_tile tile[DIT_COST_TILES];
    double attention_scale;    /* times all rates of the tables: 1, or what a fit says                           */
    double exponentials_per_s; /* of all processors; 0: head sizes outside of the tables have the tables' rate   */
    int64_t head_granularity;  /* head sizes are rounded up to a multiple of it: 32 in FlashAttention-2          */
    int64_t attention_queries, attention_keys; /* of a tile; 0: 128 queries, keys rounded up to 64 */
    dit_cost_together together;
    int tables; /* at least 1, head_dim ascending                                                 */
    dit_cost_attention_table attention[DIT_COST_TABLES];
    dit_cost_curve bandwidth_fraction; /* the share of bandwidth_bytes_per_s that a kernel of so many bytes reaches   */
} dit_cost_device;

/* Returns the seconds of a kernel that moves bytes: launch + bytes / (bandwidth * fraction(bytes) * cache(bytes)).
 * Source: the memory efficiency curves of Calculon (Isaev et al., SC23; arXiv:2205.05198 has its data), where efficiency
 * is a function of the bytes of the operation. `cache` is l2_speed where the bytes fit 0.7 of the last cache, so that
 * the kernel before has left them there, 1 from 1.4 of it on, and linear between. */
double dit_cost_elementwise_seconds(const dit_cost_device *device, double bytes);
/* Returns how many steps of k take as long as a processor needs to write an output tile with its share of the memory's
 * bandwidth: element_bytes / 2 * peak / bandwidth, whatever the tile. It computes nothing meanwhile; kernels that
 * overlap writing with the next tile (Hopper's persistent ones) hide half of it. */
double dit_cost_fill_k(const dit_cost_device *device, bool overlaps);

/* Returns the seconds of [rows, k] times [k, n]: launch + max(compute, memory). Compute is that of the fastest of a few
 * output tiles, as libraries choose:
 *   compute = waves * (time of a tile)
 *   waves = ceil(ceil(rows / tile_rows) * ceil(n / tile_columns) / processors)
 *   time of a tile = 2 tile_rows tile_columns (k + fill) / (peak / processors * ceiling * efficiency of the tile)
 * Memory reads and writes each operand once. Source: tile and wave quantisation, NVIDIA's "Matrix Multiplication
 * Background User's Guide"; tiles as the unit of a processor's work, LLMCompass (Zhang et al., ISCA 2024). */
double dit_cost_gemm_seconds(const dit_cost_device *device, int64_t rows, int64_t n, int64_t k);
/* Returns the seconds of a convolution: a product of `positions` rows with k = taps times channels, which reads `input`
 * elements instead of rows times k (implicit GEMM: Chetlur et al., cuDNN, arXiv:1410.0759). */
double dit_cost_conv_seconds(const dit_cost_device *device, int64_t positions, int64_t n, int64_t k, int64_t input);

typedef struct {
    int64_t B, H, Sq, Sk, D;
    double seen;   /* share of all pairs of query and key that is computed: 1 without positions                   */
    double uneven; /* share of all keys by which what the last queries of a head see exceeds what its first ones see:
                      1 under a causal mask, 0 where all queries that see any keys see as many */
} dit_cost_attention;
/* Returns the seconds of attention: launch + max(compute, memory).
 *   tiles    A tile is 128 queries of one head; there are B H ceil(Sq / 128). An accelerator may name other tiles. Keys
 *            are never divided over processors.
 *   padding  The kernel rounds Sk up to a multiple of 64, and D up to D', a multiple of head_granularity.
 *   rate     comes from the tables at Sk and D', linear between two head sizes. Outside of the tables' head sizes, a
 *            pair of query and key takes 4 D' / rate = (products of the nearest table, in proportion to D') +
 *            1 / exponentials_per_s. Below a table's first knot x0 a tile's start and end are worth 128 keys:
 *            rate(Sk) = rate(x0) Sk / (Sk + 128) (x0 + 128) / x0.
 *   compute  One processor takes 4 128 Sk D' seen / (rate / processors) for a tile, the device
 *            max(tiles, processors) / processors times that: with fewer tiles than processors some are idle.
 *   end      Tiles start in the order of their queries, so under a causal mask the longest come last. Processors then
 *            end one after the other over the time of a tile of 4 128 Sk D' uneven flops and are idle for half of it:
 *            + (1 - 1 / processors) / 2 of that time.
 * Source of tiles and head sizes: FlashAttention-2 (Dao, arXiv:2307.08691) and its published kernels. Order and
 * residence: csrc/flash_attn/src/flash_fwd_kernel.h, where blockIdx.x is the tile of queries, and 128 threads with up
 * to 255 registers leave room for two tiles on a processor. */
double dit_cost_attention_seconds(const dit_cost_device *device, const dit_cost_attention *shape);
/* Returns the share of attention's time that is left when a kernel that was issued after it gets the `wanted` whole
 * processors that it needs. It is 1 where so many processors have no tile at all. Else it is the share of the last
 * resident tiles among all, times 1 - sqrt(wanted / processors): a processor is free when both of its tiles have ended,
 * and tiles end one after the other. */
double dit_cost_attention_last_share(const dit_cost_device *device, const dit_cost_attention *shape, double wanted);

/* Returns the device as it is while a communication kernel holds `taken` of its processors (at most all but one): rates
 * fall with the processors that are left, and waves are counted anew. Memory bandwidth stays. Source: computation
 * beside collectives is slower by 18.9 % on average (arXiv:2507.03114), which 17 of 108 processors give. */
dit_cost_device dit_cost_device_beside(const dit_cost_device *device, double taken);

/* Returns one of `ranks` cores that work at the same time: rates fall evenly from 1 to together.ranks cores and stay
 * constant beyond. */
dit_cost_device dit_cost_device_together(const dit_cost_device *device, int ranks);

#ifdef __cplusplus
}
#endif
#endif
