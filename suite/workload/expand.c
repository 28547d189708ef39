/* Expansion: the product of the axes, each cell resolved, judged, and kept, dropped with its reason, or merged. */
#include "base/json_writer.h"
#include "base/label.h"
#include "suite/catalogue/method.h"
#include "suite/error_place.h"
#include "suite/platform/platform.h"
#include "suite/workload/case.h"
#include "suite/workload/expand.h"
#include "suite/workload/matrix.h"
#include "suite/workload/programs/converged.h"
#include "suite/workload/programs/program.h"
#include "suite/workload/tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one cell: look everything up -------------------------------------------------------------------------------- */

static void take_values(const suite_matrix *matrix, int64_t index, suite_cell *cell)
{
    memcpy(cell->values, matrix->defaults, sizeof cell->values);
    for (int d = matrix->dimension_count - 1; d >= 0; d--) {
        const suite_dimension *dimension = &matrix->dimensions[d];
        int at = (int)(index % dimension->length);
        index /= dimension->length;
        for (int a = 0; a < dimension->axis_count; a++)
            cell->values[dimension->parameters[a]] = dimension->values[a][at];
    }
}

static void find_data(const suite_matrix *matrix, suite_cell *cell)
{
    for (int i = 0; i < matrix->model_count; i++) {
        const suite_model_value *one = &matrix->models[i];
        if (one->value != cell->values[SUITE_PARAMETER_MODEL]) continue;
        cell->model = &one->model;
        cell->vae = one->vae.config ? &one->vae : NULL;
    }
    for (int i = 0; i < matrix->platform_count; i++)
        if (matrix->platforms[i].value == cell->values[SUITE_PARAMETER_PLATFORM])
            cell->platform = &matrix->platforms[i].platform;
}

/* What a device computes in: only backend cuda has other elements than fp32, and only some programs have been built for
 * them. */
static dit_status resolve_device(suite_cell *cell)
{
    bool cuda = strcmp(cell->platform->backend, "cuda") == 0, has_half = cell->program->has_half_devices;
    const cJSON *element = cell->values[SUITE_PARAMETER_ELEMENT];
    cell->element = element ? element->valuestring : cuda && has_half ? "bf16" : "fp32";
    cell->fp8_linear = cJSON_IsTrue(cell->values[SUITE_PARAMETER_FP8_LINEAR]);
    cell->no_graphs = cJSON_IsFalse(cell->values[SUITE_PARAMETER_GRAPHS]);
    bool half = strcmp(cell->element, "bf16") == 0 || strcmp(cell->element, "fp16") == 0;
    if (strcmp(cell->element, "fp8") == 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED,
                                       "element fp8 is of simulated platforms; %s is of backend %s",
                                       cell->platform->name, cell->platform->backend),
                              "linear layers alone can be: element bf16 with fp8_linear");
    if (half && !cuda)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is of backend %s, which computes in fp32, not in %s",
                        cell->platform->name, cell->platform->backend, cell->element);
    if (half && !has_half)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "program %s computes in fp32 on devices, not in %s", cell->program->name,
                        cell->element);
    if ((cell->fp8_linear && !half) || ((cell->fp8_linear || cell->no_graphs) && !cuda))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is of backend cuda%s; this is %s in %s",
                        cell->fp8_linear ? "fp8_linear" : "graphs", cell->fp8_linear ? " with bf16 or fp16" : "",
                        cell->platform->backend, cell->element);
    return DIT_OK;
}

static const suite_profile *find_software(const suite_matrix *matrix, const suite_cell *cell)
{
    for (int i = 0; i < matrix->profile_count; i++)
        if (matrix->profiles[i].value == cell->values[SUITE_PARAMETER_PROFILE]) return &matrix->profiles[i].profile;
    return NULL;
}

/* Software and element type mean something where time is modelled, and on devices; elsewhere they would keep equal
 * cells apart. */
