/* Graphs and plans of cuDNN's backend API. Attribute types and counts are those of cudnn_graph.h of cuDNN 9.19 and of
 * the API's reference ("cudnnBackendAttributeName_t" and the descriptor types' pages). */
#include "kernels/cuda/cudnn_graph.h"

#include <stdio.h>
#include <string.h>

dit_status dnn_status(cudnnStatus_t status, const char *what)
{
    if (status == CUDNN_STATUS_SUCCESS) return DIT_OK;
    char said[512] = "";
    cudnnGetLastErrorString(said, sizeof said);
    bool unsupported = CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
    return DIT_FAIL(unsupported ? DIT_ERR_UNSUPPORTED : DIT_ERR_DEVICE, "cuDNN: %s: %s%s%s", what,
                    cudnnGetErrorString(status), *said ? ": " : "", said);
}

dit_status dnn_set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attribute, const char *name,
                   cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    return dnn_status(cudnnBackendSetAttribute(descriptor, attribute, type, count, values), name);
}

dit_status dnn_finish(cudnnBackendDescriptor_t descriptor, const char *name)
{
    return dnn_status(cudnnBackendFinalize(descriptor), name);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

void dnn_graph_release(dnn_graph *graph)
{
    while (graph->count > 0) cudnnBackendDestroyDescriptor(graph->made[--graph->count]);
    *graph = (dnn_graph){0};
}

dit_status dnn_graph_add(dnn_graph *graph, cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    if (graph->count == DNN_DESCRIPTORS)
        return DIT_FAIL(DIT_ERR_INTERNAL, "a graph has more than %d descriptors", DNN_DESCRIPTORS);
    DNN_TRY(cudnnBackendCreateDescriptor(type, out));
    graph->made[graph->count++] = *out;
    return DIT_OK;
}

dit_status dnn_graph_add_tensor(dnn_graph *graph, const dnn_tensor *tensor, cudnnBackendDescriptor_t *out)
{
    int64_t alignment = tensor->alignment ? tensor->alignment : DNN_ALIGNMENT;
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
    DNN_SET(*out, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor->type);
    DNN_SET(*out, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, tensor->dimensions, tensor->size);
    DNN_SET(*out, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, tensor->dimensions, tensor->stride);
    DNN_SET(*out, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &tensor->id);
    DNN_SET(*out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    if (tensor->is_virtual) DNN_SET(*out, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &tensor->is_virtual);
    if (tensor->by_value) DNN_SET(*out, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &tensor->by_value);
    return dnn_finish(*out, "CUDNN_BACKEND_TENSOR_DESCRIPTOR");
}

dit_status dnn_graph_add_operation(dnn_graph *graph, cudnnBackendDescriptor_t operation, const char *name)
{
    if (graph->operation_count == DNN_OPERATIONS)
        return DIT_FAIL(DIT_ERR_INTERNAL, "a graph has more than %d operations", DNN_OPERATIONS);
    DIT_TRY(dnn_finish(operation, name));
    graph->operations[graph->operation_count++] = operation;
    return DIT_OK;
}

dit_status dnn_graph_add_pointwise(dnn_graph *graph, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x,
                                   cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t y)
{
    cudnnBackendDescriptor_t how, operation;
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &how));
    DNN_SET(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    DNN_SET(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    DIT_TRY(dnn_finish(how, "CUDNN_BACKEND_POINTWISE_DESCRIPTOR"));
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &operation));
    DNN_SET(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how);
    DNN_SET(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
    if (b) DNN_SET(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b);
    DNN_SET(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
    return dnn_graph_add_operation(graph, operation, "CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR");
}

dit_status dnn_graph_add_reduction(dnn_graph *graph, cudnnReduceTensorOp_t how, cudnnBackendDescriptor_t x,
                                   cudnnBackendDescriptor_t y)
{
    cudnnBackendDescriptor_t reduction, operation;
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, &reduction));
    DNN_SET(reduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
    DNN_SET(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    DIT_TRY(dnn_finish(reduction, "CUDNN_BACKEND_REDUCTION_DESCRIPTOR"));
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, &operation));
    DNN_SET(operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &reduction);
    DNN_SET(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
    DNN_SET(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
    return dnn_graph_add_operation(graph, operation, "CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR");
}

dit_status dnn_graph_add_product(dnn_graph *graph, cudnnBackendDescriptor_t a, cudnnBackendDescriptor_t b,
                                 cudnnBackendDescriptor_t c)
{
    cudnnBackendDescriptor_t product, operation;
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_MATMUL_DESCRIPTOR, &product));
    DNN_SET(product, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    DIT_TRY(dnn_finish(product, "CUDNN_BACKEND_MATMUL_DESCRIPTOR"));
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, &operation));
    DNN_SET(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &a);
    DNN_SET(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b);
    DNN_SET(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c);
    DNN_SET(operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &product);
    return dnn_graph_add_operation(graph, operation, "CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR");
}

