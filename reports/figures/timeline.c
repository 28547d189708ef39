/* What each rank of one case did when: computing, waiting for messages, and what was on its way meanwhile. */
#include "reports/figures/figure.h"

#include <stdio.h>

static const char *const timeline_parts[] = {"linear", "attention", "other operators", "exposed wait", NULL};

static void measure_timeline(const report_case *kase, report_bar *out)
{
    const report_trace *trace = &kase->trace;
    if (!trace->path) {
        snprintf(out->reason, sizeof out->reason, "it left no trace: ditbench run --trace");
        return;
    }
    out->n = 1;
    out->part[0] = trace->linear_s;
    out->part[1] = trace->attention_s;
    out->part[2] = trace->other_s;
    out->part[3] = trace->waiting_s;
}

const report_figure_kind report_figure_timeline = {
    .kind = "timeline",
    .defaults = {.id = "timeline",
                 .title = "Timeline of every rank",
                 .where = "world_size > 1",
                 .x = "mesh",
                 .series = "",
                 .panel = "model, resolution"},
    .drawing = REPORT_DRAW_TIMELINE,
    .unit = REPORT_UNIT_SECONDS,
    .y_label = "",
    .parts = timeline_parts,
    .reading = "One traced iteration, which is no sample. Of each rank, the wide lane is its own thread and the narrow "
               "one what "
               "is being sent or received; a place has the colour of what took most of its time. The CSV has means "
               "over ranks.",
    .measure = measure_timeline,
};
