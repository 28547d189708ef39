/* Solvers against diffusers: timesteps exact, sigmas and every step within 2e-6 (golden/README.md), each step from the
 * file's own sample and the whole run free. What is not built is refused. */
#include "engine/files/config.h"
#include "base/solver.h"
#include "base/safetensors.h"
#include "engine/schedulers/scheduler.h"

#include "base/tests/test.h"

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

/* What the caller of a scheduler adds to its config. */
typedef struct {
    const char *name;
    bool linspace_sigmas;
    double mu; /* 0: none */
    bool quadratic_sigmas;
} golden_case;

static float *read_step(fixture *f, int steps, const char *what, int step)
{
    char name[64];
    int64_t elements;
    snprintf(name, sizeof name, "n%d.%s_%d", steps, what, step);
    float *data = read_tensor(f, name, &elements);
    assert_non_null(data);
    return data;
}

static dit_scheduler *create(fixture *f, const golden_case *c, int steps, int64_t elements)
{
    dit_scheduler *scheduler;
    dit_scheduler_params params = {.rt = &f->rt,
                                   .doc = &f->config,
                                   .config = f->config.root,
                                   .pointer = "",
                                   .steps = steps,
                                   .linspace_sigmas = c->linspace_sigmas,
                                   .quadratic_sigmas = c->quadratic_sigmas,
                                   .has_mu = c->mu != 0,
                                   .mu = c->mu,
                                   .elements = elements};
    assert_int_equal(dit_scheduler_create(&params, &scheduler), DIT_OK);
    return scheduler;
}

static void expect_scaled(fixture *f, dit_scheduler *scheduler, int step, const float *sample)
{
    char name[64];
    float *scaled = malloc((size_t)scheduler->elements * sizeof *scaled);
    assert_non_null(scaled);
    dit_scheduler_scale_input(scheduler, step, sample, scaled);
    snprintf(name, sizeof name, "n%d.scaled_%d", scheduler->steps, step);
    if (scheduler->ops->scale_input)
        expect_tensor(f, name, scaled, TOLERANCE);
    else
        assert_memory_equal(scaled, sample, (size_t)scheduler->elements * sizeof *scaled);
    free(scaled);
}

/* alone: every step starts from the file's sample. Returns the number of steps replayed. */
static int replay(fixture *f, const golden_case *c, int steps, bool alone)
{
    char name[64];
    int64_t elements;
    snprintf(name, sizeof name, "n%d.sample_0", steps);
    float *sample = read_tensor(f, name, &elements);
    if (!sample) return 0;
    dit_scheduler *scheduler = create(f, c, steps, elements);
    snprintf(name, sizeof name, "n%d.timesteps", steps);
    expect_tensor(f, name, scheduler->timesteps, 0.0);
    snprintf(name, sizeof name, "n%d.sigmas", steps);
    expect_tensor(f, name, scheduler->sigmas, TOLERANCE);
    for (int step = 0; step < steps; step++) {
        float *output = read_step(f, steps, "model_output", step), *given = read_step(f, steps, "sample", step);
        if (alone) memcpy(sample, given, (size_t)elements * sizeof *sample);
        expect_scaled(f, scheduler, step, sample);
        dit_scheduler_step(scheduler, step, output, sample);
        snprintf(name, sizeof name, "n%d.sample_%d", steps, step + 1);
        expect_tensor(f, name, sample, TOLERANCE);
        free(output);
        free(given);
    }
    free(sample);
    return steps;
}

