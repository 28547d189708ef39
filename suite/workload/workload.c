/* Reading a workload: every key, type and range is checked here, with its place, before anything is multiplied out. */
#include "suite/workload/workload.h"

#include "base/expr.h"
#include "reports/figures/figure.h"
#include "suite/workload/matrix.h"
#include "suite/workload/names.h"
#include "suite/workload/notes.h"
#include "suite/published/published.h"
#include "suite/workload/settings.h"
#include "suite/catalogue/text_encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTER_BYTES = 512, MAX_IDS = 256 };

static const char default_platform[] = "local-cpu", default_profile[] = "ditbench";

/* ---- head -------------------------------------------------------------------------------------------------------- */

static bool is_identifier(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > 100 || text[0] == '.' || text[0] == '-') return false;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

static dit_status require_identifier(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                     const char **out)
{
    char at[POINTER_BYTES];
    DIT_TRY(dit_json_require_string(doc, object, pointer, key, out));
    if (is_identifier(*out)) return DIT_OK;
    suite_pointer_join(at, sizeof at, pointer, key);
    return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s \"%.100s\" cannot name a file", key, *out),
                          "use letters, digits, '.', '_' and '-', at most 100");
}

static dit_status read_head(suite_workload *workload)
{
    static const char *const programs[] = {"denoise", "vae_decode", "attention", NULL};
    static const char *const schemas[] = {"ditbench.workload/1", NULL};
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const char *schema, *name, *title, *description = "";
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "schema", &schema));
    if (strcmp(schema, schemas[0]) != 0) return suite_fail_word(doc, "/schema", "schema", schema, schemas);
    DIT_TRY(require_identifier(doc, doc->root, "", "name", &name));
    title = name;
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "title", &title));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "description", &description));
    matrix->program = programs[0];
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "program", &matrix->program));
    matrix->decodes = strcmp(matrix->program, programs[1]) == 0;
    matrix->attends = strcmp(matrix->program, programs[2]) == 0;
    if (!matrix->decodes && !matrix->attends && strcmp(matrix->program, programs[0]) != 0)
        return suite_fail_word(doc, "/program", "program", matrix->program, programs);
    snprintf(workload->name, sizeof workload->name, "%s", name);
    snprintf(workload->title, sizeof workload->title, "%.250s", title);
    return DIT_OK;
}

static dit_status read_repeat(suite_workload *workload)
{
    static const char *const keys[] = {"processes", "seed", NULL};
    const dit_json *doc = &workload->source;
    const cJSON *repeat = NULL;
    int64_t processes = 3, seed = 1;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "repeat", &repeat));
    if (repeat) {
        DIT_TRY(suite_only_keys(doc, repeat, "/repeat", keys));
        DIT_TRY(dit_json_optional_int(doc, repeat, "/repeat", "processes", 1, 1000, &processes));
        DIT_TRY(dit_json_optional_int(doc, repeat, "/repeat", "seed", 0, INT64_C(9007199254740991), &seed));
    }
    workload->processes = (int)processes;
    workload->plan_seed = (uint64_t)seed;
    return DIT_OK;
}

static dit_status read_measure(suite_workload *workload)
{
    static const char *const keys[] = {"warmup_runs", "iterations", "deadline_s", "trace", "scope", "waits", NULL};
    static const char *const scopes[] = {"denoise", "latents", "pipeline", NULL};
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const cJSON *measure = NULL;
    matrix->warmup_runs = 1;
    matrix->iterations = 3;
    matrix->deadline_s = 600;
    matrix->scope = scopes[0];
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "measure", &measure));
    if (!measure) return DIT_OK;
    DIT_TRY(suite_only_keys(doc, measure, "/measure", keys));
    DIT_TRY(dit_json_optional_int(doc, measure, "/measure", "warmup_runs", 0, 1000, &matrix->warmup_runs));
    DIT_TRY(dit_json_optional_int(doc, measure, "/measure", "iterations", 1, 100000, &matrix->iterations));
    DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "trace", &matrix->trace));
    DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "waits", &matrix->waits));
    DIT_TRY(dit_json_optional_string(doc, measure, "/measure", "scope", &matrix->scope));
    int found = 0;
    while (scopes[found] && strcmp(matrix->scope, scopes[found]) != 0) found++;
    if (!scopes[found]) return suite_fail_word(doc, "/measure/scope", "scope", matrix->scope, scopes);
    return dit_json_optional_int(doc, measure, "/measure", "deadline_s", 1, 604800, &matrix->deadline_s);
}

/* ---- values that name data files --------------------------------------------------------------------------------- */

/* A complaint about a name gets the place of the name; one inside the data file already has a place of its own. */
static dit_status place_not_found(const dit_json *doc, const char *pointer, dit_status st)
{
    char message[1024], hint[512];
    if (st != DIT_ERR_NOT_FOUND) return st;
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    snprintf(hint, sizeof hint, "%s", dit_error_last()->hint);
    return dit_error_hint(dit_json_fail(doc, pointer, st, "%s", message), "%s", hint);
}

