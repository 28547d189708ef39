/* Builds graphs of convolutions. Source: cuDNN's reference of CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
 * and of runtime fusion (pointwise operations after a convolution). */
#include "kernels/cuda/cudnn_conv.h"

#include <string.h>

enum { OLDEST_SM = 80 };

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smallest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- which calls ------------------------------------------------------------------------------------------------- */

const char *dnn_conv_declines(const dit_conv_args *args, const dnn_conv_operands *operands, int sm)
{
    cudnnDataType_t type;
    if (sm < OLDEST_SM) return "compute capability below 8.0";
    if (!dnn_type_of(operands->x, &type)) return "type other than fp32, bf16 and fp16";
    if (operands->weight != operands->x || operands->y != operands->x) return "types of x, weights and y differ";
    if (args->residual && operands->residual != operands->x) return "type of the residual differs";
    if (operands->has_bias && operands->bias != operands->x) return "type of the bias differs";
    if (!operands->aligned) return "not aligned to 16 bytes";
    return NULL;
}

bool dnn_conv_gathers(const dit_conv_args *args)
{
    return args->up > 1 || args->front || args->above || args->below || args->replicate;
}

/* ---- the copy ---------------------------------------------------------------------------------------------------- */

/* Returns how much of an axis `out` positions read. */
static int64_t reach(const dit_conv_args *args, int axis, int64_t out)
{
    return out > 0 ? (out - 1) * args->stride[axis] + args->kernel[axis] : 0;
}

int64_t dnn_conv_copy_frames(const dit_conv_args *args)
{
    return reach(args, 0, args->out[0]);
}

int64_t dnn_conv_copy_columns(const dit_conv_args *args)
{
    return reach(args, 2, args->out[2]);
}

int64_t dnn_conv_copy_rows(const dit_conv_args *args, int64_t rows)
{
    return reach(args, 1, rows);
}

int64_t dnn_conv_band_rows(const dit_conv_args *args, int64_t element_bytes, int64_t bytes)
{
    int64_t row = dnn_conv_copy_frames(args) * dnn_conv_copy_columns(args) * args->channels * element_bytes;
    int64_t fit = row > 0 ? bytes / row : 0;
    if (fit < args->kernel[1]) return 0;
    return smallest(args->out[1], (fit - args->kernel[1]) / args->stride[1] + 1);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* Describes an axis that is read in place: how much of it is read, and the zeros before and after. Positions beyond the
 * last one that is read are left out, so that cuDNN counts as many outputs as we do. */
static void axis_set(dnn_conv *c, const dit_conv_args *args, int axis, int64_t size)
{
    int64_t end = reach(args, axis, args->out[axis]) - args->padding[axis];
    c->before[axis] = args->padding[axis];
    c->in[axis] = smallest(size, end);
    c->after[axis] = largest(end - size, 0);
}

static void place_in_x(dnn_conv *c, const dit_conv_args *args)
{
    const int64_t size[3] = {args->frames, args->height, args->width};
    for (int axis = 0; axis < 3; axis++) axis_set(c, args, axis, size[axis]);
    c->in_stride[1] = args->width * args->channels;
    c->in_stride[0] = args->height * c->in_stride[1];
}

static void place_in_copy(dnn_conv *c, const dit_conv_args *args, int64_t rows)
{
    c->in[0] = dnn_conv_copy_frames(args);
    c->in[1] = dnn_conv_copy_rows(args, rows);
    c->in[2] = dnn_conv_copy_columns(args);
    c->in_stride[1] = c->in[2] * args->channels;
    c->in_stride[0] = c->in[1] * c->in_stride[1];
    c->out[1] = rows;
}

dnn_conv dnn_conv_of(const dit_conv_args *args, const dnn_conv_operands *operands, int64_t rows)
{
    dnn_conv c;
    memset(&c, 0, sizeof c);
    c.channels = args->channels, c.n = args->weights->n;
    for (int axis = 0; axis < 3; axis++)
        c.out[axis] = args->out[axis], c.kernel[axis] = args->kernel[axis], c.stride[axis] = args->stride[axis];
    if (rows > 0)
        place_in_copy(&c, args, rows);
    else
        place_in_x(&c, args);
    c.out_stride[1] = args->out[2] * c.n;
    c.out_stride[0] = args->out[1] * c.out_stride[1];
    c.flat = c.kernel[0] == 1 && c.stride[0] == 1 && c.before[0] == 0 && c.after[0] == 0;
    c.activation = args->activation;
    c.bias = operands->has_bias, c.residual = args->residual != NULL;
    dnn_type_of(operands->x, &c.type);
    return c;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

/* Describes an image [N, C, (T,) H, W], channels fastest. */
static dnn_tensor picture(const dnn_conv *c, int64_t id, cudnnDataType_t type, int64_t channels, const int64_t size[3],
                          const int64_t stride[2])
{
    dnn_tensor t = {.id = id, .type = type, .dimensions = c->flat ? 4 : 5};
    int64_t whole = size[0] * stride[0], *s = t.size, *d = t.stride;
    *s++ = c->flat ? size[0] : 1, *d++ = c->flat ? stride[0] : whole;
    *s++ = channels, *d++ = 1;
    if (!c->flat) *s++ = size[0], *d++ = stride[0];
    *s++ = size[1], *d++ = stride[1];
    *s = size[2], *d = channels;
    return t;
}

/* Describes the weights [n, C, (T,) H, W], channels fastest. */
static dnn_tensor filter(const dnn_conv *c)
{
    int64_t row = c->kernel[2] * c->channels, frame = c->kernel[1] * row;
    if (c->flat)
        return (dnn_tensor){.id = DNN_W,
                            .type = c->type,
                            .dimensions = 4,
                            .size = {c->n, c->channels, c->kernel[1], c->kernel[2]},
                            .stride = {frame, 1, row, c->channels}};
    return (dnn_tensor){.id = DNN_W,
                        .type = c->type,
                        .dimensions = 5,
                        .size = {c->n, c->channels, c->kernel[0], c->kernel[1], c->kernel[2]},
                        .stride = {c->kernel[0] * frame, 1, frame, row, c->channels}};
}

static dnn_tensor per_channel(const dnn_conv *c)
{
    return (dnn_tensor){.id = DNN_CONV_BIAS,
                        .type = c->type,
                        .dimensions = c->flat ? 4 : 5,
                        .size = {1, c->n, 1, 1, 1},
                        .stride = {c->n, 1, c->n, c->n, c->n}};
}

static dit_status convolution_describe(dnn_graph *graph, const dnn_conv *c, cudnnBackendDescriptor_t *how)
{
    static const int64_t one[3] = {1, 1, 1};
    int64_t axes = c->flat ? 2 : 3, first = 3 - axes;
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, how));
    DNN_SET(*how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    DNN_SET(*how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    DNN_SET(*how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &axes);
    DNN_SET(*how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, axes, c->before + first);
    DNN_SET(*how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, axes, c->after + first);
    DNN_SET(*how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, axes, c->stride + first);
    DNN_SET(*how, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, axes, one);
    return dnn_finish(*how, "CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR");
}

static dit_status convolution_add(dnn_graph *graph, const dnn_conv *c, cudnnBackendDescriptor_t x,
                                  cudnnBackendDescriptor_t w, cudnnBackendDescriptor_t y)
{
    cudnnBackendDescriptor_t how, op;
    const cudnnBackendAttributeType_t descriptor = CUDNN_TYPE_BACKEND_DESCRIPTOR;
    float alpha = 1.0f, beta = 0.0f;
    DIT_TRY(convolution_describe(graph, c, &how));
    DIT_TRY(dnn_graph_add(graph, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, &op));
    DNN_SET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, descriptor, 1, &x);
    DNN_SET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, descriptor, 1, &w);
    DNN_SET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, descriptor, 1, &y);
    DNN_SET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, descriptor, 1, &how);
    DNN_SET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &alpha);
    DNN_SET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &beta);
    return dnn_graph_add_operation(graph, op, "CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR");
}

