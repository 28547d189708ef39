#include "suite/explain/meshes.h"

#include "base/deal.h"
#include "base/json_writer.h"
#include "base/label.h"
#include "suite/workload/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lists that the workload ties together: a degree per axis, and how patches know of each other. */
typedef struct {
    cJSON *degrees[DIT_AXIS_COUNT], *methods, *stages;
} mesh_lists;

static void add_cell(dit_json_writer *w, const mesh_lists *lists, const int degree[DIT_AXIS_COUNT],
                     dit_patch_method method, dit_stage_method stages)
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) dit_json_put_number(w, lists->degrees[axis], NULL, degree[axis]);
    dit_json_put_string(w, lists->methods, NULL, dit_patch_method_name(method));
    dit_json_put_string(w, lists->stages, NULL, dit_stage_method_name(stages));
}

/* One cell, or with patches one for each method. Streams of blocks are shown where a mesh names them. */
static dit_status add_cells(void *context, const int degree[DIT_AXIS_COUNT])
{
    dit_json_writer w = {0};
    for (int method = 0; method < (degree[DIT_AXIS_PATCH] > 1 ? DIT_PATCH_METHOD_COUNT : 1); method++)
        add_cell(&w, context, degree, (dit_patch_method)method, DIT_STAGE_PIPEFUSION);
    return w.status;
}

static bool is_wanted(const suite_meshes_params *params, dit_axis axis)
{
    if (axis >= DIT_AXIS_COUNT) return false;
    if (params->one_request && axis == DIT_AXIS_DATA) return false;
    return !params->exact || (axis != DIT_AXIS_PIPEFUSION && axis != DIT_AXIS_PATCH);
}

static dit_status add_all_meshes(const suite_meshes_params *params, mesh_lists *lists)
{
    dit_axis axes[DIT_AXIS_COUNT];
    int count = 0;
    for (int place = 0; place < DIT_GROUP_COUNT; place++)
        if (is_wanted(params, dit_axis_at_label(place))) axes[count++] = dit_axis_at_label(place);
    return dit_deal_each(axes, count, (int)params->devices, add_cells, lists);
}

static void add_one_mesh(dit_json_writer *w, const mesh_lists *lists, const dit_parallel *mesh)
{
    int degree[DIT_AXIS_COUNT];
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) degree[axis] = dit_parallel_degree(mesh, (dit_axis)axis);
    add_cell(w, lists, degree, mesh->patch_method, mesh->stage_method);
}

static void add_shards(dit_json_writer *w, const suite_meshes_params *params, cJSON *defaults)
{
    bool own = params->mesh && params->mesh->fsdp_degree > 1;
    int degree = own ? params->mesh->fsdp_degree : params->fsdp_degree;
    if (degree <= 1) return;
    dit_json_put_int(w, defaults, dit_axis_key(DIT_AXIS_FSDP), degree);
    dit_json_put_int(w, defaults, "fsdp_prefetch", own ? params->mesh->fsdp_prefetch : params->fsdp_prefetch);
}

