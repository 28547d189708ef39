#include "suite/published/published.h"

#include "base/json.h"
#include "suite/catalogue/catalogue.h"
#include "suite/paths.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MOST_RANKS = 1 << 20, MOST_TOKENS = 1 << 30, MOST_STEPS = 100000 }; /* ranks: of anything else, too */

/* ---- members that may be absent or null -------------------------------------------------------------------------- */

/* The place of a point while it is read. */
typedef struct {
    const dit_json *doc;
    const cJSON *object;
    const char *pointer; /* of `object` */
} place;

static bool is_said(const place *at, const char *key)
{
    const cJSON *item = dit_json_member(at->object, key);
    return item && !cJSON_IsNull(item);
}

static dit_status read_text(const place *at, const char *key, bool required, const char **out)
{
    *out = "";
    if (!is_said(at, key) && !required) return DIT_OK;
    return dit_json_require_string(at->doc, at->object, at->pointer, key, out);
}

static dit_status read_count(const place *at, const char *key, int64_t *out)
{
    *out = 0;
    return is_said(at, key) ? dit_json_optional_int(at->doc, at->object, at->pointer, key, 1, MOST_RANKS, out) : DIT_OK;
}

static dit_status read_number(const place *at, const char *key, double least, bool *said, double *out)
{
    *said = is_said(at, key);
    return *said ? dit_json_optional_number(at->doc, at->object, at->pointer, key, least, 1e15, out) : DIT_OK;
}

static int count_unknown(const cJSON *object, const char *const *keys)
{
    int unknown = 0;
    for (const cJSON *item = object->child; item; item = item->next) {
        bool listed = false;
        for (int i = 0; keys[i] && !listed; i++) listed = strcmp(keys[i], item->string) == 0;
        unknown += !listed;
    }
    return unknown;
}

/* ---- degrees ----------------------------------------------------------------------------------------------------- */

/* Whether a setting of others is one that is switched off. */
static bool is_off(const cJSON *item)
{
    return cJSON_IsNull(item) || cJSON_IsFalse(item) || (cJSON_IsNumber(item) && item->valuedouble == 0);
}

static bool is_config_key(const char *key)
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        if (strcmp(key, dit_axis_get((dit_axis)axis)->printed) == 0) return true;
    return strcmp(key, "num_pipeline_patch") == 0 || strcmp(key, "warmup_steps") == 0 || strcmp(key, "hybrid") == 0;
}

/* An axis that a config with degrees leaves out has one rank; displaced patches are left out of most. */
static dit_status read_degrees(const place *at, suite_published_point *point)
{
    bool stated = false;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        int64_t degree;
        DIT_TRY(read_count(at, dit_axis_get((dit_axis)axis)->printed, &degree));
        point->degree[axis] = (int)degree;
        stated = stated || degree;
    }
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        if (stated && !dit_json_member(at->object, dit_axis_get((dit_axis)axis)->printed)) point->degree[axis] = 1;
    return DIT_OK;
}

