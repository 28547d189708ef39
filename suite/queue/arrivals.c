#include "suite/queue/arrivals.h"

#include "base/rng.h"
#include "base/words.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { GAP_STREAM = 1, CLASS_STREAM = 2, ATTEMPTS = 64 };
static const double turn = 6.283185307179586;

double suite_arrivals_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t block[4];
    dit_rng_philox(seed, stream, index, block);
    uint64_t bits = ((uint64_t)block[1] << 32 | block[0]) >> 11;
    return ((double)bits + 0.5) * 0x1p-53;
}

/* ---- laws ---------------------------------------------------------------------------------------------------------- */

dit_status suite_arrivals_parse(const char *text, suite_arrivals *out)
{
    static const char *const laws[] = {"poisson", "regular", "gamma:CV", NULL};
    static const char gamma[] = "gamma:";
    char *end;
    if (strcmp(text, "poisson") == 0)
        out->law = SUITE_ARRIVALS_POISSON;
    else if (strcmp(text, "regular") == 0)
        out->law = SUITE_ARRIVALS_REGULAR;
    else if (strncmp(text, gamma, strlen(gamma)) == 0) {
        out->law = SUITE_ARRIVALS_GAMMA;
        out->variation = strtod(text + strlen(gamma), &end);
        if (end == text + strlen(gamma) || *end || !(out->variation >= 0.05 && out->variation <= 20))
            return DIT_FAIL(DIT_ERR_USAGE, "\"%s\": a coefficient of variation is from 0.05 to 20", text);
    } else
        return dit_fail_word(DIT_ERR_USAGE, "law of arrivals", text, laws);
    return DIT_OK;
}

/* A gamma variable of shape >= 1 and mean `shape`: Marsaglia and Tsang, ACM Transactions on Mathematical Software 26
 * (2000). Each attempt has counters of its own. */
static double gamma_above_one(uint64_t seed, uint64_t index, double shape)
{
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (uint64_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t at = (index * ATTEMPTS + attempt) * 3;
        double radius = sqrt(-2 * log(suite_arrivals_uniform(seed, GAP_STREAM, at)));
        double normal = radius * cos(turn * suite_arrivals_uniform(seed, GAP_STREAM, at + 1));
        double v = 1 + c * normal;
        if (v <= 0) continue;
        v = v * v * v;
        if (log(suite_arrivals_uniform(seed, GAP_STREAM, at + 2)) < normal * normal / 2 + d - d * v + d * log(v))
            return d * v;
    }
    return shape; /* not reached: one attempt fails with less than 5 % */
}

static double gamma_gap(const suite_arrivals *arrivals, uint64_t index)
{
    enum { BOOST_STREAM = 3 };
    double shape = 1 / (arrivals->variation * arrivals->variation);
    if (shape >= 1) return gamma_above_one(arrivals->seed, index, shape) / shape;
    double boost = suite_arrivals_uniform(arrivals->seed, BOOST_STREAM, index);
    return gamma_above_one(arrivals->seed, index, shape + 1) * pow(boost, 1 / shape) / shape;
}

/* The trace begins anew a mean gap after its end. */
static double trace_gap(const suite_trace *trace, int64_t index)
{
    int64_t at = index % trace->count;
    double last = trace->seconds[trace->count - 1] - trace->seconds[0];
    if (last <= 0) return at ? 0 : trace->count;
    double mean = last / (trace->count - 1);
    return at ? (trace->seconds[at] - trace->seconds[at - 1]) / mean : 1;
}

double suite_arrivals_gap(const suite_arrivals *arrivals, int64_t index)
{
    switch (arrivals->law) {
    case SUITE_ARRIVALS_POISSON: return -log(suite_arrivals_uniform(arrivals->seed, GAP_STREAM, (uint64_t)index));
    case SUITE_ARRIVALS_REGULAR: return 1;
    case SUITE_ARRIVALS_GAMMA: return gamma_gap(arrivals, (uint64_t)index);
    case SUITE_ARRIVALS_TRACE: return trace_gap(arrivals->trace, index);
    }
    return 1;
}

/* ---- classes ------------------------------------------------------------------------------------------------------- */

static double sum_of(const suite_arrivals *arrivals)
{
    double sum = 0;
    for (int i = 0; i < arrivals->class_count; i++) sum += arrivals->weights[i];
    return sum;
}

int suite_arrivals_class(const suite_arrivals *arrivals, int64_t index)
{
    if (arrivals->law == SUITE_ARRIVALS_TRACE) return arrivals->trace->classes[index % arrivals->trace->count];
    if (arrivals->class_count < 2) return 0;
    double left = suite_arrivals_uniform(arrivals->seed, CLASS_STREAM, (uint64_t)index) * sum_of(arrivals);
    for (int i = 0; i < arrivals->class_count - 1; i++) {
        left -= arrivals->weights[i];
        if (left < 0) return i;
    }
    return arrivals->class_count - 1;
}

double suite_arrivals_share(const suite_arrivals *arrivals, int class_index)
{
    int of = 0;
    if (arrivals->law != SUITE_ARRIVALS_TRACE)
        return arrivals->class_count < 2 ? 1 : arrivals->weights[class_index] / sum_of(arrivals);
    for (int i = 0; i < arrivals->trace->count; i++) of += arrivals->trace->classes[i] == class_index;
    return (double)of / arrivals->trace->count;
}
