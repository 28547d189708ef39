#include "suite/layers/training.h"

#include <math.h>

enum { OPS = 3, FEED_FORWARD = 4, FP32 = 4, ADAM_FP32 = 3 };
static const double attention_backward = 2.5, parts_backward = 2, host_backward = 2;

/* One element under one strategy. */
typedef struct {
    const suite_training *training;
    const suite_layer_question *question;
    unsigned parts;
    suite_strategy strategy;
    int sequence;                   /* ranks that share the tokens  */
    int64_t width, sequences, rows; /* C; of a rank */
} element;

static bool has(const element *e, suite_part part)
{
    return e->parts & 1u << part;
}

static int64_t share(int64_t whole, int ranks)
{
    return (whole + ranks - 1) / ranks;
}

static element element_of(const suite_training *training, unsigned parts, const suite_strategy *strategy)
{
    const suite_layer_question *q = training->question;
    int replicas = strategy->data * strategy->shard, sequence = training->sequence > 1 ? training->sequence : 1;
    return (element){.training = training,
                     .question = q,
                     .parts = parts,
                     .strategy = *strategy,
                     .sequence = sequence,
                     .width = q->heads * q->head_dim,
                     .sequences = training->micro_batch / replicas,
                     .rows = training->micro_batch / replicas * share(q->tokens, sequence)};
}

/* ---- parameters and activations ---------------------------------------------------------------------------------- */

/* Of a rank before they are sharded: matrices are shared by tensor ranks, vectors of C are not. */
static double parameters_of(const suite_layer_question *q, unsigned parts, int tensor)
{
    const double c = (double)(q->heads * q->head_dim), v = (double)q->vocabulary;
    const double matrices[SUITE_PART_COUNT] = {
        v * c, 3 * c * c + 3 * c, c * c, FEED_FORWARD * (c * c + c), FEED_FORWARD * c * c, v * c};
    const double vectors[SUITE_PART_COUNT] = {0, 2 * c, c, 2 * c, c, 2 * c};
    double sum = 0;
    for (int part = 0; part < SUITE_PART_COUNT; part++)
        if (parts & 1u << part) sum += matrices[part] / tensor + vectors[part];
    return sum;
}

double suite_training_parameters(const suite_layer_question *question, unsigned parts)
{
    return parameters_of(question, parts, 1);
}

/* Elements that a row keeps until its backward: inputs of norms and of products, q, k and v, the input of GELU, logits
 * with their fp32 copy. */
static double elements_a_row(const element *e, int element_bytes)
{
    const double c = (double)e->width, t = e->strategy.tensor, logits = (double)e->question->vocabulary / t;
    const double kept[SUITE_PART_COUNT] = {0,
                                           2 * c + 3 * c / t,
                                           c / t,
                                           2 * c + FEED_FORWARD * c / t,
                                           FEED_FORWARD * c / t,
                                           2 * c + logits * (1 + (double)FP32 / element_bytes)};
    double sum = 0;
    for (int part = 0; part < SUITE_PART_COUNT; part++)
        if (has(e, (suite_part)part)) sum += kept[part];
    return sum;
}

