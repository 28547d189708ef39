#include "suite/calibrate/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALVINGS = 5 };
static const double difference = 0.02; /* of a logarithm, for derivatives                        */
static const double small_step = 0.02; /* below it derivatives are kept                          */
static const double no_step = 1e-3;    /* of a logarithm, below it the fit is over: 0.1 %        */
static const double no_gain = 1e-4;    /* as a share of what is least: below it, too             */
enum { REWEIGHTINGS = 40, BISECTIONS = 40 };
static const double interval_rise = 2.706; /* of the objective: 90 % of chi squared with one degree of freedom */

typedef struct {
    const suite_fit *fit;
    int n, m;
    double at[SUITE_FIT_VALUES]; /* logarithms of the values                          */
    double *errors, *tried;      /* [m] there, and at a step                          */
    double *far, *moved;         /* [m] of intervals: at an end, and on the way to it */
    double *slopes;              /* [n][m] d error / d ln(value)                      */
    double objective;            /* there                                             */
    double normal[SUITE_FIT_VALUES][SUITE_FIT_VALUES], right[SUITE_FIT_VALUES];
} fit_state;

/* ---- what is least ----------------------------------------------------------------------------------------------- */

static double huber(double error, double threshold)
{
    double size = fabs(error);
    return size <= threshold ? error * error : 2 * threshold * size - threshold * threshold;
}

static double prior_distance(const suite_fit *fit, int value, double at)
{
    return (at - log(fit->values[value].prior)) / fit->values[value].deviation;
}

static double objective_of(const fit_state *s, const double *at, const double *errors)
{
    double sum = 0;
    for (int i = 0; i < s->m; i++) sum += s->fit->weights[i] * huber(errors[i], s->fit->huber);
    for (int j = 0; j < s->n; j++) {
        double distance = prior_distance(s->fit, j, at[j]);
        sum += distance * distance;
    }
    return sum;
}

static dit_status evaluate(const fit_state *s, const double *at, int changed, double *errors)
{
    double values[SUITE_FIT_VALUES];
    for (int j = 0; j < s->n; j++) values[j] = exp(at[j]);
    DIT_TRY(s->fit->evaluate(s->fit->context, values, changed, errors));
    for (int i = 0; i < s->m; i++)
        if (!isfinite(errors[i]))
            return DIT_FAIL(DIT_ERR_NONFINITE, "the prediction of observation %d is not a number", i);
    return DIT_OK;
}

