#include "reports/compose.h"

#include "reports/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINES_INNER = 940, /* pixels of time */
    LINES_LEFT = 66,
    LINES_RIGHT = 16,
    LINES_TOP = 46, /* title, and the names of steps or blocks */
    LINES_BOTTOM = 44,
    LINES_RANK = 44,                 /* of a rank's two lanes and the gap below */
    LINES_MOST_RANKS = 16,           /* that one picture shows                  */
    LINES_COLUMNS = 2 * LINES_INNER, /* what is told apart               */
    LINES_MARK_FONT = 9,
    LINES_MARK_ROOM = 26, /* pixels that the name of a step or block needs */
};

/* Lanes inside a rank's unit of height: from, to. */
static const double lane_of_thread[2] = {0.06, 0.58}, lane_of_transfers[2] = {0.64, 0.84};

static const struct {
    const char *name, *colour;
} classes[TIMELINE_LAYER] = {
    [TIMELINE_LINEAR] = {"linear", "#0072b2"},
    [TIMELINE_ATTENTION] = {"attention", "#56b4e9"},
    [TIMELINE_OPERATOR] = {"other operators", "#009e73"},
    [TIMELINE_WAIT] = {"exposed wait", "#d55e00"},
    [TIMELINE_TRANSFER] = {"transfer under way", "#e69f00"},
};

/* A stretch of time being drawn. */
typedef struct {
    report_composition *c;
    const timeline *t;
    int ranks;
    double begin, end;
    report_scale scale;
    float (*share)[TIMELINE_LAYER]; /* [ranks * LINES_COLUMNS]: of each column, how much is what */
} lines_panel;

/* ---- what a place shows ------------------------------------------------------------------------------------------ */

/* Adds a span to the columns that it lies in. */
static void spread(lines_panel *p, const timeline_span *span)
{
    double width = (p->end - p->begin) / LINES_COLUMNS;
    double first = (span->begin - p->begin) / width, last = (span->end - p->begin) / width;
    if (span->class == TIMELINE_LAYER || span->rank >= p->ranks || last <= 0 || first >= LINES_COLUMNS) return;
    first = fmax(first, 0), last = fmin(last, LINES_COLUMNS);
    for (int column = (int)first; column < LINES_COLUMNS && column < last; column++) {
        double share = fmin(last, column + 1) - fmax(first, column);
        p->share[span->rank * LINES_COLUMNS + column][span->class] += (float)share;
    }
}

/* What took most of a column on a lane, idling included; TIMELINE_LAYER: nothing. */
static timeline_class most(const float share[TIMELINE_LAYER], bool transfers)
{
    timeline_class first = transfers ? TIMELINE_TRANSFER : TIMELINE_LINEAR, best = TIMELINE_LAYER;
    timeline_class last = transfers ? TIMELINE_TRANSFER : TIMELINE_WAIT;
    float idle = 1, largest;
    for (int i = first; i <= (int)last; i++) idle -= share[i];
    largest = idle;
    for (int i = first; i <= (int)last; i++)
        if (share[i] > largest) largest = share[i], best = (timeline_class)i;
    return best;
}

/* One rectangle for each run of columns of a class. */
static int write_class(lines_panel *p, timeline_class class)
{
    bool transfers = class == TIMELINE_TRANSFER;
    const double *lane = transfers ? lane_of_transfers : lane_of_thread;
    double width = (p->end - p->begin) / LINES_COLUMNS;
    int block = -1;
    for (int rank = 0; rank < p->ranks; rank++) {
        for (int column = 0, end; column < LINES_COLUMNS; column = end) {
            const float(*shares)[TIMELINE_LAYER] = (const float(*)[TIMELINE_LAYER]) & p->share[rank * LINES_COLUMNS];
            timeline_class here = most(shares[column], transfers);
            for (end = column + 1; end < LINES_COLUMNS && most(shares[end], transfers) == here;) end++;
            if (here != class) continue;
            if (block < 0) block = compose_block(p->c, classes[class].name, "x y left right bottom top");
            double left = (p->begin + column * width) * p->scale.factor,
                   right = (p->begin + end * width) * p->scale.factor;
            dit_buffer_printf(&p->c->files->data, "%.7g %.2f %.7g %.7g %.2f %.2f\n", left, rank + lane[0], left, right,
                              rank + lane[0], rank + lane[1]);
        }
    }
    return block;
}

