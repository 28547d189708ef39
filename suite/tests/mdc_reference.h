/* M/D/c in closed form, for tests: Poisson arrivals, equal service times, c servers, first come first served.
 *
 * The number of requests N(t + D) is (N(t) - c)+ and what a Poisson stream brings in D, so its stationary distribution
 * is the fixed point of that step. Quantiles of the wait are Franx's sum (Operations Research Letters 29, 2001).
 */
#ifndef DIT_SUITE_TESTS_MDC_REFERENCE_H
#define DIT_SUITE_TESTS_MDC_REFERENCE_H

#include "base/tests/test.h"

enum { MDC_STATES = 1200, MDC_ROUNDS = 20000, MDC_MOST = 100 }; /* MDC_MOST: arrivals in a service time */

typedef struct {
    int c;
    double rate;              /* arrivals in a service time             */
    double p[MDC_STATES];     /* P(N = n)                               */
    double up_to[MDC_STATES]; /* P(at most n wait in line) = P(N <= c + n) */
    double wait, no_wait;     /* mean wait in service times, P(no wait) */
} mdc;

static inline double mdc_step(const double *arrive, int c, const double *p, double *next)
{
    double moved = 0;
    for (int n = 0; n < MDC_STATES; n++) {
        double sum = 0, empty = 0;
        for (int i = 0; i <= c; i++) empty += p[i];
        sum += empty * arrive[n];
        for (int i = n - MDC_MOST + c > c ? n - MDC_MOST + c : c + 1; i <= c + n && i < MDC_STATES; i++)
            sum += p[i] * arrive[n - (i - c)];
        next[n] = sum;
        moved += fabs(sum - p[n]);
    }
    return moved;
}

/* `load` is below 1. */
static inline void mdc_solve(int c, double load, mdc *out)
{
    static double arrive[MDC_STATES], next[MDC_STATES];
    double waiting = 0, sum = 0;
    *out = (mdc){.c = c, .rate = load * c};
    for (int n = 0; n < MDC_STATES; n++) arrive[n] = exp(n * log(out->rate) - out->rate - lgamma(n + 1.0));
    memset(out->p, 0, sizeof out->p);
    out->p[0] = 1;
    for (int round = 0; round < MDC_ROUNDS && mdc_step(arrive, c, out->p, next) > 1e-12; round++)
        memcpy(out->p, next, sizeof next);
    for (int n = 0; n < MDC_STATES; n++) {
        if (n < c) out->no_wait += out->p[n];
        if (n > c) waiting += (n - c) * out->p[n];
        sum += out->p[n];
        if (n >= c) out->up_to[n - c] = sum;
    }
    for (int n = MDC_STATES - c; n < MDC_STATES; n++) out->up_to[n] = sum;
    out->wait = waiting / out->rate;
}

/* P(wait <= x service times). */
static inline double mdc_within(const mdc *queue, double x)
{
    int k = (int)floor(x) + 1, last = k * queue->c - 1;
    double left = queue->rate * (k - x), sum = 0;
    for (int j = 0; j <= last && last - j < MDC_STATES; j++)
        sum += queue->up_to[last - j] * exp(j * log(left) - left - lgamma(j + 1.0));
    return sum;
}

static inline double mdc_quantile(const mdc *queue, double share)
{
    double low = 0, high = 64;
    if (queue->no_wait >= share) return 0;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(mdc_within(queue, middle) < share ? &low : &high) = middle;
    }
    return low;
}

#endif
