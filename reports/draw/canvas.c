#include "reports/draw/canvas.h"

#include "reports/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    CANVAS_NARROWEST = 600,
    CANVAS_TITLE_HEIGHT = 34,
    CANVAS_LEGEND_ROW = 20,
    CANVAS_FOOTER_ROW = 14,
    CANVAS_TITLE_FONT = 16,
    CANVAS_PANEL_FONT = 12,
    CANVAS_LEGEND_FONT = 11,
    CANVAS_FOOTER_FONT = 9,
    CANVAS_NOTE_FONT = 9,
    CANVAS_LEAST_PLOT = 130, /* pixels of a narrow panel's height */
};
static const double canvas_own_points = 0.75, canvas_base_font = 11,
                    canvas_paper_font = 8; /* points of a pixel; px; pt */
static const double canvas_paper_dpi = 300;

void canvas_line(dit_buffer *script, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    dit_buffer_text(script, line);
    dit_buffer_char(script, '\n');
}

void canvas_fit_text(const char *text, double font_px, double pixels, char *out, size_t capacity)
{
    int fitting = (int)(pixels / report_text_width("x", font_px)), characters = 0;
    size_t used = 0;
    for (; *text; text++) {
        bool starts = ((unsigned char)*text & 0xc0) != 0x80;
        bool last = starts && characters + 1 >= fitting && report_text_length(text) > 1;
        if (last || used + 4 >= capacity) break;
        characters += starts;
        out[used++] = *text;
    }
    snprintf(out + used, capacity - used, "%s", *text ? "…" : "");
}

void canvas_add_legend(report_canvas *canvas, const canvas_entry *entry)
{
    static const canvas_entry more = {.name = "further ones: see the CSV", .colour = "#ffffff"};
    if (!entry->name[0]) return;
    if (canvas->legend_count < CANVAS_LEGEND)
        canvas->legend[canvas->legend_count++] = *entry;
    else
        canvas->legend[CANVAS_LEGEND - 1] = more;
}

const char *canvas_fill(int repeat)
{
    static const char *const fills[] = {"solid 1 noborder", "pattern 4 border", "pattern 1 border", "pattern 5 border"};
    return fills[(unsigned)repeat % (sizeof fills / sizeof fills[0])];
}

const char *canvas_pale_fill(int repeat)
{
    static const char *const fills[] = {"solid 0.35 border", "pattern 2 border", "pattern 6 border",
                                        "pattern 7 border"};
    return fills[(unsigned)repeat % (sizeof fills / sizeof fills[0])];
}

const char *canvas_dash(int repeat)
{
    static const char *const dashes[] = {"dt 1", "dt (7,3)", "dt (3,3)", "dt (10,3,2,3)"};
    return dashes[(unsigned)repeat % (sizeof dashes / sizeof dashes[0])];
}

static double entry_width(const canvas_entry *entry)
{
    return 40 + report_text_width(entry->name, CANVAS_LEGEND_FONT);
}

/* Places entry after entry; a row that is full wraps. Returns the number of rows. */
static int legend_rows(const report_canvas *canvas)
{
    double x = CANVAS_EDGE;
    int rows = canvas->legend_count > 0;
    for (int i = 0; i < canvas->legend_count; i++) {
        double width = entry_width(&canvas->legend[i]);
        if (x > CANVAS_EDGE && x + width > canvas->width - CANVAS_EDGE) rows++, x = CANVAS_EDGE;
        x += width;
    }
    return rows;
}

/* End of the longest stretch of words that fits in one footer row. */
static const char *footer_break(const char *text, int width)
{
    const char *best = NULL;
    double used = 0;
    for (const char *s = text; *s && *s != '\n'; s++) {
        if (((unsigned char)*s & 0xc0) != 0x80) used += report_text_width("x", CANVAS_FOOTER_FONT);
        if (used > width - 2 * CANVAS_EDGE) return best ? best : s;
        if (*s == ' ') best = s;
    }
    return text + strcspn(text, "\n");
}

static int footer_rows(const char *text, int width)
{
    int rows = 0;
    while (*text) {
        text = footer_break(text, width);
        text += *text != '\0';
        rows++;
    }
    return rows;
}

static bool is_paper(const report_canvas *canvas)
{
    return canvas->style && (canvas->style->width > 0 || canvas->style->font > 0);
}

