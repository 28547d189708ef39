/* Noise: made-up times of processes with a known truth, for trials of the decision rules.
 *
 * A process has its own level, log-normal around the true time; its iterations are log-normal around that level; its
 * value is their median, as everywhere in the harness. Something may disturb a process: it becomes slower by a share
 * that is exponentially distributed. Neighbours, other programs on the same cores, come and go: they stay and stay away
 * for exponentially distributed times, or in a rhythm, and while they are here everything takes longer.
 */
#ifndef DIT_SUITE_SELFTEST_NOISE_H
#define DIT_SUITE_SELFTEST_NOISE_H

#include <stdbool.h>
#include <stdint.h>

enum { SUITE_NOISE_MOST_ITERATIONS = 1000 };

/* Shares: 0.01 stands for one per cent. */
typedef struct {
    double between, within; /* standard deviations of logarithms, between processes and between iterations of one */
    int iterations;         /* of a process, 1 to SUITE_NOISE_MOST_ITERATIONS                                     */
    double outliers;        /* how many processes are disturbed                                                   */
    double outlier_size;    /* by how much on average                                                             */
    double drift;           /* by how much the machine becomes slower while a trial lasts                         */
    double neighbours;      /* how much of the time neighbours are here                                           */
    double neighbour_size;  /* by how much everything is slower meanwhile, on average (exponentially distributed) */
    bool rhythm;            /* they keep a rhythm: times differ by a fifth at most, and all neighbours are equal  */
    double neighbour_stay;  /* how long they stay on average, in processes                                        */
} suite_noise;

/* A stream of random numbers: one seed and one stream give one sequence, on every machine. */
typedef struct {
    uint64_t seed, stream, next;
} suite_draws;

/* What neighbours do. Zeroed: the trial begins. */
typedef struct {
    bool begun, here;
    double left, slower; /* how long that lasts, in processes; by which share all is slower */
} suite_neighbours;

/* Draws a number in (0, 1). */
double suite_draws_uniform(suite_draws *draws);
/* Draws a standard normal number (Box and Muller). */
double suite_draws_normal(suite_draws *draws);
/* Draws the value of a process whose true time is `level`. */
double suite_noise_process(const suite_noise *noise, suite_draws *draws, double level);
/* The same beside neighbours, who go on from process to process. *share: how much of its time they were here. */
double suite_noise_process_beside(const suite_noise *noise, suite_neighbours *neighbours, suite_draws *draws,
                                  double level, double *share);

#endif
