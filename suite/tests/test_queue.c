/* Queues against closed forms: M/D/1, M/G/1, M/M/c, D/D/c, GI/G/1, M/D/c with its quantiles, Little's law; batches,
 * classes, groups, traces, capacity, all requests at once; the worked example of published service times. */
#include "suite/queue/capacity.h"
#include "suite/queue/offline.h"
#include "suite/tests/mdc_reference.h"

static const double one_second[] = {1};

static suite_queue_group alike(int replicas, const double *seconds)
{
    return (suite_queue_group){.replicas = replicas, .seconds = seconds};
}

static suite_queue queue_of(const suite_queue_group *groups, int count)
{
    return (suite_queue){.groups = groups, .group_count = count, .batch_most = 1, .arrivals = {.seed = 11}};
}

static suite_queue_run run_ask(const suite_queue *queue, const suite_queue_ask *ask)
{
    suite_queue_run run;
    assert_ok(suite_queue_simulate(queue, ask, &run));
    return run;
}

static suite_queue_run run_at(const suite_queue *queue, double rate)
{
    const suite_queue_ask ask = {.rate = rate, .quantile = 0.95, .precision = 0.01, .requests = 400000};
    return run_ask(queue, &ask);
}

/* Three half widths at 95 %, so that one of some hundred thousand right simulators fails. */
#define assert_estimate(estimate, want) assert_near((estimate).value, want, 3 * (estimate).half)

/* Little's law, and that replicas are busy for the work that came, in the interval of the run. */
static void obeys_laws(const suite_queue_run *run, double rate, double seconds, int replicas)
{
    double sure = 3 * run->latency.half / run->latency.value + 0.01;
    assert_int_equal(run->outcome, SUITE_QUEUE_STABLE);
    assert_close(run->in_system, run->rate * run->latency.value, 0.005);
    assert_close(run->rate, rate, sure);
    assert_close(run->busy, rate * seconds / replicas, sure);
}

/* ---- closed forms -------------------------------------------------------------------------------------------------- */

static void m_d_1_waits_as_pollaczek_and_khinchine_say(void **state)
{
    static const double loads[] = {0.3, 0.5, 0.8, 0.9};
    (void)state;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        const suite_queue_group group = alike(1, one_second);
        suite_queue queue = queue_of(&group, 1);
        suite_queue_run run = run_at(&queue, loads[i]);
        assert_estimate(run.wait, loads[i] / (2 * (1 - loads[i])));
        assert_near(run.no_wait, 1 - loads[i], 0.02);
        obeys_laws(&run, loads[i], 1, 1);
    }
}

static void m_g_1_of_two_classes_waits_by_the_second_moment(void **state)
{
    static const double seconds[] = {1, 6}, weights[] = {3, 1};
    const double mean = 2.25, square = 0.75 + 9, rate = 0.8 / mean;
    const suite_queue_group group = alike(1, seconds);
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    queue.arrivals.weights = weights;
    queue.arrivals.class_count = 2;
    suite_queue_run run = run_at(&queue, rate);
    assert_estimate(run.wait, rate * square / (2 * (1 - 0.8)));
    assert_near(run.class_mean[1] - run.class_mean[0], 5, 3 * run.wait.half);
    assert_true(run.class_p95[1] > run.class_p95[0]);
    obeys_laws(&run, rate, mean, 1);
}

/* Shortest first is priority without preemption: a class waits W0 / ((1 - load of those before) (1 - and its own)), W0 the
 * rest of what is being served (Cobham, Operations Research 2, 1954). */
static void shortest_first_waits_as_cobham_says(void **state)
{
    static const double seconds[] = {1, 6}, weights[] = {3, 1};
    const double mean = 2.25, square = 0.75 + 9, rate = 0.8 / mean, rest = rate * square / 2;
    const double first = rate * 0.75 * 1, both = 0.8;
    const suite_queue_group group = alike(1, seconds);
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    queue.arrivals.weights = weights;
    queue.arrivals.class_count = 2;
    queue.policy = SUITE_POLICY_SJF;
    suite_queue_run run = run_at(&queue, rate);
    assert_near(run.class_mean[0] - 1, rest / (1 - first), 0.03 * rest);
    assert_near(run.class_mean[1] - 6, rest / ((1 - first) * (1 - both)), 0.05 * rest / ((1 - first) * (1 - both)));
    queue.policy = SUITE_POLICY_FIFO;
    assert_true(run.class_mean[0] < 0.7 * run_at(&queue, rate).class_mean[0]);
    obeys_laws(&run, rate, mean, 1);
}

