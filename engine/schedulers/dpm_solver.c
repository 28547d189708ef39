/* DPM-Solver++ (orders 1 to 3, multistep). Source: Lu et al., DPM-Solver++ (arXiv:2211.01095); timestep spacing, sigma
 * interpolation and order rules of diffusers 0.33.1 DPMSolverMultistepScheduler.
 *
 * With x0 the predicted clean sample, lambda = log(alpha/sigma), h = lambda_t - lambda_s:
 *   first order   x_t = (sigma_t/sigma_s) x - alpha_t (e^-h - 1) x0
 *   second order  midpoint: ... - 1/2 alpha_t (e^-h - 1) D1,  heun: ... + alpha_t ((e^-h - 1)/h + 1) D1,
 *                 D1 = (x0 - x0_prev) / r0, r0 = h_prev / h
 *   third order   ... + alpha_t ((e^-h - 1)/h + 1) D1 - alpha_t ((e^-h - 1 + h)/h^2 - 1/2) D2, with E = D1 - (x0_prev - x0_prev2) / r1,
 *                 r1 = h_prev2 / h, D2 = E / (r0 + r1), and D1 + E r0 / (r0 + r1) instead of D1
 *
 * Of flow matching (use_flow_sigmas) alpha is 1 - sigma.
 */
#include "engine/schedulers/betas.h"

#include <math.h>
#include <string.h>

enum { MAX_ORDER = 3 };

typedef struct {
    int order;
    bool heun, lower_order_final, euler_at_final, zero_final, flow;
    dit_prediction prediction;
    float *x0[MAX_ORDER]; /* [order], that of a step at [step % order] */
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
    static const char *const refused[] = {"use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas",
                                          "use_lu_lambdas",    "thresholding",           NULL};
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
    DIT_TRY(dit_json_optional_bool(doc, config, params->pointer, "use_flow_sigmas", &s->flow));
    s->order = (int)order;
    s->heun = strcmp(solver, "heun") == 0;
    if (strcmp(algorithm, "dpmsolver++") != 0 || (!s->heun && strcmp(solver, "midpoint") != 0) ||
        (s->prediction == DIT_PREDICTION_FLOW && !s->flow))
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
    scheduler->sigmas[params->steps] = s->zero_final ? 0.0f : scheduler_sigma_of(betas->product[0]);
    if (s->flow) return scheduler_place_flow_sigmas(params, betas->count, scheduler);
    DIT_TRY(usable_timesteps(params, betas, &end));
    DIT_TRY(scheduler_place_timesteps(
        params, &(scheduler_spacing){.spacing = "linspace", .train = betas->count, .end = end, .multistep = true},
        scheduler->timesteps));
    for (int i = 0; i < params->steps; i++) scheduler->sigmas[i] = scheduler_sigma_at(betas, scheduler->timesteps[i]);
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
    for (int i = 0; i < s->order; i++) DIT_TRY(dit_arena_fp32(&params->rt->image, params->elements, &s->x0[i]));
    DIT_TRY(scheduler_betas_read(params, &rules, &betas));
    dit_status st = place_sigmas(params, &betas, scheduler);
    scheduler_betas_release(&betas);
    return st;
}

/* A noise level as alpha, sigma, and the logarithm of their ratio; +inf at 0. */
typedef struct {
    double alpha, sigma, lambda;
} level;

static level level_of(const dit_scheduler *scheduler, int index)
{
    const dpm_state *s = scheduler->state;
    double x = scheduler->sigmas[index];
    if (s->flow) return (level){1.0 - x, x, log(1.0 - x) - log(x)};
    double alpha = 1.0 / sqrt(x * x + 1.0);
    return (level){alpha, x * alpha, -log(x)};
}

/* The order of a step: what history there is, and less at the end of a short run. */
static int order_of(const dit_scheduler *scheduler, int step)
{
    const dpm_state *s = scheduler->state;
    int left = scheduler->steps - step, order = s->order < step + 1 ? s->order : step + 1;
    bool is_short = s->lower_order_final && scheduler->steps < 15;
    if (left == 1 && (s->euler_at_final || is_short || s->zero_final)) return 1;
    return is_short && order > left ? left : order;
}

/* Weights of x0 of this step and of those before it. */
static void weigh(const dit_scheduler *scheduler, int step, double a[MAX_ORDER])
{
    const dpm_state *s = scheduler->state;
    const level to = level_of(scheduler, step + 1), from = level_of(scheduler, step);
    double h = to.lambda - from.lambda, shrink = exp(-h) - 1.0;
    int order = order_of(scheduler, step);
    a[0] = -to.alpha * shrink, a[1] = a[2] = 0;
    if (order < 2) return;
    const level before = level_of(scheduler, step - 1);
    double r0 = (from.lambda - before.lambda) / h, slope = to.alpha * (shrink / h + 1.0);
    if (order == 2) {
        double first = (s->heun ? slope : -0.5 * to.alpha * shrink) / r0;
        a[0] += first, a[1] -= first;
        return;
    }
    double r1 = (before.lambda - level_of(scheduler, step - 2).lambda) / h;
    double bend = -to.alpha * ((shrink + h) / (h * h) - 0.5), both = (slope * r0 + bend) / (r0 + r1);
    double newer = (slope + both) / r0, older = -both / r1; /* of the differences x0 - x0_prev, x0_prev - x0_prev2 */
    a[0] += newer, a[1] += older - newer, a[2] -= older;
}

static dit_status dpm_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    const dpm_state *s = scheduler->state;
    const level to = level_of(scheduler, step + 1), from = level_of(scheduler, step);
    float *x0 = s->x0[step % s->order];
    int order = order_of(scheduler, step);
    double a[MAX_ORDER];
    scheduler_clean_sample(scheduler, s->prediction, from.alpha, from.sigma, model_output, sample, x0);
    weigh(scheduler, step, a);
    dit_combine_args args = {.elements = scheduler->elements,
                             .count = 1 + order,
                             .x = {sample},
                             .a = {(float)(to.sigma / from.sigma)},
                             .y = sample};
    for (int i = 0; i < order; i++) {
        args.x[1 + i] = s->x0[(step - i) % s->order];
        args.a[1 + i] = (float)a[i];
    }
    ops_combine(scheduler->rt, &args);
    return DIT_OK;
}

const dit_scheduler_ops dit_scheduler_dpm_solver = {
    .class_name = "DPMSolverMultistepScheduler",
    .remembers = true,
    .create = dpm_create,
    .step = dpm_step,
};
