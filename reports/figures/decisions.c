/* Decisions: which steps a cache computed and which it reused, and why, a row for each case. */
#include "reports/figures/figure.h"

#include <stdio.h>

static void measure_decisions(const report_case *kase, report_bar *out)
{
    const char *digits = kase->decisions.digits;
    if (!digits) {
        snprintf(out->reason, sizeof out->reason, "the case has no cache");
        return;
    }
    out->n = kase->ok_count;
    for (; *digits; digits++) out->part[0] += *digits == '1';
}

const report_figure_kind report_figure_decisions = {
    .kind = "decisions",
    .defaults = {.id = "decisions",
                 .title = "Steps that caches computed and reused",
                 .where = "cache != 'none'",
                 .x = "cache",
                 .series = "mesh",
                 .panel = "model"},
    .drawing = REPORT_DRAW_DECISIONS,
    .unit = REPORT_UNIT_COUNT,
    .y_label = "computed steps",
    .reading =
        "A row for each case, a column for each step from left to right: dark where the step was computed, light "
        "where it reused. The letter says why it was computed: w one of the first steps, f forced, m mask or "
        "schedule, k a limit, t a test. The number at the right counts computed steps.",
    .on_request = true,
    .measure = measure_decisions,
};