/* What comes before and after the transformer, as far as the program or its scope has it. */
static dit_status load_around(const suite_matrix *matrix, suite_model_value *one)
{
    bool pipeline = strcmp(matrix->scope, "denoise") != 0;
    int texts = strcmp(one->model.guidance, "cfg") == 0 ? 2 : 1;
    if (pipeline) DIT_TRY(suite_text_encoders_resolve(&one->model.source, one->model.text_encoders, texts));
    return (pipeline || matrix->decodes) && one->model.vae ? suite_vae_load(one->model.vae, &one->vae) : DIT_OK;
}

static dit_status add_model(suite_workload *workload, const char *pointer, const cJSON *value)
{
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const cJSON *name = cJSON_IsString(value) ? value : cJSON_GetObjectItemCaseSensitive(value, "name");
    const cJSON *as = cJSON_GetObjectItemCaseSensitive(value, "as");
    const cJSON *override = cJSON_GetObjectItemCaseSensitive(value, "override");
    const char *suffix = NULL;
    char at[POINTER_BYTES];
    suite_model_value *larger = realloc(matrix->models, (size_t)(matrix->model_count + 1) * sizeof *larger);
    if (!larger) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a model");
    matrix->models = larger;
    suite_model *model = &larger[matrix->model_count].model;
    larger[matrix->model_count].vae = (suite_vae){0};
    suite_pointer_join(at, sizeof at, pointer, "name");
    DIT_TRY(place_not_found(doc, name == value ? pointer : at, suite_model_load(name->valuestring, model)));
    snprintf(larger[matrix->model_count].pointer, sizeof larger->pointer, "%.120s", pointer);
    larger[matrix->model_count++].value = value;
    DIT_TRY(load_around(matrix, &larger[matrix->model_count - 1]));
    if (!override) return DIT_OK;
    if (as) DIT_TRY(require_identifier(doc, value, pointer, "as", &suffix));
    suite_pointer_join(at, sizeof at, pointer, "override");
    return suite_model_override(model, doc, at, override, suffix);
}

static dit_status add_platform(suite_workload *workload, const char *pointer, const cJSON *value)
{
    suite_matrix *matrix = workload->matrix;
    suite_platform_value *larger = realloc(matrix->platforms, (size_t)(matrix->platform_count + 1) * sizeof *larger);
    if (!larger) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a platform");
    matrix->platforms = larger;
    dit_status st =
        suite_platform_load(value ? value->valuestring : default_platform, &larger[matrix->platform_count].platform);
    DIT_TRY(place_not_found(&workload->source, pointer, st));
    larger[matrix->platform_count++].value = value;
    return DIT_OK;
}

static dit_status add_profile(suite_workload *workload, const char *pointer, const cJSON *value)
{
    suite_matrix *matrix = workload->matrix;
    suite_profile_value *larger = realloc(matrix->profiles, (size_t)(matrix->profile_count + 1) * sizeof *larger);
    if (!larger) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a profile");
    matrix->profiles = larger;
    dit_status st =
        suite_profile_load(value ? value->valuestring : default_profile, &larger[matrix->profile_count].profile);
    DIT_TRY(place_not_found(&workload->source, pointer, st));
    larger[matrix->profile_count++].value = value;
    return DIT_OK;
}

/* One value of a parameter, wherever it stands. */
static dit_status take_value(suite_workload *workload, const char *pointer, suite_parameter parameter,
                             const cJSON *value)
{
    DIT_TRY(suite_parameter_check(&workload->source, pointer, parameter, value));
    if (parameter == SUITE_PARAMETER_MODEL) return add_model(workload, pointer, value);
    if (parameter == SUITE_PARAMETER_PLATFORM) return add_platform(workload, pointer, value);
    if (parameter == SUITE_PARAMETER_PROFILE) return add_profile(workload, pointer, value);
    return DIT_OK;
}

/* ---- defaults, axes, zip ----------------------------------------------------------------------------------------- */

static dit_status read_defaults(suite_workload *workload)
{
    const dit_json *doc = &workload->source;
    const cJSON *defaults = NULL, *axes = NULL;
    char at[POINTER_BYTES];
    suite_parameter parameter;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "defaults", &defaults));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "axes", &axes));
    if (!defaults) return DIT_OK;
    DIT_TRY(suite_only_keys(doc, defaults, "/defaults", suite_parameter_keys()));
    for (const cJSON *value = defaults->child; value; value = value->next) {
        if (!suite_parameter_from_key(value->string, &parameter)) continue;
        suite_pointer_join(at, sizeof at, "/defaults", value->string);
        DIT_TRY(take_value(workload, at, parameter, value));
        workload->matrix->defaults[parameter] = value;
        workload->matrix->declared[parameter] = true;
    }
    return DIT_OK;
}

static dit_status check_distinct(const dit_json *doc, const char *pointer, const char *name, const cJSON *const *values,
                                 int index)
{
    char at[POINTER_BYTES];
    for (int i = 0; i < index; i++) {
        if (!cJSON_Compare(values[i], values[index], 1)) continue;
        snprintf(at, sizeof at, "%s/%d", pointer, index);
        return dit_error_hint(
            dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s repeats the value at %s/%d", name, pointer, i),
            "remove one of the two");
    }
    return DIT_OK;
}

