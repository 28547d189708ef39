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

typedef struct {
    const suite_fit *fit;
    int n, m;
    double at[SUITE_FIT_VALUES]; /* logarithms of the values                          */
    double *errors, *tried;      /* [m] there, and at a step                          */
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

/* normal * step = right, of the weighted linear problem. */
static void build_normal(fit_state *s)
{
    const suite_fit *fit = s->fit;
    memset(s->normal, 0, sizeof s->normal);
    memset(s->right, 0, sizeof s->right);
    for (int i = 0; i < s->m; i++) {
        double size = fabs(s->errors[i]);
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

/* Values that would leave their bounds go to them and stay; the others are solved for again. */
static void bounded_step(const fit_state *s, double *step)
{
    bool fixed[SUITE_FIT_VALUES] = {false}, again = true;
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
        if (fresh) DIT_TRY(differentiate(s));
        build_normal(s);
        bounded_step(s, step);
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

dit_status suite_fit_run(const suite_fit *fit, double *values, double *objective)
{
    size_t n = (size_t)fit->value_count, m = (size_t)fit->observation_count;
    DIT_TRY(check(fit));
    fit_state s = {.fit = fit, .n = fit->value_count, .m = fit->observation_count};
    double *block = calloc((n + 2) * m + 1, sizeof *block);
    if (!block) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %zu observations", m);
    s.errors = block;
    s.tried = block + m;
    s.slopes = block + 2 * m;
    for (int j = 0; j < s.n; j++) s.at[j] = log(fit->values[j].start > 0 ? fit->values[j].start : fit->values[j].prior);
    dit_status st = iterate(&s);
    for (int j = 0; j < s.n && st == DIT_OK; j++) values[j] = exp(s.at[j]);
    if (objective) *objective = s.objective;
    free(block);
    return st;
}

double suite_fit_round(double value, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return strtod(text, NULL);
}
