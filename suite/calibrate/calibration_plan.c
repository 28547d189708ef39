#include "suite/calibrate/calibration_plan.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/words.h"
#include "suite/catalogue/parameter.h"
#include "suite/paths.h"
#include "suite/published/contradictions.h"
#include "suite/simulate/point_variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plan being read. */
typedef struct {
    const dit_json *doc;
    suite_calibration_plan *plan;
    suite_planned_stage *stage;
} plan_reader;

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Bounds of a value: its own, else those that the plan has for all values of its key. */
static dit_status read_bounds(const plan_reader *reader, const cJSON *object, const char *pointer,
                              suite_planned_value *out)
{
    const char *key = suite_calibrated_key_name(out->what.key), *names[] = {"least", "most"};
    const cJSON *common = dit_json_member(dit_json_member(reader->doc->root, "bounds"), key);
    double least, most, *to[] = {&out->range.least, &out->range.most};
    suite_calibrated_key_range(out->what.key, &least, &most);
    for (int i = 0; i < 2; i++) {
        bool own = dit_json_member(object, names[i]) || !common;
        DIT_TRY(dit_json_require_number(reader->doc, own ? object : common, pointer, names[i], least, most, to[i]));
    }
    return DIT_OK;
}

/* Checks the bounds of all values of a key, each with the reason why nothing lies beyond them. */
static dit_status check_bounds(const dit_json *doc)
{
    static const char *const keys[] = {"least", "most", "why", NULL};
    const cJSON *bounds = NULL, *one;
    const char *why;
    char at[256];
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "bounds", &bounds));
    cJSON_ArrayForEach(one, bounds)
    {
        suite_calibrated_key key;
        double least, most, number;
        dit_json_pointer_join(at, sizeof at, "/bounds", one->string);
        if (!cJSON_IsObject(one)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "expected an object");
        DIT_TRY(suite_only_keys(doc, one, at, keys));
        DIT_TRY(suite_calibrated_key_find(doc, at, one->string, &key));
        suite_calibrated_key_range(key, &least, &most);
        DIT_TRY(dit_json_require_number(doc, one, at, "least", least, most, &number));
        DIT_TRY(dit_json_require_number(doc, one, at, "most", least, most, &number));
        DIT_TRY(dit_json_require_string(doc, one, at, "why", &why));
    }
    return DIT_OK;
}

static dit_status check_value(const plan_reader *reader, const char *pointer, const suite_planned_value *value)
{
    const suite_fit_value *range = &value->range;
    const char *key = suite_calibrated_key_name(value->what.key), *name = value->what.name;
    if (!(range->least > 0 && range->least <= range->prior && range->prior <= range->most))
        return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_VALUE,
                             "%s of %s is %g in its file, but the plan allows %g to %g", key, name, range->prior,
                             range->least, range->most);
    for (int stage = 0; stage <= reader->plan->stage_count; stage++) {
        const suite_planned_stage *before = &reader->plan->stages[stage];
        for (int i = 0; i < before->value_count; i++)
            if (before->values[i].what.key == value->what.key && strcmp(before->values[i].what.name, name) == 0)
                return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_VALUE,
                                     "%s of %s is fitted twice; stage \"%s\" fits it already", key, name, before->name);
    }
    return DIT_OK;
}

static dit_status read_value(const plan_reader *reader, const cJSON *object, const char *pointer,
                             suite_planned_value *out)
{
    static const char *const keys[] = {"of", "name", "key", "least", "most", "prior_deviation", "start", NULL};
    DIT_TRY(suite_calibrated_read(reader->doc, object, pointer, &out->what));
    DIT_TRY(suite_only_keys(reader->doc, object, pointer, keys));
    DIT_TRY(suite_calibrated_prior(out->what.key, out->what.name, &out->what.value));
    out->range.prior = out->what.value;
    DIT_TRY(read_bounds(reader, object, pointer, out));
    DIT_TRY(dit_json_require_number(reader->doc, object, pointer, "prior_deviation", 1e-3, 10, &out->range.deviation));
    DIT_TRY(dit_json_optional_number(reader->doc, object, pointer, "start", out->range.least, out->range.most,
                                     &out->range.start));
    return check_value(reader, pointer, out);
}

