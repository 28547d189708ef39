/* Quality as bars: one measure of pictures by method and setting, with its interval over captions. What captions of other
 * pictures would reach by chance, and what seeded weights reach, are lines. */
#include "reports/figures/figure.h"

static void measure(const report_case *kase, report_metric metric, report_metric low_end, report_metric high_end,
                    report_bar *out)
{
    const dit_summary *low = &kase->metric[low_end], *high = &kase->metric[high_end];
    report_measure_bar(kase, metric, out);
    out->has_interval = low->n > 0 && high->n > 0;
    out->low = low->median, out->high = high->median;
    out->low_n = false; /* the interval is of captions, of which each case has many */
}

static void measure_accuracy(const report_case *kase, report_bar *out)
{
    measure(kase, REPORT_ACCURACY, REPORT_ACCURACY_LOW, REPORT_ACCURACY_HIGH, out);
    out->has_marker = kase->metric[REPORT_ACCURACY_BY_CHANCE].n > 0;
    out->marker = kase->metric[REPORT_ACCURACY_BY_CHANCE].median;
}

static void measure_psnr(const report_case *kase, report_bar *out)
{
    measure(kase, REPORT_CONVERGED_PSNR, REPORT_CONVERGED_PSNR_LOW, REPORT_CONVERGED_PSNR_HIGH, out);
}

static void measure_ssim(const report_case *kase, report_bar *out)
{
    measure(kase, REPORT_CONVERGED_SSIM, REPORT_CONVERGED_SSIM_LOW, REPORT_CONVERGED_SSIM_HIGH, out);
}

#define QUALITY_READING                                                                                                \
    "Bars: one measure of the pictures of all captions, with its interval over captions. Bars whose intervals do not " \
    "meet differ. Where the workload has cases with seeded weights, their value is a dotted line: nothing below it "   \
    "was "                                                                                                             \
    "learned."
#define QUALITY_ROW(metric, its_title, its_unit, words, its_reading, its_marker, its_measure, rest)                    \
    {                                                                                                                  \
        .kind = "quality_bars",                                                                                        \
        .defaults = {.id = "quality-bars",                                                                             \
                     .title = its_title,                                                                               \
                     .where = "",                                                                                      \
                     .x = "cache",                                                                                     \
                     .series = "method",                                                                               \
                     .panel = "model",                                                                                 \
                     .y = metric},                                                                                     \
        .drawing = REPORT_DRAW_BARS, .unit = REPORT_UNIT_##its_unit, .y_label = words, .reading = its_reading,         \
        .marker = its_marker, .lines = true, .whiskers = "95 % interval over captions", .on_request = true,            \
        .measure = its_measure, .others = rest                                                                         \
    }

static const report_figure_kind of_psnr =
    QUALITY_ROW("converged_psnr_db", "Nearness of pictures to many steps", DECIBEL, "PSNR to eight times the steps",
                QUALITY_READING, NULL, measure_psnr, NULL);
static const report_figure_kind of_ssim =
    QUALITY_ROW("converged_ssim", "Likeness of pictures to many steps", COUNT, "SSIM to eight times the steps",
                QUALITY_READING, NULL, measure_ssim, NULL);
static const report_figure_kind *const others[] = {&of_psnr, &of_ssim, NULL};

const report_figure_kind report_figure_quality_bars =
    QUALITY_ROW("accuracy", "Captions shown in full", SHARE, "pictures that show all words",
                QUALITY_READING " The dashed line is chance: the share that captions of other pictures reach.",
                "by chance", measure_accuracy, others);