static bool is_bare(const report_canvas *canvas)
{
    return canvas->style && canvas->style->bare;
}

/* Points of a pixel when nothing has to shrink. */
static double points_of(const report_style *style)
{
    if (!style || (style->width <= 0 && style->font <= 0)) return canvas_own_points;
    return (style->font > 0 ? style->font : canvas_paper_font) / canvas_base_font;
}

/* Returns how many pixels wide a figure of this style may be. */
static int canvas_widest(const report_style *style)
{
    return style && style->width > 0 ? (int)(style->width / points_of(style)) : CANVAS_WIDEST;
}

int canvas_columns(int panels, int fitting)
{
    if (fitting > CANVAS_COLUMNS) fitting = CANVAS_COLUMNS;
    if (fitting < 1) fitting = 1;
    if (panels <= fitting) return panels;
    for (int columns = fitting; 2 * columns >= fitting; columns--)
        if (panels % columns == 0) return columns;
    int rows = (panels + fitting - 1) / fitting;
    return (panels + rows - 1) / rows;
}

static int left_edge(const report_canvas *canvas)
{
    return CANVAS_EDGE + (canvas->y_label ? CANVAS_LABEL : 0);
}

/* Narrow panels are not as tall as wide ones. */
static void choose_height(report_canvas *canvas, int rows)
{
    int margins = canvas->margin_top + canvas->margin_bottom, inner = canvas_inner_width(canvas);
    int plot = canvas->panel_height - margins, wanted = canvas->shape == CANVAS_SQUARE ? inner : (int)(0.6 * inner);
    if (wanted < CANVAS_LEAST_PLOT) wanted = CANVAS_LEAST_PLOT;
    if (is_paper(canvas) && canvas->shape != CANVAS_FIXED && wanted < plot) canvas->panel_height = wanted + margins;
    int footer = CANVAS_FOOTER_ROW * footer_rows(canvas->footer, canvas->width) + CANVAS_EDGE;
    if (canvas->style && canvas->style->height > 0) {
        int all = (int)(canvas->style->height / canvas->points) - canvas->header - footer;
        canvas->panel_height = all / rows > margins + 40 ? all / rows : margins + 40;
    }
    canvas->height = canvas->header + rows * canvas->panel_height + footer;
}

void canvas_layout(report_canvas *canvas)
{
    int widest = canvas_widest(canvas->style), edges = left_edge(canvas) + CANVAS_EDGE;
    int least = canvas->panel_least ? canvas->panel_least : canvas->panel_width;
    bool given = canvas->style && canvas->style->width > 0;
    canvas->columns = canvas_columns(canvas->panels, (widest - edges) / least);
    int rows = (canvas->panels + canvas->columns - 1) / canvas->columns;
    canvas->width = canvas->columns * canvas->panel_width + edges;
    if (canvas->width > widest || given) canvas->width = widest;
    if (canvas->width < canvas->columns * least + edges) canvas->width = canvas->columns * least + edges;
    if (canvas->width < CANVAS_NARROWEST && !given) canvas->width = CANVAS_NARROWEST;
    canvas->points = given ? canvas->style->width / canvas->width : points_of(canvas->style);
    canvas->panel_width = (canvas->width - edges) / canvas->columns;
    canvas->header = (is_bare(canvas) ? 4 : CANVAS_TITLE_HEIGHT) + CANVAS_LEGEND_ROW * legend_rows(canvas) + 4;
    choose_height(canvas, rows);
}

int canvas_inner_width(const report_canvas *canvas)
{
    return canvas->panel_width - canvas->margin_left - canvas->margin_right;
}

int canvas_inner_height(const report_canvas *canvas)
{
    return canvas->panel_height - canvas->margin_top - canvas->margin_bottom;
}

/* gnuplot's screen coordinates run from 0 to 1 and upward. */
static double screen_x(const report_canvas *canvas, double x)
{
    return x / canvas->width;
}
static double screen_y(const report_canvas *canvas, double y)
{
    return 1 - y / canvas->height;
}

static void put_text(const report_canvas *canvas, const char *text, double x, double y, int font, const char *colour)
{
    dit_buffer_text(canvas->script, "set label ");
    report_append_quoted(canvas->script, text);
    canvas_line(canvas->script, " at screen %.5f,%.5f left font ',%d' tc rgb '%s' front", screen_x(canvas, x),
                screen_y(canvas, y), font, colour);
}

