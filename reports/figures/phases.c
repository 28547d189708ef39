/* Where the time of a whole image goes: text encoders, denoising, VAE decode. */
#include "reports/figures/figure.h"

static const char *const phases_parts[] = {"text encoders", "denoising", "VAE decode", NULL};

static void measure_phases(const report_case *kase, report_bar *out)
{
    const report_metric parts[] = {REPORT_TEXT_ENCODER, REPORT_DENOISE, REPORT_VAE_DECODE};
    for (int i = 0; i < 3; i++) out->part[i] = kase->metric[parts[i]].median;
    out->n = kase->metric[REPORT_DENOISE].n;
}

const report_figure_kind report_figure_phases = {
    .kind = "phases",
    .defaults =
        {.id = "phases", .title = "Phases of one image", .x = "mesh", .series = "", .panel = "model, resolution"},
    .unit = REPORT_UNIT_SECONDS,
    .y_label = "latency",
    .parts = phases_parts,
    .reading = "Bars: text encoders, all denoising steps, VAE decode.",
    .takes_published = true,
    .published = REPORT_LATENCY,
    .measure = measure_phases,
};
