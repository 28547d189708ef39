#include "engine/attention/gemm_rate.h"

#include "base/json_writer.h"

#include <math.h>

enum { PRODUCTS = 3 }; /* of a look: the fastest counts, which nothing disturbed */

dit_status dit_gemm_rate_begin(dit_runtime *rt, dit_gemm_rate *out)
{
    *out = (dit_gemm_rate){0};
    return dit_bench_gemm_prepare(rt->pool, rt->kernels, &out->product);
}

dit_status dit_gemm_rate_look(dit_gemm_rate *rate)
{
    double most = 0, flop_per_s = 0;
    for (int i = 0; i < PRODUCTS; i++) {
        DIT_TRY(dit_bench_gemm_measure(&rate->product, &flop_per_s));
        most = fmax(most, flop_per_s);
    }
    rate->flop_per_s = (rate->flop_per_s * rate->looks + most) / (rate->looks + 1);
    rate->looks++;
    return DIT_OK;
}

dit_status dit_gemm_rate_report(const dit_gemm_rate *rate, double flops, double latency_ns, cJSON *record)
{
    dit_json_writer w = {0};
    cJSON *part = dit_json_put_object(&w, record, "gemm");
    dit_json_put_int(&w, part, "size", rate->product.n);
    dit_json_put_number(&w, part, "flop_per_s", rate->flop_per_s);
    dit_json_put_number(&w, part, "share", flops * 1e9 / latency_ns / rate->flop_per_s);
    return w.status;
}

void dit_gemm_rate_release(dit_gemm_rate *rate)
{
    dit_bench_gemm_release(&rate->product);
}
