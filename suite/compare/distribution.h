/* Distributions: probabilities of the normal, Student's t and the binomial distribution, for intervals and tests.
 *
 * Relative errors are below 1e-10 where a probability is above 1e-12. Sources: DLMF 8.17.22 (continued fraction of the
 * incomplete beta function), 26.5.27 and 26.5.24 of Abramowitz and Stegun (t and binomial by that function).
 */
#ifndef DIT_SUITE_COMPARE_DISTRIBUTION_H
#define DIT_SUITE_COMPARE_DISTRIBUTION_H

/* Returns the probability that a standard normal value is at most z. */
double suite_normal_below(double z);
/* Returns the probability that a value of Student's t with `freedom` > 0 degrees of freedom is at most t. */
double suite_student_below(double t, double freedom);
/* Returns the t below which the share p in (0, 1) of Student's distribution lies. */
double suite_student_quantile(double p, double freedom);
/* Returns the probability of at most k successes in n trials of probability p in [0, 1]; 0 for k < 0. */
double suite_binomial_at_most(int k, int n, double p);

#endif
