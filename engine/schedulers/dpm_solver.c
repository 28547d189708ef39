/* DPM-Solver++ (orders 1 and 2, multistep). Source: Lu et al., DPM-Solver++ (arXiv:2211.01095); timestep spacing, sigma
 * interpolation and order rules of diffusers 0.33.1 DPMSolverMultistepScheduler.
 *
 * With x0 the predicted clean sample, lambda = log(alpha/sigma), h = lambda_t - lambda_s:
 *   first order   x_t = (sigma_t/sigma_s) x - alpha_t (e^-h - 1) x0
 *   second order  midpoint: ... - 1/2 alpha_t (e^-h - 1) D1,  heun: ... + alpha_t ((e^-h - 1)/h + 1) D1,
 *                 D1 = (x0 - x0_prev) / r0, r0 = h_prev / h
 */
#include "engine/schedulers/scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRAIN_STEPS = 100000 };

typedef struct {
    int order;
    bool heun, lower_order_final, euler_at_final, zero_final;
    dit_prediction prediction;
    float *x0[2]; /* newest at [step & 1] */
} dpm_state;

static dit_status read_betas(const dit_scheduler_params *params, int64_t *count, double *start, double *end,
                             bool *scaled)
{
    const char *schedule = "linear";
    const dit_json *doc = params->doc;
    const cJSON *config = params->config;
    *count = 1000, *start = 0.0001, *end = 0.02;
    DIT_TRY(dit_json_optional_int(doc, config, params->pointer, "num_train_timesteps", 2, MAX_TRAIN_STEPS, count));
    DIT_TRY(dit_json_optional_number(doc, config, params->pointer, "beta_start", 0, 1, start));
    DIT_TRY(dit_json_optional_number(doc, config, params->pointer, "beta_end", 0, 0.999999, end));
    DIT_TRY(dit_json_optional_string(doc, config, params->pointer, "beta_schedule", &schedule));
    *scaled = strcmp(schedule, "scaled_linear") == 0;
    if (!*scaled && strcmp(schedule, "linear") != 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "beta_schedule \"%s\" is not built", schedule);
    return DIT_OK;
}

/* Training sigmas sqrt((1-a)/a) of the cumulative product a, float32 as the library keeps them. */
static dit_status training_sigmas(const dit_scheduler_params *params, int64_t *count, float **out)
{
    double start, end, product = 1.0;
    bool scaled;
    DIT_TRY(read_betas(params, count, &start, &end, &scaled));
    float *sigmas = malloc((size_t)*count * sizeof *sigmas);
    if (!sigmas) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld training sigmas", (long long)*count);
    float first = (float)(scaled ? sqrt(start) : start), last = (float)(scaled ? sqrt(end) : end);
    float stride = (last - first) / (float)(*count - 1);
    for (int64_t i = 0; i < *count; i++) {
        float beta = i < *count / 2 ? first + stride * (float)i : last - stride * (float)(*count - 1 - i);
        if (scaled) beta = beta * beta;
        product *= 1.0f - beta;
        float cumulative = (float)product;
        sigmas[i] = sqrtf((1.0f - cumulative) / cumulative);
    }
    *out = sigmas;
    return DIT_OK;
}

static dit_status place_timesteps(const dit_scheduler_params *params, int64_t train, float *timesteps)
{
    const char *spacing = "linspace";
    int64_t offset = 0, N = params->steps;
    DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, "timestep_spacing", &spacing));
    DIT_TRY(dit_json_optional_int(params->doc, params->config, params->pointer, "steps_offset", 0, 1000, &offset));
    for (int64_t i = 0; i < N; i++) {
        if (strcmp(spacing, "linspace") == 0)
            timesteps[i] = (float)rint((double)(N - i) * ((double)(train - 1) / (double)N));
        else if (strcmp(spacing, "leading") == 0)
            timesteps[i] = (float)((N - i) * (train / (N + 1)) + offset);
        else if (strcmp(spacing, "trailing") == 0)
            timesteps[i] = (float)(rint((double)train - (double)i * ((double)train / (double)N)) - 1.0);
        else
            return DIT_FAIL(DIT_ERR_UNSUPPORTED, "timestep_spacing \"%s\" is not built", spacing);
        if (timesteps[i] < 0 || timesteps[i] > (float)(train - 1))
            return DIT_FAIL(DIT_ERR_JSON_VALUE, "%lld steps with spacing %s leave the %lld training steps",
                            (long long)N, spacing, (long long)train);
    }
    return DIT_OK;
}

