#include "base/axis.h"
#include "reports/drawings/lanes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCHEDULE_LEFT = 118,
    SCHEDULE_RANK = 34, /* pixels of a rank's lane and the gap below */
    SCHEDULE_FONT = 8,
    SCHEDULE_ZOOM_STEPS = 3, /* in the second panel */
    SCHEDULE_NAMED = 12      /* patches that the legend names */
};

static const double lane[2] = {0.08, 0.88};
static const char waiting_colour[] = "#888888", whole_colour[] = "#555555", outside_colour[] = "#b0b0b0";

/* One stretch of a rank's time: all that it computed for one patch of one step, up to a wait; or a wait. */
typedef struct {
    double begin, end;
    int rank, step, patch; /* patch -1: all rows; step -1: before or after the steps */
    bool waits;
} schedule_box;

typedef struct {
    lanes_panel lanes;
    schedule_box *boxes; /* [spans of the trace] by rank, then by begin */
    int count;
    char name[SCHEDULE_NAMED][32], colour[SCHEDULE_NAMED][8]; /* of the legend's patches */
} schedule_panel;

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

/* Whether a span goes on with what a box began. */
static bool continues(const schedule_box *box, const timeline_span *span)
{
    if (box->waits != (span->class == TIMELINE_WAIT) || box->rank != span->rank) return false;
    return box->waits || (box->step == span->step && box->patch == span->patch);
}

/* Adds a span: to the box before it where it goes on with that, else as a box of its own. */
static void take(schedule_panel *p, const timeline_span *span)
{
    schedule_box *last = p->count ? &p->boxes[p->count - 1] : NULL;
    bool waits = span->class == TIMELINE_WAIT;
    if (last && continues(last, span)) {
        last->end = fmax(last->end, span->end);
        return;
    }
    p->boxes[p->count++] = (schedule_box){span->begin, span->end, span->rank, span->step, span->patch, waits};
}

/* The boxes of the panel's stretch of time; waits that nobody could see do not cut a box in two. */
static void find_boxes(schedule_panel *p)
{
    const lanes_panel *lanes = &p->lanes;
    double visible = (lanes->end - lanes->begin) / (2 * LANES_INNER);
    p->count = 0;
    for (int i = 0; i < lanes->t->count; i++) {
        const timeline_span *span = &lanes->t->spans[i];
        bool waits = span->class == TIMELINE_WAIT, computes = span->class <= TIMELINE_OPERATOR;
        if (span->rank >= lanes->ranks || span->end < lanes->begin || span->begin > lanes->end) continue;
        if (computes || (waits && span->end - span->begin >= visible)) take(p, span);
    }
}

/* ---- colours ----------------------------------------------------------------------------------------------------- */

static int mix(int from, int to, double part)
{
    int colour = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        int a = from >> shift & 0xff, b = to >> shift & 0xff;
        colour |= (a + (int)lround((b - a) * part)) << shift;
    }
    return colour;
}

/* Few patches have the palette's colours; many go from dark to light in their order. */
static int patch_colour(int patch, int patches)
{
    static const int ramp[] = {0x2d3184, 0x0072b2, 0x00694b, 0x8f9b1f, 0xc98200};
    enum { PALETTE = 7, PIECES = sizeof ramp / sizeof *ramp - 1 };
    if (patches <= PALETTE) return (int)strtol(report_colour_at(patch) + 1, NULL, 16);
    double at = (double)patch / (patches - 1) * PIECES;
    int piece = at < PIECES ? (int)at : PIECES - 1;
    return mix(ramp[piece], ramp[piece + 1], at - piece);
}

static int box_colour(const schedule_panel *p, const schedule_box *box)
{
    const char *other = box->step < 0 ? outside_colour : whole_colour;
    return box->patch < 0 ? (int)strtol(other + 1, NULL, 16) : patch_colour(box->patch, p->lanes.t->patches);
}

