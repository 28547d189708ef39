#include "suite/published/contradictions.h"

#include "base/json.h"
#include "suite/paths.h"
#include "suite/published/published.h"

#include <stdio.h>
#include <string.h>

static dit_status check_contradiction(const dit_json *doc, const cJSON *one, const char *pointer)
{
    const cJSON *points = NULL, *point;
    const char *word;
    char at[96];
    int64_t point_index;
    int index = 0;
    DIT_TRY(dit_json_require_string(doc, one, pointer, "what", &word));
    DIT_TRY(dit_json_require_string(doc, one, pointer, "believe", &word));
    DIT_TRY(dit_json_optional_array(doc, one, pointer, "points", &points));
    cJSON_ArrayForEach(point, points)
    {
        snprintf(at, sizeof at, "%s/points/%d", pointer, index++);
        DIT_TRY(dit_json_require_int(doc, point, at, "index", 0, 1 << 30, &point_index));
    }
    return DIT_OK;
}

static dit_status check_contradictions(const dit_json *doc)
{
    static const char wanted[] = "ditbench.published_contradictions/1";
    const cJSON *list = NULL, *one;
    const char *schema, *file;
    char at[64];
    int index = 0;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "schema", &schema));
    if (strcmp(schema, wanted) != 0)
        return dit_json_fail(doc, "/schema", DIT_ERR_JSON_VALUE, "\"%s\" is not %s", schema, wanted);
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "file", &file));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "contradictions", &list));
    cJSON_ArrayForEach(one, list)
    {
        snprintf(at, sizeof at, "/contradictions/%d", index++);
        DIT_TRY(check_contradiction(doc, one, at));
    }
    return DIT_OK;
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

bool suite_contradictions_doubt(const dit_json *contradictions, const char *file, int index)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, dit_json_member(contradictions->root, "contradictions"))
    {
        if (suite_contradictions_concern(contradictions, one, file, index)) return true;
    }
    return false;
}
