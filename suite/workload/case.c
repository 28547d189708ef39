#include "suite/workload/case.h"

#include "base/json_writer.h"
#include "base/patches.h"
#include "suite/workload/matrix.h"
#include "suite/workload/members.h"
#include "suite/workload/programs/converged.h"
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
static void put_virtual_measure(dit_json_writer *w, const suite_matrix *matrix, cJSON *measure)
{
    dit_json_put_int(w, measure, "warmup_runs", 0);
    dit_json_put_int(w, measure, "iterations", 1);
    if (matrix->waits) dit_json_put_bool(w, measure, "waits", true);
    if (matrix->prompts_differ) dit_json_put_bool(w, measure, "prompts_differ", true);
    if (strcmp(matrix->scope, "denoise") != 0) dit_json_put_string(w, measure, "scope", matrix->scope);
}

/* The link between the halves of the ranks, where the platform emulates one: another link makes another case. */
static void put_link(dit_json_writer *w, const suite_platform *platform, cJSON *part)
{
    if (platform->link_rate_bits_per_s <= 0) return;
    cJSON *link = dit_json_put_object(w, part, "link");
    dit_json_put_number(w, link, "rate_bits_per_s", platform->link_rate_bits_per_s);
    dit_json_put_number(w, link, "delay_s", platform->link_delay_s);
}

static void put_platform(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    cJSON *part = dit_json_put_object(w, document, "platform");
    dit_json_put_string(w, part, "name", cell->platform->name);
    dit_json_put_string(w, part, "backend", cell->platform->backend);
    dit_json_put_int(w, part, "threads_per_rank", cell->threads_per_rank);
    if (cell->simulated) dit_json_put_string(w, part, "profile", cell->profile);
    if (cell->simulated || cell->platform->on_device) dit_json_put_string(w, part, "element", cell->element);
    if (cell->fp8_linear) dit_json_put_bool(w, part, "fp8_linear", true);
    if (cell->no_graphs) dit_json_put_bool(w, part, "graphs", false);
    put_link(w, cell->platform, part);
}

/* Other cases are held against it, and its time is of no interest. */
static bool is_compared_with(const suite_cell *cell)
{
    return cell->emulates || cell->converges;
}

static void put_measure(dit_json_writer *w, const suite_matrix *matrix, const suite_cell *cell, cJSON *measure)
{
    bool once = is_compared_with(cell);
    dit_json_put_int(w, measure, "warmup_runs", once ? 0 : matrix->warmup_runs);
    if (matrix->warmup_most && !once) dit_json_put_int(w, measure, "warmup_most", matrix->warmup_most);
    dit_json_put_int(w, measure, "iterations", once ? 1 : matrix->iterations);
    if (matrix->trace && !once) dit_json_put_bool(w, measure, "trace", true);
    if (matrix->gemm && !once) dit_json_put_bool(w, measure, "gemm", true);
    if (matrix->probe && !once) dit_json_put_bool(w, measure, "probe", true);
    if (strcmp(matrix->scope, "denoise") != 0) dit_json_put_string(w, measure, "scope", matrix->scope);
}

dit_status suite_case_placement(const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    dit_json_writer w = {0};
    cell->program->ranks(&w, cell, document);
    put_platform(&w, cell, document);
    if (suite_engine_is_external(cell->engine)) dit_json_put_string(&w, document, "engine", cell->engine->name);
    cJSON *measure = dit_json_put_object(&w, document, "measure");
    if (cell->simulated)
        put_virtual_measure(&w, workload->matrix, measure);
    else
        put_measure(&w, workload->matrix, cell, measure);
    return w.status;
}

dit_status suite_case_document(const suite_workload *workload, const suite_cell *cell, cJSON **out)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_string(&w, document, "schema", "ditbench.case/1");
    dit_json_put_string(&w, document, "program", cell->program->name);
    cell->program->document(&w, workload, cell, document);
    return dit_json_finish(&w, document, out);
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

dit_status suite_case_tags(const suite_cell *cell, cJSON **out)
{
    const char *none = cell->platform->on_device ? NULL : "none";
    dit_json_writer w = {0};
    cJSON *tags = dit_json_new_object(&w);
    dit_json_put_string(&w, tags, "program", cell->program->name);
    cell->program->tags(&w, cell, tags);
    dit_json_put_string(&w, tags, "platform", cell->platform->name);
    dit_json_put_string(&w, tags, "profile", cell->profile);
    dit_json_put_string(&w, tags, "element", cell->element);
    dit_json_put_string(&w, tags, "fp8_linear", none ? none : cell->fp8_linear ? "on" : "off");
    dit_json_put_string(&w, tags, "graphs", none ? none : cell->no_graphs ? "off" : "on");
    dit_json_put_string(&w, tags, "engine", cell->engine->name);
    dit_json_put_int(&w, tags, "threads_per_rank", cell->threads_per_rank);
    return dit_json_finish(&w, tags, out);
}

