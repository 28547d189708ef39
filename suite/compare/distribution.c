#include "suite/compare/distribution.h"

#include <float.h>
#include <math.h>

enum { FRACTION_STEPS = 500, HALVINGS = 200 };

double suite_normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

/* The m-th step of the continued fraction has two terms; `odd` is the second one. */
static double fraction_term(double a, double b, double x, int m, int odd)
{
    if (!odd) return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
}

static double away_from_zero(double value)
{
    return fabs(value) < DBL_MIN ? DBL_MIN : value;
}

/* Evaluates the continued fraction by the method of Lentz; it converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double above = 1, below = 1 / away_from_zero(1 + fraction_term(a, b, x, 0, 1)), value = below;
    for (int m = 1; m < FRACTION_STEPS; m++) {
        double before = value;
        for (int odd = 0; odd < 2; odd++) {
            double term = fraction_term(a, b, x, m, odd);
            below = 1 / away_from_zero(1 + term * below);
            above = away_from_zero(1 + term / above);
            value *= below * above;
        }
        if (fabs(value - before) <= DBL_EPSILON * fabs(value)) break;
    }
    return value;
}

/* The regularised incomplete beta function I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double suite_student_below(double t, double freedom)
{
    double both_tails = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
    return t > 0 ? 1 - both_tails / 2 : both_tails / 2;
}

/* Halves a bracket: the distribution function is monotone, and nobody waits for it. */
double suite_student_quantile(double p, double freedom)
{
    double low = -1, high = 1;
    while (suite_student_below(low, freedom) > p) low *= 2;
    while (suite_student_below(high, freedom) < p) high *= 2;
    for (int i = 0; i < HALVINGS && high - low > DBL_EPSILON * (fabs(low) + fabs(high)); i++) {
        double middle = low / 2 + high / 2;
        if (suite_student_below(middle, freedom) < p)
            low = middle;
        else
            high = middle;
    }
    return low / 2 + high / 2;
}

double suite_binomial_at_most(int k, int n, double p)
{
    if (k < 0) return 0;
    if (k >= n) return 1;
    return incomplete_beta(n - k, k + 1, 1 - p);
}
