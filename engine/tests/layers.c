/* For test_attention.sh, on any number of ranks: random attention layers by every way around a ring, and by Ulysses and
 * USP, on every mesh of so many ranks, with every layout and mask that the rules allow.
 *
 *   layers CASES
 *
 * A layer passes when it is the plain operator's to 1e-5, when every rank sends the bytes and messages of the closed
 * form, and when the flops of every rank are those of the closed form. Prints for each policy how many layers it
 * computed, how many of them with a causal mask, how many kinds of other masks there were, how many the rules refused, and the worst distance; exit 0: all pass.
 */
#include "base/rng.h"
#include "engine/attention/layer.h"
#include "engine/results/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 7 };

typedef struct {
    dit_layer layer;
    dit_parallel parallel;
    const char *policy;
} layer_case;

typedef struct {
    char policy[32];
    int run, causal, refused;
    unsigned masks; /* a bit of each kind that ran */
    double worst;
} policy_line;

static policy_line lines[16];
static int problems, drawn;

static int64_t draw(int64_t least, int64_t most)
{
    return least + (int64_t)dit_rng_below(SEED, 1, (uint64_t)drawn++, (uint64_t)(most - least + 1));
}

static policy_line *line_of(const char *policy)
{
    policy_line *line = lines;
    while (*line->policy && strcmp(line->policy, policy) != 0) line++;
    snprintf(line->policy, sizeof line->policy, "%s", policy);
    return line;
}

static void complain(const layer_case *c, const char *what)
{
    const dit_layer *l = &c->layer;
    printf("wrong: %s: S%lld H%lld/%lld D%lld B%lld %s%s u%d r%d: %s\n", c->policy, (long long)l->tokens,
           (long long)l->heads, (long long)l->kv_heads, (long long)l->head_dim, (long long)l->batch,
           dit_token_layout_name(l->layout), l->causal ? " causal" : dit_mask_name(l->mask),
           c->parallel.degree[DIT_AXIS_ULYSSES], c->parallel.degree[DIT_AXIS_RING], what);
    problems++;
}

/* Gives the distance over all ranks to the plain operator. */
static dit_status measure_distance(const dit_layer_run *run, double *out)
{
    dit_layer_check_sums sums;
    double both[2], *all;
    int size = dit_comm_size(dit_comm_world());
    DIT_TRY(dit_layer_run_check(run, &sums));
    both[0] = sums.difference, both[1] = sums.norm;
    if (!(all = calloc(2 * (size_t)size, sizeof *all))) return DIT_FAIL(DIT_ERR_MEMORY, "no memory");
    dit_status st = dit_comm_all_gather(dit_comm_world(), both, all, (int64_t)sizeof both);
    both[0] = both[1] = 0;
    for (int i = 0; i < 2 * size; i++) both[i % 2] += all[i];
    free(all);
    *out = sums.done && both[1] > 0 ? sqrt(both[0] / both[1]) : INFINITY;
    return st;
}

/* The closed form holds, and one of a byte more does not. */
static void check_volume(const layer_case *c, const dit_runtime *rt)
{
    dit_volume_table predicted;
    int rank = dit_comm_rank(dit_comm_world());
    dit_layer_volume(&c->parallel, &c->layer, rank, &predicted);
    if (dit_volume_check(&rt->counters, &predicted, rank, 0) != DIT_OK) complain(c, dit_error_last()->message);
    dit_volume *ring = &predicted.at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP];
    ring->bytes++;
    if (dit_volume_check(&rt->counters, &predicted, rank, 0) == DIT_OK) complain(c, "a wrong closed form holds");
    dit_error_clear();
}

static dit_status run_layer(const layer_case *c, dit_runtime *rt, dit_layer_run *run)
{
    policy_line *line = line_of(c->policy);
    double distance = INFINITY;
    DIT_TRY(dit_layer_run_create(rt, &c->layer, c->policy, SEED, run));
    dit_runtime_reset_account(rt);
    DIT_TRY(dit_layer_run_forward(run));
    check_volume(c, rt);
    int rank = dit_comm_rank(dit_comm_world());
    if (rt->flops.attention != dit_layer_flops(&c->parallel, &c->layer, rank, -1)) complain(c, "other flops");
    DIT_TRY(measure_distance(run, &distance));
    if (!(distance <= DIT_METHOD_EXACT_REL_L2)) complain(c, "it is not the plain operator's");
    line->worst = fmax(line->worst, distance);
    line->run++;
    line->causal += c->layer.causal;
    line->masks |= 1u << c->layer.mask;
    return DIT_OK;
}

