#include "suite/confidence/held_out.h"

#include "base/json_scan.h"
#include "base/words.h"
#include "suite/calibrate/holdout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 1 << 20, POINTER = 256 };
#define MOST_ERROR 20.0 /* nobody's prediction is off by a factor of e^20 */

static const char schema[] = "ditbench.holdout/3";

/* Where in the document something is read, for messages. */
typedef struct {
    const dit_json *doc;
    const cJSON *object;
    char pointer[POINTER];
} place;

static place element(const dit_json *doc, const char *list, int index, const cJSON *object)
{
    place at = {doc, object, ""};
    snprintf(at.pointer, sizeof at.pointer, "%.200s/%d", list, index);
    return at;
}

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for held-out errors");
}

/* Checks that an element is an object with these keys and no others. */
static dit_status check_keys(const place *at, const char *const *keys)
{
    if (!cJSON_IsObject(at->object)) return dit_json_fail(at->doc, at->pointer, DIT_ERR_JSON_TYPE, "must be an object");
    return dit_json_only_keys(at->doc, at->object, at->pointer, keys);
}

static dit_status read_int(const place *at, const char *key, int64_t least, int64_t most, int64_t *out)
{
    return dit_json_require_int(at->doc, at->object, at->pointer, key, least, most, out);
}

static dit_status read_number(const place *at, const char *key, double least, double most, double *out)
{
    return dit_json_require_number(at->doc, at->object, at->pointer, key, least, most, out);
}

static dit_status read_text(const place *at, const char *key, const char **out)
{
    return dit_json_require_string(at->doc, at->object, at->pointer, key, out);
}

static dit_status read_word(const place *at, const char *key, const char *const *words, int *out)
{
    const char *word;
    char below[POINTER];
    DIT_TRY(read_text(at, key, &word));
    *out = dit_words_find(words, word);
    dit_json_pointer_join(below, sizeof below, at->pointer, key);
    return *out >= 0 ? DIT_OK : dit_json_fail_word(at->doc, below, key, word, words);
}

/* ---- points -------------------------------------------------------------------------------------------------------- */

static int machine_number(suite_held_out *out, const char *name)
{
    for (int i = 0; i < out->machine_count; i++)
        if (strcmp(out->machines[i], name) == 0) return i;
    out->machines[out->machine_count] = name;
    return out->machine_count++;
}

/* `most`: numbers of sets and questions are those of points. */
static dit_status read_point(const place *at, suite_held_out *out, int64_t most, suite_held_point *point)
{
    static const char *const keys[] = {"file",     "index",      "machine",  "model",   "devices",
                                       "tokens",   "parameters", "mesh",     "reach",   "kind",
                                       "software", "set",        "question", "seconds", NULL};
    const char *machine;
    int64_t index, set, question;
    DIT_TRY(check_keys(at, keys));
    DIT_TRY(read_text(at, "file", &point->file));
    DIT_TRY(read_text(at, "machine", &machine));
    DIT_TRY(read_text(at, "model", &point->model));
    DIT_TRY(read_text(at, "mesh", &point->mesh));
    DIT_TRY(read_int(at, "index", 0, INT32_MAX, &index));
    DIT_TRY(read_int(at, "set", 0, most, &set));
    DIT_TRY(read_int(at, "question", 0, most, &question));
    DIT_TRY(read_int(at, "devices", 1, MOST_POINTS, &point->devices));
    DIT_TRY(read_int(at, "tokens", 1, DIT_JSON_MAX_INTEGER, &point->tokens));
    DIT_TRY(read_int(at, "parameters", 0, DIT_JSON_MAX_INTEGER, &point->parameters));
    DIT_TRY(read_number(at, "seconds", 1e-12, 1e12, &point->seconds));
    DIT_TRY(read_word(at, "reach", suite_error_reach_names(), &point->kind_of.reach));
    DIT_TRY(read_word(at, "kind", suite_error_kind_names(), &point->kind_of.kind));
    DIT_TRY(read_word(at, "software", suite_error_software_names(), &point->kind_of.software));
    point->index = (int)index;
    point->set = (int)set;
    point->question = (int)question;
    point->machine = machine_number(out, machine);
    return DIT_OK;
}

static bool same_family(const suite_held_point *a, const suite_held_point *b)
{
    return a->question == b->question && a->devices == b->devices && a->kind_of.software == b->kind_of.software &&
           strcmp(a->mesh, b->mesh) == 0;
}

