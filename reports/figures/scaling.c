/* Strong scaling: latency against ranks, both logarithmic to base 2, with the line of ideal scaling. */
#include "reports/figures/figure.h"

static void measure_scaling(const report_case *kase, report_bar *out)
{
    report_measure_point(kase, REPORT_LATENCY, out);
}

const report_figure_kind report_figure_scaling = {
    .kind = "scaling",
    .defaults = {.id = "scaling",
                 .title = "Scaling with ranks",
                 .x = "world_size",
                 .series = "method",
                 .panel = "model, resolution"},
    .drawing = REPORT_DRAW_LINES,
    .unit = REPORT_UNIT_SECONDS,
    .y_label = "latency",
    .reading = "Both axes are logarithmic to base 2; dashed: the one-rank median over the number of ranks.",
    .takes_published = true,
    .published = REPORT_LATENCY,
    .measure = measure_scaling,
};