static void put_glyph(const report_canvas *canvas, const canvas_entry *entry, double x, double y)
{
    double left = screen_x(canvas, x), right = screen_x(canvas, x + 20), middle = screen_y(canvas, y);
    if (entry->glyph == CANVAS_SWATCH) {
        canvas_line(canvas->script, "set object rect from screen %.5f,%.5f to screen %.5f,%.5f fc rgb '%s' fs %s front",
                    screen_x(canvas, x + 4), screen_y(canvas, y + 5), screen_x(canvas, x + 18), screen_y(canvas, y - 5),
                    entry->colour, entry->fill ? entry->fill : canvas_fill(entry->repeat));
        return;
    }
    const char *dash = entry->dash ? entry->dash : canvas_dash(entry->repeat);
    if (entry->glyph != CANVAS_POINT) {
        canvas_line(canvas->script,
                    "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead lw 2 %s lc rgb '%s' front", left,
                    middle, right, middle, entry->glyph == CANVAS_LINE && !entry->point && !entry->dash ? "dt 2" : dash,
                    entry->colour);
    }
    if (entry->point) {
        canvas_line(canvas->script, "set label '' at screen %.5f,%.5f point pt %d ps %s lc rgb '%s' front",
                    screen_x(canvas, x + 10), middle, entry->point, entry->size ? entry->size : "0.9", entry->colour);
    }
}

static void put_legend(const report_canvas *canvas)
{
    double x = CANVAS_EDGE, y = (is_bare(canvas) ? 4 : CANVAS_TITLE_HEIGHT) + CANVAS_LEGEND_ROW / 2;
    for (int i = 0; i < canvas->legend_count; i++) {
        double width = entry_width(&canvas->legend[i]);
        if (x > CANVAS_EDGE && x + width > canvas->width - CANVAS_EDGE) x = CANVAS_EDGE, y += CANVAS_LEGEND_ROW;
        put_glyph(canvas, &canvas->legend[i], x, y);
        put_text(canvas, canvas->legend[i].name, x + 25, y, CANVAS_LEGEND_FONT, "#222222");
        x += width;
    }
}

static void put_footer(const report_canvas *canvas)
{
    const char *text = canvas->footer;
    double y = canvas->height - CANVAS_EDGE - CANVAS_FOOTER_ROW * (footer_rows(text, canvas->width) - 0.5);
    while (*text) {
        char row[1024];
        const char *end = footer_break(text, canvas->width);
        snprintf(row, sizeof row, "%.*s", (int)(end - text), text);
        put_text(canvas, row, CANVAS_EDGE, y, CANVAS_FOOTER_FONT, "#666666");
        text = end + (*end != '\0');
        y += CANVAS_FOOTER_ROW;
    }
}

/* Terminals draw text, strokes and points of a figure of canvas->width pixels at its size on paper, or on a screen. */
static void put_terminals(const report_canvas *canvas)
{
    dit_buffer *script = canvas->script;
    double points = canvas->points, dots = is_paper(canvas) ? points * canvas_paper_dpi / 72 : 2;
    double width = canvas->width * points / 72, height = canvas->height * points / 72;
    canvas_line(script, "if (!exists('format')) format = 'svg'");
    canvas_line(script, "set encoding utf8");
    canvas_line(script, "if (format eq 'svg') {");
    canvas_line(script, "  set terminal svg noenhanced size %d,%d font 'sans-serif,11' background '#ffffff'",
                canvas->width, canvas->height);
    canvas_line(script, "} else { if (format eq 'png') {");
    canvas_line(script,
                "  set terminal pngcairo noenhanced size %.0f,%.0f font 'sans,11' fontscale %.4g linewidth %.4g "
                "pointscale %.4g background '#ffffff'",
                dots * canvas->width, dots * canvas->height, 0.75 * dots, dots, dots);
    static const char *const vector[] = {"pdf", "eps"};
    for (int i = 0; i < 2; i++) {
        canvas_line(script, "} else { if (format eq '%s') {", vector[i]);
        canvas_line(script,
                    "  set terminal %scairo noenhanced size %.5gin,%.5gin font 'sans,11' fontscale %.4g "
                    "linewidth %.4g pointscale %.4g",
                    vector[i], width, height, 0.75 * points, 2 * points, 1.3 * points);
    }
    canvas_line(script, "} else {");
    canvas_line(script, "  exit error \"format is svg, png, pdf or eps\"");
    canvas_line(script, "} } } }");
    canvas_line(script, "set output '%s.'.format", canvas->id);
}