/* Reads one axis into `dimension`. `tied` axes may repeat a value: a zip pairs it with others. */
static dit_status read_axis(suite_workload *workload, const char *pointer, const cJSON *array, bool tied,
                            suite_dimension *dimension)
{
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    suite_parameter parameter = SUITE_PARAMETER_MODEL;
    char at[POINTER_BYTES];
    suite_parameter_from_key(array->string, &parameter);
    if (!cJSON_IsArray(array))
        return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "an axis is an array of values"),
                              "a single value belongs under \"defaults\"");
    int length = cJSON_GetArraySize(array);
    if (!length) return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "axis %s has no values", array->string);
    if (length > SUITE_MAX_CELLS)
        return dit_json_fail(doc, pointer, DIT_ERR_WORKLOAD,
                             "axis %s has %d values, more than %d cells are not expanded", array->string, length,
                             SUITE_MAX_CELLS);
    if (matrix->varies[parameter])
        return dit_json_fail(doc, pointer, DIT_ERR_WORKLOAD, "%s is an axis already", array->string);
    if (dimension->axis_count && dimension->length != length)
        return dit_json_fail(doc, pointer, DIT_ERR_WORKLOAD, "zip ties %s with %d values to %s with %d", array->string,
                             length, suite_parameter_key(dimension->parameters[0]), dimension->length);
    matrix->varies[parameter] = matrix->declared[parameter] = true;
    const cJSON **values = calloc((size_t)length, sizeof *values);
    if (!values) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an axis");
    dimension->values[dimension->axis_count] = values;
    dimension->parameters[dimension->axis_count++] = parameter;
    dimension->length = length;
    int index = 0;
    for (const cJSON *value = array->child; value; value = value->next, index++) {
        snprintf(at, sizeof at, "%s/%d", pointer, index);
        values[index] = value;
        DIT_TRY(take_value(workload, at, parameter, value));
        if (!tied && length <= 1000) DIT_TRY(check_distinct(doc, pointer, array->string, values, index));
    }
    return DIT_OK;
}

static dit_status read_axes(suite_workload *workload)
{
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(doc->root, "axes");
    char at[POINTER_BYTES];
    if (!axes) return DIT_OK;
    if (!axes->child)
        return dit_error_hint(dit_json_fail(doc, "/axes", DIT_ERR_JSON_VALUE, "axes has no axis"),
                              "leave \"axes\" out for a workload of one case");
    DIT_TRY(suite_only_keys(doc, axes, "/axes", suite_parameter_keys()));
    for (const cJSON *array = axes->child; array; array = array->next) {
        suite_pointer_join(at, sizeof at, "/axes", array->string);
        DIT_TRY(read_axis(workload, at, array, false, &matrix->dimensions[matrix->dimension_count++]));
    }
    return DIT_OK;
}

static dit_status read_zip(suite_workload *workload)
{
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const cJSON *zip = NULL;
    char group_at[64], at[POINTER_BYTES];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "zip", &zip));
    for (const cJSON *group = zip ? zip->child : NULL; group; group = group->next, index++) {
        snprintf(group_at, sizeof group_at, "/zip/%d", index);
        if (!cJSON_IsObject(group))
            return dit_json_fail(doc, group_at, DIT_ERR_JSON_TYPE, "zip holds objects of axes that move together");
        DIT_TRY(suite_only_keys(doc, group, group_at, suite_parameter_keys()));
        if (!group->child || !group->child->next)
            return dit_error_hint(dit_json_fail(doc, group_at, DIT_ERR_WORKLOAD, "a zip ties two axes or more"),
                                  "a lone axis belongs under \"axes\"");
        suite_dimension *dimension = &matrix->dimensions[matrix->dimension_count++];
        for (const cJSON *array = group->child; array; array = array->next) {
            suite_pointer_join(at, sizeof at, group_at, array->string);
            DIT_TRY(read_axis(workload, at, array, true, dimension));
        }
    }
    return DIT_OK;
}

/* ---- rules between parameters ------------------------------------------------------------------------------------ */

/* Place of a declared parameter, for messages. */
static void place_of(const suite_workload *workload, suite_parameter parameter, char *out, size_t size)
{
    const cJSON *root = workload->source.root, *group;
    const char *key = suite_parameter_key(parameter);
    int index = 0;
    if (workload->matrix->defaults[parameter] && !workload->matrix->varies[parameter]) {
        snprintf(out, size, "/defaults/%s", key);
        return;
    }
    snprintf(out, size, "/axes/%s", key);
    cJSON_ArrayForEach(group, cJSON_GetObjectItemCaseSensitive(root, "zip"))
    {
        if (cJSON_GetObjectItemCaseSensitive(group, key)) snprintf(out, size, "/zip/%d/%s", index, key);
        index++;
    }
}

static dit_status refuse_pair(const suite_workload *workload, suite_parameter one, suite_parameter other)
{
    char at[POINTER_BYTES];
    if (!workload->matrix->declared[one] || !workload->matrix->declared[other]) return DIT_OK;
    place_of(workload, other, at, sizeof at);
    return dit_error_hint(dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD, "%s and %s decide the same thing",
                                        suite_parameter_key(one), suite_parameter_key(other)),
                          "keep one of the two");
}