dit_status dnn_graph_close(dnn_graph *graph, const dnn_target *target)
{
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph->whole));
    if (target->handle) DNN_SET(graph->whole, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target->handle);
    DNN_SET(graph->whole, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph->operation_count,
            graph->operations);
    return dnn_finish(graph->whole, "CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR");
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

enum { CONFIGS = 16 }; /* how many suggestions of one heuristic are tried */

typedef struct {
    cudnnBackendDescriptor_t heuristic, configs[CONFIGS];
    int count;
} suggestions;

static void suggestions_release(suggestions *list)
{
    for (int i = 0; i < CONFIGS; i++)
        if (list->configs[i]) cudnnBackendDestroyDescriptor(list->configs[i]);
    if (list->heuristic) cudnnBackendDestroyDescriptor(list->heuristic);
    *list = (suggestions){0};
}

/* Asks a heuristic. The caller releases the list, on failure too. */
static dit_status suggestions_get(suggestions *list, const dnn_graph *graph, const dnn_target *target,
                                  cudnnBackendHeurMode_t mode)
{
    int64_t found = 0;
    DNN_TRY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &list->heuristic));
    DNN_SET(list->heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph->whole);
    DNN_SET(list->heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (!target->handle)
        DNN_SET(list->heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                &target->properties);
    DIT_TRY(dnn_finish(list->heuristic, "CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR"));
    for (int i = 0; i < CONFIGS; i++)
        DNN_TRY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &list->configs[i]));
    DNN_TRY(cudnnBackendGetAttribute(list->heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                     CONFIGS, &found, list->configs));
    list->count = found < CONFIGS ? (int)found : CONFIGS;
    return DIT_OK;
}

static bool is_rounding(const cudnnBackendNumericalNote_t *notes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) switch (notes[i]) {
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        case CUDNN_NUMERICAL_NOTE_FFT:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD: return true;
        default: break;
        }
    return false;
}

/* Gives the engine's number of a configuration, and whether that engine rounds more than its types say. */
static dit_status engine_of(cudnnBackendDescriptor_t config, int64_t *number, bool *rounding)
{
    cudnnBackendDescriptor_t engine;
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0;
    DNN_TRY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    dit_status st = dnn_status(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine),
                               "CUDNN_ATTR_ENGINECFG_ENGINE");
    if (st == DIT_OK)
        st = dnn_status(
            cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, number),
            "CUDNN_ATTR_ENGINE_GLOBAL_INDEX");
    count = 0;
    if (st == DIT_OK)
        st = dnn_status(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes),
                        "CUDNN_ATTR_ENGINE_NUMERICAL_NOTE");
    *rounding = is_rounding(notes, count);
    cudnnBackendDestroyDescriptor(engine);
    return st;
}

static dit_status plan_finish(dnn_plan *plan, const dnn_target *target)
{
    DNN_TRY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan->plan));
    if (target->handle)
        DNN_SET(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target->handle);
    else
        DNN_SET(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                &target->properties);
    DNN_SET(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &plan->config);
    DIT_TRY(dnn_finish(plan->plan, "CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR"));
    int64_t count = 0;
    return dnn_status(cudnnBackendGetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                               1, &count, &plan->workspace_bytes),
                      "CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE");
}

/* Makes a plan and takes ownership of the configuration. */
static dit_status plan_make(cudnnBackendDescriptor_t config, const dnn_target *target, const dnn_limits *limits,
                            dnn_plan *out)
{
    bool rounding = false;
    *out = (dnn_plan){.config = config};
    dit_status st = engine_of(config, &out->engine, &rounding);
    if (st == DIT_OK && limits->exact && rounding)
        st = DIT_FAIL(DIT_ERR_UNSUPPORTED, "cuDNN: engine %lld rounds its fp32 operands", (long long)out->engine);
    if (st == DIT_OK) st = plan_finish(out, target);
    if (st == DIT_OK && out->workspace_bytes > limits->workspace_bytes)
        st = DIT_FAIL(DIT_ERR_UNSUPPORTED, "cuDNN: engine %lld needs %lld bytes of workspace, there are %lld",
                      (long long)out->engine, (long long)out->workspace_bytes, (long long)limits->workspace_bytes);
    if (st != DIT_OK) dnn_plan_release(out);
    return st;
}

