/* Latency as papers draw it: lines over a tag, on linear or logarithmic axes. */
#include "reports/figures/figure.h"

static void measure_latency(const report_case *kase, report_bar *out)
{
    report_measure_point(kase, REPORT_LATENCY, out);
}

const report_figure_kind report_figure_latency = {
    .kind = "latency",
    .defaults = {.id = "latency_lines",
                 .title = "Latency by method",
                 .x = "world_size",
                 .series = "method",
                 .panel = "model, resolution"},
    .drawing = REPORT_DRAW_LINES,
    .unit = REPORT_UNIT_SECONDS,
    .y_label = "latency",
    .reading = "A line ends where a method has no legal mesh or no memory.",
    .on_request = true,
    .takes_published = true,
    .published = REPORT_LATENCY,
    .measure = measure_latency,
};
