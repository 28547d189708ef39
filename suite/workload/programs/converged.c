#include "suite/workload/programs/converged.h"

#include "base/json_writer.h"
#include "base/solver.h"
#include "base/words.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>
#include <string.h>

dit_status suite_converged_read(suite_workload *workload)
{
    static const char *const keys[] = {"reference", NULL}, *const references[] = {"one_rank", "converged", NULL};
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const cJSON *quality = NULL;
    const char *reference = NULL;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "quality", &quality));
    if (!quality) return DIT_OK;
    DIT_TRY(suite_only_keys(doc, quality, "/quality", keys));
    DIT_TRY(dit_json_require_string(doc, quality, "/quality", "reference", &reference));
    if (dit_words_find(references, reference) < 0)
        return dit_json_fail_word(doc, "/quality/reference", "reference", reference, references);
    matrix->converged = strcmp(reference, "converged") == 0;
    if (matrix->declared[SUITE_PARAMETER_PROMPTS]) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, "/quality", DIT_ERR_WORKLOAD,
                                        "quality is judged in pictures of captions, and no case makes any"),
                          "add \"prompts\" to \"defaults\" or \"axes\", or leave quality out");
}

bool suite_converged_is_wanted(const suite_workload *workload, const suite_cell *cell)
{
    return workload->matrix->converged && cell->values[SUITE_PARAMETER_PROMPTS] && cell->program->alone && cell->vae &&
           !cell->simulated && !cell->emulates;
}

/* The most steps that any cell of this model may have, whatever is excluded. */
static dit_status most_steps(const suite_matrix *matrix, const suite_cell *cell, int64_t *out)
{
    double most = 0;
    for (int d = 0; d < matrix->dimension_count; d++) {
        const suite_dimension *dimension = &matrix->dimensions[d];
        for (int a = 0; a < dimension->axis_count; a++)
            for (int i = 0; i < dimension->length && dimension->parameters[a] == SUITE_PARAMETER_NUM_INFERENCE_STEPS;
                 i++)
                if (dimension->values[a][i]->valuedouble > most) most = dimension->values[a][i]->valuedouble;
    }
    if (most <= 0) DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_NUM_INFERENCE_STEPS, &most));
    *out = (int64_t)most;
    return DIT_OK;
}

/* The cell's value must outlive it, as those of the workload's file do. */
static dit_status keep_number(suite_matrix *matrix, int64_t number, const cJSON **out)
{
    dit_json_writer w = {0};
    if (!matrix->made) matrix->made = dit_json_new_array(&w);
    dit_json_put_int(&w, matrix->made, NULL, number);
    *out = w.status == DIT_OK ? cJSON_GetArrayItem(matrix->made, cJSON_GetArraySize(matrix->made) - 1) : NULL;
    return w.status;
}

dit_status suite_converged_cell(const suite_workload *workload, const cJSON *document, const suite_cell *cell,
                                suite_cell *out)
{
    const cJSON *scheduler = dit_json_member(document, "scheduler");
    int64_t steps = 0;
    if (dit_solver_draws_noise(scheduler))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "%s draws fresh noise at every step, so more steps give another picture, which converges to "
                        "nothing",
                        dit_json_text_or(scheduler, "_class_name", ""));
    DIT_TRY(most_steps(workload->matrix, cell, &steps));
    steps *= SUITE_CONVERGED_TIMES;
    DIT_TRY(dit_solver_check_steps(scheduler, steps));
    *out = *cell;
    DIT_TRY(keep_number(workload->matrix, steps, &out->values[SUITE_PARAMETER_NUM_INFERENCE_STEPS]));
    cell->program->alone(out);
    out->converges = true;
    out->fp8_linear = false;
    out->cache = (dit_cache){0};
    out->edit = (dit_edit_plan){0};
    out->facts.steps = steps;
    snprintf(out->method, sizeof out->method, "converged");
    return DIT_OK;
}