/* A family has the number of its first point. */
static void number_families(suite_held_out *out)
{
    for (int i = 0; i < out->point_count; i++) {
        int first = 0;
        while (!same_family(&out->points[first], &out->points[i])) first++;
        out->points[i].family = first;
    }
}

static dit_status require_array(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                const cJSON **out)
{
    *out = NULL;
    DIT_TRY(dit_json_optional_array(doc, object, pointer, key, out));
    if (*out) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "required key \"%s\" is absent", key);
}

static dit_status read_points(suite_held_out *out)
{
    const dit_json *doc = &out->source;
    const cJSON *list, *one;
    DIT_TRY(require_array(doc, doc->root, "", "points", &list));
    size_t count = (size_t)cJSON_GetArraySize(list);
    if (count > MOST_POINTS) return dit_json_fail(doc, "/points", DIT_ERR_JSON_VALUE, "more than %d", MOST_POINTS);
    out->points = calloc(count + 1, sizeof *out->points);
    out->machines = calloc(count + 1, sizeof *out->machines);
    out->is_fitted = calloc(count + 1, sizeof *out->is_fitted);
    if (!out->points || !out->machines || !out->is_fitted) return fail_memory();
    cJSON_ArrayForEach(one, list)
    {
        place at = element(doc, "/points", out->point_count, one);
        DIT_TRY(read_point(&at, out, (int64_t)count - 1, &out->points[out->point_count]));
        out->point_count++;
    }
    number_families(out);
    return DIT_OK;
}

/* ---- errors -------------------------------------------------------------------------------------------------------- */

/* `seen` [point_count]: a point has one error of a kind. */
static dit_status read_error(const place *at, const suite_held_out *held, bool *seen, suite_held_error *out)
{
    static const char *const keys[] = {"point", "error", NULL};
    int64_t point;
    DIT_TRY(check_keys(at, keys));
    DIT_TRY(read_int(at, "point", 0, (int64_t)held->point_count - 1, &point));
    DIT_TRY(read_number(at, "error", -MOST_ERROR, MOST_ERROR, &out->error));
    if (seen[point])
        return dit_json_fail(at->doc, at->pointer, DIT_ERR_JSON_VALUE, "point %d has two errors", (int)point);
    seen[point] = true;
    out->point = (int)point;
    return DIT_OK;
}

static dit_status read_errors(const suite_held_out *held, const place *at, bool *seen, suite_held_error *errors,
                              int *count)
{
    const cJSON *list, *one;
    char below[POINTER];
    int index = 0;
    DIT_TRY(require_array(at->doc, at->object, at->pointer, "errors", &list));
    dit_json_pointer_join(below, sizeof below, at->pointer, "errors");
    cJSON_ArrayForEach(one, list)
    {
        place here = element(at->doc, below, index++, one);
        DIT_TRY(read_error(&here, held, seen, &errors[*count]));
        ++*count;
    }
    return DIT_OK;
}

/* Every point of a machine that was left out is of that machine. */
static dit_status read_group(suite_held_out *out, const place *at, bool *seen)
{
    static const char *const keys[] = {"name", "points", "median_error", "p90_error", "errors", NULL};
    const char *name;
    int first = out->left_out_count;
    DIT_TRY(check_keys(at, keys));
    DIT_TRY(read_text(at, "name", &name));
    DIT_TRY(read_errors(out, at, seen, out->left_out, &out->left_out_count));
    for (int i = first; i < out->left_out_count; i++) {
        int machine = out->points[out->left_out[i].point].machine;
        if (strcmp(out->machines[machine], name) != 0)
            return dit_json_fail(at->doc, at->pointer, DIT_ERR_JSON_VALUE, "point %d is of %s", out->left_out[i].point,
                                 out->machines[machine]);
        out->is_fitted[machine] = true;
    }
    return DIT_OK;
}

static dit_status read_machines(suite_held_out *out, const cJSON *kind, int index, bool *seen)
{
    const cJSON *groups, *one;
    char pointer[POINTER], below[POINTER];
    int count = 0;
    snprintf(pointer, sizeof pointer, "/held_out/%d", index);
    DIT_TRY(require_array(&out->source, kind, pointer, "groups", &groups));
    dit_json_pointer_join(below, sizeof below, pointer, "groups");
    cJSON_ArrayForEach(one, groups)
    {
        place at = element(&out->source, below, count++, one);
        DIT_TRY(read_group(out, &at, seen));
    }
    return DIT_OK;
}

