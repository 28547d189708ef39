/* GEMM rate: how fast the device multiplies matrices while a case is measured, which its own rate is a share of. */
#ifndef DIT_ENGINE_ATTENTION_GEMM_RATE_H
#define DIT_ENGINE_ATTENTION_GEMM_RATE_H

#include "engine/runtime/runtime.h"
#include "kernels/bench_device.h"

#include <cjson/cJSON.h>

/* Its memory is no part of the runtime's arenas. */
typedef struct {
    dit_bench_gemm product;
    double flop_per_s; /* of all looks: the mean */
    int looks;
} dit_gemm_rate;

/* Chooses the product. Errors: DIT_ERR_MEMORY, those of the device. */
dit_status dit_gemm_rate_begin(dit_runtime *rt, dit_gemm_rate *out);
/* Measures the rate now: right before and right after what it is compared with, because the speed of a machine drifts. */
dit_status dit_gemm_rate_look(dit_gemm_rate *rate);
/* Adds "gemm" to a record: "size", "flop_per_s", and as "share" that of `flops` in `latency_ns`. */
dit_status dit_gemm_rate_report(const dit_gemm_rate *rate, double flops, double latency_ns, cJSON *record);
void dit_gemm_rate_release(dit_gemm_rate *rate); /* accepts a zeroed one */

#endif
