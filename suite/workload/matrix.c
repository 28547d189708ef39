#include "suite/workload/matrix.h"

#include <stdlib.h>

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
    cJSON_Delete(matrix->made);
    free(matrix);
}

dit_status suite_cell_number(const suite_cell *cell, suite_parameter parameter, double *out)
{
    const char *key = suite_parameter_key(parameter);
    const cJSON *value = cell->values[parameter];
    *out = 0;
    if (!value && !cell->model) return DIT_OK;
    if (!value) value = cJSON_GetObjectItemCaseSensitive(cell->model->default_run, key);
    if (!cJSON_IsNumber(value))
        return dit_json_fail(&cell->model->source, "/default_run", DIT_ERR_JSON_MISSING, "no default for %s", key);
    *out = value->valuedouble;
    return DIT_OK;
}

int64_t suite_cell_int(const suite_cell *cell, suite_parameter parameter, int64_t otherwise)
{
    const cJSON *value = cell->values[parameter];
    return cJSON_IsNumber(value) ? (int64_t)value->valuedouble : otherwise;
}

bool suite_cell_is_on(const suite_cell *cell, suite_parameter parameter)
{
    return cJSON_IsTrue(cell->values[parameter]);
}
