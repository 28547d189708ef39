/* Turns a call of an operator into kernels and their times. */
#include "kernels/cost/operator.h"

#include <math.h>

const char *dit_cost_part_name(dit_cost_part part)
{
    static const char *const names[] = {
#define PART_NAME(name, key, text) key,
        DIT_COST_PART_LIST(PART_NAME)
#undef PART_NAME
    };
    return part < DIT_COST_PART_COUNT ? names[part] : "unknown";
}

/* The sums over the parts of one call. */
typedef struct {
    const dit_cost_profile *profile;
    double kernels, passes;
} part_sum;

static void add_part(part_sum *sum, dit_cost_part part, int times)
{
    sum->kernels += times * sum->profile->parts[part].kernels;
    sum->passes += times * sum->profile->parts[part].passes;
}

static part_sum parts_of(const dit_cost_profile *profile, const dit_cost_op *op)
{
    part_sum sum = {.profile = profile};
    if (op->kind == DIT_COST_OP_ATTENTION_MERGE) add_part(&sum, DIT_COST_PART_MERGE, 1);
    if (op->kind == DIT_COST_OP_NORM) add_part(&sum, DIT_COST_PART_NORM, 1);
    if (op->kind == DIT_COST_OP_COPY) add_part(&sum, DIT_COST_PART_COPY, 1);
    if (op->kind == DIT_COST_OP_EXCHANGE) add_part(&sum, DIT_COST_PART_EXCHANGE, 1);
    if (op->kind == DIT_COST_OP_GROUP_MOMENTS) add_part(&sum, DIT_COST_PART_GROUP_MOMENTS, 1);
    if (op->kind == DIT_COST_OP_GROUP_NORM) add_part(&sum, DIT_COST_PART_GROUP_NORM, 1);
    if (op->kind == DIT_COST_OP_COMBINE) add_part(&sum, DIT_COST_PART_COMBINE, 1);
    if (op->kind == DIT_COST_OP_COMBINE) add_part(&sum, DIT_COST_PART_COMBINE_OPERAND, op->operands - 1);
    if (op->normed)
        add_part(&sum, op->norm == DIT_NORM_RMS ? DIT_COST_PART_QK_RMS_NORM : DIT_COST_PART_QK_LAYER_NORM, 1);
    if (op->rotary) add_part(&sum, DIT_COST_PART_ROTARY, 1);
    if (op->modulation) add_part(&sum, DIT_COST_PART_MODULATION, 1);
    if (op->activation) add_part(&sum, DIT_COST_PART_ACTIVATION, 1);
    if (op->gate) add_part(&sum, DIT_COST_PART_GATE, 1);
    if (op->residual) add_part(&sum, DIT_COST_PART_RESIDUAL, 1);
    return sum;
}

double dit_cost_conv_efficiency(const dit_cost_profile *profile, int axes)
{
    double efficiency = axes == 3 ? profile->conv3d_efficiency : profile->conv_efficiency;
    return efficiency > 0 ? efficiency : 1;
}

/* Returns the time of the matrix product, convolution or attention; parts are counted by their passes. */
static dit_cost_time product_time(const dit_cost_device *device, const dit_cost_profile *profile, const dit_cost_op *op)
{
    int pieces = profile->packed_linear || op->pieces < 1 ? 1 : op->pieces;
    dit_cost_time time = {0};
    if (op->kind == DIT_COST_OP_LINEAR)
        time.device_s = pieces * dit_cost_gemm_seconds(device, op->rows, (op->n + pieces - 1) / pieces, op->k);
    if (op->kind == DIT_COST_OP_CONV)
        time.device_s = dit_cost_conv_seconds(device, op->rows, op->n, op->k, op->input_elements) /
                        dit_cost_conv_efficiency(profile, op->axes);
    if (op->kind == DIT_COST_OP_ATTENTION) time.device_s = dit_cost_attention_seconds(device, &op->attention);
    if (time.device_s > 0) time.kernels = op->kind == DIT_COST_OP_LINEAR ? pieces : 1;
    return time;
}

/* Makes a call whose parts have nothing to be fused into one kernel that reads and writes; moments only read. */
static void at_least_one_kernel(part_sum *sum, const dit_cost_op *op)
{
    sum->kernels = fmax(sum->kernels, 1);
    sum->passes = fmax(sum->passes, op->kind == DIT_COST_OP_GROUP_MOMENTS ? 1 : 2);
}

/* Returns the seconds of all passes, taken as kernels of equal size: a kernel's bytes decide which share of the
 * bandwidth it reaches. Parts that are fused are not launched. */
static double parts_seconds(const dit_cost_device *device, double kernels, double bytes)
{
    if (kernels > 0) return kernels * dit_cost_elementwise_seconds(device, bytes / kernels);
    return bytes > 0 ? dit_cost_elementwise_seconds(device, bytes) - device->launch_s : 0;
}

double dit_cost_indexed_seconds(const dit_cost_device *device, const dit_cost_profile *profile, double bytes,
                                double elements)
{
    double seconds = dit_cost_elementwise_seconds(device, bytes);
    double rate = profile->indexed_elements_per_clock * device->clock_hz * device->processors;
    return rate > 0 && elements > 0 ? fmax(seconds, device->launch_s + elements / rate) : seconds;
}

double dit_cost_dispatch_seconds(const dit_cost_profile *profile)
{
    return profile->rule.launches == DIT_RULE_FORWARD ? profile->graph_kernel_s : profile->dispatch_s;
}

double dit_cost_collective_dispatch_seconds(const dit_cost_profile *profile)
{
    return profile->rule.launches == DIT_RULE_FORWARD ? profile->graph_kernel_s : profile->collective_dispatch_s;
}

dit_cost_time dit_cost_op_time(const dit_cost_device *device, const dit_cost_profile *profile, const dit_cost_op *op)
{
    dit_cost_time time = product_time(device, profile, op);
    part_sum parts = parts_of(profile, op);
    double pass_bytes = (double)op->elements * device->element_bytes;
    time.last_s = time.device_s;
    if (op->kind == DIT_COST_OP_ATTENTION)
        time.last_s *= dit_cost_attention_last_share(device, &op->attention, profile->communication_processors);
    if (op->elements <= 0) return time;
    if (time.kernels == 0 && op->kind != DIT_COST_OP_EXCHANGE) at_least_one_kernel(&parts, op);
    time.device_s += parts_seconds(device, parts.kernels, parts.passes * pass_bytes);
    time.kernels += parts.kernels;
    if (op->kind != DIT_COST_OP_ATTENTION) time.last_s = time.device_s;
    time.host_s = time.kernels * dit_cost_dispatch_seconds(profile);
    return time;
}
