/* Flow-match Euler, with static or dynamic shift. Source: Esser et al., Scaling Rectified Flow Transformers
 * (arXiv:2403.03206); sigma tables of diffusers 0.33.1 FlowMatchEulerDiscreteScheduler, shift of FluxPipeline.
 *
 *   x <- x + (sigma_{i+1} - sigma_i) v
 *   static shift   s <- shift s / (1 + (shift - 1) s)
 *   dynamic shift  s <- e^mu / (e^mu + 1/s - 1), mu linear in the number of image tokens
 *   inverted       s <- 1 - s after all else, and the schedule ends at 1: time runs from noise to image
 */
#include "base/json.h"
#include "engine/schedulers/scheduler.h"

#include <math.h>
#include <string.h>

typedef struct {
    double train, shift, base_shift, max_shift, base_tokens, max_tokens;
    double terminal; /* where the sigmas are stretched to end; 0: nowhere */
    bool dynamic, karras, exponential, inverted;
} flow_config;

static dit_status read_config(const dit_scheduler_params *params, flow_config *c)
{
    static const char *const refused[] = {"use_beta_sigmas", "stochastic_sampling", NULL};
    const dit_json *doc = params->doc;
    const cJSON *config = params->config;
    const char *at = params->pointer, *time_shift = "exponential";
    *c = (flow_config){
        .train = 1000, .shift = 1, .base_shift = 0.5, .max_shift = 1.15, .base_tokens = 256, .max_tokens = 4096};
    DIT_TRY(scheduler_refuse_options(params, refused));
    DIT_TRY(dit_json_optional_number(doc, config, at, "num_train_timesteps", 2, 1e6, &c->train));
    DIT_TRY(dit_json_optional_number(doc, config, at, "shift", 1e-3, 1e3, &c->shift));
    DIT_TRY(dit_json_optional_number(doc, config, at, "base_shift", -100, 100, &c->base_shift));
    DIT_TRY(dit_json_optional_number(doc, config, at, "max_shift", -100, 100, &c->max_shift));
    DIT_TRY(dit_json_optional_number(doc, config, at, "base_image_seq_len", 0, 1e9, &c->base_tokens));
    DIT_TRY(dit_json_optional_number(doc, config, at, "max_image_seq_len", 1, 1e9, &c->max_tokens));
    DIT_TRY(dit_json_optional_bool(doc, config, at, "use_dynamic_shifting", &c->dynamic));
    DIT_TRY(dit_json_optional_string(doc, config, at, "time_shift_type", &time_shift));
    DIT_TRY(dit_json_optional_bool(doc, config, at, "use_karras_sigmas", &c->karras));
    DIT_TRY(dit_json_optional_bool(doc, config, at, "use_exponential_sigmas", &c->exponential));
    DIT_TRY(dit_json_optional_bool(doc, config, at, "invert_sigmas", &c->inverted));
    DIT_TRY(dit_json_optional_number(doc, config, at, "shift_terminal", 0, 0.999, &c->terminal));
    if (c->dynamic && strcmp(time_shift, "exponential") != 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "time_shift_type \"%s\" is not implemented", time_shift);
    return DIT_OK;
}

static double static_shift(const flow_config *c, double sigma)
{
    return c->shift * sigma / (1.0 + (c->shift - 1.0) * sigma);
}

static float static_shift_f32(const flow_config *c, float sigma)
{
    return (float)c->shift * sigma / (1.0f + (float)(c->shift - 1.0) * sigma);
}

/* Returns a sigma of FluxPipeline's linspace(1, 1/N, N). HunyuanVideoPipeline's linspace(1, 0, N + 1) without its end rounds
 * to equal floats. */
static double linspace_sigma(int i, int N)
{
    double step = N > 1 ? (1.0 / N - 1.0) / (N - 1) : 0.0;
    return i == N - 1 && N > 1 ? 1.0 / N : 1.0 + i * step;
}

/* Returns a sigma of MochiPipeline, 1 - f: f rises linearly to 0.025 in the first half of the steps, then as the parabola that
 * goes on with this slope and ends at 1. */
static double quadratic_sigma(int i, int N)
{
    const double threshold = 0.025;
    int linear = N / 2, rest = N - linear;
    if (i < linear) return 1.0 - i * threshold / linear;
    double above = linear - threshold * N, curve = above / (linear * ((double)rest * rest));
    double slope = threshold / linear - 2 * above / ((double)rest * rest), start = curve * ((double)linear * linear);
    return 1.0 - (curve * ((double)i * i) + slope * i + start);
}

