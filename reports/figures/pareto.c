/* Pareto: what pictures show, or how near they are to those of many steps, over the time that they take or
 * the operations that they cost, each with its interval over captions; or the memory of a rank over the time. */
#include "reports/figures/figure.h"

const char *const *report_pareto_costs(void)
{
    static const char *const names[] = {"latency_s", "pictures_flops", NULL};
    return names;
}

report_metric report_pareto_cost(const report_plot *plot)
{
    report_metric metric = REPORT_LATENCY;
    return plot->over && report_metric_from_name(plot->over, &metric) ? metric : REPORT_LATENCY;
}

static void measure(const report_case *kase, report_metric metric, report_metric low_end, report_metric high_end,
                    report_bar *out)
{
    const dit_summary *low = &kase->metric[low_end], *high = &kase->metric[high_end];
    report_measure_bar(kase, metric, out);
    out->has_interval = low->n > 0 && high->n > 0;
    out->low = low->median, out->high = high->median;
}

static void measure_accuracy(const report_case *kase, report_bar *out)
{
    measure(kase, REPORT_ACCURACY, REPORT_ACCURACY_LOW, REPORT_ACCURACY_HIGH, out);
}

static void measure_psnr(const report_case *kase, report_bar *out)
{
    measure(kase, REPORT_CONVERGED_PSNR, REPORT_CONVERGED_PSNR_LOW, REPORT_CONVERGED_PSNR_HIGH, out);
}

static void measure_psnr_p05(const report_case *kase, report_bar *out)
{
    measure(kase, REPORT_CONVERGED_PSNR_P05, REPORT_CONVERGED_PSNR_P05_LOW, REPORT_CONVERGED_PSNR_P05_HIGH, out);
}

static void measure_ssim(const report_case *kase, report_bar *out)
{
    measure(kase, REPORT_CONVERGED_SSIM, REPORT_CONVERGED_SSIM_LOW, REPORT_CONVERGED_SSIM_HIGH, out);
}

static void measure_word(const report_case *kase, report_bar *out)
{
    measure(kase, REPORT_EDIT_WORD, REPORT_EDIT_WORD_LOW, REPORT_EDIT_WORD_HIGH, out);
}

static void measure_memory(const report_case *kase, report_bar *out)
{
    report_measure_bar(kase, REPORT_TOTAL_BYTES, out);
}

#define PARETO_READING                                                                                                 \
    "Up and left is better. A line for each way to save work, a point for each setting. A hollow point: another one "  \
    "costs less and is better beyond both intervals."
#define PARETO_CONVERGED                                                                                               \
    PARETO_READING " The pictures of eight times the most steps, without a cache, stand for the exact solution."
#define PARETO_ROW(metric, its_title, its_unit, words, its_reading, its_measure, rest)                                 \
    {                                                                                                                  \
        .kind = "pareto",                                                                                              \
        .defaults = {.id = "pareto",                                                                                   \
                     .title = its_title,                                                                               \
                     .where = "",                                                                                      \
                     .x = "cache, steps",                                                                              \
                     .series = "cache_policy",                                                                         \
                     .panel = "model, mesh",                                                                           \
                     .y = metric},                                                                                     \
        .drawing = REPORT_DRAW_PARETO, .unit = REPORT_UNIT_##its_unit, .y_label = words, .reading = its_reading,       \
        .whiskers = "95 % interval over captions", .on_request = true, .measure = its_measure, .others = rest          \
    }

static const report_figure_kind of_psnr =
    PARETO_ROW("converged_psnr_db", "Nearness to many steps over the time of a picture", DECIBEL,
               "PSNR to eight times the steps", PARETO_CONVERGED, measure_psnr, NULL);
static const report_figure_kind of_psnr_p05 =
    PARETO_ROW("converged_psnr_p05_db", "Nearness of the worst pictures to many steps over the time of a picture",
               DECIBEL, "PSNR to eight times the steps, 5th percentile", PARETO_CONVERGED, measure_psnr_p05, NULL);
static const report_figure_kind of_ssim =
    PARETO_ROW("converged_ssim", "Likeness to many steps over the time of a picture", COUNT,
               "SSIM to eight times the steps", PARETO_CONVERGED, measure_ssim, NULL);
static const report_figure_kind of_word =
    PARETO_ROW("edit_word_accuracy", "Edited words that are right over the time of a picture", SHARE,
               "pictures that show the edited word", PARETO_READING, measure_word, NULL);
static const report_figure_kind of_memory = {
    .kind = "pareto",
    .defaults = {.id = "pareto",
                 .title = "Memory of a rank over the time of a picture",
                 .where = "",
                 .x = "mesh",
                 .series = "method",
                 .panel = "model, platform",
                 .y = "total_bytes"},
    .drawing = REPORT_DRAW_PARETO,
    .unit = REPORT_UNIT_BYTES,
    .y_label = "peak per rank",
    .reading = "Down and left is better. A point for each mesh. A hollow point: another one takes less time and less "
               "memory.",
    .on_request = true,
    .measure = measure_memory,
};
static const report_figure_kind *const others[] = {&of_psnr, &of_psnr_p05, &of_ssim, &of_word, &of_memory, NULL};

const report_figure_kind report_figure_pareto =
    PARETO_ROW("accuracy", "Captions shown in full over the time of a picture", SHARE, "pictures that show all words",
               PARETO_READING, measure_accuracy, others);
