/* Of GEMM: the rate of one layer's attention over that of a product of matrices on the same device: lines over a tag. */
#include "reports/figures/figure.h"

static void measure_of_gemm(const report_case *kase, report_bar *out)
{
    report_measure_point(kase, REPORT_OF_GEMM, out);
}

const report_figure_kind report_figure_of_gemm = {
    .kind = "of_gemm",
    .defaults = {.id = "of-gemm",
                 .title = "Attention against the product of matrices of the same device",
                 .x = "tokens",
                 .series = "attention",
                 .panel = "head_dim, causal"},
    .drawing = REPORT_DRAW_LINES,
    .unit = REPORT_UNIT_SHARE,
    .y_label = "rate of attention / rate of a product of matrices",
    .reading =
        "Work is two products over the pairs of query and key that see each other; of a causal layer, half of all.",
    .on_request = true,
    .measure = measure_of_gemm,
};
