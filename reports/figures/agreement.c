/* Agreement: what the simulator predicts against what was published or measured, a point a pair. */
#include "reports/figures/figure.h"

static void measure_agreement(const report_case *kase, report_bar *out)
{
    report_measure_point(kase, REPORT_LATENCY, out);
}

const report_figure_kind report_figure_agreement = {
    .kind = "agreement",
    .defaults = {.id = "agreement",
                 .title = "Predicted against published and measured",
                 .where = "",
                 .x = "",
                 .series = "method",
                 .panel = "",
                 .pair = "platform"},
    .drawing = REPORT_DRAW_AGREEMENT,
    .unit = REPORT_UNIT_SECONDS,
    .y_label = "predicted latency",
    .reading = "A point for each pair of a simulated case and its published point or measured twin. Solid line: equal; "
               "dashed: 15 % apart.",
    .published = REPORT_LATENCY,
    .measure = measure_agreement,
};
