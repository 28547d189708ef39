/* Machine fit: turns raw times of one machine's operators and messages (ditbench.calibration-raw/1) into the few
 * parameters by which the cost model (kernels/cost/model.h, operator.h) describes a core or an accelerator of the
 * machine, and the messages between its ranks.
 *
 * Raw: {"schema", "machine": {"cpu", "cores", "memory_bytes"}, "isa", "runs": [{"ranks", "times": [{"op", sizes,
 * "seconds"}]}]}, the first run has one rank, the last as many as there are cores. For accelerators, machine is
 * {"device", "devices", "multiprocessors", "memory_bytes"}, there is "element" in place of "isa", and one device has
 * one run. The fit is a pure function. Values have four significant digits, so that equal raw times give equal bytes
 * everywhere.
 */
#ifndef DIT_SUITE_CALIBRATE_MACHINE_FIT_H
#define DIT_SUITE_CALIBRATE_MACHINE_FIT_H

#include "base/json.h"
#include "kernels/cost/operator.h"

enum { SUITE_FIT_HEADS = 8 };

typedef struct {
    char cpu[128], isa[16]; /* of an accelerator its name, and "" */
    int cores;              /* or accelerators                    */
    bool device;            /* an accelerator: the next four, and no tiles, row_efficiency and together */
    char element[8];
    int element_bytes, processors;    /* of cores 4 and 1 */
    double dispatch_s, synchronise_s; /* of the host      */
    int64_t memory_bytes;
    double peak_flops_per_s, bandwidth_bytes_per_s, launch_s;
    dit_cost_curve bandwidth_fraction;
    int tile_rows, tile_columns;
    double row_efficiency; /* of a tile of one row                     */
    double gemm_ceiling, gemm_fill_k;
    int heads; /* attention: tables by head size, ascending */
    int64_t head_dim[SUITE_FIT_HEADS];
    dit_cost_curve attention[SUITE_FIT_HEADS];
    double together_compute, together_bandwidth; /* of all cores at work, of one alone       */
    double message_latency_s, message_bytes_per_s;
    double passes[DIT_COST_PART_COUNT]; /* over memory of the operator's size; 0 of parts that are not measured */
    int products, messages;             /* that were fitted to, and the median of |fitted / measured - 1| */
    double product_error, message_error;
} suite_core_fit;

/* Errors: DIT_ERR_JSON_* with the place; DIT_ERR_UNSUPPORTED when a time that is needed is missing, or times make no
 * sense together. */
dit_status suite_core_fit_raw(const dit_json *raw, suite_core_fit *out);
/* Returns the seconds that the cost model predicts for a product, with the fit's tiles and rates. */
double suite_core_fit_product(const suite_core_fit *fit, int64_t rows, int64_t n, int64_t k);

#endif
