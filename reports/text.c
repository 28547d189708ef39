#include "reports/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_QUOTED_LIMIT = 200 };

typedef struct {
    double from; /* smallest value shown with this scale */
    report_scale scale;
} scale_step;

static const scale_step scale_seconds[] = {{1, {1, "s"}}, {1e-3, {1e3, "ms"}}, {0, {1e6, "µs"}}};
static const scale_step scale_bytes[] = {
    {1e12, {1e-12, "TB"}}, {1e9, {1e-9, "GB"}}, {1e6, {1e-6, "MB"}}, {1e3, {1e-3, "kB"}}, {0, {1, "B"}}};
static const scale_step scale_flop[] = {{1e15, {1e-15, "PFLOP"}},
                                        {1e12, {1e-12, "TFLOP"}},
                                        {1e9, {1e-9, "GFLOP"}},
                                        {1e6, {1e-6, "MFLOP"}},
                                        {0, {1, "FLOP"}}};
static const scale_step scale_count[] = {{0, {1, ""}}};
static const scale_step scale_rate[] = {{0, {1, "GFLOP/s"}}};
static const scale_step scale_hour[] = {{0, {1, "/h"}}};
static const scale_step scale_joules[] = {{1e6, {1e-6, "MJ"}}, {1e3, {1e-3, "kJ"}}, {0, {1, "J"}}};
static const scale_step scale_watts[] = {{1e3, {1e-3, "kW"}}, {0, {1, "W"}}};
static const scale_step scale_decibel[] = {{0, {1, "dB"}}};
static const scale_step scale_share[] = {{0, {100, "%"}}};
static const scale_step scale_factor[] = {{0, {1, "×"}}};

static const struct {
    const char *name;
    const scale_step *steps; /* the last one starts at 0 */
} units[REPORT_UNIT_COUNT_] = {
    [REPORT_UNIT_SECONDS] = {"s", scale_seconds},        [REPORT_UNIT_BYTES] = {"bytes", scale_bytes},
    [REPORT_UNIT_COUNT] = {"count", scale_count},        [REPORT_UNIT_FLOP] = {"flop", scale_flop},
    [REPORT_UNIT_GFLOP_PER_S] = {"GFLOP/s", scale_rate}, [REPORT_UNIT_PER_HOUR] = {"1/h", scale_hour},
    [REPORT_UNIT_FACTOR] = {"factor", scale_factor},     [REPORT_UNIT_RELATIVE] = {"relative", scale_count},
    [REPORT_UNIT_SHARE] = {"share", scale_share},        [REPORT_UNIT_DECIBEL] = {"dB", scale_decibel},
    [REPORT_UNIT_JOULES] = {"J", scale_joules},          [REPORT_UNIT_WATTS] = {"W", scale_watts},
};

const char *report_unit_name(report_unit unit)
{
    return units[unit].name;
}

report_scale report_scale_for(report_unit unit, double largest)
{
    const scale_step *step = units[unit].steps;
    while (step->from > 0 && !(fabs(largest) >= step->from)) step++;
    return step->scale;
}

void report_format_plain(double value, char out[REPORT_NUMBER_TEXT])
{
    bool long_number = fabs(value) >= 1000 && fabs(value) < 1e15;
    snprintf(out, REPORT_NUMBER_TEXT, long_number ? "%.0f" : "%.4g", value);
}

void report_format(report_unit unit, double value, char out[REPORT_NUMBER_TEXT])
{
    report_scale scale = report_scale_for(unit, value);
    char digits[REPORT_NUMBER_TEXT];
    report_format_plain(value * scale.factor, digits);
    if (unit == REPORT_UNIT_RELATIVE) snprintf(digits, sizeof digits, "%.2e", value);
    bool space = unit != REPORT_UNIT_FACTOR && unit != REPORT_UNIT_PER_HOUR && scale.symbol[0];
    if (value == 0)
        snprintf(out, REPORT_NUMBER_TEXT, "0");
    else
        snprintf(out, REPORT_NUMBER_TEXT, "%.30s%s%s", digits, space ? " " : "", scale.symbol);
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}
static bool continues_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

void report_append_html(dit_buffer *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': dit_buffer_text(out, "&amp;"); break;
        case '<': dit_buffer_text(out, "&lt;"); break;
        case '>': dit_buffer_text(out, "&gt;"); break;
        case '"': dit_buffer_text(out, "&quot;"); break;
        case '\'': dit_buffer_text(out, "&#39;"); break;
        case '\n':
        case '\t': dit_buffer_char(out, *text); break;
        default:
            if (is_control(*text))
                dit_buffer_text(out, "&#xfffd;");
            else
                dit_buffer_char(out, *text);
        }
    }
}

void report_append_csv(dit_buffer *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        dit_buffer_text(out, text);
        return;
    }
    dit_buffer_char(out, '"');
    for (; *text; text++) {
        if (*text == '"') dit_buffer_char(out, '"');
        dit_buffer_char(out, *text);
    }
    dit_buffer_char(out, '"');
}

void report_append_quoted(dit_buffer *out, const char *text)
{
    int characters = 0;
    dit_buffer_char(out, '\'');
    if (*text == '\'') dit_buffer_char(out, ' '); /* gnuplot 5.4 takes '\'\'\'x' for an empty string and a stray one */
    for (; *text; text++) {
        if (!continues_character(*text) && ++characters > TEXT_QUOTED_LIMIT) break;
        if (*text == '\'') dit_buffer_char(out, '\'');
        dit_buffer_char(out, is_control(*text) ? ' ' : *text);
    }
    if (*text) dit_buffer_text(out, "…");
    dit_buffer_char(out, '\'');
}

int report_text_length(const char *text)
{
    int length = 0;
    for (; *text; text++) length += !continues_character(*text);
    return length;
}

double report_text_width(const char *text, double font_px)
{
    return 0.62 * font_px * report_text_length(text);
}

char *report_copy(const char *text)
{
    return strdup(text ? text : "");
}

void report_hardware_words(const cJSON *hardware, int size, char *out)
{
    const char *gpu = dit_json_text_or(hardware, "gpu", ""), *cpu = dit_json_text_or(hardware, "cpu", "");
    snprintf(out, (size_t)size, "%s%s%s", gpu, *gpu && *cpu ? "; " : "", cpu);
}
