/* Latency of one iteration by method and ranks: bars from zero, interval of the median as whiskers. */
#include "reports/figure.h"

static void measure_latency(const report_case *kase, report_bar *out)
{
    const dit_summary *latency = &kase->metric[REPORT_LATENCY];
    out->n = latency->n;
    out->part[0] = latency->median;
    out->has_interval = latency->n > 1;
    out->low = latency->low;
    out->high = latency->high;
    out->low_n = latency->low_n;
}

const report_figure_kind report_figure_latency_bars = {
    .kind = "latency_bars",
    .defaults = {.id = "latency",
                 .title = "Latency by method and ranks",
                 .x = "world_size",
                 .series = "method",
                 .panel = "model, resolution"},
    .unit = REPORT_UNIT_SECONDS,
    .y_label = "latency",
    .reading =
        "Bars: median over processes of one iteration (all steps), slowest rank. Whiskers: interval of the median.",
    .takes_published = true,
    .published = REPORT_LATENCY,
    .measure = measure_latency,
};
