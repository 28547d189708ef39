#include "reports/layout/compose.h"
#include "reports/records/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROFILE_INNER = 190,
    PROFILE_PLOT_HEIGHT = 120,
    PROFILE_LEFT = 48,
    PROFILE_RIGHT = 8,
    PROFILE_TOP = 26,
    PROFILE_BOTTOM = 44,
    PROFILE_POINTS = 3,  /* K, V, attention          */
    PROFILE_LAYERS = 24, /* that one picture shows   */
};
static const double band_low = 0.1, band_high = 0.9;
static const char *const profile_colours[PROFILE_POINTS] = {"#0072b2", "#c98200", "#00694b"};
static const char control_colour[] = "#8c8c8c";

typedef struct {
    report_composition *c;
    const report_case *kase, *control; /* control: NULL, or the case with random weights */
    report_probe probe, of_control;
    double least, most; /* of what is drawn */
    double *sorted;     /* [prompts] */
} profile_picture;

static bool is_seeded(const report_case *kase)
{
    char weights[REPORT_TAG_TEXT] = "";
    report_case_tag(kase, "weights", weights, sizeof weights);
    return strcmp(weights, "seeded") == 0;
}

static bool same_tag(const report_case *one, const report_case *other, const char *tag)
{
    char a[REPORT_TAG_TEXT] = "", b[REPORT_TAG_TEXT] = "";
    report_case_tag(one, tag, a, sizeof a);
    report_case_tag(other, tag, b, sizeof b);
    return strcmp(a, b) == 0;
}

/* The first case with trained weights, else the first of all; beside it the one that differs in the weights. */
static dit_status choose_cases(profile_picture *p)
{
    const report_grid *grid = p->c->grid;
    for (int i = 0; i < grid->count; i++) {
        const report_case *kase = grid->cells[i].kase;
        if (grid->cells[i].bar.n && (!p->kase || (is_seeded(p->kase) && !is_seeded(kase)))) p->kase = kase;
    }
    if (!p->kase)
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no case left a probe"), "set measure.probe in the workload");
    for (int i = 0; i < grid->count && !is_seeded(p->kase) && !p->control; i++) {
        const report_case *kase = grid->cells[i].kase;
        if (grid->cells[i].bar.n && is_seeded(kase) && same_tag(kase, p->kase, "model") &&
            same_tag(kase, p->kase, "steps"))
            p->control = kase;
    }
    return DIT_OK;
}

static double value_of(const report_probe *probe, int point, int prompt, int layer, int change)
{
    return probe->change[point][REPORT_PROBE_L1][(prompt * probe->layers + layer) * (probe->steps - 1) + change];
}

static double mean_of(const report_probe *probe, int point, int layer, int change)
{
    double sum = 0;
    for (int prompt = 0; prompt < probe->prompts; prompt++) sum += value_of(probe, point, prompt, layer, change);
    return sum / probe->prompts;
}

static void widen(profile_picture *p, double value)
{
    if (!(value > 0)) return;
    p->least = fmin(p->least, value), p->most = fmax(p->most, value);
}

/* The ends of the band over prompts. */
static void band_of(const profile_picture *p, int point, int layer, int change, double *low, double *high)
{
    int prompts = p->probe.prompts;
    for (int prompt = 0; prompt < prompts; prompt++)
        p->sorted[prompt] = value_of(&p->probe, point, prompt, layer, change);
    dit_stats_sort(p->sorted, prompts);
    *low = dit_stats_sorted_quantile(p->sorted, prompts, band_low);
    *high = dit_stats_sorted_quantile(p->sorted, prompts, band_high);
}

static void find_range(profile_picture *p)
{
    for (int layer = 0; layer < p->probe.layers; layer++)
        for (int change = 0; change + 1 < p->probe.steps; change++)
            for (int point = 0; point < PROFILE_POINTS; point++) {
                double low, high;
                band_of(p, point, layer, change, &low, &high);
                widen(p, low), widen(p, high);
            }
    for (int layer = 0; p->control && layer < p->of_control.layers; layer++)
        for (int change = 0; change + 1 < p->of_control.steps; change++)
            widen(p, mean_of(&p->of_control, 0, layer, change));
}

/* Which layer the panel `index` of `panels` shows: evenly over all. */
static int layer_at(const profile_picture *p, int index, int panels)
{
    return panels > 1 ? (int)lround((double)index * (p->probe.layers - 1) / (panels - 1)) : 0;
}

static int write_point(profile_picture *p, int point, int layer)
{
    const report_probe *probe = &p->probe;
    int block = compose_block(p->c, report_probe_points[point], "steps_left mean low high");
    for (int change = 0; change + 1 < probe->steps; change++) {
        double low, high;
        band_of(p, point, layer, change, &low, &high);
        dit_buffer_printf(&p->c->files->data, "%d %.5g %.5g %.5g\n", probe->steps - 1 - change,
                          mean_of(probe, point, layer, change), low, high);
    }
    return block;
}

static int write_control(profile_picture *p, int layer)
{
    const report_probe *probe = &p->of_control;
    int block = compose_block(p->c, "control", "steps_left mean");
    for (int change = 0; change + 1 < probe->steps && layer < probe->layers; change++)
        dit_buffer_printf(&p->c->files->data, "%d %.5g\n", probe->steps - 1 - change, mean_of(probe, 0, layer, change));
    return block;
}

