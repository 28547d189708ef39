/* Timestep spacing, table 2 of Lin et al. (arXiv:2305.08891), rounded as diffusers 0.33.1 rounds with NumPy. */
#include "engine/schedulers/scheduler.h"

#include "base/words.h"

#include <math.h>
#include <string.h>

typedef enum { LINSPACE, LEADING, TRAILING, SPACING_COUNT } spacing_kind;
static const char *const spacing_names[SPACING_COUNT + 1] = {"linspace", "leading", "trailing"};

typedef struct {
    spacing_kind kind;
    int64_t steps, offset, train, end;
    bool multistep, fractional;
} spacing;

static dit_status read_spacing(const dit_scheduler_params *params, const scheduler_spacing *where, spacing *s)
{
    const char *name = where->spacing;
    *s = (spacing){.steps = params->steps,
                   .train = where->train,
                   .end = where->end ? where->end : where->train,
                   .multistep = where->multistep,
                   .fractional = where->fractional};
    DIT_TRY(dit_json_optional_string(params->doc, params->config, params->pointer, "timestep_spacing", &name));
    DIT_TRY(dit_json_optional_int(params->doc, params->config, params->pointer, "steps_offset", 0, 1000, &s->offset));
    int kind = dit_words_find(spacing_names, name);
    if (kind < 0) return dit_fail_word(DIT_ERR_UNSUPPORTED, "timestep_spacing", name, spacing_names);
    s->kind = (spacing_kind)kind;
    return DIT_OK;
}

/* Returns a grid point of linspace or leading; `point` counts from the lowest. */
static double on_line(const spacing *s, int64_t point)
{
    int64_t intervals = s->multistep ? s->steps : s->steps - 1;
    double last = (double)(s->end - 1);
    double value = intervals == 0 ? 0.0 : point == intervals ? last : (double)point * (last / (double)intervals);
    return s->fractional ? value : rint(value);
}

static double leading(const spacing *s, int64_t point)
{
    return (double)(point * (s->end / (s->steps + (s->multistep ? 1 : 0))) + s->offset);
}

/* Returns a step of trailing spacing. NumPy's arange adds up rounded differences, which decides how an exact half is
 * rounded. */
static double trailing(const spacing *s, int64_t step)
{
    double begin = (double)s->end, ratio = (double)s->train / (double)s->steps;
    double stride = (begin - ratio) - begin;
    return rint(begin + (double)step * stride) - 1.0;
}

static double place(const spacing *s, int64_t step)
{
    int64_t point = s->steps - 1 - step + (s->multistep ? 1 : 0);
    switch (s->kind) {
    case LINSPACE: return on_line(s, point);
    case LEADING: return leading(s, point);
    default: return trailing(s, step);
    }
}

dit_status scheduler_place_timesteps(const dit_scheduler_params *params, const scheduler_spacing *where,
                                     float *timesteps)
{
    spacing s;
    DIT_TRY(read_spacing(params, where, &s));
    for (int64_t i = 0; i < s.steps; i++) {
        timesteps[i] = (float)place(&s, i);
        if (timesteps[i] < 0 || timesteps[i] > (float)(s.train - 1) || (i > 0 && timesteps[i] >= timesteps[i - 1]))
            return dit_error_hint(
                DIT_FAIL(DIT_ERR_JSON_VALUE,
                         "step %lld of %lld would be at timestep %g: %s spacing with steps_offset %lld cannot place so "
                         "many different timesteps on %lld training timesteps",
                         (long long)i, (long long)s.steps, (double)timesteps[i], spacing_names[s.kind],
                         (long long)s.offset, (long long)s.end),
                "take fewer steps or a smaller steps_offset");
    }
    return DIT_OK;
}

dit_status scheduler_place_flow_sigmas(const dit_scheduler_params *params, int64_t train, dit_scheduler *scheduler)
{
    double shift = 1.0, last = 1.0 / (double)train;
    int N = params->steps;
    DIT_TRY(dit_json_optional_number(params->doc, params->config, params->pointer, "flow_shift", 1e-3, 1e3, &shift));
    for (int i = 0; i < N; i++) {
        double sigma = 1.0 - (i == 0 ? last : 1.0 + (double)(N - i) * ((last - 1.0) / N));
        sigma = shift * sigma / (1.0 + (shift - 1.0) * sigma);
        scheduler->timesteps[i] = (float)trunc(sigma * (double)train);
        scheduler->sigmas[i] = (float)sigma;
    }
    return DIT_OK;
}