static void put_plots(lines_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    int count = 0;
    for (int i = 0; i < TIMELINE_LAYER; i++) {
        int block = write_class(p, (timeline_class)i);
        if (block < 0) continue;
        dit_buffer_printf(script,
                          "%s'%s.dat' index %d using 1:2:3:4:5:6 with boxxyerror lc rgb '%s' fs solid 1 noborder",
                          count++ ? ", \\\n     " : "plot ", p->c->id, block, classes[i].colour);
    }
    dit_buffer_text(script, count ? "\n" : "plot NaN notitle\n");
}

/* ---- axes and marks ---------------------------------------------------------------------------------------------- */

static void put_axes(const lines_panel *p)
{
    dit_buffer *script = &p->c->files->script;
    canvas_line(script, "set xrange [%.7g:%.7g]", p->begin * p->scale.factor, p->end * p->scale.factor);
    canvas_line(script, "set yrange [%d:0]", p->ranks);
    canvas_line(script, "set xtics nomirror out scale 0.4 format '%%g' tc rgb '#222222'");
    dit_buffer_text(script, "unset grid\nset ytics nomirror scale 0 tc rgb '#222222' (");
    for (int rank = 0; rank < p->ranks; rank++)
        dit_buffer_printf(script, "%s'rank %d' %.2f", rank ? ", " : "", rank, rank + 0.45);
    canvas_line(script, ")");
    canvas_line(script, "set label 'time [%s]' at graph 0.5, graph 0 center offset character 0, -2.2 tc rgb '#222222'",
                p->scale.symbol);
}

/* A line down the panel where something begins, with its name above when there is room before the next one. */
static void put_mark(const lines_panel *p, const char *name, double at, double *free_from)
{
    double pixel = (at - p->begin) / (p->end - p->begin) * LINES_INNER, x = at * p->scale.factor;
    dit_buffer *script = &p->c->files->script;
    if (pixel < -0.5 || pixel > LINES_INNER) return;
    canvas_line(script, "set arrow from first %.7g, graph 0 to first %.7g, graph 1 nohead lw 0.8 lc rgb '#b0b0b0' back",
                x, x);
    if (pixel < *free_from || pixel + LINES_MARK_ROOM > LINES_INNER) return;
    canvas_line(script, "set label '%s' at first %.7g, graph 1 left offset 0,0.5 font ',%d' tc rgb '#666666' front",
                name, x, LINES_MARK_FONT);
    *free_from = pixel + report_text_width(name, LINES_MARK_FONT) + 6;
}

/* When the first block of a step begins on rank 0; NAN when it has none. */
static double step_begin(const timeline *t, int step)
{
    for (int i = 0; i < t->count; i++)
        if (t->spans[i].rank == 0 && t->spans[i].step == step) return t->spans[i].begin;
    return NAN;
}

static double step_end(const timeline *t, int step)
{
    double end = NAN;
    for (int i = 0; i < t->count; i++)
        if (t->spans[i].step == step && !(t->spans[i].end <= end)) end = t->spans[i].end;
    return end;
}

static void mark_steps(const lines_panel *p)
{
    char name[32];
    double free_from = 0;
    for (int step = 0; step < p->t->steps && step < LINES_INNER; step++) {
        double at = step_begin(p->t, step);
        snprintf(name, sizeof name, "step %d", step);
        if (isfinite(at)) put_mark(p, name, at, &free_from);
    }
}

