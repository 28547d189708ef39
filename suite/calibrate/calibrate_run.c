#include "suite/calibrate/calibrate_run.h"

#include "suite/simulate/prediction_cache.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_DIGITS = 4 };

/* The stage that is being fitted. */
typedef struct {
    const suite_calibrate_params *params;
    const suite_calibration_plan *plan;
    suite_planned_stage *stage;
    suite_calibration *calibration; /* what stages before have fitted, and what is tried now */
    suite_fitted_point *points;
} fit_call;

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a calibration");
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

/* A point that cannot be predicted is an error where all are needed, else NAN. */
static dit_status predict_one(const suite_fitted_point *point, suite_simulator *simulator, bool needed, double *out)
{
    const suite_planned_point *planned = point->planned;
    suite_point_result result;
    DIT_TRY(suite_point_predict(planned->point, suite_simulator_predict, simulator, &result));
    *out = result.skip ? NAN : result.predicted;
    if (!result.skip || !needed) return DIT_OK;
    return DIT_FAIL(DIT_ERR_WORKLOAD, "point %d of %s, %.160s: %.300s", result.index, planned->file, result.label,
                    result.detail);
}

static bool wanted(const suite_fitted_point *point, int changed)
{
    return !point->skipped && (changed < 0 || point->touched[changed]);
}

/* Predicts points[i].base ... of those that `changed` touches (-1: all) into out[count]; others are left. */
static dit_status predict(const suite_calibrate_params *params, const suite_calibration *calibration,
                          const suite_fitted_point *points, int count, int changed, bool needed, double *out)
{
    const suite_point_case **cases = calloc((size_t)count + 1, sizeof *cases);
    suite_simulator simulator = {.params = params->simulate, .at_once = params->at_once};
    int used = 0;
    if (!cases) return fail_memory();
    simulator.params.calibration = calibration;
    for (int i = 0; i < count; i++)
        if (wanted(&points[i], changed)) cases[used++] = points[i].planned->point->cases;
    dit_status st = suite_simulator_run(&simulator, cases, used, NULL, NULL);
    for (int i = 0; i < count && st == DIT_OK; i++)
        if (wanted(&points[i], changed)) st = predict_one(&points[i], &simulator, needed, &out[i]);
    suite_simulator_release(&simulator);
    free(cases);
    return st;
}

/* ---- the fit of a stage ------------------------------------------------------------------------------------------ */

static dit_status evaluate(void *context, const double *values, int changed, double *errors)
{
    fit_call *call = context;
    const suite_planned_stage *stage = call->stage;
    for (int j = 0; j < stage->value_count; j++) {
        suite_calibrated value = stage->values[j].what;
        value.value = values[j];
        DIT_TRY(suite_calibration_set(call->calibration, &value));
    }
    for (int i = 0; i < stage->point_count; i++) errors[i] = call->points[i].base;
    DIT_TRY(predict(call->params, call->calibration, call->points, stage->point_count, changed, true, errors));
    for (int i = 0; i < stage->point_count; i++) {
        if (changed < 0) call->points[i].base = errors[i];
        const suite_fitted_point *point = &call->points[i];
        errors[i] = point->skipped ? 0 : log(errors[i] / point->planned->point->published->value);
    }
    return DIT_OK;
}

static void tell(void *context, int round, double objective, const double *values)
{
    const fit_call *call = context;
    (void)values;
    if (call->params->tell) call->params->tell(call->params->context, call->stage->name, round, objective);
}

static bool cluster_has(const suite_cluster *cluster, const char *link)
{
    for (int i = 0; i < cluster->link_count; i++)
        if (strcmp(cluster->links[i].link_class.name, link) == 0) return true;
    return cluster->nodes > 1 && strcmp(cluster->fabric.link_class.name, link) == 0;
}