static void every_config_replays_as_diffusers_ran_it(void **state)
{
    static const golden_case cases[] = {
        {.name = "cogvideox_ddim"},
        {.name = "ddim"},
        {.name = "ddim_scaled_vpred_trailing"},
        {.name = "dpmpp_1"},
        {.name = "dpmpp_2m"},
        {.name = "dpmpp_2m_scaled_leading"},
        {.name = "dpmpp_3m_flow"},
        {.name = "euler_discrete"},
        {.name = "euler_discrete_linspace"},
        {.name = "flow_match_euler_dynamic", .linspace_sigmas = true, .mu = 0.63},
        {.name = "flow_match_euler_dynamic_terminal", .linspace_sigmas = true, .mu = 0.63},
        {.name = "flow_match_euler_exponential"},
        {.name = "flow_match_euler_karras"},
        {.name = "flow_match_euler_shift1"},
        {.name = "flow_match_euler_shift3"},
        {.name = "flow_match_euler_sigmas", .linspace_sigmas = true},
        {.name = "flow_match_euler_inverted", .quadratic_sigmas = true},
        {.name = "unipc_flow"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        int replayed = 0;
        open_fixture(&f, cases[i].name);
        for (int steps = 1; steps <= 50; steps++)
            for (int alone = 0; alone < 2; alone++) replayed += replay(&f, &cases[i], steps, alone);
        if (replayed != 2 * (6 + 20)) print_error("%s: %d steps replayed\n", cases[i].name, replayed);
        assert_int_equal(replayed, 2 * (6 + 20));
        close_fixture(&f);
    }
}

/* The files keep the initial noise of their last step count, 20. */
static void initial_noise_is_as_wide_as_diffusers_has_it(void **state)
{
    static const golden_case cases[] = {
        {.name = "euler_discrete"}, {.name = "euler_discrete_linspace"}, {.name = "ddim"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        open_fixture(&f, cases[i].name);
        const cJSON *golden = cJSON_GetObjectItemCaseSensitive(f.config.root, "golden");
        double expected = cJSON_GetObjectItemCaseSensitive(golden, "init_noise_sigma")->valuedouble;
        assert_true(fabs(create(&f, &cases[i], 20, 4)->init_noise_sigma / expected - 1.0) < TOLERANCE);
        close_fixture(&f);
    }
}

/* A schedule of one step has the sigma 1 alone, which shift_terminal does not move: the library divides 0 by 0. */
static void one_step_ends_where_it_begins(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, "flow_match_euler_dynamic_terminal");
    const golden_case c = {.linspace_sigmas = true, .mu = 0.63};
    const dit_scheduler *scheduler = create(&f, &c, 1, 4);
    assert_true(scheduler->sigmas[0] == 1.0f && scheduler->sigmas[1] == 0.0f);
    close_fixture(&f);
}

/* HunyuanVideoPipeline passes linspace(1, 0, N + 1) without its end, FluxPipeline linspace(1, 1/N, N); shift 7 as the
 * first ships it. Both round to the same floats. */
static void given_sigmas_are_those_of_both_pipelines(void **state)
{
    static const char config[] = "{\"_class_name\":\"FlowMatchEulerDiscreteScheduler\",\"shift\":7.0}";
    (void)state;
    for (int N = 1; N <= 100; N++) {
        fixture f;
        open_fixture(&f, "flow_match_euler_sigmas");
        dit_json_release(&f.config);
        assert_int_equal(dit_json_parse(config, strlen(config), "config", &f.config), DIT_OK);
        dit_scheduler *scheduler = create(&f, &(golden_case){.linspace_sigmas = true}, N, 4);
        for (int i = 0; i < N; i++) {
            float sigma = (float)(1.0 + i * (-1.0 / N));
            sigma = 7.0f * sigma / (1.0f + 6.0f * sigma);
            assert_true(scheduler->sigmas[i] == sigma);
            assert_true(scheduler->timesteps[i] == sigma * 1000.0f);
        }
        close_fixture(&f);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void draw_nothing(void *context, int step, float *out)
{
    (void)context, (void)step, (void)out;
}

static void expect_status(const char *config, int steps, double eta, bool noise, dit_status expected)
{
    fixture f;
    dit_scheduler *scheduler;
    open_fixture(&f, "dpmpp_2m");
    dit_json_release(&f.config);
    assert_int_equal(dit_json_parse(config, strlen(config), "config", &f.config), DIT_OK);
    dit_config_drop_nulls(f.config.root);
    dit_scheduler_params params = {.rt = &f.rt,
                                   .doc = &f.config,
                                   .config = f.config.root,
                                   .pointer = "",
                                   .steps = steps,
                                   .elements = 4,
                                   .eta = eta,
                                   .noise = noise ? draw_nothing : NULL};
    dit_status st = dit_scheduler_create(&params, &scheduler);
    if (st != expected) print_error("%s, %d steps: %s\n", config, steps, dit_status_name(st));
    assert_int_equal(st, expected);
    close_fixture(&f);
}

#define DPM        "{\"_class_name\":\"DPMSolverMultistepScheduler\""
#define DDIM       "{\"_class_name\":\"DDIMScheduler\""
#define DDPM       "{\"_class_name\":\"DDPMScheduler\""
#define EULER      "{\"_class_name\":\"EulerDiscreteScheduler\""
#define UNIPC      "{\"_class_name\":\"UniPCMultistepScheduler\""
#define FLOW       "{\"_class_name\":\"FlowMatchEulerDiscreteScheduler\""
#define VIDEO_DDIM "{\"_class_name\":\"CogVideoXDDIMScheduler\""
#define VIDEO_DPM  "{\"_class_name\":\"CogVideoXDPMScheduler\""

static void options_that_change_the_numbers_are_refused(void **state)
{
    static const char *const unsupported[] = {
        DPM ",\"use_karras_sigmas\":true}",
        DPM ",\"algorithm_type\":\"sde-dpmsolver++\"}",
        DPM ",\"prediction_type\":\"flow_prediction\"}",
        DPM ",\"beta_schedule\":\"sigmoid\"}",
        DPM ",\"variance_type\":\"learned_range\"}",
        DPM ",\"final_sigmas_type\":\"sigma_max\"}",
        DPM ",\"timestep_spacing\":\"log\"}",
        DDIM ",\"thresholding\":true}",
        DDIM ",\"prediction_type\":\"flow_prediction\"}",
        DDIM ",\"prediction_type\":\"noise\"}",
        DDIM ",\"rescale_betas_zero_snr\":true,\"timestep_spacing\":\"trailing\"}",
        DDPM ",\"variance_type\":\"learned_range\"}",
        DDPM ",\"variance_type\":\"fixed_large_log\"}",
        EULER ",\"interpolation_type\":\"log_linear\"}",
        EULER ",\"timestep_type\":\"continuous\"}",
        EULER ",\"use_beta_sigmas\":true}",
        UNIPC ",\"solver_order\":4}",
        UNIPC ",\"solver_type\":\"bh3\"}",
        UNIPC ",\"predict_x0\":false}",
        UNIPC ",\"lower_order_final\":false}",
        UNIPC ",\"solver_p\":{\"_class_name\":\"DDIMScheduler\"}}",
        UNIPC ",\"prediction_type\":\"flow_prediction\"}",
        UNIPC ",\"use_exponential_sigmas\":true}",
        FLOW ",\"use_beta_sigmas\":true}",
        "{\"_class_name\":\"EulerAncestralDiscreteScheduler\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        expect_status(unsupported[i], 4, 0, true, DIT_ERR_UNSUPPORTED);
}

static void values_without_a_meaning_are_refused(void **state)
{
    static const char *const wrong[] = {
        DDIM ",\"trained_betas\":[0.1,0.2]}",
        DDIM ",\"num_train_timesteps\":3,\"trained_betas\":[0.1,1.0,0.1]}",
        DDIM ",\"num_train_timesteps\":3,\"trained_betas\":[0.1,\"0.2\",0.3]}",
        DDIM ",\"timestep_spacing\":\"leading\",\"steps_offset\":900}",
        DDIM ",\"beta_start\":0.0,\"beta_end\":0.0}",
        DPM ",\"beta_start\":0.999,\"beta_end\":0.999}",
        DPM ",\"lambda_min_clipped\":2.0,\"timestep_spacing\":\"trailing\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) expect_status(wrong[i], 3, 0, true, DIT_ERR_JSON_VALUE);
    expect_status(DDIM ",\"beta_start\":\"0.1\"}", 4, 0, true, DIT_ERR_JSON_TYPE);
    expect_status(UNIPC ",\"disable_corrector\":[\"0\"]}", 4, 0, true, DIT_ERR_JSON_TYPE);
    expect_status("{\"shift\":1.0}", 4, 0, true, DIT_ERR_JSON_MISSING);
}

static void more_steps_than_the_training_had_are_refused(void **state)
{
    static const char *const limited[] = {
        DPM "}",   DDIM "}",       DDPM "}",     EULER ",\"timestep_spacing\":\"leading\"}",
        UNIPC "}", VIDEO_DDIM "}", VIDEO_DPM "}"};
    (void)state;
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
        expect_status(limited[i], 1001, 0, true, DIT_ERR_JSON_VALUE);
        expect_status(limited[i], 0, 0, true, DIT_ERR_JSON_VALUE);
        expect_status(limited[i], 500, 0, true, DIT_OK);
    }
    expect_status(EULER "}", 1001, 0, true, DIT_OK); /* its timesteps may be fractions */
    expect_status(FLOW "}", 10000, 0, true, DIT_OK);
    expect_status(FLOW "}", 10001, 0, true, DIT_ERR_JSON_VALUE);
}

static void noise_needs_a_source(void **state)
{
    (void)state;
    expect_status(DDPM "}", 4, 0, false, DIT_ERR_UNSUPPORTED);
    expect_status(VIDEO_DPM "}", 4, 0, false, DIT_ERR_UNSUPPORTED);
    expect_status(DDIM "}", 4, 0.5, false, DIT_ERR_UNSUPPORTED);
    expect_status(DDIM "}", 4, 0, false, DIT_OK);
    expect_status(DDIM "}", 4, 0.5, true, DIT_OK);
    expect_status(DDIM "}", 4, 1.5, true, DIT_ERR_JSON_VALUE);
    expect_status(EULER "}", 4, 0.5, true, DIT_ERR_UNSUPPORTED);
}

/* The harness refuses converged references of solvers that draw noise, and must know them without an engine. */
static void the_harness_knows_which_solvers_draw_noise(void **state)
{
    static const char *const configs[] = {DPM "}",   DDIM "}", DDPM "}",       EULER "}",
                                          UNIPC "}", FLOW "}", VIDEO_DDIM "}", VIDEO_DPM "}"};
    int drawing = 0;
    (void)state;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        cJSON *config = cJSON_Parse(configs[i]);
        bool draws = dit_solver_draws_noise(config);
        expect_status(configs[i], 4, 0, false, draws ? DIT_ERR_UNSUPPORTED : DIT_OK);
        assert_int_equal(dit_solver_check_steps(config, 1000),
                         strstr(configs[i], "Flow") ? DIT_OK : DIT_ERR_UNSUPPORTED);
        assert_int_equal(dit_solver_check_steps(config, 500), DIT_OK);
        drawing += draws;
        cJSON_Delete(config);
    }
    assert_int_equal(drawing, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_config_replays_as_diffusers_ran_it),
        cmocka_unit_test(initial_noise_is_as_wide_as_diffusers_has_it),
        cmocka_unit_test(one_step_ends_where_it_begins),
        cmocka_unit_test(given_sigmas_are_those_of_both_pipelines),
        cmocka_unit_test(options_that_change_the_numbers_are_refused),
        cmocka_unit_test(values_without_a_meaning_are_refused),
        cmocka_unit_test(more_steps_than_the_training_had_are_refused),
        cmocka_unit_test(noise_needs_a_source),
        cmocka_unit_test(the_harness_knows_which_solvers_draw_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