/* PIPELINES: denoise whose scope has what is around it. */
enum { DENOISES = 1, DECODES = 2, ATTENDS = 4, PIPELINES = 8 };

/* Which programs read a parameter. */
static int readers_of(suite_parameter parameter)
{
    switch (parameter) {
    case SUITE_PARAMETER_NUM_INFERENCE_STEPS:
    case SUITE_PARAMETER_GUIDANCE_SCALE:
    case SUITE_PARAMETER_TEXT_TOKENS:
    case SUITE_PARAMETER_SCHEDULER:
    case SUITE_PARAMETER_PATCH_DEGREE:
    case SUITE_PARAMETER_PATCH_METHOD:
    case SUITE_PARAMETER_WARMUP_STEPS:
    case SUITE_PARAMETER_NUM_PIPELINE_PATCH:
    case SUITE_PARAMETER_STAGE_BLOCKS:
    case SUITE_PARAMETER_PATCH_FRACTION:
    case SUITE_PARAMETER_JOINT_TEXT: return DENOISES;
    case SUITE_PARAMETER_ATTENTION: return DENOISES | ATTENDS;
    case SUITE_PARAMETER_ROWS_DEGREE: return DECODES;
    case SUITE_PARAMETER_TILING: return DECODES | PIPELINES;
    case SUITE_PARAMETER_MODEL:
    case SUITE_PARAMETER_RESOLUTION:
    case SUITE_PARAMETER_HEIGHT_PX:
    case SUITE_PARAMETER_WIDTH_PX:
    case SUITE_PARAMETER_NUM_FRAMES:
    case SUITE_PARAMETER_NUM_IMAGES:
    case SUITE_PARAMETER_WEIGHTS_SEED: return DENOISES | DECODES;
    default:
        return parameter >= SUITE_PARAMETER_TOKENS && parameter <= SUITE_PARAMETER_PAD_HEADS
                   ? ATTENDS
                   : DENOISES | DECODES | ATTENDS;
    }
}

/* A parameter that the program does not read would be a wish without effect. */
static dit_status check_meant(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    int program = matrix->decodes ? DECODES : matrix->attends ? ATTENDS : DENOISES;
    char at[POINTER_BYTES];
    if (strcmp(matrix->scope, "denoise") != 0) program |= PIPELINES;
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) {
        int readers = readers_of((suite_parameter)p);
        if (!matrix->declared[p] || readers & program) continue;
        place_of(workload, (suite_parameter)p, at, sizeof at);
        return dit_error_hint(dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD, "%s means nothing to program %s",
                                            suite_parameter_key((suite_parameter)p), matrix->program),
                              "leave it out, or make it a workload of program %s",
                              readers & DENOISES  ? "denoise"
                              : readers & DECODES ? "vae_decode"
                                                  : "attention");
    }
    return DIT_OK;
}

/* Software and scope are of the cost model, the element type of it and of devices: with neither they would be wishes
 * without effect, and a measured time never covers more than the denoising. */
/* Puts the names of the shipped profiles into `out`, with commas between. */
static dit_status list_profiles(char *out, size_t size)
{
    char **names;
    size_t used = 0;
    DIT_TRY(suite_catalogue_names("profiles", &names));
    out[0] = '\0';
    for (int i = 0; names[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", names[i]);
    suite_names_free(names);
    return DIT_OK;
}

/* Refuses simulated platforms without a profile: times differ by a factor of two between software stacks, and none of
 * them goes without saying. */
static dit_status check_profile(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    char at[POINTER_BYTES], profiles[400];
    int i = 0;
    while (i < matrix->platform_count && strcmp(matrix->platforms[i].platform.backend, "cost") != 0) i++;
    if (i == matrix->platform_count || matrix->declared[SUITE_PARAMETER_PROFILE]) return DIT_OK;
    DIT_TRY(list_profiles(profiles, sizeof profiles));
    place_of(workload, SUITE_PARAMETER_PLATFORM, at, sizeof at);
    return dit_error_hint(
        dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD,
                      "platform %s is simulated, and \"profile\" does not say which software runs on it",
                      matrix->platforms[i].platform.name),
        "add \"profile\": one of %s (workloads/profiles says what each is)", profiles);
}

static dit_status check_simulated(const suite_workload *workload)
{
    static const struct {
        suite_parameter parameter;
        bool of_simulated, of_devices;
    } special[] = {{SUITE_PARAMETER_PROFILE, true, false},
                   {SUITE_PARAMETER_ELEMENT, true, true},
                   {SUITE_PARAMETER_FP8_LINEAR, false, true},
                   {SUITE_PARAMETER_GRAPHS, false, true}};
    const suite_matrix *matrix = workload->matrix;
    int simulated = 0, on_device = 0;
    char at[POINTER_BYTES];
    for (int i = 0; i < matrix->platform_count; i++) {
        simulated += strcmp(matrix->platforms[i].platform.backend, "cost") == 0;
        on_device += matrix->platforms[i].platform.on_device;
    }
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        bool meant = (special[i].of_simulated && simulated) || (special[i].of_devices && on_device);
        if (!matrix->declared[special[i].parameter] || meant) continue;
        place_of(workload, special[i].parameter, at, sizeof at);
        return dit_error_hint(dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD,
                                            "%s needs a platform that %s, and there is none",
                                            suite_parameter_key(special[i].parameter),
                                            !special[i].of_simulated ? "is a GPU"
                                            : special[i].of_devices  ? "is simulated or a GPU"
                                                                     : "is simulated"),
                              "leave it out, or name a platform of backend %s (ditbench list platforms)",
                              !special[i].of_simulated ? "cuda"
                              : special[i].of_devices  ? "cuda or cost"
                                                       : "cost");
    }
    if (matrix->waits && (!matrix->attends || simulated < matrix->platform_count))
        return dit_error_hint(dit_json_fail(&workload->source, "/measure/waits", DIT_ERR_WORKLOAD,
                                            "waits needs program attention and simulated platforms only"),
                              "leave it out: what is measured waits after every forward");
    if (strcmp(matrix->scope, "denoise") == 0 || simulated == matrix->platform_count) return DIT_OK;
    return dit_error_hint(dit_json_fail(&workload->source, "/measure/scope", DIT_ERR_WORKLOAD,
                                        "scope %s needs simulated platforms, and not all are", matrix->scope),
                          "measured times are of denoising; program vae_decode measures decoders");
}

