#include "reports/layout/compose.h"
#include "reports/records/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    HEAT_INNER = 270,
    HEAT_PLOT_HEIGHT = 150,
    HEAT_LEFT = 50,
    HEAT_RIGHT = 12,
    HEAT_TOP = 28,
    HEAT_BOTTOM = 46,
    HEAT_POINTS = 3,   /* K, V, attention        */
    HEAT_CASES = 6,    /* that one picture shows */
    HEAT_COLOURS = 24, /* told apart             */
    HEAT_KEYS = 5,     /* of them in the legend  */
};

/* From pale to dark, in equal steps between these. */
static const int heat_stops[][3] = {{0xfd, 0xf6, 0xdc}, {0xf0, 0xa2, 0x4b}, {0xb8, 0x30, 0x3b}, {0x2b, 0x0b, 0x3f}};

typedef struct {
    report_composition *c;
    const report_cell *cells[HEAT_CASES];
    report_probe probes[HEAT_CASES];
    int count, beyond;                     /* beyond: cases that have no room */
    double *mean[HEAT_CASES][HEAT_POINTS]; /* [layers][changes] over prompts */
    double least, most;                    /* of all of them */
    char colours[HEAT_COLOURS][8];
    char keys[HEAT_KEYS][32];
} heat_picture;

static void mix_colours(heat_picture *h)
{
    enum { GAPS = sizeof heat_stops / sizeof *heat_stops - 1 };
    for (int i = 0; i < HEAT_COLOURS; i++) {
        double at = (double)i / (HEAT_COLOURS - 1) * GAPS;
        int stop = at < GAPS ? (int)at : GAPS - 1, mixed[3];
        for (int k = 0; k < 3; k++)
            mixed[k] = (int)lround(heat_stops[stop][k] + (at - stop) * (heat_stops[stop + 1][k] - heat_stops[stop][k]));
        snprintf(h->colours[i], sizeof h->colours[i], "#%02x%02x%02x", mixed[0] & 0xff, mixed[1] & 0xff,
                 mixed[2] & 0xff);
    }
}

static int colour_of(const heat_picture *h, double value)
{
    double range = log(h->most) - log(h->least);
    if (!(value > h->least)) return 0;
    double at = range > 0 ? (log(value) - log(h->least)) / range * HEAT_COLOURS : 0;
    return at < HEAT_COLOURS ? (int)at : HEAT_COLOURS - 1;
}

/* The mean over prompts of one point's change relative to its size. */
static dit_status take_mean(heat_picture *h, int at, int point)
{
    const report_probe *probe = &h->probes[at];
    int cells = probe->layers * (probe->steps - 1);
    const double *change = probe->change[point][REPORT_PROBE_RELATIVE];
    double *mean = calloc((size_t)cells, sizeof *mean);
    if (!mean) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", h->c->id);
    h->mean[at][point] = mean;
    for (int i = 0; i < cells; i++) {
        for (int prompt = 0; prompt < probe->prompts; prompt++) mean[i] += change[prompt * cells + i] / probe->prompts;
        if (!(mean[i] > 0)) continue;
        h->least = fmin(h->least, mean[i]), h->most = fmax(h->most, mean[i]);
    }
    return DIT_OK;
}

static dit_status read_probes(heat_picture *h)
{
    const report_grid *grid = h->c->grid;
    for (int i = 0; i < grid->count; i++) {
        if (grid->cells[i].bar.n == 0) continue;
        if (h->count == HEAT_CASES) {
            h->beyond++;
            continue;
        }
        h->cells[h->count] = &grid->cells[i];
        DIT_TRY(report_probe_read(grid->cells[i].kase, &h->probes[h->count]));
        h->count++;
        for (int point = 0; point < HEAT_POINTS; point++) DIT_TRY(take_mean(h, h->count - 1, point));
    }
    if (!h->count)
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no case left a probe"), "set measure.probe in the workload");
    return DIT_OK;
}

