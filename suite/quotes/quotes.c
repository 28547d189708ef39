#include "suite/quotes/quotes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char opening[] = "<!-- ditbench:", closing[] = "<!-- / -->";

bool suite_quote_is_stale(const suite_quote *quote)
{
    return quote->status == DIT_OK && strcmp(quote->said, quote->is) != 0;
}

void suite_quotes_release(suite_quotes *quotes)
{
    free(quotes->rows);
    *quotes = (suite_quotes){0};
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *symbol;
    report_unit unit;
    double factor;
} unit_list[] = {{"s", REPORT_UNIT_SECONDS, 1},
                 {"ms", REPORT_UNIT_SECONDS, 1e3},
                 {"us", REPORT_UNIT_SECONDS, 1e6},
                 {"\302\265s", REPORT_UNIT_SECONDS, 1e6},
                 {"min", REPORT_UNIT_SECONDS, 1.0 / 60},
                 {"B", REPORT_UNIT_BYTES, 1},
                 {"bytes", REPORT_UNIT_BYTES, 1},
                 {"kB", REPORT_UNIT_BYTES, 1e-3},
                 {"MB", REPORT_UNIT_BYTES, 1e-6},
                 {"GB", REPORT_UNIT_BYTES, 1e-9},
                 {"TB", REPORT_UNIT_BYTES, 1e-12},
                 {"x", REPORT_UNIT_FACTOR, 1},
                 {"\303\227", REPORT_UNIT_FACTOR, 1},
                 {"%", REPORT_UNIT_FACTOR, 100},
                 {"%", REPORT_UNIT_RELATIVE, 100},
                 {"dB", REPORT_UNIT_DECIBEL, 1},
                 {"GFLOP/s", REPORT_UNIT_GFLOP_PER_S, 1},
                 {"GFLOP", REPORT_UNIT_FLOP, 1e-9},
                 {"TFLOP", REPORT_UNIT_FLOP, 1e-12},
                 {"/h", REPORT_UNIT_PER_HOUR, 1},
                 {"J", REPORT_UNIT_JOULES, 1},
                 {"kJ", REPORT_UNIT_JOULES, 1e-3},
                 {"W", REPORT_UNIT_WATTS, 1},
                 {"kW", REPORT_UNIT_WATTS, 1e-3}};

static bool find_factor(const char *symbol, report_unit unit, double *out)
{
    *out = 1;
    if (!*symbol) return true;
    for (size_t i = 0; i < sizeof unit_list / sizeof *unit_list; i++)
        if (unit_list[i].unit == unit && strcmp(unit_list[i].symbol, symbol) == 0)
            return *out = unit_list[i].factor, true;
    return false;
}

dit_status suite_quote_format(const char *format, report_unit unit, double value, char out[128])
{
    double factor;
    char number[REPORT_NUMBER_TEXT];
    if (!*format) return report_format(unit, value, number), snprintf(out, 128, "%s", number), DIT_OK;
    size_t decimals = format[0] == '0' && format[1] == '.' ? strspn(format + 2, "0") : 0;
    const char *rest = format + (decimals ? 2 + decimals : 1);
    if (format[0] != '0' || rest[0] == '.' || decimals > 12)
        return DIT_FAIL(DIT_ERR_USAGE, "\"%s\" is no format such as \"0.00 ms\" or \"0 MB\"", format);
    if (!find_factor(rest + (*rest == ' '), unit, &factor))
        return DIT_FAIL(DIT_ERR_USAGE, "the metric has the unit %s, and not \"%s\"", report_unit_name(unit),
                        rest + (*rest == ' '));
    snprintf(out, 128, "%.*f%.40s", (int)decimals, value * factor, rest);
    return DIT_OK;
}

/* ---- one quote --------------------------------------------------------------------------------------------------- */

static void copy_trimmed(const char *from, size_t length, char *out, size_t size)
{
    while (length && (*from == ' ' || *from == '\n')) from++, length--;
    while (length && (from[length - 1] == ' ' || from[length - 1] == '\n')) length--;
    snprintf(out, size, "%.*s", (int)length, from);
}