static dit_status check_pairs(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    char at[POINTER_BYTES];
    DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_RESOLUTION, SUITE_PARAMETER_HEIGHT_PX));
    DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_RESOLUTION, SUITE_PARAMETER_WIDTH_PX));
    for (int p = SUITE_PARAMETER_DATA_DEGREE; p <= SUITE_PARAMETER_ROWS_DEGREE; p++)
        DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_METHOD, (suite_parameter)p));
    if (matrix->declared[SUITE_PARAMETER_METHOD] && !matrix->declared[SUITE_PARAMETER_WORLD_SIZE]) {
        place_of(workload, SUITE_PARAMETER_METHOD, at, sizeof at);
        return dit_error_hint(dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD, "method needs a world_size"),
                              "add world_size to \"defaults\" or \"axes\"");
    }
    return DIT_OK;
}

static dit_status check_schedulers(const suite_workload *workload, const char *pointer, const cJSON *override)
{
    const suite_matrix *matrix = workload->matrix;
    for (int i = 0; i < matrix->model_count; i++) {
        cJSON *laid = NULL;
        if (!matrix->models[i].model.config) continue;
        DIT_TRY(suite_model_scheduler(&matrix->models[i].model, &workload->source, pointer, override, &laid));
        cJSON_Delete(laid);
    }
    return DIT_OK;
}

static dit_status check_all_schedulers(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    char at[POINTER_BYTES], value_at[POINTER_BYTES + 16];
    place_of(workload, SUITE_PARAMETER_SCHEDULER, at, sizeof at);
    if (!matrix->varies[SUITE_PARAMETER_SCHEDULER])
        return matrix->defaults[SUITE_PARAMETER_SCHEDULER]
                   ? check_schedulers(workload, at, matrix->defaults[SUITE_PARAMETER_SCHEDULER])
                   : DIT_OK;
    for (int d = 0; d < matrix->dimension_count; d++) {
        const suite_dimension *dimension = &matrix->dimensions[d];
        for (int a = 0; a < dimension->axis_count; a++) {
            if (dimension->parameters[a] != SUITE_PARAMETER_SCHEDULER) continue;
            for (int i = 0; i < dimension->length; i++) {
                snprintf(value_at, sizeof value_at, "%s/%d", at, i);
                DIT_TRY(check_schedulers(workload, value_at, dimension->values[a][i]));
            }
        }
    }
    return DIT_OK;
}

static dit_status count_cells(suite_workload *workload)
{
    suite_matrix *matrix = workload->matrix;
    matrix->cell_count = 1;
    for (int d = 0; d < matrix->dimension_count; d++) {
        matrix->cell_count *= matrix->dimensions[d].length;
        if (matrix->cell_count <= SUITE_MAX_CELLS) continue;
        return dit_error_hint(dit_json_fail(&workload->source, "/axes", DIT_ERR_WORKLOAD,
                                            "the axes multiply to more than %d cells", SUITE_MAX_CELLS),
                              "tie axes with \"zip\", or split the workload; exclude only acts after the product");
    }
    return DIT_OK;
}

/* ---- expressions, plots, claims ---------------------------------------------------------------------------------- */

static dit_status check_syntax(const dit_json *doc, const char *pointer, const char *text)
{
    char message[1024];
    dit_status st = dit_expr_check(text);
    if (st == DIT_OK) return DIT_OK;
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    return dit_json_fail(doc, pointer, st, "%s", message);
}

static dit_status read_expressions(const dit_json *doc, const char *key, const cJSON **out)
{
    char at[POINTER_BYTES];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", key, out));
    for (const cJSON *item = *out ? (*out)->child : NULL; item; item = item->next, index++) {
        snprintf(at, sizeof at, "/%s/%d", key, index);
        if (!cJSON_IsString(item))
            return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "%s holds expressions as strings", key);
        DIT_TRY(check_syntax(doc, at, item->valuestring));
    }
    return DIT_OK;
}