static dit_status read_config(const place *outer, suite_published_point *point)
{
    char pointer[96];
    place at = {.doc = outer->doc, .pointer = pointer};
    int64_t number;
    point->warmup_steps = -1;
    if (!is_said(outer, "config")) return DIT_OK;
    DIT_TRY(dit_json_require_object(outer->doc, outer->object, outer->pointer, "config", &at.object));
    snprintf(pointer, sizeof pointer, "%s/config", outer->pointer);
    DIT_TRY(read_degrees(&at, point));
    DIT_TRY(read_count(&at, "num_pipeline_patch", &number));
    point->num_pipeline_patch = (int)number;
    if (is_said(&at, "warmup_steps")) {
        DIT_TRY(dit_json_optional_int(at.doc, at.object, at.pointer, "warmup_steps", 0, MOST_STEPS, &number));
        point->warmup_steps = (int)number;
    }
    point->search = is_said(&at, "hybrid");
    if (cJSON_IsObject(dit_json_member(at.object, "cache"))) point->cache = dit_json_member(at.object, "cache");
    for (const cJSON *item = at.object->child; item && !point->beyond; item = item->next)
        if (item != point->cache && !is_config_key(item->string) && !is_off(item)) point->beyond = item->string;
    return DIT_OK;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

double suite_published_rounding(double value)
{
    char text[64];
    for (int digits = 0; digits < 15; digits++) {
        snprintf(text, sizeof text, "%.*f", digits, value);
        if (strtod(text, NULL) == value) return 0.5 * pow(10, -digits);
    }
    return 0;
}

static dit_status read_value(const place *at, const char *key, suite_published_point *point)
{
    const double least_value = 1e-15; /* whose inverse is a number, too */
    bool stated;
    if (!dit_json_member(at->object, key))
        return dit_json_fail(at->doc, at->pointer, DIT_ERR_JSON_MISSING,
                             "key \"%s\" is required; null says that there is "
                             "no number",
                             key);
    DIT_TRY(read_number(at, key, -1e15, &point->has_value, &point->value));
    if (point->value != 0 && fabs(point->value) < least_value)
        return dit_json_fail(at->doc, at->pointer, DIT_ERR_JSON_VALUE, "\"%s\" %g is neither 0 nor at least %g", key,
                             point->value, least_value);
    point->rounding = point->has_value ? suite_published_rounding(point->value) : 0;
    return read_number(at, "error_abs", 0, &stated, &point->rounding);
}

static dit_status read_common(const place *at, suite_published_point *point)
{
    point->restated = point->scope = "";
    DIT_TRY(read_text(at, "model", true, &point->model));
    DIT_TRY(read_text(at, "source", false, &point->source));
    DIT_TRY(read_text(at, "resolution", false, &point->resolution));
    DIT_TRY(read_count(at, "steps", &point->steps));
    DIT_TRY(read_count(at, "frames", &point->frames));
    DIT_TRY(read_count(at, "batch", &point->batch));
    return read_text(at, "status", false, &point->status);
}

static dit_status read_layer(const place *at, suite_published_point *point)
{
    if (is_said(at, "seq_len"))
        DIT_TRY(dit_json_optional_int(at->doc, at->object, at->pointer, "seq_len", 1, MOST_TOKENS, &point->seq_len));
    DIT_TRY(read_count(at, "heads", &point->heads));
    DIT_TRY(read_count(at, "head_dim", &point->head_dim));
    return read_count(at, "kv_groups", &point->kv_groups);
}

static dit_status read_point(const place *at, suite_published_point *point)
{
    DIT_TRY(read_common(at, point));
    DIT_TRY(read_text(at, "hardware", true, &point->hardware));
    DIT_TRY(read_text(at, "interconnect", false, &point->interconnect));
    DIT_TRY(read_text(at, "method", true, &point->method));
    DIT_TRY(read_text(at, "metric", true, &point->metric));
    DIT_TRY(read_text(at, "unit", true, &point->unit));
    DIT_TRY(read_text(at, "runtime", false, &point->runtime));
    DIT_TRY(read_text(at, "provenance", false, &point->provenance));
    DIT_TRY(read_text(at, "note", false, &point->note));
    DIT_TRY(dit_json_require_int(at->doc, at->object, at->pointer, "gpus", 1, MOST_RANKS, &point->gpus));
    DIT_TRY(read_layer(at, point));
    DIT_TRY(read_config(at, point));
    return read_value(at, "value", point);
}

/* A run on one device; whatever narrows its numbers is its method. */
static dit_status read_entry(const place *at, suite_published_point *point)
{
    DIT_TRY(read_common(at, point));
    DIT_TRY(read_text(at, "gpu", true, &point->hardware));
    DIT_TRY(read_text(at, "compiled", false, &point->runtime));
    DIT_TRY(read_text(at, "quant", false, &point->method));
    DIT_TRY(read_text(at, "scope", false, &point->metric));
    DIT_TRY(read_text(at, "notes", false, &point->note));
    if (!point->method[0]) point->method = "single";
    point->metric = strncmp(point->metric, "one step", 8) == 0 ? "latency_per_step" : "latency";
    point->interconnect = "single GPU";
    point->provenance = "";
    point->unit = "s";
    point->gpus = 1;
    point->warmup_steps = -1;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) point->degree[axis] = 1;
    return read_value(at, "latency_s", point);
}

