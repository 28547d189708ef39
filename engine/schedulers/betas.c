/* Sources: Nichol and Dhariwal, Improved DDPM (arXiv:2102.09672, cosine); Lin et al., Common Diffusion Noise Schedules
 * and Sample Steps are Flawed (arXiv:2305.08891, algorithm 1, zero terminal SNR); rounding of diffusers 0.33.1. */
#include "engine/schedulers/betas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRAIN_STEPS = 100000 };
static const double MAX_COSINE_BETA = 0.999, HALF_SMALLEST = 0x1p-24; /* the smallest float16 above 0 */
static const double PI = 3.14159265358979323846;

typedef struct {
    const char *schedule;
    const cJSON *trained;
    double start, end, snr_shift;
    bool rescale;
    bool narrow; /* true: float32 throughout; false: float64 */
} beta_options;

/* Returns the result of one operation in float32 (or float64): rounding the double once more gives what the float32
 * operation gives. */
static double rounded(bool narrow, double value)
{
    return narrow ? (double)(float)value : value;
}

static dit_status read_options(const dit_scheduler_params *params, const scheduler_beta_rules *rules, beta_options *o,
                               int64_t *count)
{
    const dit_json *doc = params->doc;
    const cJSON *config = params->config;
    const char *at = params->pointer;
    *o = (beta_options){.schedule = rules->schedule, .start = rules->start, .end = rules->end, .snr_shift = 3.0};
    *count = 1000;
    DIT_TRY(dit_json_optional_int(doc, config, at, "num_train_timesteps", 2, MAX_TRAIN_STEPS, count));
    DIT_TRY(dit_json_optional_number(doc, config, at, "beta_start", 0, 1, &o->start));
    DIT_TRY(dit_json_optional_number(doc, config, at, "beta_end", 0, 0.999999, &o->end));
    DIT_TRY(dit_json_optional_string(doc, config, at, "beta_schedule", &o->schedule));
    DIT_TRY(dit_json_optional_array(doc, config, at, "trained_betas", &o->trained));
    DIT_TRY(dit_json_optional_bool(doc, config, at, "rescale_betas_zero_snr", &o->rescale));
    if (rules->video) DIT_TRY(dit_json_optional_number(doc, config, at, "snr_shift_scale", 1e-3, 1e3, &o->snr_shift));
    o->narrow = !rules->video || o->trained || strcmp(o->schedule, "scaled_linear") != 0;
    return DIT_OK;
}

static void fill_linear(const beta_options *o, int64_t count, bool scaled, double *betas)
{
    bool narrow = o->narrow;
    double first = rounded(narrow, scaled ? sqrt(o->start) : o->start);
    double last = rounded(narrow, scaled ? sqrt(o->end) : o->end);
    double stride = rounded(narrow, rounded(narrow, last - first) / (double)(count - 1));
    for (int64_t i = 0; i < count; i++) {
        double way = rounded(narrow, stride * (double)(i < count / 2 ? i : count - 1 - i));
        double beta = rounded(narrow, i < count / 2 ? first + way : last - way);
        betas[i] = scaled ? rounded(narrow, beta * beta) : beta;
    }
}

static double cosine_product(double t)
{
    double c = cos((t + 0.008) / 1.008 * PI / 2);
    return c * c;
}

static void fill_cosine(int64_t count, double *betas)
{
    for (int64_t i = 0; i < count; i++) {
        double ratio = cosine_product((double)(i + 1) / (double)count) / cosine_product((double)i / (double)count);
        betas[i] = (float)fmin(1.0 - ratio, MAX_COSINE_BETA);
    }
}

