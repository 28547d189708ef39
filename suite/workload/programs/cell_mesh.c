#include "suite/workload/programs/cell_mesh.h"

#include "base/deal.h"
#include "base/label.h"
#include "base/words.h"
#include "suite/catalogue/method.h"

#include <stdio.h>
#include <string.h>

static dit_status resolve_degrees(suite_cell *cell)
{
    const cJSON *method = cell->values[SUITE_PARAMETER_METHOD];
    const cJSON *patch_method = cell->values[SUITE_PARAMETER_PATCH_METHOD];
    const cJSON *stage_method = cell->values[SUITE_PARAMETER_STAGE_METHOD];
    int asked = (int)suite_cell_int(cell, SUITE_PARAMETER_WORLD_SIZE, 1);
    cell->parallel.rows_degree = (int)suite_cell_int(cell, SUITE_PARAMETER_ROWS_DEGREE, 1);
    cell->parallel.fsdp_degree = (int)suite_cell_int(cell, SUITE_PARAMETER_FSDP_DEGREE, 1);
    if (cell->parallel.fsdp_degree > 1)
        cell->parallel.fsdp_prefetch = (int)suite_cell_int(cell, SUITE_PARAMETER_FSDP_PREFETCH, 1);
    if (method && suite_method_is_search(method->valuestring)) {
        suite_method_mesh(asked, cell->search_index, &cell->parallel);
        return DIT_OK;
    }
    if (method) return dit_deal_method(method->valuestring, asked, &cell->parallel);
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        cell->parallel.degree[axis] = (int)suite_cell_int(cell, suite_parameter_of_axis((dit_axis)axis), 1);
    if (patch_method && cell->parallel.degree[DIT_AXIS_PATCH] > 1)
        dit_patch_method_from_name(patch_method->valuestring, &cell->parallel.patch_method);
    if (stage_method && cell->parallel.degree[DIT_AXIS_PIPEFUSION] > 1)
        dit_stage_method_from_name(stage_method->valuestring, &cell->parallel.stage_method);
    int product = dit_parallel_world_size(&cell->parallel);
    asked = (int)suite_cell_int(cell, SUITE_PARAMETER_WORLD_SIZE, product);
    if (asked == product) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT, "the degrees multiply to %d, world_size is %d", product, asked),
        "leave world_size out, or give a method");
}

/* Cores of a machine are divided among the ranks by "auto". A GPU's ranks have 0, which the host divides itself, and an
 * accelerator that is simulated has 1. */
static int threads_per_rank(const suite_cell *cell)
{
    const cJSON *threads = cell->values[SUITE_PARAMETER_THREADS_PER_RANK];
    int share = cell->platform->devices / cell->world_size;
    if (cell->simulated) return 1;
    if (cell->platform->on_device) return (int)suite_cell_int(cell, SUITE_PARAMETER_THREADS_PER_RANK, 0);
    if (cJSON_IsString(threads)) return share > 1 ? share : 1;
    return (int)suite_cell_int(cell, SUITE_PARAMETER_THREADS_PER_RANK, 1);
}

/* What a mesh is called. */
static void name_mesh(suite_cell *cell)
{
    cell->attention = dit_parallel_attention(&cell->parallel);
    dit_parallel_method(&cell->parallel, cell->method);
    dit_parallel_label(&cell->parallel, cell->mesh);
}

void suite_cell_resolve_placement(suite_cell *cell)
{
    cell->parallel.context_first = suite_cell_is_on(cell, SUITE_PARAMETER_CONTEXT_FIRST) &&
                                   dit_parallel_degree(&cell->parallel, DIT_AXIS_ULYSSES) > 1 &&
                                   dit_parallel_degree(&cell->parallel, DIT_AXIS_RING) > 1;
}

void suite_cell_resolve_ring(suite_cell *cell)
{
    const cJSON *method = cell->values[SUITE_PARAMETER_METHOD], *asked = cell->values[SUITE_PARAMETER_ATTENTION];
    int index = asked ? dit_words_find(dit_ring_method_names_of_models(), asked->valuestring) : -1;
    suite_cell_resolve_placement(cell);
    if (dit_parallel_degree(&cell->parallel, DIT_AXIS_RING) == 1) return;
    if (index >= 0 && (!method || suite_method_is_search(method->valuestring)))
        cell->parallel.ring_method = (dit_ring_method)index;
    if (cell->parallel.ring_method == DIT_RING_DOUBLE) { /* said, so that equal cells merge */
        cell->parallel.inner_ring = (int)suite_cell_int(cell, SUITE_PARAMETER_INNER_RING, 0);
        cell->parallel.inner_ring = dit_parallel_inner_ring(&cell->parallel);
    }
    name_mesh(cell);
}

dit_status suite_cell_resolve_mesh(suite_cell *cell)
{
    const cJSON *joint_text = cell->values[SUITE_PARAMETER_JOINT_TEXT];
    DIT_TRY(resolve_degrees(cell));
    /* Without sequence ranks there is nothing to lay out: one spelling, so that equal cases merge. */
    if (joint_text && dit_parallel_sequence_degree(&cell->parallel) > 1)
        dit_joint_text_from_name(joint_text->valuestring, &cell->parallel.joint_text);
    cell->world_size = dit_parallel_world_size(&cell->parallel);
    name_mesh(cell);
    cell->threads_per_rank = threads_per_rank(cell);
    return DIT_OK;
}

dit_status suite_cell_check_attention(const suite_cell *cell)
{
    const cJSON *asked = cell->values[SUITE_PARAMETER_ATTENTION];
    if (!asked || strcmp(asked->valuestring, cell->attention) == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "attention %s contradicts mesh %s, which is %s", asked->valuestring,
                    cell->mesh, cell->attention);
}

static void put_parallel(dit_json_writer *w, const dit_parallel *parallel, cJSON *document, const char *key)
{
    cJSON *part = dit_json_put_object(w, document, key);
    if (part) dit_json_put_status(w, dit_parallel_to_json(parallel, part));
}

void suite_cell_put_mesh(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    put_parallel(w, &cell->parallel, document, "parallel");
    dit_json_put_string(w, document, "attention", cell->attention);
    if (cell->emulates) put_parallel(w, &cell->emulated, document, "emulates");
}

void suite_cell_put_mesh_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    dit_json_put_string(w, tags, "method", cell->method);
    dit_json_put_int(w, tags, "world_size", cell->world_size);
    dit_json_put_string(w, tags, "mesh", cell->mesh);
    for (int axis = DIT_AXIS_COUNT - 1; axis >= 0; axis--)
        dit_json_put_int(w, tags, dit_axis_key((dit_axis)axis), cell->parallel.degree[axis]);
    if (cell->parallel.rows_degree > 1)
        dit_json_put_int(w, tags, dit_axis_key(DIT_AXIS_WORLD), cell->parallel.rows_degree);
    if (cell->parallel.fsdp_degree > 1) {
        dit_json_put_int(w, tags, dit_axis_key(DIT_AXIS_FSDP), cell->parallel.fsdp_degree);
        dit_json_put_int(w, tags, suite_parameter_key(SUITE_PARAMETER_FSDP_PREFETCH), cell->parallel.fsdp_prefetch);
    }
    dit_json_put_string(w, tags, "joint_text", dit_joint_text_name(cell->parallel.joint_text));
    dit_json_put_string(w, tags, "attention", cell->attention);
}
