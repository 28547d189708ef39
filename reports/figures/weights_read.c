/* Weights read: bytes of blocks' weights that one iteration reads again, over the memory that they may take: lines over a
 * tag. */
#include "reports/figures/figure.h"

static void measure_weights_read(const report_case *kase, report_bar *out)
{
    report_measure_point(kase, REPORT_WEIGHTS_READ, out);
}

const report_figure_kind report_figure_weights_read = {
    .kind = "weights_read",
    .defaults = {.id = "weights-read",
                 .title = "Bytes of weights that an image reads, by policy",
                 .where = "offload != 'none'",
                 .x = "resident_weights",
                 .series = "offload_policy",
                 .panel = "model"},
    .drawing = REPORT_DRAW_LINES,
    .unit = REPORT_UNIT_BYTES,
    .y_label = "weights read",
    .reading = "Counted bytes of parameters as they are stored; a run begins with no block resident.",
    .on_request = true,
    .measure = measure_weights_read,
};