/* White on dark, black on light. */
static int text_colour(int colour)
{
    double light = 0.30 * (colour >> 16 & 0xff) + 0.59 * (colour >> 8 & 0xff) + 0.11 * (colour & 0xff);
    return light < 125 ? 0xffffff : 0x000000;
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static void put_box(schedule_panel *p, const schedule_box *box, int colour)
{
    double factor = p->lanes.scale.factor, left = fmax(box->begin, p->lanes.begin) * factor,
           right = fmin(box->end, p->lanes.end) * factor;
    dit_buffer_printf(&p->lanes.c->files->data, "%.7g %.2f %.7g %.7g %.2f %.2f %d\n", left, box->rank + lane[0], left,
                      right, box->rank + lane[0], box->rank + lane[1], colour);
}

/* One data block of all waits, or of all that is computed; -1 when there is none. */
static int write_boxes(schedule_panel *p, bool waits)
{
    int block = -1;
    for (int i = 0; i < p->count; i++) {
        const schedule_box *box = &p->boxes[i];
        if (box->waits != waits) continue;
        if (block < 0)
            block = compose_block(p->lanes.c, waits ? "waiting" : "computing", "x y left right bottom top colour");
        put_box(p, box, waits ? (int)strtol(waiting_colour + 1, NULL, 16) : box_colour(p, box));
    }
    return block;
}

/* The longest of "2/3" (step and patch; `both`) and "2" that fits into the box; false: none does. */
static bool name_box(const schedule_panel *p, const schedule_box *box, bool both, char name[32])
{
    double seconds = fmin(box->end, p->lanes.end) - fmax(box->begin, p->lanes.begin);
    double room = seconds / (p->lanes.end - p->lanes.begin) * LANES_INNER - 4;
    if (box->waits || box->step < 0) return false;
    if (both && box->patch >= 0) {
        snprintf(name, 32, "%d/%d", box->step, box->patch);
        if (report_text_width(name, SCHEDULE_FONT) <= room) return true;
    }
    snprintf(name, 32, "%d", box->step);
    return report_text_width(name, SCHEDULE_FONT) <= room;
}

static int write_names(schedule_panel *p, bool both)
{
    char name[32];
    int block = -1;
    for (int i = 0; i < p->count; i++) {
        const schedule_box *box = &p->boxes[i];
        if (!name_box(p, box, both, name)) continue;
        if (block < 0) block = compose_block(p->lanes.c, "steps", "x y name colour");
        double middle = (fmax(box->begin, p->lanes.begin) + fmin(box->end, p->lanes.end)) / 2;
        dit_buffer_printf(&p->lanes.c->files->data, "%.7g %.2f %s %d\n", middle * p->lanes.scale.factor,
                          box->rank + (lane[0] + lane[1]) / 2, name, text_colour(box_colour(p, box)));
    }
    return block;
}

static void put_plots(schedule_panel *p, bool both)
{
    dit_buffer *script = &p->lanes.c->files->script;
    const char *id = p->lanes.c->id, *separator = "plot ";
    int waits = write_boxes(p, true), computes = write_boxes(p, false), names = write_names(p, both);
    if (waits >= 0) {
        dit_buffer_printf(script,
                          "%s'%s.dat' index %d using 1:2:3:4:5:6 with boxxyerror lc rgb '%s' fs pattern 4 border",
                          separator, id, waits, waiting_colour);
        separator = ", \\\n     ";
    }
    if (computes >= 0) {
        dit_buffer_printf(script,
                          "%s'%s.dat' index %d using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable lw 0.5 fs solid 1 "
                          "border rgb '#ffffff'",
                          separator, id, computes);
        separator = ", \\\n     ";
    }
    if (names >= 0) {
        dit_buffer_printf(script, "%s'%s.dat' index %d using 1:2:3:4 with labels font ',%d' tc rgb variable", separator,
                          id, names, SCHEDULE_FONT);
        separator = "";
    }
    dit_buffer_text(script, *separator == 'p' ? "plot NaN notitle\n" : "\n");
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

static int degree_of(const report_case *kase, const char *tag)
{
    double degree;
    return report_case_number(kase, tag, &degree) && degree >= 1 && degree <= TIMELINE_RANKS ? (int)degree : 1;
}

/* Stages lie above the axes of a sequence, as base/axis.h orders them. */
static void name_stages(lanes_panel *lanes, const report_case *kase)
{
    int inner = 1, stages = degree_of(kase, dit_axis_key(DIT_AXIS_PIPEFUSION));
    for (int axis = 0; axis < DIT_AXIS_PIPEFUSION; axis++) inner *= degree_of(kase, dit_axis_key((dit_axis)axis));
    for (int rank = 0; rank < lanes->ranks; rank++)
        snprintf(lanes->names[rank], sizeof lanes->names[rank], "rank %d, stage %d", rank, rank / inner % stages);
}

static void add_legend(schedule_panel *p, report_canvas *canvas)
{
    int patches = p->lanes.t->patches;
    for (int patch = 0; patch < patches && patch < SCHEDULE_NAMED; patch++) {
        bool more = patch == SCHEDULE_NAMED - 1 && patch < patches - 1;
        snprintf(p->name[patch], sizeof p->name[patch], "patch %d%s", patch, more ? " ..." : "");
        snprintf(p->colour[patch], sizeof p->colour[patch], "#%06x",
                 (unsigned)patch_colour(patch, patches) & 0xffffffu);
        canvas_add_legend(canvas, &(canvas_entry){.name = p->name[patch], .colour = p->colour[patch]});
    }
    canvas_add_legend(canvas, &(canvas_entry){.name = "all rows, in step", .colour = whole_colour});
    canvas_add_legend(canvas, &(canvas_entry){.name = "before and after the steps", .colour = outside_colour});
    canvas_add_legend(canvas, &(canvas_entry){.name = "waiting for a message", .colour = waiting_colour, .repeat = 1});
}

/* First step that is cut into patches; without one, the first. */
static int first_cut_step(const timeline *t)
{
    int first = t->steps;
    for (int i = 0; i < t->count; i++)
        if (t->spans[i].patch >= 0 && t->spans[i].step >= 0 && t->spans[i].step < first) first = t->spans[i].step;
    return first < t->steps ? first : 0;
}

static void draw_panel(schedule_panel *p, const report_canvas *canvas, int index, const char *title)
{
    p->lanes.scale = (report_scale){1e3, "ms"};
    find_boxes(p);
    canvas_panel(canvas, index, title, NULL, "");
    lanes_axes(&p->lanes);
    lanes_mark_steps(&p->lanes);
    put_plots(p, index > 0);
}

static dit_status draw_panels(schedule_panel *p, const report_case *kase, const char *footer)
{
    const timeline *t = p->lanes.t;
    int first = first_cut_step(t), last = first + SCHEDULE_ZOOM_STEPS - 1;
    if (last >= t->steps) last = t->steps - 1;
    bool zooms = timeline_step_end(t, last) > timeline_step_begin(t, first);
    report_canvas canvas = lanes_canvas(&p->lanes, 1 + zooms, SCHEDULE_RANK, SCHEDULE_LEFT, footer);
    char title[256];
    add_legend(p, &canvas);
    lanes_begin(&p->lanes, &canvas);
    snprintf(title, sizeof title, "%.200s · the whole iteration", kase->label);
    p->lanes.begin = t->begin, p->lanes.end = t->end;
    draw_panel(p, &canvas, 0, title);
    snprintf(title, sizeof title, "%.180s · steps %d to %d, step/patch", kase->label, first, last);
    p->lanes.begin = timeline_step_begin(t, first), p->lanes.end = timeline_step_end(t, last);
    if (zooms) draw_panel(p, &canvas, 1, title);
    canvas_end(&canvas);
    return DIT_OK;
}

static dit_status draw(report_composition *c, const report_case *kase, const timeline *t, const char *footer)
{
    schedule_panel p = {.lanes = lanes_of(c, t)};
    if (!(t->end > t->begin)) return DIT_FAIL(DIT_ERR_NOT_FOUND, "the trace of %s has no duration", kase->label);
    p.boxes = calloc((size_t)t->count, sizeof *p.boxes);
    if (!p.boxes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a schedule");
    name_stages(&p.lanes, kase);
    dit_status st = draw_panels(&p, kase, footer);
    free(p.boxes);
    return st;
}

dit_status compose_schedule(report_composition *c)
{
    return lanes_compose(c, draw);
}
