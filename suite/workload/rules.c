#include "suite/workload/rules.h"

#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/model.h"
#include "suite/workload/matrix.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>
#include <string.h>

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
    char at[SUITE_POINTER];
    if (!workload->matrix->declared[one] || !workload->matrix->declared[other]) return DIT_OK;
    place_of(workload, other, at, sizeof at);
    return dit_error_hint(dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD, "%s and %s decide the same thing",
                                        suite_parameter_key(one), suite_parameter_key(other)),
                          "keep one of the two");
}

/* A parameter that the program does not read would be a wish without effect. */
static dit_status check_meant(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    int program = matrix->program->reads;
    char at[SUITE_POINTER];
    if (strcmp(matrix->scope, "denoise") != 0) program |= SUITE_READS_PIPELINE;
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) {
        int readers = suite_parameter_get((suite_parameter)p)->readers;
        if (!matrix->declared[p] || readers & program) continue;
        place_of(workload, (suite_parameter)p, at, sizeof at);
        bool of_requests = readers == SUITE_READS_PIPELINE;
        return dit_error_hint(dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD, "%s means nothing to program %s%s",
                                            suite_parameter_key((suite_parameter)p), matrix->program->name,
                                            of_requests ? " with this scope" : ""),
                              of_requests ? "program %s has it with \"measure\": {\"scope\": \"pipeline\"}"
                                          : "leave it out, or make it a workload of program %s",
                              suite_program_reading(readers)->name);
    }
    return DIT_OK;
}

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
    char at[SUITE_POINTER], profiles[400];
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

/* Refuses a parameter that means nothing to any platform of the workload; `here` are the SUITE_ON_* of all. */
static dit_status check_meant_here(const suite_workload *workload, suite_parameter parameter, int here)
{
    const suite_platform_words *words = suite_parameter_platforms(parameter);
    char at[SUITE_POINTER];
    if (suite_parameter_get(parameter)->platforms & here || !workload->matrix->declared[parameter]) return DIT_OK;
    place_of(workload, parameter, at, sizeof at);
    return dit_error_hint(dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD,
                                        "%s needs a platform that %s, and there is none",
                                        suite_parameter_key(parameter), words->what),
                          "leave it out, or name a platform of backend %s (ditbench list platforms)", words->backends);
}

/* Waiting needs simulated platforms only, and a scope beyond the denoising either them or folders of whole pipelines. */
static dit_status check_scope(const suite_workload *workload, bool all_simulated)
{
    const suite_matrix *matrix = workload->matrix;
    if (matrix->waits && !matrix->program->has_waits)
        return dit_error_hint(dit_json_fail(&workload->source, "/measure/waits", DIT_ERR_WORKLOAD,
                                            "waits means nothing to program %s", matrix->program->name),
                              "leave it out");
    if (matrix->waits && !all_simulated)
        return dit_error_hint(dit_json_fail(&workload->source, "/measure/waits", DIT_ERR_WORKLOAD,
                                            "waits needs simulated platforms, and not all are"),
                              "leave it out: what is measured waits after every forward");
    if (strcmp(matrix->scope, "denoise") == 0 || all_simulated) return DIT_OK;
    for (int i = 0; i < matrix->model_count; i++) {
        const suite_model *model = &matrix->models[i].model;
        if (model->folder) continue;
        return dit_error_hint(dit_json_fail(&workload->source, "/measure/scope", DIT_ERR_WORKLOAD,
                                            "scope %s is measured from the prompt on, and no folder has the tokenizers "
                                            "and text encoders of %s",
                                            matrix->scope, model->variant),
                              "name a diffusers folder: {\"name\": \"%s\", \"folder\": \"PATH\"}; or simulated "
                              "platforms only",
                              model->name);
    }
    return DIT_OK;
}

/* Whatever only the cost model or a GPU reads would have no effect elsewhere. */
static dit_status check_simulated(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    int here = 0;
    for (int i = 0; i < matrix->platform_count; i++) {
        const suite_platform *platform = &matrix->platforms[i].platform;
        bool simulated = strcmp(platform->backend, "cost") == 0;
        here |= simulated ? SUITE_ON_SIMULATED : platform->on_device ? SUITE_ON_DEVICE : SUITE_ON_HOST;
    }
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) DIT_TRY(check_meant_here(workload, (suite_parameter)p, here));
    return check_scope(workload, here == SUITE_ON_SIMULATED);
}

static dit_status check_pairs(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    char at[SUITE_POINTER];
    DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_RESOLUTION, SUITE_PARAMETER_HEIGHT_PX));
    DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_RESOLUTION, SUITE_PARAMETER_WIDTH_PX));
    bool request =
        strcmp(matrix->scope, "denoise") != 0; /* whose ranks have a mesh, and may share a decode beside it */
    for (int axis = 0; axis < DIT_AXIS_COUNT + !request; axis++) /* shards lie over ranks of any method */
        DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_METHOD, suite_parameter_of_axis((dit_axis)axis)));
    DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_METHOD, SUITE_PARAMETER_PATCH_METHOD));
    DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_METHOD, SUITE_PARAMETER_STAGE_METHOD));
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
    char at[SUITE_POINTER], value_at[SUITE_POINTER + 16];
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

/* Refuses a workload that leaves out what its program cannot do without. */
static dit_status check_given(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) {
        const suite_parameter_row *row = suite_parameter_get((suite_parameter)p);
        if (!row->is_required || !(row->readers & matrix->program->reads) || matrix->declared[p]) continue;
        return dit_error_hint(dit_json_fail(&workload->source, "/defaults", DIT_ERR_JSON_MISSING,
                                            "program %s needs %s, and nothing gives it", matrix->program->name,
                                            row->key),
                              "add \"%s\" to \"defaults\" or \"axes\"", row->key);
    }
    return DIT_OK;
}

dit_status suite_rules_check(const suite_workload *workload)
{
    DIT_TRY(check_meant(workload));
    DIT_TRY(check_given(workload));
    DIT_TRY(check_pairs(workload));
    DIT_TRY(check_all_schedulers(workload));
    DIT_TRY(check_profile(workload));
    return check_simulated(workload);
}
