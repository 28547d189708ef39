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

/* The level of one process. */
static double draw_level(const suite_noise *noise, suite_draws *draws, double level)
{
    double own = level * exp(noise->between * suite_draws_normal(draws));
    if (noise->outliers > 0 && suite_draws_uniform(draws) < noise->outliers)
        own *= 1 - noise->outlier_size * log(suite_draws_uniform(draws));
    return own;
}

double suite_noise_process(const suite_noise *noise, suite_draws *draws, double level)
{
    double values[SUITE_NOISE_MOST_ITERATIONS], own = draw_level(noise, draws, level);
    for (int i = 0; i < noise->iterations; i++) values[i] = own * exp(noise->within * suite_draws_normal(draws));
    return dit_stats_median(values, noise->iterations);
}

static double draw_time(const suite_noise *noise, suite_draws *draws, double mean)
{
    const double draw = suite_draws_uniform(draws);
    return noise->rhythm ? mean * (0.8 + 0.4 * draw) : -mean * log(draw);
}

static double draw_slowdown(const suite_noise *noise, suite_draws *draws)
{
    return noise->rhythm ? noise->neighbour_size : -noise->neighbour_size * log(suite_draws_uniform(draws));
}

static void change_neighbours(const suite_noise *noise, suite_neighbours *neighbours, suite_draws *draws)
{
    const double away = noise->neighbour_stay * (1 - noise->neighbours) / noise->neighbours;
    neighbours->here = neighbours->begun ? !neighbours->here : suite_draws_uniform(draws) < noise->neighbours;
    neighbours->begun = true;
    neighbours->left = draw_time(noise, draws, neighbours->here ? noise->neighbour_stay : away);
    neighbours->slower = neighbours->here ? draw_slowdown(noise, draws) : 0;
}

/* Lets `time` pass. Returns by which share it was slower on average, and adds to *here how long they were here. */
static double pass(const suite_noise *noise, suite_neighbours *neighbours, suite_draws *draws, double time,
                   double *here)
{
    double slower = 0;
    for (double rest = time; rest > 0;) {
        if (!neighbours->begun || neighbours->left <= 0) change_neighbours(noise, neighbours, draws);
        double part = fmin(rest, neighbours->left);
        slower += part * neighbours->slower;
        if (neighbours->here) *here += part;
        neighbours->left -= part;
        rest -= part;
    }
    return slower / time;
}

double suite_noise_process_beside(const suite_noise *noise, suite_neighbours *neighbours, suite_draws *draws,
                                  double level, double *share)
{
    double values[SUITE_NOISE_MOST_ITERATIONS], own = draw_level(noise, draws, level);
    *share = 0;
    for (int i = 0; i < noise->iterations; i++) {
        double slower = pass(noise, neighbours, draws, 1.0 / noise->iterations, share);
        values[i] = own * (1 + slower) * exp(noise->within * suite_draws_normal(draws));
    }
    return dit_stats_median(values, noise->iterations);
}