static void try_case(const layer_case *c)
{
    dit_runtime rt = {0};
    dit_layer_run run = {0};
    dit_runtime_params params = {.backend = "cpu", .threads = 1, .parallel = c->parallel};
    int sequence = dit_parallel_sequence_degree(&c->parallel);
    if (dit_layer_check(&c->parallel, &c->layer) != DIT_OK) {
        line_of(c->policy)->refused++;
        dit_error_clear();
        return;
    }
    params.facts = (dit_facts){.image_tokens = sequence, .heads = sequence, .num_images = 1};
    params.facts.guidance_branches = params.facts.steps = 1;
    dit_status st = dit_runtime_init(&params, &rt);
    if (st == DIT_OK) st = run_layer(c, &rt, &run);
    if (st != DIT_OK) {
        complain(c, dit_error_last()->message);
        dit_comm_abort(1); /* the other ranks wait */
    }
    dit_layer_run_release(&run);
    dit_runtime_release(&rt);
}

static dit_layer draw_layer(void)
{
    dit_layer layer = {.kv_heads = draw(1, 3), .head_dim = 4 * draw(1, 6), .batch = draw(1, 2)};
    layer.heads = layer.kv_heads * draw(1, 3);
    layer.tokens = draw(1, 90);
    layer.pad_tokens = layer.pad_heads = true;
    return layer;
}

/* A divisor of the ring: an inner ring of one, some or all of its ranks. */
static int64_t inner_ring(int ranks)
{
    int64_t inner = draw(1, ranks);
    while (ranks % inner) inner--;
    return inner;
}

/* All ways to compute one layer. */
static void try_layer(layer_case c, int ranks)
{
    for (int u = 1; u <= ranks; u++) {
        if (ranks % u) continue;
        c.parallel.degree[DIT_AXIS_ULYSSES] = u, c.parallel.degree[DIT_AXIS_RING] = ranks / u;
        for (int ring = 0; ring < DIT_RING_METHOD_COUNT; ring++) {
            c.layer.ring = (dit_ring_method)ring;
            c.layer.inner_ring = ring == DIT_RING_DOUBLE ? inner_ring(ranks / u) : 0;
            c.parallel.context_first = ring == DIT_RING_DOUBLE && draw(0, 1);
            c.policy = ring ? dit_ring_method_name(c.layer.ring) : u == 1 ? "ring" : u == ranks ? "ulysses" : "usp";
            try_case(&c);
        }
    }
}

int main(int argc, char **argv)
{
    if (dit_comm_start("mpi", &argc, &argv) != DIT_OK) return 4;
    int cases = argc > 1 ? atoi(argv[1]) : 1, ranks = dit_comm_size(dit_comm_world()), masks = 0;
    for (int i = 0; i < cases; i++) {
        layer_case c = {.layer = draw_layer()};
        if (i == 0) c.layer.tokens = 400;                              /* more than a block of keys of the kernel */
        if (i % 2) c.layer.tokens = 16 * ranks;                        /* what no rule about divisors refuses */
        for (int layout = 0; layout < 3 * DIT_TOKEN_COUNT; layout++) { /* without a mask, causal, with one */
            c.layer.layout = (dit_token_layout)(layout / 3);
            c.layer.causal = layout % 3 == 1;
            c.layer.mask = layout % 3 < 2 ? DIT_MASK_NONE : (dit_mask_kind)(1 + masks++ % (DIT_MASK_COUNT - 1));
            try_layer(c, ranks);
        }
    }
    if (dit_comm_rank(dit_comm_world()) == 0)
        for (const policy_line *line = lines; *line->policy; line++)
            printf("%s %d ranks: %d layers, %d causal, %d kinds of masks, %d refused, worst %.2g\n", line->policy,
                   ranks, line->run, line->causal, __builtin_popcount(line->masks & ~1u), line->refused, line->worst);
    dit_comm_finish();
    return problems ? 1 : 0;
}
