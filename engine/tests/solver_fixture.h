/* Fixture of the tests of solvers and their schedules: a run time beside a configuration, and what diffusers' two
 * schedules of betas leave of the signal. */
#ifndef DIT_ENGINE_TESTS_SOLVER_FIXTURE_H
#define DIT_ENGINE_TESTS_SOLVER_FIXTURE_H

#include "base/rng.h"
#include "engine/runtime/runtime.h"
#include "engine/schedulers/scheduler.h"

#include "base/tests/test.h"
#include "kernels/tests/each_isa.h"

enum { ELEMENTS = 97, TRAIN = 1000, MAX_STEPS = 64 };

typedef struct {
    dit_runtime rt;
    dit_json config;
    int64_t first; /* of these elements in the whole batch */
} fixture;

static inline void open_fixture(fixture *f, const char *backend, const char *config)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(dit_kernels_get(backend, &f->rt.kernels), DIT_OK);
    assert_int_equal(dit_pool_create(1, false, &f->rt.pool), DIT_OK);
    dit_arena_init(&f->rt.image, &f->rt.ledger, DIT_MEMORY_STATE);
    assert_int_equal(dit_json_parse(config, strlen(config), "config", &f->config), DIT_OK);
}

static inline void close_fixture(fixture *f)
{
    dit_arena_release(&f->rt.image);
    dit_pool_free(f->rt.pool);
    dit_json_release(&f->config);
}

/* One number of a named stream; what a sampler's noise source gives too. */
static inline float normal(const char *stream, int step, int64_t index)
{
    float value;
    dit_rng_normal(7, dit_rng_stream(stream), (uint64_t)(step * ELEMENTS + index), 1, 0.0f, 1.0f, &value);
    return value;
}

static int64_t drawn_elements;
static inline void draw(void *context, int step, float *out)
{
    const fixture *f = context;
    for (int64_t i = 0; i < drawn_elements; i++) out[i] = normal("step-noise", step, f->first + i);
}

static inline dit_scheduler *create(fixture *f, int steps, int64_t elements, double eta)
{
    dit_scheduler *scheduler;
    dit_scheduler_params params = {.rt = &f->rt,
                                   .doc = &f->config,
                                   .config = f->config.root,
                                   .pointer = "",
                                   .steps = steps,
                                   .image_tokens = 1024,
                                   .elements = elements,
                                   .eta = eta,
                                   .noise = draw,
                                   .noise_context = f};
    drawn_elements = elements;
    dit_status st = dit_scheduler_create(&params, &scheduler);
    if (st != DIT_OK) print_error("%s\n", dit_error_last()->message);
    assert_int_equal(st, DIT_OK);
    return scheduler;
}

/* alpha_bar of the linear schedule that the configs below name; kept in float32 as everyone keeps it, since 1 -
 * alpha_bar at low timesteps has few digits then. */
static inline double linear_product(int64_t timestep)
{
    static double table[TRAIN];
    double product = 1.0;
    for (int t = 0; t < TRAIN && table[TRAIN - 1] == 0; t++)
        table[t] = product *= 1.0 - (0.0001 + (0.02 - 0.0001) * t / (TRAIN - 1));
    return (float)table[timestep];
}

/* alpha_bar of CogVideoX: scaled linear, SNR over `shift`, last one 0. */
static inline double video_product(int64_t timestep, double shift)
{
    static double table[TRAIN];
    static double shift_of_table;
    if (shift_of_table != shift) {
        double product = 1.0;
        for (int t = 0; t < TRAIN; t++) {
            double root = sqrt(0.00085) + (sqrt(0.012) - sqrt(0.00085)) * t / (TRAIN - 1);
            product *= 1.0 - root * root;
            double snr = product / (1.0 - product) / shift;
            table[t] = snr / (1.0 + snr);
        }
        double first = sqrt(table[0]), last = sqrt(table[TRAIN - 1]);
        for (int t = 0; t < TRAIN; t++) {
            double root = (sqrt(table[t]) - last) * first / (first - last);
            table[t] = root * root;
        }
        shift_of_table = shift;
    }
    return table[timestep];
}

#endif