static dit_status read_values(const plan_reader *reader, const cJSON *object, const char *pointer)
{
    const cJSON *list = NULL, *item;
    char at[256], inside[256];
    dit_json_pointer_join(at, sizeof at, pointer, "parameters");
    DIT_TRY(dit_json_optional_array(reader->doc, object, pointer, "parameters", &list));
    int count = cJSON_GetArraySize(list);
    if (count < 1 || count > SUITE_FIT_VALUES)
        return dit_json_fail(reader->doc, list ? at : pointer, DIT_ERR_JSON_VALUE,
                             "a stage has 1 to %d parameters, this one has %d", SUITE_FIT_VALUES, count);
    cJSON_ArrayForEach(item, list)
    {
        int *used = &reader->stage->value_count;
        snprintf(inside, sizeof inside, "%.200s/%d", at, *used);
        DIT_TRY(read_value(reader, item, inside, &reader->stage->values[*used]));
        (*used)++;
    }
    return DIT_OK;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

static dit_status understand_file(const suite_published_names *names, suite_planned_file *file)
{
    const suite_published *published = &file->published;
    dit_hash(published->source.text, published->source.length, file->hash);
    file->points = calloc((size_t)published->count + 1, sizeof *file->points);
    if (!file->points) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for published points");
    for (int i = 0; i < published->count; i++)
        DIT_TRY(suite_point_understand(names, &published->points[i], NULL, &file->points[i]));
    return DIT_OK;
}

static dit_status load_file(suite_calibration_plan *plan, const char *name, const suite_planned_file **out)
{
    char folder[SUITE_PATH], path[SUITE_PATH];
    enum { MOST = sizeof plan->files / sizeof *plan->files };
    for (int i = 0; i < plan->file_count; i++) {
        *out = &plan->files[i];
        if (strcmp(plan->files[i].name, name) == 0) return DIT_OK;
    }
    if (plan->file_count == MOST)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "a plan takes points from at most %d files", MOST);
    suite_planned_file *file = &plan->files[plan->file_count];
    DIT_TRY(suite_published_folder(folder));
    DIT_TRY(suite_path(path, "%s/%s", folder, name));
    DIT_TRY(suite_contradictions_points(&plan->contradictions, path, &file->published));
    file->name = name;
    file->judged = !dit_json_member(dit_json_member(plan->source.root, "not_judged"), name);
    plan->file_count++;
    *out = file;
    return understand_file(&plan->names, file);
}

static dit_status take_point(const plan_reader *reader, const char *pointer, const suite_planned_point *chosen)
{
    suite_planned_stage *stage = reader->stage;
    int index = chosen->point->published->index;
    if (chosen->point->search)
        return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_VALUE,
                             "point %d of %s is the best of several meshes, and its source does not say which", index,
                             chosen->file);
    for (int i = 0; i < stage->point_count; i++)
        if (stage->points[i].point == chosen->point)
            return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_VALUE, "point %d of %s is chosen twice", index,
                                 chosen->file);
    stage->points[stage->point_count++] = *chosen;
    return DIT_OK;
}

static dit_status choose(const plan_reader *reader, const char *pointer, const suite_planned_file *file,
                         const char *where, const char *why)
{
    suite_planned_stage *stage = reader->stage;
    int before = stage->point_count;
    size_t room = (size_t)(before + file->published.count) + 1;
    suite_planned_point *grown = realloc(stage->points, room * sizeof *grown);
    if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the points of a stage");
    stage->points = grown;
    for (int i = 0; i < file->published.count; i++) {
        const suite_planned_point chosen = {file->name, why, &file->points[i]};
        bool holds = false;
        DIT_TRY(suite_point_test(chosen.point, where, &holds));
        if (holds && suite_point_is_countable(chosen.point)) DIT_TRY(take_point(reader, pointer, &chosen));
    }
    if (stage->point_count > before) return DIT_OK;
    return dit_error_hint(dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_VALUE,
                                        "\"where\" selects no point of %s that can be simulated", file->name),
                          "`ditbench simulate --points results/published/%s --list` shows how points are understood",
                          file->name);
}

