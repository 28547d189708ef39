#include "reports/records/timeline.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double timeline_most_us = 1e12; /* eleven days: keeps hostile sums finite */
static const size_t timeline_limit = (size_t)64 << 20;

/* One event being read. */
typedef struct {
    const dit_json *doc;
    const cJSON *event, *args;
    char pointer[48];
    const char *kind, *category, *name;
    int64_t rank;
    double ts;
} event_reader;

static dit_status read_event(event_reader *r)
{
    r->kind = r->category = r->name = "";
    r->args = NULL;
    if (!cJSON_IsObject(r->event)) return dit_json_fail(r->doc, r->pointer, DIT_ERR_JSON_TYPE, "an event is an object");
    DIT_TRY(dit_json_require_string(r->doc, r->event, r->pointer, "ph", &r->kind));
    DIT_TRY(dit_json_optional_string(r->doc, r->event, r->pointer, "cat", &r->category));
    DIT_TRY(dit_json_optional_string(r->doc, r->event, r->pointer, "name", &r->name));
    DIT_TRY(dit_json_require_int(r->doc, r->event, r->pointer, "pid", 0, TIMELINE_RANKS - 1, &r->rank));
    DIT_TRY(dit_json_optional_number(r->doc, r->event, r->pointer, "ts", -timeline_most_us, timeline_most_us, &r->ts));
    return dit_json_optional_object(r->doc, r->event, r->pointer, "args", &r->args);
}

static bool class_of(const event_reader *r, timeline_class *out)
{
    bool compute = strcmp(r->category, "compute") == 0;
    if (compute && strcmp(r->name, "linear") == 0) return *out = TIMELINE_LINEAR, true;
    if (compute && strcmp(r->name, "attention") == 0) return *out = TIMELINE_ATTENTION, true;
    if (compute) return *out = TIMELINE_OPERATOR, true;
    if (strcmp(r->category, "wait") == 0) return *out = TIMELINE_WAIT, true;
    if (strcmp(r->category, "communication") == 0) return *out = TIMELINE_TRANSFER, true;
    if (strcmp(r->category, "layer") == 0) return *out = TIMELINE_LAYER, true;
    return false;
}

static dit_status place_event(const event_reader *r, timeline_span *span)
{
    int64_t step = -1, patch = -1, layer = -1;
    if (r->args) {
        DIT_TRY(dit_json_optional_int(r->doc, r->args, r->pointer, "step", 0, TIMELINE_STEPS - 1, &step));
        DIT_TRY(dit_json_optional_int(r->doc, r->args, r->pointer, "patch", 0, TIMELINE_PATCHES - 1, &patch));
        DIT_TRY(dit_json_optional_int(r->doc, r->args, r->pointer, "layer", 0, 1 << 20, &layer));
    }
    span->begin = span->end = r->ts * 1e-6;
    span->rank = (int)r->rank;
    span->step = (int)step;
    span->patch = (int)patch;
    span->layer = (int)layer;
    return DIT_OK;
}

static void widen(timeline *t, const timeline_span *span)
{
    if (t->count == 1 || span->begin < t->begin) t->begin = span->begin;
    if (t->count == 1 || span->end > t->end) t->end = span->end;
    if (span->rank >= t->ranks) t->ranks = span->rank + 1;
    if (span->step >= t->steps) t->steps = span->step + 1;
    if (span->patch >= t->patches) t->patches = span->patch + 1;
}

/* A whole event ("X"), or the begin ("b") of a transfer whose end ("e") comes next. */
static dit_status take_event(event_reader *r, timeline *t, bool *open)
{
    double duration = 0;
    timeline_span *span = &t->spans[t->count];
    DIT_TRY(read_event(r));
    if (strcmp(r->kind, "e") == 0) {
        if (!*open || t->spans[t->count - 1].rank != r->rank || r->ts * 1e-6 < t->spans[t->count - 1].begin)
            return dit_json_fail(r->doc, r->pointer, DIT_ERR_JSON_VALUE, "this transfer ends, but it did not begin");
        t->spans[t->count - 1].end = r->ts * 1e-6;
        widen(t, &t->spans[t->count - 1]);
        *open = false;
        return DIT_OK;
    }
    if (*open) return dit_json_fail(r->doc, r->pointer, DIT_ERR_JSON_VALUE, "the transfer before it has no end");
    bool whole = strcmp(r->kind, "X") == 0, begins = strcmp(r->kind, "b") == 0;
    if ((!whole && !begins) || !class_of(r, &span->class)) return DIT_OK;
    DIT_TRY(dit_json_optional_number(r->doc, r->event, r->pointer, "dur", 0, timeline_most_us, &duration));
    DIT_TRY(place_event(r, span));
    span->end += duration * 1e-6;
    t->count++;
    if (whole) widen(t, span);
    *open = begins;
    return DIT_OK;
}

static dit_status take_events(const dit_json *doc, timeline *t)
{
    const cJSON *events = NULL;
    bool open = false;
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "traceEvents", &events));
    t->spans = calloc((size_t)cJSON_GetArraySize(events) + 1, sizeof *t->spans);
    if (!t->spans) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a timeline");
    event_reader r = {.doc = doc};
    cJSON_ArrayForEach(r.event, events)
    {
        snprintf(r.pointer, sizeof r.pointer, "/traceEvents/%d", index++);
        DIT_TRY(take_event(&r, t, &open));
    }
    if (open || t->count == 0)
        return dit_json_fail(doc, "/traceEvents", DIT_ERR_JSON_VALUE,
                             open ? "the last transfer has no end" : "no events");
    return DIT_OK;
}

static dit_status check_digest(const char *path, const char *text, size_t length, const char *digest)
{
    char hash[DIT_HASH_HEX];
    dit_hash(text, length, hash);
    if (strncmp(digest, "xxh3:", 5) == 0 && strcmp(digest + 5, hash) == 0) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_INTEGRITY, "%.400s: its digest is xxh3:%s, but the record says %.40s", path, hash, digest),
        "the file is not the one that the case wrote: run the case again");
}

dit_status timeline_read(const char *path, const char *digest, timeline *out)
{
    char *text = NULL;
    size_t length = 0;
    dit_json doc = {0};
    *out = (timeline){0};
    DIT_TRY(dit_file_read(path, timeline_limit, &text, &length));
    dit_status st = check_digest(path, text, length, digest);
    if (st == DIT_OK) st = dit_json_parse(text, length, path, &doc);
    if (st == DIT_OK) st = take_events(&doc, out);
    if (st != DIT_OK) timeline_release(out);
    dit_json_release(&doc);
    free(text);
    return st;
}

void timeline_release(timeline *t)
{
    free(t->spans);
    *t = (timeline){0};
}

double timeline_step_begin(const timeline *t, int step)
{
    for (int i = 0; i < t->count; i++)
        if (t->spans[i].rank == 0 && t->spans[i].step == step && t->spans[i].class <= TIMELINE_OPERATOR)
            return t->spans[i].begin;
    return NAN;
}

double timeline_step_end(const timeline *t, int step)
{
    double end = NAN;
    for (int i = 0; i < t->count; i++)
        if (t->spans[i].step == step && !(t->spans[i].end <= end)) end = t->spans[i].end;
    return end;
}