/* Equal bounds: who came first. One class without an end: priority for the other. */
static void earliest_deadline_lies_between_first_come_and_priority(void **state)
{
    static const double seconds[] = {1, 6}, weights[] = {3, 1}, equal[] = {9, 9}, apart[] = {9, 1e9}, mild[] = {3, 15};
    const double rate = 0.8 / 2.25;
    const suite_queue_group group = alike(1, seconds);
    suite_queue_run runs[SUITE_POLICY_COUNT], some;
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    queue.arrivals.weights = weights;
    queue.arrivals.class_count = 2;
    for (int policy = 0; policy < SUITE_POLICY_COUNT; policy++) {
        queue.policy = (suite_queue_policy)policy;
        queue.bounds_s = apart;
        runs[policy] = run_at(&queue, rate);
    }
    assert_true(runs[SUITE_POLICY_EDF].class_mean[0] == runs[SUITE_POLICY_SJF].class_mean[0]);
    assert_true(runs[SUITE_POLICY_EDF].class_mean[1] == runs[SUITE_POLICY_SJF].class_mean[1]);
    queue.bounds_s = equal;
    some = run_at(&queue, rate);
    assert_true(some.class_mean[0] == runs[SUITE_POLICY_FIFO].class_mean[0]);
    queue.bounds_s = mild;
    some = run_at(&queue, rate);
    assert_true(some.class_mean[0] < runs[SUITE_POLICY_FIFO].class_mean[0] &&
                some.class_mean[0] > runs[SUITE_POLICY_SJF].class_mean[0]);
    assert_true(some.class_mean[1] > runs[SUITE_POLICY_FIFO].class_mean[1] &&
                some.class_mean[1] < runs[SUITE_POLICY_SJF].class_mean[1]);
}

static double erlang_c(int servers, double offered)
{
    double term = 1, sum = 1;
    for (int n = 1; n < servers; n++) sum += term *= offered / n;
    term *= offered / servers * servers / (servers - offered);
    return term / (sum + term);
}

static void m_m_c_waits_as_erlang_says(void **state)
{
    static const int servers[] = {1, 2, 4, 16};
    (void)state;
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        const suite_queue_group group = alike(servers[i], one_second);
        suite_queue queue = queue_of(&group, 1);
        queue.jitter_law = SUITE_JITTER_EXPONENTIAL;
        double rate = 0.85 * servers[i], waits = erlang_c(servers[i], rate);
        suite_queue_run run = run_at(&queue, rate);
        assert_estimate(run.wait, waits / (servers[i] - rate));
        assert_near(1 - run.no_wait, waits, 0.02);
        obeys_laws(&run, rate, 1, servers[i]);
    }
}

static void d_d_c_never_waits(void **state)
{
    const suite_queue_group group = alike(3, one_second);
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    queue.arrivals.law = SUITE_ARRIVALS_REGULAR;
    suite_queue_run run = run_at(&queue, 2.9);
    assert_near(run.wait.value, 0, 0);
    assert_near(run.no_wait, 1, 0);
    assert_near(run.p99, 1, 1e-6);
    obeys_laws(&run, 2.9, 1, 3);
}

static void gi_g_1_waits_less_than_kingmans_bound(void **state)
{
    static const double variations[] = {0.4, 2};
    const double rate = 0.8;
    (void)state;
    for (int i = 0; i < 2; i++) {
        const suite_queue_group group = alike(1, one_second);
        suite_queue queue = queue_of(&group, 1);
        queue.arrivals.law = SUITE_ARRIVALS_GAMMA;
        queue.arrivals.variation = variations[i];
        queue.jitter_law = SUITE_JITTER_LOG_NORMAL;
        queue.jitter = 0.5;
        suite_queue_run run = run_at(&queue, rate);
        double bound = rate * (pow(variations[i] / rate, 2) + 0.25) / (2 * (1 - rate));
        assert_true(run.wait.value < bound + 3 * run.wait.half);
        assert_true(run.wait.value > 0.3 * bound);
        obeys_laws(&run, rate, 1, 1);
    }
}

/* Columns: servers, load, mean wait, P(no wait), quantiles of the wait; in service times. */
static const double table[][6] = {{1, 0.8, 2.0000, 0.2000, 6.620, 10.356}, {2, 0.8, 0.9033, 0.2981, 3.202, 5.070},
                                  {4, 0.8, 0.3861, 0.4217, 1.521, 2.455},  {2, 0.5, 0.1767, 0.6767, 0.907, 1.564},
                                  {4, 0.9, 1.0000, 0.2246, 3.397, 5.339},  {8, 0.8, 0.1520, 0.5662, 0.701, 1.170},
                                  {8, 0.9, 0.4500, 0.3181, 1.640, 2.611},  {16, 0.9, 0.1925, 0.4347, 0.778, 1.264}};

