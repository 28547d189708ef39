#include "suite/workload/case.h"

#include "base/patches.h"
#include "suite/workload/matrix.h"
#include "suite/workload/members.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void suite_cell_memory(const suite_cell *cell, int64_t bytes[4])
{
    cell->program->memory(cell, bytes);
    for (int i = 0; i < 4 && cell->simulated; i++)
        bytes[i] = bytes[i] / (int64_t)sizeof(float) * suite_predict_element_bytes(cell->element);
}

/* ---- document ---------------------------------------------------------------------------------------------------- */

/* Virtual time needs no warming up and no second run. */
static dit_status add_virtual_measure(const suite_matrix *matrix, cJSON *measure)
{
    DIT_TRY(dit_json_add_int(measure, "warmup_runs", 0));
    DIT_TRY(dit_json_add_int(measure, "iterations", 1));
    if (matrix->waits && !cJSON_AddTrueToObject(measure, "waits"))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    return strcmp(matrix->scope, "denoise") == 0 ? DIT_OK : dit_json_add_string(measure, "scope", matrix->scope);
}

dit_status suite_case_placement(const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    const suite_matrix *matrix = workload->matrix;
    cJSON *part;
    DIT_TRY(cell->program->ranks(cell, document));
    DIT_TRY(suite_member_object(document, "platform", &part));
    DIT_TRY(dit_json_add_string(part, "name", cell->platform->name));
    DIT_TRY(dit_json_add_string(part, "backend", cell->platform->backend));
    DIT_TRY(dit_json_add_int(part, "threads_per_rank", cell->threads_per_rank));
    if (cell->simulated) DIT_TRY(dit_json_add_string(part, "profile", cell->profile));
    if (cell->simulated || cell->platform->on_device) DIT_TRY(dit_json_add_string(part, "element", cell->element));
    if (cell->fp8_linear && !cJSON_AddTrueToObject(part, "fp8_linear"))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    if (cell->no_graphs && !cJSON_AddFalseToObject(part, "graphs"))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    DIT_TRY(suite_member_object(document, "measure", &part));
    if (cell->simulated) return add_virtual_measure(matrix, part);
    DIT_TRY(dit_json_add_int(part, "warmup_runs", cell->emulates ? 0 : matrix->warmup_runs));
    DIT_TRY(dit_json_add_int(part, "iterations", cell->emulates ? 1 : matrix->iterations));
    if (!matrix->trace || cell->emulates || cJSON_AddTrueToObject(part, "trace")) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

static dit_status fill_document(cJSON *document, const suite_workload *workload, const suite_cell *cell)
{
    DIT_TRY(dit_json_add_string(document, "schema", "ditbench.case/1"));
    DIT_TRY(dit_json_add_string(document, "program", cell->program->name));
    return cell->program->document(workload, cell, document);
}

dit_status suite_case_document(const suite_workload *workload, const suite_cell *cell, cJSON **out)
{
    *out = cJSON_CreateObject();
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    dit_status st = fill_document(*out, workload, cell);
    if (st == DIT_OK) return DIT_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return st;
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

static dit_status fill_tags(cJSON *tags, const suite_cell *cell)
{
    DIT_TRY(dit_json_add_string(tags, "program", cell->program->name));
    DIT_TRY(cell->program->tags(cell, tags));
    DIT_TRY(dit_json_add_string(tags, "platform", cell->platform->name));
    DIT_TRY(dit_json_add_string(tags, "profile", cell->profile));
    DIT_TRY(dit_json_add_string(tags, "element", cell->element));
    DIT_TRY(dit_json_add_string(tags, "fp8_linear",
                                !cell->platform->on_device ? "none"
                                : cell->fp8_linear         ? "on"
                                                           : "off"));
    DIT_TRY(dit_json_add_string(tags, "graphs", !cell->platform->on_device ? "none" : cell->no_graphs ? "off" : "on"));
    return dit_json_add_int(tags, "threads_per_rank", cell->threads_per_rank);
}

dit_status suite_case_tags(const suite_cell *cell, cJSON **out)
{
    *out = cJSON_CreateObject();
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    dit_status st = fill_tags(*out, cell);
    if (st == DIT_OK) return DIT_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return st;
}

/* ---- label and ids ----------------------------------------------------------------------------------------------- */

/* What the program calls the cell, "flux.1-dev 1024x1024 u2"; behind it the software of a simulated case,
 * "torch-compile", and whatever else varies. */
static dit_status write_label(const suite_workload *workload, const suite_cell *cell, char *out, size_t size)
{
    char called[640];
    cell->program->label(cell, called, sizeof called);
    bool adds = cell->simulated && !workload->matrix->varies[SUITE_PARAMETER_PROFILE]; /* else it is told below */
    const char *software = adds ? cell->profile : "";
    size_t used = (size_t)snprintf(out, size, "%s%s%s", called, adds ? " " : "", software);
    for (int p = 0; p < SUITE_PARAMETER_COUNT && used < size; p++) {
        char *value = NULL;
        if (!workload->matrix->varies[p] || !cell->values[p] || suite_parameter_get((suite_parameter)p)->is_named)
            continue;
        if (cell->emulates && p == SUITE_PARAMETER_THREADS_PER_RANK) continue;
        const cJSON *item = cell->values[p];
        if (!cJSON_IsString(item)) DIT_TRY(dit_json_canonical(item, &value));
        used += (size_t)snprintf(out + used, size - used, " %s=%s", suite_parameter_key((suite_parameter)p),
                                 value ? value : item->valuestring);
        free(value);
    }
    return DIT_OK;
}

static dit_status hash_document(const cJSON *document, char out[DIT_HASH_HEX])
{
    char *text;
    DIT_TRY(dit_json_canonical(document, &text));
    dit_hash(text, strlen(text), out);
    free(text);
    return DIT_OK;
}

dit_status suite_workload_trace(suite_workload *workload)
{
    for (int i = 0; i < workload->case_count; i++) {
        suite_case *one = &workload->cases[i];
        if (one->is_oracle || one->is_simulated) continue;
        cJSON *measure = cJSON_GetObjectItemCaseSensitive(one->document, "measure");
        cJSON_DeleteItemFromObjectCaseSensitive(measure, "trace");
        if (measure && !cJSON_AddTrueToObject(measure, "trace"))
            return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
        DIT_TRY(hash_document(one->document, one->case_id));
    }
    return DIT_OK;
}

/* Devices round as their element does: only the same backend and element must give the same image. Linear layers in
 * fp8 and graphs are ways to it, and the reference is without the first. */
static dit_status add_rounding(const suite_cell *cell, cJSON *part)
{
    cJSON *device;
    if (!cell->platform->on_device) return DIT_OK;
    DIT_TRY(suite_member_object(part, "device", &device));
    DIT_TRY(dit_json_add_string(device, "backend", cell->platform->backend));
    return dit_json_add_string(device, "element", cell->element);
}

/* What the result depends on: the case without how and where it is computed, but for what a device rounds to. */
static dit_status fill_reference(const suite_cell *cell, const cJSON *document, cJSON *part)
{
    DIT_TRY(suite_member_shared(part, document, "schema"));
    DIT_TRY(suite_member_shared(part, document, "program"));
    DIT_TRY(cell->program->identity(cell, document, part));
    return add_rounding(cell, part);
}

static dit_status hash_reference(const suite_cell *cell, const cJSON *document, char out[DIT_HASH_HEX])
{
    cJSON *part = cJSON_CreateObject();
    dit_status st = part ? fill_reference(cell, document, part) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    if (st == DIT_OK) st = hash_document(part, out);
    cJSON_Delete(part);
    return st;
}

static dit_status predict_bytes(const suite_cell *cell, suite_case *out)
{
    const dit_json view = {.root = out->document, .path = (char *)"<case>"};
    suite_prediction prediction;
    suite_predict_range range;
    DIT_TRY(suite_predict_case(&view, cell->software, &prediction));
    suite_predict_ranks(&prediction, &range);
    out->predicted_bytes = range.most_bytes;
    out->predicted_least_bytes = range.least_bytes;
    return DIT_OK;
}

static int64_t predict_memory(const suite_cell *cell)
{
    int64_t memory[4];
    if (!cell->program->memory) return 0;
    suite_cell_memory(cell, memory);
    return memory[0] + memory[1] + memory[2] + memory[3];
}

/* An oracle computes as many whole images a step as there are groups of rows. */
static int64_t oracle_deadline_s(const suite_cell *cell, int64_t deadline_s)
{
    int64_t bands = dit_parallel_bands(&cell->emulated, &cell->facts), patches = cell->emulated.degree[DIT_AXIS_PATCH];
    return deadline_s * (bands > patches ? bands : patches);
}

dit_status suite_case_finish(const suite_workload *workload, const suite_cell *cell, suite_case *out)
{
    const suite_program *program = cell->program;
    int64_t deadline_s = workload->matrix->deadline_s;
    bool alone = cell->world_size == 1, approximates = program->approximates && program->approximates(cell);
    out->world_size = cell->world_size;
    out->deadline_s = cell->emulates ? oracle_deadline_s(cell, deadline_s) : deadline_s;
    DIT_TRY(write_label(workload, cell, out->label, sizeof out->label));
    DIT_TRY(hash_document(out->document, out->case_id));
    DIT_TRY(predict_bytes(cell, out));
    out->predicted_memory_bytes = predict_memory(cell);
    out->is_oracle = cell->emulates;
    out->is_simulated = cell->simulated;
    out->is_reference = alone && !cell->emulates && !cell->simulated && !cell->fp8_linear && !approximates;
    if (cell->simulated || (alone && approximates)) return DIT_OK;
    return hash_reference(cell, out->document, out->reference_id);
}
