/* Fits: what made the observations is found again, and nonsense is refused. */
#include "suite/calibrate/fit.h"

#include "base/tests/test.h"

/* Predicted: a0 + value0 * x, over value1; observed: the same at the true values, one of them spoilt. */
typedef struct {
    double observed[12];
    int calls, last;
    double base[2];
} line;

static double predicted(const double *values, int i)
{
    return (1 + values[0] * (i + 1)) / values[1];
}

static dit_status look(void *context, const double *values, int changed, double *errors)
{
    line *own = context;
    own->calls++;
    for (int j = 0; j < 2; j++) {
        bool same = fabs(values[j] / own->base[j] - 1) < 1e-12;
        if (changed >= 0 && j != changed) assert_true(same); /* as promised: from the last call with -1 */
        if (changed < 0) own->base[j] = values[j];
    }
    for (int i = 0; i < 12; i++) errors[i] = log(predicted(values, i) / own->observed[i]);
    return DIT_OK;
}

static suite_fit fit_of(const suite_fit_value *values, const double *weights, line *own, double huber)
{
    const double truth[] = {3, 0.5};
    for (int i = 0; i < 12; i++) own->observed[i] = predicted(truth, i);
    own->calls = 0;
    return (suite_fit){.values = values,
                       .value_count = 2,
                       .weights = weights,
                       .observation_count = 12,
                       .huber = huber,
                       .rounds = 50,
                       .context = own,
                       .evaluate = look};
}

#define VALUE(first, low, high, spread)                                                                                \
    {                                                                                                                  \
        .prior = first, .least = low, .most = high, .deviation = spread                                                \
    }

static const double equal[] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100};

static void a_fit_finds_what_made_the_observations(void **state)
{
    const suite_fit_value values[] = {VALUE(1, 0.01, 100, 10), VALUE(1, 0.01, 100, 10)};
    double found[2], again[2], objective;
    line own;
    (void)state;
    suite_fit fit = fit_of(values, equal, &own, 0.2);
    assert_int_equal(suite_fit_run(&fit, found, &objective), DIT_OK);
    assert_float_equal(found[0], 3, 0.02);
    assert_float_equal(found[1], 0.5, 0.005);
    assert_int_equal(suite_fit_run(&fit, again, NULL), DIT_OK);
    assert_memory_equal(found, again, sizeof found);
}

static void one_wrong_observation_pulls_little(void **state)
{
    const suite_fit_value values[] = {VALUE(1, 0.01, 100, 10), VALUE(1, 0.01, 100, 10)};
    double robust[2], plain[2];
    line own;
    (void)state;
    suite_fit fit = fit_of(values, equal, &own, 0.02);
    own.observed[11] *= 20;
    assert_int_equal(suite_fit_run(&fit, robust, NULL), DIT_OK);
    fit.huber = 1e6;
    assert_int_equal(suite_fit_run(&fit, plain, NULL), DIT_OK);
    assert_true(fabs(log(robust[1] / 0.5)) < 0.05);
    assert_true(fabs(log(plain[1] / 0.5)) > 0.2);
}

static void a_value_stays_within_its_bounds(void **state)
{
    const suite_fit_value values[] = {VALUE(1, 0.5, 2, 10), VALUE(1, 0.01, 100, 10)};
    double found[2];
    line own;
    (void)state;
    suite_fit fit = fit_of(values, equal, &own, 10);
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_OK);
    assert_float_equal(found[0], 2, 1e-9);
    assert_true(found[1] > 0.3 && found[1] < 0.5); /* the other makes the best of it */
}

static void a_prior_that_is_believed_is_kept(void **state)
{
    const double none[12] = {0};
    const suite_fit_value firm[] = {VALUE(1, 0.01, 100, 1e-3), VALUE(1, 0.01, 100, 1e-3)},
                          loose[] = {VALUE(7, 0.01, 100, 10), VALUE(0.1, 0.01, 100, 10)};
    double found[2];
    line own;
    (void)state;
    suite_fit fit = fit_of(firm, equal, &own, 0.2);
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_OK);
    assert_true(fabs(found[0] - 1) < 0.02 && fabs(found[1] - 1) < 0.02);
    fit = fit_of(loose, none, &own, 0.2);
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_OK);
    assert_float_equal(found[0], 7, 1e-9);
    assert_float_equal(found[1], 0.1, 1e-9);
}

/* A link that is not the slowest: nothing changes until it has become so. */
static dit_status look_at_slowest(void *context, const double *values, int changed, double *errors)
{
    (void)context, (void)changed;
    errors[0] = log(fmin(values[0], 0.2) / 0.05);
    return DIT_OK;
}

static void a_search_may_start_where_something_changes(void **state)
{
    suite_fit_value value = VALUE(1, 0.01, 1, 10);
    const suite_fit fit = {.values = &value,
                           .value_count = 1,
                           .weights = equal,
                           .observation_count = 1,
                           .huber = 10,
                           .rounds = 20,
                           .evaluate = look_at_slowest};
    double found;
    (void)state;
    assert_int_equal(suite_fit_run(&fit, &found, NULL), DIT_OK);
    assert_float_equal(found, 1, 0.01);
    value.start = 0.15;
    assert_int_equal(suite_fit_run(&fit, &found, NULL), DIT_OK);
    assert_float_equal(found, 0.05, 0.001);
    value.start = 2;
    assert_int_equal(suite_fit_run(&fit, &found, NULL), DIT_ERR_INTERNAL);
}