/* An identifier that no earlier entry of `array` has. */
static dit_status require_new_id(const dit_json *doc, const cJSON *array, const cJSON *entry, const char *pointer)
{
    const char *id;
    char at[POINTER_BYTES];
    DIT_TRY(require_identifier(doc, entry, pointer, "id", &id));
    for (const cJSON *earlier = array->child; earlier != entry; earlier = earlier->next) {
        if (strcmp(cJSON_GetObjectItemCaseSensitive(earlier, "id")->valuestring, id) != 0) continue;
        suite_pointer_join(at, sizeof at, pointer, "id");
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "id \"%s\" is taken", id);
    }
    return DIT_OK;
}

static bool is_plot_tag(const char *tag)
{
    static const char *const made_by_reports[] = {"status", "evidence", "label", NULL};
    for (const char *const *name = suite_tag_names(); *name; name++)
        if (strcmp(*name, tag) == 0) return true;
    for (const char *const *name = made_by_reports; *name; name++)
        if (strcmp(*name, tag) == 0) return true;
    return false;
}

/* One tag, or several: "method, model". */
static dit_status check_tags(const dit_json *doc, const cJSON *entry, const char *pointer, const char *key)
{
    const char *list = NULL;
    char at[POINTER_BYTES], tag[64];
    DIT_TRY(dit_json_optional_string(doc, entry, pointer, key, &list));
    suite_pointer_join(at, sizeof at, pointer, key);
    while (list && *list) {
        size_t length = strcspn(list, ", ");
        snprintf(tag, sizeof tag, "%.*s", (int)length, list);
        if (!is_plot_tag(tag)) return suite_fail_word(doc, at, key, tag, suite_tag_names());
        list += length;
        list += strspn(list, ", ");
    }
    return DIT_OK;
}

static dit_status require_word(const dit_json *doc, const char *pointer, const char *key, const char *word,
                               const char *const *words)
{
    char at[POINTER_BYTES];
    suite_pointer_join(at, sizeof at, pointer, key);
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) return DIT_OK;
    return suite_fail_word(doc, at, key, word, words);
}

static dit_status check_plot(const dit_json *doc, const cJSON *array, const cJSON *plot, const char *pointer)
{
    static const char *const keys[] = {"id",    "kind", "title", "where", "x", "series",
                                       "panel", "axis", "best",  "pair",  NULL};
    const char *kind, *title, *where = NULL, *axis = NULL, *best = NULL;
    char at[POINTER_BYTES];
    DIT_TRY(suite_only_keys(doc, plot, pointer, keys));
    DIT_TRY(require_new_id(doc, array, plot, pointer));
    DIT_TRY(dit_json_require_string(doc, plot, pointer, "kind", &kind));
    DIT_TRY(dit_json_require_string(doc, plot, pointer, "title", &title));
    DIT_TRY(require_word(doc, pointer, "kind", kind, report_figure_kind_names()));
    DIT_TRY(check_tags(doc, plot, pointer, "x"));
    DIT_TRY(check_tags(doc, plot, pointer, "series"));
    DIT_TRY(check_tags(doc, plot, pointer, "panel"));
    DIT_TRY(check_tags(doc, plot, pointer, "pair"));
    DIT_TRY(dit_json_optional_string(doc, plot, pointer, "best", &best));
    DIT_TRY(dit_json_optional_string(doc, plot, pointer, "axis", &axis));
    if (axis) DIT_TRY(require_word(doc, pointer, "axis", axis, report_axis_names()));
    DIT_TRY(dit_json_optional_string(doc, plot, pointer, "where", &where));
    suite_pointer_join(at, sizeof at, pointer, "where");
    return where ? check_syntax(doc, at, where) : DIT_OK;
}

static dit_status check_claim(const dit_json *doc, const cJSON *array, const cJSON *claim, const char *pointer)
{
    static const char *const keys[] = {"id", "claim", "source", "expr", "partly", "because", "requires", NULL};
    const char *text, *expr, *source = NULL, *partly = NULL, *because = NULL, *required = NULL;
    char at[POINTER_BYTES];
    DIT_TRY(suite_only_keys(doc, claim, pointer, keys));
    DIT_TRY(require_new_id(doc, array, claim, pointer));
    DIT_TRY(dit_json_require_string(doc, claim, pointer, "claim", &text));
    DIT_TRY(dit_json_optional_string(doc, claim, pointer, "source", &source));
    DIT_TRY(dit_json_require_string(doc, claim, pointer, "expr", &expr));
    DIT_TRY(dit_json_optional_string(doc, claim, pointer, "requires", &required));
    suite_pointer_join(at, sizeof at, pointer, "expr");
    DIT_TRY(check_syntax(doc, at, expr));
    DIT_TRY(dit_json_optional_string(doc, claim, pointer, "because", &because));
    DIT_TRY(dit_json_optional_string(doc, claim, pointer, "partly", &partly));
    suite_pointer_join(at, sizeof at, pointer, "partly");
    if (partly) DIT_TRY(check_syntax(doc, at, partly));
    suite_pointer_join(at, sizeof at, pointer, "requires");
    return required ? check_syntax(doc, at, required) : DIT_OK;
}

