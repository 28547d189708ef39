#include "suite/sequences/sequence_cost.h"

#include <math.h>

enum { FP32 = 4, ADAM_FP32 = 3 };

static suite_layer_question chain_of(const suite_sequence_question *q, int64_t tokens)
{
    return (suite_layer_question){.layers = q->layers,
                                  .tokens = tokens,
                                  .heads = q->heads,
                                  .head_dim = q->head_dim,
                                  .batch = 1,
                                  .vocabulary = q->vocabulary,
                                  .causal = q->causal,
                                  .devices = q->devices,
                                  .splits = 1};
}

/* Groups of so many devices side by side. Those that do not divide all of them lie in the first node. */
static suite_wires wires_of(const suite_sequence_question *q, const suite_plan_machine *machine, int devices)
{
    const suite_cluster *cluster = machine->cluster;
    int node = cluster->devices < q->devices ? cluster->devices : q->devices;
    int ranks = q->devices % devices == 0 ? q->devices : node / devices * devices;
    return suite_wires_of(cluster, machine->device->architecture, ranks);
}

static void add(const suite_training *training, unsigned parts, int64_t times, suite_sequence_cost *sum)
{
    const suite_strategy alone = {1, 1, 1, false, 1};
    suite_element_cost one = suite_training_cost(training, parts, &alone);
    sum->seconds += (double)times * one.micro_s;
    sum->activation_bytes += (double)times * one.activation_bytes;
    sum->forward_flops += (double)times * one.forward_flops;
}

static suite_sequence_cost cost_by(const suite_training *training)
{
    suite_sequence_cost sum = {0};
    add(training, SUITE_PARTS_OF_A_LAYER, training->question->layers, &sum);
    if (!training->question->vocabulary) return sum;
    add(training, 1u << SUITE_PART_EMBEDDING, 1, &sum);
    add(training, 1u << SUITE_PART_HEAD, 1, &sum);
    return sum;
}

suite_sequence_cost suite_sequence_cost_of(const suite_sequence_question *question, const suite_plan_machine *machine,
                                           int64_t tokens, int devices)
{
    const suite_layer_question chain = chain_of(question, tokens);
    suite_training training = {.question = &chain,
                               .device = machine->device,
                               .profile = machine->profile,
                               .wires = wires_of(question, machine, devices),
                               .micro_batch = 1,
                               .sequence = devices};
    suite_sequence_cost heads = cost_by(&training);
    if (devices == 1) return heads;
    training.ring = true;
    suite_sequence_cost ring = cost_by(&training);
    return ring.seconds < heads.seconds ? ring : heads;
}

static double parameters_of(const suite_sequence_question *question)
{
    const suite_layer_question chain = chain_of(question, 1);
    double sum = (double)question->layers * suite_training_parameters(&chain, SUITE_PARTS_OF_A_LAYER);
    if (question->vocabulary)
        sum += suite_training_parameters(&chain, 1u << SUITE_PART_EMBEDDING | 1u << SUITE_PART_HEAD);
    return sum;
}

double suite_sequence_state_bytes(const suite_sequence_question *question, const suite_plan_machine *machine)
{
    return parameters_of(question) *
           (2 * machine->device->element_bytes + (double)(ADAM_FP32 * FP32) / question->devices);
}

double suite_sequence_end_seconds(const suite_sequence_question *question, const suite_plan_machine *machine)
{
    const suite_wires wires = wires_of(question, machine, question->devices);
    const suite_wire_groups all = {question->devices, 1};
    const int bytes = machine->device->element_bytes;
    double parameters = parameters_of(question);
    double updated = parameters / question->devices * (2 * bytes + 2 * ADAM_FP32 * FP32);
    return suite_wires_seconds(&wires, all, DIT_COST_REDUCE_SCATTER, parameters * bytes) +
           dit_cost_elementwise_seconds(machine->device, updated) +
           suite_wires_seconds(&wires, all, DIT_COST_ALL_GATHER, parameters * bytes);
}