/* ---- label and ids ----------------------------------------------------------------------------------------------- */

/* Whether cells that differ in the parameter share a converged reference. */
static bool is_any_of_converged(suite_parameter parameter)
{
    return parameter == SUITE_PARAMETER_NUM_INFERENCE_STEPS || parameter == SUITE_PARAMETER_CACHE ||
           parameter == SUITE_PARAMETER_EDIT;
}

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
        if (is_compared_with(cell) && p == SUITE_PARAMETER_THREADS_PER_RANK) continue;
        if (cell->converges && is_any_of_converged((suite_parameter)p)) continue;
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
    dit_json_writer w = {0};
    for (int i = 0; i < workload->case_count; i++) {
        suite_case *one = &workload->cases[i];
        if (one->is_oracle || one->is_simulated) continue;
        cJSON *measure = cJSON_GetObjectItemCaseSensitive(one->document, "measure");
        cJSON_DeleteItemFromObjectCaseSensitive(measure, "trace");
        if (measure) dit_json_put_bool(&w, measure, "trace", true);
        DIT_TRY(w.status);
        DIT_TRY(hash_document(one->document, one->case_id));
    }
    return DIT_OK;
}

/* Devices round as their element does: only the same backend and element must give the same image. Linear layers in
 * fp8 and graphs are ways to it, and the reference is without the first. */
static void put_rounding(dit_json_writer *w, const suite_cell *cell, cJSON *part)
{
    if (!cell->platform->on_device) return;
    cJSON *device = dit_json_put_object(w, part, "device");
    dit_json_put_string(w, device, "backend", cell->platform->backend);
    dit_json_put_string(w, device, "element", cell->element);
}

/* What the result depends on: the case without how and where it is computed, but for what a device rounds to. */
static dit_status hash_reference(const suite_cell *cell, const cJSON *document, char out[DIT_HASH_HEX])
{
    dit_json_writer w = {0};
    cJSON *part = dit_json_new_object(&w);
    suite_member_shared(&w, part, document, "schema");
    suite_member_shared(&w, part, document, "program");
    cell->program->identity(&w, cell, document, part);
    put_rounding(&w, cell, part);
    DIT_TRY(dit_json_finish(&w, part, &part));
    dit_status st = hash_document(part, out);
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

/* An oracle computes as many whole images a step as there are groups of rows; a converged reference has more steps. */
static int64_t oracle_deadline_s(const suite_cell *cell, int64_t deadline_s)
{
    if (cell->converges) return deadline_s * SUITE_CONVERGED_TIMES;
    int64_t bands = dit_parallel_bands(&cell->emulated, &cell->facts), patches = cell->emulated.degree[DIT_AXIS_PATCH];
    return deadline_s * (bands > patches ? bands : patches);
}

dit_status suite_case_finish(const suite_workload *workload, const suite_cell *cell, suite_case *out)
{
    const suite_program *program = cell->program;
    int64_t deadline_s = workload->matrix->deadline_s;
    bool external = suite_engine_is_external(cell->engine);
    bool alone = cell->world_size == 1, approximates = program->approximates && program->approximates(cell);
    out->world_size = cell->world_size;
    out->deadline_s = is_compared_with(cell) ? oracle_deadline_s(cell, deadline_s) : deadline_s;
    DIT_TRY(write_label(workload, cell, out->label, sizeof out->label));
    DIT_TRY(hash_document(out->document, out->case_id));
    DIT_TRY(predict_bytes(cell, out));
    out->predicted_memory_bytes = predict_memory(cell);
    out->is_oracle = is_compared_with(cell);
    out->is_converged = cell->converges;
    out->is_simulated = cell->simulated;
    bool cached = cell->cache.policy != DIT_CACHE_NONE || cell->edit.dense_steps || cell->offload.tier;
    bool plain = !external && !is_compared_with(cell) && !cell->simulated && !cell->fp8_linear && !approximates;
    out->is_reference = alone && plain && !cached && !cell->layer.whole_scores;
    if (cell->simulated || (alone && approximates)) return DIT_OK;
    return hash_reference(cell, out->document, out->reference_id);
}