/* "SOURCE; CASE; METRIC; FORMAT" */
static dit_status read_fields(const char *text, size_t length, suite_quote *out)
{
    const struct {
        char *to;
        size_t size;
    } fields[] = {{out->source, sizeof out->source},
                  {out->kase, sizeof out->kase},
                  {out->metric, sizeof out->metric},
                  {out->format, sizeof out->format}};
    int count = 0;
    for (const char *end = text + length; count < 4 && text <= end; count++) {
        const char *stop = memchr(text, ';', (size_t)(end - text));
        if (!stop || count == 3) stop = end;
        copy_trimmed(text, (size_t)(stop - text), fields[count].to, fields[count].size);
        text = stop + 1;
    }
    return count >= 3 ? DIT_OK : DIT_FAIL(DIT_ERR_USAGE, "a quote needs SOURCE; CASE; METRIC, and may have a FORMAT");
}

static dit_status look_up(suite_quoted_sources *sources, suite_quote *quote)
{
    report_metric metric;
    double value;
    if (!report_metric_from_name(quote->metric, &metric))
        return DIT_FAIL(DIT_ERR_USAGE, "there is no metric \"%s\"", quote->metric);
    DIT_TRY(suite_quoted_value(sources, quote->source, quote->kase, metric, &value));
    return suite_quote_format(quote->format, report_metric_get(metric)->unit, value, quote->is);
}

static dit_status add_quote(suite_quotes *list, suite_quote **out)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity * 2 + 16;
        suite_quote *grown = realloc(list->rows, (size_t)capacity * sizeof *grown);
        if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the numbers of a page");
        list->rows = grown;
        list->capacity = capacity;
    }
    *out = &list->rows[list->count++];
    **out = (suite_quote){0};
    return DIT_OK;
}

static void fail_quote(suite_quote *quote, dit_status status)
{
    quote->status = status;
    snprintf(quote->message, sizeof quote->message, "%s", dit_error_last()->message);
    dit_error_clear();
}

/* ---- a page ------------------------------------------------------------------------------------------------------ */

/* Where the page stands, and whether it is inside code. */
typedef struct {
    const char *at;
    int line;
    bool fenced, code;
} page_reader;

static void step(page_reader *r, dit_buffer *page)
{
    bool begins = r->at[0] == '`' && strncmp(r->at, "```", 3) == 0;
    if (begins) {
        r->fenced = !r->fenced;
        dit_buffer_text(page, "```");
        r->at += 3;
        return;
    }
    if (*r->at == '`' && !r->fenced) r->code = !r->code;
    if (*r->at == '\n') r->line++, r->code = false;
    dit_buffer_char(page, *r->at++);
}

/* A quote from its opening to its closing comment. */
static dit_status take_quote(page_reader *r, suite_quoted_sources *sources, suite_quotes *out, dit_buffer *page)
{
    const char *fields = r->at + sizeof opening - 1, *shut = strstr(fields, "-->"), *text = shut ? shut + 3 : NULL;
    const char *end = text ? strstr(text, closing) : NULL, *stop;
    suite_quote *quote = NULL;
    DIT_TRY(add_quote(out, &quote));
    quote->line = r->line;
    dit_status st = end ? read_fields(fields, (size_t)(shut - fields), quote)
                        : DIT_FAIL(DIT_ERR_USAGE, "the quote does not end with %s", closing);
    if (end) snprintf(quote->said, sizeof quote->said, "%.*s", (int)(end - text), text);
    if (st == DIT_OK) st = look_up(sources, quote);
    if (st == DIT_ERR_MEMORY) return st;
    if (st != DIT_OK) fail_quote(quote, st);
    if (st == DIT_OK) {
        dit_buffer_append(page, r->at, (size_t)(text - r->at));
        dit_buffer_text(page, quote->is);
        stop = end;
    } else {
        stop = end ? end : fields;
        dit_buffer_append(page, r->at, (size_t)(stop - r->at));
    }
    for (; r->at < stop; r->at++) r->line += *r->at == '\n';
    return DIT_OK;
}

dit_status suite_quotes_check(const char *text, suite_quoted_sources *sources, suite_quotes *out, dit_buffer *page)
{
    page_reader reader = {.at = text, .line = 1};
    *out = (suite_quotes){0};
    dit_status st = DIT_OK;
    while (st == DIT_OK && *reader.at) {
        bool begins = !reader.fenced && !reader.code && strncmp(reader.at, opening, sizeof opening - 1) == 0;
        if (begins)
            st = take_quote(&reader, sources, out, page);
        else
            step(&reader, page);
    }
    dit_buffer_text(page, "");
    if (st == DIT_OK && page->failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a page");
    if (st != DIT_OK) suite_quotes_release(out);
    return st;
}
