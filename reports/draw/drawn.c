#include "reports/draw/drawn.h"

#include "base/file.h"
#include "reports/draw/gnuplot.h"
#include "reports/draw/svg.h"

#include <stdio.h>
#include <stdlib.h>

enum { DRAWN_PATH = 4096, DRAWN_SVG_BYTES = 16 << 20 };

void report_drawn_release(report_drawn *drawn)
{
    dit_buffer_release(&drawn->data);
    dit_buffer_release(&drawn->script);
    dit_buffer_release(&drawn->words);
}

static dit_status path_of(const report_drawn *drawn, const char *folder, const char *suffix, char out[DRAWN_PATH])
{
    if (snprintf(out, DRAWN_PATH, "%s/%s%s", folder, drawn->id, suffix) < DRAWN_PATH) return DIT_OK;
    return DIT_FAIL(DIT_ERR_IO, "%s: the path is too long", folder);
}

static dit_status write_text(const report_drawn *drawn, const char *folder, const char *suffix, const dit_buffer *text)
{
    char path[DRAWN_PATH];
    const dit_file_piece piece = {text->data, text->used};
    if (text->failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", drawn->id);
    DIT_TRY(path_of(drawn, folder, suffix, path));
    return dit_file_write(path, &piece, 1);
}

/* The text alternative, and colours for dark pages. */
static dit_status finish_svg(const report_drawn *drawn, const char *folder, const report_style *style, char **out)
{
    char path[DRAWN_PATH], *svg = NULL;
    size_t length = 0;
    dit_buffer finished = {0};
    if (drawn->words.failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", drawn->id);
    DIT_TRY(path_of(drawn, folder, ".svg", path));
    DIT_TRY(dit_file_read(path, DRAWN_SVG_BYTES, &svg, &length));
    svg_finish(svg, drawn->title, drawn->words.data ? drawn->words.data : "", style, &finished);
    free(svg);
    dit_status st = write_text(drawn, folder, ".svg", &finished);
    if (st == DIT_OK && out) {
        *out = finished.data;
        return DIT_OK;
    }
    dit_buffer_release(&finished);
    return st;
}

dit_status report_drawn_write(const report_drawn *drawn, const char *folder, const char *program,
                              const report_style *style, unsigned formats, char **svg)
{
    const char *gnuplot = program ? program : "gnuplot";
    if (svg) *svg = NULL;
    DIT_TRY(write_text(drawn, folder, ".dat", &drawn->data));
    DIT_TRY(write_text(drawn, folder, ".gp", &drawn->script));
    DIT_TRY(gnuplot_check(gnuplot));
    for (int i = 0; i < REPORT_FORMAT_COUNT; i++)
        if (formats & 1u << i) DIT_TRY(gnuplot_run(gnuplot, folder, drawn->id, report_format_names()[i]));
    return formats & 1u << REPORT_FORMAT_svg ? finish_svg(drawn, folder, style, svg) : DIT_OK;
}
