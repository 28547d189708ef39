/* Files of held-out errors made up for tests: points on machines m0, m1, ..., each answering a question. */
#ifndef DIT_SUITE_TESTS_HELD_OUT_FIXTURE_H
#define DIT_SUITE_TESTS_HELD_OUT_FIXTURE_H

#include "base/tests/test.h"
#include "suite/confidence/held_out.h"

typedef struct {
    int machine, set, question;
    double seconds, outside, left_out; /* errors; NAN: none */
    const char *reach, *kind, *software;
    int devices;
} made_point;

enum { MADE_TEXT = 1 << 20 };

static const char made_head[] =
    "{\"schema\":\"ditbench.holdout/3\",\"plan\":{\"name\":\"p\",\"hash\":\"h\"},\"files\":[],"
    "\"points\":[";

static inline void made_put(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(text + used, MADE_TEXT - used, format, arguments);
    va_end(arguments);
    assert_true(more >= 0 && used + (size_t)more < MADE_TEXT);
}

static inline void made_points(char *text, const made_point *points, int count)
{
    for (int i = 0; i < count; i++) {
        const made_point *p = &points[i];
        made_put(text,
                 "%s{\"file\":\"f\",\"index\":%d,\"machine\":\"m%d\",\"model\":\"x\",\"devices\":%d,\"tokens\":4096,"
                 "\"parameters\":1000,\"mesh\":\"u\",\"reach\":\"%s\",\"kind\":\"%s\",\"software\":\"%s\",\"set\":%d,"
                 "\"question\":%d,\"seconds\":%.17g}",
                 i ? "," : "", i, p->machine, p->devices ? p->devices : 1, p->reach ? p->reach : "one node",
                 p->kind ? p->kind : "exact", p->software ? p->software : "eager", p->set, p->question,
                 p->seconds > 0 ? p->seconds : 1);
    }
}

static inline void made_group(char *text, const made_point *points, int count, int machine)
{
    bool any = false;
    made_put(text, "{\"name\":\"m%d\",\"points\":0,\"median_error\":0,\"p90_error\":0,\"errors\":[", machine);
    for (int i = 0; i < count; i++) {
        if (points[i].machine != machine || isnan(points[i].left_out)) continue;
        made_put(text, "%s{\"point\":%d,\"error\":%.17g}", any ? "," : "", i, points[i].left_out);
        any = true;
    }
    made_put(text, "]}");
}

/* Writes the document into text[MADE_TEXT]. */
static inline void made_write(char *text, const made_point *points, int count, int machines)
{
    bool any = false;
    snprintf(text, MADE_TEXT, "%s", made_head);
    made_points(text, points, count);
    made_put(text, "],\n\"outside\":{\"points\":0,\"median_error\":0,\"p90_error\":0,\"errors\":[");
    for (int i = 0; i < count; i++) {
        if (isnan(points[i].outside)) continue;
        made_put(text, "%s{\"point\":%d,\"error\":%.17g}", any ? "," : "", i, points[i].outside);
        any = true;
    }
    made_put(text,
             "]},\n\"held_out\":[{\"by\":\"machine\",\"points\":0,\"median_error\":0,\"p90_error\":0,\"groups\":[");
    for (int m = 0; m < machines; m++) {
        if (m) made_put(text, ",");
        made_group(text, points, count, m);
    }
    made_put(text, "]}]}");
}

static inline suite_held_out made_held_out(const made_point *points, int count, int machines)
{
    suite_held_out held;
    char *text = calloc(1, MADE_TEXT);
    assert_non_null(text);
    made_write(text, points, count, machines);
    assert_ok(suite_held_out_parse(text, strlen(text), "made", &held));
    free(text);
    return held;
}

#endif
