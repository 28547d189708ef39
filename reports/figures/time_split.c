/* Where the time of the critical rank goes: computing, waiting for messages, the rest. */
#include "reports/figures/figure.h"

static const char *const time_split_parts[] = {"compute", "exposed communication", "other", NULL};

static void measure_time_split(const report_case *kase, report_bar *out)
{
    const report_metric parts[] = {REPORT_COMPUTE, REPORT_EXPOSED_COMMUNICATION, REPORT_OTHER};
    for (int i = 0; i < 3; i++) out->part[i] = kase->metric[parts[i]].median;
    out->n = kase->metric[REPORT_COMPUTE].n;
}

const report_figure_kind report_figure_time_split = {
    .kind = "time_split",
    .defaults =
        {.id = "time_split", .title = "Where the time goes", .x = "mesh", .series = "", .panel = "model, resolution"},
    .unit = REPORT_UNIT_SECONDS,
    .y_label = "time of one iteration",
    .parts = time_split_parts,
    .reading = "Each part is the median over processes, on the rank that computes longest in the median iteration.",
    .measure = measure_time_split,
};
