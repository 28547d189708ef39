/* Latency as papers draw it: lines over a tag, on linear or logarithmic axes. */
#include "reports/figure.h"

static void measure_latency(const report_case *kase, report_bar *out)
{
    const dit_summary *latency = &kase->metric[REPORT_LATENCY];
    out->n = latency->low > 0 ? latency->n : 0;
    out->part[0] = latency->median;
    out->has_interval = latency->n > 1;
    out->low = latency->low;
    out->high = latency->high;
    out->low_n = latency->low_n;
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