/* Whether a value says something about the machine, its links or the software of a case. */
static bool touches(const suite_calibrated *value, const suite_point_case *one, const suite_cluster *cluster)
{
    switch (suite_calibrated_key_of(value->key)) {
    case SUITE_CALIBRATED_ACCELERATOR: return strcmp(value->name, cluster->accelerator) == 0;
    case SUITE_CALIBRATED_PROFILE: return true; /* also of profiles that are like it */
    case SUITE_CALIBRATED_PLATFORM: return strcmp(value->name, cluster->host) == 0;
    case SUITE_CALIBRATED_LINK: return one->kase->world_size > 1 && cluster_has(cluster, value->name);
    case SUITE_CALIBRATED_OF_COUNT: break;
    }
    return true;
}

dit_status suite_calibration_touches(const suite_calibrated *value, const suite_point_case *one, bool *out)
{
    suite_cluster cluster = {0};
    DIT_TRY(suite_cluster_load(one->platform, &cluster));
    *out = touches(value, one, &cluster);
    suite_cluster_release(&cluster);
    return DIT_OK;
}

static dit_status look_at_machine(const suite_planned_stage *stage, suite_fitted_point *point, char accelerator[64])
{
    const suite_point_case *one = point->planned->point->cases;
    suite_cluster cluster = {0};
    DIT_TRY(suite_cluster_load(one->platform, &cluster));
    for (int j = 0; j < stage->value_count; j++) point->touched[j] = touches(&stage->values[j].what, one, &cluster);
    snprintf(accelerator, 64, "%s", cluster.accelerator);
    point->accelerator = accelerator;
    suite_cluster_release(&cluster);
    return DIT_OK;
}

dit_status suite_calibration_machine_of(const suite_point *point, char out[64])
{
    suite_cluster cluster = {0};
    DIT_TRY(suite_cluster_load(point->cases->platform, &cluster));
    snprintf(out, 64, "%s", cluster.accelerator);
    suite_cluster_release(&cluster);
    return DIT_OK;
}

bool suite_calibration_same_case(const suite_point_case *a, const suite_point_case *b)
{
    return strcmp(a->kase->case_id, b->kase->case_id) == 0 && strcmp(a->platform, b->platform) == 0 &&
           strcmp(a->profile, b->profile) == 0;
}

static double weigh(const suite_planned_stage *stage, int index)
{
    int same = 0;
    for (int i = 0; i < stage->point_count; i++)
        same += suite_calibration_same_case(stage->points[i].point->cases, stage->points[index].point->cases);
    return 1.0 / same;
}

static dit_status prepare_points(const suite_planned_stage *stage, suite_fitted_point *points, char (*accelerators)[64])
{
    for (int i = 0; i < stage->point_count; i++) {
        points[i].planned = &stage->points[i];
        points[i].weight = weigh(stage, i);
        DIT_TRY(look_at_machine(stage, &points[i], accelerators[i]));
    }
    return DIT_OK;
}

/* What the search is told of a value: around the base's it starts there. */
static suite_fit_value range_of(const suite_calibration *around, const suite_planned_value *planned)
{
    suite_fit_value range = planned->range;
    const suite_calibrated *known =
        around ? suite_calibration_find(around, planned->what.key, planned->what.name) : NULL;
    if (known && known->value >= range.least && known->value <= range.most) range.start = known->value;
    return range;
}

static dit_status search(fit_call *call, const suite_calibration *around, const double *weights, double *values)
{
    suite_planned_stage *stage = call->stage;
    suite_fit_value ranges[SUITE_FIT_VALUES];
    for (int j = 0; j < stage->value_count; j++) ranges[j] = range_of(around, &stage->values[j]);
    const suite_fit fit = {.values = ranges,
                           .value_count = stage->value_count,
                           .weights = weights,
                           .observation_count = stage->point_count,
                           .huber = call->plan->huber,
                           .rounds = call->plan->rounds,
                           .context = call,
                           .evaluate = evaluate,
                           .tell = tell};
    DIT_TRY(suite_fit_run(&fit, values, NULL));
    return around ? DIT_OK : suite_fit_intervals(&fit, values, stage->intervals);
}

