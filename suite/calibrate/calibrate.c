#include "suite/calibrate/calibrate.h"

#include "base/json_writer.h"
#include "base/stats.h"
#include "suite/simulate/prediction_cache.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_DIGITS = 4, TIME_DIGITS = 6 };

/* A point in the fit, and what is predicted of it. */
typedef struct {
    const suite_planned_point *planned;
    double weight;       /* points of one case have one together                     */
    double before, base; /* seconds, without any fit; at the last call that may have changed all */
    double after;
    bool touched[SUITE_FIT_VALUES]; /* whether a value of the stage has to do with it */
} fitted_point;

/* The stage that is being fitted. */
typedef struct {
    const suite_calibrate_params *params;
    const suite_calibration_plan *plan;
    const suite_planned_stage *stage;
    suite_calibration *calibration; /* what stages before have fitted, and what is tried now */
    fitted_point *points;
} fit_call;

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a calibration");
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

static dit_status predict_one(const fitted_point *point, suite_simulator *simulator, double *out)
{
    const suite_planned_point *planned = point->planned;
    suite_point_result result;
    DIT_TRY(suite_point_predict(planned->point, suite_simulator_predict, simulator, &result));
    *out = result.predicted;
    if (!result.skip) return DIT_OK;
    return DIT_FAIL(DIT_ERR_WORKLOAD, "point %d of %s, %.160s: %.300s", result.index, planned->file, result.label,
                    result.detail);
}

/* Predicts points[i].base ... of those that `changed` touches (-1: all) into out[count]; others are left. */
static dit_status predict(const suite_calibrate_params *params, const suite_calibration *calibration,
                          const fitted_point *points, int count, int changed, double *out)
{
    const suite_point_case **cases = calloc((size_t)count + 1, sizeof *cases);
    suite_simulator simulator = {.params = params->simulate, .at_once = params->at_once};
    int used = 0;
    if (!cases) return fail_memory();
    simulator.params.calibration = calibration;
    for (int i = 0; i < count; i++)
        if (changed < 0 || points[i].touched[changed]) cases[used++] = points[i].planned->point->cases;
    dit_status st = suite_simulator_run(&simulator, cases, used, NULL, NULL);
    for (int i = 0; i < count && st == DIT_OK; i++)
        if (changed < 0 || points[i].touched[changed]) st = predict_one(&points[i], &simulator, &out[i]);
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
    DIT_TRY(predict(call->params, call->calibration, call->points, stage->point_count, changed, errors));
    for (int i = 0; i < stage->point_count; i++) {
        if (changed < 0) call->points[i].base = errors[i];
        errors[i] = log(errors[i] / call->points[i].planned->point->published->value);
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
    case SUITE_CALIBRATED_PLATFORM: return strcmp(value->name, cluster->name) == 0;
    case SUITE_CALIBRATED_LINK: return one->kase->world_size > 1 && cluster_has(cluster, value->name);
    case SUITE_CALIBRATED_OF_COUNT: break;
    }
    return true;
}

static dit_status look_at_machine(const suite_planned_stage *stage, fitted_point *point)
{
    const suite_point_case *one = point->planned->point->cases;
    suite_cluster cluster = {0};
    DIT_TRY(suite_cluster_load(one->platform, &cluster));
    for (int j = 0; j < stage->value_count; j++) point->touched[j] = touches(&stage->values[j].what, one, &cluster);
    suite_cluster_release(&cluster);
    return DIT_OK;
}

static bool same_case(const suite_point_case *a, const suite_point_case *b)
{
    return strcmp(a->kase->case_id, b->kase->case_id) == 0 && strcmp(a->platform, b->platform) == 0 &&
           strcmp(a->profile, b->profile) == 0;
}

static double weigh(const suite_planned_stage *stage, int index)
{
    int same = 0;
    for (int i = 0; i < stage->point_count; i++)
        same += same_case(stage->points[i].point->cases, stage->points[index].point->cases);
    return 1.0 / same;
}

static dit_status prepare_points(const suite_planned_stage *stage, fitted_point *points)
{
    for (int i = 0; i < stage->point_count; i++) {
        points[i].planned = &stage->points[i];
        points[i].weight = weigh(stage, i);
        DIT_TRY(look_at_machine(stage, &points[i]));
    }
    return DIT_OK;
}