static dit_status read_selection(const plan_reader *reader, const cJSON *object, const char *pointer)
{
    static const char *const keys[] = {"file", "where", "why", NULL};
    const suite_planned_file *file = NULL;
    const char *name, *where, *why = "";
    char at[256];
    if (!cJSON_IsObject(object)) return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(suite_only_keys(reader->doc, object, pointer, keys));
    DIT_TRY(dit_json_require_string(reader->doc, object, pointer, "file", &name));
    DIT_TRY(dit_json_require_string(reader->doc, object, pointer, "where", &where));
    DIT_TRY(dit_json_optional_string(reader->doc, object, pointer, "why", &why));
    dit_json_pointer_join(at, sizeof at, pointer, "file");
    if (!name[0] || name[0] == '.' || strchr(name, '/'))
        return dit_error_hint(
            dit_json_fail(reader->doc, at, DIT_ERR_JSON_VALUE, "\"%s\" is not the name of a file", name),
            "files of results/published are named without a folder");
    DIT_TRY(load_file(reader->plan, name, &file));
    dit_json_pointer_join(at, sizeof at, pointer, "where");
    return choose(reader, at, file, where, why);
}

static dit_status read_points(const plan_reader *reader, const cJSON *object, const char *pointer)
{
    const cJSON *list = NULL, *item;
    char at[256];
    int index = 0;
    DIT_TRY(dit_json_optional_array(reader->doc, object, pointer, "points", &list));
    if (cJSON_GetArraySize(list) == 0)
        return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_MISSING, "a stage needs \"points\"");
    cJSON_ArrayForEach(item, list)
    {
        snprintf(at, sizeof at, "%.200s/points/%d", pointer, index++);
        DIT_TRY(read_selection(reader, item, at));
    }
    return DIT_OK;
}

/* Checks {"FILE": why}: files whose points no fit is judged by. */
static dit_status check_not_judged(const dit_json *doc)
{
    const cJSON *files = NULL, *why;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "not_judged", &files));
    cJSON_ArrayForEach(why, files)
    {
        char at[256];
        dit_json_pointer_join(at, sizeof at, "/not_judged", why->string);
        if (!cJSON_IsString(why)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "expected a reason, a text");
    }
    return DIT_OK;
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static dit_status read_stage(plan_reader *reader, const cJSON *object, const char *pointer)
{
    static const char *const keys[] = {"name", "why", "parameters", "points", NULL};
    suite_calibration_plan *plan = reader->plan;
    reader->stage = &plan->stages[plan->stage_count];
    if (!cJSON_IsObject(object)) return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(suite_only_keys(reader->doc, object, pointer, keys));
    DIT_TRY(dit_json_require_string(reader->doc, object, pointer, "name", &reader->stage->name));
    DIT_TRY(dit_json_require_string(reader->doc, object, pointer, "why", &reader->stage->why));
    for (int i = 0; i < plan->stage_count; i++)
        if (strcmp(plan->stages[i].name, reader->stage->name) == 0)
            return dit_json_fail(reader->doc, pointer, DIT_ERR_JSON_VALUE, "two stages are called \"%s\"",
                                 reader->stage->name);
    DIT_TRY(read_values(reader, object, pointer));
    return read_points(reader, object, pointer);
}