static void resolve_simulation(const suite_matrix *matrix, suite_cell *cell)
{
    const cJSON *element = cell->values[SUITE_PARAMETER_ELEMENT];
    cell->simulated = strcmp(cell->platform->backend, "cost") == 0;
    cell->software = cell->simulated ? find_software(matrix, cell) : NULL;
    cell->profile = cell->software ? cell->software->name : "none";
    cell->element = !cell->simulated ? "fp32" : element ? element->valuestring : "fp16";
    if (!cell->simulated) cell->values[SUITE_PARAMETER_PROFILE] = NULL;
    if (!cell->simulated && !cell->platform->on_device) cell->values[SUITE_PARAMETER_ELEMENT] = NULL;
    if (cell->platform->on_device) return;
    cell->values[SUITE_PARAMETER_FP8_LINEAR] = cell->values[SUITE_PARAMETER_GRAPHS] = NULL;
}

/* External engines run on cores, in fp32, where they can be held against ours; some on GPUs, too. */
static dit_status resolve_engine(suite_cell *cell)
{
    const cJSON *named = cell->values[SUITE_PARAMETER_ENGINE];
    cell->engine = suite_engine_find(named ? named->valuestring : NULL);
    const char *backend = cell->platform->backend;
    if (!suite_engine_is_external(cell->engine) || strcmp(backend, "cpu") == 0) return DIT_OK;
    if (cell->engine->on_devices && strcmp(backend, "cuda") == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "engine %s runs on platforms of backend cpu%s; %s is of backend %s",
                    cell->engine->name, cell->engine->on_devices ? " or cuda" : "", cell->platform->name, backend);
}

static dit_status resolve_cell(const suite_matrix *matrix, int64_t index, int mesh, suite_cell *cell)
{
    *cell = (suite_cell){.search_index = mesh, .program = matrix->program, .scope = matrix->scope};
    take_values(matrix, index, cell);
    find_data(matrix, cell);
    resolve_simulation(matrix, cell);
    DIT_TRY(resolve_engine(cell));
    if (cell->platform->on_device) DIT_TRY(resolve_device(cell));
    return cell->program->resolve(cell);
}

/* ---- one cell: judge --------------------------------------------------------------------------------------------- */

/* Raises an expression's error again, with its place in the file. */
static dit_status fail_expression(const suite_workload *workload, const char *key, int index, dit_status st)
{
    char at[64], message[1024], hint[512];
    snprintf(at, sizeof at, "/%s/%d", key, index);
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    snprintf(hint, sizeof hint, "%s", dit_error_last()->hint);
    return dit_error_hint(dit_json_fail(&workload->source, at, st, "%s", message), "%s", hint);
}

/* Drops when any expression of `list` evaluates to `drops_when`. */
static dit_status judge_expressions(const suite_workload *workload, const char *key, const cJSON *list, bool drops_when,
                                    const cJSON *tags)
{
    int index = 0;
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next, index++) {
        bool holds = false;
        dit_status st = suite_tags_test(tags, item->valuestring, &holds);
        if (st != DIT_OK) return fail_expression(workload, key, index, st);
        if (holds != drops_when) continue;
        return DIT_FAIL(DIT_ERR_CONSTRAINT_USER, drops_when ? "excluded by \"%s\"" : "outside the constraint \"%s\"",
                        item->valuestring);
    }
    return DIT_OK;
}

static dit_status judge_platform(const suite_cell *cell)
{
    const suite_platform *platform = cell->platform;
    int64_t devices = (int64_t)cell->world_size * (platform->on_device ? 1 : cell->threads_per_rank);
    if (platform->on_device && platform->share_devices) return DIT_OK;
    if (devices <= platform->devices || cell->world_size <= platform->max_ranks) return DIT_OK;
    return DIT_FAIL(DIT_ERR_CONSTRAINT_PLATFORM,
                    "%d ranks of %d threads need %lld devices, %s has %d and takes at most %d ranks", cell->world_size,
                    cell->threads_per_rank, (long long)devices, platform->name, platform->devices,
                    platform->max_ranks > platform->devices ? platform->max_ranks : platform->devices);
}