/* Builds the plans that one heuristic suggests. Returns the last failure, or DIT_OK. */
static dit_status plans_of_mode(const dnn_graph *graph, const dnn_target *target, const dnn_limits *limits,
                                cudnnBackendHeurMode_t mode, int room, dnn_plan *out, int *count)
{
    suggestions list = {0};
    dit_status st = suggestions_get(&list, graph, target, mode);
    for (int i = 0; st == DIT_OK && i < list.count && *count < room; i++) {
        dit_status made = plan_make(list.configs[i], target, limits, &out[*count]);
        list.configs[i] = NULL;
        if (made == DIT_OK) (*count)++;
        if (made != DIT_OK && made != DIT_ERR_UNSUPPORTED && *count == 0 && i == list.count - 1) st = made;
    }
    suggestions_release(&list);
    return st;
}

dit_status dnn_plans_make(const dnn_graph *graph, const dnn_target *target, const dnn_limits *limits, int room,
                          dnn_plan *out, int *count)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK};
    *count = 0;
    dit_error_clear();
    for (int i = 0; i < 3 && *count < room && (*count == 0 || i == 0); i++)
        plans_of_mode(graph, target, limits, modes[i], room, out, count);
    if (*count > 0) {
        dit_error_clear();
        return DIT_OK;
    }
    char last[512];
    snprintf(last, sizeof last, "%s", dit_error_last()->message ? dit_error_last()->message : "");
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "cuDNN has no plan%s%s", *last ? "; last: " : "", last);
}

void dnn_plan_release(dnn_plan *plan)
{
    if (plan->plan) cudnnBackendDestroyDescriptor(plan->plan);
    if (plan->config) cudnnBackendDestroyDescriptor(plan->config);
    *plan = (dnn_plan){0};
}

static dit_status pack_finish(cudnnBackendDescriptor_t pack, int count, const int64_t *ids, void *const *pointers,
                              void *workspace)
{
    DNN_SET(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids);
    DNN_SET(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers);
    DNN_SET(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    return dnn_finish(pack, "CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR");
}

dit_status dnn_plan_run(const dnn_plan *plan, cudnnHandle_t handle, int count, const int64_t *ids,
                        void *const *pointers, void *workspace)
{
    cudnnBackendDescriptor_t pack;
    DNN_TRY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
    dit_status st = pack_finish(pack, count, ids, pointers, workspace);
    if (st == DIT_OK) st = dnn_status(cudnnBackendExecute(handle, plan->plan, pack), "cudnnBackendExecute");
    cudnnBackendDestroyDescriptor(pack);
    return st;
}

/* ---- devices and versions ---------------------------------------------------------------------------------------- */

dit_status dnn_target_open(dnn_target *target, cudaStream_t stream)
{
    *target = (dnn_target){0};
    if (dnn_status(cudnnCreate(&target->handle), "cudnnCreate") != DIT_OK) {
        target->handle = NULL;
        char said[512];
        snprintf(said, sizeof said, "%s", dit_error_last()->message);
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "%s", said);
    }
    return dnn_status(cudnnSetStream(target->handle, stream), "cudnnSetStream");
}

void dnn_target_close(dnn_target *target)
{
    if (target->handle) cudnnDestroy(target->handle);
    target->handle = NULL;
}

static dit_status properties_finish(cudnnBackendDescriptor_t properties, const char *json)
{
    DNN_SET(properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)strlen(json) + 1, json);
    return dnn_finish(properties, "CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR");
}

dit_status dnn_properties_read(const char *json, cudnnBackendDescriptor_t *out)
{
    DNN_TRY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, out));
    dit_status st = properties_finish(*out, json);
    if (st != DIT_OK) {
        cudnnBackendDestroyDescriptor(*out);
        *out = NULL;
    }
    return st;
}

bool dnn_type_of(dit_dtype dtype, cudnnDataType_t *out)
{
    switch (dtype) {
    case DIT_DTYPE_FP32: *out = CUDNN_DATA_FLOAT; return true;
    case DIT_DTYPE_BF16: *out = CUDNN_DATA_BFLOAT16; return true;
    case DIT_DTYPE_FP16: *out = CUDNN_DATA_HALF; return true;
    default: return false;
    }
}

const char *cuda_cudnn_version(void)
{
    static char text[32];
    size_t version = cudnnGetVersion();
    snprintf(text, sizeof text, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    return text;
}
