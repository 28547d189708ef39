#include "suite/explain.h"

#include "suite/describe.h"
#include "suite/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The axes of a mesh, in the order in which the factors are dealt. */
static const dit_axis axes[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING,   DIT_AXIS_CFG,
                                DIT_AXIS_DATA,    DIT_AXIS_TENSOR, DIT_AXIS_PIPEFUSION};
enum { AXES = sizeof axes / sizeof *axes };

static cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = member(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* ---- every mesh, as a workload ----------------------------------------------------------------------------------- */

/* Appends to the lists every way to write `rest` as a product over axes[at..]. */
static void deal(cJSON *const lists[AXES], int degrees[AXES], int at, int rest)
{
    if (at == AXES - 1) {
        degrees[at] = rest;
        for (int i = 0; i < AXES; i++) cJSON_AddItemToArray(lists[i], cJSON_CreateNumber(degrees[i]));
        return;
    }
    for (int degree = 1; degree <= rest; degree++) {
        if (rest % degree || (axes[at] == DIT_AXIS_CFG && degree > 2)) continue;
        degrees[at] = degree;
        deal(lists, degrees, at + 1, rest / degree);
    }
}

static dit_status add_defaults(cJSON *workload, const suite_explain_params *params)
{
    char resolution[48];
    cJSON *defaults = cJSON_AddObjectToObject(workload, "defaults");
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"num_frames", params->num_frames},
                   {"text_tokens", params->text_tokens},
                   {"num_inference_steps", params->steps},
                   {"num_images", params->num_images}};
    if (!defaults) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a workload");
    DIT_TRY(dit_json_add_string(defaults, "model", params->model));
    DIT_TRY(dit_json_add_string(defaults, "platform", params->platform ? params->platform : "any"));
    DIT_TRY(dit_json_add_int(defaults, "threads_per_rank", 1));
    snprintf(resolution, sizeof resolution, "%lldx%lld", (long long)params->width_px, (long long)params->height_px);
    if (params->width_px) DIT_TRY(dit_json_add_string(defaults, "resolution", resolution));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value) DIT_TRY(dit_json_add_int(defaults, numbers[i].key, numbers[i].value));
    return DIT_OK;
}

