/* Heatmap: how much keys, values and outputs of attention change, by layer and step, from a probe. */
#include "reports/figures/figure.h"

const report_figure_kind report_figure_heatmap = {
    .kind = "heatmap",
    .defaults = {.id = "heatmap",
                 .title = "Change from step to step, by layer",
                 .where = "",
                 .x = "steps",
                 .series = "weights",
                 .panel = "model"},
    .drawing = REPORT_DRAW_HEATMAP,
    .unit = REPORT_UNIT_RELATIVE,
    .y_label = "layer",
    .reading = "Darker changes more: the mean of |now - before| over the mean of |before|, over prompts and guidance "
               "branches. "
               "One logarithmic scale for all panels. Time runs to the right. The CSV has the medians of K.",
    .on_request = true,
    .measure = report_measure_probe,
};