/* Towards the inside where the difference would leave the bounds. */
static dit_status differentiate(fit_state *s)
{
    for (int j = 0; j < s->n; j++) {
        double at[SUITE_FIT_VALUES], *slope = s->slopes + (size_t)j * (size_t)s->m;
        memcpy(at, s->at, sizeof at);
        double step = at[j] + difference <= log(s->fit->values[j].most) ? difference : -difference;
        at[j] += step;
        DIT_TRY(evaluate(s, at, j, slope));
        for (int i = 0; i < s->m; i++) slope[i] = (slope[i] - s->errors[i]) / step;
    }
    return DIT_OK;
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* normal * step = right, of the weighted linear problem. The sizes of `errors` weigh the observations. */
static void build_normal(fit_state *s, const double *errors)
{
    const suite_fit *fit = s->fit;
    memset(s->normal, 0, sizeof s->normal);
    memset(s->right, 0, sizeof s->right);
    for (int i = 0; i < s->m; i++) {
        double size = fabs(errors[i]);
        double weight = fit->weights[i] * (size > fit->huber ? fit->huber / size : 1);
        for (int j = 0; j < s->n; j++) {
            double slope = s->slopes[(size_t)j * (size_t)s->m + (size_t)i];
            s->right[j] -= weight * slope * s->errors[i];
            for (int k = 0; k < s->n; k++)
                s->normal[j][k] += weight * slope * s->slopes[(size_t)k * (size_t)s->m + (size_t)i];
        }
    }
    for (int j = 0; j < s->n; j++) {
        double deviation = fit->values[j].deviation;
        s->normal[j][j] += 1 / (deviation * deviation);
        s->right[j] -= prior_distance(fit, j, s->at[j]) / deviation;
    }
}

/* Cholesky, of the values that are free; the matrix is positive definite by the priors. */
static void solve(const fit_state *s, const bool *fixed, double *step)
{
    double lower[SUITE_FIT_VALUES][SUITE_FIT_VALUES] = {{0}}, right[SUITE_FIT_VALUES];
    int free_at[SUITE_FIT_VALUES], count = 0;
    for (int j = 0; j < s->n; j++)
        if (!fixed[j]) free_at[count++] = j;
    for (int a = 0; a < count; a++) {
        right[a] = s->right[free_at[a]];
        for (int k = 0; k < s->n; k++)
            if (fixed[k]) right[a] -= s->normal[free_at[a]][k] * step[k];
        for (int b = 0; b <= a; b++) {
            double sum = s->normal[free_at[a]][free_at[b]];
            for (int k = 0; k < b; k++) sum -= lower[a][k] * lower[b][k];
            lower[a][b] = a == b ? sqrt(sum) : sum / lower[b][b];
        }
        for (int b = 0; b < a; b++) right[a] -= lower[a][b] * right[b];
        right[a] /= lower[a][a];
    }
    for (int a = count - 1; a >= 0; a--) {
        for (int b = a + 1; b < count; b++) right[a] -= lower[b][a] * right[b];
        right[a] /= lower[a][a];
        step[free_at[a]] = right[a];
    }
}

/* Values that would leave their bounds go to them and stay; the others are solved for again. fixed[n], of values whose
 * step is given, is changed. */
static void bounded_step(const fit_state *s, bool *fixed, double *step)
{
    bool again = true;
    while (again) {
        again = false;
        solve(s, fixed, step);
        for (int j = 0; j < s->n; j++) {
            double least = log(s->fit->values[j].least) - s->at[j], most = log(s->fit->values[j].most) - s->at[j];
            if (fixed[j] || (step[j] >= least && step[j] <= most)) continue;
            step[j] = step[j] < least ? least : most;
            fixed[j] = again = true;
        }
    }
}

/* The whole step, or a half, a quarter, ... of it: the first that brings something. *length: how far it went. */
static dit_status take_step(fit_state *s, const double *step, double *length)
{
    double share = 1;
    int halving = 0;
    *length = 0;
    for (; halving <= HALVINGS; halving++, share /= 2) {
        double at[SUITE_FIT_VALUES] = {0}, far = 0;
        for (int j = 0; j < s->n; j++) {
            at[j] = s->at[j] + share * step[j];
            far = fmax(far, fabs(share * step[j]));
        }
        if (far < no_step) break;
        DIT_TRY(evaluate(s, at, -1, s->tried));
        double objective = objective_of(s, at, s->tried);
        if (objective >= s->objective) continue;
        memcpy(s->at, at, sizeof s->at);
        memcpy(s->errors, s->tried, (size_t)s->m * sizeof *s->errors);
        s->objective = objective;
        *length = far;
        return DIT_OK;
    }
    return halving ? evaluate(s, s->at, -1, s->errors) : DIT_OK; /* the last call is to be of where the fit stands */
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void tell(const fit_state *s, int round)
{
    double values[SUITE_FIT_VALUES];
    for (int j = 0; j < s->n; j++) values[j] = exp(s->at[j]);
    if (s->fit->tell) s->fit->tell(s->fit->context, round, s->objective, values);
}

static dit_status iterate(fit_state *s)
{
    double step[SUITE_FIT_VALUES], length = 1;
    DIT_TRY(evaluate(s, s->at, -1, s->errors));
    s->objective = objective_of(s, s->at, s->errors);
    tell(s, 0);
    for (int round = 1; round <= s->fit->rounds; round++) {
        double before = s->objective;
        bool fresh = length > small_step;
        bool fixed[SUITE_FIT_VALUES] = {false};
        if (fresh) DIT_TRY(differentiate(s));
        build_normal(s, s->errors);
        bounded_step(s, fixed, step);
        DIT_TRY(take_step(s, step, &length));
        tell(s, round);
        bool over = length <= no_step || before - s->objective <= no_gain * before;
        if (over && fresh) return DIT_OK;
        if (over) length = 1; /* old derivatives no longer help: once more with new ones */
    }
    return DIT_OK;
}

static dit_status check(const suite_fit *fit)
{
    if (fit->value_count < 1 || fit->value_count > SUITE_FIT_VALUES || !(fit->huber > 0))
        return DIT_FAIL(DIT_ERR_INTERNAL, "a fit of %d values, threshold %g", fit->value_count, fit->huber);
    for (int j = 0; j < fit->value_count; j++) {
        const suite_fit_value *value = &fit->values[j];
        if (!(value->least > 0 && value->least <= value->prior && value->prior <= value->most && value->deviation > 0 &&
              (value->start == 0 || (value->start >= value->least && value->start <= value->most))))
            return DIT_FAIL(DIT_ERR_INTERNAL, "value %d: prior %g in [%g, %g], deviation %g", j, value->prior,
                            value->least, value->most, value->deviation);
    }
    return DIT_OK;
}

/* *block holds the arrays of *s, to be freed. */
static dit_status open_state(const suite_fit *fit, fit_state *s, double **block)
{
    size_t n = (size_t)fit->value_count, m = (size_t)fit->observation_count;
    DIT_TRY(check(fit));
    *s = (fit_state){.fit = fit, .n = fit->value_count, .m = fit->observation_count};
    *block = calloc((n + 4) * m + 1, sizeof **block);
    if (!*block) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %zu observations", m);
    s->errors = *block;
    s->tried = *block + m;
    s->far = *block + 2 * m;
    s->moved = *block + 3 * m;
    s->slopes = *block + 4 * m;
    return DIT_OK;
}

dit_status suite_fit_run(const suite_fit *fit, double *values, double *objective)
{
    fit_state s;
    double *block;
    DIT_TRY(open_state(fit, &s, &block));
    for (int j = 0; j < s.n; j++) s.at[j] = log(fit->values[j].start > 0 ? fit->values[j].start : fit->values[j].prior);
    dit_status st = iterate(&s);
    for (int j = 0; j < s.n && st == DIT_OK; j++) values[j] = exp(s.at[j]);
    if (objective) *objective = s.objective;
    free(block);
    return st;
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

/* What is least where the state stands, on straight lines, when all values but one make the best of it. */
static double least_beside(fit_state *s, int value)
{
    double step[SUITE_FIT_VALUES] = {0}, at[SUITE_FIT_VALUES] = {0}, least = INFINITY;
    memcpy(s->tried, s->errors, (size_t)s->m * sizeof *s->tried);
    for (int round = 0; round < REWEIGHTINGS; round++) {
        bool fixed[SUITE_FIT_VALUES] = {false};
        fixed[value] = true;
        build_normal(s, s->tried);
        bounded_step(s, fixed, step);
        for (int i = 0; i < s->m; i++) {
            s->tried[i] = s->errors[i];
            for (int j = 0; j < s->n; j++) s->tried[i] += s->slopes[(size_t)j * (size_t)s->m + (size_t)i] * step[j];
        }
        for (int j = 0; j < s->n; j++) at[j] = s->at[j] + step[j];
        double objective = objective_of(s, at, s->tried);
        if (objective >= least * (1 - 1e-12)) break;
        least = objective;
    }
    return least;
}

/* The same when the value goes so far along: errors there lie on the line to `far`, those at `end`. */
static double profile(fit_state *s, int value, double along, double end, const double *far)
{
    fit_state moved = *s;
    moved.errors = s->moved;
    moved.at[value] += along;
    for (int i = 0; i < s->m; i++) moved.errors[i] = s->errors[i] + along / end * (far[i] - s->errors[i]);
    return least_beside(&moved, value);
}

/* How far the value may go towards `end`, in its logarithm. */
static double reach(fit_state *s, int value, double end, const double *far)
{
    if (end == 0) return 0;
    double most = profile(s, value, 0, end, far) + interval_rise, inside = 0, outside = end;
    if (profile(s, value, end, end, far) <= most) return end;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (inside + outside) / 2;
        *(profile(s, value, middle, end, far) <= most ? &inside : &outside) = middle;
    }
    return inside;
}

/* The same with what is predicted at the end that the derivatives give: where another part of the machine takes over, these
 * say too little. */
static dit_status reach_twice(fit_state *s, int value, double bound, double *out)
{
    double at[SUITE_FIT_VALUES];
    const double *slope = s->slopes + (size_t)value * (size_t)s->m;
    memcpy(at, s->at, sizeof at);
    for (int i = 0; i < s->m; i++) s->far[i] = s->errors[i] + bound * slope[i];
    *out = reach(s, value, bound, s->far);
    if (*out == 0) return DIT_OK;
    at[value] += *out;
    DIT_TRY(evaluate(s, at, value, s->far));
    *out = reach(s, value, *out, s->far);
    return DIT_OK;
}

dit_status suite_fit_intervals(const suite_fit *fit, const double *values, suite_fit_interval *out)
{
    fit_state s;
    double *block;
    DIT_TRY(open_state(fit, &s, &block));
    for (int j = 0; j < s.n; j++) s.at[j] = log(values[j]);
    dit_status st = evaluate(&s, s.at, -1, s.errors);
    if (st == DIT_OK) st = differentiate(&s);
    for (int j = 0; j < s.n && st == DIT_OK; j++) {
        double low = 0, high = 0;
        st = reach_twice(&s, j, log(fit->values[j].least) - s.at[j], &low);
        if (st == DIT_OK) st = reach_twice(&s, j, log(fit->values[j].most) - s.at[j], &high);
        out[j] = (suite_fit_interval){values[j] * exp(low), values[j] * exp(high)};
    }
    free(block);
    return st;
}

double suite_fit_round(double value, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return strtod(text, NULL);
}
