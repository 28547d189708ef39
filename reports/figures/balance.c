/* How unevenly the work of an attention layer lies on ranks and hops: bars from zero to the idle share, counted; what
 * was waited as a marker, where ranks had cores of their own. */
#include "reports/figures/figure.h"

static void measure_balance(const report_case *kase, report_bar *out)
{
    out->n = kase->metric[REPORT_IDLE_SHARE].n;
    out->part[0] = kase->metric[REPORT_IDLE_SHARE].median;
    out->has_marker = kase->metric[REPORT_WAITING_SHARE].n > 0 && !kase->oversubscribed;
    out->marker = kase->metric[REPORT_WAITING_SHARE].median;
}

const report_figure_kind report_figure_balance = {
    .kind = "balance",
    .defaults = {.id = "balance",
                 .title = "Idle share by layout",
                 .where = "world_size > 1",
                 .x = "mesh",
                 .series = "layout",
                 .panel = "model"},
    .unit = REPORT_UNIT_RELATIVE,
    .y_label = "share of the busiest ranks' time",
    .marker = "time held up by messages, measured",
    .reading = "Bars: flops that would fit while every hop waits for its busiest rank, less the flops that are done; "
               "counted, not timed. The marker is measured by a clock, on ranks with cores of their own.",
    .measure = measure_balance,
};