static void m_d_c_waits_as_franx_says(void **state)
{
    static mdc reference;
    double worst = 0;
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const double *row = table[i];
        const suite_queue_group group = alike((int)row[0], one_second);
        suite_queue queue = queue_of(&group, 1);
        mdc_solve((int)row[0], row[1], &reference);
        assert_close(reference.wait, row[2], 0.001);
        assert_close(reference.no_wait, row[3], 0.001);
        assert_close(mdc_quantile(&reference, 0.95), row[4], 0.001);
        assert_close(mdc_quantile(&reference, 0.99), row[5], 0.001);
        suite_queue_ask ask = {.rate = row[0] * row[1], .quantile = 0.95, .precision = 0.01, .requests = 600000};
        suite_queue_run run = run_ask(&queue, &ask);
        assert_estimate(run.wait, reference.wait);
        assert_near(run.wanted.value - 1, mdc_quantile(&reference, 0.95), 3 * run.wanted.half);
        ask.quantile = 0.99;
        suite_queue_run rare = run_ask(&queue, &ask);
        assert_near(rare.wanted.value - 1, mdc_quantile(&reference, 0.99), 3 * rare.wanted.half);
        assert_int_equal(run.precise, run.wanted.half <= 0.01 * run.wanted.value);
        obeys_laws(&run, ask.rate, 1, (int)row[0]);
        worst = fmax(worst, fabs(run.latency.value / (1 + reference.wait) - 1));
        worst = fmax(worst, fabs(run.wanted.value / (1 + mdc_quantile(&reference, 0.95)) - 1));
        worst = fmax(worst, fabs(rare.wanted.value / (1 + mdc_quantile(&reference, 0.99)) - 1));
    }
    print_message("# mean, p95 and p99 of latencies of M/D/c: at most %.2f %% from the closed form\n", 100 * worst);
    assert_true(worst < 0.04);
}

/* ---- the run ------------------------------------------------------------------------------------------------------- */

static void an_overload_is_an_outcome_and_not_a_long_wait(void **state)
{
    static const double only_first[] = {1, NAN}, only_second[] = {NAN, 1}, weights[] = {1, 1};
    const suite_queue_group group = alike(2, one_second);
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    suite_queue_run run = run_at(&queue, 2.0001);
    assert_int_equal(run.outcome, SUITE_QUEUE_UNSTABLE);
    assert_contains(run.why, "at most 2 can be served");
    assert_near(run.load, 1.00005, 1e-9);
    /* One class floods its group although the other one has time: nobody knows that from the sum of the load. */
    const suite_queue_group groups[] = {alike(1, only_first), alike(9, only_second)};
    queue = queue_of(groups, 2);
    queue.arrivals.weights = weights;
    queue.arrivals.class_count = 2;
    run = run_at(&queue, 4);
    assert_true(run.load < 1);
    assert_int_equal(run.outcome, SUITE_QUEUE_UNSTABLE);
    assert_contains(run.why, "requests wait");
}

static void assert_same_run(const suite_queue_run *a, const suite_queue_run *b)
{
    const double pairs[][2] = {{a->load, b->load},
                               {a->latency.value, b->latency.value},
                               {a->latency.half, b->latency.half},
                               {a->wanted.value, b->wanted.value},
                               {a->wanted.half, b->wanted.half},
                               {a->p50, b->p50},
                               {a->p90, b->p90},
                               {a->p95, b->p95},
                               {a->p99, b->p99},
                               {a->wait.value, b->wait.value},
                               {a->no_wait, b->no_wait},
                               {a->busy, b->busy},
                               {a->batch, b->batch},
                               {a->in_system, b->in_system},
                               {a->rate, b->rate}};
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->requests, b->requests);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) assert_near(pairs[i][0], pairs[i][1], 0);
}

static void a_run_is_the_same_again_and_longer_ones_begin_with_it(void **state)
{
    const suite_queue_group group = alike(2, one_second);
    const suite_queue_ask exactly = {.rate = 1.5, .quantile = 0.95, .precision = 1e-9, .requests = 20000};
    const suite_queue_ask at_least = {.rate = 1.5, .quantile = 0.95, .precision = 10, .requests = 400000};
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    suite_queue_run first = run_at(&queue, 1.5), second = run_at(&queue, 1.5);
    assert_same_run(&first, &second);
    suite_queue_run whole = run_ask(&queue, &exactly), begun = run_ask(&queue, &at_least);
    assert_int_equal(whole.requests, 18000);
    assert_true(begun.precise && !whole.precise); /* the second looked at its first 20,000, and had enough */
    assert_same_run(&whole, &begun);
    queue.arrivals.seed = 12;
    second = run_at(&queue, 1.5);
    assert_true(first.p95 != second.p95);
    assert_close(first.p95, second.p95, 0.05);
}

