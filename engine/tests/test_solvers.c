/* Solvers against the formulas of their papers, written out plainly in double for single numbers, where diffusers' own
 * results cannot be had (noise) or are few (UniPC), and against what must hold of any solver. */
#include "engine/sampling/sampler.h"

#include "engine/tests/solver_fixture.h"

/* ---- the papers, one number at a time ---------------------------------------------------------------------------- */

/* x0 and the noise that a model output means at a product. */
static void meaning(dit_prediction prediction, double a, double x, double m, double *x0, double *noise)
{
    switch (prediction) {
    case DIT_PREDICTION_V: *x0 = sqrt(a) * x - sqrt(1 - a) * m, *noise = sqrt(1 - a) * x + sqrt(a) * m; break;
    case DIT_PREDICTION_SAMPLE: *x0 = m, *noise = (x - sqrt(a) * m) / sqrt(1 - a); break;
    default: *noise = m, *x0 = (x - sqrt(1 - a) * m) / sqrt(a); break;
    }
}

typedef struct {
    const char *config;
    dit_prediction prediction;
    double clip, eta, shift;
    bool large;
    int steps;
} paper_case;

/* One element after `upto` steps from its start; `timestep` are those of the scheduler under test. */
typedef double (*paper_solver)(const paper_case *c, const float *timestep, int upto, int64_t element);

static double clipped(double x, double range)
{
    return range > 0 ? fmax(-range, fmin(range, x)) : x;
}

/* Song et al., equations 12 and 16. */
static double solve_ddim(const paper_case *c, const float *timestep, int upto, int64_t element)
{
    double x = normal("start", 0, element);
    for (int i = 0; i < upto; i++) {
        int64_t t = (int64_t)timestep[i], end = t - TRAIN / c->steps;
        double a = linear_product(t), next = end >= 0 ? linear_product(end) : 1.0, x0, noise;
        meaning(c->prediction, a, x, normal("model", i, element), &x0, &noise);
        double fresh = c->eta * sqrt((1 - next) / (1 - a)) * sqrt(1 - a / next);
        x = sqrt(next) * clipped(x0, c->clip) + sqrt(1 - next - fresh * fresh) * noise +
            fresh * normal("step-noise", i, element);
    }
    return x;
}

/* Ho et al., equations 6 and 7 over a subsequence of the training steps. */
static double solve_ddpm(const paper_case *c, const float *timestep, int upto, int64_t element)
{
    double x = normal("start", 0, element);
    for (int i = 0; i < upto; i++) {
        double a = linear_product((int64_t)timestep[i]), x0, noise;
        double next = i + 1 < c->steps ? linear_product((int64_t)timestep[i + 1]) : 1.0, beta = 1 - a / next;
        meaning(c->prediction, a, x, normal("model", i, element), &x0, &noise);
        double mean = sqrt(next) * beta / (1 - a) * clipped(x0, c->clip) + sqrt(a / next) * (1 - next) / (1 - a) * x;
        double variance = c->large ? beta : (1 - next) / (1 - a) * beta;
        x = mean + (timestep[i] > 0 ? sqrt(variance) * normal("step-noise", i, element) : 0.0);
    }
    return x;
}

static double log_signal_over_noise(double product)
{
    if (product <= 0) return -INFINITY;
    return product >= 1 ? INFINITY : log(sqrt(product)) - log(sqrt(1 - product));
}

/* Lu et al., SDE-DPM-Solver++(2M), in the paper's alpha, sigma and lambda. */
static double solve_video_dpm(const paper_case *c, const float *timestep, int upto, int64_t element)
{
    double x = normal("start", 0, element), before = 0, lambda_before = 0;
    for (int i = 0; i < upto; i++) {
        int64_t t = (int64_t)timestep[i], end = t - TRAIN / c->steps;
        double a = video_product(t, c->shift), next = end >= 0 ? video_product(end, c->shift) : 1.0, x0, noise;
        meaning(c->prediction, a, x, normal("model", i, element), &x0, &noise);
        double lambda = log_signal_over_noise(a), h = log_signal_over_noise(next) - lambda, d = x0;
        if (i > 0 && end >= 0) {
            double r = (lambda - lambda_before) / h;
            d = isinf(r) ? x0 : x0 + (x0 - before) / (2 * r);
        }
        x = sqrt(1 - next) / sqrt(1 - a) * exp(-h) * x + sqrt(next) * (1 - exp(-2 * h)) * d +
            sqrt(1 - next) * sqrt(1 - exp(-2 * h)) * normal("step-noise", i, element);
        before = x0, lambda_before = lambda;
    }
    return x;
}

