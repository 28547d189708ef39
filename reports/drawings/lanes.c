#include "reports/drawings/lanes.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { LANES_MARK_FONT = 9, LANES_MARK_ROOM = 26 /* pixels that the name of a step or block needs */ };

lanes_panel lanes_of(report_composition *c, const timeline *t)
{
    lanes_panel p = {.c = c, .t = t, .ranks = t->ranks < LANES_MOST_RANKS ? t->ranks : LANES_MOST_RANKS};
    for (int rank = 0; rank < p.ranks; rank++) snprintf(p.names[rank], sizeof p.names[rank], "rank %d", rank);
    return p;
}

report_canvas lanes_canvas(const lanes_panel *p, int panels, int rank_px, int left_px, const char *footer)
{
    return (report_canvas){.script = &p->c->files->script,
                           .id = p->c->id,
                           .style = p->c->style,
                           .title = p->c->plot->title,
                           .footer = footer,
                           .shape = CANVAS_FIXED,
                           .panels = panels,
                           .margin_left = left_px,
                           .margin_right = LANES_RIGHT,
                           .margin_top = LANES_TOP,
                           .margin_bottom = LANES_BOTTOM,
                           .panel_width = LANES_INNER + left_px + LANES_RIGHT,
                           .panel_height = p->ranks * rank_px + LANES_TOP + LANES_BOTTOM};
}

void lanes_begin(const lanes_panel *p, report_canvas *canvas)
{
    compose_fit(p->c, canvas);
    canvas_begin(canvas);
}

void lanes_axes(const lanes_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    canvas_line(script, "set xrange [%.7g:%.7g]", p->begin * p->scale.factor, p->end * p->scale.factor);
    canvas_line(script, "set yrange [%d:0]", p->ranks);
    canvas_line(script, "set xtics nomirror out scale 0.4 format '%%g' tc rgb '#222222'");
    dit_buffer_text(script, "unset grid\nset ytics nomirror scale 0 tc rgb '#222222' (");
    for (int rank = 0; rank < p->ranks; rank++)
        dit_buffer_printf(script, "%s'%s' %.2f", rank ? ", " : "", p->names[rank], rank + 0.45);
    canvas_line(script, ")");
    canvas_line(script, "set label 'time [%s]' at graph 0.5, graph 0 center offset character 0, -2.2 tc rgb '#222222'",
                p->scale.symbol);
}

void lanes_mark(const lanes_panel *p, const char *name, double at, double *free_from)
{
    double pixel = (at - p->begin) / (p->end - p->begin) * LANES_INNER, x = at * p->scale.factor;
    dit_buffer *script = &p->c->files->script;
    if (pixel < -0.5 || pixel > LANES_INNER) return;
    canvas_line(script, "set arrow from first %.7g, graph 0 to first %.7g, graph 1 nohead lw 0.8 lc rgb '#b0b0b0' back",
                x, x);
    if (pixel < *free_from || pixel + LANES_MARK_ROOM > LANES_INNER) return;
    canvas_line(script, "set label '%s' at first %.7g, graph 1 left offset 0,0.5 font ',%d' tc rgb '#666666' front",
                name, x, LANES_MARK_FONT);
    *free_from = pixel + report_text_width(name, LANES_MARK_FONT) + 6;
}

void lanes_mark_steps(const lanes_panel *p)
{
    char name[32];
    double free_from = 0;
    for (int step = 0; step < p->t->steps && step < LANES_INNER; step++) {
        double at = timeline_step_begin(p->t, step);
        snprintf(name, sizeof name, "step %d", step);
        if (isfinite(at)) lanes_mark(p, name, at, &free_from);
    }
}

static void write_footer(const report_composition *c, const report_case *kase, const timeline *t, dit_buffer *out)
{
    int others = c->grid->drawn_count - 1;
    dit_buffer_printf(out, "%s\nrecord cases/%.40s/p%lld/record.json · clocks of the ranks agree within %.3g µs",
                      c->footer, kase->case_id, (long long)kase->trace.process, kase->trace.clock_uncertainty_s * 1e6);
    if (kase->trace.dropped > 0) dit_buffer_printf(out, " · the first %.0f events were dropped", kase->trace.dropped);
    if (t->ranks > LANES_MOST_RANKS) dit_buffer_printf(out, " · %d of %d ranks", (int)LANES_MOST_RANKS, t->ranks);
    if (others > 0) dit_buffer_printf(out, " · %d further cases have a trace", others);
}

dit_status lanes_compose(report_composition *c, lanes_draw draw)
{
    timeline t;
    dit_buffer footer = {0};
    int cell = 0;
    while (cell < c->grid->count && c->grid->cells[cell].bar.n == 0) cell++;
    if (cell == c->grid->count) return DIT_FAIL(DIT_ERR_NOT_FOUND, "no case left a trace: use ditbench run --trace");
    const report_case *kase = c->grid->cells[cell].kase;
    if (access(kase->trace.path, F_OK) != 0) /* records travel without their traces */
        return DIT_FAIL(DIT_ERR_NOT_FOUND,
                        "%.400s is not there: it lies in the session's folder on the machine that ran the session",
                        kase->trace.path);
    DIT_TRY(timeline_read(kase->trace.path, kase->trace.digest, &t));
    write_footer(c, kase, &t, &footer);
    dit_status st =
        footer.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", c->id) : draw(c, kase, &t, footer.data);
    dit_buffer_release(&footer);
    timeline_release(&t);
    return st;
}