static void put_lines(profile_picture *p, int layer)
{
    dit_buffer *script = &p->c->files->script;
    const char *id = p->c->id, *lead = "plot ";
    int blocks[PROFILE_POINTS];
    for (int point = 0; point < PROFILE_POINTS; point++) {
        blocks[point] = write_point(p, point, layer);
        dit_buffer_printf(
            script, "%s'%s.dat' index %d using 1:3:4 with filledcurves lc rgb '%s' fs transparent solid 0.18 noborder",
            lead, id, blocks[point], profile_colours[point]);
        lead = ", \\\n     ";
    }
    if (p->control)
        dit_buffer_printf(script, "%s'%s.dat' index %d using 1:2 with lines lw 1.4 dt 2 lc rgb '%s'", lead, id,
                          write_control(p, layer), control_colour);
    for (int point = 0; point < PROFILE_POINTS; point++)
        dit_buffer_printf(script, "%s'%s.dat' index %d using 1:2 with lines lw 1.6 lc rgb '%s'", lead, id,
                          blocks[point], profile_colours[point]);
    dit_buffer_text(script, "\n");
}

/* At 1, 2 and 5 of each power of ten. */
static void put_ticks(const profile_picture *p)
{
    static const int marks[] = {1, 2, 5};
    dit_buffer *script = &p->c->files->script;
    const char *comma = "";
    dit_buffer_text(script, "set ytics nomirror out scale 0.4 tc rgb '#222222' (");
    for (int power = (int)floor(log10(p->least)); power <= (int)ceil(log10(p->most)); power++)
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
            double at = marks[i] * pow(10, power);
            if (at < p->least * 0.8 || at > p->most * 1.25) continue;
            dit_buffer_printf(script, "%s'%g' %g", comma, at, at);
            comma = ", ";
        }
    canvas_line(script, ")");
}

static void put_panel(profile_picture *p, const report_canvas *canvas, int index, int panels)
{
    dit_buffer *script = &p->c->files->script;
    char title[32];
    int layer = layer_at(p, index, panels);
    snprintf(title, sizeof title, "layer %d", layer);
    canvas_panel(canvas, index, title, NULL, "");
    canvas_line(script, "set grid ytics lt 1 lw 0.6 lc rgb '#dcdcdc'");
    canvas_line(script, "set xrange [%d:1]", p->probe.steps - 1);
    canvas_line(script, "set yrange [%.5g:%.5g]", p->least * 0.8, p->most * 1.25);
    canvas_line(script, "set logscale y");
    canvas_line(script, "set xtics nomirror out scale 0.4 tc rgb '#222222' autofreq");
    put_ticks(p);
    canvas_line(script, "set xlabel 'steps left' offset 0,0.4 tc rgb '#222222'");
    put_lines(p, layer);
    canvas_line(script, "unset logscale y");
}

static void fill_legend(const profile_picture *p, report_canvas *canvas)
{
    for (int point = 0; point < PROFILE_POINTS; point++)
        canvas_add_legend(canvas, &(canvas_entry){.name = report_probe_points[point],
                                                  .colour = profile_colours[point],
                                                  .glyph = CANVAS_LINE});
    if (p->control)
        canvas_add_legend(
            canvas, &(canvas_entry){
                        .name = "K, random weights", .colour = control_colour, .glyph = CANVAS_LINE, .dash = "dt 2"});
}

static void draw(profile_picture *p)
{
    int panels = p->probe.layers < PROFILE_LAYERS ? p->probe.layers : PROFILE_LAYERS;
    report_canvas canvas = compose_canvas(p->c, (compose_plot){.width = PROFILE_INNER,
                                                               .height = PROFILE_PLOT_HEIGHT,
                                                               .left = PROFILE_LEFT,
                                                               .right = PROFILE_RIGHT,
                                                               .top = PROFILE_TOP,
                                                               .bottom = PROFILE_BOTTOM});
    dit_buffer footer = {0};
    dit_buffer_printf(&footer, "%s\n%.200s · %d prompts", p->c->footer, p->kase->label, p->probe.prompts);
    if (panels < p->probe.layers) dit_buffer_printf(&footer, " · %d of %d layers", panels, p->probe.layers);
    canvas.panels = panels;
    canvas.footer = footer.failed ? p->c->footer : footer.data;
    canvas.y_label = p->c->kind->y_label;
    fill_legend(p, &canvas);
    compose_fit(p->c, &canvas);
    canvas_begin(&canvas);
    for (int i = 0; i < panels; i++) put_panel(p, &canvas, i, panels);
    canvas_end(&canvas);
    dit_buffer_release(&footer);
}

static dit_status read_and_draw(profile_picture *p)
{
    DIT_TRY(choose_cases(p));
    DIT_TRY(report_probe_read(p->kase, &p->probe));
    if (p->control) DIT_TRY(report_probe_read(p->control, &p->of_control));
    p->sorted = malloc((size_t)p->probe.prompts * sizeof *p->sorted);
    if (!p->sorted) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", p->c->id);
    find_range(p);
    if (!(p->most > 0)) return DIT_FAIL(DIT_ERR_NOT_FOUND, "nothing changes from step to step");
    draw(p);
    return DIT_OK;
}

dit_status compose_profile(report_composition *c)
{
    profile_picture p = {.c = c, .least = INFINITY};
    dit_status st = read_and_draw(&p);
    free(p.sorted);
    report_probe_release(&p.probe);
    report_probe_release(&p.of_control);
    return st;
}