/* What the two forms may have; the rest is passed over. */
static const char *const point_keys[] = {"source",
                                         "paper",
                                         "figure_or_table",
                                         "model",
                                         "resolution",
                                         "frames",
                                         "steps",
                                         "steps_inferred",
                                         "batch",
                                         "hardware",
                                         "interconnect",
                                         "gpus",
                                         "method",
                                         "config",
                                         "config_known",
                                         "config_source",
                                         "metric",
                                         "value",
                                         "unit",
                                         "error_abs",
                                         "provenance",
                                         "digitised",
                                         "note",
                                         "runtime",
                                         "dtype",
                                         "status",
                                         "attention",
                                         "interconnect_note",
                                         "seq_len",
                                         "heads",
                                         "head_dim",
                                         "kv_groups",
                                         NULL};
static const char *const entry_keys[] = {"model",     "gpu",   "resolution", "frames",   "steps", "batch",
                                         "dtype",     "quant", "attention",  "compiled", "scope", "latency_s",
                                         "error_abs", "notes", "source",     "status",   NULL};

static dit_status read_list(const cJSON *list, bool entries, suite_published *out)
{
    int index = 0;
    for (const cJSON *item = list->child; item; item = item->next, index++) {
        char pointer[64];
        place at = {&out->source, item, pointer};
        suite_published_point *point = &out->points[index];
        snprintf(pointer, sizeof pointer, "%s/%d", entries ? "/entries" : "", index);
        if (!cJSON_IsObject(item))
            return dit_json_fail(&out->source, at.pointer, DIT_ERR_JSON_TYPE, "a point is an object");
        point->index = index;
        DIT_TRY(entries ? read_entry(&at, point) : read_point(&at, point));
        out->unknown_keys += count_unknown(item, entries ? entry_keys : point_keys);
    }
    out->count = index;
    return DIT_OK;
}

static dit_status read_document(suite_published *out)
{
    const cJSON *root = out->source.root, *list = root;
    bool entries = cJSON_IsObject(root);
    if (entries) list = dit_json_member(root, "entries");
    if (!cJSON_IsArray(list))
        return dit_error_hint(dit_json_fail(&out->source, entries ? "/entries" : "", DIT_ERR_JSON_TYPE,
                                            "published numbers are a list of points"),
                              "as in results/published/paper_numbers.json");
    int count = cJSON_GetArraySize(list);
    out->points = calloc((size_t)count + 1, sizeof *out->points);
    if (!out->points) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d published points", count);
    return read_list(list, entries, out);
}

static dit_status finish(dit_status st, suite_published *out)
{
    if (st == DIT_OK) st = read_document(out);
    if (st != DIT_OK) suite_published_release(out);
    return st;
}

dit_status suite_published_read(const char *path, suite_published *out)
{
    *out = (suite_published){0};
    return finish(dit_json_read_file(path, &out->source), out);
}

dit_status suite_published_parse(const char *text, size_t length, const char *path, suite_published *out)
{
    *out = (suite_published){0};
    return finish(dit_json_parse(text, length, path, &out->source), out);
}

void suite_published_release(suite_published *published)
{
    free(published->points);
    dit_json_release(&published->source);
    *published = (suite_published){0};
}