/* Leaves the rounded values in call->calibration. */
static dit_status fit_stage(fit_call *call)
{
    const suite_planned_stage *stage = call->stage;
    suite_fit_value ranges[SUITE_FIT_VALUES];
    double values[SUITE_FIT_VALUES], *weights = calloc((size_t)stage->point_count, sizeof *weights);
    if (!weights) return fail_memory();
    for (int j = 0; j < stage->value_count; j++) ranges[j] = stage->values[j].range;
    for (int i = 0; i < stage->point_count; i++)
        weights[i] = call->points[i].weight / (call->plan->deviation * call->plan->deviation);
    const suite_fit fit = {.values = ranges,
                           .value_count = stage->value_count,
                           .weights = weights,
                           .observation_count = stage->point_count,
                           .huber = call->plan->huber,
                           .rounds = call->plan->rounds,
                           .context = call,
                           .evaluate = evaluate,
                           .tell = tell};
    dit_status st = suite_fit_run(&fit, values, NULL);
    for (int j = 0; j < stage->value_count && st == DIT_OK; j++) {
        suite_calibrated value = stage->values[j].what;
        value.value = suite_fit_round(values[j], VALUE_DIGITS);
        st = suite_calibration_set(call->calibration, &value);
    }
    free(weights);
    return st;
}

/* ---- all stages -------------------------------------------------------------------------------------------------- */

/* What is worked on: stages first..last of the plan, their points one after the other. */
typedef struct {
    const suite_calibrate_params *params;
    suite_calibration_plan plan;
    suite_calibration base, fitted;
    fitted_point *points;
    int first, last, point_count;
} calibration_run;

static void release(calibration_run *run)
{
    suite_calibration_plan_release(&run->plan);
    suite_calibration_release(&run->base);
    suite_calibration_release(&run->fitted);
    free(run->points);
}

static dit_status open_run(const suite_calibrate_params *params, calibration_run *run)
{
    *run = (calibration_run){.params = params};
    DIT_TRY(suite_calibration_plan_load(params->plan, &run->plan));
    run->last = run->plan.stage_count - 1;
    if (!params->stage) return DIT_OK;
    DIT_TRY(suite_calibration_plan_stage(&run->plan, params->stage, &run->first));
    run->last = run->first;
    return DIT_OK;
}

/* The values that stages first..last have in the base are taken over. */
static dit_status take_over(calibration_run *run, int first, int last)
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

static dit_status gather_points(calibration_run *run)
{
    for (int i = run->first; i <= run->last; i++) run->point_count += run->plan.stages[i].point_count;
    run->points = calloc((size_t)run->point_count + 1, sizeof *run->points);
    if (!run->points) return fail_memory();
    int used = 0;
    for (int i = run->first; i <= run->last; i++) {
        DIT_TRY(prepare_points(&run->plan.stages[i], run->points + used));
        used += run->plan.stages[i].point_count;
    }
    return DIT_OK;
}

static dit_status fit_stages(calibration_run *run)
{
    fitted_point *points = run->points;
    for (int i = run->first; i <= run->last; i++) {
        fit_call call = {run->params, &run->plan, &run->plan.stages[i], &run->fitted, points};
        DIT_TRY(fit_stage(&call));
        points += call.stage->point_count;
    }
    return DIT_OK;
}

/* Before: with nothing laid over; after: with everything. */
static dit_status predict_ends(calibration_run *run)
{
    double *seconds = calloc((size_t)run->point_count + 1, sizeof *seconds);
    if (!seconds) return fail_memory();
    dit_status st = predict(run->params, NULL, run->points, run->point_count, -1, seconds);
    for (int i = 0; i < run->point_count; i++) run->points[i].before = suite_fit_round(seconds[i], TIME_DIGITS);
    if (st == DIT_OK) st = predict(run->params, &run->fitted, run->points, run->point_count, -1, seconds);
    for (int i = 0; i < run->point_count; i++) run->points[i].after = suite_fit_round(seconds[i], TIME_DIGITS);
    free(seconds);
    return st;
}

