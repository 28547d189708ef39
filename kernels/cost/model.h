/* Cost model of an accelerator: how many seconds one kernel takes there, from its shape. Pure functions of parameters.
 *
 * Every time is a device time: the kernel alone on the device, its start included, nothing of the host. Formulas have
 * few parameters, each of the accelerator, none of a model, method or figure; workloads/accelerators holds them with
 * their sources. All functions never fall when a size grows, and are 0 where there is nothing to do.
 */
#ifndef DIT_KERNELS_COST_MODEL_H
#define DIT_KERNELS_COST_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_COST_KNOTS = 16, DIT_COST_TABLES = 8, DIT_COST_TILES = 8, DIT_COST_NAME = 64 };

/* y over x, linear in log(x) between knots, constant outside. x ascending and above 0, y above 0. Where y is a rate and
 * x a size, time x / y must not fall: y[i+1] - y[i] <= y[i] log(x[i+1] / x[i]). count 0: 1 everywhere. */
typedef struct {
    int count;
    double x[DIT_COST_KNOTS], y[DIT_COST_KNOTS];
} dit_cost_curve;

double dit_cost_curve_at(const dit_cost_curve *curve, double x);

/* Rate of the attention kernel with heads of that size, over tokens, enough heads in the batch to fill the device. */
typedef struct {
    int64_t head_dim;
    dit_cost_curve flops_per_s;
} dit_cost_attention_table;

/* An output tile that a library offers, with the rate of a full one as a fraction of the largest's. */
typedef struct {
    int64_t rows, columns;
    double efficiency;
} dit_cost_tile;

/* What working at the same time costs cores that share memory: rates of each beside `ranks` - 1 others, as fractions of
 * those of one alone. ranks 0: nothing is shared. */
typedef struct {
    double ranks, compute, bandwidth;
} dit_cost_together;

/* One accelerator computing with one element type. */
typedef struct {
    char name[DIT_COST_NAME], architecture[DIT_COST_NAME];
    int64_t memory_bytes;
    int element_bytes;            /* of activations and weights                                                     */
    double peak_flops_per_s;      /* of matrix products of that type, dense                                         */
    double bandwidth_bytes_per_s; /* of device memory                                                               */
    double processors;            /* streaming multiprocessors; a fraction may be left beside communication         */
    double launch_s;              /* from one kernel's end to the next one's first result, both queued              */
    double gemm_ceiling;          /* of the peak, in (0, 1]: the best that a matrix product of any shape gets       */
    double gemm_fill_k;           /* steps of k that a tile's start and end are worth                               */
    int tiles;                    /* 0: those of GPU libraries                                                      */
    dit_cost_tile tile[DIT_COST_TILES];
    double attention_scale;    /* on all rates of the tables: 1, or what a fit says                              */
    double exponentials_per_s; /* of all processors; 0: attention of all head sizes has the tables' rate           */
    int64_t head_granularity;  /* heads are computed as the next multiple of it: 32 in FlashAttention-2          */
    int64_t attention_queries, attention_keys; /* of a tile; 0: 128 queries, keys filled up to 64 */
    dit_cost_together together;
    int tables; /* at least 1, head_dim ascending                                                 */
    dit_cost_attention_table attention[DIT_COST_TABLES];
    dit_cost_curve bandwidth_fraction; /* of bandwidth_bytes_per_s, over the bytes of a kernel                        */
} dit_cost_device;

/* Bytes over memory: launch + bytes / (bandwidth * fraction(bytes)). Source: the memory efficiency curves of Calculon
 * (Isaev et al., SC23; arXiv:2205.05198 has its data), where efficiency is a function of the bytes of the operation. */
double dit_cost_elementwise_seconds(const dit_cost_device *device, double bytes);

/* [rows, k] times [k, n]: launch + max(compute, memory). Compute is the fastest of a few output tiles, as libraries
 * choose: waves * (time of a tile), waves = ceil(ceil(rows / tile_rows) * ceil(n / tile_columns) / processors), time of
 * a tile = 2 tile_rows tile_columns (k + fill) / (peak / processors * ceiling * efficiency of the tile). Memory is what
 * is read and written once. Source: tile and wave quantisation, NVIDIA's "Matrix Multiplication Background User's
 * Guide"; tiles as the unit of a processor's work, LLMCompass (Zhang et al., ISCA 2024). */
double dit_cost_gemm_seconds(const dit_cost_device *device, int64_t rows, int64_t n, int64_t k);
/* A convolution as the product it is, of `positions` rows, k taps times channels, that reads `input` elements instead
 * of rows times k (implicit GEMM: Chetlur et al., cuDNN, arXiv:1410.0759). */
double dit_cost_conv_seconds(const dit_cost_device *device, int64_t positions, int64_t n, int64_t k, int64_t input);

typedef struct {
    int64_t B, H, Sq, Sk, D;
    double seen;   /* of all pairs of query and key, those that are computed: 1 without positions                 */
    double uneven; /* of all keys, what a head's last queries see more than its first, where that rises with the
                      queries: 1 under a causal mask, 0 where all that see anything see as much */
} dit_cost_attention;
/* launch + max(compute, memory). Compute: tiles of 128 queries of one head, B H ceil(Sq / 128) of them; one processor
 * takes for one 4 128 Sk D' seen / (rate / processors), and the device max(tiles, processors) / processors times that:
 * fewer tiles than processors leave some idle. Tiles are started in the order of
 * their queries, so that under a causal mask the longest ones come last; processors end one after the other, over what
 * a tile takes there, 4 128 Sk D' uneven, and are idle for half of it: + (1 - 1 / processors) / 2 of a tile's time. Sk
 * is filled up to 64 and D to D', as the kernel computes them; the rate is read from the tables at Sk and D'; of head
 * sizes outside of them, 4 D' / rate is the products' part of the nearest table's, in proportion to D', and 1 /
 * exponentials_per_s. Below a table's first knot x0 a tile has a start and an end worth 128 keys: rate(Sk) = rate(x0)
 * Sk / (Sk + 128) (x0 + 128) / x0. An accelerator may say other tiles. Source of tiles and head sizes: FlashAttention-2
 * (Dao, arXiv:2307.08691) and its published kernels; keys are never cut over processors; order and residence:
 * csrc/flash_attn/src/flash_fwd_kernel.h, blockIdx.x is the tile of queries, and 128 threads with up to 255 registers
 * leave room for two on a processor. */
double dit_cost_attention_seconds(const dit_cost_device *device, const dit_cost_attention *shape);
/* Of that time, the share that is left when a kernel issued behind it that needs `wanted` whole processors has them: 1
 * where so many have no tile at all; else the last tiles' share, resident ones over all, less the sqrt(wanted /
 * processors) of it until both tiles of so many processors are done, as they end one after the other. */
double dit_cost_attention_last_share(const dit_cost_device *device, const dit_cost_attention *shape, double wanted);

/* The device while a communication kernel holds `taken` of its processors (at most all but one): rates fall with the
 * processors that are left, waves are counted anew; memory is not shared out. Source: computation beside collectives is
 * slower by 18.9 % in the mean (arXiv:2507.03114), which 17 of 108 processors give. */
dit_cost_device dit_cost_device_beside(const dit_cost_device *device, double taken);

/* One of `ranks` cores that work at the same time: between 1 and together.ranks rates fall evenly, beyond that they
 * stay. */
dit_cost_device dit_cost_device_together(const dit_cost_device *device, int ranks);

#ifdef __cplusplus
}
#endif
#endif
