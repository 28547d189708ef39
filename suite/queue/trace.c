#include "suite/queue/trace.h"

#include "base/file.h"
#include "base/list.h"
#include "base/words.h"
#include "suite/prices/csv.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REQUESTS = 4000000, MOST_BYTES = 256 << 20 };
static const double latest = 1e12; /* seconds */

static dit_status fail_at(const suite_csv *csv, const suite_csv_record *record, const char *what, const char *word)
{
    return DIT_FAIL(DIT_ERR_USAGE, "%s:%d: %s: \"%.60s\"", csv->path, record->line, what, word);
}

static dit_status grow(suite_trace *out)
{
    DIT_TRY(dit_list_grow((void **)&out->seconds, out->count, sizeof *out->seconds));
    return dit_list_grow((void **)&out->classes, out->count, sizeof *out->classes);
}

static bool read_second(const char *text, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return end != text && !*end && !errno && *out >= 0 && *out <= latest;
}

static dit_status add(const suite_csv *csv, const suite_csv_record *record, const char *const *names, suite_trace *out)
{
    double second;
    if (record->count != 2) return fail_at(csv, record, "a line is a second and a class", record->field[0]);
    if (!read_second(record->field[0], &second)) return fail_at(csv, record, "this is no second", record->field[0]);
    if (out->count && second < out->seconds[out->count - 1])
        return fail_at(csv, record, "requests are in order of time", record->field[0]);
    int class_index = dit_words_find(names, record->field[1]);
    if (class_index < 0)
        return dit_words_hint(fail_at(csv, record, "no class has this name", record->field[1]), record->field[1],
                              names);
    out->seconds[out->count] = second;
    out->classes[out->count++] = class_index;
    return DIT_OK;
}

static bool is_head(const suite_csv_record *record)
{
    return record->count == 2 && strcmp(record->field[0], "second") == 0 && strcmp(record->field[1], "class") == 0;
}

static dit_status read_records(suite_csv *csv, const char *const *names, suite_trace *out)
{
    suite_csv_record record = {.count = 0};
    bool more = false;
    DIT_TRY(suite_csv_next(csv, &record, &more));
    if (!more || !is_head(&record))
        return DIT_FAIL(DIT_ERR_USAGE, "%s:1: a trace begins with the line \"second,class\"", csv->path);
    for (;;) {
        DIT_TRY(suite_csv_next(csv, &record, &more));
        if (!more) break;
        if (out->count == MOST_REQUESTS)
            return DIT_FAIL(DIT_ERR_USAGE, "%s:%d: more than %d requests", csv->path, record.line, MOST_REQUESTS);
        DIT_TRY(grow(out));
        DIT_TRY(add(csv, &record, names, out));
    }
    return out->count ? DIT_OK : DIT_FAIL(DIT_ERR_USAGE, "%s: a trace without requests", csv->path);
}

dit_status suite_trace_parse(const char *text, size_t length, const char *path, const char *const *names,
                             suite_trace *out)
{
    suite_csv csv = {0};
    *out = (suite_trace){0};
    DIT_TRY(suite_csv_open(&csv, text, length, path));
    dit_status st = read_records(&csv, names, out);
    suite_csv_release(&csv);
    if (st != DIT_OK) suite_trace_release(out);
    return st;
}

dit_status suite_trace_read(const char *path, const char *const *names, suite_trace *out)
{
    char *text;
    size_t length;
    *out = (suite_trace){0};
    DIT_TRY(dit_file_read(path, MOST_BYTES, &text, &length));
    dit_status st = suite_trace_parse(text, length, path, names, out);
    free(text);
    return st;
}

void suite_trace_release(suite_trace *trace)
{
    free(trace->seconds);
    free(trace->classes);
    *trace = (suite_trace){0};
}

double suite_trace_rate(const suite_trace *trace)
{
    double seconds = trace->count ? trace->seconds[trace->count - 1] - trace->seconds[0] : 0;
    double rate = seconds > 0 ? (trace->count - 1) / seconds : 0;
    return isfinite(rate) ? rate : 0;
}
