#include "suite/confidence/interval.h"

#include "suite/catalogue/catalogue.h"
#include "suite/platform/profile.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TIMES = 2 }; /* what was checked, and twice as much */

/* ---- what a prediction is of --------------------------------------------------------------------------------------- */

static dit_status look_at_accelerator(const char *name, bool *attention_assumed)
{
    static const char assumed[] = "assumed";
    dit_json doc = {0};
    DIT_TRY(suite_catalogue_open("accelerators", "accelerator", name, &doc));
    const cJSON *cost = dit_json_member(doc.root, "cost");
    const char *evidence = dit_json_text_or(dit_json_member(cost, "evidence"), "attention", "");
    *attention_assumed = !*evidence || strncmp(evidence, assumed, strlen(assumed)) == 0;
    dit_status st = cost ? DIT_OK : DIT_FAIL(DIT_ERR_UNSUPPORTED, "accelerator %s has no cost model", name);
    dit_json_release(&doc);
    return st;
}

dit_status suite_prediction_of(const suite_held_out *held, const char *accelerator, const char *profile,
                               suite_prediction *out)
{
    suite_profile software;
    DIT_TRY(look_at_accelerator(accelerator, &out->attention_assumed));
    DIT_TRY(suite_profile_load(profile, &software));
    out->software_unmeasured = !software.measured;
    out->of.fitted = suite_held_out_is_fitted(held, accelerator);
    if (out->of.fitted) out->attention_assumed = false; /* its own errors tell what that is worth */
    return DIT_OK;
}

/* ---- what was checked ---------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t devices, tokens, parameters;
} sizes;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static sizes largest(const suite_error_sample *sample)
{
    sizes most = {0, 0, 0};
    for (int i = 0; i < sample->count; i++) {
        const suite_held_point *point = &sample->held->points[sample->errors[i].point];
        most.devices = larger(most.devices, point->devices);
        most.tokens = larger(most.tokens, point->tokens);
        most.parameters = larger(most.parameters, point->parameters);
    }
    return most;
}

static bool beyond(int64_t asked, int64_t most, const char *what, char why[256])
{
    if (asked / MOST_TIMES < most || (asked / MOST_TIMES == most && asked % MOST_TIMES == 0)) return false;
    snprintf(why, 256, "%lld %s, where no checked prediction of its class has more than %lld", (long long)asked, what,
             (long long)most);
    return true;
}

/* Writes why nothing was checked that is like this; "" where something was. */
static void look(const suite_prediction *prediction, const suite_error_sample *sample, char why[256])
{
    sizes most = largest(sample);
    why[0] = '\0';
    if (prediction->software_unmeasured)
        snprintf(why, 256, "too little of this software was timed on GPUs");
    else if (prediction->attention_assumed)
        snprintf(why, 256, "how fast this accelerator's attention is was assumed");
    else if (!beyond(prediction->devices, most.devices, "devices", why) &&
             !beyond(prediction->tokens, most.tokens, "tokens", why))
        (void)beyond(prediction->parameters, most.parameters, "parameters", why);
}

/* ---- the interval -------------------------------------------------------------------------------------------------- */

static dit_status fill(const suite_prediction *prediction, const suite_error_sample *sample, suite_interval *out)
{
    suite_error_bounds bounds = suite_error_bounds_of(sample, out->wanted);
    out->low = bounds.low;
    out->high = bounds.high;
    out->level = bounds.level;
    out->extremes = bounds.extremes;
    out->points = sample->count;
    out->groups = sample->group_count;
    suite_error_nine(sample, out->wanted, out->nine);
    look(prediction, sample, out->why);
    out->extrapolated = out->why[0] != '\0';
    if (!out->extrapolated || prediction->extrapolate) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "outside what was checked: %s", out->why),
                          "--extrapolate shows the numbers, with that word beside each");
}

dit_status suite_interval_of(const suite_held_out *held, const suite_prediction *prediction, double level,
                             suite_interval *out)
{
    suite_error_sample sample;
    char text[96];
    *out = (suite_interval){.wanted = level};
    if (!(level >= 0.5 && level <= 0.99)) return DIT_FAIL(DIT_ERR_USAGE, "a level of %g is not in 0.5 to 0.99", level);
    DIT_TRY(suite_ladder_climb(held, &prediction->of, level, NULL, &out->ladder, &sample));
    suite_error_class_text(&prediction->of, text, sizeof text);
    dit_status st = out->ladder.chosen >= 0 ? fill(prediction, &sample, out)
                                            : DIT_FAIL(DIT_ERR_NOT_FOUND,
                                                       "fewer than %d predictions like \"%s\" were "
                                                       "held against the truth",
                                                       SUITE_LADDER_POINTS, text);
    suite_error_sample_release(&sample);
    return st;
}
