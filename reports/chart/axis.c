#include "reports/chart/axis.h"

#include "reports/draw/canvas.h"

#include <math.h>

chart_axis chart_axis_new(bool log)
{
    return (chart_axis){.least = INFINITY, .most = -INFINITY, .log = log};
}

void chart_axis_show(chart_axis *axis, double value)
{
    if (!isfinite(value) || (axis->log && value <= 0)) return;
    axis->least = fmin(axis->least, value);
    axis->most = fmax(axis->most, value);
}

void chart_axis_pad(chart_axis *axis, double before, double after)
{
    if (axis->least > axis->most) axis->least = axis->log ? 1 : 0, axis->most = axis->log ? 10 : 1;
    if (axis->log) {
        double length = fmax(log(axis->most / axis->least), 0.2);
        axis->least *= exp(-before * length);
        axis->most *= exp(after * length);
        return;
    }
    double length = axis->most > axis->least ? axis->most - axis->least : fmax(fabs(axis->most), 1);
    axis->least -= before * length;
    axis->most += after * length;
}

/* Ticks at round numbers: so many of a decade that some stand on the axis, and not too many. */
static void write_decades(const chart_axis *axis, char which, dit_buffer *script)
{
    static const double fine[] = {1, 1.5, 2, 3, 4, 5, 6, 8}, middle[] = {1, 2, 5}, coarse[] = {1};
    double decades = log10(axis->most / axis->least);
    const double *steps = decades < 0.8 ? fine : decades < 3 ? middle : coarse;
    int count = decades < 0.8 ? 8 : decades < 3 ? 3 : 1, told = 0;
    dit_buffer_printf(script, "set %ctics nomirror out scale 0.4 tc rgb '#222222' (", which);
    for (int decade = (int)floor(log10(axis->least)); decade <= (int)ceil(log10(axis->most)); decade++) {
        for (int i = 0; i < count; i++) {
            double at = steps[i] * pow(10, decade);
            if (at < axis->least || at > axis->most) continue;
            dit_buffer_printf(script, "%s'%.6g' %.9g", told++ ? ", " : "", at, at);
        }
    }
    dit_buffer_text(script, ")\n");
}

void chart_axis_write(const chart_axis *axis, char which, dit_buffer *script)
{
    canvas_line(script, "set %crange [%.9g:%.9g]", which, axis->least, axis->most);
    if (axis->log) {
        canvas_line(script, "set logscale %c 10", which);
        write_decades(axis, which, script);
    } else
        canvas_line(script, "set %ctics nomirror out scale 0.4 autofreq tc rgb '#222222'", which);
}
