/* How far approximate methods are from the exact result: along what they are configured by, a line per series. */
#include "reports/figures/figure.h"

static void measure_error(const report_case *kase, report_bar *out)
{
    out->n = kase->metric[REPORT_REL_L2].n;
    out->part[0] = kase->metric[REPORT_REL_L2].median;
}

const report_figure_kind report_figure_error = {
    .kind = "error",
    .defaults = {.id = "error",
                 .title = "Distance to the exact latents by synchronous steps",
                 .where = "world_size > 1",
                 .x = "warmup_steps",
                 .series = "method",
                 .panel = "model, resolution"},
    .drawing = REPORT_DRAW_ERROR,
    .unit = REPORT_UNIT_RELATIVE,
    .y_label = "relative L2 to one rank",
    .reading =
        "Results below the dashed line (1e-5) differ by the order of sums only. A distance of zero is drawn at 1e-9.",
    .measure = measure_error,
};
