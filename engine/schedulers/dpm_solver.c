/* DPM-Solver++ (orders 1 and 2, multistep). Source: Lu et al., DPM-Solver++ (arXiv:2211.01095); timestep spacing, sigma
 * interpolation and order rules of diffusers 0.33.1 DPMSolverMultistepScheduler.
 *
 * With x0 the predicted clean sample, lambda = log(alpha/sigma), h = lambda_t - lambda_s:
 *   first order   x_t = (sigma_t/sigma_s) x - alpha_t (e^-h - 1) x0
 *   second order  midpoint: ... - 1/2 alpha_t (e^-h - 1) D1,  heun: ... + alpha_t ((e^-h - 1)/h + 1) D1,
 *                 D1 = (x0 - x0_prev) / r0, r0 = h_prev / h
 */
#include "engine/schedulers/betas.h"

#include <math.h>
#include <string.h>

typedef struct {
    int order;
    bool heun, lower_order_final, euler_at_final, zero_final;
    dit_prediction prediction;
    float *x0[2]; /* newest at [step & 1] */
} dpm_state;

/* Applies lambda_min_clipped, which cuts the noisy end off: training timesteps below *end have a lambda above it. */
static dit_status usable_timesteps(const dit_scheduler_params *params, const scheduler_betas *betas, int64_t *end)
{
    double least = -INFINITY;
    DIT_TRY(dit_json_optional_number(params->doc, params->config, params->pointer, "lambda_min_clipped", -1e30, 1e30,
                                     &least));
    *end = betas->count;
    while (*end > 2 && logf((float)sqrt(betas->product[*end - 1])) - logf((float)sqrt(1.0 - betas->product[*end - 1])) <
                           (float)least)
        --*end;
    return DIT_OK;
}

static dit_status read_solver(const dit_scheduler_params *params, dpm_state *s)
{
    static const char *const refused[] = {"use_karras_sigmas",
                                          "use_exponential_sigmas",
                                          "use_beta_sigmas",
                                          "use_lu_lambdas",
                                          "use_flow_sigmas",
                                          "thresholding",
                                          NULL};
    const dit_json *doc = params->doc;
    const cJSON *config = params->config;
    const char *algorithm = "dpmsolver++", *solver = "midpoint", *variance = "";
    int64_t order = 2;
    s->lower_order_final = true;
    DIT_TRY(scheduler_refuse_options(params, refused));
    DIT_TRY(scheduler_read_prediction(params, &s->prediction));
    DIT_TRY(dit_json_optional_int(doc, config, params->pointer, "solver_order", 1, 3, &order));
    DIT_TRY(dit_json_optional_string(doc, config, params->pointer, "algorithm_type", &algorithm));
    DIT_TRY(dit_json_optional_string(doc, config, params->pointer, "solver_type", &solver));
    DIT_TRY(dit_json_optional_string(doc, config, params->pointer, "variance_type", &variance));
    DIT_TRY(scheduler_read_final_sigma(params, &s->zero_final));
    DIT_TRY(dit_json_optional_bool(doc, config, params->pointer, "lower_order_final", &s->lower_order_final));
    DIT_TRY(dit_json_optional_bool(doc, config, params->pointer, "euler_at_final", &s->euler_at_final));
    s->order = (int)order;
    s->heun = strcmp(solver, "heun") == 0;
    if (order == 3 || strcmp(algorithm, "dpmsolver++") != 0 || (!s->heun && strcmp(solver, "midpoint") != 0) ||
        s->prediction == DIT_PREDICTION_FLOW)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "DPM-Solver %s order %lld, solver_type %s is not implemented", algorithm,
                        (long long)order, solver);
    if (*variance) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "variance_type \"%s\" is not implemented", variance);
    return DIT_OK;
}

static dit_status place_sigmas(const dit_scheduler_params *params, const scheduler_betas *betas,
                               dit_scheduler *scheduler)
{
    const dpm_state *s = scheduler->state;
    int64_t end;
    DIT_TRY(usable_timesteps(params, betas, &end));
    DIT_TRY(scheduler_place_timesteps(
        params, &(scheduler_spacing){.spacing = "linspace", .train = betas->count, .end = end, .multistep = true},
        scheduler->timesteps));
    for (int i = 0; i < params->steps; i++) scheduler->sigmas[i] = scheduler_sigma_at(betas, scheduler->timesteps[i]);
    scheduler->sigmas[params->steps] = s->zero_final ? 0.0f : scheduler_sigma_of(betas->product[0]);
    return DIT_OK;
}

static dit_status dpm_create(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    static const scheduler_beta_rules rules = {
        .schedule = "linear", .start = 0.0001, .end = 0.02, .positive_signal = true};
    scheduler_betas betas;
    DIT_TRY(scheduler_alloc(scheduler, params, sizeof(dpm_state)));
    dpm_state *s = scheduler->state;
    DIT_TRY(read_solver(params, s));
    for (int i = 0; i < 2; i++) DIT_TRY(dit_arena_fp32(&params->rt->image, params->elements, &s->x0[i]));
    DIT_TRY(scheduler_betas_read(params, &rules, &betas));
    dit_status st = place_sigmas(params, &betas, scheduler);
    scheduler_betas_release(&betas);
    return st;
}

/* Splits a noise level into alpha and the variance-preserving sigma. */
static void split_sigma(float level, double *alpha, double *sigma)
{
    *alpha = 1.0 / sqrt((double)level * level + 1.0);
    *sigma = level * *alpha;
}

static double lambda_of(float level)
{
    return -log((double)level);
} /* log(alpha/sigma); +inf at 0 */

static dit_status dpm_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    const dpm_state *s = scheduler->state;
    const float *sigmas = scheduler->sigmas;
    bool last = step == scheduler->steps - 1;
    bool lower = last && (s->euler_at_final || (s->lower_order_final && scheduler->steps < 15) || s->zero_final);
    float *x0 = s->x0[step & 1];
    const float *previous = s->x0[(step + 1) & 1];
    double alpha_t, sigma_t, alpha_s, sigma_s;
    split_sigma(sigmas[step + 1], &alpha_t, &sigma_t);
    split_sigma(sigmas[step], &alpha_s, &sigma_s);
    scheduler_clean_sample(scheduler, s->prediction, alpha_s, sigma_s, model_output, sample, x0);
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
    return DIT_OK;
}

const dit_scheduler_ops dit_scheduler_dpm_solver = {
    .class_name = "DPMSolverMultistepScheduler",
    .create = dpm_create,
    .step = dpm_step,
};
