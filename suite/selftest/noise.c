#include "suite/selftest/noise.h"

#include "base/rng.h"
#include "base/stats.h"

#include <math.h>

/* Two numbers in (0, 1), of 53 bits each. */
static void draw_two(suite_draws *draws, double out[2])
{
    uint32_t words[4];
    dit_rng_philox(draws->seed, draws->stream, draws->next++, words);
    for (int i = 0; i < 2; i++)
        out[i] =
            ((double)(words[2 * i] >> 5) * 67108864.0 + (double)(words[2 * i + 1] >> 6) + 0.5) / 9007199254740992.0;
}

double suite_draws_uniform(suite_draws *draws)
{
    double two[2];
    draw_two(draws, two);
    return two[0];
}

double suite_draws_normal(suite_draws *draws)
{
    static const double two_pi = 6.283185307179586;
    double two[2];
    draw_two(draws, two);
    return sqrt(-2 * log(two[0])) * cos(two_pi * two[1]);
}

double suite_noise_process(const suite_noise *noise, suite_draws *draws, double level)
{
    double values[SUITE_NOISE_MOST_ITERATIONS];
    double own = level * exp(noise->between * suite_draws_normal(draws));
    if (noise->outliers > 0 && suite_draws_uniform(draws) < noise->outliers)
        own *= 1 - noise->outlier_size * log(suite_draws_uniform(draws));
    for (int i = 0; i < noise->iterations; i++) values[i] = own * exp(noise->within * suite_draws_normal(draws));
    return dit_stats_median(values, noise->iterations);
}