/* ---- names: loading ---------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat what;
    return stat(path, &what) == 0 && S_ISDIR(what.st_mode);
}

dit_status suite_published_folder(char out[SUITE_PATH])
{
    const char *workloads = suite_workloads_folder();
    if (!workloads) return dit_error_last()->status;
    DIT_TRY(suite_path(out, "%s/../results/published", workloads));
    if (is_folder(out)) return DIT_OK;
    DIT_TRY(suite_path(out, "results/published"));
    if (is_folder(out)) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_ENVIRONMENT, "there is no folder results/published, neither here nor beside %s", workloads),
        "run from the source tree, or point DITBENCH_WORKLOADS at its workloads");
}

static bool is_file(const char *path)
{
    struct stat what;
    return stat(path, &what) == 0 && S_ISREG(what.st_mode);
}

dit_status suite_published_find(const char *workload, const char *file, bool *own, char out[SUITE_PATH])
{
    const char *slash = strrchr(workload, '/');
    char beside[SUITE_PATH], folder[SUITE_PATH];
    *own = true;
    if (file[0] == '/')
        DIT_TRY(suite_path(beside, "%s", file));
    else
        DIT_TRY(suite_path(beside, "%.*s%s", slash ? (int)(slash - workload + 1) : 0, workload, file));
    DIT_TRY(suite_path(out, "%s", beside));
    if (is_file(out)) return DIT_OK;
    *own = false;
    DIT_TRY(suite_published_folder(folder));
    DIT_TRY(suite_path(out, "%s/%s", folder, file));
    if (file[0] != '/' && is_file(out)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND,
                                   "there is no file of published points %s, neither at that path nor in %s", beside,
                                   folder),
                          "give a path relative to the workload, or the name of a file in results/published");
}

static dit_status load_table(const char *folder, const char *name, dit_json *out)
{
    char path[SUITE_PATH], wanted[64];
    const char *schema;
    DIT_TRY(suite_path(path, "%s/%s.json", folder, name));
    DIT_TRY(dit_json_read_file(path, out));
    snprintf(wanted, sizeof wanted, "ditbench.published_%s/1", name);
    if (!cJSON_IsObject(out->root)) return dit_json_fail(out, "", DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_require_string(out, out->root, "", "schema", &schema));
    if (strcmp(schema, wanted) == 0) return DIT_OK;
    return dit_json_fail(out, "/schema", DIT_ERR_JSON_VALUE, "\"%s\" is not %s", schema, wanted);
}

/* A member that is an object of texts. */
static dit_status check_texts(const dit_json *doc, const cJSON *parent, const char *above, const char *key)
{
    const cJSON *object;
    char inside[128], pointer[256];
    DIT_TRY(dit_json_require_object(doc, parent, above, key, &object));
    snprintf(inside, sizeof inside, "%s/%s", above, key);
    for (const cJSON *item = object->child; item; item = item->next) {
        dit_json_pointer_join(pointer, sizeof pointer, inside, item->string);
        if (!cJSON_IsString(item)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "expected a text");
    }
    return DIT_OK;
}

static dit_status check_strings(const dit_json *doc, const cJSON *object, const char *pointer, const char *key)
{
    const cJSON *list = NULL;
    char at[96];
    DIT_TRY(dit_json_optional_array(doc, object, pointer, key, &list));
    snprintf(at, sizeof at, "%s/%s", pointer, key);
    if (!list) return dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "key \"%s\" is required", key);
    for (const cJSON *item = list->child; item; item = item->next)
        if (!cJSON_IsString(item)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a list of texts is needed");
    return DIT_OK;
}

static bool is_count(const cJSON *item)
{
    return cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble <= MOST_RANKS;
}

static dit_status check_row(const dit_json *doc, const cJSON *row, int index)
{
    char pointer[64];
    const char *platform;
    snprintf(pointer, sizeof pointer, "/rows/%d", index);
    if (!cJSON_IsObject(row)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "a row is an object");
    DIT_TRY(check_strings(doc, row, pointer, "names"));
    DIT_TRY(check_strings(doc, row, pointer, "interconnects"));
    DIT_TRY(dit_json_require_string(doc, row, pointer, "platform", &platform));
    const cJSON *gpus = dit_json_member(row, "gpus");
    if (cJSON_IsArray(gpus) && cJSON_GetArraySize(gpus) == 2 && is_count(gpus->child) && is_count(gpus->child->next))
        return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "\"gpus\" is [least, most], numbers of 1 to %d", MOST_RANKS);
}