/* What an element starts from. */
static double input_elements_a_row(const element *e)
{
    double c = (double)e->width;
    if (has(e, SUITE_PART_ATTENTION) || has(e, SUITE_PART_EXPANSION) || has(e, SUITE_PART_HEAD)) return c;
    if (has(e, SUITE_PART_PROJECTION)) return c / e->strategy.tensor;
    return has(e, SUITE_PART_CONTRACTION) ? FEED_FORWARD * c / e->strategy.tensor : 0;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static dit_cost_op linear(const element *e, int64_t n, int64_t k)
{
    return (dit_cost_op){
        .kind = DIT_COST_OP_LINEAR, .rows = e->rows, .n = n, .k = k, .pieces = 1, .elements = e->rows * n};
}

static dit_cost_op norm(const element *e)
{
    return (dit_cost_op){.kind = DIT_COST_OP_NORM, .norm = DIT_NORM_LAYER, .elements = e->rows * e->width};
}

static dit_cost_op attention(const element *e)
{
    const suite_layer_question *q = e->question;
    bool ring = e->training->ring;
    int64_t heads = share(q->heads, e->strategy.tensor * (ring ? 1 : e->sequence));
    int64_t queries = ring ? share(q->tokens, e->sequence) : q->tokens;
    double seen = q->causal ? ((double)q->tokens + 1) / (2 * (double)q->tokens) : 1;
    return (dit_cost_op){.kind = DIT_COST_OP_ATTENTION,
                         .attention = {.B = e->sequences,
                                       .H = heads,
                                       .Sq = queries,
                                       .Sk = q->tokens,
                                       .D = q->head_dim,
                                       .seen = seen,
                                       .uneven = q->causal ? 1 : 0},
                         .elements = e->sequences * queries * heads * q->head_dim};
}

static int ops_of(const element *e, suite_part part, dit_cost_op out[OPS])
{
    int64_t c = e->width, own = share(c, e->strategy.tensor), inner = share(FEED_FORWARD * c, e->strategy.tensor);
    int64_t words = share(e->question->vocabulary, e->strategy.tensor);
    switch (part) {
    case SUITE_PART_EMBEDDING: out[0] = (dit_cost_op){.kind = DIT_COST_OP_COPY, .elements = e->rows * c}; return 1;
    case SUITE_PART_ATTENTION:
        out[0] = norm(e);
        out[1] = linear(e, 3 * own, c);
        out[1].pieces = 3;
        out[2] = attention(e);
        return 3;
    case SUITE_PART_PROJECTION:
        out[0] = linear(e, c, own);
        out[0].residual = true;
        return 1;
    case SUITE_PART_EXPANSION:
        out[0] = norm(e);
        out[1] = linear(e, inner, c);
        out[1].activation = true;
        return 2;
    case SUITE_PART_CONTRACTION:
        out[0] = linear(e, c, inner);
        out[0].residual = true;
        return 1;
    default:
        out[0] = norm(e);
        out[1] = linear(e, words, c);
        out[2] = (dit_cost_op){.kind = DIT_COST_OP_COPY, .elements = e->rows * words};
        return 3;
    }
}

typedef struct {
    double forward_s, backward_s, forward_host_s, backward_host_s, flops;
    double attention_s, attention_backward_s; /* of the first two */
} element_time;

static double product_backward(const dit_cost_device *device, const dit_cost_op *op, double forward)
{
    if (op->kind == DIT_COST_OP_ATTENTION) return attention_backward * forward;
    if (op->kind != DIT_COST_OP_LINEAR) return 0;
    return dit_cost_gemm_seconds(device, op->rows, op->k, op->n) +
           dit_cost_gemm_seconds(device, op->k, op->n, op->rows);
}

static double flops_of(const dit_cost_op *op)
{
    const dit_cost_attention *a = &op->attention;
    if (op->kind == DIT_COST_OP_LINEAR) return 2.0 * (double)op->rows * (double)op->n * (double)op->k;
    if (op->kind != DIT_COST_OP_ATTENTION) return 0;
    return 4.0 * (double)a->B * (double)a->H * (double)a->Sq * (double)a->Sk * (double)a->D * a->seen;
}

static void add_op(const element *e, const dit_cost_device *device, const dit_cost_op *op, element_time *sum)
{
    dit_cost_op bare = *op;
    bare.elements = 0;
    dit_cost_time whole = dit_cost_op_time(device, e->training->profile, op);
    double product = dit_cost_op_time(device, e->training->profile, &bare).device_s;
    sum->forward_s += whole.device_s;
    sum->forward_host_s += whole.host_s;
    sum->backward_s += product_backward(device, op, product) + parts_backward * (whole.device_s - product);
    sum->backward_host_s += host_backward * whole.host_s;
    sum->flops += flops_of(op);
    if (op->kind != DIT_COST_OP_ATTENTION) return;
    sum->attention_s += whole.device_s;
    sum->attention_backward_s += product_backward(device, op, product);
}

static element_time time_on(const element *e, const dit_cost_device *device)
{
    element_time sum = {0};
    dit_cost_op ops[OPS];
    for (int part = 0; part < SUITE_PART_COUNT; part++) {
        int count = has(e, (suite_part)part) ? ops_of(e, (suite_part)part, ops) : 0;
        for (int i = 0; i < count; i++) add_op(e, device, &ops[i], &sum);
    }
    if (e->strategy.recompute) {
        sum.backward_s += sum.forward_s;
        sum.backward_host_s += sum.forward_host_s;
    }
    return sum;
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

/* Sums of tensor ranks: forward behind the projection, the contraction and the embedding, backward before the products
 * of q, k and v, the expansion and the head. */
static int sums(const element *e, bool backward)
{
    if (backward) return has(e, SUITE_PART_ATTENTION) + has(e, SUITE_PART_EXPANSION) + has(e, SUITE_PART_HEAD);
    return has(e, SUITE_PART_PROJECTION) + has(e, SUITE_PART_CONTRACTION) + has(e, SUITE_PART_EMBEDDING);
}

static double sum_seconds(const element *e, int element_bytes)
{
    double bytes = (double)e->rows * (double)e->width * element_bytes;
    return suite_wires_seconds(&e->training->wires, (suite_wire_groups){e->strategy.tensor, 1}, DIT_COST_ALL_REDUCE,
                               bytes);
}

/* A collective over the replicas of a rank's weights, in `split` slices. */
static double replica_seconds(const element *e, dit_cost_collective collective, double bytes)
{
    const suite_strategy *s = &e->strategy;
    suite_wire_groups groups = {s->data * s->shard, s->tensor};
    return s->split * suite_wires_seconds(&e->training->wires, groups, collective, bytes / s->split);
}

/* What the exchanges of ranks that share tokens add, forward and backward, on device and host. */
static double sequence_seconds(const element *e, const element_time *alone, int element_bytes)
{
    const suite_training *training = e->training;
    const suite_wire_groups groups = {e->sequence, e->strategy.tensor};
    double own = (double)e->rows * (double)share(e->width, e->strategy.tensor) * element_bytes, hops, sent;
    double call = dit_cost_collective_dispatch_seconds(training->profile);
    if (e->sequence < 2 || !has(e, SUITE_PART_ATTENTION)) return 0;
    if (training->ring) {
        hops = (e->sequence - 1) * (call + suite_wires_seconds(&training->wires, groups, DIT_COST_SEND_RECV, 2 * own));
        return fmax(hops - alone->attention_s, 0) + fmax(2 * hops - alone->attention_backward_s, 0);
    }
    sent = own * (e->sequence - 1) / e->sequence;
    return 2 * (2 * call + suite_wires_seconds(&training->wires, groups, DIT_COST_ALL_TO_ALL, 3 * sent) +
                suite_wires_seconds(&training->wires, groups, DIT_COST_ALL_TO_ALL, sent));
}

/* Computation that takes `alone` by itself, `beside` while the collective runs. */
static double both(double alone, double beside, double collective)
{
    if (!(collective > 0)) return alone;
    return collective >= beside ? collective : collective + (1 - collective / beside) * alone;
}

/* ---- an element -------------------------------------------------------------------------------------------------- */

static bool is_possible(const element *e)
{
    int replicas = e->strategy.data * e->strategy.shard;
    int heads = e->strategy.tensor * (e->training->ring ? 1 : e->sequence);
    return e->training->micro_batch % replicas == 0 && e->sequences > 0 && e->question->heads % heads == 0;
}

static void add_memory(const element *e, double weights, int element_bytes, suite_element_cost *out)
{
    double kept = (double)e->rows * elements_a_row(e, element_bytes) * element_bytes;
    double held = weights / e->strategy.shard;
    out->weight_bytes = held * element_bytes;
    out->state_bytes = held * (2 * element_bytes + ADAM_FP32 * FP32);
    out->activation_bytes = e->strategy.recompute ? (double)e->rows * input_elements_a_row(e) * element_bytes : kept;
    out->working_bytes = e->strategy.recompute ? kept : 0;
    /* its weights, those of the next one, which are gathered meanwhile, and its gradients */
    if (e->strategy.shard > 1) out->working_bytes += 3 * weights * element_bytes / e->strategy.split;
}

static double slower(double device_s, double host_s)
{
    return fmax(device_s, host_s);
}

static void add_time(const element *e, double weights, int element_bytes, suite_element_cost *out)
{
    const suite_training *training = e->training;
    const suite_strategy *s = &e->strategy;
    dit_cost_device less = dit_cost_device_beside(training->device, training->profile->communication_processors);
    element_time alone = time_on(e, training->device), beside = time_on(e, &less);
    double bytes = weights * element_bytes, gather = 0, scatter = 0, reduce = 0, sum = sum_seconds(e, element_bytes);
    double call = dit_cost_collective_dispatch_seconds(training->profile);
    int forward_sums = s->tensor > 1 ? sums(e, false) : 0, backward_sums = s->tensor > 1 ? sums(e, true) : 0;
    if (s->recompute) backward_sums += forward_sums;
    if (s->shard > 1) gather = replica_seconds(e, DIT_COST_ALL_GATHER, bytes);
    if (s->shard > 1) scatter = replica_seconds(e, DIT_COST_REDUCE_SCATTER, bytes);
    if (s->data > 1) reduce = replica_seconds(e, DIT_COST_ALL_REDUCE, bytes);
    double forward_host = alone.forward_host_s + call * (forward_sums + (s->shard > 1) * s->split);
    double backward_host = alone.backward_host_s + call * (backward_sums + 2 * (s->shard > 1) * s->split);
    double backward = slower(both(alone.backward_s, beside.backward_s, gather + scatter), backward_host);
    double with_sum = slower(both(alone.backward_s, beside.backward_s, reduce), backward_host + call);
    out->micro_s = slower(both(alone.forward_s, beside.forward_s, gather), forward_host) + forward_sums * sum +
                   backward + backward_sums * sum + sequence_seconds(e, &alone, element_bytes);
    if (s->data > 1) out->step_s = fmax(with_sum - backward, 0);
    double updated = weights / s->shard * (2 * element_bytes + 2 * ADAM_FP32 * FP32);
    out->step_s += dit_cost_elementwise_seconds(training->device, updated);
    out->forward_flops = alone.flops * s->tensor * s->data * s->shard * e->sequence;
}

suite_element_cost suite_training_cost(const suite_training *training, unsigned parts, const suite_strategy *strategy)
{
    element e = element_of(training, parts, strategy);
    int element_bytes = training->device->element_bytes;
    double weights = parameters_of(training->question, parts, strategy->tensor);
    suite_element_cost out = {.micro_s = INFINITY};
    if (!is_possible(&e)) return out;
    add_memory(&e, weights, element_bytes, &out);
    add_time(&e, weights, element_bytes, &out);
    return out;
}

/* ---- between elements -------------------------------------------------------------------------------------------- */

double suite_training_conversion(const suite_training *training, const suite_strategy *from, const suite_strategy *to)
{
    const suite_layer_question *q = training->question;
    int more = from->tensor > to->tensor ? from->tensor : to->tensor;
    int less = from->tensor > to->tensor ? to->tensor : from->tensor;
    const suite_strategy *gathered = from->tensor > to->tensor ? from : to;
    if (more == less) return 0;
    double rows = (double)training->micro_batch / (gathered->data * gathered->shard) * (double)q->tokens;
    double bytes = rows * (double)(q->heads * q->head_dim) * training->device->element_bytes;
    return suite_wires_seconds(&training->wires, (suite_wire_groups){more / less, less}, DIT_COST_ALL_GATHER, bytes);
}

double suite_training_handover(const suite_training *training, int devices)
{
    const suite_layer_question *q = training->question;
    double bytes = (double)(training->micro_batch * q->tokens) * (double)(q->heads * q->head_dim) *
                   training->device->element_bytes / devices;
    if (training->wires.ranks <= devices) return 0;
    return 2 * suite_wires_seconds(&training->wires, (suite_wire_groups){2, devices}, DIT_COST_SEND_RECV, bytes);
}
