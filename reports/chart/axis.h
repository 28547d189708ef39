/* Axis: range and ticks of one axis of a chart. */
#ifndef DIT_REPORTS_CHART_AXIS_H
#define DIT_REPORTS_CHART_AXIS_H

#include "base/buffer.h"

#include <stdbool.h>

/* least > most: nothing was seen yet. */
typedef struct {
    double least, most;
    bool log;
} chart_axis;

chart_axis chart_axis_new(bool log);
/* Widens the axis so that it shows a value. A value that is not finite, or not above 0 on a logarithmic axis, is passed
 * over. */
void chart_axis_show(chart_axis *axis, double value);
/* Adds room at both ends, `before` and `after` as shares of the length; an axis that saw one value or none gets some. */
void chart_axis_pad(chart_axis *axis, double before, double after);
/* Writes gnuplot's lines for axis 'x' or 'y': range, scale and ticks, 1, 2 and 5 of a decade where there are few. */
void chart_axis_write(const chart_axis *axis, char which, dit_buffer *script);

#endif
