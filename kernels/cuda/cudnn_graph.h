/* cuDNN's backend API as a graph of tensors and operations, and plans that execute it.
 *
 * A dnn_graph owns every descriptor that was made for it. A dnn_plan owns what it needs beside its graph, and the graph
 * must outlive it. Errors name the attribute or the descriptor, cuDNN's status and its explanation: DIT_ERR_UNSUPPORTED
 * where cuDNN says so, else DIT_ERR_DEVICE.
 *
 * Plain C without device code. No device is needed: cuDNN 9.8 and later makes plans for the properties of a device that
 * is not present, and tests use that to see that cuDNN accepts our graphs.
 */
#ifndef DIT_KERNELS_CUDA_CUDNN_GRAPH_H
#define DIT_KERNELS_CUDA_CUDNN_GRAPH_H

#include "base/dtype.h"
#include "base/status.h"
#include <cudnn.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DNN_DESCRIPTORS = 64, /* of one graph; the largest, attention as products and pointwise operations, has 33 */
    DNN_OPERATIONS = 16,
    DNN_DIMENSIONS = 5,
    DNN_ALIGNMENT = 16 /* bytes, of every pointer that is given to a plan */
};

typedef struct {
    cudnnBackendDescriptor_t made[DNN_DESCRIPTORS];
    int count;
    cudnnBackendDescriptor_t operations[DNN_OPERATIONS];
    int operation_count;
    cudnnBackendDescriptor_t whole; /* the graph of all operations; dnn_graph_close makes it */
} dnn_graph;

/* What plans are made for: a device of this machine, or the properties of any device. */
typedef struct {
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t properties;
} dnn_target;

typedef struct {
    int64_t id; /* names the pointer at run time; unique in the graph */
    cudnnDataType_t type;
    int dimensions;
    int64_t size[DNN_DIMENSIONS], stride[DNN_DIMENSIONS]; /* in elements */
    bool is_virtual;                                      /* between operations, never in memory */
    bool by_value;                                        /* a scalar whose pointer is the host's */
    int64_t alignment;                                    /* bytes; 0: DNN_ALIGNMENT */
} dnn_tensor;

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

void dnn_graph_release(dnn_graph *graph); /* accepts a zeroed one */
/* Adds a descriptor that the graph owns; the caller sets and finishes it. */
dit_status dnn_graph_add(dnn_graph *graph, cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out);
dit_status dnn_graph_add_tensor(dnn_graph *graph, const dnn_tensor *tensor, cudnnBackendDescriptor_t *out);
/* Adds y = mode(x) or, unless b is NULL, y = mode(x, b), in fp32. */
dit_status dnn_graph_add_pointwise(dnn_graph *graph, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x,
                                   cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t y);
/* Adds the reduction of x [.., n] to y [.., 1], in fp32. */
dit_status dnn_graph_add_reduction(dnn_graph *graph, cudnnReduceTensorOp_t how, cudnnBackendDescriptor_t x,
                                   cudnnBackendDescriptor_t y);
/* Adds c = a b, in fp32. */
dit_status dnn_graph_add_product(dnn_graph *graph, cudnnBackendDescriptor_t a, cudnnBackendDescriptor_t b,
                                 cudnnBackendDescriptor_t c);
/* Finishes a descriptor that is an operation of the graph. */
dit_status dnn_graph_add_operation(dnn_graph *graph, cudnnBackendDescriptor_t operation, const char *name);
/* Closes the graph: no operation can be added afterwards. */
dit_status dnn_graph_close(dnn_graph *graph, const dnn_target *target);

dit_status dnn_set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attribute, const char *name,
                   cudnnBackendAttributeType_t type, int64_t count, const void *values);
dit_status dnn_finish(cudnnBackendDescriptor_t descriptor, const char *name);
/* Sets an attribute; errors name it. */
#define DNN_SET(descriptor, attribute, type, count, values)                                                            \
    DIT_TRY(dnn_set(descriptor, attribute, #attribute, type, count, values))

/* ---- plans ------------------------------------------------------------------------------------------------------- */

typedef struct {
    cudnnBackendDescriptor_t plan, config; /* NULL: none */
    int64_t workspace_bytes;
    int64_t engine; /* cuDNN's number for it */
} dnn_plan;

typedef struct {
    int64_t workspace_bytes; /* at most */
    bool exact;              /* no engine that rounds fp32 operands (tensor cores), nor Winograd's transforms */
} dnn_limits;

/* Makes up to `room` plans for a closed graph, best guess first: those of heuristic A, then of B, then of the fallback
 * list. Errors: DIT_ERR_UNSUPPORTED when there is none, with what cuDNN said of the last candidate. */
dit_status dnn_plans_make(const dnn_graph *graph, const dnn_target *target, const dnn_limits *limits, int room,
                          dnn_plan *out, int *count);
void dnn_plan_release(dnn_plan *plan); /* accepts a zeroed one */
/* Runs a plan, asynchronous on the handle's stream. pointers[i] belongs to the tensor ids[i]. */
dit_status dnn_plan_run(const dnn_plan *plan, cudnnHandle_t handle, int count, const int64_t *ids,
                        void *const *pointers, void *workspace);

/* ---- devices and versions ---------------------------------------------------------------------------------------- */

/* Opens the current device as target, with its work on `stream`. Errors: DIT_ERR_ENVIRONMENT with what cuDNN says. */
dit_status dnn_target_open(dnn_target *target, cudaStream_t stream);
void dnn_target_close(dnn_target *target); /* accepts a zeroed one; not properties */
/* Reads a device's properties from the JSON that cuDNN writes; the caller destroys them. */
dit_status dnn_properties_read(const char *json, cudnnBackendDescriptor_t *out);
/* Gives cuDNN's type: CUDNN_DATA_BFLOAT16 for DIT_DTYPE_BF16 and so on. False: cuDNN has none, or we use none. */
bool dnn_type_of(dit_dtype dtype, cudnnDataType_t *out);
/* Returns the version of the loaded library, "9.19.0". */
const char *cuda_cudnn_version(void);
/* Translates the result of a cuDNN call. */
dit_status dnn_status(cudnnStatus_t status, const char *what);
#define DNN_TRY(call) DIT_TRY(dnn_status(call, #call))

#ifdef __cplusplus
}
#endif
#endif