/* What is taken for stated where a source is silent. */
static dit_status check_assume(const dit_json *doc, const cJSON *entry, const char *pointer)
{
    static const char *const keys[] = {"steps", "frames", "hardware", "interconnect", NULL};
    const cJSON *assume = NULL;
    const char *text;
    char at[POINTER_BYTES];
    int64_t count;
    suite_pointer_join(at, sizeof at, pointer, "assume");
    DIT_TRY(dit_json_optional_object(doc, entry, pointer, "assume", &assume));
    if (!assume) return DIT_OK;
    DIT_TRY(suite_only_keys(doc, assume, at, keys));
    DIT_TRY(dit_json_optional_int(doc, assume, at, "steps", 1, 100000, &count));
    DIT_TRY(dit_json_optional_int(doc, assume, at, "frames", 1, 1 << 20, &count));
    DIT_TRY(dit_json_optional_string(doc, assume, at, "hardware", &text));
    return dit_json_optional_string(doc, assume, at, "interconnect", &text);
}

/* Refuses a file that is not there or cannot be read: a run would find out only after everything else. */
static dit_status check_points(const dit_json *doc, const char *pointer, const char *file)
{
    suite_published points = {0};
    char path[SUITE_PATH], at[POINTER_BYTES], message[512];
    bool own;
    dit_status st = suite_published_find(doc->path, file, &own, path);
    if (st == DIT_OK) return st = suite_published_read(path, &points), suite_published_release(&points), st;
    if (st != DIT_ERR_NOT_FOUND) return st;
    snprintf(message, sizeof message, "%.500s", dit_error_last()->message);
    suite_pointer_join(at, sizeof at, pointer, "file");
    return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s", message),
                          "a path relative to the workload, or a name of results/published");
}

/* Checks one entry of "published": a file of points, and an expression that chooses among them. */
static dit_status check_published(const dit_json *doc, const cJSON *array, const cJSON *entry, const char *pointer)
{
    static const char *const keys[] = {"file", "where", "assume", NULL};
    const char *file, *where = NULL;
    char at[POINTER_BYTES];
    (void)array;
    DIT_TRY(suite_only_keys(doc, entry, pointer, keys));
    DIT_TRY(check_assume(doc, entry, pointer));
    DIT_TRY(dit_json_require_string(doc, entry, pointer, "file", &file));
    DIT_TRY(dit_json_optional_string(doc, entry, pointer, "where", &where));
    suite_pointer_join(at, sizeof at, pointer, "where");
    if (where) DIT_TRY(check_syntax(doc, at, where));
    return check_points(doc, pointer, file);
}

static dit_status read_entries(const dit_json *doc, const char *key, const cJSON **out,
                               dit_status (*check)(const dit_json *, const cJSON *, const cJSON *, const char *))
{
    char at[POINTER_BYTES];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", key, out));
    for (const cJSON *entry = *out ? (*out)->child : NULL; entry; entry = entry->next, index++) {
        snprintf(at, sizeof at, "/%s/%d", key, index);
        if (!cJSON_IsObject(entry)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "%s holds objects", key);
        if (index >= MAX_IDS) return dit_json_fail(doc, at, DIT_ERR_WORKLOAD, "more than %d %s", MAX_IDS, key);
        DIT_TRY(check(doc, *out, entry, at));
    }
    return DIT_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static dit_status check_model_named(const suite_workload *workload)
{
    static const suite_parameter layer[] = {SUITE_PARAMETER_TOKENS, SUITE_PARAMETER_HEADS, SUITE_PARAMETER_HEAD_DIM};
    const bool *declared = workload->matrix->declared;
    for (size_t i = 0; workload->matrix->attends && i < sizeof layer / sizeof *layer; i++) {
        if (declared[layer[i]]) continue;
        const char *key = suite_parameter_key(layer[i]);
        return dit_error_hint(
            dit_json_fail(&workload->source, "/defaults", DIT_ERR_JSON_MISSING, "a layer has %s", key),
            "add \"%s\" to \"defaults\" or \"axes\"", key);
    }
    if (declared[SUITE_PARAMETER_MODEL] || workload->matrix->attends) return DIT_OK;
    return dit_error_hint(dit_json_fail(&workload->source, "/defaults", DIT_ERR_JSON_MISSING, "no model is named"),
                          "add \"model\" to \"defaults\" or \"axes\"");
}

static dit_status read_workload(suite_workload *workload)
{
    static const char *const keys[] = {"schema", "name",   "title",     "description", "program", "defaults",
                                       "axes",   "zip",    "exclude",   "constraints", "repeat",  "measure",
                                       "plots",  "expect", "notes_for", "published",   NULL};
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    DIT_TRY(suite_only_keys(doc, doc->root, "", keys));
    DIT_TRY(read_head(workload));
    DIT_TRY(read_repeat(workload));
    DIT_TRY(read_measure(workload));
    DIT_TRY(read_defaults(workload));
    DIT_TRY(read_axes(workload));
    DIT_TRY(read_zip(workload));
    DIT_TRY(check_meant(workload));
    DIT_TRY(check_model_named(workload));
    DIT_TRY(check_pairs(workload));
    DIT_TRY(check_all_schedulers(workload));
    if (!matrix->declared[SUITE_PARAMETER_PLATFORM]) DIT_TRY(add_platform(workload, "/defaults", NULL));
    if (!matrix->declared[SUITE_PARAMETER_PROFILE]) DIT_TRY(add_profile(workload, "/defaults", NULL));
    DIT_TRY(check_profile(workload));
    DIT_TRY(check_simulated(workload));
    DIT_TRY(count_cells(workload));
    DIT_TRY(read_expressions(doc, "exclude", &matrix->exclude));
    DIT_TRY(read_expressions(doc, "constraints", &matrix->constraints));
    DIT_TRY(read_entries(doc, "plots", &workload->plots, check_plot));
    DIT_TRY(read_entries(doc, "published", &workload->published, check_published));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "notes_for", &workload->notes_for));
    return read_entries(doc, "expect", &workload->expect, check_claim);
}