static void gaps_have_the_mean_and_the_variation_of_their_law(void **state)
{
    static const struct {
        const char *text;
        double variation;
    } rows[] = {{"poisson", 1}, {"regular", 0}, {"gamma:0.3", 0.3}, {"gamma:1", 1}, {"gamma:3", 3}};
    enum { GAPS = 200000 };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        suite_arrivals arrivals = {.seed = 5};
        double sum = 0, squares = 0;
        assert_ok(suite_arrivals_parse(rows[i].text, &arrivals));
        for (int j = 0; j < GAPS; j++) {
            double gap = suite_arrivals_gap(&arrivals, j);
            sum += gap;
            squares += gap * gap;
        }
        assert_near(sum / GAPS, 1, 4 * (rows[i].variation + 1e-12) / sqrt(GAPS));
        assert_near(sqrt(squares / GAPS - pow(sum / GAPS, 2)), rows[i].variation, 0.05 * rows[i].variation + 1e-7);
    }
    suite_arrivals none = {.seed = 5};
    assert_fails(suite_arrivals_parse("poison", &none), DIT_ERR_USAGE, "poison");
    assert_fails(suite_arrivals_parse("gamma:0", &none), DIT_ERR_USAGE, "0.05 to 20");
    assert_fails(suite_arrivals_parse("gamma:1x", &none), DIT_ERR_USAGE, "gamma:1x");
}

/* A batch of four takes as long as one: four times as many can be served, and the first waits for others. */
static void batches_serve_more_and_wait_for_each_other(void **state)
{
    static const double flat[] = {1, 1, 1, 1};
    const suite_queue_group group = alike(1, flat);
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    queue.batch_most = 4;
    assert_near(suite_queue_most(&queue), 4, 1e-12);
    suite_queue_run run = run_at(&queue, 3);
    assert_int_equal(run.outcome, SUITE_QUEUE_STABLE);
    assert_true(run.batch > 2.5 && run.batch <= 4);
    assert_close(run.busy, 3 / run.batch, 0.01);
    queue.arrivals.law = SUITE_ARRIVALS_REGULAR;
    queue.batch_wait_s = 100; /* four a second: each batch waits 0.75 s for its fourth, and is served for 1 s */
    run = run_at(&queue, 3.999);
    assert_near(run.batch, 4, 1e-3);
    assert_near(run.p99, 1 + 3 / 3.999, 1e-3);
    queue.batch_wait_s = 0.5; /* one in ten seconds waits half a second in vain */
    run = run_at(&queue, 0.1);
    assert_near(run.batch, 1, 1e-9);
    assert_near(run.p50, 1.5, 1e-6);
    assert_near(run.no_wait, 0, 0);
}

/* Replicas that take 1 s and 3 s do four requests in three seconds, and not two a second. */
static void unlike_groups_do_what_each_of_them_does(void **state)
{
    static const double fast[] = {1, 9}, slow[] = {3, 9}, weights[] = {1, 0};
    const suite_queue_group groups[] = {alike(1, fast), alike(1, slow)};
    suite_offline offline;
    (void)state;
    suite_queue queue = queue_of(groups, 2);
    assert_near(suite_queue_most(&queue), 4.0 / 3, 1e-12);
    assert_ok(suite_offline_of(&queue, 4000, &offline));
    assert_near(offline.steady, 4.0 / 3, 1e-12);
    assert_near(offline.rate, 4.0 / 3, 1e-3);
    queue.arrivals.weights = weights; /* of the second class nobody comes */
    queue.arrivals.class_count = 2;
    assert_near(suite_queue_most(&queue), 4.0 / 3, 1e-12);
    suite_queue_run run = run_at(&queue, 1.34);
    assert_int_equal(run.outcome, SUITE_QUEUE_UNSTABLE);
    assert_contains(run.why, "at most 1.333 can be served");
}

/* Of two groups the first is preferred; a class without a time in it goes to the other. */
static void classes_go_to_the_groups_that_serve_them(void **state)
{
    static const double fast[] = {1, NAN}, slow[] = {3, 5}, weights[] = {1, 1};
    const suite_queue_group groups[] = {alike(1, fast), alike(1, slow)};
    (void)state;
    suite_queue queue = queue_of(groups, 2);
    queue.arrivals.weights = weights;
    queue.arrivals.class_count = 2;
    suite_queue_run run = run_at(&queue, 0.001);
    assert_near(run.class_mean[0], 1, 0.02);
    assert_near(run.class_mean[1], 5, 0.02);
    const suite_queue_group lone[] = {alike(1, fast)};
    queue.groups = lone;
    queue.group_count = 1;
    const suite_queue_ask ask = {.rate = 1, .quantile = 0.95, .precision = 0.01};
    assert_fails(suite_queue_simulate(&queue, &ask, &run), DIT_ERR_USAGE, "no group serves class 1");
}

