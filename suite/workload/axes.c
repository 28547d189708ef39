#include "suite/workload/axes.h"

#include "suite/catalogue/folder.h"
#include "suite/catalogue/model.h"
#include "suite/catalogue/text_encoder.h"
#include "suite/catalogue/vae.h"
#include "suite/platform/platform.h"
#include "suite/workload/matrix.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char default_platform[] = "local-cpu", default_profile[] = "ditbench";

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
    bool has_vae = one->model.vae && (pipeline || matrix->program->needs_vae || one->model.weights);
    return has_vae ? suite_vae_load(one->model.vae, &one->vae) : DIT_OK;
}

static dit_status add_model(suite_workload *workload, const char *pointer, const cJSON *value)
{
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const cJSON *name = cJSON_IsString(value) ? value : cJSON_GetObjectItemCaseSensitive(value, "name");
    const cJSON *as = cJSON_GetObjectItemCaseSensitive(value, "as");
    const cJSON *override = cJSON_GetObjectItemCaseSensitive(value, "override");
    const char *suffix = NULL, *folder = dit_json_text_or(value, "folder", NULL);
    char at[SUITE_POINTER];
    suite_model_value *larger = realloc(matrix->models, (size_t)(matrix->model_count + 1) * sizeof *larger);
    if (!larger) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a model");
    matrix->models = larger;
    suite_model *model = &larger[matrix->model_count].model;
    larger[matrix->model_count].vae = (suite_vae){0};
    dit_json_pointer_join(at, sizeof at, pointer, "name");
    DIT_TRY(place_not_found(doc, name == value ? pointer : at, suite_model_load(name->valuestring, model)));
    snprintf(larger[matrix->model_count].pointer, sizeof larger->pointer, "%.120s", pointer);
    larger[matrix->model_count++].value = value;
    DIT_TRY(load_around(matrix, &larger[matrix->model_count - 1]));
    if (!override && !folder) return DIT_OK;
    if (as) DIT_TRY(suite_require_identifier(doc, value, pointer, "as", &suffix));
    dit_json_pointer_join(at, sizeof at, pointer, "folder");
    if (folder) return suite_model_take_folder(model, &larger[matrix->model_count - 1].vae, doc, at, folder, suffix);
    dit_json_pointer_join(at, sizeof at, pointer, "override");
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
    char at[SUITE_POINTER];
    suite_parameter parameter;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "defaults", &defaults));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "axes", &axes));
    if (!defaults) return DIT_OK;
    DIT_TRY(suite_only_keys(doc, defaults, "/defaults", suite_parameter_keys()));
    for (const cJSON *value = defaults->child; value; value = value->next) {
        if (!suite_parameter_from_key(value->string, &parameter)) continue;
        dit_json_pointer_join(at, sizeof at, "/defaults", value->string);
        DIT_TRY(take_value(workload, at, parameter, value));
        workload->matrix->defaults[parameter] = value;
        workload->matrix->declared[parameter] = true;
    }
    return DIT_OK;
}

static dit_status check_distinct(const dit_json *doc, const char *pointer, const char *name, const cJSON *const *values,
                                 int index)
{
    char at[SUITE_POINTER];
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
    char at[SUITE_POINTER];
    suite_parameter_from_key(array->string, &parameter);
    if (!cJSON_IsArray(array))
        return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "an axis is an array of values"),
                              "a single value belongs under \"defaults\"");
    int length = cJSON_GetArraySize(array);
    if (!length) return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "axis %s has no values", array->string);
    if (length > SUITE_MAX_CELLS)
        return dit_json_fail(doc, pointer, DIT_ERR_WORKLOAD, "axis %s has %d values; a workload has at most %d cells",
                             array->string, length, SUITE_MAX_CELLS);
    if (matrix->varies[parameter])
        return dit_json_fail(doc, pointer, DIT_ERR_WORKLOAD, "%s is an axis already", array->string);
    if (dimension->axis_count && dimension->length != length)
        return dit_json_fail(doc, pointer, DIT_ERR_WORKLOAD,
                             "zip ties %s with %d values to %s with %d values; tied axes must be equally long",
                             array->string, length, suite_parameter_key(dimension->parameters[0]), dimension->length);
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
    char at[SUITE_POINTER];
    if (!axes) return DIT_OK;
    if (!axes->child)
        return dit_error_hint(dit_json_fail(doc, "/axes", DIT_ERR_JSON_VALUE, "axes has no axis"),
                              "leave \"axes\" out for a workload of one case");
    DIT_TRY(suite_only_keys(doc, axes, "/axes", suite_parameter_keys()));
    for (const cJSON *array = axes->child; array; array = array->next) {
        dit_json_pointer_join(at, sizeof at, "/axes", array->string);
        DIT_TRY(read_axis(workload, at, array, false, &matrix->dimensions[matrix->dimension_count++]));
    }
    return DIT_OK;
}

static dit_status read_zip(suite_workload *workload)
{
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const cJSON *zip = NULL;
    char group_at[64], at[SUITE_POINTER];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "zip", &zip));
    for (const cJSON *group = zip ? zip->child : NULL; group; group = group->next, index++) {
        snprintf(group_at, sizeof group_at, "/zip/%d", index);
        if (!cJSON_IsObject(group))
            return dit_json_fail(doc, group_at, DIT_ERR_JSON_TYPE,
                                 "zip is a list of objects, and each holds axes that move together");
        DIT_TRY(suite_only_keys(doc, group, group_at, suite_parameter_keys()));
        if (!group->child || !group->child->next)
            return dit_error_hint(dit_json_fail(doc, group_at, DIT_ERR_WORKLOAD, "a zip ties two axes or more"),
                                  "a lone axis belongs under \"axes\"");
        suite_dimension *dimension = &matrix->dimensions[matrix->dimension_count++];
        for (const cJSON *array = group->child; array; array = array->next) {
            dit_json_pointer_join(at, sizeof at, group_at, array->string);
            DIT_TRY(read_axis(workload, at, array, true, dimension));
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
                                            "the product of the axes is more than %d cells", SUITE_MAX_CELLS),
                              "tie axes with \"zip\", or split the workload; exclude only acts after the product");
    }
    return DIT_OK;
}

dit_status suite_axes_read(suite_workload *workload)
{
    const bool *declared = workload->matrix->declared;
    DIT_TRY(read_defaults(workload));
    DIT_TRY(read_axes(workload));
    DIT_TRY(read_zip(workload));
    if (!declared[SUITE_PARAMETER_PLATFORM]) DIT_TRY(add_platform(workload, "/defaults", NULL));
    if (!declared[SUITE_PARAMETER_PROFILE]) DIT_TRY(add_profile(workload, "/defaults", NULL));
    return count_cells(workload);
}
