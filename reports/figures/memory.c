/* Peak memory of the largest rank by class of lifetime; the process's resident set as a marker. */
#include "reports/figures/figure.h"

static const char *const memory_parts[] = {"weights",  "state", "activations", "communication buffers",
                                           "decoding", NULL};

static void measure_memory(const report_case *kase, report_bar *out)
{
    const report_metric parts[] = {REPORT_WEIGHTS_BYTES, REPORT_STATE_BYTES, REPORT_ACTIVATIONS_BYTES,
                                   REPORT_COMM_BUFFER_BYTES};
    double beyond = kase->metric[REPORT_TOTAL_BYTES].median;
    for (int i = 0; i < 4; i++) {
        out->part[i] = kase->metric[parts[i]].median;
        beyond -= out->part[i];
    }
    if (beyond > 0) out->part[4] = beyond; /* peaks of classes may fall apart in time: their sum is mostly more */
    out->n = kase->metric[REPORT_WEIGHTS_BYTES].n;
    bool on_device =
        kase->metric[REPORT_DEVICE_RESERVED_BYTES].n > 0; /* then these bytes lie there, not in the process */
    out->has_marker = !on_device && kase->metric[REPORT_RSS_BYTES].n > 0;
    out->marker = kase->metric[REPORT_RSS_BYTES].median;
}

const report_figure_kind report_figure_memory = {
    .kind = "memory",
    .defaults =
        {.id = "memory", .title = "Peak memory by class", .x = "mesh", .series = "", .panel = "model, resolution"},
    .unit = REPORT_UNIT_BYTES,
    .y_label = "peak per rank",
    .parts = memory_parts,
    .marker = "resident set of the process",
    .reading = "Bars: peak of each class, maximum over ranks; decoding is what the VAE needs in addition. The marker "
               "adds code, libraries and MPI.",
    .takes_published = true,
    .published = REPORT_TOTAL_BYTES,
    .measure = measure_memory,
};
