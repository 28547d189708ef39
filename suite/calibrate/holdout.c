#include "suite/calibrate/holdout.h"

#include "base/json_writer.h"
#include "base/stats.h"
#include "base/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Around the values of the whole plan few rounds are enough. */
enum { ROUNDS = 2 };

typedef enum { BY_MACHINE, BY_MODEL, BY_COUNT } group_kind;
static const char *const kind_names[] = {"machine", "model", NULL};

/* A layer of attention has no model. */
static const char *group_of(const suite_fitted_point *point, group_kind kind)
{
    const char *model = point->planned->point->model;
    if (kind == BY_MACHINE) return point->accelerator;
    return model ? model : "attention layer";
}

static bool is_first(const suite_calibration_run *run, group_kind kind, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(group_of(&run->points[i], kind), group_of(&run->points[index], kind)) == 0) return false;
    return true;
}

/* ---- one group --------------------------------------------------------------------------------------------------- */

static void skip(suite_calibration_run *run, group_kind kind, const char *group, bool members)
{
    for (int i = 0; i < run->point_count; i++)
        run->points[i].skipped = (strcmp(group_of(&run->points[i], kind), group) == 0) == members;
}

/* Whether a value of the stages before, that is another than in the base, has to do with the point. */
static dit_status is_moved(const suite_calibration_run *run, int stage, const suite_fitted_point *point, bool *out)
{
    for (int i = 0; i < stage; i++) {
        for (int j = 0; j < run->plan.stages[i].value_count && !*out; j++) {
            const suite_calibrated *what = &run->plan.stages[i].values[j].what;
            const suite_calibrated *now = suite_calibration_find(&run->fitted, what->key, what->name);
            const suite_calibrated *base = suite_calibration_find(&run->base, what->key, what->name);
            if (now->value != base->value) DIT_TRY(suite_calibration_touches(what, point->planned->point->cases, out));
        }
    }
    return DIT_OK;
}

/* Whether the stage would find other values than those of the base. */
static dit_status is_concerned(const suite_calibration_run *run, int stage, const suite_fitted_point *points, bool *out)
{
    *out = false;
    for (int i = 0; i < run->plan.stages[stage].point_count && !*out; i++) *out = points[i].skipped;
    for (int i = 0; i < run->plan.stages[stage].point_count && !*out; i++)
        DIT_TRY(is_moved(run, stage, &points[i], out));
    return DIT_OK;
}

