/* cuDNN's backend API on the host: carries out the graphs that it is given, operation by operation, by their
 * definitions, on memory of the host. What a graph says is so tested without a device and without cuDNN, whose header
 * is all that this needs. As strict as cuDNN where a mistake of ours could show: ids, types, counts, alignment, what is
 * finished when; the workspace of a plan is overwritten.
 */
#include "base/dtype.h"
#include "cuda_runtime.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <cudnn.h>
#include <map>
#include <string>
#include <vector>

namespace
{

enum { WORKSPACE_BYTES = 1024 };

struct descriptor {
    cudnnBackendDescriptorType_t type;
    bool finished = false;
    std::map<int, std::vector<char>> attributes;

    bool has(int attribute) const { return attributes.count(attribute) != 0; }
    template <typename T> std::vector<T> list(int attribute) const
    {
        const std::vector<char> &bytes = attributes.at(attribute);
        std::vector<T> out(bytes.size() / sizeof(T));
        memcpy(out.data(), bytes.data(), bytes.size());
        return out;
    }
    template <typename T> T one(int attribute) const { return list<T>(attribute).at(0); }
    const descriptor &of(int attribute) const { return *one<const descriptor *>(attribute); }
};

std::string last_error;

cudnnStatus_t fail(cudnnStatus_t status, const std::string &why)
{
    last_error = why;
    return status;
}

size_t size_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE: return 8;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_CHAR: return 1;
    default: return 4;
    }
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

size_t bytes_of(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT ? 4 : 2;
}

float element_get(cudnnDataType_t type, const void *memory, int64_t i)
{
    if (type == CUDNN_DATA_FLOAT) return ((const float *)memory)[i];
    uint16_t bits = ((const uint16_t *)memory)[i];
    return type == CUDNN_DATA_BFLOAT16 ? dit_bf16_to_float(bits) : dit_fp16_to_float(bits);
}

void element_set(cudnnDataType_t type, void *memory, int64_t i, float value)
{
    if (type == CUDNN_DATA_FLOAT)
        ((float *)memory)[i] = value;
    else
        ((uint16_t *)memory)[i] = type == CUDNN_DATA_BFLOAT16 ? dit_bf16_from_float(value) : dit_fp16_from_float(value);
}

using places = std::vector<int64_t>;

struct tensor {
    places size, stride;
    cudnnDataType_t type;
    void *memory;

    int64_t at(const places &index) const
    {
        int64_t offset = 0;
        for (size_t i = 0; i < size.size(); i++) offset += (size[i] == 1 ? 0 : index[i]) * stride[i];
        return offset;
    }
    float get(const places &index) const { return element_get(type, memory, at(index)); }
    void set(const places &index, float value) const { element_set(type, memory, at(index), value); }
};

/* Calls f(index) for every index below size. */
template <typename F> void every(const places &size, F f)
{
    places index(size.size(), 0);
    for (;;) {
        f(index);
        size_t axis = size.size();
        while (axis > 0 && ++index[axis - 1] == size[axis - 1]) index[--axis] = 0;
        if (axis == 0) return;
    }
}

/* Memory of tensors at one call: the pointers that were given, and room for what is between operations. */
struct run_memory {
    std::map<int64_t, void *> given;
    std::map<int64_t, std::vector<char>> between;
    std::string wrong;

    tensor find(const descriptor &d)
    {
        tensor t = {d.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), d.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES),
                    d.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE), NULL};
        int64_t id = d.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID), last = 0;
        if (d.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL)) {
            for (size_t i = 0; i < t.size.size(); i++) last += (t.size[i] - 1) * t.stride[i];
            std::vector<char> &room = between[id];
            room.resize((size_t)(last + 1) * bytes_of(t.type));
            t.memory = room.data();
            return t;
        }
        t.memory = given.count(id) ? given[id] : NULL;
        if (!t.memory || (uintptr_t)t.memory % (uintptr_t)d.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT))
            wrong = "tensor " + std::to_string(id) + " has no pointer, or it is not aligned";
        return t;
    }
};

/* ---- operations -------------------------------------------------------------------------------------------------- */