/* What does not fit a simulated device is a result: its memory is counted, not estimated. */
static dit_status judge_memory(const suite_cell *cell)
{
    const suite_platform *platform = cell->platform;
    int64_t bytes[4], needed;
    const double gib = 1024.0 * 1024.0 * 1024.0;
    if (!cell->program->memory || cell->simulated) return DIT_OK;
    suite_cell_memory(cell, bytes);
    bool alone = platform->memory_per_device && !platform->share_devices;
    needed = (bytes[0] + bytes[1] + bytes[2] + bytes[3]) * (alone ? 1 : cell->world_size);
    if (needed <= platform->memory_bytes) return DIT_OK;
    return DIT_FAIL(DIT_ERR_CONSTRAINT_MEMORY, "needs %.1f GiB %s, %s has %.1f GiB", (double)needed / gib,
                    alone ? "per rank" : "over all ranks", platform->name, (double)platform->memory_bytes / gib);
}

static dit_status judge_engine(const suite_cell *cell)
{
    if (cell->world_size <= cell->engine->most_ranks) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "engine %s runs %d rank, this case has %d", cell->engine->name,
                    cell->engine->most_ranks, cell->world_size);
}

static dit_status judge_cell(const suite_workload *workload, const suite_cell *cell, const cJSON *tags,
                             const cJSON *document)
{
    const suite_matrix *matrix = workload->matrix;
    DIT_TRY(judge_expressions(workload, "exclude", matrix->exclude, true, tags));
    DIT_TRY(judge_expressions(workload, "constraints", matrix->constraints, false, tags));
    DIT_TRY(cell->program->judge(cell, document));
    DIT_TRY(judge_engine(cell));
    DIT_TRY(judge_platform(cell));
    return judge_memory(cell);
}

/* A broken rule is a reason to drop; everything else is an error of the files. */
static bool is_drop(dit_status st)
{
    return st == DIT_ERR_UNSUPPORTED || (st >= DIT_ERR_CONSTRAINT_PRODUCT && st <= DIT_ERR_CONSTRAINT_USER);
}

/* Raises an error about the case document again, as one about the model value that led to it. */
static dit_status fail_model(const suite_workload *workload, const suite_model_value *value, dit_status st)
{
    static const char config[] = "/model/config/";
    suite_place place;
    char message[1024], at[256];
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    suite_place_split(message, &place);
    bool overridden = strncmp(place.pointer, config, sizeof config - 1) == 0;
    snprintf(at, sizeof at, "%s%s%.100s", value->pointer, overridden ? "/override/" : "",
             overridden ? place.pointer + sizeof config - 1 : "");
    return dit_json_fail(&workload->source, at, st, "%s cannot be built: %s", value->model.variant, place.what);
}

/* Fills what the program reads back from the document. What cannot be built there is the fault of a model's value. */
static dit_status settle_cell(const suite_workload *workload, suite_cell *cell, const cJSON *document)
{
    dit_status st = cell->program->settle ? cell->program->settle(cell, document) : DIT_OK;
    if (st == DIT_OK || is_drop(st)) return st;
    for (int i = 0; i < workload->matrix->model_count; i++)
        if (&workload->matrix->models[i].model == cell->model)
            return fail_model(workload, &workload->matrix->models[i], st);
    return st;
}

static dit_status build_case(const suite_workload *workload, int64_t index, int mesh, suite_cell *cell, suite_case *out)
{
    DIT_TRY(resolve_cell(workload->matrix, index, mesh, cell));
    DIT_TRY(suite_case_document(workload, cell, &out->document));
    DIT_TRY(settle_cell(workload, cell, out->document));
    DIT_TRY(suite_case_placement(workload, cell, out->document));
    DIT_TRY(suite_case_tags(cell, &out->tags));
    DIT_TRY(judge_cell(workload, cell, out->tags, out->document));
    return suite_case_finish(workload, cell, out);
}

/* What users exclude is about their own cells: an oracle only has to fit. */
static dit_status build_oracle(const suite_workload *workload, const suite_cell *oracle, suite_case *out)
{
    DIT_TRY(suite_case_document(workload, oracle, &out->document));
    DIT_TRY(suite_case_placement(workload, oracle, out->document));
    DIT_TRY(suite_case_tags(oracle, &out->tags));
    DIT_TRY(judge_platform(oracle));
    DIT_TRY(judge_memory(oracle));
    return suite_case_finish(workload, oracle, out);
}