static dit_status hash_source(suite_workload *workload)
{
    char *text;
    DIT_TRY(suite_notes_digest(workload->source.root, workload->parameters));
    DIT_TRY(dit_json_canonical(workload->source.root, &text));
    dit_hash(text, strlen(text), workload->hash);
    free(text);
    return DIT_OK;
}

/* `workload->source` is parsed. */
static dit_status finish(suite_workload *workload)
{
    workload->matrix = calloc(1, sizeof *workload->matrix);
    if (!workload->matrix) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a workload");
    DIT_TRY(read_workload(workload));
    DIT_TRY(hash_source(workload));
    DIT_TRY(suite_expand(workload));
    return suite_names_check(workload);
}

dit_status suite_workload_parse(const char *text, size_t length, const char *path, suite_workload *out)
{
    *out = (suite_workload){0};
    DIT_TRY(dit_json_parse(text, length, path, &out->source));
    dit_status st = finish(out);
    if (st != DIT_OK) suite_workload_release(out);
    return st;
}

dit_status suite_workload_load(const char *path, suite_workload *out)
{
    return suite_workload_load_set(path, NULL, out);
}

/* A complaint about a place of the file should not hide that the command line changed what stands there. */
static dit_status note_settings(const suite_strings *settings, dit_status st)
{
    for (int i = 0; settings && i < settings->count && st != DIT_OK; i++)
        dit_error_note(st, "applying --set %.100s", settings->items[i]);
    return st;
}

dit_status suite_workload_load_set(const char *path, const suite_strings *settings, suite_workload *out)
{
    char found[4096];
    *out = (suite_workload){0};
    DIT_TRY(suite_workload_find(path, found, sizeof found));
    DIT_TRY(dit_json_read_file(found, &out->source));
    dit_status st = suite_settings_apply(settings, &out->source, &out->settings);
    if (st == DIT_OK) st = note_settings(settings, finish(out));
    if (st != DIT_OK) suite_workload_release(out);
    return st;
}

/* How many cells were dropped for the reason of number `index`; 0 when an earlier one had it. */
static int count_reason(const suite_workload *workload, int index)
{
    const suite_dropped *dropped = workload->dropped;
    int count = 0;
    for (int i = 0; i < workload->dropped_count; i++) {
        bool same = dropped[i].code == dropped[index].code;
        if (same && i < index) return 0;
        count += same;
    }
    return count;
}

dit_status suite_workload_require_cases(const suite_workload *workload)
{
    char reasons[700] = "";
    size_t used = 0;
    if (workload->case_count > 0) return DIT_OK;
    for (int i = 0; i < workload->dropped_count && used < sizeof reasons; i++) {
        int count = count_reason(workload, i);
        if (count)
            used += (size_t)snprintf(reasons + used, sizeof reasons - used, "%s%d x %s (%.160s)", used ? "; " : "",
                                     count, dit_status_name(workload->dropped[i].code), workload->dropped[i].reason);
    }
    dit_status st = DIT_FAIL(DIT_ERR_WORKLOAD, "%s: no case is left of %d cell%s: %s", workload->source.path,
                             workload->dropped_count, workload->dropped_count == 1 ? "" : "s", reasons);
    return dit_error_hint(st, "`ditbench expand` shows each dropped cell with its reason");
}

void suite_matrix_free(suite_matrix *matrix)
{
    if (!matrix) return;
    for (int d = 0; d < matrix->dimension_count; d++)
        for (int a = 0; a < matrix->dimensions[d].axis_count; a++) free(matrix->dimensions[d].values[a]);
    for (int i = 0; i < matrix->model_count; i++) {
        suite_model_release(&matrix->models[i].model);
        suite_vae_release(&matrix->models[i].vae);
    }
    free(matrix->models);
    free(matrix->platforms);
    free(matrix->profiles);
    free(matrix);
}

void suite_workload_release(suite_workload *workload)
{
    for (int i = 0; i < workload->case_count; i++) {
        cJSON_Delete(workload->cases[i].document);
        cJSON_Delete(workload->cases[i].tags);
    }
    for (int i = 0; i < workload->dropped_count; i++) {
        cJSON_Delete(workload->dropped[i].cell);
        cJSON_Delete(workload->dropped[i].tags);
    }
    free(workload->cases);
    free(workload->dropped);
    suite_matrix_free(workload->matrix);
    cJSON_Delete(workload->settings);
    dit_json_release(&workload->source);
    *workload = (suite_workload){0};
}
