#include "reports/drawings/lanes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_LEFT = 66,
    LINES_RANK = 44,                 /* pixels of a rank's two lanes and the gap below */
    LINES_COLUMNS = 2 * LANES_INNER, /* what is told apart                             */
};

/* Lanes inside a rank's unit of height: from, to. */
static const double lane_of_thread[2] = {0.06, 0.58}, lane_of_transfers[2] = {0.64, 0.84};

static const struct {
    const char *name, *colour;
} classes[TIMELINE_LAYER] = {
    [TIMELINE_LINEAR] = {"linear", "#0072b2"},
    [TIMELINE_ATTENTION] = {"attention", "#4795c0"},
    [TIMELINE_OPERATOR] = {"other operators", "#00694b"},
    [TIMELINE_WAIT] = {"exposed wait", "#b8430f"},
    [TIMELINE_TRANSFER] = {"transfer under way", "#c98200"},
};

/* A stretch of time being drawn. */
typedef struct {
    lanes_panel lanes;
    float (*share)[TIMELINE_LAYER]; /* [ranks * LINES_COLUMNS]: of each column, how much is what */
} lines_panel;

/* ---- what a place shows ------------------------------------------------------------------------------------------ */

/* Adds a span to the columns that it lies in. */
static void spread(lines_panel *p, const timeline_span *span)
{
    double width = (p->lanes.end - p->lanes.begin) / LINES_COLUMNS;
    double first = (span->begin - p->lanes.begin) / width, last = (span->end - p->lanes.begin) / width;
    if (span->class == TIMELINE_LAYER || span->rank >= p->lanes.ranks || last <= 0 || first >= LINES_COLUMNS) return;
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
    double width = (p->lanes.end - p->lanes.begin) / LINES_COLUMNS;
    int block = -1;
    for (int rank = 0; rank < p->lanes.ranks; rank++) {
        for (int column = 0, end; column < LINES_COLUMNS; column = end) {
            const float(*shares)[TIMELINE_LAYER] = (const float(*)[TIMELINE_LAYER]) & p->share[rank * LINES_COLUMNS];
            timeline_class here = most(shares[column], transfers);
            for (end = column + 1; end < LINES_COLUMNS && most(shares[end], transfers) == here;) end++;
            if (here != class) continue;
            if (block < 0) block = compose_block(p->lanes.c, classes[class].name, "x y left right bottom top");
            double left = (p->lanes.begin + column * width) * p->lanes.scale.factor,
                   right = (p->lanes.begin + end * width) * p->lanes.scale.factor;
            dit_buffer_printf(&p->lanes.c->files->data, "%.7g %.2f %.7g %.7g %.2f %.2f\n", left, rank + lane[0], left,
                              right, rank + lane[0], rank + lane[1]);
        }
    }
    return block;
}

static void put_plots(lines_panel *p)
{
    dit_buffer *script = &p->lanes.c->files->script;
    int count = 0;
    for (int i = 0; i < TIMELINE_LAYER; i++) {
        int block = write_class(p, (timeline_class)i);
        if (block < 0) continue;
        dit_buffer_printf(script,
                          "%s'%s.dat' index %d using 1:2:3:4:5:6 with boxxyerror lc rgb '%s' fs solid 1 noborder",
                          count++ ? ", \\\n     " : "plot ", p->lanes.c->id, block, classes[i].colour);
    }
    dit_buffer_text(script, count ? "\n" : "plot NaN notitle\n");
}

/* ---- axes and marks ---------------------------------------------------------------------------------------------- */

static void mark_blocks(const lines_panel *p, int step)
{
    char name[32];
    double free_from = 0;
    for (int i = 0; i < p->lanes.t->count; i++) {
        const timeline_span *span = &p->lanes.t->spans[i];
        if (span->rank != 0 || span->step != step || span->class != TIMELINE_LAYER) continue;
        snprintf(name, sizeof name, "block %d", span->layer);
        lanes_mark(&p->lanes, name, span->begin, &free_from);
    }
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

/* The whole iteration (step -1), or one step of it. */
static void draw_panel(lines_panel *p, const report_canvas *canvas, int index, const char *title, int step)
{
    p->lanes.begin = step < 0 ? p->lanes.t->begin : timeline_step_begin(p->lanes.t, step);
    p->lanes.end = step < 0 ? p->lanes.t->end : timeline_step_end(p->lanes.t, step);
    p->lanes.scale = report_scale_for(REPORT_UNIT_SECONDS, p->lanes.end);
    memset(p->share, 0, (size_t)p->lanes.ranks * LINES_COLUMNS * sizeof *p->share);
    for (int i = 0; i < p->lanes.t->count; i++) spread(p, &p->lanes.t->spans[i]);
    canvas_panel(canvas, index, title, NULL, "");
    lanes_axes(&p->lanes);
    if (step < 0)
        lanes_mark_steps(&p->lanes);
    else
        mark_blocks(p, step);
    put_plots(p);
}

static dit_status draw(report_composition *c, const report_case *kase, const timeline *t, const char *footer)
{
    lines_panel p = {.lanes = lanes_of(c, t)};
    int last = t->steps - 1;
    bool zooms = t->steps > 1 && timeline_step_end(t, last) > timeline_step_begin(t, last);
    report_canvas canvas = lanes_canvas(&p.lanes, 1 + zooms, LINES_RANK, LINES_LEFT, footer);
    char title[256];
    if (!(t->end > t->begin)) return DIT_FAIL(DIT_ERR_NOT_FOUND, "the trace of %s has no duration", kase->label);
    p.share = calloc((size_t)p.lanes.ranks * LINES_COLUMNS, sizeof *p.share);
    if (!p.share) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a timeline");
    for (int i = 0; i < TIMELINE_LAYER; i++)
        canvas_add_legend(&canvas, &(canvas_entry){.name = classes[i].name, .colour = classes[i].colour});
    lanes_begin(&p.lanes, &canvas);
    snprintf(title, sizeof title, "%.200s · the whole iteration", kase->label);
    draw_panel(&p, &canvas, 0, title, -1);
    snprintf(title, sizeof title, "%.200s · step %d, the last", kase->label, last);
    if (zooms) draw_panel(&p, &canvas, 1, title, last);
    canvas_end(&canvas);
    free(p.share);
    return DIT_OK;
}

dit_status compose_timeline(report_composition *c)
{
    return lanes_compose(c, draw);
}