/* ---- all cells --------------------------------------------------------------------------------------------------- */

/* Open addressing over case ids: slot holds case index + 1. */
typedef struct {
    int *slots;
    size_t mask;
} id_set;

static dit_status id_set_init(id_set *set, int64_t cells)
{
    size_t size = 16;
    while (size < (size_t)cells * 2) size *= 2;
    set->slots = calloc(size, sizeof *set->slots);
    set->mask = size - 1;
    return set->slots ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory to expand %lld cells", (long long)cells);
}

/* True when `id` was there; else it is now, as case `index`. */
static bool id_set_contains(id_set *set, const suite_case *cases, const char *id, int index)
{
    char digits[16];
    memcpy(digits, id, 15);
    digits[15] = '\0';
    size_t at = (size_t)strtoull(digits, NULL, 16) & set->mask;
    for (; set->slots[at]; at = (at + 1) & set->mask)
        if (strcmp(cases[set->slots[at] - 1].case_id, id) == 0) return true;
    set->slots[at] = index + 1;
    return false;
}

static void forget_case(suite_case *one)
{
    cJSON_Delete(one->document);
    cJSON_Delete(one->tags);
    *one = (suite_case){0};
}

static bool is_search(const suite_cell *cell)
{
    const cJSON *method = cell->values[SUITE_PARAMETER_METHOD];
    return method && suite_method_is_search(method->valuestring);
}

/* Puts which mesh of its search the cell is. */
static void put_mesh(dit_json_writer *w, const suite_cell *cell, int mesh, cJSON *dropped)
{
    dit_parallel parallel = {0};
    char label[64];
    suite_method_mesh((int)suite_cell_int(cell, SUITE_PARAMETER_WORLD_SIZE, 1), mesh, &parallel);
    dit_parallel_label(&parallel, label);
    dit_json_put_string(w, dropped, "mesh", label);
}

/* Makes the object that tells a cell by its values of what varies. They are references into the matrix. */
static dit_status describe_cell(const suite_matrix *matrix, int64_t index, int mesh, cJSON **out)
{
    dit_json_writer w = {0};
    suite_cell cell = {0};
    cJSON *dropped = dit_json_new_object(&w);
    take_values(matrix, index, &cell);
    find_data(matrix, &cell);
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) {
        const char *key = suite_parameter_key((suite_parameter)p);
        if (!matrix->varies[p]) continue;
        if (p == SUITE_PARAMETER_MODEL)
            dit_json_put_string(&w, dropped, key, cell.model->variant);
        else
            dit_json_put_reference(&w, dropped, key, cell.values[p]);
    }
    if (is_search(&cell)) put_mesh(&w, &cell, mesh, dropped);
    return dit_json_finish(&w, dropped, out);
}

static dit_status drop_cell(suite_workload *workload, int64_t index, int mesh, const char *what, dit_status code)
{
    suite_dropped *dropped = &workload->dropped[workload->dropped_count];
    dropped->code = code;
    snprintf(dropped->reason, sizeof dropped->reason, "%s%s", what, dit_error_last()->message);
    dit_error_clear();
    DIT_TRY(describe_cell(workload->matrix, index, mesh, &dropped->cell));
    workload->dropped_count++;
    return DIT_OK;
}

/* Adds what other cases are held against, and tells its id, unless an earlier case is the same. What cannot run is
 * dropped alone. */
static dit_status add_compared(suite_workload *workload, const suite_cell *cell, char id[DIT_HASH_HEX], id_set *seen)
{
    suite_case *one = &workload->cases[workload->case_count];
    dit_status st = build_oracle(workload, cell, one);
    if (st == DIT_OK) memcpy(id, one->case_id, sizeof one->case_id);
    if (st == DIT_OK && !id_set_contains(seen, workload->cases, one->case_id, workload->case_count))
        workload->case_count++;
    else
        forget_case(one);
    return st;
}

