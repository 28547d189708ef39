/* Where the time of a whole request goes: from the prompt to the file. */
#include "reports/figures/figure.h"

static const char *const phases_parts[] = {"tokenizers", "text encoders", "denoising", "VAE decode", "files", NULL};

static void measure_phases(const report_case *kase, report_bar *out)
{
    const report_metric parts[] = {REPORT_TOKENIZE, REPORT_TEXT_ENCODER, REPORT_DENOISE, REPORT_VAE_DECODE,
                                   REPORT_WRITE};
    for (int i = 0; i < 5; i++)
        if (kase->metric[parts[i]].n > 0) out->part[i] = kase->metric[parts[i]].median; /* a simulation has no files */
    out->n = kase->metric[REPORT_DENOISE].n;
}

const report_figure_kind report_figure_phases = {
    .kind = "phases",
    .defaults =
        {.id = "phases", .title = "Phases of one image", .x = "mesh", .series = "", .panel = "model, resolution"},
    .unit = REPORT_UNIT_SECONDS,
    .y_label = "request",
    .parts = phases_parts,
    .reading =
        "Bars: tokenizers, text encoders, all denoising steps, VAE decode to pictures in memory, which is where a "
        "latency ends; files on top of it. Simulated and published requests have neither tokenizers nor files.",
    .takes_published = true,
    .published = REPORT_LATENCY,
    .measure = measure_phases,
};
