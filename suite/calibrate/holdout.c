#include "suite/calibrate/holdout.h"

#include "base/json_writer.h"
#include "base/stats.h"
#include "base/words.h"
#include "suite/calibrate/judged_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Around the values of the whole plan few rounds are enough. */
enum { ROUNDS = 2 };

typedef enum { BY_MACHINE, BY_MODEL, BY_COUNT } group_kind;
static const char *const kind_names[] = {"machine", "model", NULL};

static const char *group_of(const suite_fitted_point *point, group_kind kind)
{
    return kind == BY_MACHINE ? point->accelerator : suite_judged_model(point->planned);
}

static bool is_first(const suite_calibration_run *run, group_kind kind, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(group_of(&run->points[i], kind), group_of(&run->points[index], kind)) == 0) return false;
    return true;
}

static bool is_judged(const suite_judged_points *all, group_kind kind, const char *group)
{
    for (int i = 0; i < all->count; i++)
        if (strcmp(group_of(&all->points[i], kind), group) == 0) return true;
    return false;
}

/* ---- one group --------------------------------------------------------------------------------------------------- */

/* Skips the members of a group, or all others. */
static void skip(suite_fitted_point *points, int count, group_kind kind, const char *group, bool members)
{
    for (int i = 0; i < count; i++) points[i].skipped = (strcmp(group_of(&points[i], kind), group) == 0) == members;
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

/* Whether the stage has points of files that are judged. What others say touches no judged point. */
static bool has_judged(const suite_calibration_plan *plan, const suite_planned_stage *stage)
{
    for (int i = 0; i < stage->point_count; i++)
        for (int j = 0; j < plan->file_count; j++)
            if (strcmp(plan->files[j].name, stage->points[i].file) == 0 && plan->files[j].judged) return true;
    return false;
}

/* Whether the stage would find other values than those of the base. */
static dit_status is_concerned(const suite_calibration_run *run, int stage, const suite_fitted_point *points, bool *out)
{
    *out = false;
    if (!has_judged(&run->plan, &run->plan.stages[stage])) return DIT_OK;
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

static void put_errors(dit_json_writer *w, cJSON *object, const double *sizes, int count)
{
    dit_json_put_int(w, object, "points", count);
    dit_json_put_number(w, object, "median_error", dit_stats_median(sizes, count));
    dit_json_put_number(w, object, "p90_error", dit_stats_percentile(sizes, count, 0.9));
}

/* Adds the errors of what was predicted, and moves their sizes to all->sizes[*used] and on. */
static void put_points(dit_json_writer *w, cJSON *object, const suite_judged_points *all, int *used)
{
    int first = *used;
    for (int i = 0; i < all->count; i++)
        if (!all->points[i].skipped && isfinite(all->predicted[i])) all->sizes[(*used)++] = suite_judged_size(all, i);
    put_errors(w, object, all->sizes + first, *used - first);
    cJSON *points = dit_json_put_array(w, object, "errors");
    for (int i = 0; i < all->count; i++) {
        if (all->points[i].skipped || !isfinite(all->predicted[i])) continue;
        cJSON *one = dit_json_put_object(w, points, NULL);
        dit_json_put_int(w, one, "point", i);
        dit_json_put_number(w, one, "error", suite_judged_error(all, i));
    }
}

/* What no value was fitted on, predicted by the base. */
static dit_status put_outside(const suite_calibration_run *run, suite_judged_points *all, cJSON *document)
{
    dit_json_writer w = {0};
    int used = 0;
    for (int i = 0; i < all->count; i++) all->points[i].skipped = suite_point_in_fit(all->planned[i].point, &run->base);
    DIT_TRY(suite_calibration_run_predict_points(run, &run->base, all->points, all->count, all->predicted));
    put_points(&w, dit_json_put_object(&w, document, "outside"), all, &used);
    return w.status;
}

static dit_status hold_out(suite_calibration_run *run, group_kind kind, const char *group, suite_judged_points *all,
                           cJSON *list, int *used)
{
    dit_json_writer w = {0};
    skip(run->points, run->point_count, kind, group, true);
    DIT_TRY(fit_without(run));
    skip(all->points, all->count, kind, group, false);
    DIT_TRY(suite_calibration_run_predict_points(run, &run->fitted, all->points, all->count, all->predicted));
    cJSON *entry = dit_json_put_object(&w, list, NULL);
    dit_json_put_string(&w, entry, "name", group);
    put_points(&w, entry, all, used);
    return w.status;
}

static dit_status put_kind(suite_calibration_run *run, group_kind kind, suite_judged_points *all, cJSON *list)
{
    dit_json_writer w = {0};
    int used = 0;
    cJSON *entry = dit_json_put_object(&w, list, NULL);
    dit_json_put_string(&w, entry, "by", kind_names[kind]);
    cJSON *groups = dit_json_put_array(&w, entry, "groups");
    for (int i = 0; i < run->point_count && w.status == DIT_OK; i++) {
        const char *group = group_of(&run->points[i], kind);
        if (is_first(run, kind, i) && is_judged(all, kind, group))
            dit_json_put_status(&w, hold_out(run, kind, group, all, groups, &used));
    }
    put_errors(&w, entry, all->sizes, used);
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

static dit_status fill(suite_calibration_run *run, const char *by, suite_judged_points *all, cJSON *document)
{
    dit_json_writer w = {0};
    dit_json_put_string(&w, document, "schema", "ditbench.holdout/3");
    put_sources(&w, run, document);
    dit_json_put_status(&w, suite_judged_points_gather(&run->plan, all));
    if (w.status == DIT_OK)
        dit_json_put_status(&w, suite_judged_points_put(&w, dit_json_put_array(&w, document, "points"), all));
    if (w.status == DIT_OK) dit_json_put_status(&w, put_outside(run, all, document));
    cJSON *list = dit_json_put_array(&w, document, "held_out");
    for (int kind = 0; kind < BY_COUNT && w.status == DIT_OK; kind++)
        if (!by || strcmp(by, kind_names[kind]) == 0)
            dit_json_put_status(&w, put_kind(run, (group_kind)kind, all, list));
    return w.status;
}

static dit_status run_all(suite_calibration_run *run, const char *by, cJSON *document)
{
    DIT_TRY(suite_simulate_check(&run->params->simulate));
    DIT_TRY(suite_calibration_load(run->params->base, &run->base));
    DIT_TRY(check_base(run));
    DIT_TRY(suite_calibration_run_gather(run));
    run->plan.rounds = ROUNDS;
    suite_judged_points all = {0};
    dit_status st = fill(run, by, &all, document);
    suite_judged_points_release(&all);
    return st;
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