static dit_status fill_trained(const dit_scheduler_params *params, const cJSON *trained, int64_t count, double *betas)
{
    char pointer[256];
    int64_t i = 0;
    const cJSON *beta;
    snprintf(pointer, sizeof pointer, "%s/trained_betas", params->pointer);
    if (cJSON_GetArraySize(trained) != count)
        return dit_json_fail(params->doc, pointer, DIT_ERR_JSON_VALUE, "%d betas for num_train_timesteps %lld",
                             cJSON_GetArraySize(trained), (long long)count);
    cJSON_ArrayForEach(beta, trained)
    {
        if (!cJSON_IsNumber(beta) || !(beta->valuedouble >= 0 && beta->valuedouble < 1))
            return dit_json_fail(params->doc, pointer, DIT_ERR_JSON_VALUE, "beta %lld is not a number in [0, 1)",
                                 (long long)i);
        betas[i++] = (float)beta->valuedouble;
    }
    return DIT_OK;
}

static dit_status fill_betas(const dit_scheduler_params *params, const beta_options *o, int64_t count, double *betas)
{
    if (o->trained) return fill_trained(params, o->trained, count, betas);
    if (strcmp(o->schedule, "linear") == 0)
        fill_linear(o, count, false, betas);
    else if (strcmp(o->schedule, "scaled_linear") == 0)
        fill_linear(o, count, true, betas);
    else if (strcmp(o->schedule, "squaredcos_cap_v2") == 0)
        fill_cosine(count, betas);
    else
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "beta_schedule \"%s\" is not implemented", o->schedule),
                              "linear, scaled_linear, squaredcos_cap_v2 and trained_betas are");
    return DIT_OK;
}

/* Replaces betas by their cumulative products, which are accumulated in double, as in the library. */
static void accumulate(bool narrow, int64_t count, double *values)
{
    double product = 1.0;
    for (int64_t i = 0; i < count; i++) {
        product *= rounded(narrow, 1.0 - values[i]);
        values[i] = rounded(narrow, product);
    }
}

/* Stretches products so that the last becomes 0 and the first stays. */
static void stretch_to_zero(bool narrow, int64_t count, double *product)
{
    double first = rounded(narrow, sqrt(product[0])), last = rounded(narrow, sqrt(product[count - 1]));
    double scale = rounded(narrow, first / rounded(narrow, first - last));
    for (int64_t i = 0; i < count; i++) {
        double root = rounded(narrow, rounded(narrow, sqrt(product[i])) - last);
        root = rounded(narrow, root * scale);
        product[i] = rounded(narrow, root * root);
    }
}

/* Rescales betas as the image classes do: they go back to betas after the stretch and multiply them again. */
static void rescale_betas(int64_t count, double *betas)
{
    accumulate(true, count, betas);
    stretch_to_zero(true, count, betas);
    for (int64_t i = count - 1; i > 0; i--) betas[i] = (float)(1.0 - (float)(betas[i] / betas[i - 1]));
    betas[0] = (float)(1.0 - betas[0]);
}

static void shift_snr(const beta_options *o, int64_t count, double *product)
{
    double slope = rounded(o->narrow, 1.0 - o->snr_shift), shift = rounded(o->narrow, o->snr_shift);
    for (int64_t i = 0; i < count; i++) {
        double below = rounded(o->narrow, shift + rounded(o->narrow, slope * product[i]));
        product[i] = rounded(o->narrow, product[i] / below);
    }
}

static void make_products(const beta_options *o, const scheduler_beta_rules *rules, scheduler_betas *betas)
{
    int64_t count = betas->count;
    if (o->rescale && !rules->video) rescale_betas(count, betas->product);
    accumulate(o->narrow, count, betas->product);
    if (rules->video) shift_snr(o, count, betas->product);
    if (o->rescale && rules->video) stretch_to_zero(o->narrow, count, betas->product);
    if (o->rescale && rules->positive_signal) betas->product[count - 1] = HALF_SMALLEST;
}

static dit_status check_products(const beta_options *o, const scheduler_betas *betas)
{
    double first = betas->product[0], last = betas->product[betas->count - 1];
    if (first > 0 && first < 1 && (last > 0 || o->rescale)) return DIT_OK;
    return DIT_FAIL(
        DIT_ERR_JSON_VALUE,
        "the betas leave %g of the signal after the first and %g after the last of %lld training timesteps; "
        "both must lie between 0 and 1",
        first, last, (long long)betas->count);
}