static void a_missing_replica_serves_nobody(void **state)
{
    suite_queue_group group = alike(3, one_second);
    (void)state;
    group.missing = 1;
    const suite_queue_group two = alike(2, one_second);
    suite_queue queue = queue_of(&group, 1), other = queue_of(&two, 1);
    suite_queue_run run = run_at(&queue, 1.5), same = run_at(&other, 1.5);
    assert_same_run(&run, &same);
    group.missing = 3;
    const suite_queue_ask ask = {.rate = 1, .quantile = 0.95, .precision = 0.01};
    assert_fails(suite_queue_simulate(&queue, &ask, &run), DIT_ERR_USAGE, "no group serves");
    group.missing = 4;
    assert_fails(suite_queue_simulate(&queue, &ask, &run), DIT_ERR_USAGE, "of which 4 are missing");
}

static void numbers_that_mean_nothing_are_refused(void **state)
{
    static const double falling[] = {2, 1}, none[] = {0, 1};
    suite_queue_group group = alike(1, falling);
    suite_queue_run run;
    suite_queue_ask ask = {.rate = 1, .quantile = 0.95, .precision = 0.01};
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    queue.batch_most = 2;
    assert_fails(suite_queue_simulate(&queue, &ask, &run), DIT_ERR_USAGE, "2 requests of class 0");
    group.seconds = none;
    assert_fails(suite_queue_simulate(&queue, &ask, &run), DIT_ERR_USAGE, "in 0 s");
    queue.batch_most = 0;
    assert_fails(suite_queue_simulate(&queue, &ask, &run), DIT_ERR_USAGE, "batches of at most 0");
    queue.batch_most = 1;
    group.seconds = one_second;
    ask.rate = 0;
    assert_fails(suite_queue_simulate(&queue, &ask, &run), DIT_ERR_USAGE, "rate of 0");
    ask = (suite_queue_ask){.rate = 1, .quantile = 1, .precision = 0.01};
    assert_fails(suite_queue_simulate(&queue, &ask, &run), DIT_ERR_USAGE, "quantile 1");
    ask = (suite_queue_ask){.rate = NAN, .quantile = 0.9, .precision = 0.01};
    assert_fails(suite_queue_simulate(&queue, &ask, &run), DIT_ERR_USAGE, "rate of");
}

static dit_status check_arrivals_of(const suite_queue_group *group, suite_arrivals arrivals)
{
    suite_queue queue = queue_of(group, 1);
    queue.arrivals = arrivals;
    return suite_queue_check(&queue);
}

static void shares_that_are_none_are_refused(void **state)
{
    static const double seconds[] = {1, 2}, zero[] = {0, 0}, vast[] = {1e308, 1e308}, below[] = {1, -1},
                        one_sided[] = {0, 1};
    const suite_queue_group group = alike(1, seconds);
    (void)state;
    suite_arrivals arrivals = {.weights = zero, .class_count = 2};
    assert_fails(check_arrivals_of(&group, arrivals), DIT_ERR_USAGE, "2 classes add up to 0");
    arrivals.weights = vast;
    assert_fails(check_arrivals_of(&group, arrivals), DIT_ERR_USAGE, "add up to inf");
    arrivals.weights = below;
    assert_fails(check_arrivals_of(&group, arrivals), DIT_ERR_USAGE, "class 1 has a weight of -1");
    arrivals.weights = one_sided;
    assert_ok(check_arrivals_of(&group, arrivals));
}

static void a_trace_of_other_classes_is_refused(void **state)
{
    static const double seconds[] = {1, 2};
    static double when[] = {0, 1};
    static int beyond[] = {0, 2}, below[] = {-1, 0}, both[] = {0, 1};
    const suite_queue_group group = alike(1, seconds);
    suite_trace trace = {when, beyond, 2};
    suite_arrivals arrivals = {.law = SUITE_ARRIVALS_TRACE, .trace = &trace, .class_count = 2};
    (void)state;
    assert_fails(check_arrivals_of(&group, arrivals), DIT_ERR_USAGE, "request 1 of the trace is of class 2");
    trace.classes = below;
    assert_fails(check_arrivals_of(&group, arrivals), DIT_ERR_USAGE, "request 0 of the trace is of class -1");
    trace.classes = both;
    assert_ok(check_arrivals_of(&group, arrivals));
    trace.count = 0;
    assert_fails(check_arrivals_of(&group, arrivals), DIT_ERR_USAGE, "without requests");
    arrivals.trace = NULL;
    assert_fails(check_arrivals_of(&group, arrivals), DIT_ERR_USAGE, "without requests");
}