static dit_status read_left_out(suite_held_out *out, bool *seen)
{
    const cJSON *list, *kind;
    int index = 0;
    bool found = false;
    DIT_TRY(require_array(&out->source, out->source.root, "", "held_out", &list));
    cJSON_ArrayForEach(kind, list)
    {
        bool by_machine = strcmp(dit_json_text_or(kind, "by", ""), "machine") == 0;
        if (by_machine) DIT_TRY(read_machines(out, kind, index, seen));
        found = found || by_machine;
        index++;
    }
    if (found) return DIT_OK;
    return dit_error_hint(
        dit_json_fail(&out->source, "/held_out", DIT_ERR_JSON_MISSING, "no machine was left out of the fit"),
        "`ditbench calibrate --from published --holdout` leaves out machines and models");
}

/* A point outside the fit whose machine the fit knows none of either was predicted as a machine that is left out. */
static void move_unknown_machines(suite_held_out *out)
{
    int kept = 0;
    for (int i = 0; i < out->outside_count; i++) {
        if (out->is_fitted[out->points[out->outside[i].point].machine])
            out->outside[kept++] = out->outside[i];
        else
            out->left_out[out->left_out_count++] = out->outside[i];
    }
    out->outside_count = kept;
}

static dit_status read_all_errors(suite_held_out *out, bool *seen)
{
    static const char *const keys[] = {"points", "median_error", "p90_error", "errors", NULL};
    place at = {&out->source, NULL, "/outside"};
    DIT_TRY(dit_json_require_object(&out->source, out->source.root, "", "outside", &at.object));
    DIT_TRY(check_keys(&at, keys));
    DIT_TRY(read_errors(out, &at, seen, out->outside, &out->outside_count));
    memset(seen, 0, (size_t)out->point_count * sizeof *seen);
    DIT_TRY(read_left_out(out, seen));
    move_unknown_machines(out);
    return DIT_OK;
}

static dit_status read_document(suite_held_out *out)
{
    static const char *const keys[] = {"schema", "plan", "files", "points", "outside", "held_out", NULL};
    const dit_json *doc = &out->source;
    const cJSON *plan;
    DIT_TRY(dit_json_require_schema(doc, schema));
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "plan", &plan));
    DIT_TRY(dit_json_require_string(doc, plan, "/plan", "hash", &out->plan_hash));
    DIT_TRY(read_points(out));
    size_t room = 2 * (size_t)out->point_count + 1;
    bool *seen = calloc(room, sizeof *seen);
    out->outside = calloc(room, sizeof *out->outside);
    out->left_out = calloc(room, sizeof *out->left_out);
    dit_status st = seen && out->outside && out->left_out ? read_all_errors(out, seen) : fail_memory();
    free(seen);
    return st;
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

static dit_status take(suite_held_out *out)
{
    dit_hash(out->source.text, out->source.length, out->hash);
    dit_status st = read_document(out);
    if (st != DIT_OK) suite_held_out_release(out);
    return st;
}

dit_status suite_held_out_parse(const char *text, size_t length, const char *path, suite_held_out *out)
{
    *out = (suite_held_out){0};
    DIT_TRY(dit_json_parse(text, length, path, &out->source));
    return take(out);
}

static dit_status default_path(char out[SUITE_PATH])
{
    char calibration[SUITE_PATH];
    DIT_TRY(suite_calibration_default(calibration));
    return suite_holdout_path(calibration, out);
}

dit_status suite_held_out_read(const char *path, suite_held_out *out)
{
    char found[SUITE_PATH];
    *out = (suite_held_out){0};
    if (!path) DIT_TRY(default_path(found));
    DIT_TRY(dit_json_read_file(path ? path : found, &out->source));
    return take(out);
}

void suite_held_out_release(suite_held_out *held)
{
    free(held->machines);
    free(held->is_fitted);
    free(held->points);
    free(held->outside);
    free(held->left_out);
    dit_json_release(&held->source);
    *held = (suite_held_out){0};
}

bool suite_held_out_is_fitted(const suite_held_out *held, const char *accelerator)
{
    for (int i = 0; i < held->machine_count; i++)
        if (strcmp(held->machines[i], accelerator) == 0) return held->is_fitted[i];
    return false;
}

int suite_held_out_group(const suite_held_out *held, bool fitted, int point)
{
    return fitted ? held->points[point].set : held->points[point].machine;
}
