/* Pareto: what pictures show of their captions over the time that they take, with its interval over captions. */
#include "reports/figures/figure.h"

static void measure_pareto(const report_case *kase, report_bar *out)
{
    const dit_summary *low = &kase->metric[REPORT_ACCURACY_LOW], *high = &kase->metric[REPORT_ACCURACY_HIGH];
    report_measure_bar(kase, REPORT_ACCURACY, out);
    out->has_interval = low->n > 0 && high->n > 0;
    out->low = low->median, out->high = high->median;
}

const report_figure_kind report_figure_pareto = {
    .kind = "pareto",
    .defaults = {.id = "pareto",
                 .title = "Captions shown in full over the time of a picture",
                 .where = "",
                 .x = "cache, steps",
                 .series = "cache_policy",
                 .panel = "model, mesh"},
    .drawing = REPORT_DRAW_PARETO,
    .unit = REPORT_UNIT_SHARE,
    .y_label = "pictures that show all words",
    .reading =
        "Up and left is better. A line for each way to save work, a point for each setting. A hollow point: another "
        "one is faster and better beyond both intervals.",
    .whiskers = "95 % interval over captions",
    .on_request = true,
    .measure = measure_pareto,
};