static const double TOLERANCE = 2e-6; /* of every step of a free run */

static void expect_close(const char *config, int step, const float *sample, const double *expected)
{
    double difference = 0, norm = 0;
    for (int64_t e = 0; e < ELEMENTS; e++) {
        difference += (sample[e] - expected[e]) * (sample[e] - expected[e]);
        norm += expected[e] * expected[e];
    }
    double error = sqrt(difference / norm);
    if (!(error <= TOLERANCE)) print_error("%s: step %d: relative L2 %g\n", config, step, error);
    assert_true(error <= TOLERANCE);
}

static void take_step(dit_scheduler *scheduler, int step, float *sample)
{
    float output[ELEMENTS];
    for (int64_t e = 0; e < ELEMENTS; e++) output[e] = normal("model", step, e);
    dit_scheduler_step(scheduler, step, output, sample);
}

static void expect_paper(const paper_case *c, paper_solver solver)
{
    fixture f;
    float sample[ELEMENTS];
    double expected[ELEMENTS];
    open_fixture(&f, "cpu", c->config);
    dit_scheduler *scheduler = create(&f, c->steps, ELEMENTS, c->eta);
    for (int64_t e = 0; e < ELEMENTS; e++) sample[e] = normal("start", 0, e);
    for (int i = 0; i < c->steps; i++) {
        take_step(scheduler, i, sample);
        for (int64_t e = 0; e < ELEMENTS; e++) expected[e] = solver(c, scheduler->timesteps, i + 1, e);
        expect_close(c->config, i, sample, expected);
    }
    close_fixture(&f);
}

