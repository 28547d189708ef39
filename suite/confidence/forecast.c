#include "suite/confidence/forecast.h"

#include "base/case_facts.h"
#include "base/list.h"
#include "base/words.h"
#include "suite/simulate/point_class.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

dit_status suite_forecaster_open(const char *path, double level, bool extrapolate, suite_forecaster *out)
{
    *out = (suite_forecaster){.level = level, .extrapolate = extrapolate};
    return suite_held_out_read(path, &out->held);
}

void suite_forecaster_release(suite_forecaster *forecaster)
{
    for (int i = 0; i < forecaster->sample_count; i++) {
        suite_error_sample_release(forecaster->samples[i]);
        free(forecaster->samples[i]);
    }
    free(forecaster->samples);
    suite_held_out_release(&forecaster->held);
    *forecaster = (suite_forecaster){.level = 0};
}

/* ---- which class --------------------------------------------------------------------------------------------------- */

static dit_status describe(const suite_forecaster *forecaster, const suite_forecast_request *request,
                           suite_prediction *out)
{
    dit_json view = {.path = (char *)(uintptr_t) "simulated case"};
    dit_facts facts = {.image_tokens = 0};
    *out = (suite_prediction){.devices = request->devices, .extrapolate = forecaster->extrapolate};
    DIT_TRY(suite_prediction_of(&forecaster->held, request->accelerator, request->profile, out));
    DIT_TRY(dit_facts_from_case(&view, request->document, "", &facts));
    out->of.reach = request->devices > request->node_devices ? SUITE_REACH_NODES
                    : request->devices > 1                   ? SUITE_REACH_NODE
                                                             : SUITE_REACH_DEVICE;
    out->of.kind = dit_words_find(suite_error_kind_names(), suite_mesh_kind(request->parallel));
    out->of.software = dit_words_find(suite_error_software_names(), suite_profile_software(request->profile));
    out->tokens = facts.image_tokens;
    out->parameters = facts.parameters;
    return DIT_OK;
}

/* ---- the errors of a class, kept ----------------------------------------------------------------------------------- */

static bool same_class(const suite_error_class *a, const suite_error_class *b)
{
    return a->fitted == b->fitted && a->reach == b->reach && a->kind == b->kind && a->software == b->software;
}

static dit_status find_sample(suite_forecaster *forecaster, const suite_error_class *of, const suite_error_sample **out)
{
    for (int i = 0; i < forecaster->sample_count; i++) {
        *out = forecaster->samples[i];
        if (same_class(&(*out)->of, of)) return DIT_OK;
    }
    DIT_TRY(dit_list_grow((void **)&forecaster->samples, forecaster->sample_count, sizeof(suite_error_sample *)));
    suite_error_sample *taken = calloc(1, sizeof *taken);
    if (!taken) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the errors of a class");
    dit_status st = suite_error_sample_take(&forecaster->held, of, NULL, taken);
    if (st != DIT_OK) {
        free(taken);
        return st;
    }
    forecaster->samples[forecaster->sample_count++] = taken;
    *out = taken;
    return DIT_OK;
}

/* ---- a forecast ---------------------------------------------------------------------------------------------------- */

dit_status suite_forecast_of(suite_forecaster *forecaster, const suite_forecast_request *request, suite_forecast *out)
{
    suite_prediction prediction;
    *out = (suite_forecast){.seconds = request->seconds};
    DIT_TRY(describe(forecaster, request, &prediction));
    dit_status st = suite_interval_of(&forecaster->held, &prediction, forecaster->level, &out->interval);
    if (st == DIT_ERR_UNSUPPORTED || st == DIT_ERR_NOT_FOUND) {
        snprintf(out->why, sizeof out->why, "%s", dit_error_last()->message);
        dit_error_clear();
        return DIT_OK;
    }
    DIT_TRY(st);
    out->has_interval = true;
    out->low = request->seconds * exp(out->interval.low);
    out->high = request->seconds * exp(out->interval.high);
    return find_sample(forecaster, &out->interval.ladder.rungs[out->interval.ladder.chosen].of, &out->sample);
}

double suite_forecast_share_within(const suite_forecast *forecast, double most_s)
{
    double share = 0;
    if (!forecast->has_interval) return NAN;
    for (int i = 0; i < forecast->sample->count; i++)
        if (forecast->seconds * exp(forecast->sample->errors[i].error) <= most_s)
            share += forecast->sample->errors[i].weight;
    return share > 1 ? 1 : share;
}