static dit_status fit_without(suite_calibration_run *run)
{
    suite_fitted_point *points = run->points;
    suite_calibration_release(&run->fitted);
    for (int stage = 0; stage < run->plan.stage_count; stage++) {
        bool concerned;
        DIT_TRY(is_concerned(run, stage, points, &concerned));
        if (concerned)
            DIT_TRY(suite_calibration_run_fit_stage(run, stage, points, true));
        else
            DIT_TRY(suite_calibration_run_take_over(run, stage, stage));
        points += run->plan.stages[stage].point_count;
    }
    return DIT_OK;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* Errors of many points, with a point of several stages once for each. */
typedef struct {
    double *sizes;
    int count;
} error_list;

static void put_errors(dit_json_writer *w, cJSON *object, const error_list *errors)
{
    dit_json_put_int(w, object, "points", errors->count);
    dit_json_put_number(w, object, "median_error", dit_stats_median(errors->sizes, errors->count));
    dit_json_put_number(w, object, "p90_error", dit_stats_percentile(errors->sizes, errors->count, 0.9));
}

static double error_of(const suite_fitted_point *point, double seconds)
{
    return round((seconds / point->planned->point->published->value - 1) * 1e4) / 1e4 + 0.0;
}

/* Adds what was predicted of the points that are not skipped to the group, and their errors to `all`. */
static dit_status put_group(const suite_calibration_run *run, const char *name, const double *seconds, cJSON *list,
                            error_list *all)
{
    dit_json_writer w = {0};
    error_list own = {.sizes = all->sizes + all->count};
    cJSON *entry = dit_json_put_object(&w, list, NULL);
    dit_json_put_string(&w, entry, "name", name);
    for (int i = 0; i < run->point_count; i++)
        if (!run->points[i].skipped) own.sizes[own.count++] = fabs(error_of(&run->points[i], seconds[i]));
    all->count += own.count;
    put_errors(&w, entry, &own);
    cJSON *points = dit_json_put_array(&w, entry, "errors");
    for (int i = 0; i < run->point_count; i++) {
        if (run->points[i].skipped) continue;
        cJSON *one = dit_json_put_object(&w, points, NULL);
        dit_json_put_string(&w, one, "file", run->points[i].planned->file);
        dit_json_put_int(&w, one, "index", run->points[i].planned->point->published->index);
        dit_json_put_number(&w, one, "error", error_of(&run->points[i], seconds[i]));
    }
    return w.status;
}

static dit_status hold_out(suite_calibration_run *run, group_kind kind, const char *group, double *seconds, cJSON *list,
                           error_list *all)
{
    skip(run, kind, group, true);
    DIT_TRY(fit_without(run));
    skip(run, kind, group, false);
    DIT_TRY(suite_calibration_run_predict(run, &run->fitted, seconds));
    return put_group(run, group, seconds, list, all);
}

static dit_status put_kind(suite_calibration_run *run, group_kind kind, double *block, cJSON *list)
{
    dit_json_writer w = {0};
    error_list all = {.sizes = block + run->point_count};
    cJSON *entry = dit_json_put_object(&w, list, NULL);
    dit_json_put_string(&w, entry, "by", kind_names[kind]);
    cJSON *groups = dit_json_put_array(&w, entry, "groups");
    for (int i = 0; i < run->point_count && w.status == DIT_OK; i++)
        if (is_first(run, kind, i))
            dit_json_put_status(&w, hold_out(run, kind, group_of(&run->points[i], kind), block, groups, &all));
    put_errors(&w, entry, &all);
    return w.status;
}

static void put_sources(dit_json_writer *w, const suite_calibration_run *run, cJSON *document)
{
    cJSON *plan = dit_json_put_object(w, document, "plan"), *files = dit_json_put_array(w, document, "files");
    dit_json_put_string(w, plan, "name", run->plan.name);
    dit_json_put_string(w, plan, "hash", run->plan.hash);
    for (int i = 0; i < run->plan.file_count; i++) {
        cJSON *entry = dit_json_put_object(w, files, NULL);
        dit_json_put_string(w, entry, "file", run->plan.files[i].name);
        dit_json_put_string(w, entry, "hash", run->plan.files[i].hash);
    }
}

/* A fit of another plan does not know what it has seen of this one. */
static dit_status check_base(const suite_calibration_run *run)
{
    const cJSON *plan = dit_json_member(run->base.source.root, "plan");
    if (strcmp(dit_json_text_or(plan, "hash", ""), run->plan.hash) == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s is no fit of the plan \"%s\" as it is now",
                                   suite_calibration_path(&run->base), run->plan.name),
                          "`ditbench calibrate --from published` fits it");
}

static dit_status fill(suite_calibration_run *run, const char *by, cJSON *document)
{
    dit_json_writer w = {0};
    double *block = calloc(2 * (size_t)run->point_count + 1, sizeof *block);
    if (!block) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for held-out points");
    dit_json_put_string(&w, document, "schema", "ditbench.holdout/1");
    put_sources(&w, run, document);
    cJSON *list = dit_json_put_array(&w, document, "held_out");
    for (int kind = 0; kind < BY_COUNT && w.status == DIT_OK; kind++)
        if (!by || strcmp(by, kind_names[kind]) == 0)
            dit_json_put_status(&w, put_kind(run, (group_kind)kind, block, list));
    free(block);
    return w.status;
}

static dit_status run_all(suite_calibration_run *run, const char *by, cJSON *document)
{
    DIT_TRY(suite_simulate_check(&run->params->simulate));
    DIT_TRY(suite_calibration_load(run->params->base, &run->base));
    DIT_TRY(check_base(run));
    DIT_TRY(suite_calibration_run_gather(run));
    run->plan.rounds = ROUNDS;
    return fill(run, by, document);
}

dit_status suite_calibrate_holdout(const suite_calibrate_params *params, const char *by, cJSON **out)
{
    suite_calibration_run run;
    dit_json_writer w = {0};
    *out = NULL;
    if (by && dit_words_find(kind_names, by) < 0)
        return dit_words_hint(DIT_FAIL(DIT_ERR_USAGE, "nothing is held out by \"%s\"", by), by, kind_names);
    dit_status st = suite_calibration_run_open(params, &run);
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_status(&w, st);
    if (w.status == DIT_OK) dit_json_put_status(&w, run_all(&run, by, document));
    suite_calibration_run_close(&run);
    return dit_json_finish(&w, document, out);
}

dit_status suite_holdout_path(const char *calibration, char out[SUITE_PATH])
{
    const char *slash = strrchr(calibration, '/');
    int folder = slash ? (int)(slash - calibration) + 1 : 0;
    return suite_path(out, "%.*sholdout.json", folder, calibration);
}