static dit_status read_solver(const dit_scheduler_params *params, dpm_state *s)
{
    static const char *const refused[] = {
        "use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas",        "use_lu_lambdas",
        "use_flow_sigmas",   "thresholding",           "rescale_betas_zero_snr", NULL};
    const dit_json *doc = params->doc;
    const cJSON *config = params->config;
    const char *algorithm = "dpmsolver++", *solver = "midpoint", *final = "zero";
    int64_t order = 2;
    s->lower_order_final = true;
    DIT_TRY(scheduler_refuse_options(params, refused));
    DIT_TRY(scheduler_read_prediction(params, &s->prediction));
    DIT_TRY(dit_json_optional_int(doc, config, params->pointer, "solver_order", 1, 3, &order));
    DIT_TRY(dit_json_optional_string(doc, config, params->pointer, "algorithm_type", &algorithm));
    DIT_TRY(dit_json_optional_string(doc, config, params->pointer, "solver_type", &solver));
    DIT_TRY(dit_json_optional_string(doc, config, params->pointer, "final_sigmas_type", &final));
    DIT_TRY(dit_json_optional_bool(doc, config, params->pointer, "lower_order_final", &s->lower_order_final));
    DIT_TRY(dit_json_optional_bool(doc, config, params->pointer, "euler_at_final", &s->euler_at_final));
    s->order = (int)order;
    s->heun = strcmp(solver, "heun") == 0;
    s->zero_final = strcmp(final, "zero") == 0;
    if (order == 3 || strcmp(algorithm, "dpmsolver++") != 0 || (!s->heun && strcmp(solver, "midpoint") != 0) ||
        s->prediction == DIT_PREDICTION_FLOW)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "DPM-Solver %s order %lld, solver_type %s is not built", algorithm,
                        (long long)order, solver);
    return DIT_OK;
}

static dit_status dpm_create(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    float *training = NULL;
    int64_t train = 0;
    DIT_TRY(scheduler_alloc(scheduler, params, sizeof(dpm_state)));
    dpm_state *s = scheduler->state;
    DIT_TRY(read_solver(params, s));
    for (int i = 0; i < 2; i++) DIT_TRY(dit_arena_floats(&params->rt->image, params->elements, &s->x0[i]));
    DIT_TRY(training_sigmas(params, &train, &training));
    dit_status st = place_timesteps(params, train, scheduler->timesteps);
    for (int i = 0; i < params->steps && st == DIT_OK; i++)
        scheduler->sigmas[i] = training[(int64_t)scheduler->timesteps[i]];
    scheduler->sigmas[params->steps] = s->zero_final ? 0.0f : training[0];
    free(training);
    return st;
}

/* alpha and the variance-preserving sigma of a noise level */
static void split_sigma(float level, double *alpha, double *sigma)
{
    *alpha = 1.0 / sqrt((double)level * level + 1.0);
    *sigma = level * *alpha;
}

static double lambda_of(float level)
{
    return -log((double)level);
} /* log(alpha/sigma); +inf at 0 */

static void to_clean(dit_scheduler *scheduler, int step, const float *model_output, const float *sample, float *x0)
{
    const dpm_state *s = scheduler->state;
    double alpha, sigma;
    split_sigma(scheduler->sigmas[step], &alpha, &sigma);
    dit_combine_args args = {.elements = scheduler->elements, .count = 2, .x = {sample, model_output}, .y = x0};
    switch (s->prediction) {
    case DIT_PREDICTION_V: args.a[0] = (float)alpha, args.a[1] = (float)-sigma; break;
    case DIT_PREDICTION_SAMPLE: args.a[0] = 0.0f, args.a[1] = 1.0f; break;
    default: args.a[0] = (float)(1.0 / alpha), args.a[1] = (float)(-sigma / alpha); break;
    }
    ops_combine(scheduler->rt, &args);
}

static void dpm_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    const dpm_state *s = scheduler->state;
    const float *sigmas = scheduler->sigmas;
    bool last = step == scheduler->steps - 1;
    bool lower = last && (s->euler_at_final || (s->lower_order_final && scheduler->steps < 15) || s->zero_final);
    float *x0 = s->x0[step & 1];
    const float *previous = s->x0[(step + 1) & 1];
    double alpha_t, sigma_t, alpha_s, sigma_s;
    to_clean(scheduler, step, model_output, sample, x0);
    split_sigma(sigmas[step + 1], &alpha_t, &sigma_t);
    split_sigma(sigmas[step], &alpha_s, &sigma_s);
    double h = lambda_of(sigmas[step + 1]) - lambda_of(sigmas[step]);
    double drive = alpha_t * (exp(-h) - 1.0);
    dit_combine_args args = {.elements = scheduler->elements,
                             .count = 2,
                             .x = {sample, x0, previous},
                             .a = {(float)(sigma_t / sigma_s), (float)-drive},
                             .y = sample};
    if (s->order == 2 && step > 0 && !lower) {
        double r0 = (lambda_of(sigmas[step]) - lambda_of(sigmas[step - 1])) / h;
        double slope = (s->heun ? alpha_t * ((exp(-h) - 1.0) / h + 1.0) : -0.5 * drive) / r0;
        args.count = 3;
        args.a[1] = (float)(-drive + slope);
        args.a[2] = (float)-slope;
    }
    ops_combine(scheduler->rt, &args);
}

const dit_scheduler_ops dit_scheduler_dpm_solver = {
    .class_name = "DPMSolverMultistepScheduler",
    .create = dpm_create,
    .step = dpm_step,
};
