/* What each stage of a pipeline worked on when: one box for each patch of each step. */
#include "reports/figures/figure.h"

#include <stdio.h>

static const char *const schedule_parts[] = {"computing", "waiting", NULL};

static void measure_schedule(const report_case *kase, report_bar *out)
{
    const report_trace *trace = &kase->trace;
    double stages;
    if (!report_case_number(kase, "pipefusion_degree", &stages) || stages < 2) {
        snprintf(out->reason, sizeof out->reason, "it is no pipeline");
        return;
    }
    if (!trace->path) {
        snprintf(out->reason, sizeof out->reason, "the case left no trace: use ditbench run --trace");
        return;
    }
    out->n = 1;
    out->part[0] = trace->linear_s + trace->attention_s + trace->other_s;
    out->part[1] = trace->waiting_s;
}

const report_figure_kind report_figure_schedule = {
    .kind = "schedule",
    .defaults = {.id = "schedule",
                 .title = "Schedule of the stages",
                 .where = "world_size > 1",
                 .x = "mesh",
                 .series = "",
                 .panel = "model, resolution"},
    .drawing = REPORT_DRAW_SCHEDULE,
    .unit = REPORT_UNIT_SECONDS,
    .y_label = "",
    .parts = schedule_parts,
    .reading = "One traced iteration, which is no sample. A box shows what a rank computes for one patch of one step, "
               "and bears the number of the step. The CSV has means over ranks.",
    .measure = measure_schedule,
};
