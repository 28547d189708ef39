/* Profile grid: a panel for each layer, how much keys, values and outputs of attention change over the steps, as
 * "Unveiling Redundancy in Diffusion Transformers" (arXiv:2411.13588) draws it. */
#include "reports/figures/figure.h"

const report_figure_kind report_figure_profile_grid = {
    .kind = "profile_grid",
    .defaults = {.id = "profile_grid",
                 .title = "Change of K, V and attention from step to step",
                 .where = "",
                 .x = "steps",
                 .series = "weights",
                 .panel = "model"},
    .drawing = REPORT_DRAW_PROFILE,
    .unit = REPORT_UNIT_RELATIVE,
    .y_label = "mean |now - before|",
    .reading =
        "A panel for each layer of one case, all on one logarithmic scale. Lines are means over prompts, bands hold "
        "80 % of them. Grey is K of the architecture with random weights, a control. The CSV has the medians of K, "
        "relative to its size.",
    .on_request = true,
    .measure = report_measure_probe,
};