static dit_status run_fit(calibration_run *run)
{
    bool alone = run->params->stage;
    DIT_TRY(suite_simulate_check(&run->params->simulate));
    if (alone) DIT_TRY(suite_calibration_load(run->params->base, &run->base));
    DIT_TRY(gather_points(run));
    if (alone) DIT_TRY(take_over(run, 0, run->first - 1));
    DIT_TRY(fit_stages(run));
    if (alone) DIT_TRY(take_over(run, run->last + 1, run->plan.stage_count - 1));
    return predict_ends(run);
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* To 1 / `per`; never -0, which prints differently. */
static double round_to(double value, double per)
{
    return round(value * per) / per + 0.0;
}

static void add_what(dit_json_writer *w, cJSON *entry, const suite_calibrated *what)
{
    dit_json_put_string(w, entry, "of", suite_calibrated_of_name(suite_calibrated_key_of(what->key)));
    dit_json_put_string(w, entry, "name", what->name);
    dit_json_put_string(w, entry, "key", suite_calibrated_key_name(what->key));
}

static dit_status add_parameter(const calibration_run *run, const suite_planned_stage *stage,
                                const suite_planned_value *planned, cJSON *list)
{
    dit_json_writer w = {0};
    const suite_fit_value *range = &planned->range;
    cJSON *entry = dit_json_put_object(&w, list, NULL);
    double value = suite_calibration_find(&run->fitted, planned->what.key, planned->what.name)->value;
    double moved = log(value / range->prior) / range->deviation;
    dit_json_put_string(&w, entry, "stage", stage->name);
    add_what(&w, entry, &planned->what);
    dit_json_put_number(&w, entry, "prior", range->prior);
    dit_json_put_number(&w, entry, "value", value);
    dit_json_put_number(&w, entry, "deviation", round_to(moved, 100));
    return w.status;
}

static double error_of(const fitted_point *point, double seconds)
{
    return round_to(seconds / point->planned->point->published->value - 1, 1e4);
}

static dit_status add_point(const suite_planned_stage *stage, const fitted_point *point, cJSON *list)
{
    dit_json_writer w = {0};
    const suite_point *own = point->planned->point;
    suite_point_result known;
    cJSON *entry = dit_json_put_object(&w, list, NULL);
    DIT_TRY(suite_point_predict(own, NULL, NULL, &known));
    dit_json_put_string(&w, entry, "stage", stage->name);
    dit_json_put_string(&w, entry, "file", point->planned->file);
    dit_json_put_int(&w, entry, "index", own->published->index);
    dit_json_put_string(&w, entry, "label", known.label);
    dit_json_put_string(&w, entry, "case_id", own->cases[0].kase->case_id);
    dit_json_put_string(&w, entry, "platform", own->cases[0].platform);
    dit_json_put_string(&w, entry, "profile", own->cases[0].profile);
    dit_json_put_number(&w, entry, "published", own->published->value);
    dit_json_put_number(&w, entry, "before", point->before);
    dit_json_put_number(&w, entry, "after", point->after);
    dit_json_put_number(&w, entry, "error", error_of(point, point->after));
    return w.status;
}

static dit_status add_files(const calibration_run *run, cJSON *document)
{
    dit_json_writer w = {0};
    cJSON *plan = dit_json_put_object(&w, document, "plan"), *files = dit_json_put_array(&w, document, "files");
    dit_json_put_string(&w, plan, "name", run->plan.name);
    dit_json_put_string(&w, plan, "hash", run->plan.hash);
    for (int i = 0; i < run->plan.file_count; i++) {
        cJSON *entry = dit_json_put_object(&w, files, NULL);
        dit_json_put_string(&w, entry, "file", run->plan.files[i].name);
        dit_json_put_string(&w, entry, "hash", run->plan.files[i].hash);
    }
    return w.status;
}

static dit_status add_entries(const calibration_run *run, cJSON *document)
{
    dit_json_writer w = {0};
    cJSON *parameters = dit_json_put_array(&w, document, "parameters");
    cJSON *points = dit_json_put_array(&w, document, "points");
    const fitted_point *point = run->points;
    for (int i = run->first; i <= run->last; i++) {
        const suite_planned_stage *stage = &run->plan.stages[i];
        for (int j = 0; j < stage->value_count; j++) DIT_TRY(add_parameter(run, stage, &stage->values[j], parameters));
        for (int j = 0; j < stage->point_count; j++) DIT_TRY(add_point(stage, point++, points));
    }
    return w.status;
}

static void add_errors(dit_json_writer *w, const calibration_run *run, cJSON *summary, const char *key, bool after,
                       double *errors)
{
    cJSON *entry = dit_json_put_object(w, summary, key);
    for (int i = 0; i < run->point_count; i++) {
        const fitted_point *point = &run->points[i];
        errors[i] = fabs(error_of(point, after ? point->after : point->before));
    }
    dit_json_put_number(w, entry, "median_error", dit_stats_median(errors, run->point_count));
    dit_json_put_number(w, entry, "p90_error", dit_stats_percentile(errors, run->point_count, 0.9));
}

static int count_cases(const calibration_run *run)
{
    int distinct = 0;
    for (int i = 0; i < run->point_count; i++) {
        bool known = false;
        for (int j = 0; j < i && !known; j++)
            known = same_case(run->points[i].planned->point->cases, run->points[j].planned->point->cases);
        distinct += !known;
    }
    return distinct;
}

static dit_status add_summary(const calibration_run *run, cJSON *document)
{
    dit_json_writer w = {0};
    cJSON *summary = dit_json_put_object(&w, document, "summary");
    double *errors = calloc((size_t)run->point_count + 1, sizeof *errors);
    dit_status st = summary && errors ? DIT_OK : fail_memory();
    if (st == DIT_OK) dit_json_put_int(&w, summary, "points", run->point_count);
    if (st == DIT_OK) dit_json_put_int(&w, summary, "cases", count_cases(run));
    if (st == DIT_OK) add_errors(&w, run, summary, "before", false, errors);
    if (st == DIT_OK) add_errors(&w, run, summary, "after", true, errors);
    free(errors);
    return st == DIT_OK ? w.status : st;
}

static dit_status write_document(const calibration_run *run, cJSON *document)
{
    dit_json_writer w = {0};
    dit_json_put_string(&w, document, "schema", "ditbench.calibration/1");
    dit_json_put_string(&w, document, "from", "published");
    DIT_TRY(add_files(run, document));
    DIT_TRY(add_entries(run, document));
    dit_json_put_status(&w, add_summary(run, document));
    return w.status;
}

/* Runs `work`, then has `write` fill a document. */
static dit_status make_document(const suite_calibrate_params *params, dit_status (*work)(calibration_run *),
                                dit_status (*write)(const calibration_run *, cJSON *), cJSON **out)
{
    calibration_run run;
    *out = NULL;
    dit_status st = open_run(params, &run);
    if (st == DIT_OK && work) st = work(&run);
    dit_json_writer w = {0};
    if (st == DIT_OK) *out = dit_json_new_object(&w);
    if (st == DIT_OK) st = *out ? write(&run, *out) : w.status;
    release(&run);
    if (st == DIT_OK) return DIT_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return st;
}

dit_status suite_calibrate_fit(const suite_calibrate_params *params, cJSON **out)
{
    return make_document(params, run_fit, write_document, out);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static dit_status list_values(const suite_planned_stage *stage, cJSON *list)
{
    dit_json_writer w = {0};
    for (int i = 0; i < stage->value_count; i++) {
        const suite_fit_value *range = &stage->values[i].range;
        cJSON *entry = dit_json_put_object(&w, list, NULL);
        add_what(&w, entry, &stage->values[i].what);
        dit_json_put_number(&w, entry, "prior", range->prior);
        dit_json_put_number(&w, entry, "least", range->least);
        dit_json_put_number(&w, entry, "most", range->most);
        dit_json_put_number(&w, entry, "prior_deviation", range->deviation);
    }
    return w.status;
}

static dit_status list_points(const suite_planned_stage *stage, cJSON *list)
{
    dit_json_writer w = {0};
    for (int i = 0; i < stage->point_count; i++) {
        const suite_planned_point *planned = &stage->points[i];
        suite_point_result known;
        cJSON *entry = dit_json_put_object(&w, list, NULL);
        DIT_TRY(suite_point_predict(planned->point, NULL, NULL, &known));
        dit_json_put_string(&w, entry, "file", planned->file);
        dit_json_put_int(&w, entry, "index", known.index);
        dit_json_put_string(&w, entry, "label", known.label);
        dit_json_put_string(&w, entry, "profile", planned->point->profile);
        dit_json_put_number(&w, entry, "published", known.published);
        if (planned->why[0]) dit_json_put_string(&w, entry, "why", planned->why);
    }
    return w.status;
}

static dit_status write_list(const calibration_run *run, cJSON *document)
{
    dit_json_writer w = {0};
    dit_json_put_string(&w, document, "plan", run->plan.name);
    dit_json_put_string(&w, document, "hash", run->plan.hash);
    cJSON *stages = dit_json_put_array(&w, document, "stages");
    for (int i = run->first; i <= run->last; i++) {
        const suite_planned_stage *stage = &run->plan.stages[i];
        cJSON *entry = dit_json_put_object(&w, stages, NULL);
        cJSON *values = dit_json_put_array(&w, entry, "parameters");
        cJSON *points = dit_json_put_array(&w, entry, "points");
        dit_json_put_string(&w, entry, "name", stage->name);
        dit_json_put_string(&w, entry, "why", stage->why);
        DIT_TRY(list_values(stage, values));
        DIT_TRY(list_points(stage, points));
    }
    return w.status;
}

dit_status suite_calibrate_list(const suite_calibrate_params *params, cJSON **out)
{
    return make_document(params, NULL, write_list, out);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* Whether two documents are the same bytes. */
static bool same_bytes(const cJSON *a, const cJSON *b)
{
    char *left = a ? cJSON_PrintUnformatted(a) : NULL, *right = b ? cJSON_PrintUnformatted(b) : NULL;
    bool same = left && right && strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

static dit_status fail_different(const char *path, const char *pointer, const cJSON *fitted, const cJSON *known)
{
    char *left = fitted ? cJSON_PrintUnformatted(fitted) : NULL, *right = known ? cJSON_PrintUnformatted(known) : NULL;
    dit_status st = DIT_FAIL(DIT_ERR_BYTES_MISMATCH, "%s: %s: fitted %.400s, there %.400s", path, pointer,
                             left ? left : "nothing", right ? right : "nothing");
    free(left);
    free(right);
    return dit_error_hint(st, "ditbench calibrate --from published writes it anew");
}

/* The next entry of a list that belongs to the stage; NULL stage: any. */
static const cJSON *next_of(const cJSON *entry, const char *stage)
{
    while (entry && stage) {
        const char *own = dit_json_text_or(entry, "stage", NULL);
        if (own && strcmp(own, stage) == 0) break;
        entry = entry->next;
    }
    return entry;
}

static dit_status compare_lists(const char *path, const char *key, const char *stage, const cJSON *fitted,
                                const cJSON *known)
{
    char pointer[64];
    const cJSON *mine = fitted ? fitted->child : NULL, *other = next_of(known ? known->child : NULL, stage);
    for (int index = 0; mine || other; index++) {
        snprintf(pointer, sizeof pointer, "%s %d%s", key, index, stage ? " of the stage" : "");
        if (!same_bytes(mine, other)) return fail_different(path, pointer, mine, other);
        mine = mine->next;
        other = next_of(other->next, stage);
    }
    return DIT_OK;
}

dit_status suite_calibrate_compare(const cJSON *fitted, const char *stage, const char *path)
{
    static const char *const lists[] = {"parameters", "points"};
    static const char *const others[] = {"schema", "from", "plan", "files", "summary"};
    dit_json known;
    dit_status st = dit_json_read_file(path, &known);
    for (size_t i = 0; i < sizeof lists / sizeof *lists && st == DIT_OK; i++)
        st = compare_lists(path, lists[i], stage, dit_json_member(fitted, lists[i]),
                           dit_json_member(known.root, lists[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others && st == DIT_OK && !stage; i++) {
        const cJSON *mine = dit_json_member(fitted, others[i]), *other = dit_json_member(known.root, others[i]);
        if (!same_bytes(mine, other)) st = fail_different(path, others[i], mine, other);
    }
    if (st == DIT_OK && !stage && !same_bytes(fitted, known.root))
        st = DIT_FAIL(DIT_ERR_BYTES_MISMATCH, "%s does not have the members that the fit made", path);
    dit_json_release(&known);
    return st;
}
