#include "suite/published/contradictions.h"

#include "base/json.h"
#include "suite/paths.h"
#include "suite/published/published.h"

#include <stdio.h>
#include <string.h>

static dit_status check_points(const dit_json *doc, const cJSON *one, const char *pointer)
{
    const cJSON *points = NULL, *point;
    char at[96];
    int64_t point_index;
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, one, pointer, "points", &points));
    cJSON_ArrayForEach(point, points)
    {
        snprintf(at, sizeof at, "%s/points/%d", pointer, index++);
        DIT_TRY(dit_json_require_int(doc, point, at, "index", 0, 1 << 30, &point_index));
    }
    return DIT_OK;
}

/* What its points are read as, where that is not what was printed. */
static dit_status check_restated(const dit_json *doc, const cJSON *one, const char *pointer)
{
    static const char *const keys[] = {"hardware", "interconnect", "steps", "scope", NULL};
    const cJSON *restated = NULL;
    const char *word = "", *scope = "pipeline";
    char at[96];
    int64_t steps = 0;
    DIT_TRY(dit_json_optional_object(doc, one, pointer, "restated", &restated));
    if (!restated) return DIT_OK;
    snprintf(at, sizeof at, "%s/restated", pointer);
    DIT_TRY(dit_json_only_keys(doc, restated, at, keys));
    DIT_TRY(dit_json_optional_string(doc, restated, at, "hardware", &word));
    DIT_TRY(dit_json_optional_string(doc, restated, at, "interconnect", &word));
    DIT_TRY(dit_json_optional_int(doc, restated, at, "steps", 1, 100000, &steps));
    DIT_TRY(dit_json_optional_string(doc, restated, at, "scope", &scope));
    if (strcmp(scope, "pipeline") == 0 || strcmp(scope, "latents") == 0) return DIT_OK;
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "scope \"%s\" is neither pipeline nor latents", scope);
}

static dit_status check_contradiction(const dit_json *doc, const cJSON *one, const char *pointer)
{
    const char *word;
    bool doubtful = false;
    DIT_TRY(dit_json_require_string(doc, one, pointer, "what", &word));
    DIT_TRY(dit_json_require_string(doc, one, pointer, "believe", &word));
    DIT_TRY(dit_json_optional_string(doc, one, pointer, "id", &word));
    DIT_TRY(dit_json_optional_bool(doc, one, pointer, "doubtful", &doubtful));
    DIT_TRY(check_restated(doc, one, pointer));
    return check_points(doc, one, pointer);
}

static dit_status check_repeated(const dit_json *doc)
{
    const cJSON *list = NULL, *one;
    const char *word;
    char at[64];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "repeated", &list));
    cJSON_ArrayForEach(one, list)
    {
        snprintf(at, sizeof at, "/repeated/%d", index++);
        DIT_TRY(dit_json_require_string(doc, one, at, "id", &word));
        DIT_TRY(dit_json_require_string(doc, one, at, "why", &word));
        DIT_TRY(check_points(doc, one, at));
    }
    return DIT_OK;
}

static dit_status check_contradictions(const dit_json *doc)
{
    static const char wanted[] = "ditbench.published_contradictions/1";
    const cJSON *list = NULL, *one;
    const char *file;
    char at[64];
    int index = 0;
    DIT_TRY(dit_json_require_schema(doc, wanted));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "file", &file));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "contradictions", &list));
    cJSON_ArrayForEach(one, list)
    {
        snprintf(at, sizeof at, "/contradictions/%d", index++);
        DIT_TRY(check_contradiction(doc, one, at));
    }
    return check_repeated(doc);
}

dit_status suite_contradictions_read(dit_json *out)
{
    char folder[SUITE_PATH], path[SUITE_PATH];
    DIT_TRY(suite_published_folder(folder));
    DIT_TRY(suite_path(path, "%s/contradictions.json", folder));
    DIT_TRY(dit_json_read_file(path, out));
    return check_contradictions(out);
}

/* What the file and a command line call the same file: the last part of the path. */
static const char *last_part(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

bool suite_contradictions_concern(const dit_json *contradictions, const cJSON *one, const char *file, int index)
{
    const char *about = dit_json_text_or(contradictions->root, "file", NULL);
    const cJSON *point;
    if (strcmp(last_part(about), last_part(file)) != 0) return false;
    cJSON_ArrayForEach(point, dit_json_member(one, "points"))
    {
        if (dit_json_member(point, "index")->valuedouble == index) return true;
    }
    return false;
}

/* The point that a row of "points" means; NULL where the file has no such point, or another number at its place. */
static suite_published_point *find_point(const cJSON *said, suite_published *published)
{
    double index = dit_json_member(said, "index")->valuedouble;
    const cJSON *value = dit_json_member(said, "value");
    if (index >= published->count) return NULL;
    suite_published_point *point = &published->points[(int)index];
    bool same = cJSON_IsNumber(value) ? point->has_value && point->value == value->valuedouble : !point->has_value;
    return same ? point : NULL;
}

static void restate(const cJSON *one, suite_published_point *point)
{
    const cJSON *restated = dit_json_member(one, "restated"), *steps = dit_json_member(restated, "steps");
    if (cJSON_IsTrue(dit_json_member(one, "doubtful"))) point->status = SUITE_PUBLISHED_DOUBTFUL;
    if (!restated) return;
    point->restated = dit_json_text_or(one, "id", "");
    point->hardware = dit_json_text_or(restated, "hardware", point->hardware);
    point->interconnect = dit_json_text_or(restated, "interconnect", point->interconnect);
    point->scope = dit_json_text_or(restated, "scope", point->scope);
    if (steps) point->steps = (int64_t)steps->valuedouble;
}

/* The first of the list counts. */
static void mark_repeated(const cJSON *one, suite_published *published)
{
    const cJSON *points = dit_json_member(one, "points"), *said;
    cJSON_ArrayForEach(said, points)
    {
        suite_published_point *point = find_point(said, published);
        if (point && said != points->child && strcmp(point->status, SUITE_PUBLISHED_DOUBTFUL) != 0)
            point->status = SUITE_PUBLISHED_REPEATED;
    }
}

dit_status suite_contradictions_points(const dit_json *contradictions, const char *path, suite_published *out)
{
    const cJSON *one, *said;
    const char *about = dit_json_text_or(contradictions->root, "file", NULL);
    DIT_TRY(suite_published_read(path, out));
    if (strcmp(last_part(about), last_part(path)) != 0) return DIT_OK;
    cJSON_ArrayForEach(one, dit_json_member(contradictions->root, "contradictions"))
    {
        cJSON_ArrayForEach(said, dit_json_member(one, "points"))
        {
            suite_published_point *point = find_point(said, out);
            if (point) restate(one, point);
        }
    }
    cJSON_ArrayForEach(one, dit_json_member(contradictions->root, "repeated")) mark_repeated(one, out);
    return DIT_OK;
}