/* ---- traces -------------------------------------------------------------------------------------------------------- */

static const char *const shapes[] = {"picture", "clip", NULL};

static dit_status parse_trace(const char *text, suite_trace *out)
{
    return suite_trace_parse(text, strlen(text), "t.csv", shapes, out);
}

static void a_trace_is_served_as_it_was_written(void **state)
{
    static const double seconds[] = {1, 2};
    const suite_queue_group group = alike(1, seconds);
    suite_trace trace;
    (void)state;
    assert_ok(parse_trace("second,class\n0,picture\n0.5,clip\n10,clip\n10,picture\n", &trace));
    assert_int_equal(trace.count, 4);
    assert_near(suite_trace_rate(&trace), 0.3, 1e-12);
    suite_queue queue = queue_of(&group, 1);
    queue.arrivals = (suite_arrivals){.law = SUITE_ARRIVALS_TRACE, .trace = &trace, .class_count = 2};
    const suite_queue_ask ask = {.quantile = 0.95, .precision = 0.01};
    suite_queue_run run = run_ask(&queue, &ask);
    assert_int_equal(run.requests, 4);
    assert_near(run.latency.value, (1 + 2.5 + 2 + 3) / 4, 1e-9);
    assert_near(run.no_wait, 0.5, 0);
    assert_near(run.class_mean[0], 2, 1e-9);
    assert_false(run.precise); /* four requests show nothing for sure */
    suite_trace_release(&trace);
}

static void a_trace_with_a_mistake_is_refused_with_its_line(void **state)
{
    static const char *const rows[][2] = {{"seconds,class\n0,clip\n", "t.csv:1"},
                                          {"second,class\n", "without requests"},
                                          {"second,class\n0,clip\nx,clip\n", "t.csv:3: this is no second"},
                                          {"second,class\n5,clip\n4,clip\n", "t.csv:3: requests are in order"},
                                          {"second,class\n0,clips\n", "t.csv:2: no class has this name"},
                                          {"second,class\n-1,clip\n", "t.csv:2: this is no second"},
                                          {"second,class\nnan,clip\n", "t.csv:2: this is no second"},
                                          {"second,class\n0\n", "t.csv:2: a line is a second and a class"},
                                          {"", "t.csv:1"}};
    suite_trace trace;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_fails(parse_trace(rows[i][0], &trace), DIT_ERR_USAGE, rows[i][1]);
        assert_null(trace.seconds);
    }
    assert_fails(suite_trace_read("/nonexistent/t.csv", shapes, &trace), DIT_ERR_IO, "t.csv");
}

/* ---- capacity ------------------------------------------------------------------------------------------------------ */

static suite_capacity capacity_at(const suite_queue *queue, double bound_s)
{
    const suite_queue_ask ask = {.quantile = 0.95, .precision = 0.01, .bound_s = bound_s, .requests = 400000};
    suite_capacity capacity;
    assert_ok(suite_queue_capacity(queue, &ask, &capacity));
    return capacity;
}

/* FLUX.1-dev, 50 steps, on 8 H100: seconds of an image as published (ML.ENERGY), and the rates an hour at which 95 % of
 * requests are done within the bound. */
static const struct {
    int replicas;
    double seconds, bound_s, an_hour; /* an_hour 0: the service alone takes longer */
} worked[] = {{8, 11.639, 6, 0},     {4, 8.026, 6, 0},     {2, 4.647, 6, 371},   {1, 5.133, 6, 42},
              {8, 11.639, 10, 0},    {4, 8.026, 10, 779},  {2, 4.647, 10, 870},  {1, 5.133, 10, 177},
              {8, 11.639, 12, 1248}, {4, 8.026, 12, 991},  {2, 4.647, 12, 997},  {1, 5.133, 12, 252},
              {8, 11.639, 20, 1969}, {4, 8.026, 20, 1416}, {2, 4.647, 20, 1236}, {1, 5.133, 20, 423}};

/* The load at which the p95 of M/D/c is within the bound, by the closed form. */
static double exact_rate(int replicas, double seconds, double bound_s)
{
    static mdc reference;
    double low = 0, high = 1;
    for (int i = 0; i < 11; i++) {
        double load = (low + high) / 2;
        mdc_solve(replicas, load, &reference);
        *(1 + mdc_quantile(&reference, 0.95) <= bound_s / seconds ? &low : &high) = load;
    }
    return 3600 * low * replicas / seconds;
}