static dit_status check_hardware(const dit_json *doc)
{
    const cJSON *rows = NULL;
    int index = 0;
    DIT_TRY(check_strings(doc, doc->root, "", "not_stated"));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "rows", &rows));
    if (!rows) return dit_json_fail(doc, "", DIT_ERR_JSON_MISSING, "key \"rows\" is required");
    for (const cJSON *row = rows->child; row; row = row->next) DIT_TRY(check_row(doc, row, index++));
    return DIT_OK;
}

/* Rows of "sources": what a source's name begins with, and what is known of its scripts. */
static dit_status check_source(const dit_json *doc, const cJSON *row, int index)
{
    static const char *const keys[] = {"source",
                                       "model",
                                       "method",
                                       "why",
                                       "runtime",
                                       "pipefusion_warmup_steps",
                                       "scope",
                                       "tiling",
                                       "synchronous_steps_more",
                                       "joint_text",
                                       "profiles",
                                       "platforms",
                                       "prompts_differ",
                                       NULL};
    char pointer[64];
    const char *text, *scope = "pipeline", *model = "", *method = "", *runtime = "", *joint_text = "replicate";
    int64_t steps = 0;
    bool tiling = false, differ = false;
    snprintf(pointer, sizeof pointer, "/sources/%d", index);
    if (!cJSON_IsObject(row)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "a row is an object");
    DIT_TRY(dit_json_only_keys(doc, row, pointer, keys));
    DIT_TRY(dit_json_require_string(doc, row, pointer, "source", &text));
    DIT_TRY(dit_json_require_string(doc, row, pointer, "why", &text));
    DIT_TRY(dit_json_optional_string(doc, row, pointer, "model", &model));
    DIT_TRY(dit_json_optional_string(doc, row, pointer, "method", &method));
    DIT_TRY(dit_json_optional_string(doc, row, pointer, "runtime", &runtime));
    DIT_TRY(dit_json_optional_int(doc, row, pointer, "pipefusion_warmup_steps", 0, 100000, &steps));
    DIT_TRY(dit_json_optional_bool(doc, row, pointer, "tiling", &tiling));
    DIT_TRY(dit_json_optional_bool(doc, row, pointer, "prompts_differ", &differ));
    DIT_TRY(dit_json_optional_int(doc, row, pointer, "synchronous_steps_more", 0, 1000, &steps));
    DIT_TRY(dit_json_optional_string(doc, row, pointer, "joint_text", &joint_text));
    DIT_TRY(dit_json_optional_string(doc, row, pointer, "scope", &scope));
    if (dit_json_member(row, "profiles")) DIT_TRY(check_texts(doc, row, pointer, "profiles"));
    if (dit_json_member(row, "platforms")) DIT_TRY(check_texts(doc, row, pointer, "platforms"));
    if (strcmp(joint_text, "replicate") != 0)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "joint_text \"%s\" is not replicate", joint_text);
    if (strcmp(scope, "pipeline") == 0 || strcmp(scope, "latents") == 0) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "scope \"%s\" is neither pipeline nor latents", scope);
}

static dit_status check_sources(const dit_json *doc)
{
    const cJSON *rows = NULL;
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "sources", &rows));
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) DIT_TRY(check_source(doc, row, index++));
    return DIT_OK;
}

static dit_status load_names(const char *folder, suite_published_names *out)
{
    int64_t warmup;
    DIT_TRY(load_table(folder, "models", &out->models));
    DIT_TRY(check_texts(&out->models, out->models.root, "", "aliases"));
    DIT_TRY(check_texts(&out->models, out->models.root, "", "unknown"));
    DIT_TRY(check_texts(&out->models, out->models.root, "", "layers"));
    DIT_TRY(load_table(folder, "hardware", &out->hardware));
    DIT_TRY(check_hardware(&out->hardware));
    DIT_TRY(load_table(folder, "methods", &out->methods));
    DIT_TRY(check_texts(&out->methods, out->methods.root, "", "settings"));
    DIT_TRY(check_texts(&out->methods, out->methods.root, "", "refused"));
    DIT_TRY(check_texts(&out->methods, out->methods.root, "", "runtimes"));
    DIT_TRY(check_strings(&out->methods, out->methods.root, "", "neutral"));
    DIT_TRY(dit_json_require_int(&out->methods, out->methods.root, "", "warmup_steps", 0, MOST_STEPS, &warmup));
    out->warmup_steps = (int)warmup;
    DIT_TRY(check_sources(&out->methods));
    return suite_catalogue_names("models", &out->catalogue);
}

