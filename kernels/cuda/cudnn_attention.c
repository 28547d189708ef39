/* Builds graphs of attention. Sources: cuDNN's reference of CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR and of fused
 * flash attention forward (the pattern of products, scale, bias and softmax); and tests/test_cudnn.c, which shows what
 * plans of 9.19 accept for compute capabilities 8.0, 8.9 and 9.0. */
#include "kernels/cuda/cudnn_attention.h"

#include <string.h>

enum { LARGEST_HEAD = 256, OLDEST_SM = 80, VECTOR = 8 /* elements of 16 bytes */ };

/* ---- which calls ------------------------------------------------------------------------------------------------- */

static int64_t group_of(const dit_attention_args *args)
{
    return args->kv_group > 1 ? args->kv_group : 1;
}

/* Checks the groups of heads. cuDNN's query head h reads head h / (H / key_heads), so the call must have whole groups,
 * or lie within one group. */
static bool groups_fit(const dit_attention_args *args)
{
    int64_t group = group_of(args), into = args->kv_first % group;
    return into + args->H <= group || (into == 0 && args->H % group == 0);
}

static bool strides_fit(const dit_attention_args *args)
{
    int64_t batches = args->B > 1 ? args->batch_q | args->batch_k | args->batch_v | args->batch_o : 0;
    return (args->ldq | args->ldk | args->ldv | args->ldo | batches) % VECTOR == 0;
}

static const char *types_decline(const dit_attention_args *args, const dnn_attention_operands *operands)
{
    if (operands->q != DIT_DTYPE_BF16 && operands->q != DIT_DTYPE_FP16) return "type other than bf16 and fp16";
    if (operands->k != operands->q || operands->v != operands->q || operands->out != operands->q)
        return "types of q, k, v and out differ";
    if (args->lse && operands->lse != DIT_DTYPE_FP32) return "lse is not fp32";
    return NULL;
}

const char *dnn_attention_declines(const dit_attention_args *args, const dnn_attention_operands *operands, int sm)
{
    if (sm < OLDEST_SM) return "compute capability below 8.0";
    if (args->Sk == 0) return "no keys";
    if (args->q_position) return "positions";
    if (args->D % VECTOR || args->D > LARGEST_HEAD) return "head size not a multiple of 8 up to 256";
    if (!groups_fit(args)) return "query heads begin or end inside a group";
    if (!strides_fit(args)) return "strides not multiples of 8";
    if (!operands->aligned) return "not aligned to 16 bytes";
    return types_decline(args, operands);
}

/* Sets strides. With one batch entry the batch stride means nothing, so it gets the value of a dense tensor. */
static void strides_set(int64_t out[2], int64_t B, int64_t S, int64_t batch, int64_t token)
{
    out[0] = B > 1 ? batch : S * token;
    out[1] = token;
}

