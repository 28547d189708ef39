/* Peak signal-to-noise ratio of the latents of approximate methods against the exact ones. */
#include "reports/figures/figure.h"

static void measure_psnr(const report_case *kase, report_bar *out)
{
    out->n = kase->metric[REPORT_PSNR].n;
    out->part[0] = kase->metric[REPORT_PSNR].median;
}

const report_figure_kind report_figure_psnr = {
    .kind = "psnr",
    .defaults = {.id = "psnr",
                 .title = "Peak signal-to-noise ratio against the exact latents",
                 .where = "world_size > 1",
                 .x = "warmup_steps",
                 .series = "method",
                 .panel = "model, resolution"},
    .drawing = REPORT_DRAW_ERROR,
    .unit = REPORT_UNIT_DECIBEL,
    .y_label = "PSNR of the latents",
    .reading = "20 log10 of the exact latents' range over the root mean square of the difference. Above 100 dB only "
               "the order of sums differs.",
    .measure = measure_psnr,
};
