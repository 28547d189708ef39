#include "reports/draw/svg.h"

#include "reports/draw/palette.h"
#include "reports/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char title_begin[] = "<title>", description_end[] = "</desc>";

/* gnuplot writes a colour in two ways: "#ffffff", and "rgb(  0, 114, 178)". */
static void put_rule(const char *spelled, const char *dark, dit_buffer *out)
{
    static const char *const attributes[] = {"fill", "stroke", "color"};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        dit_buffer_printf(out, "[%s=\"%s\"]{%s:%s}", attributes[i], spelled, attributes[i], dark);
}

/* Only colours that the picture has. */
static void put_dark_rules(const char *svg, dit_buffer *out)
{
    dit_buffer_text(out, "<style>@media(prefers-color-scheme:dark){\n");
    for (int i = 0; i < PALETTE_COUNT; i++) {
        const palette_colour *colour = palette_get(i);
        long rgb = strtol(colour->light + 1, NULL, 16);
        char spelled[32];
        snprintf(spelled, sizeof spelled, "rgb(%3ld, %3ld, %3ld)", rgb >> 16 & 0xff, rgb >> 8 & 0xff, rgb & 0xff);
        if (strstr(svg, spelled)) put_rule(spelled, colour->dark, out);
        snprintf(spelled, sizeof spelled, "rgb(%ld,%ld,%ld)", rgb >> 16 & 0xff, rgb >> 8 & 0xff, rgb & 0xff);
        if (strstr(svg, spelled)) put_rule(spelled, colour->dark, out);
        if (strstr(svg, colour->light)) put_rule(colour->light, colour->dark, out);
        dit_buffer_char(out, '\n');
    }
    dit_buffer_text(out, "}</style>\n");
}

/* The root element's width and height in pixels, put into points. */
static const char *put_size(const char *svg, const report_style *style, dit_buffer *out)
{
    double width, height;
    const char *at = strstr(svg, " width=\""), *end = strstr(svg, " viewBox=");
    if (!at || !end || end < at || sscanf(at, " width=\"%lf\" height=\"%lf\"", &width, &height) != 2) return svg;
    dit_buffer_append(out, svg, (size_t)(at - svg));
    dit_buffer_printf(out, " width=\"%.6gpt\" height=\"%.6gpt\"\n", style->width, style->width * height / width);
    return end;
}

/* A picture of few pixels is shown as squares; browsers would smooth it. */
static void put_sharp(const char *svg, dit_buffer *out)
{
    static const char image[] = "<image ";
    for (const char *at; (at = strstr(svg, image)); svg = at + sizeof image - 1) {
        dit_buffer_append(out, svg, (size_t)(at - svg));
        dit_buffer_text(out, "<image style='image-rendering:pixelated' ");
    }
    dit_buffer_text(out, svg);
}

void svg_finish(const char *svg, const char *title, const char *description, const report_style *style, dit_buffer *out)
{
    const char *from = strstr(svg, title_begin), *to = strstr(svg, description_end), *rest = svg;
    if (!from || !to || to < from) {
        dit_buffer_text(out, svg);
        return;
    }
    if (style->width > 0) rest = put_size(svg, style, out);
    dit_buffer_append(out, rest, (size_t)(from - rest));
    dit_buffer_text(out, title_begin);
    report_append_html(out, title);
    dit_buffer_text(out, "</title>\n<desc>");
    dit_buffer_text(out, description);
    dit_buffer_text(out, description_end);
    dit_buffer_char(out, '\n');
    if (!report_style_is_paper(style)) put_dark_rules(svg, out);
    put_sharp(to + strlen(description_end), out);
}

/* ---- in a page ------------------------------------------------------------------------------------------------------ */

static void put_base64(dit_buffer *out, const char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = (const unsigned char *)bytes;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned group = (unsigned)b[i] << 16 | (left > 1 ? (unsigned)b[i + 1] << 8 : 0) | (left > 2 ? b[i + 2] : 0);
        char four[4] = {digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
                        left > 2 ? digits[group & 63] : '='};
        dit_buffer_append(out, four, sizeof four);
    }
}

void svg_append_data(dit_buffer *out, const char *svg)
{
    dit_buffer_text(out, "data:image/svg+xml;base64,");
    put_base64(out, svg, strlen(svg));
}
