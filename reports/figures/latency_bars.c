/* Latency of one iteration by method and ranks: bars from zero, interval of the median as whiskers. */
#include "reports/figures/figure.h"

static void measure_latency(const report_case *kase, report_bar *out)
{
    report_measure_bar(kase, REPORT_LATENCY, out);
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
    .reading = "Bars: median over processes of one iteration (all steps), slowest rank.",
    .takes_published = true,
    .published = REPORT_LATENCY,
    .measure = measure_latency,
};
