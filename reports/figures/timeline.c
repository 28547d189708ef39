/* What each rank of one case did when: computing, waiting for messages, and what was on its way meanwhile. */
#include "reports/figures/figure.h"

#include <stdio.h>

static const char *const timeline_parts[] = {"linear", "attention", "other operators", "exposed wait", NULL};

static void measure_timeline(const report_case *kase, report_bar *out)
{
    const report_trace *trace = &kase->trace;
    if (!trace->path) {
        snprintf(out->reason, sizeof out->reason, "the case left no trace: use ditbench run --trace");
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
    .reading =
        "One traced iteration, which is no sample. Each rank has a wide lane for its own thread and a narrow one for "
        "what is sent or received. The colour shows what took most of the time there. The CSV has means over ranks.",
    .measure = measure_timeline,
};
