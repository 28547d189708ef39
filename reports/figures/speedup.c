/* Speedup: latency of one device over latency, against devices. */
#include "reports/figures/figure.h"

static void measure_speedup(const report_case *kase, report_bar *out)
{
    report_measure_point(kase, REPORT_SPEEDUP, out);
}

const report_figure_kind report_figure_speedup = {
    .kind = "speedup",
    .defaults = {.id = "speedup",
                 .title = "Speedup over one device",
                 .x = "world_size",
                 .series = "method",
                 .panel = "model, resolution"},
    .drawing = REPORT_DRAW_LINES,
    .unit = REPORT_UNIT_FACTOR,
    .y_label = "speedup",
    .reading = "The latency of one device, of the same evidence and source, divided by the latency. Dashed: as many "
               "times faster as there are devices.",
    .on_request = true,
    .takes_published = true,
    .published = REPORT_SPEEDUP,
    .measure = measure_speedup,
};