dit_status scheduler_betas_read(const dit_scheduler_params *params, const scheduler_beta_rules *rules,
                                scheduler_betas *out)
{
    beta_options o;
    *out = (scheduler_betas){0};
    DIT_TRY(read_options(params, rules, &o, &out->count));
    out->product = malloc((size_t)out->count * sizeof *out->product);
    if (!out->product) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld betas", (long long)out->count);
    dit_status st = fill_betas(params, &o, out->count, out->product);
    if (st == DIT_OK) {
        make_products(&o, rules, out);
        st = check_products(&o, out);
    }
    if (st != DIT_OK) scheduler_betas_release(out);
    return st;
}

void scheduler_betas_release(scheduler_betas *betas)
{
    free(betas->product);
    *betas = (scheduler_betas){0};
}

float scheduler_sigma_of(double product)
{
    float a = (float)product;
    return sqrtf((1.0f - a) / a);
}

float scheduler_sigma_at(const scheduler_betas *betas, float timestep)
{
    int64_t low = (int64_t)timestep;
    double part = (double)timestep - (double)low, sigma = scheduler_sigma_of(betas->product[low]);
    if (part > 0) sigma += part * ((double)scheduler_sigma_of(betas->product[low + 1]) - sigma);
    return (float)sigma;
}

/* ---- both ends of each step -------------------------------------------------------------------------------------- */

static void fill_ladder(const dit_scheduler *scheduler, const scheduler_betas *betas, bool alpha_to_one,
                        scheduler_ladder *ladder)
{
    double last = alpha_to_one ? 1.0 : betas->product[0];
    ladder->span = betas->count / scheduler->steps;
    for (int i = 0; i < scheduler->steps; i++) {
        int64_t timestep = (int64_t)scheduler->timesteps[i], end = timestep - ladder->span;
        ladder->product[i] = betas->product[timestep];
        ladder->next[i] = end >= 0 ? betas->product[end] : last;
        scheduler->sigmas[i] = scheduler_sigma_of(ladder->product[i]);
    }
    scheduler->sigmas[scheduler->steps] = scheduler_sigma_of(ladder->next[scheduler->steps - 1]);
}

static dit_status place_ladder(const dit_scheduler_params *params, const scheduler_betas *betas,
                               dit_scheduler *scheduler, scheduler_ladder *out)
{
    bool alpha_to_one = true;
    DIT_TRY(dit_json_optional_bool(params->doc, params->config, params->pointer, "set_alpha_to_one", &alpha_to_one));
    DIT_TRY(scheduler_place_timesteps(params, &(scheduler_spacing){.spacing = "leading", .train = betas->count},
                                      scheduler->timesteps));
    fill_ladder(scheduler, betas, alpha_to_one, out);
    if (out->product[0] > 0 || out->prediction == DIT_PREDICTION_V || out->prediction == DIT_PREDICTION_SAMPLE)
        return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED,
                                   "timestep %g has no signal left (rescale_betas_zero_snr), and prediction_type "
                                   "epsilon divides by it",
                                   (double)scheduler->timesteps[0]),
                          "use v_prediction, or a spacing that starts lower");
}

dit_status scheduler_ladder_read(const dit_scheduler_params *params, const scheduler_beta_rules *rules,
                                 dit_scheduler *scheduler, scheduler_ladder *out)
{
    scheduler_betas betas;
    void *memory;
    out->prediction = DIT_PREDICTION_EPSILON;
    DIT_TRY(scheduler_read_prediction(params, &out->prediction));
    if (out->prediction == DIT_PREDICTION_FLOW)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "prediction_type flow_prediction has no meaning for a %s",
                        scheduler->ops->class_name);
    DIT_TRY(dit_arena_alloc(&params->rt->image, 2 * params->steps * (int64_t)sizeof(double), &memory));
    out->product = memory;
    out->next = out->product + params->steps;
    DIT_TRY(scheduler_betas_read(params, rules, &betas));
    dit_status st = place_ladder(params, &betas, scheduler, out);
    scheduler_betas_release(&betas);
    return st;
}