dnn_attention dnn_attention_of(const dit_attention_args *args, const dnn_attention_operands *operands)
{
    dnn_attention a;
    memset(&a, 0, sizeof a);
    int64_t group = group_of(args);
    a.B = args->B, a.H = args->H, a.Sq = args->Sq, a.Sk = args->Sk, a.D = args->D;
    a.first_key_head = args->kv_first / group;
    a.key_heads = args->kv_first % group + args->H <= group ? 1 : args->H / group;
    strides_set(a.q, a.B, a.Sq, args->batch_q, args->ldq);
    strides_set(a.k, a.B, a.Sk, args->batch_k, args->ldk);
    strides_set(a.v, a.B, a.Sk, args->batch_v, args->ldv);
    strides_set(a.out, a.B, a.Sq, args->batch_o, args->ldo);
    dnn_type_of(operands->q, &a.type);
    a.stats = args->lse != NULL;
    a.bias = args->bias != NULL;
    return a;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

typedef struct {
    cudnnBackendDescriptor_t q, k, v, out, stats, scale, bias; /* NULL: not there */
} operands_in_graph;

/* Describes a tensor [B, H, S, D] whose heads lie D apart. */
static dnn_tensor heads(int64_t id, const dnn_attention *a, int64_t H, int64_t S, const int64_t stride[2])
{
    return (dnn_tensor){.id = id,
                        .type = a->type,
                        .dimensions = 4,
                        .size = {a->B, H, S, a->D},
                        .stride = {stride[0], a->D, stride[1], 1}};
}

/* Describes an fp32 tensor [B, H, Sq, n]. */
static dnn_tensor rows(int64_t id, const dnn_attention *a, int64_t n)
{
    return (dnn_tensor){.id = id,
                        .type = CUDNN_DATA_FLOAT,
                        .dimensions = 4,
                        .size = {a->B, a->H, a->Sq, n},
                        .stride = {a->H * a->Sq * n, a->Sq * n, n, 1}};
}

static dit_status scale_add(dnn_graph *graph, cudnnBackendDescriptor_t *out)
{
    dnn_tensor scale = {.id = DNN_SCALE,
                        .type = CUDNN_DATA_FLOAT,
                        .dimensions = 4,
                        .size = {1, 1, 1, 1},
                        .stride = {1, 1, 1, 1},
                        .by_value = true,
                        .alignment = 4};
    return dnn_graph_add_tensor(graph, &scale, out);
}

/* Adds the bias [B, 1, 1, Sk], which all heads and queries share. */
static dit_status bias_add(dnn_graph *graph, const dnn_attention *a, cudnnBackendDescriptor_t *out)
{
    dnn_tensor bias = {.id = DNN_BIAS,
                       .type = CUDNN_DATA_FLOAT,
                       .dimensions = 4,
                       .size = {a->B, 1, 1, a->Sk},
                       .stride = {a->Sk, a->Sk, a->Sk, 1}};
    return dnn_graph_add_tensor(graph, &bias, out);
}

/* Adds q, k, v and out. `transposed`: k is the right side of a product, [B, H, D, S]. */
static dit_status operands_add(dnn_graph *graph, const dnn_attention *a, bool transposed, operands_in_graph *out)
{
    dnn_tensor q = heads(DNN_Q, a, a->H, a->Sq, a->q), k = heads(DNN_K, a, a->key_heads, a->Sk, a->k);
    dnn_tensor v = heads(DNN_V, a, a->key_heads, a->Sk, a->v), o = heads(DNN_OUT, a, a->H, a->Sq, a->out);
    dnn_tensor stats = rows(DNN_STATS, a, 1);
    stats.alignment = 4; /* of some heads: anywhere */
    *out = (operands_in_graph){0};
    if (transposed) k.size[2] = a->D, k.size[3] = a->Sk, k.stride[2] = 1, k.stride[3] = a->k[1];
    DIT_TRY(dnn_graph_add_tensor(graph, &q, &out->q));
    DIT_TRY(dnn_graph_add_tensor(graph, &k, &out->k));
    DIT_TRY(dnn_graph_add_tensor(graph, &v, &out->v));
    DIT_TRY(dnn_graph_add_tensor(graph, &o, &out->out));
    if (a->stats) DIT_TRY(dnn_graph_add_tensor(graph, &stats, &out->stats));
    if (a->bias) DIT_TRY(bias_add(graph, a, &out->bias));
    return scale_add(graph, &out->scale);
}

/* ---- one operation ----------------------------------------------------------------------------------------------- */

static dit_status sdpa_add(dnn_graph *graph, const operands_in_graph *in)
{
    cudnnBackendDescriptor_t op;
    const cudnnBackendAttributeType_t tensor = CUDNN_TYPE_BACKEND_DESCRIPTOR;
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, &op));
    DNN_SET(op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, tensor, 1, &in->q);
    DNN_SET(op, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, tensor, 1, &in->k);
    DNN_SET(op, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, tensor, 1, &in->v);
    DNN_SET(op, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensor, 1, &in->out);
    DNN_SET(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, tensor, 1, &in->scale);
    if (in->stats) DNN_SET(op, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, tensor, 1, &in->stats);
    return dnn_graph_add_operation(graph, op, "CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR");
}

dit_status dnn_attention_whole(dnn_graph *graph, const dnn_target *target, const dnn_attention *a)
{
    operands_in_graph in;
    if (a->bias) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "cuDNN: the SDPA operation has no bias");
    DIT_TRY(operands_add(graph, a, false, &in));
    DIT_TRY(sdpa_add(graph, &in));
    return dnn_graph_close(graph, target);
}

/* ---- operation by operation -------------------------------------------------------------------------------------- */