dit_status suite_published_names_load(const char *folder, suite_published_names *out)
{
    char found[SUITE_PATH];
    *out = (suite_published_names){0};
    if (!folder) DIT_TRY(suite_published_folder(found));
    dit_status st = load_names(folder ? folder : found, out);
    if (st != DIT_OK) suite_published_names_release(out);
    return st;
}

void suite_published_names_release(suite_published_names *names)
{
    dit_json_release(&names->models);
    dit_json_release(&names->hardware);
    dit_json_release(&names->methods);
    if (names->catalogue) suite_names_free(names->catalogue);
    *names = (suite_published_names){0};
}

/* ---- names: looking up ------------------------------------------------------------------------------------------- */

bool suite_published_layer(const suite_published_names *names, const char *model, bool *causal)
{
    const char *mask = dit_json_text_or(dit_json_member(names->models.root, "layers"), model, NULL);
    *causal = mask && strcmp(mask, "causal") == 0;
    return mask != NULL;
}

const char *suite_published_model(const suite_published_names *names, const char *model, const char **why)
{
    const char *alias = dit_json_text_or(dit_json_member(names->models.root, "aliases"), model, NULL);
    *why = dit_json_text_or(dit_json_member(names->models.root, "unknown"), model, NULL);
    if (!*why) *why = "no alias and no file of workloads/models has this name";
    for (int i = 0; names->catalogue[i]; i++)
        if (strcasecmp(names->catalogue[i], alias ? alias : model) == 0) return names->catalogue[i];
    return NULL;
}

static bool list_has(const cJSON *list, const char *word)
{
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next)
        if (strcmp(item->valuestring, word) == 0) return true;
    return false;
}

static bool row_takes(const cJSON *row, int64_t gpus)
{
    const cJSON *range = dit_json_member(row, "gpus");
    return gpus >= (int64_t)range->child->valuedouble && gpus <= (int64_t)range->child->next->valuedouble;
}

suite_published_place suite_published_platform(const suite_published_names *names, const char *hardware,
                                               const char *interconnect, int64_t gpus, const char **platform)
{
    const cJSON *root = names->hardware.root;
    suite_published_place best = SUITE_PUBLISHED_HARDWARE_UNKNOWN;
    const char *alone = NULL; /* of one device whose interconnect is not in the table */
    if (list_has(dit_json_member(root, "not_stated"), hardware)) return SUITE_PUBLISHED_HARDWARE_UNSTATED;
    for (const cJSON *row = dit_json_member(root, "rows")->child; row; row = row->next) {
        if (!list_has(dit_json_member(row, "names"), hardware)) continue;
        bool joined = list_has(dit_json_member(row, "interconnects"), interconnect);
        *platform = dit_json_text_or(row, "platform", NULL);
        if (joined && row_takes(row, gpus)) return SUITE_PUBLISHED_PLATFORM;
        if (!alone && gpus == 1 && row_takes(row, 1)) alone = *platform;
        if (best != SUITE_PUBLISHED_DEVICES) best = joined ? SUITE_PUBLISHED_DEVICES : SUITE_PUBLISHED_INTERCONNECT;
    }
    if (!alone) return best;
    *platform = alone;
    return SUITE_PUBLISHED_PLATFORM;
}

const char *suite_published_profile(const suite_published_names *names, const char *runtime)
{
    return dit_json_text_or(dit_json_member(names->methods.root, "runtimes"), runtime, NULL);
}