/* Shifts a sigma that the pipeline gives, which the library keeps in float32. */
static float given_sigma(const flow_config *c, double mu, float sigma)
{
    float stretch = (float)exp(mu);
    return c->dynamic ? stretch / (stretch + (1.0f / sigma - 1.0f)) : static_shift_f32(c, sigma);
}

/* Returns a sigma of the library's own linspace over timesteps, in double; a static shift has already moved its ends
 * once. */
static double default_sigma(const flow_config *c, double mu, int i, int N)
{
    float low = 1.0f / (float)c->train, high = 1.0f;
    if (!c->dynamic) low = static_shift_f32(c, low), high = static_shift_f32(c, high);
    double first = (double)high * c->train, last = (double)low * c->train;
    double timestep = i == N - 1 && N > 1 ? last : N > 1 ? first + i * ((last - first) / (N - 1)) : first;
    double sigma = timestep / c->train;
    return c->dynamic ? exp(mu) / (exp(mu) + (1.0 / sigma - 1.0)) : static_shift(c, sigma);
}

typedef struct {
    const flow_config *c;
    double mu;
    int N;
    double (*given)(int i, int N); /* of the pipeline, before they are shifted; NULL: none */
} sigma_table;

static double shifted_sigma(const sigma_table *t, int i)
{
    return t->given ? (double)given_sigma(t->c, t->mu, (float)t->given(i, t->N)) : default_sigma(t->c, t->mu, i, t->N);
}

/* Stretches 1 - sigma so that the last sigma is shift_terminal. A sigma of 1 stays where it is, which is also the rule
 * for a schedule of one step: the library divides 0 by 0 there. Given sigmas are floats, as in the library. */
static double stretched_sigma(const sigma_table *t, int i)
{
    double sigma = shifted_sigma(t, i), last = shifted_sigma(t, t->N - 1), terminal = t->c->terminal;
    if (!(terminal > 0) || sigma >= 1.0) return sigma;
    if (!t->given) return 1.0 - (1.0 - sigma) / ((1.0 - last) / (1.0 - terminal));
    return 1.0f - (1.0f - (float)sigma) / ((1.0f - (float)last) / (float)(1.0 - terminal));
}

/* Spaces sigmas anew between the first and the last: Karras et al. (arXiv:2206.00364), equation 5, or by equal ratios. */
static double sigma_of(const sigma_table *t, int i)
{
    const double rho = 7.0;
    if (!t->c->karras && !t->c->exponential) return stretched_sigma(t, i);
    double first = stretched_sigma(t, 0), last = stretched_sigma(t, t->N - 1),
           at = t->N > 1 ? (double)i / (t->N - 1) : 0;
    if (!t->c->karras) return exp(log(first) + at * (log(last) - log(first)));
    double high = pow(first, 1 / rho), low = pow(last, 1 / rho);
    return pow(high + at * (low - high), rho);
}

static dit_status flow_create(const dit_scheduler_params *params, dit_scheduler *scheduler)
{
    flow_config c;
    DIT_TRY(read_config(params, &c));
    DIT_TRY(scheduler_alloc(scheduler, params, 0));
    double slope = (c.max_shift - c.base_shift) / (c.max_tokens - c.base_tokens);
    double mu =
        params->has_mu ? params->mu : (double)params->image_tokens * slope + c.base_shift - slope * c.base_tokens;
    if (params->quadratic_sigmas && params->steps < 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "one step: half of it would fall linearly"),
                              "take two steps at least");
    const sigma_table table = {&c, mu, params->steps,
                               params->quadratic_sigmas  ? quadratic_sigma
                               : params->linspace_sigmas ? linspace_sigma
                                                         : NULL};
    for (int i = 0; i < scheduler->steps; i++) {
        float sigma = (float)sigma_of(&table, params->first_step + i);
        scheduler->sigmas[i] = c.inverted ? 1.0f - sigma : sigma;
        scheduler->timesteps[i] = scheduler->sigmas[i] * (float)c.train;
    }
    scheduler->sigmas[scheduler->steps] = c.inverted ? 1.0f : 0.0f;
    return DIT_OK;
}

static dit_status flow_step(dit_scheduler *scheduler, int step, const float *model_output, float *sample)
{
    float delta = scheduler->sigmas[step + 1] - scheduler->sigmas[step];
    ops_combine(
        scheduler->rt,
        &(dit_combine_args){
            .elements = scheduler->elements, .count = 2, .x = {sample, model_output}, .a = {1.0f, delta}, .y = sample});
    return DIT_OK;
}

const dit_scheduler_ops dit_scheduler_flow_match_euler = {
    .class_name = "FlowMatchEulerDiscreteScheduler",
    .begins_late = true,
    .create = flow_create,
    .step = flow_step,
};