/* Adds a value between operations, which never lies in memory. */
static dit_status between(dnn_graph *graph, dnn_tensor like, cudnnBackendDescriptor_t *out)
{
    like.is_virtual = true;
    return dnn_graph_add_tensor(graph, &like, out);
}

/* Adds logits = scale q k^T (+ bias). */
static dit_status logits_add(dnn_graph *graph, const dnn_attention *a, const operands_in_graph *in, int64_t *id,
                             cudnnBackendDescriptor_t *logits)
{
    cudnnBackendDescriptor_t products, biased;
    DIT_TRY(between(graph, rows((*id)++, a, a->Sk), &products));
    DIT_TRY(dnn_graph_add_product(graph, in->q, in->k, products));
    DIT_TRY(between(graph, rows((*id)++, a, a->Sk), logits));
    DIT_TRY(dnn_graph_add_pointwise(graph, CUDNN_POINTWISE_MUL, products, in->scale, *logits));
    if (!in->bias) return DIT_OK;
    DIT_TRY(between(graph, rows((*id)++, a, a->Sk), &biased));
    DIT_TRY(dnn_graph_add_pointwise(graph, CUDNN_POINTWISE_ADD, *logits, in->bias, biased));
    *logits = biased;
    return DIT_OK;
}

/* Adds stats = largest + ln(sum), also where the call wants no lse: engines know the pattern only with them. */
static dit_status stats_add(dnn_graph *graph, const dnn_attention *a, const operands_in_graph *in, int64_t *id,
                            cudnnBackendDescriptor_t largest, cudnnBackendDescriptor_t sum)
{
    cudnnBackendDescriptor_t log, stats = in->stats;
    DIT_TRY(between(graph, rows((*id)++, a, 1), &log));
    DIT_TRY(dnn_graph_add_pointwise(graph, CUDNN_POINTWISE_LOG, sum, NULL, log));
    if (!stats) DIT_TRY(between(graph, rows((*id)++, a, 1), &stats));
    return dnn_graph_add_pointwise(graph, CUDNN_POINTWISE_ADD, largest, log, stats);
}

/* Adds weights = exp(logits - largest) / sum, in the operands' type, which the second product takes. */
static dit_status softmax_add(dnn_graph *graph, const dnn_attention *a, const operands_in_graph *in, int64_t *id,
                              cudnnBackendDescriptor_t logits, cudnnBackendDescriptor_t *weights)
{
    cudnnBackendDescriptor_t largest, less, powers, sum;
    dnn_tensor typed = rows((*id)++, a, a->Sk);
    typed.type = a->type;
    DIT_TRY(between(graph, rows((*id)++, a, 1), &largest));
    DIT_TRY(dnn_graph_add_reduction(graph, CUDNN_REDUCE_TENSOR_MAX, logits, largest));
    DIT_TRY(between(graph, rows((*id)++, a, a->Sk), &less));
    DIT_TRY(dnn_graph_add_pointwise(graph, CUDNN_POINTWISE_SUB, logits, largest, less));
    DIT_TRY(between(graph, rows((*id)++, a, a->Sk), &powers));
    DIT_TRY(dnn_graph_add_pointwise(graph, CUDNN_POINTWISE_EXP, less, NULL, powers));
    DIT_TRY(between(graph, rows((*id)++, a, 1), &sum));
    DIT_TRY(dnn_graph_add_reduction(graph, CUDNN_REDUCE_TENSOR_ADD, powers, sum));
    DIT_TRY(stats_add(graph, a, in, id, largest, sum));
    DIT_TRY(between(graph, typed, weights));
    return dnn_graph_add_pointwise(graph, CUDNN_POINTWISE_DIV, powers, sum, *weights);
}

dit_status dnn_attention_parts(dnn_graph *graph, const dnn_target *target, const dnn_attention *a)
{
    operands_in_graph in;
    cudnnBackendDescriptor_t logits, weights;
    int64_t id = DNN_BIAS + 1;
    DIT_TRY(operands_add(graph, a, true, &in));
    DIT_TRY(logits_add(graph, a, &in, &id, &logits));
    DIT_TRY(softmax_add(graph, a, &in, &id, logits, &weights));
    DIT_TRY(dnn_graph_add_product(graph, weights, in.v, in.out));
    return dnn_graph_close(graph, target);
}
