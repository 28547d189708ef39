/* Planner: the programme over layers against all choices one by one, cuts, strategies, links, costs, whole plans. */
#include "suite/layers/cuts.h"
#include "suite/layers/planner.h"
#include "suite/layers/polish.h"
#include "suite/tests/planner_fixture.h"
#include "suite/tests/workload_fixture.h"

#include <math.h>
#include <stdlib.h>

/* ---- random chains ----------------------------------------------------------------------------------------------- */

enum { MOST_LAYERS = 6, MOST_STRATEGIES = 5, CHAINS = 400 };

typedef struct {
    suite_layers chain;
    suite_layer_cost costs[MOST_LAYERS * MOST_STRATEGIES];
    double conversion_s[MOST_STRATEGIES * MOST_STRATEGIES];
} random_chain;

static double draw(unsigned *seed, double most)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (double)(1u << 24) * most;
}

/* Sizes are whole numbers below 16; `whole`: so is the budget, and a cell is 1. */
static void make_chain(unsigned seed, bool whole, random_chain *out)
{
    unsigned state = seed * 2654435761u + 1;
    int layers = 1 + (int)draw(&state, MOST_LAYERS), strategies = 1 + (int)draw(&state, MOST_STRATEGIES);
    for (int i = 0; i < layers * strategies; i++) {
        double seconds = draw(&state, 10);
        out->costs[i] = (suite_layer_cost){.seconds = draw(&state, 1) < 0.1 ? INFINITY : seconds,
                                           .held_bytes = floor(draw(&state, 16)),
                                           .working_bytes = whole ? 0 : floor(draw(&state, 4))};
    }
    for (int i = 0; i < strategies * strategies; i++) out->conversion_s[i] = i % (strategies + 1) ? draw(&state, 5) : 0;
    out->chain = (suite_layers){.layers = layers,
                                .strategies = strategies,
                                .costs = out->costs,
                                .conversion_s = out->conversion_s,
                                .budget_bytes = 1 + floor(draw(&state, 12.0 * layers))};
    if (whole) out->chain.cells = (int)out->chain.budget_bytes;
}

/* Of whole sizes and cells of 1 nothing is rounded: the optimum to the last digit but that of another order of sums. */
static void whole_sizes_give_the_optimum(void **state)
{
    int fitting = 0;
    (void)state;
    for (unsigned seed = 0; seed < CHAINS; seed++) {
        random_chain one;
        suite_layers_plan plan, best;
        int choice[MOST_LAYERS], best_choice[MOST_LAYERS];
        make_chain(seed, true, &one);
        assert_ok(suite_layers_solve(&one.chain, &plan, choice));
        assert_ok(suite_layers_try_all(&one.chain, &best, best_choice));
        assert_int_equal(plan.fits, best.fits);
        if (isfinite(best.least_bytes) || isfinite(plan.least_bytes))
            assert_true(fabs(plan.least_bytes - best.least_bytes) < 1e-9);
        if (!best.fits) continue;
        fitting++;
        if (fabs(plan.seconds - best.seconds) > 1e-9)
            fail_msg("chain %u: %g, best is %g", seed, plan.seconds, best.seconds);
        if (fabs(plan.bound_s - best.seconds) > 1e-6 && plan.bound_s > best.seconds)
            fail_msg("chain %u: bound %g, best is %g", seed, plan.bound_s, best.seconds);
    }
    assert_in_range(fitting, CHAINS / 4, CHAINS - CHAINS / 20); /* both kinds occur */
}

/* Rounded sizes: what is said to fit fits, no plan beats the best, none is slower than the best that would fit with a
 * cell less for each layer, and the bound is one. */
static void rounded_sizes_stay_between_bounds(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < CHAINS; seed++) {
        random_chain one;
        suite_layers_plan plan, best, tighter, again = {0};
        int choice[MOST_LAYERS], other[MOST_LAYERS];
        make_chain(seed, false, &one);
        one.chain.cells = 20 + (int)seed % 30;
        assert_ok(suite_layers_solve(&one.chain, &plan, choice));
        assert_ok(suite_layers_try_all(&one.chain, &best, other));
        suite_layers less = one.chain;
        less.budget_bytes -= one.chain.layers * one.chain.budget_bytes / one.chain.cells;
        assert_ok(suite_layers_try_all(&less, &tighter, other));
        if (tighter.fits) assert_true(plan.fits);
        if (tighter.fits) assert_true(plan.seconds <= tighter.seconds + 1e-9);
        if (best.fits) assert_true(plan.bound_s <= best.seconds + 1e-9);
        if (!plan.fits) continue;
        suite_layers_weigh(&one.chain, choice, &again);
        assert_true(again.held_bytes + again.working_bytes <= one.chain.budget_bytes);
        assert_true(again.seconds == plan.seconds && plan.seconds >= best.seconds - 1e-9);
    }
}