static dit_status write_workload(const suite_explain_params *params, cJSON *workload)
{
    int degrees[AXES];
    cJSON *lists[AXES], *zip = cJSON_AddArrayToObject(workload, "zip"), *tied = cJSON_CreateObject();
    DIT_TRY(dit_json_add_string(workload, "schema", "ditbench.workload/1"));
    DIT_TRY(dit_json_add_string(workload, "name", "explain"));
    DIT_TRY(dit_json_add_string(workload, "program", "denoise"));
    DIT_TRY(add_defaults(workload, params));
    if (!zip || !tied || !cJSON_AddItemToArray(zip, tied)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a workload");
    for (int i = 0; i < AXES; i++) {
        lists[i] = cJSON_AddArrayToObject(tied, dit_axis_key(axes[i]));
        if (!lists[i]) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a workload");
    }
    deal(lists, degrees, 0, (int)params->devices);
    return DIT_OK;
}

static dit_status expand_all(const suite_explain_params *params, suite_workload *out)
{
    cJSON *document = cJSON_CreateObject();
    dit_status st = document ? write_workload(params, document) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a workload");
    char *text = st == DIT_OK ? cJSON_Print(document) : NULL;
    if (st == DIT_OK && !text) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a workload");
    if (st == DIT_OK) st = suite_workload_parse(text, strlen(text), "explain", out);
    free(text);
    cJSON_Delete(document);
    return st;
}

/* ---- what the engine counts -------------------------------------------------------------------------------------- */

static dit_status describe_kept(const suite_workload *workload, const suite_single_params *single, cJSON **record)
{
    cJSON *cases = cJSON_CreateArray();
    dit_status st = cases ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for cases");
    for (int i = 0; i < workload->case_count && st == DIT_OK; i++) {
        cJSON *entry = cJSON_CreateObject();
        if (!entry || !cJSON_AddItemToArray(cases, entry) ||
            !cJSON_AddItemReferenceToObject(entry, "case", workload->cases[i].document))
            st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for cases");
        else
            st = dit_json_add_string(entry, "name", workload->cases[i].case_id);
    }
    if (st == DIT_OK) st = suite_describe_cases(cases, single, record);
    cJSON_Delete(cases);
    return st;
}

/* Sums over the kinds of traffic; the final gather of latents apart. */
static dit_status add_traffic(cJSON *mesh, const cJSON *counted)
{
    double bytes = 0, predicted = 0, messages = 0, gather = 0, steps = number_of(counted, "steps");
    const cJSON *row;
    cJSON_ArrayForEach(row, member(counted, "communication"))
    {
        if (strcmp(cJSON_GetStringValue(member(row, "phase")), "step") != 0) {
            gather += number_of(row, "bytes");
            continue;
        }
        bytes += number_of(row, "bytes");
        predicted += number_of(row, "predicted_bytes");
        messages += number_of(row, "messages");
    }
    DIT_TRY(dit_json_add_number(mesh, "bytes_per_step", bytes / steps));
    DIT_TRY(dit_json_add_number(mesh, "predicted_bytes_per_step", predicted / steps));
    DIT_TRY(dit_json_add_number(mesh, "messages_per_step", messages / steps));
    return dit_json_add_number(mesh, "gather_bytes", gather);
}

static dit_status add_work(cJSON *mesh, const cJSON *counted, const cJSON *parallel, double num_images)
{
    const cJSON *flops = member(counted, "flops"), *memory = member(counted, "memory"), *item;
    double cfg = number_of(parallel, dit_axis_key(DIT_AXIS_CFG)),
           data = number_of(parallel, dit_axis_key(DIT_AXIS_DATA));
    double rows = number_of(counted, "forwards_per_step") / (cfg > 1 ? cfg : 1) * num_images / (data > 1 ? data : 1);
    double forward = number_of(flops, "linear") + number_of(flops, "attention") + number_of(flops, "other"), total = 0;
    cJSON_ArrayForEach(item, memory) total += item->valuedouble;
    DIT_TRY(dit_json_add_number(mesh, "flops_per_step", forward * rows));
    if (!cJSON_AddItemToObject(mesh, "memory", cJSON_Duplicate(memory, true)))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a mesh");
    return dit_json_add_number(mesh, "memory_bytes", total);
}

static dit_status add_mesh(cJSON *meshes, cJSON *rejected, const suite_case *kase, const cJSON *counted)
{
    const cJSON *error = member(counted, "error"), *parallel = member(kase->document, "parallel");
    cJSON *mesh = cJSON_CreateObject();
    if (!mesh || !cJSON_AddItemToArray(error ? rejected : meshes, mesh))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a mesh");
    DIT_TRY(dit_json_add_string(mesh, "mesh", cJSON_GetStringValue(member(kase->tags, "mesh"))));
    if (error) {
        DIT_TRY(dit_json_add_string(mesh, "code", cJSON_GetStringValue(member(error, "code"))));
        return dit_json_add_string(mesh, "reason", cJSON_GetStringValue(member(error, "message")));
    }
    DIT_TRY(dit_json_add_string(mesh, "method", cJSON_GetStringValue(member(kase->tags, "method"))));
    DIT_TRY(dit_json_add_string(mesh, "attention", cJSON_GetStringValue(member(kase->tags, "attention"))));
    if (!cJSON_AddItemToObject(mesh, "parallel", cJSON_Duplicate(parallel, true)))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a mesh");
    DIT_TRY(add_traffic(mesh, counted));
    return add_work(mesh, counted, parallel, number_of(member(kase->document, "run"), "num_images"));
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* A dropped cell has no case: its mesh is named from its degrees. */
static dit_status add_dropped(cJSON *rejected, const suite_dropped *dropped)
{
    dit_parallel parallel = {0};
    char label[64];
    cJSON *entry = cJSON_CreateObject();
    for (int i = 0; i < AXES; i++) parallel.degree[axes[i]] = (int)number_of(dropped->cell, dit_axis_key(axes[i]));
    dit_parallel_label(&parallel, label);
    if (!entry || !cJSON_AddItemToArray(rejected, entry)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a mesh");
    DIT_TRY(dit_json_add_string(entry, "mesh", label));
    DIT_TRY(dit_json_add_string(entry, "code", dit_status_name(dropped->code)));
    return dit_json_add_string(entry, "reason", dropped->reason);
}

static int by_bytes(const void *a, const void *b)
{
    double x = number_of(*(cJSON *const *)a, "bytes_per_step"), y = number_of(*(cJSON *const *)b, "bytes_per_step");
    return (x > y) - (x < y);
}

/* The list in a new order: cheapest in bytes first. */
static dit_status sort_meshes(cJSON *meshes)
{
    int count = cJSON_GetArraySize(meshes);
    cJSON **items = calloc((size_t)count + 1, sizeof *items);
    if (!items) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to sort");
    for (int i = 0; i < count; i++) items[i] = cJSON_DetachItemFromArray(meshes, 0);
    qsort(items, (size_t)count, sizeof *items, by_bytes);
    for (int i = 0; i < count; i++) cJSON_AddItemToArray(meshes, items[i]);
    free(items);
    return DIT_OK;
}

static dit_status fill_answer(const suite_explain_params *params, const suite_workload *workload, const cJSON *record,
                              cJSON *out)
{
    const cJSON *counted = member(record, "describe") ? member(record, "describe")->child : NULL;
    cJSON *meshes = cJSON_AddArrayToObject(out, "meshes"), *rejected = cJSON_AddArrayToObject(out, "rejected");
    if (!meshes || !rejected) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an answer");
    DIT_TRY(dit_json_add_string(out, "model", params->model));
    DIT_TRY(dit_json_add_int(out, "devices", params->devices));
    for (int i = 0; i < workload->case_count; i++, counted = counted ? counted->next : NULL) {
        if (!counted) return DIT_FAIL(DIT_ERR_INTERNAL, "the engine described fewer meshes than it was asked for");
        if (i == 0 &&
            !cJSON_AddItemToObject(out, "run", cJSON_Duplicate(member(workload->cases[0].document, "run"), true)))
            return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an answer");
        DIT_TRY(add_mesh(meshes, rejected, &workload->cases[i], counted));
    }
    for (int i = 0; i < workload->dropped_count; i++) DIT_TRY(add_dropped(rejected, &workload->dropped[i]));
    return sort_meshes(meshes);
}

dit_status suite_explain(const suite_explain_params *params, const suite_single_params *single, cJSON **out)
{
    suite_workload workload;
    cJSON *record = NULL;
    *out = NULL;
    DIT_TRY(expand_all(params, &workload));
    dit_status st = workload.case_count ? describe_kept(&workload, single, &record) : DIT_OK;
    *out = cJSON_CreateObject();
    if (st == DIT_OK)
        st = *out ? fill_answer(params, &workload, record, *out) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for an answer");
    if (st != DIT_OK) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    cJSON_Delete(record);
    suite_workload_release(&workload);
    return st;
}