static bool begins(const char *text, const cJSON *with)
{
    const char *start = cJSON_GetStringValue(with);
    return !start || strncmp(text, start, strlen(start)) == 0;
}

void suite_published_habits_of(const suite_published_names *names, const suite_published_point *point,
                               suite_published_habits *out)
{
    const cJSON *rows = dit_json_member(names->methods.root, "sources");
    *out = (suite_published_habits){.pipefusion_warmup_steps = -1, .scope = "pipeline"};
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        const cJSON *steps = dit_json_member(row, "pipefusion_warmup_steps"), *scope = dit_json_member(row, "scope");
        if (!begins(point->source, dit_json_member(row, "source")) ||
            !begins(point->model, dit_json_member(row, "model")) ||
            !begins(point->method, dit_json_member(row, "method")))
            continue;
        if (steps) out->pipefusion_warmup_steps = steps->valueint;
        if (scope) out->scope = cJSON_GetStringValue(scope);
        out->known = *dit_json_text_or(row, "source", "");
        out->runtime = dit_json_text_or(row, "runtime", NULL);
        out->tiling = cJSON_IsTrue(dit_json_member(row, "tiling"));
        out->prompts_differ = cJSON_IsTrue(dit_json_member(row, "prompts_differ"));
        out->synchronous_more = (int)dit_json_int_or(row, "synchronous_steps_more", 0);
        out->text_replicated = strcmp(dit_json_text_or(row, "joint_text", ""), "replicate") == 0;
        out->profiles = dit_json_member(row, "profiles");
        out->platforms = dit_json_member(row, "platforms");
        break;
    }
    if (point->scope[0]) out->scope = point->scope;
}

/* ---- the words of a method --------------------------------------------------------------------------------------- */

/* Cuts the next run of letters, in small letters, and the number behind it: "Ulysses-2 x" gives "ulysses" and 2. What
 * lies between them may be anything but letters. Returns where to go on; NULL at the end. */
static const char *take_word(const char *text, char word[32], int *number)
{
    size_t used = 0;
    while (*text && !isalpha((unsigned char)*text)) text++;
    if (!*text) return NULL;
    for (; isalpha((unsigned char)*text); text++)
        if (used + 1 < 32) word[used++] = (char)tolower((unsigned char)*text);
    word[used] = '\0';
    while (*text && !isalnum((unsigned char)*text) && !strchr("(+,;", *text)) text++;
    long value = isdigit((unsigned char)*text) ? strtol(text, NULL, 10) : 0;
    *number = value < MOST_RANKS ? (int)value : MOST_RANKS;
    return text;
}

bool suite_published_counts(const suite_published_point *point)
{
    return strcmp(point->status, SUITE_PUBLISHED_DOUBTFUL) != 0 && strcmp(point->status, SUITE_PUBLISHED_REPEATED) != 0;
}

static void take_setting(const char *key, int number, suite_published_method *out)
{
    static const char layout[] = "layout ";
    if (strcmp(key, "warmup_steps") == 0) out->warmup_steps = number;
    if (strcmp(key, "search") == 0) out->search = true;
    if (strcmp(key, "packed") == 0) out->packed = true;
    if (strncmp(key, layout, sizeof layout - 1) == 0) out->layout = key + sizeof layout - 1;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        if (strcmp(key, dit_axis_key((dit_axis)axis)) == 0 && number > 0) out->degree[axis] = number;
}

void suite_published_method_read(const suite_published_names *names, const char *method, suite_published_method *out)
{
    const cJSON *root = names->methods.root;
    char word[32];
    int number;
    *out = (suite_published_method){.warmup_steps = -1};
    while ((method = take_word(method, word, &number))) {
        const char *setting = dit_json_text_or(dit_json_member(root, "settings"), word, NULL);
        if (setting) take_setting(setting, number, out);
        if (setting || list_has(dit_json_member(root, "neutral"), word)) continue;
        snprintf(out->word, sizeof out->word, "%s", word);
        out->why = dit_json_text_or(dit_json_member(root, "refused"), word, NULL);
        return;
    }
}