static void beginnings_are_chains_of_their_own(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < CHAINS / 4; seed++) {
        random_chain one;
        suite_layers_plan plan;
        double seconds[MOST_LAYERS];
        uint8_t choices[MOST_LAYERS * MOST_LAYERS];
        int choice[MOST_LAYERS];
        make_chain(seed, true, &one);
        assert_ok(suite_layers_prefixes(&one.chain, seconds, choices));
        for (int count = 1; count <= one.chain.layers; count++) {
            suite_layers begin = one.chain;
            begin.layers = count;
            assert_ok(suite_layers_solve(&begin, &plan, choice));
            assert_int_equal(plan.fits, isfinite(seconds[count - 1]));
            if (!plan.fits) continue;
            assert_true(fabs(seconds[count - 1] - plan.seconds) < 1e-9);
            for (int i = 0; i < count; i++) choice[i] = choices[(count - 1) * one.chain.layers + i];
            suite_layers_weigh(&begin, choice, &plan);
            assert_true(plan.fits && fabs(seconds[count - 1] - plan.seconds) < 1e-9);
        }
    }
}

/* A change of strategy costs: with dear changes the chain stays with one. */
static void conversions_count(void **state)
{
    suite_layer_cost costs[] = {{1, 0, 0}, {2, 0, 0}, {2, 0, 0}, {1, 0, 0}, {1, 0, 0}, {2, 0, 0}};
    double dear[] = {0, 5, 5, 0};
    suite_layers chain = {.layers = 3, .strategies = 2, .costs = costs, .budget_bytes = 1};
    suite_layers_plan plan;
    int choice[3];
    (void)state;
    assert_ok(suite_layers_solve(&chain, &plan, choice));
    assert_true(plan.seconds == 3 && choice[0] == 0 && choice[1] == 1 && choice[2] == 0);
    chain.conversion_s = dear;
    assert_ok(suite_layers_solve(&chain, &plan, choice));
    assert_true(plan.seconds == 4 && choice[0] == 0 && choice[1] == 0 && choice[2] == 0);
}

/* One layer's working memory is needed once, whoever needs it most. */
static void working_memory_is_a_maximum(void **state)
{
    suite_layer_cost costs[] = {{1, 1, 5}, {3, 2, 0}, {1, 1, 4}, {3, 2, 0}};
    suite_layers chain = {.layers = 2, .strategies = 2, .costs = costs, .budget_bytes = 7, .cells = 70};
    suite_layers_plan plan;
    int choice[2];
    (void)state;
    assert_ok(suite_layers_solve(&chain, &plan, choice));
    assert_true(plan.fits && plan.seconds == 2 && plan.held_bytes == 2 && plan.working_bytes == 5);
    chain.budget_bytes = 6.9;
    assert_ok(suite_layers_solve(&chain, &plan, choice));
    assert_true(plan.fits && plan.seconds == 6 && plan.working_bytes == 0 && plan.least_bytes == 4);
}

/* ---- bad numbers ------------------------------------------------------------------------------------------------- */

static void expect_refused(const suite_layers *chain, dit_status code, const char *words)
{
    suite_layers_plan plan;
    int choice[4];
    double seconds[4];
    uint8_t choices[16];
    assert_int_equal(suite_layers_solve(chain, &plan, choice), code);
    assert_non_null(strstr(dit_error_last()->message, words));
    assert_int_equal(suite_layers_try_all(chain, &plan, choice), code);
    assert_int_equal(suite_layers_prefixes(chain, seconds, choices), code);
}

