/* Product: what a cache and ranks gain together, over the product of what each gains alone, against ranks. */
#include "reports/figures/figure.h"

static void measure_product(const report_case *kase, report_bar *out)
{
    report_measure_point(kase, REPORT_SPEEDUP_PRODUCT, out);
}

const report_figure_kind report_figure_product = {
    .kind = "product",
    .defaults = {.id = "product",
                 .title = "Caches times ranks",
                 .where = "world_size > 1 && cache != 'none'",
                 .x = "world_size",
                 .series = "cache",
                 .panel = "model, method"},
    .drawing = REPORT_DRAW_LINES,
    .unit = REPORT_UNIT_FACTOR,
    .y_label = "speedup of both / product of each alone",
    .reading =
        "The speedup of a cache on several ranks, divided by the speedup of the cache on one rank and by that of the "
        "ranks without a cache. Dashed, 1: the two gains multiply. Below 1: each leaves less to gain for the other.",
    .on_request = true,
    .measure = measure_product,
};