/* The bound chooses the split, and one mesh over everything is never the best: of each four, which is. */
static void check_choices(const double *an_hour)
{
    static const int best[] = {2, 2, 0, 0};
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < 4; i++) assert_true(i == best[t] || an_hour[4 * t + best[t]] > an_hour[4 * t + i]);
}

static void the_worked_example_comes_out(void **state)
{
    double worst = 0, worst_exact = 0, found[sizeof worked / sizeof *worked] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof worked / sizeof *worked; i++) {
        const suite_queue_group group = alike(worked[i].replicas, &worked[i].seconds);
        suite_queue queue = queue_of(&group, 1);
        suite_capacity capacity = capacity_at(&queue, worked[i].bound_s);
        assert_int_equal(capacity.outcome, worked[i].an_hour > 0 ? SUITE_CAPACITY_FOUND : SUITE_CAPACITY_NONE);
        if (worked[i].an_hour <= 0) continue;
        double an_hour = found[i] = 3600 * capacity.rate;
        double exact = exact_rate(worked[i].replicas, worked[i].seconds, worked[i].bound_s);
        print_message(
            "# %d x %.3f s within %2.0f s: %4.0f an hour, closed form %4.0f, worked example %4.0f (%d runs)\n",
            worked[i].replicas, worked[i].seconds, worked[i].bound_s, an_hour, exact, worked[i].an_hour, capacity.runs);
        worst = fmax(worst, fabs(an_hour / worked[i].an_hour - 1));
        worst_exact = fmax(worst_exact, fabs(an_hour / exact - 1));
        assert_true(capacity.too_much <= capacity.rate * 1.0051);
        assert_true(an_hour < 3600 * suite_queue_most(&queue)); /* dividing by the service time overstates */
    }
    check_choices(found);
    print_message("# at most %.1f %% from the worked example, %.1f %% from the closed form\n", 100 * worst,
                  100 * worst_exact);
    assert_true(worst < 0.03);
    assert_true(worst_exact < 0.02);
}

/* With batches that wait, a low rate is late and a higher one is not: the highest is looked for. */
static void a_latency_that_falls_before_it_rises_has_a_capacity(void **state)
{
    static const double flat[] = {1, 1, 1, 1};
    const suite_queue_group group = alike(1, flat);
    suite_queue_run run;
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    queue.batch_most = 4;
    queue.batch_wait_s = 3;
    suite_capacity capacity = capacity_at(&queue, 3.5);
    assert_int_equal(capacity.outcome, SUITE_CAPACITY_FOUND);
    assert_true(capacity.rate > 2 && capacity.rate < 4);
    run = run_at(&queue, 0.1);
    assert_true(run.p95 > 3.5);
    capacity = capacity_at(&queue, 0.9);
    assert_int_equal(capacity.outcome, SUITE_CAPACITY_NONE);
    assert_near(capacity.rate, 0, 0);
    const suite_queue_ask ask = {.quantile = 0.95, .precision = 0.01};
    assert_fails(suite_queue_capacity(&queue, &ask, &capacity), DIT_ERR_USAGE, "bound above 0");
}

/* Requests in bursts: what some hundred thousand of them show is not what more than a million show. */
static void a_rate_that_is_found_keeps_the_bound_where_it_is_sure(void **state)
{
    const suite_queue_group group = alike(2, one_second);
    const suite_queue_ask asks[] = {{.quantile = 0.95, .precision = 0.01, .bound_s = 3, .requests = 1600000},
                                    {.quantile = 0.95, .precision = 0.01, .bound_s = 9, .requests = 1600000}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        suite_capacity capacity;
        suite_queue queue = queue_of(&group, 1);
        queue.arrivals = (suite_arrivals){.law = SUITE_ARRIVALS_GAMMA, .variation = 2, .seed = 4};
        assert_ok(suite_queue_capacity(&queue, &asks[i], &capacity));
        assert_int_equal(capacity.outcome, SUITE_CAPACITY_FOUND);
        assert_int_equal(capacity.run.outcome, SUITE_QUEUE_STABLE);
        assert_true(capacity.run.wanted.value <= asks[i].bound_s);
        assert_true(capacity.too_much > capacity.rate && capacity.too_much < 1.0051 * capacity.rate);
    }
}

/* ---- all at once --------------------------------------------------------------------------------------------------- */