static cudnnPointwiseMode_t mode_of(dit_activation activation)
{
    if (activation == DIT_ACT_GELU_TANH) return CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
    if (activation == DIT_ACT_GELU_ERF) return CUDNN_POINTWISE_GELU_FWD;
    if (activation == DIT_ACT_RELU) return CUDNN_POINTWISE_RELU_FWD;
    if (activation == DIT_ACT_TANH) return CUDNN_POINTWISE_TANH_FWD;
    return CUDNN_POINTWISE_SWISH_FWD; /* beta is 1 where it is not set: x sigmoid(x) */
}

/* The steps after the convolution. `left` counts those that still follow a value: the last value is y. */
typedef struct {
    dnn_graph *graph;
    const dnn_conv *c;
    cudnnBackendDescriptor_t value;
    int64_t id;
    int left;
} steps;

static dit_status value_make(steps *s, cudnnBackendDescriptor_t *out)
{
    dnn_tensor y = picture(s->c, DNN_Y, s->c->type, s->c->n, s->c->out, s->c->out_stride);
    if (s->left > 0) y.id = s->id++, y.type = CUDNN_DATA_FLOAT, y.is_virtual = true;
    s->left--;
    return dnn_graph_add_tensor(s->graph, &y, out);
}

static dit_status step_add(steps *s, cudnnPointwiseMode_t mode, const dnn_tensor *with)
{
    cudnnBackendDescriptor_t b = NULL, y;
    if (with) DIT_TRY(dnn_graph_add_tensor(s->graph, with, &b));
    DIT_TRY(value_make(s, &y));
    DIT_TRY(dnn_graph_add_pointwise(s->graph, mode, s->value, b, y));
    s->value = y;
    return DIT_OK;
}

dit_status dnn_conv_graph(dnn_graph *graph, const dnn_target *target, const dnn_conv *c)
{
    bool active = c->activation != DIT_ACT_NONE;
    steps s = {.graph = graph, .c = c, .id = DNN_RESIDUAL + 1, .left = (c->bias != 0) + active + (c->residual != 0)};
    cudnnBackendDescriptor_t x, w;
    dnn_tensor in = picture(c, DNN_X, c->type, c->channels, c->in, c->in_stride), weights = filter(c);
    dnn_tensor bias = per_channel(c), residual = picture(c, DNN_RESIDUAL, c->type, c->n, c->out, c->out_stride);
    DIT_TRY(dnn_graph_add_tensor(graph, &in, &x));
    DIT_TRY(dnn_graph_add_tensor(graph, &weights, &w));
    DIT_TRY(value_make(&s, &s.value));
    DIT_TRY(convolution_add(graph, c, x, w, s.value));
    if (c->bias) DIT_TRY(step_add(&s, CUDNN_POINTWISE_ADD, &bias));
    if (active) DIT_TRY(step_add(&s, mode_of(c->activation), NULL));
    if (c->residual) DIT_TRY(step_add(&s, CUDNN_POINTWISE_ADD, &residual));
    return dnn_graph_close(graph, target);
}