static dit_status add_defaults(cJSON *workload, const suite_meshes_params *params)
{
    dit_json_writer w = {0};
    char resolution[48];
    cJSON *defaults = dit_json_put_object(&w, workload, "defaults");
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"num_frames", params->num_frames},
                   {"text_tokens", params->text_tokens},
                   {"num_inference_steps", params->steps},
                   {"num_images", params->num_images},
                   {"num_pipeline_patch", params->num_pipeline_patch},
                   {"resident_weights", params->offload.resident_weights},
                   {"offload_depth", params->offload.depth}};
    dit_json_put_string(&w, defaults, "model", params->model);
    dit_json_put_string(&w, defaults, "platform", params->platform);
    dit_json_put_string(&w, defaults, "profile", params->profile);
    dit_json_put_string(&w, defaults, "element", params->element);
    if (params->offload.tier) dit_json_put_string(&w, defaults, "offload", dit_offload_tiers[params->offload.tier]);
    if (params->offload.tier)
        dit_json_put_string(&w, defaults, "offload_policy", dit_residency_policies[params->offload.policy]);
    add_shards(&w, params, defaults);
    dit_json_put_int(&w, defaults, "threads_per_rank", 1);
    snprintf(resolution, sizeof resolution, "%lldx%lld", (long long)params->width_px, (long long)params->height_px);
    if (params->width_px) dit_json_put_string(&w, defaults, "resolution", resolution);
    if (params->warmup_steps >= 0) dit_json_put_int(&w, defaults, "warmup_steps", params->warmup_steps);
    if (params->halo_frames >= 0) dit_json_put_int(&w, defaults, "halo_frames", params->halo_frames);
    if (params->global_frames >= 0) dit_json_put_int(&w, defaults, "global_frames", params->global_frames);
    if (params->block_frames) dit_json_put_int(&w, defaults, "block_frames", params->block_frames);
    if (params->context_frames >= 0) dit_json_put_int(&w, defaults, "context_frames", params->context_frames);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value) dit_json_put_int(&w, defaults, numbers[i].key, numbers[i].value);
    if (params->mesh && params->mesh->ring_method != DIT_RING_MERGE)
        dit_json_put_string(&w, defaults, "attention", dit_ring_method_name(params->mesh->ring_method));
    if (params->mesh && params->mesh->inner_ring)
        dit_json_put_int(&w, defaults, "inner_ring", params->mesh->inner_ring);
    const int *blocks = params->mesh ? params->mesh->stage_blocks : NULL;
    cJSON *stages = blocks && blocks[0] ? dit_json_put_array(&w, defaults, "attn_layer_num_for_pp") : NULL;
    for (int i = 0; stages && i < params->mesh->degree[DIT_AXIS_PIPEFUSION]; i++)
        dit_json_put_int(&w, stages, NULL, blocks[i]);
    if (params->scope) {
        cJSON *measure = dit_json_put_object(&w, workload, "measure");
        dit_json_put_string(&w, measure, "scope", params->scope);
    }
    return w.status;
}

static dit_status write_workload(const suite_meshes_params *params, const char *name, cJSON *workload)
{
    dit_json_writer w = {0};
    mesh_lists lists;
    cJSON *zip = dit_json_put_array(&w, workload, "zip"), *tied = dit_json_put_object(&w, zip, NULL);
    dit_json_put_string(&w, workload, "schema", "ditbench.workload/1");
    dit_json_put_string(&w, workload, "name", name);
    dit_json_put_string(&w, workload, "program", "denoise");
    DIT_TRY(add_defaults(workload, params));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        lists.degrees[axis] = dit_json_put_array(&w, tied, dit_axis_key((dit_axis)axis));
    lists.methods = dit_json_put_array(&w, tied, "patch_method");
    lists.stages = dit_json_put_array(&w, tied, "stage_method");
    if (params->mesh)
        add_one_mesh(&w, &lists, params->mesh);
    else
        dit_json_put_status(&w, add_all_meshes(params, &lists));
    return w.status;
}

dit_status suite_meshes_expand(const suite_meshes_params *params, const char *name, suite_workload *out)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    *out = (suite_workload){0};
    dit_status st = document ? write_workload(params, name, document) : w.status;
    char *text = st == DIT_OK ? cJSON_Print(document) : NULL;
    if (st == DIT_OK && !text) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a workload of meshes");
    if (st == DIT_OK) st = suite_workload_parse(text, strlen(text), name, out);
    free(text);
    cJSON_Delete(document);
    return st;
}

void suite_meshes_label_dropped(const suite_dropped *dropped, char out[64])
{
    dit_parallel parallel = {0};
    const char *method = dit_json_text_or(dropped->cell, "patch_method", NULL);
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        parallel.degree[axis] = (int)dit_json_number_or(dropped->cell, dit_axis_key((dit_axis)axis), 0);
    if (method) dit_patch_method_from_name(method, &parallel.patch_method);
    parallel.fsdp_degree = (int)dit_json_number_or(dropped->cell, dit_axis_key(DIT_AXIS_FSDP), 0);
    dit_parallel_label(&parallel, out);
}