/* Leaves the rounded values in call->calibration: the priors where nothing is fitted on. */
static dit_status fit_stage(fit_call *call, const suite_calibration *around)
{
    const suite_planned_stage *stage = call->stage;
    double values[SUITE_FIT_VALUES], *weights = calloc((size_t)stage->point_count, sizeof *weights), all = 0;
    if (!weights) return fail_memory();
    for (int j = 0; j < stage->value_count; j++) values[j] = stage->values[j].range.prior;
    for (int i = 0; i < stage->point_count; i++) {
        if (!call->points[i].skipped)
            weights[i] = call->points[i].weight / (call->plan->deviation * call->plan->deviation);
        all += weights[i];
    }
    dit_status st = all > 0 ? search(call, around, weights, values) : DIT_OK;
    for (int j = 0; j < stage->value_count && st == DIT_OK; j++) {
        suite_calibrated value = stage->values[j].what;
        value.value = suite_fit_round(values[j], VALUE_DIGITS);
        st = suite_calibration_set(call->calibration, &value);
    }
    free(weights);
    return st;
}

/* ---- all stages -------------------------------------------------------------------------------------------------- */

void suite_calibration_run_close(suite_calibration_run *run)
{
    suite_calibration_plan_release(&run->plan);
    suite_calibration_release(&run->base);
    suite_calibration_release(&run->fitted);
    free(run->points);
    free(run->accelerators);
}

dit_status suite_calibration_run_open(const suite_calibrate_params *params, suite_calibration_run *run)
{
    *run = (suite_calibration_run){.params = params};
    DIT_TRY(suite_calibration_plan_load(params->plan, &run->plan));
    run->last = run->plan.stage_count - 1;
    if (!params->stage) return DIT_OK;
    DIT_TRY(suite_calibration_plan_stage(&run->plan, params->stage, &run->first));
    run->last = run->first;
    return DIT_OK;
}

dit_status suite_calibration_run_take_over(suite_calibration_run *run, int first, int last)
{
    for (int i = first; i <= last; i++) {
        const suite_planned_stage *stage = &run->plan.stages[i];
        for (int j = 0; j < stage->value_count; j++) {
            const suite_calibrated *what = &stage->values[j].what;
            const suite_calibrated *value = suite_calibration_find(&run->base, what->key, what->name);
            if (!value)
                return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND,
                                               "%s has no value for %s of %s, which stage \"%s\" fits",
                                               suite_calibration_path(&run->base), suite_calibrated_key_name(what->key),
                                               what->name, stage->name),
                                      "fit the whole plan first");
            DIT_TRY(suite_calibration_set(&run->fitted, value));
        }
    }
    return DIT_OK;
}

dit_status suite_calibration_run_gather(suite_calibration_run *run)
{
    for (int i = run->first; i <= run->last; i++) run->point_count += run->plan.stages[i].point_count;
    run->points = calloc((size_t)run->point_count + 1, sizeof *run->points);
    run->accelerators = calloc((size_t)run->point_count + 1, sizeof *run->accelerators);
    if (!run->points || !run->accelerators) return fail_memory();
    int used = 0;
    for (int i = run->first; i <= run->last; i++) {
        DIT_TRY(prepare_points(&run->plan.stages[i], run->points + used, run->accelerators + used));
        used += run->plan.stages[i].point_count;
    }
    return DIT_OK;
}

dit_status suite_calibration_run_fit_stage(suite_calibration_run *run, int index, suite_fitted_point *points,
                                           bool around)
{
    fit_call call = {run->params, &run->plan, &run->plan.stages[index], &run->fitted, points};
    return fit_stage(&call, around ? &run->base : NULL);
}

dit_status suite_calibration_run_predict(const suite_calibration_run *run, const suite_calibration *calibration,
                                         double *out)
{
    return predict(run->params, calibration, run->points, run->point_count, -1, true, out);
}

dit_status suite_calibration_run_predict_points(const suite_calibration_run *run, const suite_calibration *calibration,
                                                const suite_fitted_point *points, int count, double *out)
{
    return predict(run->params, calibration, points, count, -1, false, out);
}