void canvas_begin(const report_canvas *canvas)
{
    char title[256];
    dit_buffer *script = canvas->script;
    canvas_line(script, "# Draws %s.svg from %s.dat; otherwise gnuplot -e \"format='pdf'\" %s.gp: png, pdf or eps",
                canvas->id, canvas->id, canvas->id);
    put_terminals(canvas);
    canvas_line(script, "set multiplot");
    canvas_line(script, "unset key");
    canvas_line(script, "set border 3 lw 1 lc rgb '#666666'");
    canvas_line(script, "set grid ytics lt 1 lw 0.6 lc rgb '#dcdcdc'");
    canvas_fit_text(canvas->title, CANVAS_TITLE_FONT, canvas->width - 2 * CANVAS_EDGE, title, sizeof title);
    if (!is_bare(canvas)) {
        put_text(canvas, title, CANVAS_EDGE, CANVAS_TITLE_HEIGHT / 2, CANVAS_TITLE_FONT, "#000000");
    }
    put_legend(canvas);
    put_footer(canvas);
}

static void put_y_label(const report_canvas *canvas, const char *label, double x, double y)
{
    dit_buffer_text(canvas->script, "set label ");
    report_append_quoted(canvas->script, label);
    canvas_line(canvas->script, " at screen %.5f,%.5f center rotate by 90 tc rgb '#222222' front", screen_x(canvas, x),
                screen_y(canvas, y));
}

/* The title, and at its right the note where both have room. */
static void put_panel_title(const report_canvas *canvas, const char *title, const char *note, int left, int top)
{
    char fitted[256];
    double room = canvas->panel_width - 24, wide = note ? report_text_width(note, CANVAS_NOTE_FONT) + 8 : 0;
    if (report_text_width(title, CANVAS_PANEL_FONT) + wide > room) {
        note = wide + 60 > room ? NULL : note;
    }
    canvas_fit_text(title, CANVAS_PANEL_FONT, note ? room - wide : room, fitted, sizeof fitted);
    put_text(canvas, fitted, left + 12, top + 13, CANVAS_PANEL_FONT, "#222222");
    if (!note) return;
    dit_buffer_text(canvas->script, "set label ");
    report_append_quoted(canvas->script, note);
    canvas_line(canvas->script, " at screen %.5f,%.5f right font ',%d' tc rgb '#666666' front",
                screen_x(canvas, left + canvas->panel_width - canvas->margin_right), screen_y(canvas, top + 14),
                CANVAS_NOTE_FONT);
}

void canvas_panel(const report_canvas *canvas, int index, const char *title, const char *note, const char *y_label)
{
    int left = left_edge(canvas) + index % canvas->columns * canvas->panel_width;
    int top = canvas->header + index / canvas->columns * canvas->panel_height;
    double middle = top + (canvas->margin_top + canvas->panel_height - canvas->margin_bottom) / 2.0;
    dit_buffer *script = canvas->script;
    if (index > 0) canvas_line(script, "unset label; unset object; unset arrow"); /* the header is drawn once */
    canvas_line(script, "\n# panel %d", index + 1);
    canvas_line(script, "set lmargin at screen %.5f", screen_x(canvas, left + canvas->margin_left));
    canvas_line(script, "set rmargin at screen %.5f",
                screen_x(canvas, left + canvas->panel_width - canvas->margin_right));
    canvas_line(script, "set tmargin at screen %.5f", screen_y(canvas, top + canvas->margin_top));
    canvas_line(script, "set bmargin at screen %.5f",
                screen_y(canvas, top + canvas->panel_height - canvas->margin_bottom));
    put_panel_title(canvas, title, note, left, top);
    if (!canvas->y_label) {
        put_y_label(canvas, y_label, left + 14, middle);
    } else if (index % canvas->columns == 0) {
        put_y_label(canvas, canvas->y_label, CANVAS_EDGE + 8, middle);
    }
}

void canvas_end(const report_canvas *canvas)
{
    canvas_line(canvas->script, "unset multiplot");
}