/* One value, ten equal observations of weight 100: chi squared is 1000 ln(value / 3)^2, and 2.706 at exp(0.05202). A
 * second value that does as much leaves each alone without a say. */
static dit_status look_at_product(void *context, const double *values, int changed, double *errors)
{
    (void)changed;
    const int *factors = context;
    for (int i = 0; i < 10; i++) errors[i] = log(values[0] * (*factors > 1 ? values[1] : 1) / 3);
    return DIT_OK;
}

static void an_interval_is_where_the_likelihood_falls(void **state)
{
    const suite_fit_value values[] = {VALUE(1, 0.01, 100, 1e3), VALUE(1, 0.5, 8, 1e3)};
    suite_fit_value tight = VALUE(3, 2.9, 100, 1e3);
    int factors = 1;
    double found[2];
    suite_fit_interval interval[2];
    suite_fit fit = {.values = values,
                     .value_count = 1,
                     .weights = equal,
                     .observation_count = 10,
                     .huber = 10,
                     .rounds = 20,
                     .context = &factors,
                     .evaluate = look_at_product};
    (void)state;
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_OK);
    assert_int_equal(suite_fit_intervals(&fit, found, interval), DIT_OK);
    assert_float_equal(interval[0].low, 3 * exp(-0.05202), 1e-3);
    assert_float_equal(interval[0].high, 3 * exp(0.05202), 1e-3);
    fit.values = &tight; /* a bound ends it */
    found[0] = 3;
    assert_int_equal(suite_fit_intervals(&fit, found, interval), DIT_OK);
    assert_float_equal(interval[0].low, 2.9, 1e-9);
    assert_float_equal(interval[0].high, 3 * exp(0.05202), 1e-3);
    fit.values = values;
    fit.value_count = factors = 2; /* the first may be all that the second's bounds can mend */
    found[0] = found[1] = sqrt(3);
    assert_int_equal(suite_fit_intervals(&fit, found, interval), DIT_OK);
    assert_float_equal(interval[0].low, 3 / 8.0 * exp(-0.05202), 2e-3);
    assert_float_equal(interval[0].high, 3 / 0.5 * exp(0.05202), 2e-2);
    assert_float_equal(interval[1].low, 0.5, 1e-9);
    assert_float_equal(interval[1].high, 8, 1e-9);
}

/* Nothing changes up to 2, everything beyond: at 1 derivatives see nothing. Chi squared is 1000 ln(value / 2)^2 there. */
static dit_status look_at_hidden(void *context, const double *values, int changed, double *errors)
{
    (void)context, (void)changed;
    for (int i = 0; i < 10; i++) errors[i] = log(fmax(values[0], 2) / 2);
    return DIT_OK;
}

static void an_interval_sees_what_derivatives_do_not(void **state)
{
    const suite_fit_value value = VALUE(1, 0.25, 32, 1e3);
    const double found = 1;
    suite_fit_interval interval;
    const suite_fit fit = {.values = &value,
                           .value_count = 1,
                           .weights = equal,
                           .observation_count = 10,
                           .huber = 10,
                           .rounds = 20,
                           .evaluate = look_at_hidden};
    (void)state;
    assert_int_equal(suite_fit_intervals(&fit, &found, &interval), DIT_OK);
    assert_float_equal(interval.low, 0.25, 1e-9);
    /* the line from 1 to 32, where the error is ln(16): ln(high) = ln(32) 0.05202 / ln(16) */
    assert_float_equal(interval.high, exp(log(32) * 0.05202 / log(16)), 1e-3);
}

static dit_status give_up(void *context, const double *values, int changed, double *errors)
{
    (void)context, (void)values, (void)changed;
    for (int i = 0; i < 12; i++) errors[i] = NAN;
    return DIT_OK;
}

static void nonsense_is_refused(void **state)
{
    suite_fit_value values[] = {VALUE(1, 2, 3, 10), VALUE(1, 0.01, 100, 10)};
    double found[2];
    line own;
    (void)state;
    suite_fit fit = fit_of(values, equal, &own, 0.2);
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_ERR_INTERNAL);
    values[0].least = 0.5;
    fit.evaluate = give_up;
    assert_int_equal(suite_fit_run(&fit, found, NULL), DIT_ERR_NONFINITE);
}

static void numbers_are_rounded_as_printed(void **state)
{
    (void)state;
    assert_true(suite_fit_round(0.123456, 4) == 0.1235);
    assert_true(suite_fit_round(2.00049e-05, 4) == 2e-05);
    assert_true(suite_fit_round(98765.4, 3) == 98800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_finds_what_made_the_observations),
        cmocka_unit_test(one_wrong_observation_pulls_little),
        cmocka_unit_test(a_value_stays_within_its_bounds),
        cmocka_unit_test(a_prior_that_is_believed_is_kept),
        cmocka_unit_test(a_search_may_start_where_something_changes),
        cmocka_unit_test(an_interval_is_where_the_likelihood_falls),
        cmocka_unit_test(an_interval_sees_what_derivatives_do_not),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(numbers_are_rounded_as_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