static dit_status read_stages(plan_reader *reader)
{
    suite_calibration_plan *plan = reader->plan;
    const cJSON *list = NULL, *item;
    char at[64];
    DIT_TRY(dit_json_optional_array(reader->doc, reader->doc->root, "", "stages", &list));
    if (cJSON_GetArraySize(list) == 0)
        return dit_json_fail(reader->doc, "", DIT_ERR_JSON_MISSING, "a plan needs \"stages\"");
    plan->stages = calloc((size_t)cJSON_GetArraySize(list), sizeof *plan->stages);
    if (!plan->stages) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a plan");
    cJSON_ArrayForEach(item, list)
    {
        snprintf(at, sizeof at, "/stages/%d", plan->stage_count);
        dit_status st = read_stage(reader, item, at);
        plan->stage_count++; /* also a half-read one, which is to be released */
        if (st != DIT_OK) return st;
    }
    return DIT_OK;
}

static dit_status read_plan(suite_calibration_plan *plan)
{
    static const char *const keys[] = {"schema", "name",   "title",  "deviation",  "huber",
                                       "rounds", "bounds", "stages", "not_judged", NULL};
    static const char schema[] = "ditbench.calibration_plan/1";
    const dit_json *doc = &plan->source;
    plan_reader reader = {.doc = doc, .plan = plan};
    int64_t rounds = 12;
    if (!cJSON_IsObject(doc->root)) return dit_json_fail(doc, "", DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_require_schema(doc, schema));
    DIT_TRY(suite_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &plan->name));
    plan->deviation = 0.1;
    plan->huber = 0.2;
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "deviation", 1e-3, 1e3, &plan->deviation));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "huber", 1e-3, 1e3, &plan->huber));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "rounds", 1, 1000, &rounds));
    plan->rounds = (int)rounds;
    DIT_TRY(check_bounds(doc));
    DIT_TRY(check_not_judged(doc));
    dit_hash(doc->text, doc->length, plan->hash);
    DIT_TRY(suite_published_names_load(NULL, &plan->names));
    DIT_TRY(suite_contradictions_read(&plan->contradictions));
    return read_stages(&reader);
}

dit_status suite_calibration_plan_load(const char *path, suite_calibration_plan *out)
{
    char found[SUITE_PATH];
    *out = (suite_calibration_plan){0};
    if (!path) {
        const char *workloads = suite_workloads_folder();
        if (!workloads) return dit_error_last()->status;
        DIT_TRY(suite_path(found, "%s/calibrations/published.json", workloads));
    }
    DIT_TRY(dit_json_read_file(path ? path : found, &out->source));
    dit_status st = read_plan(out);
    if (st != DIT_OK) suite_calibration_plan_release(out);
    return st;
}

static void release_file(suite_planned_file *file)
{
    for (int i = 0; file->points && i < file->published.count; i++) suite_point_release(&file->points[i]);
    free(file->points);
    suite_published_release(&file->published);
}

void suite_calibration_plan_release(suite_calibration_plan *plan)
{
    for (int i = 0; i < plan->stage_count; i++) free(plan->stages[i].points);
    free(plan->stages);
    for (int i = 0; i < plan->file_count; i++) release_file(&plan->files[i]);
    suite_published_names_release(&plan->names);
    dit_json_release(&plan->contradictions);
    dit_json_release(&plan->source);
    *plan = (suite_calibration_plan){0};
}

dit_status suite_calibration_plan_stage(const suite_calibration_plan *plan, const char *name, int *out)
{
    const char **names = calloc((size_t)plan->stage_count + 1, sizeof *names);
    if (!names) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for names");
    *out = -1;
    for (int i = 0; i < plan->stage_count; i++) {
        names[i] = plan->stages[i].name;
        if (strcmp(name, names[i]) == 0) *out = i;
    }
    dit_status st = *out >= 0 ? DIT_OK : DIT_FAIL(DIT_ERR_NOT_FOUND, "plan %s has no stage \"%s\"", plan->name, name);
    if (st != DIT_OK) dit_words_hint(st, name, names);
    free(names);
    return st;
}
