/* UniPC: a multistep predictor with a corrector of equal order. Source: Zhao et al., UniPC (arXiv:2302.04867), for data
 * and for noise prediction; timesteps, sigmas and order rules of diffusers 0.33.1 UniPCMultistepScheduler.
 *
 * With lambda = log(alpha / sigma), h = lambda_t - lambda_s, m_k the converted model outputs (x0, or the noise) from
 * newest to older, r_k = (lambda_k - lambda_s) / h, D_k = (m_k - m_0) / r_k, and hh = -h for x0, h for noise:
 *
 *   x0      x_t = sigma_t / sigma_s x - alpha_t (e^hh - 1) m_0 - alpha_t B(hh) sum rho_k D_k
 *
 *   noise   x_t = alpha_t / alpha_s x - sigma_t (e^hh - 1) m_0 - sigma_t B(hh) sum rho_k D_k
 *
 * B(hh) is hh (bh1) or e^hh - 1 (bh2). The rho solve sum_k r_k^(i-1) rho_k = b_i, b_i = i! phi_(i+1)(hh) hh / B(hh).
 * The corrector repeats the last step with the model output at its end as one more D, r = 1.
 */
#include "engine/schedulers/betas.h"

#include "base/json.h"
#include "base/words.h"

#include <math.h>
#include <string.h>

enum { MAX_ORDER = 3, HISTORY = MAX_ORDER + 1 };

typedef struct {
    int order;
    bool bh1, predict_clean, lower_order_final, flow, zero_final;
    dit_prediction prediction;
    bool *keeps;           /* [steps] whether the sample after this step stays uncorrected */
    int *orders;           /* [steps] order of each predictor and of its corrector      */
    float *model[HISTORY]; /* converted outputs, that of step i at [i % HISTORY]        */
    float *last_sample;    /* where the last predictor began                            */
} unipc_state;

/* x_t = x a + sum of m[k] b[k] */
typedef struct {
    double x, m[HISTORY];
} update;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static dit_status read_solver_type(const dit_scheduler_params *params, unipc_state *s)
{
    static const char *const names[] = {"bh1", "bh2", "midpoint", "heun", "logrho", NULL}; /* all but bh1 mean bh2 */
    const char *solver = "bh2";
    DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, "solver_type", &solver));
    s->bh1 = strcmp(solver, names[0]) == 0;
    if (dit_words_find(names, solver) >= 0) return DIT_OK;
    return dit_fail_word(DIT_ERR_UNSUPPORTED, "solver_type", solver, names);
}

static dit_status read_kept_steps(const dit_scheduler_params *params, unipc_state *s)
{
    const cJSON *list = NULL, *entry;
    DIT_TRY(dit_json_optional_array(params->doc, params->config, params->pointer, "disable_corrector", &list));
    cJSON_ArrayForEach(entry, list)
    {
        if (!cJSON_IsNumber(entry))
            return dit_json_fail(params->doc, params->pointer, DIT_ERR_JSON_TYPE,
                                 "disable_corrector is not a list of step numbers");
        if (entry->valuedouble >= 0 && entry->valuedouble < params->steps) s->keeps[(int)entry->valuedouble] = true;
    }
    return DIT_OK;
}

static dit_status read_options(const dit_scheduler_params *params, unipc_state *s)
{
    static const char *const refused[] = {"use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas",
                                          "thresholding", NULL};
    const dit_json *doc = params->doc;
    const cJSON *config = params->config;
    int64_t order = 2;
    s->predict_clean = s->lower_order_final = true;
    DIT_TRY(scheduler_refuse_options(params, refused));
    DIT_TRY(scheduler_read_prediction(params, &s->prediction));
    DIT_TRY(scheduler_read_final_sigma(params, &s->zero_final));
    DIT_TRY(dit_json_optional_int(doc, config, params->pointer, "solver_order", 1, 1000, &order));
    DIT_TRY(dit_json_optional_bool(doc, config, params->pointer, "predict_x0", &s->predict_clean));
    DIT_TRY(dit_json_optional_bool(doc, config, params->pointer, "lower_order_final", &s->lower_order_final));
    DIT_TRY(dit_json_optional_bool(doc, config, params->pointer, "use_flow_sigmas", &s->flow));
    DIT_TRY(read_solver_type(params, s));
    if (order > MAX_ORDER)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "solver_order %lld is not implemented; 1 to %d are", (long long)order,
                        MAX_ORDER);
    s->order = (int)order;
    return DIT_OK;
}

/* Refuses combinations that diffusers accepts but that give no number, or no meaningful one. */
static dit_status check_options(const dit_scheduler_params *params, const unipc_state *s)
{
    if (dit_json_member(params->config, "solver_p"))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "solver_p, another scheduler as predictor, is not implemented");
    if (s->prediction == DIT_PREDICTION_FLOW && (!s->flow || !s->predict_clean))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "flow_prediction needs use_flow_sigmas and predict_x0");
    if (s->zero_final && !s->predict_clean)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "predict_x0 false has no finite step to sigma 0"),
                              "set final_sigmas_type sigma_min");
    if (s->zero_final && !s->lower_order_final && s->order > 1 && params->steps > 1)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "order %d has no finite step to sigma 0", s->order),
                              "set lower_order_final, or final_sigmas_type sigma_min");
    return DIT_OK;
}