static void all_requests_at_once_have_a_tail(void **state)
{
    static const double seconds[] = {2, 3, 4, 5};
    const suite_queue_group group = alike(8, seconds);
    suite_offline offline;
    (void)state;
    suite_queue queue = queue_of(&group, 1);
    assert_ok(suite_offline_of(&queue, 1000, &offline)); /* 125 rounds of eight */
    assert_near(offline.seconds, 250, 1e-9);
    assert_near(offline.idle_share, 0, 1e-12);
    assert_near(offline.rate, offline.steady, 1e-12);
    assert_ok(suite_offline_of(&queue, 1001, &offline)); /* and one alone */
    assert_near(offline.seconds, 252, 1e-9);
    assert_near(offline.idle_share, 1 - 2002.0 / (252 * 8), 1e-12);
    queue.batch_most = 4;
    assert_ok(suite_offline_of(&queue, 0, &offline)); /* 250 batches: 31 rounds, and two */
    assert_near(offline.seconds, 32 * 5, 1e-9);
    assert_near(offline.steady, 8 * 4 / 5.0, 1e-12);
    assert_fails(suite_offline_of(&queue, -1, &offline), DIT_ERR_USAGE, "-1 requests");
}

static void classes_at_once_have_their_shares_and_their_groups(void **state)
{
    static const double first[] = {1, NAN}, second[] = {2, 4}, weights[] = {2, 1};
    const suite_queue_group groups[] = {alike(1, first), alike(1, second)};
    suite_offline offline;
    (void)state;
    suite_queue queue = queue_of(groups, 2);
    queue.arrivals.weights = weights;
    queue.arrivals.class_count = 2;
    assert_ok(suite_offline_of(&queue, 9, &offline)); /* three clips, 12 s, beside six pictures, 6 s */
    assert_near(offline.seconds, 12, 1e-9);
    assert_near(offline.idle_share, 1 - 18.0 / 24, 1e-12);
}

/* Published seconds of FLUX on 8 H100: a batch gives one device little and a mesh of eight much, which stays below
 * eight single devices. */
static void batches_help_a_mesh_and_not_a_device(void **state)
{
    static const double mesh_batch = 1.92;
    const double alone = 11.639, mesh = 5.133, batched = alone / 1.06;
    const suite_queue_group eight = alike(8, &batched), one = alike(1, &mesh), full = alike(1, &mesh_batch);
    suite_offline singles, plain, filled;
    (void)state;
    suite_queue queue = queue_of(&eight, 1);
    assert_ok(suite_offline_of(&queue, 0, &singles));
    queue = queue_of(&one, 1);
    assert_ok(suite_offline_of(&queue, 0, &plain));
    queue = queue_of(&full, 1);
    assert_ok(suite_offline_of(&queue, 0, &filled));
    assert_near(singles.rate, 0.73, 0.005);
    assert_near(filled.rate, 0.52, 0.005);
    assert_near(filled.rate / plain.rate, 2.7, 0.05);
    assert_true(filled.rate < singles.rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(m_d_1_waits_as_pollaczek_and_khinchine_say),
        cmocka_unit_test(m_g_1_of_two_classes_waits_by_the_second_moment),
        cmocka_unit_test(shortest_first_waits_as_cobham_says),
        cmocka_unit_test(earliest_deadline_lies_between_first_come_and_priority),
        cmocka_unit_test(m_m_c_waits_as_erlang_says),
        cmocka_unit_test(d_d_c_never_waits),
        cmocka_unit_test(gi_g_1_waits_less_than_kingmans_bound),
        cmocka_unit_test(m_d_c_waits_as_franx_says),
        cmocka_unit_test(an_overload_is_an_outcome_and_not_a_long_wait),
        cmocka_unit_test(a_run_is_the_same_again_and_longer_ones_begin_with_it),
        cmocka_unit_test(gaps_have_the_mean_and_the_variation_of_their_law),
        cmocka_unit_test(batches_serve_more_and_wait_for_each_other),
        cmocka_unit_test(unlike_groups_do_what_each_of_them_does),
        cmocka_unit_test(classes_go_to_the_groups_that_serve_them),
        cmocka_unit_test(a_missing_replica_serves_nobody),
        cmocka_unit_test(numbers_that_mean_nothing_are_refused),
        cmocka_unit_test(shares_that_are_none_are_refused),
        cmocka_unit_test(a_trace_of_other_classes_is_refused),
        cmocka_unit_test(a_trace_is_served_as_it_was_written),
        cmocka_unit_test(a_trace_with_a_mistake_is_refused_with_its_line),
        cmocka_unit_test(the_worked_example_comes_out),
        cmocka_unit_test(a_latency_that_falls_before_it_rises_has_a_capacity),
        cmocka_unit_test(a_rate_that_is_found_keeps_the_bound_where_it_is_sure),
        cmocka_unit_test(all_requests_at_once_have_a_tail),
        cmocka_unit_test(classes_at_once_have_their_shares_and_their_groups),
        cmocka_unit_test(batches_help_a_mesh_and_not_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