float pointwise(cudnnPointwiseMode_t mode, float x, float b)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_DIV: return x / b;
    case CUDNN_POINTWISE_EXP: return expf(x);
    case CUDNN_POINTWISE_LOG: return logf(x);
    case CUDNN_POINTWISE_RELU_FWD: return x < 0 ? 0.0f : x;
    case CUDNN_POINTWISE_TANH_FWD: return tanhf(x);
    case CUDNN_POINTWISE_SWISH_FWD: return x / (1.0f + expf(-x));
    case CUDNN_POINTWISE_GELU_FWD: return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
        return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    default: return NAN;
    }
}

void run_pointwise(run_memory &memory, const descriptor &op)
{
    auto mode =
        op.of(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR).one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    tensor x = memory.find(op.of(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)), b = x;
    tensor y = memory.find(op.of(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    if (op.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) b = memory.find(op.of(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
    if (!memory.wrong.empty()) return;
    every(y.size, [&](const places &i) { y.set(i, pointwise(mode, x.get(i), b.get(i))); });
}

void run_reduction(run_memory &memory, const descriptor &op)
{
    auto how = op.of(CUDNN_ATTR_OPERATION_REDUCTION_DESC).one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
    bool adds = how == CUDNN_REDUCE_TENSOR_ADD;
    tensor x = memory.find(op.of(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
    tensor y = memory.find(op.of(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
    every(y.size, [&](const places &i) { y.set(i, adds ? 0.0f : -INFINITY); });
    every(x.size, [&](const places &i) { y.set(i, adds ? y.get(i) + x.get(i) : fmaxf(y.get(i), x.get(i))); });
}

void run_product(run_memory &memory, const descriptor &op)
{
    tensor a = memory.find(op.of(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
    tensor b = memory.find(op.of(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
    tensor c = memory.find(op.of(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
    if (!memory.wrong.empty()) return;
    if (a.size[3] != b.size[2]) memory.wrong = "a product of sizes that do not fit";
    every(c.size, [&](const places &i) {
        double sum = 0;
        int64_t head = i[1] / (a.size[1] / b.size[1]);
        for (int64_t k = 0; k < a.size[3]; k++)
            sum += (double)a.get({i[0], i[1], i[2], k}) * b.get({i[0], head, k, i[3]});
        c.set(i, (float)sum);
    });
}

/* Per row of queries; k [B, H, S, D] as q is. */
void run_attention(run_memory &memory, const descriptor &op)
{
    tensor q = memory.find(op.of(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC));
    tensor k = memory.find(op.of(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC));
    tensor v = memory.find(op.of(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC));
    tensor o = memory.find(op.of(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC)), stats = o;
    tensor scale = memory.find(op.of(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC));
    bool has_stats = op.has(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC);
    if (has_stats) stats = memory.find(op.of(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC));
    if (!memory.wrong.empty()) return;
    int64_t keys = k.size[2], D = q.size[3];
    every({q.size[0], q.size[1], q.size[2]}, [&](const places &i) {
        int64_t head = i[1] / (q.size[1] / k.size[1]);
        std::vector<double> w((size_t)keys);
        double most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < keys; j++) {
            double dot = 0;
            for (int64_t d = 0; d < D; d++) dot += (double)q.get({i[0], i[1], i[2], d}) * k.get({i[0], head, j, d});
            w[(size_t)j] = dot * scale.get({0, 0, 0, 0});
            most = fmax(most, w[(size_t)j]);
        }
        for (double &x : w) sum += x = exp(x - most);
        for (int64_t d = 0; d < D; d++) {
            double y = 0;
            for (int64_t j = 0; j < keys; j++) y += w[(size_t)j] / sum * v.get({i[0], head, j, d});
            o.set({i[0], i[1], i[2], d}, (float)y);
        }
        if (has_stats) stats.set({i[0], i[1], i[2], 0}, (float)(most + log(sum)));
    });
}

/* [N, C, axes...]; what cuDNN would count as outputs must be what y says. */
void run_convolution(run_memory &memory, const descriptor &op)
{
    const descriptor &how = op.of(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
    tensor x = memory.find(op.of(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
    tensor w = memory.find(op.of(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
    tensor y = memory.find(op.of(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
    places before = how.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    places after = how.list<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
    places step = how.list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    size_t axes = (size_t)how.one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
    if (!memory.wrong.empty()) return;
    if (x.size.size() != axes + 2 || before.size() != axes || x.size[1] != w.size[1] || y.size[1] != w.size[0])
        memory.wrong = "a convolution of sizes that do not fit";
    for (size_t a = 0; memory.wrong.empty() && a < axes; a++)
        if ((x.size[a + 2] + before[a] + after[a] - w.size[a + 2]) / step[a] + 1 != y.size[a + 2] || after[a] < 0)
            memory.wrong = "a convolution has another extent than its output";
    if (!memory.wrong.empty()) return;
    places taps(w.size.begin() + 1, w.size.end());
    every(y.size, [&](const places &i) {
        double sum = 0;
        every(taps, [&](const places &tap) { /* channel, axes... */
                                             places from = {i[0], tap[0]}, filter = {i[1]};
                                             filter.insert(filter.end(), tap.begin(), tap.end());
                                             for (size_t a = 0; a < axes; a++)
                                                 from.push_back(i[a + 2] * step[a] - before[a] + tap[a + 1]);
                                             for (size_t a = 0; a < axes; a++)
                                                 if (from[a + 2] < 0 || from[a + 2] >= x.size[a + 2]) return;
                                             sum += (double)w.get(filter) * x.get(from);
        });
        y.set(i, (float)sum);
    });
}

void run_operation(run_memory &memory, const descriptor &op)
{
    switch (op.type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: run_pointwise(memory, op); break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: run_reduction(memory, op); break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: run_product(memory, op); break;
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR: run_attention(memory, op); break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: run_convolution(memory, op); break;
    default: memory.wrong = "an operation that is not known here";
    }
}

} // namespace

/* ---- the API ----------------------------------------------------------------------------------------------------- */

int64_t emulated_cudnn_runs; /* plans that were carried out */

extern "C" {

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "failure of cuDNN on the host";
}

void cudnnGetLastErrorString(char *message, size_t max_size)
{
    snprintf(message, max_size, "%s", last_error.c_str());
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = (cudnnHandle_t) new char;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    delete (char *)handle;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t)
{
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    descriptor *d = new descriptor;
    d->type = type;
    *out = d;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    delete (descriptor *)d;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t attribute,
                                       cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    descriptor *d = (descriptor *)to;
    if (d->finished) return fail(CUDNN_STATUS_BAD_PARAM, "set after it was finished");
    if (count <= 0 || !values) return fail(CUDNN_STATUS_BAD_PARAM, "no values");
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++) {
        const descriptor *other = ((descriptor *const *)values)[i];
        if (!other || (!other->finished && other->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR))
            return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "refers to what is not finished");
    }
    const char *bytes = (const char *)values;
    d->attributes[attribute] = std::vector<char>(bytes, bytes + (size_t)count * size_of(type));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t of)
{
    ((descriptor *)of)->finished = true;
    return CUDNN_STATUS_SUCCESS;
}

/* One suggestion, of one engine. */
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t attribute,
                                       cudnnBackendAttributeType_t, int64_t room, int64_t *count, void *out)
{
    descriptor *d = (descriptor *)of;
    if (room < 1) return fail(CUDNN_STATUS_BAD_PARAM, "no room");
    *count = 1;
    switch ((int)attribute) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
        descriptor *config = *(descriptor **)out;
        config->attributes[CUDNN_ATTR_ENGINECFG_ENGINE] = d->attributes.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        break;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE: break;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX: *(int64_t *)out = 0; break;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: *count = 0; break;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: *(int64_t *)out = WORKSPACE_BYTES; break;
    default: return fail(CUDNN_STATUS_NOT_SUPPORTED, "an attribute that is not known here");
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack)
{
    const descriptor &p = *(const descriptor *)plan, &v = *(const descriptor *)pack;
    if (!p.finished || !v.finished) return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "not finished");
    std::vector<int64_t> ids = v.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    std::vector<void *> pointers = v.list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    run_memory memory;
    if (ids.size() != pointers.size()) return fail(CUDNN_STATUS_BAD_PARAM, "not a pointer for every id");
    for (size_t i = 0; i < ids.size(); i++) memory.given[ids[i]] = pointers[i];
    memset(v.one<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE), 0xFF, WORKSPACE_BYTES);
    const descriptor &graph = p.of(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).of(CUDNN_ATTR_ENGINECFG_ENGINE);
    for (const descriptor *op : graph.list<const descriptor *>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
        run_operation(memory, *op);
        if (!memory.wrong.empty()) return fail(CUDNN_STATUS_BAD_PARAM, memory.wrong);
    }
    emulated_cudnn_runs++;
    return CUDNN_STATUS_SUCCESS;
}

} /* extern "C" */