/* ---- sigmas ------------------------------------------------------------------------------------------------------ */

static dit_status place_sigmas(const dit_scheduler_params *params, const scheduler_betas *betas,
                               dit_scheduler *scheduler)
{
    const unipc_state *s = scheduler->state;
    if (s->flow) {
        DIT_TRY(scheduler_place_flow_sigmas(params, betas->count, scheduler));
        scheduler->sigmas[params->steps] = s->zero_final ? 0.0f : scheduler->sigmas[params->steps - 1];
        return DIT_OK;
    }
    DIT_TRY(scheduler_place_timesteps(
        params, &(scheduler_spacing){.spacing = "linspace", .train = betas->count, .multistep = true},
        scheduler->timesteps));
    for (int i = 0; i < params->steps; i++) scheduler->sigmas[i] = scheduler_sigma_at(betas, scheduler->timesteps[i]);
    scheduler->sigmas[params->steps] = s->zero_final ? 0.0f : scheduler_sigma_of(betas->product[0]);
    return DIT_OK;
}

static void plan_orders(const dit_scheduler_params *params, unipc_state *s)
{
    for (int i = 0; i < params->steps; i++) {
        int left = params->steps - i, order = s->order;
        if (s->lower_order_final && left < order) order = left;
        s->orders[i] = i + 1 < order ? i + 1 : order;
    }
}

static dit_status alloc_state(const dit_scheduler_params *params, unipc_state *s)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&params->rt->image, params->steps * (int64_t)sizeof *s->keeps, &memory));
    s->keeps = memory;
    DIT_TRY(dit_arena_alloc(&params->rt->image, params->steps * (int64_t)sizeof *s->orders, &memory));
    s->orders = memory;
    for (int i = 0; i <= s->order; i++) DIT_TRY(dit_arena_fp32(&params->rt->image, params->elements, &s->model[i]));
    return dit_arena_fp32(&params->rt->image, params->elements, &s->last_sample);
}

static dit_status unipc_create(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    static const scheduler_beta_rules rules = {
        .schedule = "linear", .start = 0.0001, .end = 0.02, .positive_signal = true};
    scheduler_betas betas;
    DIT_TRY(scheduler_alloc(scheduler, params, sizeof(unipc_state)));
    unipc_state *s = scheduler->state;
    DIT_TRY(read_options(params, s));
    DIT_TRY(check_options(params, s));
    DIT_TRY(alloc_state(params, s));
    DIT_TRY(read_kept_steps(params, s));
    plan_orders(params, s);
    DIT_TRY(scheduler_betas_read(params, &rules, &betas));
    dit_status st = place_sigmas(params, &betas, scheduler);
    scheduler_betas_release(&betas);
    return st;
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* Scalars in float32 and in the library's order: phi_k loses digits to cancellation, and both must lose the same
 * ones. */
typedef struct {
    float alpha, sigma, lambda;
} level;

static level level_of(const dit_scheduler *scheduler, int index)
{
    const unipc_state *s = scheduler->state;
    level l;
    float sigma = scheduler->sigmas[index];
    l.alpha = s->flow ? 1.0f - sigma : 1.0f / sqrtf(sigma * sigma + 1.0f);
    l.sigma = s->flow ? sigma : sigma * l.alpha;
    l.lambda = logf(l.alpha) - logf(l.sigma);
    return l;
}

/* Solves sum_k r[k]^i rho[k] = b[i], i, k in [0, n): Gauss with pivoting, n <= 3. */
static void solve_powers(int n, const float *r, const float *b, double *rho)
{
    double a[HISTORY][HISTORY + 1];
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) a[i][k] = i == 0 ? 1.0 : (float)pow(r[k], i);
        a[i][n] = b[i];
    }
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int row = i + 1; row < n; row++)
            if (fabs(a[row][i]) > fabs(a[pivot][i])) pivot = row;
        for (int k = 0; k <= n; k++) {
            double kept = a[i][k];
            a[i][k] = a[pivot][k], a[pivot][k] = kept;
        }
        for (int row = i + 1; row < n; row++)
            for (int k = n; k >= i; k--) a[row][k] -= a[row][i] / a[i][i] * a[i][k];
    }
    for (int i = n - 1; i >= 0; i--) {
        rho[i] = a[i][n];
        for (int k = i + 1; k < n; k++) rho[i] -= a[i][k] * rho[k];
        rho[i] /= a[i][i];
    }
}