static void ddim_is_song_et_al(void **state)
{
    static const paper_case cases[] = {
        {.config = "{\"_class_name\":\"DDIMScheduler\",\"clip_sample\":false}", .eta = 0.7, .steps = 6},
        {.config = "{\"_class_name\":\"DDIMScheduler\",\"clip_sample\":false}", .eta = 1.0, .steps = 20},
        {.config = "{\"_class_name\":\"DDIMScheduler\",\"clip_sample_range\":1.5}", .clip = 1.5, .steps = 20},
        {.config =
             "{\"_class_name\":\"DDIMScheduler\",\"prediction_type\":\"sample\",\"timestep_spacing\":\"trailing\"}",
         .prediction = DIT_PREDICTION_SAMPLE,
         .clip = 1.0,
         .eta = 0.3,
         .steps = 9},
        {.config = "{\"_class_name\":\"DDIMScheduler\",\"prediction_type\":\"v_prediction\",\"clip_sample\":false,"
                   "\"timestep_spacing\":\"trailing\"}",
         .prediction = DIT_PREDICTION_V,
         .steps = 48},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_paper(&cases[i], solve_ddim);
}

static void ddpm_is_ho_et_al(void **state)
{
    static const paper_case cases[] = {
        {.config = "{\"_class_name\":\"DDPMScheduler\",\"clip_sample\":false}", .steps = 6},
        {.config = "{\"_class_name\":\"DDPMScheduler\"}", .clip = 1.0, .steps = 20},
        {.config = "{\"_class_name\":\"DDPMScheduler\",\"clip_sample\":false,\"variance_type\":\"fixed_small_log\"}",
         .steps = 10},
        {.config = "{\"_class_name\":\"DDPMScheduler\",\"clip_sample\":false,\"variance_type\":\"fixed_large\"}",
         .large = true,
         .steps = 20},
        {.config = "{\"_class_name\":\"DDPMScheduler\",\"clip_sample\":false,\"prediction_type\":\"v_prediction\","
                   "\"timestep_spacing\":\"trailing\"}",
         .prediction = DIT_PREDICTION_V,
         .steps = 12},
        {.config = "{\"_class_name\":\"DDPMScheduler\",\"clip_sample\":false,\"prediction_type\":\"sample\","
                   "\"timestep_spacing\":\"linspace\"}",
         .prediction = DIT_PREDICTION_SAMPLE,
         .steps = 12},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_paper(&cases[i], solve_ddpm);
}

static void cogvideox_dpm_is_lu_et_al(void **state)
{
    static const paper_case cases[] = {
        {.config = "{\"_class_name\":\"CogVideoXDPMScheduler\",\"prediction_type\":\"v_prediction\","
                   "\"rescale_betas_zero_snr\":true,\"timestep_spacing\":\"trailing\"}",
         .prediction = DIT_PREDICTION_V,
         .shift = 3.0,
         .steps = 6},
        {.config = "{\"_class_name\":\"CogVideoXDPMScheduler\",\"prediction_type\":\"v_prediction\","
                   "\"rescale_betas_zero_snr\":true,\"timestep_spacing\":\"trailing\",\"snr_shift_scale\":1.0}",
         .prediction = DIT_PREDICTION_V,
         .shift = 1.0,
         .steps = 50},
        {.config = "{\"_class_name\":\"CogVideoXDPMScheduler\",\"prediction_type\":\"sample\","
                   "\"rescale_betas_zero_snr\":true,\"timestep_spacing\":\"leading\"}",
         .prediction = DIT_PREDICTION_SAMPLE,
         .shift = 3.0,
         .steps = 20},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_paper(&cases[i], solve_video_dpm);
}

/* ---- UniPC ------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *config;
    int order, steps, kept; /* kept: the step after which nothing is corrected, or -1 */
    bool bh1, noise_prediction, flow;
    dit_prediction prediction;
} unipc_case;

static double determinant(int n, double m[3][3])
{
    if (n == 1) return m[0][0];
    if (n == 2) return m[0][0] * m[1][1] - m[0][1] * m[1][0];
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* Zhao et al.: sum_k r_k^(n-1) a_k B = h^n n! phi_(n+1), with phi_k by its series, by Cramer's rule. */
static void unipc_weights(int n, const double *r, double hh, double bh, double *rho)
{
    double matrix[3][3], right[3];
    for (int i = 0; i < n; i++) {
        double term = 1.0, series = 0.0; /* phi_(i+2)(hh) = sum_j hh^j / (j + i + 2)! */
        for (int k = 2; k <= i + 2; k++) term /= k;
        for (int j = 0; j < 60; j++) series += term, term *= hh / (j + i + 3);
        right[i] = hh * tgamma(i + 2) * series / bh;
        for (int k = 0; k < n; k++) matrix[i][k] = pow(r[k], i);
    }
    for (int k = 0; k < n; k++) {
        double replaced[3][3];
        memcpy(replaced, matrix, sizeof replaced);
        for (int i = 0; i < n; i++) replaced[i][k] = right[i];
        rho[k] = determinant(n, replaced) / determinant(n, matrix);
    }
}

typedef struct {
    double alpha, sigma, lambda;
} level;

static level level_of(const unipc_case *c, double noise_over_signal)
{
    level l = {1.0 - noise_over_signal, noise_over_signal, 0};
    if (!c->flow)
        l.alpha = 1.0 / sqrt(noise_over_signal * noise_over_signal + 1.0), l.sigma = noise_over_signal * l.alpha;
    l.lambda = log(l.alpha) - log(l.sigma);
    return l;
}

/* x at level i + 1 from x at level i; m are the outputs at levels 0..; corrected: m[i + 1] takes part. */
static double unipc_move(const unipc_case *c, const float *sigmas, const double *m, int i, int order, bool corrected,
                         double x)
{
    level from = level_of(c, sigmas[i]), to = level_of(c, sigmas[i + 1]);
    double h = to.lambda - from.lambda, hh = c->noise_prediction ? h : -h, r[3], d[3], rho[3], sum = 0;
    double drive = c->noise_prediction ? to.sigma : to.alpha, bh = c->bh1 ? hh : expm1(hh);
    double keep = c->noise_prediction ? to.alpha / from.alpha : to.sigma / from.sigma;
    int n = 0;
    for (int k = 1; k < order; k++, n++) {
        r[n] = (level_of(c, sigmas[i - k]).lambda - from.lambda) / h;
        d[n] = (m[i - k] - m[i]) / r[n];
    }
    if (corrected) r[n] = 1.0, d[n] = m[i + 1] - m[i], n++;
    if (n > 0 && !isinf(h)) unipc_weights(n, r, hh, bh, rho);
    if (n == 1) rho[0] = 0.5;
    for (int k = 0; k < n; k++) sum += rho[k] * d[k];
    return keep * x - drive * expm1(hh) * m[i] - (n ? drive * bh * sum : 0.0);
}

static double solve_unipc(const unipc_case *c, const float *sigmas, int upto, int64_t element)
{
    double x = normal("start", 0, element), corrected_x = 0, m[MAX_STEPS];
    int order = 0;
    for (int i = 0; i < upto; i++) {
        level at = level_of(c, sigmas[i]);
        double out = normal("model", i, element), x0 = x - at.sigma * out, noise = 0;
        if (!c->flow) meaning(c->prediction, at.alpha * at.alpha, x, out, &x0, &noise);
        m[i] = c->noise_prediction ? noise : x0;
        if (i > 0 && i - 1 != c->kept) x = unipc_move(c, sigmas, m, i - 1, order, true, corrected_x);
        corrected_x = x;
        order = (int)fmin(fmin(c->order, i + 1), c->steps - i);
        x = unipc_move(c, sigmas, m, i, order, false, x);
    }
    return x;
}

static void expect_unipc(const unipc_case *c)
{
    fixture f;
    float sample[ELEMENTS];
    double expected[ELEMENTS];
    open_fixture(&f, "ref", c->config);
    dit_scheduler *scheduler = create(&f, c->steps, ELEMENTS, 0);
    for (int64_t e = 0; e < ELEMENTS; e++) sample[e] = normal("start", 0, e);
    for (int i = 0; i < c->steps; i++) {
        take_step(scheduler, i, sample);
        for (int64_t e = 0; e < ELEMENTS; e++) expected[e] = solve_unipc(c, scheduler->sigmas, i + 1, e);
        expect_close(c->config, i, sample, expected);
    }
    close_fixture(&f);
}

#define UNIPC "{\"_class_name\":\"UniPCMultistepScheduler\""

static void unipc_is_zhao_et_al(void **state)
{
    static const unipc_case cases[] = {
        {.config = UNIPC ",\"solver_order\":1}", .order = 1, .steps = 6, .kept = -1},
        {.config = UNIPC "}", .order = 2, .steps = 6, .kept = -1},
        {.config = UNIPC ",\"disable_corrector\":[2]}", .order = 2, .steps = 6, .kept = 2},
        {.config = UNIPC ",\"solver_order\":3}", .order = 3, .steps = 8, .kept = -1},
        {.config = UNIPC ",\"solver_type\":\"bh1\",\"beta_schedule\":\"scaled_linear\"}",
         .order = 2,
         .steps = 8,
         .kept = -1,
         .bh1 = true},
        {.config = UNIPC ",\"prediction_type\":\"v_prediction\",\"solver_order\":3,\"timestep_spacing\":\"trailing\"}",
         .order = 3,
         .steps = 10,
         .kept = -1,
         .prediction = DIT_PREDICTION_V},
        {.config = UNIPC ",\"predict_x0\":false,\"final_sigmas_type\":\"sigma_min\",\"solver_order\":2}",
         .order = 2,
         .steps = 8,
         .kept = -1,
         .noise_prediction = true},
        {.config = UNIPC ",\"prediction_type\":\"flow_prediction\",\"use_flow_sigmas\":true,\"flow_shift\":5.0,"
                         "\"solver_order\":3}",
         .order = 3,
         .steps = 10,
         .kept = -1,
         .flow = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_unipc(&cases[i]);
}

/* ---- Euler ------------------------------------------------------------------------------------------------------- */

/* Karras et al., equation 4 with sigma(t) = t, and the v of Salimans and Ho in terms of sigma. */
static void euler_is_karras_et_al(void **state)
{
    static const struct {
        const char *config;
        dit_prediction prediction;
    } cases[] = {
        {"{\"_class_name\":\"EulerDiscreteScheduler\",\"prediction_type\":\"v_prediction\"}", DIT_PREDICTION_V},
        {"{\"_class_name\":\"EulerDiscreteScheduler\",\"prediction_type\":\"v_prediction\",\"timestep_spacing\":"
         "\"trailing\",\"beta_schedule\":\"scaled_linear\"}",
         DIT_PREDICTION_V},
        {"{\"_class_name\":\"EulerDiscreteScheduler\",\"prediction_type\":\"sample\",\"final_sigmas_type\":"
         "\"sigma_min\"}",
         DIT_PREDICTION_SAMPLE},
        {"{\"_class_name\":\"EulerDiscreteScheduler\",\"timestep_spacing\":\"leading\",\"steps_offset\":1}",
         DIT_PREDICTION_EPSILON},
    };
    enum { STEPS_HERE = 12 };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fixture f;
        float sample[ELEMENTS];
        double expected[ELEMENTS];
        open_fixture(&f, "cpu", cases[c].config);
        dit_scheduler *scheduler = create(&f, STEPS_HERE, ELEMENTS, 0);
        for (int64_t e = 0; e < ELEMENTS; e++)
            expected[e] = sample[e] = scheduler->init_noise_sigma * normal("start", 0, e);
        for (int i = 0; i < STEPS_HERE; i++) {
            double sigma = scheduler->sigmas[i], next = scheduler->sigmas[i + 1], x0, noise;
            take_step(scheduler, i, sample);
            for (int64_t e = 0; e < ELEMENTS; e++) {
                double a = 1 / (sigma * sigma + 1); /* the same point on the variance-preserving path */
                meaning(cases[c].prediction, a, sqrt(a) * expected[e], normal("model", i, e), &x0, &noise);
                expected[e] = x0 + next * noise;
            }
            expect_close(cases[c].config, i, sample, expected);
        }
        close_fixture(&f);
    }
}

/* ---- what holds of every solver ---------------------------------------------------------------------------------- */

static const struct {
    const char *config;
    double eta;
} all_classes[] = {
    {"{\"_class_name\":\"DPMSolverMultistepScheduler\"}", 0},
    {"{\"_class_name\":\"DPMSolverMultistepScheduler\",\"solver_type\":\"heun\",\"prediction_type\":\"v_prediction\"}",
     0},
    {"{\"_class_name\":\"FlowMatchEulerDiscreteScheduler\",\"shift\":3.0}", 0},
    {"{\"_class_name\":\"DDIMScheduler\",\"clip_sample\":false}", 0},
    {"{\"_class_name\":\"DDIMScheduler\",\"clip_sample\":false}", 0.8},
    {"{\"_class_name\":\"DDIMScheduler\",\"clip_sample\":false,\"prediction_type\":\"sample\"}", 0},
    {"{\"_class_name\":\"DDPMScheduler\",\"clip_sample\":false}", 0},
    {"{\"_class_name\":\"EulerDiscreteScheduler\",\"timestep_spacing\":\"leading\"}", 0},
    {"{\"_class_name\":\"EulerDiscreteScheduler\",\"prediction_type\":\"v_prediction\"}", 0},
    {"{\"_class_name\":\"EulerDiscreteScheduler\",\"prediction_type\":\"sample\"}", 0},
    {"{\"_class_name\":\"UniPCMultistepScheduler\",\"solver_order\":3}", 0},
    {"{\"_class_name\":\"UniPCMultistepScheduler\",\"solver_type\":\"bh1\"}", 0},
    {"{\"_class_name\":\"UniPCMultistepScheduler\",\"use_flow_sigmas\":true,\"prediction_type\":\"flow_prediction\"}",
     0},
    {"{\"_class_name\":\"CogVideoXDDIMScheduler\",\"prediction_type\":\"v_prediction\"}", 0},
    {"{\"_class_name\":\"CogVideoXDPMScheduler\",\"prediction_type\":\"v_prediction\"}", 0},
};
enum { CLASSES = sizeof all_classes / sizeof *all_classes, STEPS = 8 };

/* Runs elements [first, first + count) of the batch, with a model output that depends on the sample. */
static void run_part(fixture *f, dit_scheduler *scheduler, int64_t count, float *sample)
{
    float input[ELEMENTS], output[ELEMENTS];
    for (int64_t e = 0; e < count; e++) sample[e] = scheduler->init_noise_sigma * normal("start", 0, f->first + e);
    for (int step = 0; step < STEPS; step++) {
        dit_scheduler_scale_input(scheduler, step, sample, input);
        for (int64_t e = 0; e < count; e++) output[e] = tanhf(input[e]) + 0.1f * normal("model", step, f->first + e);
        dit_scheduler_step(scheduler, step, output, sample);
    }
}

/* Data that is one point: sample = alpha x0 + sigma noise, and the model knows it. Every solver ends at x0 exactly. */
static void a_true_model_is_followed_to_the_clean_sample(void **state)
{
    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        fixture f;
        open_fixture(&f, "cpu", all_classes[c].config);
        dit_scheduler *scheduler = create(&f, STEPS, ELEMENTS, all_classes[c].eta);
        bool flow = strstr(all_classes[c].config, "flow") || strstr(all_classes[c].config, "Flow");
        bool wide = scheduler->ops->scale_input != NULL, v = strstr(all_classes[c].config, "v_prediction");
        bool clean = strstr(all_classes[c].config, "\"sample\"");
        float sample[ELEMENTS], output[ELEMENTS];
        for (int64_t e = 0; e < ELEMENTS; e++) sample[e] = scheduler->init_noise_sigma * normal("start", 0, e);
        for (int step = 0; step < STEPS; step++) {
            double ratio = scheduler->sigmas[step], alpha = flow ? 1 - ratio : 1 / sqrt(ratio * ratio + 1);
            double sigma = flow ? ratio : ratio * alpha;
            for (int64_t e = 0; e < ELEMENTS; e++) {
                double x0 = normal("clean", 0, e), x = wide ? alpha * sample[e] : sample[e];
                double noise = (x - alpha * x0) / sigma;
                output[e] = (float)(clean ? x0 : flow ? noise - x0 : v ? alpha * noise - sigma * x0 : noise);
            }
            dit_scheduler_step(scheduler, step, output, sample);
        }
        for (int64_t e = 0; e < ELEMENTS; e++) {
            if (!(fabs(sample[e] - normal("clean", 0, e)) < 2e-5))
                print_error("%s: element %lld: %g, not %g\n", all_classes[c].config, (long long)e, (double)sample[e],
                            (double)normal("clean", 0, e));
            assert_true(fabs(sample[e] - normal("clean", 0, e)) < 2e-5);
        }
        close_fixture(&f);
    }
}

static void any_split_into_shards_gives_the_same_bits(void **state)
{
    static const char *const backends[] = {"ref", "cpu"};
    static const int64_t counts[] = {1, 16, 33, 47};
    (void)state;
    for (int c = 0; c < 2 * CLASSES; c++) {
        float whole[ELEMENTS], part[ELEMENTS];
        fixture f;
        open_fixture(&f, backends[c % 2], all_classes[c / 2].config);
        run_part(&f, create(&f, STEPS, ELEMENTS, all_classes[c / 2].eta), ELEMENTS, whole);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; f.first += counts[i++])
            run_part(&f, create(&f, STEPS, counts[i], all_classes[c / 2].eta), counts[i], part + f.first);
        assert_int_equal(f.first, ELEMENTS);
        assert_memory_equal(part, whole, sizeof whole);
        close_fixture(&f);
    }
}

/* The same scheduler makes image after image; steps ask for no memory. */
static void a_second_run_forgets_the_first_and_allocates_nothing(void **state)
{
    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        float first[ELEMENTS], second[ELEMENTS];
        fixture f;
        open_fixture(&f, "cpu", all_classes[c].config);
        dit_scheduler *scheduler = create(&f, STEPS, ELEMENTS, all_classes[c].eta);
        int64_t calls = f.rt.ledger.calls, used = f.rt.ledger.total_used;
        run_part(&f, scheduler, ELEMENTS, first);
        run_part(&f, scheduler, ELEMENTS, second);
        assert_memory_equal(first, second, sizeof first);
        assert_int_equal(f.rt.ledger.calls, calls);
        assert_int_equal(f.rt.ledger.total_used, used);
        close_fixture(&f);
    }
}

/* Two clips of 3 frames of 8 tokens; a rank holds tokens [begin, begin + 2) of every frame of the second clip. */
static void step_noise_belongs_to_the_token_and_not_to_the_rank(void **state)
{
    enum { CHANNELS = 5, TOKENS = 24, CLIPS = 2, ALL = CLIPS * TOKENS * CHANNELS };
    float whole[ALL], again[ALL], part[6 * CHANNELS];
    dit_runtime rt = {.facts = {.num_images = CLIPS, .image_tokens = TOKENS}};
    dit_partition all = {.image_tokens = TOKENS,
                         .image_count = TOKENS,
                         .segments = 1,
                         .segment_tokens = TOKENS,
                         .segment_count = TOKENS,
                         .sequence_degree = 1,
                         .images = CLIPS};
    dit_sampler sampler = {.rt = &rt, .partition = all, .latents_of = all, .seed = 3, .channels = CHANNELS};
    (void)state;
    dit_sampler_draw(&sampler, (dit_range){0, sampler.partition.segment_count}, 4, 1.0f, whole);
    dit_sampler_draw(&sampler, (dit_range){0, sampler.partition.segment_count}, 5, 1.0f, again);
    for (int i = 0; i < ALL; i++) assert_true(again[i] != whole[i]); /* fresh at every step */
    for (int64_t begin = 0; begin < 8; begin += 2) {
        sampler.partition = (dit_partition){.image_tokens = TOKENS,
                                            .image_count = 6,
                                            .segments = 3,
                                            .segment_tokens = 8,
                                            .segment_count = 2,
                                            .sequence_rank = begin / 2,
                                            .sequence_degree = 4,
                                            .images = 1,
                                            .image_first = 1};
        sampler.latents_of = sampler.partition;
        dit_sampler_draw(&sampler, (dit_range){0, sampler.partition.segment_count}, 4, 1.0f, part);
        for (int64_t row = 0; row < 6; row++)
            assert_memory_equal(part + row * CHANNELS,
                                whole + (TOKENS + dit_partition_token(&sampler.partition, row)) * CHANNELS,
                                CHANNELS * sizeof *part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ddim_is_song_et_al),
        cmocka_unit_test(ddpm_is_ho_et_al),
        cmocka_unit_test(cogvideox_dpm_is_lu_et_al),
        cmocka_unit_test(unipc_is_zhao_et_al),
        cmocka_unit_test(euler_is_karras_et_al),
        cmocka_unit_test(a_true_model_is_followed_to_the_clean_sample),
        cmocka_unit_test(any_split_into_shards_gives_the_same_bits),
        cmocka_unit_test(a_second_run_forgets_the_first_and_allocates_nothing),
        cmocka_unit_test(step_noise_belongs_to_the_token_and_not_to_the_rank),
    };
    return RUN_ON_EACH_ISA(tests, NULL, NULL);
}
