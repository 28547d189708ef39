/* Reads wrappers and charges them. */
#include "kernels/cost/wrapper.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTER = 256, LETTERS = 3 };
static const char letters[LETTERS + 1] = "EKL";
static const double MOST = 1e6;

static const char *const event_names[DIT_WRAPPER_EVENTS] = {
#define EVENT_NAME(name, key, text) key,
    DIT_WRAPPER_EVENT_LIST(EVENT_NAME)
#undef EVENT_NAME
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Adds {"E": 2, "L": 1}, each times `scale`, to `to`. */
static dit_status add_elements(const dit_json *doc, const cJSON *object, const char *pointer, double scale,
                               double to[LETTERS])
{
    const cJSON *item;
    if (!cJSON_IsObject(object)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "expected numbers of elements");
    cJSON_ArrayForEach(item, object)
    {
        const char *letter = item->string[0] && !item->string[1] ? strchr(letters, item->string[0]) : NULL;
        if (!letter) return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "'%s' is none of E, K and L", item->string);
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0 && item->valuedouble <= MOST))
            return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "'%s' is no number above 0", item->string);
        to[letter - letters] += scale * item->valuedouble;
    }
    return DIT_OK;
}

static dit_status add_side(const dit_json *doc, const cJSON *row, const char *pointer, const char *side,
                           dit_wrapper_row *out)
{
    static const char *const keys[] = {"own", "fp32", NULL};
    const cJSON *object = NULL, *own, *fp32;
    DIT_TRY(dit_json_optional_object(doc, row, pointer, side, &object));
    if (!object) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    own = dit_json_member(object, "own"), fp32 = dit_json_member(object, "fp32");
    if (own) DIT_TRY(add_elements(doc, own, pointer, 1, out->own));
    return fp32 ? add_elements(doc, fp32, pointer, sizeof(float), out->bytes) : DIT_OK;
}

static dit_status read_needs(const dit_json *doc, const cJSON *object, const char *pointer, dit_wrapper_need *out)
{
    static const char *const names[] = {[DIT_WRAPPER_ALWAYS] = "always",
                                        [DIT_WRAPPER_BATCH] = "batch",
                                        [DIT_WRAPPER_RANKS] = "ranks",
                                        [DIT_WRAPPER_ALONE] = "alone",
                                        [DIT_WRAPPER_EITHER] = "either"};
    const char *needs = names[DIT_WRAPPER_ALWAYS];
    DIT_TRY(dit_json_optional_string(doc, object, pointer, "needs", &needs));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *out = (dit_wrapper_need)i;
        if (strcmp(needs, names[i]) == 0) return DIT_OK;
    }
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                         "what is needed is 'always', 'batch', 'ranks', 'alone' or 'either', not '%s'", needs);
}

/* Strided copies, casts, and products with one factor for each row of a head. */
static bool computes_indices(const char *op)
{
    static const char *const ops[] = {"contiguous", "reshape", "to", "mul"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(op, ops[i]) == 0) return true;
    return false;
}

static dit_status read_row(const dit_json *doc, const cJSON *row, const char *pointer, dit_wrapper_row *out)
{
    static const char *const keys[] = {"op", "calls", "read", "write", "needs", NULL};
    const cJSON *written;
    const char *op;
    int64_t calls;
    if (!cJSON_IsObject(row)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_only_keys(doc, row, pointer, keys));
    DIT_TRY(dit_json_require_string(doc, row, pointer, "op", &op));
    DIT_TRY(dit_json_require_int(doc, row, pointer, "calls", 1, 1000, &calls));
    out->calls = (double)calls;
    DIT_TRY(add_side(doc, row, pointer, "read", out));
    DIT_TRY(add_side(doc, row, pointer, "write", out));
    if (computes_indices(op))
        cJSON_ArrayForEach(written, dit_json_member(row, "write"))
            DIT_TRY(add_elements(doc, written, pointer, 1, out->indexed));
    return read_needs(doc, row, pointer, &out->needs);
}

static dit_status read_part(const dit_json *doc, const cJSON *object, const char *pointer, dit_wrapper_part *out)
{
    static const char *const keys[] = {"views", "kernels", "needs", "at", NULL};
    const cJSON *list = NULL, *row;
    const char *at;
    char place[POINTER];
    int64_t views = 0;
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    DIT_TRY(dit_json_require_string(doc, object, pointer, "at", &at));
    DIT_TRY(dit_json_optional_int(doc, object, pointer, "views", 0, 1000, &views));
    DIT_TRY(dit_json_optional_array(doc, object, pointer, "kernels", &list));
    out->views = (double)views;
    DIT_TRY(read_needs(doc, object, pointer, &out->needs));
    cJSON_ArrayForEach(row, list)
    {
        snprintf(place, sizeof place, "%.200s/kernels/%d", pointer, out->count);
        if (out->count == DIT_WRAPPER_ROWS)
            return dit_json_fail(doc, place, DIT_ERR_JSON_VALUE, "more than %d operators", DIT_WRAPPER_ROWS);
        DIT_TRY(read_row(doc, row, place, &out->rows[out->count]));
        out->count++;
    }
    return DIT_OK;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static dit_status read_function(const dit_json *doc, const cJSON *object, const char *pointer, dit_wrapper *out)
{
    static const char *const keys[] = {"ring", "events", NULL};
    const char *names[DIT_WRAPPER_EVENTS + 1] = {0}, *ring;
    const cJSON *events;
    char at[POINTER];
    memcpy(names, event_names, sizeof event_names);
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    DIT_TRY(dit_json_require_string(doc, object, pointer, "ring", &ring));
    if (strcmp(ring, "messages") != 0 && strcmp(ring, "all-gather") != 0)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                             "keys go around a ring as 'messages' or in an 'all-gather', not as '%s'", ring);
    out->gathers = strcmp(ring, "all-gather") == 0;
    DIT_TRY(dit_json_require_object(doc, object, pointer, "events", &events));
    DIT_TRY(dit_json_only_keys(doc, events, pointer, names));
    for (int i = 0; i < DIT_WRAPPER_EVENTS; i++) {
        const cJSON *event = NULL;
        snprintf(at, sizeof at, "%.200s/events/%s", pointer, event_names[i]);
        DIT_TRY(dit_json_optional_object(doc, events, pointer, event_names[i], &event));
        if (event) DIT_TRY(read_part(doc, event, at, &out->parts[i]));
    }
    return DIT_OK;
}