/* Computes b_i of the header, i from 1. */
static void phi_terms(int n, float hh, float bh, float *b)
{
    float phi = expm1f(hh) / hh - 1.0f, factorial = 1.0f;
    for (int i = 1; i <= n; i++) {
        b[i - 1] = phi * factorial / bh;
        factorial *= (float)(i + 1);
        phi = phi / hh - 1.0f / factorial;
    }
}

/* Computes the weights of the D terms: `known` older outputs at r[], and for the corrector a last one at r = 1. */
static void weigh(int known, bool corrector, float *r, float hh, float bh, double *rho)
{
    float b[HISTORY];
    int n = known + (corrector ? 1 : 0);
    if (n == 0) return;
    if (n == 1) { /* the library's short form for a single term */
        rho[0] = 0.5;
        return;
    }
    r[known] = 1.0f;
    phi_terms(n, hh, bh, b);
    solve_powers(n, r, b, rho);
}

/* Makes the update from sigma index `from` to from + 1. m[0] belongs to `from`, m[k] to from - k; the corrector's
 * m[order] belongs to from + 1. */
static update make_update(const dit_scheduler *scheduler, int from, int order, bool corrector)
{
    const unipc_state *s = scheduler->state;
    level start = level_of(scheduler, from), end = level_of(scheduler, from + 1);
    float h = end.lambda - start.lambda, hh = s->predict_clean ? -h : h, e1 = expm1f(hh), bh = s->bh1 ? hh : e1;
    float r[HISTORY];
    double rho[HISTORY], drive = s->predict_clean ? end.alpha : end.sigma;
    update u = {.x = s->predict_clean ? end.sigma / start.sigma : end.alpha / start.alpha, .m = {-drive * e1}};
    for (int k = 1; k < order; k++) r[k - 1] = (level_of(scheduler, from - k).lambda - start.lambda) / h;
    weigh(order - 1, corrector, r, hh, bh, rho);
    for (int k = 1; k < order + (corrector ? 1 : 0); k++) {
        double slope = drive * bh * rho[k - 1] / (k < order ? r[k - 1] : 1.0f);
        u.m[k] = -slope;
        u.m[0] += slope;
    }
    return u;
}

/* y = the update of x by `order` outputs, the newest being that of `step`; the corrector's last one is of step + 1. */
static void apply(dit_scheduler *scheduler, const update *u, int step, int order, bool corrector, const float *x,
                  float *y)
{
    const unipc_state *s = scheduler->state;
    int slots = s->order + 1;
    dit_combine_args args = {.elements = scheduler->elements, .count = 1, .x = {x}, .a = {(float)u->x}, .y = y};
    for (int k = 0; k < order; k++) {
        args.x[args.count] = s->model[(step - k) % slots];
        args.a[args.count++] = (float)u->m[k];
    }
    if (corrector && args.count == 4) { /* more terms than one pass takes */
        ops_combine(scheduler->rt, &args);
        args = (dit_combine_args){.elements = scheduler->elements, .count = 1, .x = {y}, .a = {1.0f}, .y = y};
    }
    if (corrector) {
        args.x[args.count] = s->model[(step + 1) % slots];
        args.a[args.count++] = (float)u->m[order];
    }
    ops_combine(scheduler->rt, &args);
}

/* Converts the model output at this step to x0 or to noise. */
static void convert(dit_scheduler *scheduler, int step, const float *model_output, const float *sample)
{
    const unipc_state *s = scheduler->state;
    level l = level_of(scheduler, step);
    float *out = s->model[step % (s->order + 1)];
    if (s->predict_clean) {
        scheduler_clean_sample(scheduler, s->prediction, l.alpha, l.sigma, model_output, sample, out);
        return;
    }
    dit_combine_args args = {.elements = scheduler->elements, .count = 2, .x = {sample, model_output}, .y = out};
    switch (s->prediction) {
    case DIT_PREDICTION_V: args.a[0] = l.sigma, args.a[1] = l.alpha; break;
    case DIT_PREDICTION_SAMPLE: args.a[0] = 1.0f / l.sigma, args.a[1] = -l.alpha / l.sigma; break;
    default: args.a[0] = 0.0f, args.a[1] = 1.0f; break;
    }
    ops_combine(scheduler->rt, &args);
}

static dit_status unipc_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    const unipc_state *s = scheduler->state;
    convert(scheduler, step, model_output, sample);
    if (step > 0 && !s->keeps[step - 1]) {
        update corrector = make_update(scheduler, step - 1, s->orders[step - 1], true);
        apply(scheduler, &corrector, step - 1, s->orders[step - 1], true, s->last_sample, sample);
    }
    dit_runtime_copy(scheduler->rt, sample, scheduler->elements, s->last_sample);
    update predictor = make_update(scheduler, step, s->orders[step], false);
    apply(scheduler, &predictor, step, s->orders[step], false, s->last_sample, sample);
    return DIT_OK;
}

const dit_scheduler_ops dit_scheduler_unipc = {
    .class_name = "UniPCMultistepScheduler",
    .remembers = true,
    .create = unipc_create,
    .step = unipc_step,
};
