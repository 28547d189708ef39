#include "suite/workload/rules.h"

#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/model.h"
#include "suite/workload/matrix.h"

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
    int program = matrix->reads;
    char at[SUITE_POINTER];
    if (strcmp(matrix->scope, "denoise") != 0) program |= SUITE_READS_PIPELINE;
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) {
        int readers = suite_parameter_readers((suite_parameter)p);
        if (!matrix->declared[p] || readers & program) continue;
        place_of(workload, (suite_parameter)p, at, sizeof at);
        return dit_error_hint(dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD, "%s means nothing to program %s",
                                            suite_parameter_key((suite_parameter)p), matrix->program),
                              "leave it out, or make it a workload of program %s",
                              readers & SUITE_READS_DENOISE  ? "denoise"
                              : readers & SUITE_READS_DECODE ? "vae_decode"
                                                             : "attention");
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

/* A platform that a parameter needs, in words. */
typedef struct {
    const char *what, *backends;
} platform_words;

/* Refuses a parameter that means something to simulated platforms or GPUs only, where there is none of them. */
static dit_status check_meant_here(const suite_workload *workload, suite_parameter parameter, bool simulated,
                                   bool on_device)
{
    static const platform_words words[] = {[SUITE_ON_SIMULATED] = {"is simulated", "cost"},
                                           [SUITE_ON_DEVICE] = {"is a GPU", "cuda"},
                                           [SUITE_ON_MODELLED] = {"is simulated or a GPU", "cuda or cost"}};
    suite_parameter_platforms needs = suite_parameter_needs(parameter);
    bool meant =
        needs == SUITE_ON_ANY || (needs != SUITE_ON_DEVICE && simulated) || (needs != SUITE_ON_SIMULATED && on_device);
    char at[SUITE_POINTER];
    if (meant || !workload->matrix->declared[parameter]) return DIT_OK;
    place_of(workload, parameter, at, sizeof at);
    return dit_error_hint(
        dit_json_fail(&workload->source, at, DIT_ERR_WORKLOAD, "%s needs a platform that %s, and there is none",
                      suite_parameter_key(parameter), words[needs].what),
        "leave it out, or name a platform of backend %s (ditbench list platforms)", words[needs].backends);
}

/* A scope beyond the denoising, and waiting, need simulated platforms only. */
static dit_status check_scope(const suite_workload *workload, bool all_simulated)
{
    const suite_matrix *matrix = workload->matrix;
    if (matrix->waits && (!matrix->attends || !all_simulated))
        return dit_error_hint(dit_json_fail(&workload->source, "/measure/waits", DIT_ERR_WORKLOAD,
                                            "waits needs program attention and simulated platforms only"),
                              "leave it out: what is measured waits after every forward");
    if (strcmp(matrix->scope, "denoise") == 0 || all_simulated) return DIT_OK;
    return dit_error_hint(dit_json_fail(&workload->source, "/measure/scope", DIT_ERR_WORKLOAD,
                                        "scope %s needs simulated platforms, and not all are", matrix->scope),
                          "measured times are of denoising; program vae_decode measures decoders");
}

/* Whatever only the cost model or a GPU reads would have no effect elsewhere. */
static dit_status check_simulated(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    int simulated = 0, on_device = 0;
    for (int i = 0; i < matrix->platform_count; i++) {
        simulated += strcmp(matrix->platforms[i].platform.backend, "cost") == 0;
        on_device += matrix->platforms[i].platform.on_device;
    }
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++)
        DIT_TRY(check_meant_here(workload, (suite_parameter)p, simulated > 0, on_device > 0));
    return check_scope(workload, simulated == matrix->platform_count);
}

static dit_status check_pairs(const suite_workload *workload)
{
    const suite_matrix *matrix = workload->matrix;
    char at[SUITE_POINTER];
    DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_RESOLUTION, SUITE_PARAMETER_HEIGHT_PX));
    DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_RESOLUTION, SUITE_PARAMETER_WIDTH_PX));
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++)
        DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_METHOD, suite_parameter_of_axis((dit_axis)axis)));
    DIT_TRY(refuse_pair(workload, SUITE_PARAMETER_METHOD, SUITE_PARAMETER_PATCH_METHOD));
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

dit_status suite_rules_check(const suite_workload *workload)
{
    DIT_TRY(check_meant(workload));
    DIT_TRY(check_model_named(workload));
    DIT_TRY(check_pairs(workload));
    DIT_TRY(check_all_schedulers(workload));
    DIT_TRY(check_profile(workload));
    return check_simulated(workload);
}