/* One rectangle for each layer and change; a block of data for each colour. */
static void put_cells(heat_picture *h, int at, int point)
{
    const report_probe *probe = &h->probes[at];
    dit_buffer *script = &h->c->files->script;
    int changes = probe->steps - 1, plots = 0;
    for (int colour = 0; colour < HEAT_COLOURS; colour++) {
        int block = -1;
        for (int i = 0; i < probe->layers * changes; i++) {
            double value = h->mean[at][point][i];
            if (colour_of(h, value) != colour) continue;
            if (block < 0) block = compose_block(h->c, report_probe_points[point], "steps_left layer change");
            dit_buffer_printf(&h->c->files->data, "%d %d %.5g\n", changes - i % changes, i / changes, value);
        }
        if (block < 0) continue;
        dit_buffer_printf(
            script, "%s'%s.dat' index %d using 1:2:(0.505):(0.505) with boxxyerror lc rgb '%s' fs solid 1 noborder",
            plots++ ? ", \\\n     " : "plot ", h->c->id, block, h->colours[colour]);
    }
    dit_buffer_text(script, plots ? "\n" : "plot NaN notitle\n");
}

/* "K · trained · 20 denoising steps", with the panel's name where there are several. */
static void name_panel(const heat_picture *h, int at, int point, char out[256])
{
    const report_cell *cell = h->cells[at];
    const report_grid *grid = h->c->grid;
    bool several = grid->panel_count > 1;
    snprintf(out, 256, "%s%s%.60s%s%.60s · %.40s %.40s", report_probe_points[point], several ? " · " : "",
             several ? cell->panel : "", cell->series[0] ? " · " : "", cell->series, cell->x,
             report_grid_tag_title(grid, h->c->plot->x));
}

static void put_panel(heat_picture *h, const report_canvas *canvas, int at, int point)
{
    const report_probe *probe = &h->probes[at];
    dit_buffer *script = &h->c->files->script;
    char title[256], shown[256];
    name_panel(h, at, point, title);
    canvas_fit_text(title, 11, canvas_inner_width(canvas), shown, sizeof shown);
    canvas_panel(canvas, at * HEAT_POINTS + point, shown, NULL, point == 0 ? "layer" : "");
    canvas_line(script, "unset grid");
    canvas_line(script, "set xrange [%.1f:0.5]", probe->steps - 0.5);
    canvas_line(script, "set yrange [%.1f:-0.5]", probe->layers - 0.5);
    canvas_line(script, "set xtics nomirror out scale 0.4 tc rgb '#222222' autofreq");
    canvas_line(script, "set ytics nomirror out scale 0.4 tc rgb '#222222' autofreq");
    canvas_line(script, "set xlabel 'steps left' offset 0,0.4 tc rgb '#222222'");
    put_cells(h, at, point);
}

static void fill_legend(heat_picture *h, report_canvas *canvas)
{
    for (int i = 0; i < HEAT_KEYS; i++) {
        int colour = i * (HEAT_COLOURS - 1) / (HEAT_KEYS - 1);
        double value = exp(log(h->least) + (colour + 0.5) / HEAT_COLOURS * (log(h->most) - log(h->least)));
        snprintf(h->keys[i], sizeof h->keys[i], "%.2g", value);
        canvas_add_legend(canvas, &(canvas_entry){.name = h->keys[i], .colour = h->colours[colour]});
    }
}

static void draw(heat_picture *h)
{
    report_canvas canvas = compose_canvas(h->c, (compose_plot){.width = HEAT_INNER,
                                                               .height = HEAT_PLOT_HEIGHT,
                                                               .left = HEAT_LEFT,
                                                               .right = HEAT_RIGHT,
                                                               .top = HEAT_TOP,
                                                               .bottom = HEAT_BOTTOM});
    dit_buffer footer = {0};
    dit_buffer_text(&footer, h->c->footer);
    if (h->beyond) dit_buffer_printf(&footer, "\n%d further cases have a probe", h->beyond);
    canvas.panels = h->count * HEAT_POINTS;
    canvas.footer = footer.failed ? h->c->footer : footer.data;
    mix_colours(h);
    fill_legend(h, &canvas);
    compose_fit(h->c, &canvas);
    canvas_begin(&canvas);
    for (int at = 0; at < h->count; at++)
        for (int point = 0; point < HEAT_POINTS; point++) put_panel(h, &canvas, at, point);
    canvas_end(&canvas);
    dit_buffer_release(&footer);
}

dit_status compose_heatmap(report_composition *c)
{
    heat_picture h = {.c = c, .least = INFINITY, .most = 0};
    dit_status st = read_probes(&h);
    if (st == DIT_OK && !(h.most > 0)) st = DIT_FAIL(DIT_ERR_NOT_FOUND, "nothing changes from step to step");
    if (st == DIT_OK) draw(&h);
    for (int at = 0; at < HEAT_CASES; at++) {
        report_probe_release(&h.probes[at]);
        for (int point = 0; point < HEAT_POINTS; point++) free(h.mean[at][point]);
    }
    return st;
}