static void what_is_no_size_is_refused(void **state)
{
    suite_layer_cost costs[] = {{1, 1, 1}, {1, 1, 1}};
    double conversion[] = {0};
    suite_layers chain = {.layers = 2, .strategies = 1, .costs = costs, .budget_bytes = 4, .conversion_s = conversion};
    (void)state;
    costs[1].seconds = NAN;
    expect_refused(&chain, DIT_ERR_NONFINITE, "layer 1, strategy 0: nan seconds");
    costs[1].seconds = -1;
    expect_refused(&chain, DIT_ERR_NONFINITE, "-1 seconds");
    costs[1] = (suite_layer_cost){1, -1, 0};
    expect_refused(&chain, DIT_ERR_NONFINITE, "-1 bytes held");
    costs[1] = (suite_layer_cost){1, 1, INFINITY};
    expect_refused(&chain, DIT_ERR_NONFINITE, "inf worked with");
    costs[1] = (suite_layer_cost){1, 1, 1};
    conversion[0] = INFINITY;
    expect_refused(&chain, DIT_ERR_NONFINITE, "from strategy 0 to 0");
    conversion[0] = 0;
    chain.budget_bytes = NAN;
    expect_refused(&chain, DIT_ERR_NONFINITE, "budget");
    chain.budget_bytes = 4;
    chain.cells = SUITE_LAYERS_CELLS + 1;
    expect_refused(&chain, DIT_ERR_USAGE, "cells of memory");
    chain.cells = -1;
    expect_refused(&chain, DIT_ERR_USAGE, "cells of memory");
    chain.cells = 0;
    chain.layers = SUITE_LAYERS_MOST + 1;
    expect_refused(&chain, DIT_ERR_USAGE, "4097 layers");
    chain.layers = 0;
    expect_refused(&chain, DIT_ERR_USAGE, "0 layers");
    chain.layers = 2;
    chain.strategies = SUITE_LAYERS_STRATEGIES + 1;
    expect_refused(&chain, DIT_ERR_USAGE, "65 strategies");
}

static void a_table_that_is_too_large_is_refused(void **state)
{
    suite_layer_cost *costs = calloc(4096 * 64, sizeof *costs);
    suite_layers chain = {
        .layers = 4096, .strategies = 64, .costs = costs, .budget_bytes = 1, .cells = SUITE_LAYERS_CELLS};
    suite_layers_plan plan;
    int choice[1];
    (void)state;
    assert_int_equal(suite_layers_solve(&chain, &plan, choice), DIT_ERR_UNSUPPORTED);
    assert_non_null(strstr(dit_error_last()->hint, "fewer cells"));
    assert_int_equal(suite_layers_try_all(&chain, &plan, choice), DIT_ERR_UNSUPPORTED);
    free(costs);
}

/* ---- cuts -------------------------------------------------------------------------------------------------------- */

enum { CUT_STAGES = 3, CUT_ELEMENTS = 7 };

static void cuts_are_the_best_of_all(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 200; seed++) {
        suite_cut_table micro, step;
        unsigned random = seed * 2654435761u + 7;
        double least = INFINITY, fastest = INFINITY;
        int ends[CUT_STAGES];
        assert_ok(suite_cut_table_open(CUT_STAGES, CUT_ELEMENTS, &micro));
        assert_ok(suite_cut_table_open(CUT_STAGES, CUT_ELEMENTS, &step));
        for (int s = 0; s < CUT_STAGES; s++)
            for (int from = 0; from < CUT_ELEMENTS; from++)
                for (int to = from + 1; to <= CUT_ELEMENTS; to++) {
                    *suite_cut_at(&micro, s, from, to) = draw(&random, 1) < 0.2 ? INFINITY : draw(&random, 9);
                    *suite_cut_at(&step, s, from, to) = draw(&random, 9);
                }
        for (int a = 1; a < CUT_ELEMENTS; a++)
            for (int b = a + 1; b < CUT_ELEMENTS; b++) {
                double x = *suite_cut_at(&micro, 0, 0, a), y = *suite_cut_at(&micro, 1, a, b),
                       z = *suite_cut_at(&micro, 2, b, CUT_ELEMENTS), slowest = fmax(x, fmax(y, z));
                double end = fmax(*suite_cut_at(&step, 0, 0, a),
                                  fmax(*suite_cut_at(&step, 1, a, b), *suite_cut_at(&step, 2, b, CUT_ELEMENTS)));
                least = fmin(least, slowest);
                fastest = fmin(fastest, x + y + z + 3 * slowest + end);
            }
        assert_int_equal(suite_cut_evenly(&micro, ends), isfinite(least));
        if (isfinite(least)) {
            double a = *suite_cut_at(&micro, 0, 0, ends[0]), b = *suite_cut_at(&micro, 1, ends[0], ends[1]),
                   c = *suite_cut_at(&micro, 2, ends[1], ends[2]);
            assert_true(fmax(a, fmax(b, c)) == least && ends[2] == CUT_ELEMENTS);
        }
        bool found;
        assert_ok(suite_cut_fastest(&micro, &step, 4, NULL, ends, &found));
        assert_int_equal(found, isfinite(fastest));
        if (isfinite(fastest)) {
            double x = *suite_cut_at(&micro, 0, 0, ends[0]), y = *suite_cut_at(&micro, 1, ends[0], ends[1]),
                   z = *suite_cut_at(&micro, 2, ends[1], ends[2]);
            double end = fmax(*suite_cut_at(&step, 0, 0, ends[0]), fmax(*suite_cut_at(&step, 1, ends[0], ends[1]),
                                                                        *suite_cut_at(&step, 2, ends[1], ends[2])));
            assert_true(fabs(x + y + z + 3 * fmax(x, fmax(y, z)) + end - fastest) < 1e-9);
        }
        suite_cut_table_release(&micro);
        suite_cut_table_release(&step);
    }
}