static dit_status find_function(const dit_json *doc, const cJSON *functions, const char *name, dit_wrapper *out)
{
    const cJSON *object;
    char at[POINTER];
    snprintf(at, sizeof at, "/functions/%.200s", name);
    if (snprintf(out->name, sizeof out->name, "%s", name) >= (int)sizeof out->name)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "a name has at most %d bytes", DIT_COST_NAME - 1);
    DIT_TRY(dit_json_require_object(doc, functions, "/functions", name, &object));
    return read_function(doc, object, at, out);
}

static dit_status read_file(const dit_json *doc, const char *class_name, bool even_text, dit_wrappers *out)
{
    static const char *const keys[] = {"schema", "name", "title", "software", "functions", "classes", "source", NULL};
    static const char *const choices[] = {"self", "uneven_text", "cross", NULL};
    const cJSON *functions, *classes, *object = NULL;
    const char *self, *uneven = NULL, *cross = NULL;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.wrapper/1"));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "functions", &functions));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "classes", &classes));
    DIT_TRY(dit_json_optional_object(doc, classes, "/classes", class_name, &object));
    if (!object) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, object, "/classes", choices));
    DIT_TRY(dit_json_require_string(doc, object, "/classes", "self", &self));
    DIT_TRY(dit_json_optional_string(doc, object, "/classes", "uneven_text", &uneven));
    DIT_TRY(dit_json_optional_string(doc, object, "/classes", "cross", &cross));
    out->wraps = true, out->crosses = cross != NULL;
    if (cross) DIT_TRY(find_function(doc, functions, cross, &out->cross));
    return find_function(doc, functions, uneven && !even_text ? uneven : self, &out->self);
}

dit_status dit_wrappers_read(const char *path, const char *class_name, bool even_text, dit_wrappers *out)
{
    dit_json doc = {0};
    *out = (dit_wrappers){0};
    DIT_TRY(dit_json_read_file(path, &doc));
    dit_status st = read_file(&doc, class_name, even_text, out);
    dit_json_release(&doc);
    if (st != DIT_OK) *out = (dit_wrappers){0};
    return st;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static bool is_dispatched(dit_wrapper_need needs, const dit_wrapper_size *size)
{
    if (needs == DIT_WRAPPER_BATCH) return size->batch;
    if (needs == DIT_WRAPPER_RANKS) return size->ranks;
    if (needs == DIT_WRAPPER_ALONE) return !size->ranks;
    return needs == DIT_WRAPPER_ALWAYS || size->batch || size->ranks;
}

static double indexed_of(const dit_wrapper_row *row, const dit_wrapper_size *size)
{
    return row->indexed[0] * size->elements + row->indexed[1] * size->keys + row->indexed[2] * size->rows;
}

static double bytes_of(const dit_wrapper_row *row, const dit_cost_device *device, const dit_wrapper_size *size)
{
    const double of[LETTERS] = {size->elements, size->keys, size->rows};
    double bytes = 0;
    for (int i = 0; i < LETTERS; i++) bytes += of[i] * (row->own[i] * device->element_bytes + row->bytes[i]);
    return bytes;
}

dit_cost_time dit_wrapper_time(const dit_wrapper *wrapper, const dit_cost_device *device,
                               const dit_cost_profile *profile, dit_wrapper_event event, const dit_wrapper_size *size)
{
    const dit_wrapper_part *part = &wrapper->parts[event];
    dit_cost_time time = {0};
    if (!is_dispatched(part->needs, size)) return time;
    for (int i = 0; i < part->count; i++) {
        const dit_wrapper_row *row = &part->rows[i];
        if (!is_dispatched(row->needs, size)) continue;
        time.device_s +=
            row->calls * dit_cost_indexed_seconds(device, profile, bytes_of(row, device, size), indexed_of(row, size));
        time.kernels += row->calls;
    }
    double views_s = profile->rule.views_free ? 0 : part->views * profile->view_dispatch_s;
    time.host_s = time.kernels * dit_cost_dispatch_seconds(profile) + views_s;
    time.last_s = time.device_s;
    return time;
}