/* Behind case `own` its oracle, if it is approximate. */
static dit_status add_oracle(suite_workload *workload, int64_t index, const suite_cell *cell, int own, id_set *seen)
{
    suite_cell oracle;
    if (!cell->program->oracle || cell->simulated || cell->fp8_linear) return DIT_OK;
    if (!cell->program->oracle(cell, &oracle)) return DIT_OK;
    dit_status st = add_compared(workload, &oracle, workload->cases[own].oracle_id, seen);
    return is_drop(st) ? drop_cell(workload, index, cell->search_index, "the oracle of this cell: ", st) : st;
}

/* Behind case `own` and its oracle its converged reference, if its pictures are to be held against one. */
static dit_status add_converged(suite_workload *workload, int64_t index, const suite_cell *cell, int own, id_set *seen)
{
    suite_case *one = &workload->cases[own];
    suite_cell converged;
    if (!suite_converged_is_wanted(workload, cell)) return DIT_OK;
    dit_status st = suite_converged_cell(workload, one->document, cell, &converged);
    if (st == DIT_OK) st = add_compared(workload, &converged, one->converged_id, seen);
    return is_drop(st) ? drop_cell(workload, index, cell->search_index, "the converged reference of this cell: ", st)
                       : st;
}

/* `mesh`: of a search; 0 of others. */
static dit_status expand_cell(suite_workload *workload, int64_t index, int mesh, id_set *seen)
{
    suite_case *one = &workload->cases[workload->case_count];
    suite_cell cell;
    dit_status st = build_case(workload, index, mesh, &cell, one);
    if (st == DIT_OK && !id_set_contains(seen, workload->cases, one->case_id, workload->case_count)) {
        int own = workload->case_count++;
        DIT_TRY(add_oracle(workload, index, &cell, own, seen));
        return add_converged(workload, index, &cell, own, seen);
    }
    cJSON *tags = one->tags;
    one->tags = NULL;
    forget_case(one);
    if (st == DIT_OK) workload->merged_count++;
    bool drop = st != DIT_OK && is_drop(st);
    if (drop) st = drop_cell(workload, index, mesh, "", st);
    if (drop && st == DIT_OK)
        workload->dropped[workload->dropped_count - 1].tags = tags;
    else
        cJSON_Delete(tags);
    return st;
}

/* How many cells one cell of the product stands for. */
static int meshes_of(const suite_matrix *matrix, int64_t index)
{
    suite_cell cell = {0};
    take_values(matrix, index, &cell);
    return is_search(&cell) ? suite_method_mesh_count((int)suite_cell_int(&cell, SUITE_PARAMETER_WORLD_SIZE, 1)) : 1;
}

static dit_status expand_meshes(suite_workload *workload, int64_t index, id_set *seen)
{
    int meshes = meshes_of(workload->matrix, index);
    for (int mesh = 0; mesh < meshes; mesh++) DIT_TRY(expand_cell(workload, index, mesh, seen));
    return DIT_OK;
}

static dit_status count_meshes(const suite_workload *workload, int64_t *out)
{
    *out = 0;
    for (int64_t index = 0; index < workload->matrix->cell_count; index++) {
        *out += meshes_of(workload->matrix, index);
        if (*out > SUITE_MAX_CELLS)
            return dit_error_hint(DIT_FAIL(DIT_ERR_WORKLOAD, "%s: the meshes of its searches are more than %d cells",
                                           workload->source.path, SUITE_MAX_CELLS),
                                  "name the meshes, or search at fewer world sizes");
    }
    return DIT_OK;
}

dit_status suite_expand(suite_workload *workload)
{
    int64_t cells = workload->matrix->cell_count, most;
    id_set seen = {0};
    DIT_TRY(count_meshes(workload, &most));
    most *= 3; /* each may have an oracle, and a converged reference */
    dit_status st = id_set_init(&seen, most);
    workload->cases = calloc((size_t)most, sizeof *workload->cases);
    workload->dropped = calloc((size_t)most, sizeof *workload->dropped);
    if (st == DIT_OK && (!workload->cases || !workload->dropped))
        st = DIT_FAIL(DIT_ERR_MEMORY, "no memory to expand %lld cells", (long long)cells);
    for (int64_t index = 0; st == DIT_OK && index < cells; index++) st = expand_meshes(workload, index, &seen);
    free(seen.slots);
    return st;
}
