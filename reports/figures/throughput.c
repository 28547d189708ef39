/* Sequences a second of a planned training step: lines over a tag. */
#include "reports/figures/figure.h"

static void measure_throughput(const report_case *kase, report_bar *out)
{
    report_measure_point(kase, REPORT_SEQUENCES, out);
}

const report_figure_kind report_figure_throughput = {
    .kind = "throughput",
    .defaults = {.id = "throughput",
                 .title = "Sequences a second by what a planner may mix",
                 .x = "memory_limit_gib",
                 .series = "strategies",
                 .panel = "model, world_size"},
    .drawing = REPORT_DRAW_LINES,
    .unit = REPORT_UNIT_COUNT,
    .y_label = "sequences a second",
    .reading = "A line ends where no plan fits the memory.",
    .on_request = true,
    .measure = measure_throughput,
};
