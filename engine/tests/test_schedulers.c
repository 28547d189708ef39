/* Solvers alone against diffusers: timesteps exact, sigmas and every step within 2e-6 (golden/README.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/config.h"
#include "engine/safetensors.h"
#include "engine/schedulers/scheduler.h"

#include <math.h>
#include <stdio.h>

static const double TOLERANCE = 2e-6;

typedef struct {
    dit_runtime rt;
    dit_json config;
    dit_safetensors *file;
} fixture;

/* A runtime without communicators: schedulers only need operators and memory. */
static void open_fixture(fixture *f, const char *name)
{
    char path[4096];
    memset(f, 0, sizeof *f);
    assert_int_equal(dit_kernels_get("ref", &f->rt.kernels), DIT_OK);
    assert_int_equal(dit_pool_create(1, false, &f->rt.pool), DIT_OK);
    dit_arena_init(&f->rt.image, &f->rt.ledger, DIT_MEMORY_STATE);
    snprintf(path, sizeof path, "%s/engine/tests/golden/schedulers/%s.json", DITBENCH_SOURCE_DIR, name);
    assert_int_equal(dit_config_read_file(path, &f->config), DIT_OK);
    snprintf(path, sizeof path, "%s/engine/tests/golden/schedulers/%s.safetensors", DITBENCH_SOURCE_DIR, name);
    assert_int_equal(dit_safetensors_open(path, &f->file), DIT_OK);
}

static void close_fixture(fixture *f)
{
    dit_arena_release(&f->rt.image);
    dit_pool_free(f->rt.pool);
    dit_json_release(&f->config);
    dit_safetensors_close(f->file);
}

static float *read_tensor(fixture *f, const char *name, int64_t *elements)
{
    dit_tensor_view view;
    if (!dit_safetensors_find(f->file, name, &view)) return NULL;
    float *data = malloc((size_t)(view.elements + 1) * sizeof *data);
    assert_non_null(data);
    assert_int_equal(dit_tensor_read(&view, 0, view.elements, data), DIT_OK);
    *elements = view.elements;
    return data;
}

static double relative_l2(const float *x, const float *reference, int64_t count)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count; i++) {
        difference += ((double)x[i] - reference[i]) * ((double)x[i] - reference[i]);
        norm += (double)reference[i] * reference[i];
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

static void expect_tensor(fixture *f, const char *name, const float *x, double tolerance)
{
    int64_t elements;
    float *reference = read_tensor(f, name, &elements);
    if (!reference) return;
    double error = relative_l2(x, reference, elements);
    if (!(error <= tolerance)) print_error("%s: relative L2 %g above %g\n", name, error, tolerance);
    assert_true(error <= tolerance);
    free(reference);
}

/* Returns the number of steps replayed. */
static int replay(fixture *f, int steps, bool linspace_sigmas, bool has_mu, double mu)
{
    dit_scheduler *scheduler;
    char name[64];
    int64_t elements;
    snprintf(name, sizeof name, "n%d.sample_0", steps);
    float *sample = read_tensor(f, name, &elements);
    if (!sample) return 0;
    dit_scheduler_params params = {.rt = &f->rt,
                                   .doc = &f->config,
                                   .config = f->config.root,
                                   .pointer = "",
                                   .steps = steps,
                                   .linspace_sigmas = linspace_sigmas,
                                   .has_mu = has_mu,
                                   .mu = mu,
                                   .elements = elements};
    assert_int_equal(dit_scheduler_create(&params, &scheduler), DIT_OK);
    snprintf(name, sizeof name, "n%d.timesteps", steps);
    expect_tensor(f, name, scheduler->timesteps, 0.0);
    snprintf(name, sizeof name, "n%d.sigmas", steps);
    expect_tensor(f, name, scheduler->sigmas, TOLERANCE);
    for (int step = 0; step < steps; step++) {
        snprintf(name, sizeof name, "n%d.model_output_%d", steps, step);
        float *output = read_tensor(f, name, &elements);
        assert_non_null(output);
        dit_scheduler_step(scheduler, step, output, sample);
        snprintf(name, sizeof name, "n%d.sample_%d", steps, step + 1);
        expect_tensor(f, name, sample, TOLERANCE);
        free(output);
    }
    free(sample);
    return steps;
}

static void check(const char *name, bool linspace_sigmas, bool has_mu, double mu)
{
    fixture f;
    int replayed = 0;
    open_fixture(&f, name);
    for (int steps = 1; steps <= 50; steps++) replayed += replay(&f, steps, linspace_sigmas, has_mu, mu);
    assert_true(replayed > 0);
    close_fixture(&f);
}

static void dpm_solver_2m(void **state)
{
    (void)state, check("dpmpp_2m", false, false, 0);
}
static void dpm_solver_2m_scaled_leading(void **state)
{
    (void)state, check("dpmpp_2m_scaled_leading", false, false, 0);
}
static void dpm_solver_first_order(void **state)
{
    (void)state, check("dpmpp_1", false, false, 0);
}
static void flow_euler_without_shift(void **state)
{
    (void)state, check("flow_match_euler_shift1", false, false, 0);
}
static void flow_euler_with_shift_3(void **state)
{
    (void)state, check("flow_match_euler_shift3", false, false, 0);
}
static void flow_euler_with_given_sigmas(void **state)
{
    (void)state, check("flow_match_euler_sigmas", true, false, 0);
}
static void flow_euler_with_dynamic_shift(void **state)
{
    (void)state, check("flow_match_euler_dynamic", true, true, 0.63);
}

static void expect_refused(const char *config, dit_status expected)
{
    fixture f;
    dit_scheduler *scheduler;
    open_fixture(&f, "dpmpp_2m");
    dit_json_release(&f.config);
    assert_int_equal(dit_json_parse(config, strlen(config), "config", &f.config), DIT_OK);
    dit_scheduler_params params = {
        .rt = &f.rt, .doc = &f.config, .config = f.config.root, .pointer = "", .steps = 4, .elements = 4};
    assert_int_equal(dit_scheduler_create(&params, &scheduler), expected);
    close_fixture(&f);
}

static void options_that_change_the_numbers_are_refused(void **state)
{
    (void)state;
    expect_refused("{\"_class_name\":\"DPMSolverMultistepScheduler\",\"use_karras_sigmas\":true}", DIT_ERR_UNSUPPORTED);
    expect_refused("{\"_class_name\":\"DPMSolverMultistepScheduler\",\"solver_order\":3}", DIT_ERR_UNSUPPORTED);
    expect_refused("{\"_class_name\":\"DPMSolverMultistepScheduler\",\"beta_schedule\":\"sigmoid\"}",
                   DIT_ERR_UNSUPPORTED);
    expect_refused("{\"_class_name\":\"FlowMatchEulerDiscreteScheduler\",\"shift_terminal\":0.1}", DIT_ERR_UNSUPPORTED);
    expect_refused("{\"_class_name\":\"EulerAncestralDiscreteScheduler\"}", DIT_ERR_UNSUPPORTED);
    expect_refused("{\"shift\":1.0}", DIT_ERR_JSON_MISSING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dpm_solver_2m),
        cmocka_unit_test(dpm_solver_2m_scaled_leading),
        cmocka_unit_test(dpm_solver_first_order),
        cmocka_unit_test(flow_euler_without_shift),
        cmocka_unit_test(flow_euler_with_shift_3),
        cmocka_unit_test(flow_euler_with_given_sigmas),
        cmocka_unit_test(flow_euler_with_dynamic_shift),
        cmocka_unit_test(options_that_change_the_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