/* ---- strategies -------------------------------------------------------------------------------------------------- */

static suite_layer_question small_question(const char *ways)
{
    suite_layer_question question = {.layers = 4,
                                     .tokens = 512,
                                     .heads = 16,
                                     .head_dim = 64,
                                     .batch = 32,
                                     .devices = 8,
                                     .memory_limit_gib = 40,
                                     .splits = 1};
    assert_true(suite_ways_from_text(ways, &question.ways));
    return question;
}

static void sets_of_ways_are_read_and_written(void **state)
{
    unsigned ways;
    char text[96];
    (void)state;
    assert_true(suite_ways_from_text("tensor+data", &ways));
    suite_ways_text(ways, text, sizeof text);
    assert_string_equal(text, "data+tensor");
    static const char *const bad[] = {"", "+", "data+", "+data", "data+data", "datas", "data tensor", "DATA"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(suite_ways_from_text(bad[i], &ways));
}

static void strategies_are_those_that_multiply_to_the_devices(void **state)
{
    suite_strategy list[SUITE_LAYERS_STRATEGIES];
    char text[SUITE_STRATEGY_TEXT];
    (void)state;
    suite_layer_question question = small_question("data+shard+tensor");
    assert_int_equal(suite_strategies_list(&question, 8, list), 7); /* t1 t2 t4 with d or s, t8 */
    for (int i = 0; i < 7; i++) assert_int_equal(list[i].tensor * list[i].data * list[i].shard, 8);
    question = small_question("shard+recompute");
    question.splits = 4;
    assert_int_equal(suite_strategies_list(&question, 8, list), 6);
    suite_strategy_text(&list[5], text);
    assert_string_equal(text, "s8 x4 recompute");
    question = small_question("tensor");
    assert_int_equal(suite_strategies_list(&question, 32, list), 0); /* 16 heads */
    question = small_question("pipeline");
    assert_int_equal(suite_strategies_list(&question, 2, list), 0);
    assert_int_equal(suite_strategies_list(&question, 1, list), 1);
    suite_strategy_text(&list[0], text);
    assert_string_equal(text, "single");
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

/* Behind a switch no ring is in another's way; pairs across two sockets share what joins them. */
static void groups_at_once_share_links(void **state)
{
    suite_cluster cluster;
    double latency, across;
    (void)state;
    assert_ok(suite_cluster_load("8xa100-sxm", &cluster));
    suite_wires wires = suite_wires_of(&cluster, "Ampere", 8);
    for (int stride = 1; stride < 8; stride *= 2)
        assert_true(suite_wires_crowding(&wires, (suite_wire_groups){2, stride}) == 1);
    assert_true(suite_wires_seconds(&wires, (suite_wire_groups){1, 1}, DIT_COST_ALL_REDUCE, 1e9) == 0);
    suite_cluster_release(&cluster);
    assert_ok(suite_cluster_load("8xrtx-5090", &cluster));
    wires = suite_wires_of(&cluster, "Blackwell", 8);
    suite_cluster_pair(&cluster, 0, 4, &latency, &across);
    const suite_link *socket = &cluster.links[cluster.socket_link];
    double crowded = across / fmin(socket->bandwidth_bytes_per_s / 4, across);
    assert_true(crowded > 1);
    assert_true(suite_wires_crowding(&wires, (suite_wire_groups){2, 4}) >= crowded * (1 - 1e-12));
    suite_cluster_release(&cluster);
}

/* A ring over two nodes sends one message each way; eight pairs across send eight. */
static void many_pairs_across_share_the_adapter(void **state)
{
    suite_cluster cluster;
    (void)state;
    assert_ok(suite_cluster_load("2x8xl40", &cluster));
    suite_wires wires = suite_wires_of(&cluster, "Ada", 16);
    double ring = suite_wires_seconds(&wires, (suite_wire_groups){16, 1}, DIT_COST_ALL_REDUCE, 1e9);
    double pairs = suite_wires_seconds(&wires, (suite_wire_groups){2, 8}, DIT_COST_ALL_REDUCE, 1e9);
    double inside = suite_wires_seconds(&wires, (suite_wire_groups){8, 1}, DIT_COST_ALL_REDUCE, 1e9);
    assert_true(inside < ring && pairs > ring);
    suite_cluster_release(&cluster);
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

static suite_training training_of(const suite_layer_question *question, const shipped_machine *machine)
{
    return (suite_training){.question = question,
                            .device = &machine->device,
                            .profile = &machine->profile,
                            .wires = suite_wires_of(&machine->cluster, machine->device.architecture, question->devices),
                            .micro_batch = question->batch};
}

/* 12 C^2 parameters and vectors of 13 C; 16 bytes each in fp16; 16 elements of C a token on one device. */
static void bytes_and_flops_are_the_closed_form(void **state)
{
    shipped_machine m;
    suite_layer_question q = small_question("data+shard+tensor+recompute");
    suite_strategy data = {1, 8, 1, false, 1}, shard = {1, 1, 8, false, 1}, tensor = {8, 1, 1, false, 1},
                   again = {1, 8, 1, true, 1};
    (void)state;
    open_machine("8xa100-sxm", "a100-sxm-80", &m);
    suite_training training = training_of(&q, &m);
    double c = 1024, parameters = 12 * c * c + 13 * c, rows = 32 / 8 * 512.0;
    suite_element_cost d = suite_training_cost(&training, SUITE_PARTS_OF_A_LAYER, &data);
    assert_true(suite_training_parameters(&q, SUITE_PARTS_OF_A_LAYER) == parameters);
    assert_true(d.state_bytes == 16 * parameters && d.weight_bytes == 2 * parameters && d.working_bytes == 0);
    assert_true(d.activation_bytes == rows * 16 * c * 2);
    double flops = 32 * 512.0 * 2 * 12 * c * c + 4 * 32 * 512.0 * 512 * c;
    assert_true(fabs(d.forward_flops - flops) < 1e-9 * flops);
    suite_element_cost s = suite_training_cost(&training, SUITE_PARTS_OF_A_LAYER, &shard);
    assert_true(s.state_bytes == 16 * parameters / 8 && s.working_bytes == 6 * parameters);
    suite_element_cost t = suite_training_cost(&training, SUITE_PARTS_OF_A_LAYER, &tensor);
    assert_true(fabs(t.activation_bytes - 32 * 512.0 * (4 + 12.0 / 8) * c * 2) < 1);
    assert_true(fabs(t.forward_flops - flops) < 1e-9 * flops);
    suite_element_cost r = suite_training_cost(&training, SUITE_PARTS_OF_A_LAYER, &again);
    assert_true(r.activation_bytes == rows * c * 2 && r.working_bytes == d.activation_bytes);
    assert_true(r.micro_s > d.micro_s && r.micro_s < 1.5 * d.micro_s);
    suite_cluster_release(&m.cluster);
}

/* The parts of a layer are the layer: memory and flops, not time, which is the slower of host and device. */
static void parts_add_up_to_a_layer(void **state)
{
    shipped_machine m;
    suite_layer_question q = small_question("data+tensor");
    suite_strategy strategy = {2, 4, 1, false, 1};
    suite_element_cost sum = {0};
    (void)state;
    open_machine("8xa100-sxm", "a100-sxm-80", &m);
    suite_training training = training_of(&q, &m);
    for (int part = SUITE_PART_ATTENTION; part <= SUITE_PART_CONTRACTION; part++) {
        suite_element_cost one = suite_training_cost(&training, 1u << part, &strategy);
        sum.state_bytes += one.state_bytes;
        sum.activation_bytes += one.activation_bytes;
        sum.forward_flops += one.forward_flops;
    }
    suite_element_cost layer = suite_training_cost(&training, SUITE_PARTS_OF_A_LAYER, &strategy);
    assert_true(fabs(sum.state_bytes - layer.state_bytes) < 1);
    assert_true(fabs(sum.activation_bytes - layer.activation_bytes) < 1);
    assert_true(fabs(sum.forward_flops - layer.forward_flops) < 1e-9 * layer.forward_flops);
    suite_cluster_release(&m.cluster);
}

static void a_batch_that_does_not_divide_has_no_strategy(void **state)
{
    shipped_machine m;
    suite_layer_question q = small_question("data");
    suite_strategy data = {1, 8, 1, false, 1};
    (void)state;
    q.batch = 12;
    open_machine("8xa100-sxm", "a100-sxm-80", &m);
    suite_training training = training_of(&q, &m);
    assert_true(isinf(suite_training_cost(&training, SUITE_PARTS_OF_A_LAYER, &data).micro_s));
    suite_cluster_release(&m.cluster);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static void plan_of(const shipped_machine *m, const suite_layer_question *q, suite_plan *out)
{
    assert_ok(suite_layer_question_check(q));
    assert_ok(suite_plan_make(q, &m->machine, out));
}

static void more_ways_and_more_memory_are_never_slower(void **state)
{
    static const char *const narrow[] = {"data", "shard", "tensor", "data+tensor", "data+shard+tensor"};
    static suite_plan plan, full;
    shipped_machine m;
    (void)state;
    open_machine("2x8xl40", "l40", &m);
    for (double gib = 0.5; gib < 8; gib *= 2) {
        double before = INFINITY;
        suite_layer_question q = small_question("data+shard+tensor+recompute");
        q.memory_limit_gib = gib;
        plan_of(&m, &q, &full);
        for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
            suite_layer_question less = small_question(narrow[i]);
            less.memory_limit_gib = gib;
            plan_of(&m, &less, &plan);
            if (plan.found) assert_true(full.found && full.seconds <= plan.seconds * (1 + 1e-9));
            if (plan.found) assert_true(suite_plan_fullest_bytes(&plan) <= gib * 1024 * 1024 * 1024);
            if (!plan.found) assert_true(plan.least_bytes > gib * 1024 * 1024 * 1024);
        }
        if (full.found) assert_true(full.seconds <= before * (1 + 1e-9));
        if (full.found) before = full.seconds;
    }
    suite_cluster_release(&m.cluster);
}

/* Where the budget binds: the plan against all plans, with what the grid may cost. */
static void a_plan_is_the_best_of_all(void **state)
{
    static suite_plan plan;
    shipped_machine m;
    int compared = 0;
    (void)state;
    open_machine("2x8xl40", "l40", &m);
    for (double gib = 0.55; gib < 2; gib *= 1.2) {
        suite_layer_question q = small_question("data+shard+tensor");
        q.memory_limit_gib = gib;
        plan_of(&m, &q, &plan);
        assert_true(isfinite(plan.exhaustive_s) || !plan.found);
        if (!plan.found) continue;
        compared++;
        assert_true(plan.bound_s <= plan.exhaustive_s * (1 + 1e-9));
        assert_true(plan.seconds >= plan.exhaustive_s * (1 - 1e-9) && plan.seconds <= 1.01 * plan.exhaustive_s);
    }
    assert_true(compared >= 4);
    suite_cluster_release(&m.cluster);
}

/* Sharing first, then recomputing: never faster than both together, and out of memory where they still fit. */
static void in_turn_is_never_better(void **state)
{
    static suite_plan joint, turn;
    shipped_machine m;
    int slower = 0, fewer = 0;
    (void)state;
    open_machine("8xl40", "l40", &m);
    for (double gib = 1; gib < 5; gib += 0.25) {
        suite_layer_question q = small_question("data+tensor+recompute");
        q.layers = 8;
        q.batch = 64;
        q.micro_batches = 1;
        q.memory_limit_gib = gib;
        plan_of(&m, &q, &joint);
        q.order = SUITE_SEARCH_IN_TURN;
        plan_of(&m, &q, &turn);
        assert_true(isnan(turn.bound_s) && isnan(turn.exhaustive_s));
        if (turn.found) assert_true(joint.found && joint.seconds <= turn.seconds * (1 + 1e-9));
        if (turn.found) assert_true(suite_plan_fullest_bytes(&turn) <= gib * 1024 * 1024 * 1024);
        if (turn.found) slower += joint.seconds < 0.999 * turn.seconds;
        fewer += joint.found && !turn.found;
    }
    assert_true(slower > 0 && fewer > 0);
    suite_cluster_release(&m.cluster);
}

/* From any choice to one that no single change betters, and never to a slower one or one that does not fit. */
static void polishing_ends_where_no_change_gains(void **state)
{
    static suite_stage_costs costs;
    shipped_machine m;
    int choice[12] = {0};
    suite_layer_question q = small_question("data+shard+tensor+pipeline");
    (void)state;
    open_machine("2x8xl40", "l40", &m);
    q.layers = 10;
    q.vocabulary = 50000;
    q.memory_limit_gib = 3;
    assert_ok(suite_stage_costs_open(&q, &m.machine, 2, 4, &costs));
    for (int i = 0; i < 12; i++) choice[i] = costs.strategies - 1; /* all tensor: slow, and little memory */
    suite_stage_plan stages[2] = {suite_stage_weigh(&costs, 0, 0, 6, choice),
                                  suite_stage_weigh(&costs, 1, 6, 6, choice + 6)};
    double before = suite_stages_seconds(stages, 2, 4), limit = 3.0 * 1024 * 1024 * 1024;
    assert_true(stages[0].total_bytes <= limit && stages[1].total_bytes <= limit);
    assert_ok(suite_plan_polish(&costs, stages, choice));
    double after = suite_stages_seconds(stages, 2, 4);
    assert_true(after < 0.9 * before && stages[0].total_bytes <= limit && stages[1].total_bytes <= limit);
    for (int i = 0; i < 12; i++)
        for (int s = 0; s < costs.strategies; s++) {
            int stage = i / 6, old = choice[i];
            suite_stage_plan changed[2] = {stages[0], stages[1]};
            choice[i] = s;
            changed[stage] = suite_stage_weigh(&costs, stage, 6 * stage, 6, choice + 6 * stage);
            choice[i] = old;
            if (changed[stage].total_bytes <= limit)
                assert_true(suite_stages_seconds(changed, 2, 4) >= after * (1 - 1e-8));
        }
    suite_stage_costs_release(&costs);
    suite_cluster_release(&m.cluster);
}

/* A pipeline with an embedding and a head, whose stages differ. */
static void balancing_both_is_never_slower(void **state)
{
    static suite_plan plans[SUITE_BALANCE_COUNT];
    shipped_machine m;
    (void)state;
    open_machine("2x8xl40", "l40", &m);
    for (int balance = 0; balance < SUITE_BALANCE_COUNT; balance++) {
        suite_layer_question q = small_question("data+shard+pipeline");
        q.layers = 10;
        q.vocabulary = 50000;
        q.stages = 4;
        q.micro_batches = 8;
        q.memory_limit_gib = 8;
        q.balance = (suite_balance)balance;
        plan_of(&m, &q, &plans[balance]);
        assert_true(plans[balance].found);
        assert_int_equal(plans[balance].stage[3].first + plans[balance].stage[3].count, 12);
    }
    for (int balance = 0; balance < SUITE_BALANCE_BOTH; balance++)
        assert_true(plans[SUITE_BALANCE_BOTH].seconds <= plans[balance].seconds * (1 + 1e-9));
    assert_true(suite_plan_time_imbalance(&plans[SUITE_BALANCE_TIME]) <=
                suite_plan_time_imbalance(&plans[SUITE_BALANCE_NONE]) + 1e-9);
    suite_cluster_release(&m.cluster);
}

/* A search that is asked to end ends with that status, wherever it is. */
static dit_status end_later(void *context)
{
    int *left = context;
    return --*left > 0 ? DIT_OK : DIT_FAIL(DIT_ERR_TIMEOUT, "long enough");
}

static void a_search_ends_when_it_is_asked_to(void **state)
{
    static suite_plan plan;
    shipped_machine m;
    (void)state;
    open_machine("2x8xl40", "l40", &m);
    for (int asked = 1; asked < 300; asked = asked * 3) {
        int left = asked;
        const suite_layers_watch watch = {end_later, &left};
        suite_layer_question q = small_question("data+shard+pipeline");
        q.layers = 10;
        q.vocabulary = 50000;
        q.stages = 4;
        q.micro_batches = 8;
        q.memory_limit_gib = 2;
        q.balance = SUITE_BALANCE_BOTH;
        m.machine.watch = &watch;
        assert_int_equal(suite_plan_make(&q, &m.machine, &plan), DIT_ERR_TIMEOUT);
    }
    suite_cluster_release(&m.cluster);
}

/* ---- cells of a workload ----------------------------------------------------------------------------------------- */

#define PLANNED                                                                                                        \
    "\"program\":\"layer_plan\",\"defaults\":{\"num_layers\":4,\"tokens\":512,\"heads\":16,\"head_dim\":64,"           \
    "\"batch\":32,\"memory_limit_gib\":2,\"platform\":\"8xa100-sxm\",\"profile\":\"pytorch-eager\","

static void a_cell_is_a_question(void **state)
{
    (void)state;
    suite_workload workload = fixture_load(PLANNED "\"strategies\":\"tensor+data\",\"world_size\":4}");
    const suite_case *one = &workload.cases[0];
    assert_int_equal(workload.case_count, 1);
    assert_true(one->is_simulated && !one->is_reference && one->world_size == 4);
    assert_string_equal(fixture_tag(one, "model"), "layers:4x1024");
    assert_string_equal(fixture_tag(one, "strategies"), "data+tensor");
    assert_int_equal(fixture_number(one->tags, "stages"), 0);
    assert_string_equal(one->label, "layers:4x1024 S512 B32 4 devices 2 GiB data+tensor pytorch-eager");
    assert_int_equal(one->predicted_bytes, 0);
    suite_workload_release(&workload);
}

static void questions_without_an_answer_are_dropped(void **state)
{
    (void)state;
    fixture_dropped(PLANNED "\"strategies\":\"data\",\"stages\":2}", DIT_ERR_CONSTRAINT_STAGES, "no pipeline");
    fixture_dropped(PLANNED "\"strategies\":\"pipeline\",\"stages\":3}", DIT_ERR_CONSTRAINT_STAGES, "power of two");
    fixture_dropped(PLANNED "\"strategies\":\"data+pipeline\",\"stages\":8}", DIT_ERR_CONSTRAINT_STAGES, "4 layers");
    fixture_dropped(PLANNED "\"strategies\":\"data\",\"micro_batches\":5}", DIT_ERR_CONSTRAINT_BATCH, "divisible");
    fixture_dropped(PLANNED "\"strategies\":\"data\",\"balance\":\"time\"}", DIT_ERR_CONSTRAINT_STAGES, "stages");
    fixture_dropped(PLANNED "\"strategies\":\"recompute\"}", DIT_ERR_CONSTRAINT_METHOD, "shares nothing");
    fixture_dropped(PLANNED "\"strategies\":\"data\",\"search\":\"in-turn\"}", DIT_ERR_CONSTRAINT_METHOD, "in-turn");
    fixture_dropped(PLANNED "\"strategies\":\"data\",\"micro_batches\":8}", DIT_ERR_CONSTRAINT_BATCH,
                    "shares no batch of 32");
    fixture_dropped(PLANNED "\"strategies\":\"pipeline\"}", DIT_ERR_CONSTRAINT_METHOD, "over 8 devices");
    fixture_dropped(PLANNED "\"strategies\":\"data\",\"world_size\":16}", DIT_ERR_CONSTRAINT_PLATFORM, "16 ranks");
    fixture_dropped(PLANNED "\"strategies\":\"data+pipeline\",\"stages\":2,\"granularity\":\"operator\"}",
                    DIT_ERR_CONSTRAINT_STAGES, "operator");
}

static void wrong_words_are_refused(void **state)
{
    (void)state;
    assert_int_equal(fixture_refused(PLANNED "\"strategies\":\"data+zero\"}"), DIT_ERR_JSON_VALUE);
    assert_non_null(strstr(dit_error_last()->hint, "data, shard, tensor, pipeline, recompute"));
    assert_int_equal(fixture_refused(PLANNED "\"strategies\":\"data\",\"balance\":\"all\"}"), DIT_ERR_JSON_VALUE);
    assert_int_equal(fixture_refused(PLANNED "\"strategies\":\"data\",\"method\":\"ring\"}"), DIT_ERR_WORKLOAD);
    assert_int_equal(fixture_refused(PLANNED "\"strategies\":\"data\",\"seed\":1}"), DIT_ERR_WORKLOAD);
    assert_int_equal(fixture_refused(PLANNED "\"strategies\":\"data\",\"stages\":65}"), DIT_ERR_JSON_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_sizes_give_the_optimum),
        cmocka_unit_test(rounded_sizes_stay_between_bounds),
        cmocka_unit_test(beginnings_are_chains_of_their_own),
        cmocka_unit_test(conversions_count),
        cmocka_unit_test(working_memory_is_a_maximum),
        cmocka_unit_test(what_is_no_size_is_refused),
        cmocka_unit_test(a_table_that_is_too_large_is_refused),
        cmocka_unit_test(cuts_are_the_best_of_all),
        cmocka_unit_test(sets_of_ways_are_read_and_written),
        cmocka_unit_test(strategies_are_those_that_multiply_to_the_devices),
        cmocka_unit_test_setup(groups_at_once_share_links, use_shipped),
        cmocka_unit_test_setup(many_pairs_across_share_the_adapter, use_shipped),
        cmocka_unit_test_setup(bytes_and_flops_are_the_closed_form, use_shipped),
        cmocka_unit_test_setup(parts_add_up_to_a_layer, use_shipped),
        cmocka_unit_test_setup(a_batch_that_does_not_divide_has_no_strategy, use_shipped),
        cmocka_unit_test_setup(more_ways_and_more_memory_are_never_slower, use_shipped),
        cmocka_unit_test_setup(a_plan_is_the_best_of_all, use_shipped),
        cmocka_unit_test_setup(in_turn_is_never_better, use_shipped),
        cmocka_unit_test_setup(polishing_ends_where_no_change_gains, use_shipped),
        cmocka_unit_test_setup(a_search_ends_when_it_is_asked_to, use_shipped),
        cmocka_unit_test_setup(balancing_both_is_never_slower, use_shipped),
        cmocka_unit_test_setup_teardown(a_cell_is_a_question, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(questions_without_an_answer_are_dropped, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(wrong_words_are_refused, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