static void mark_blocks(const lines_panel *p, int step)
{
    char name[32];
    double free_from = 0;
    for (int i = 0; i < p->t->count; i++) {
        const timeline_span *span = &p->t->spans[i];
        if (span->rank != 0 || span->step != step || span->class != TIMELINE_LAYER) continue;
        snprintf(name, sizeof name, "block %d", span->layer);
        put_mark(p, name, span->begin, &free_from);
    }
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

static void set_up_canvas(report_composition *c, int ranks, int panels, const char *footer, report_canvas *canvas)
{
    *canvas = (report_canvas){.script = &c->files->script,
                              .id = c->id,
                              .title = c->plot->title,
                              .footer = footer,
                              .panels = panels,
                              .margin_left = LINES_LEFT,
                              .margin_right = LINES_RIGHT,
                              .margin_top = LINES_TOP,
                              .margin_bottom = LINES_BOTTOM,
                              .panel_width = LINES_INNER + LINES_LEFT + LINES_RIGHT,
                              .panel_height = ranks * LINES_RANK + LINES_TOP + LINES_BOTTOM};
    for (int i = 0; i < TIMELINE_LAYER; i++)
        canvas_add_legend(canvas, &(canvas_entry){.name = classes[i].name, .colour = classes[i].colour});
    canvas_layout(canvas);
    c->files->width = canvas->width;
    c->files->height = canvas->height;
}

/* The whole iteration (step -1), or one step of it. */
static void draw_panel(lines_panel *p, const report_canvas *canvas, int index, const char *title, int step)
{
    p->begin = step < 0 ? p->t->begin : step_begin(p->t, step);
    p->end = step < 0 ? p->t->end : step_end(p->t, step);
    p->scale = report_scale_for(REPORT_UNIT_SECONDS, p->end);
    memset(p->share, 0, (size_t)p->ranks * LINES_COLUMNS * sizeof *p->share);
    for (int i = 0; i < p->t->count; i++) spread(p, &p->t->spans[i]);
    canvas_panel(canvas, index, title, "");
    put_axes(p);
    if (step < 0)
        mark_steps(p);
    else
        mark_blocks(p, step);
    put_plots(p);
}

static dit_status draw(report_composition *c, const report_case *kase, const timeline *t, const char *footer)
{
    lines_panel p = {.c = c, .t = t, .ranks = t->ranks < LINES_MOST_RANKS ? t->ranks : LINES_MOST_RANKS};
    int last = t->steps - 1;
    bool zooms = t->steps > 1 && isfinite(step_begin(t, last)) && step_end(t, last) > step_begin(t, last);
    report_canvas canvas;
    char title[256];
    if (!(t->end > t->begin)) return DIT_FAIL(DIT_ERR_NOT_FOUND, "the trace of %s has no duration", kase->label);
    p.share = calloc((size_t)p.ranks * LINES_COLUMNS, sizeof *p.share);
    if (!p.share) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a timeline");
    set_up_canvas(c, p.ranks, 1 + zooms, footer, &canvas);
    canvas_begin(&canvas);
    snprintf(title, sizeof title, "%.200s · the whole iteration", kase->label);
    draw_panel(&p, &canvas, 0, title, -1);
    snprintf(title, sizeof title, "%.200s · step %d, the last", kase->label, last);
    if (zooms) draw_panel(&p, &canvas, 1, title, last);
    canvas_end(&canvas);
    free(p.share);
    return DIT_OK;
}

static void write_footer(const report_composition *c, const report_case *kase, const timeline *t, dit_buffer *out)
{
    int others = c->grid->drawn_count - 1;
    dit_buffer_printf(out, "%s\nrecord cases/%.40s/p%lld/record.json · clocks of the ranks agree within %.3g µs",
                      c->footer, kase->case_id, (long long)kase->trace.process, kase->trace.clock_uncertainty_s * 1e6);
    if (kase->trace.dropped > 0) dit_buffer_printf(out, " · the first %.0f events were dropped", kase->trace.dropped);
    if (t->ranks > LINES_MOST_RANKS) dit_buffer_printf(out, " · %d of %d ranks", (int)LINES_MOST_RANKS, t->ranks);
    if (others > 0) dit_buffer_printf(out, " · %d further cases have a trace", others);
}

dit_status compose_timeline(report_composition *c)
{
    timeline t;
    dit_buffer footer = {0};
    int cell = 0;
    while (cell < c->grid->count && c->grid->cells[cell].bar.n == 0) cell++;
    if (cell == c->grid->count) return DIT_FAIL(DIT_ERR_NOT_FOUND, "no case left a trace: ditbench run --trace");
    const report_case *kase = c->grid->cells[cell].kase;
    if (access(kase->trace.path, F_OK) != 0) /* records travel without their traces */
        return DIT_FAIL(DIT_ERR_NOT_FOUND, "%.400s is not there: the session's folder holds it where it ran",
                        kase->trace.path);
    DIT_TRY(timeline_read(kase->trace.path, kase->trace.digest, &t));
    write_footer(c, kase, &t, &footer);
    dit_status st =
        footer.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", c->id) : draw(c, kase, &t, footer.data);
    dit_buffer_release(&footer);
    timeline_release(&t);
    return st;
}
