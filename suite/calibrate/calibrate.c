#include "suite/calibrate/calibrate.h"

#include "base/json_writer.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTERVAL_DIGITS = 3, TIME_DIGITS = 6 };

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a calibration");
}

/* ---- the fit ----------------------------------------------------------------------------------------------------- */

static dit_status fit_stages(suite_calibration_run *run)
{
    suite_fitted_point *points = run->points;
    for (int i = run->first; i <= run->last; i++) {
        DIT_TRY(suite_calibration_run_fit_stage(run, i, points, false));
        points += run->plan.stages[i].point_count;
    }
    return DIT_OK;
}

/* Before: with nothing laid over; after: with everything. */
static dit_status predict_ends(suite_calibration_run *run)
{
    double *seconds = calloc((size_t)run->point_count + 1, sizeof *seconds);
    if (!seconds) return fail_memory();
    dit_status st = suite_calibration_run_predict(run, NULL, seconds);
    for (int i = 0; i < run->point_count; i++) run->points[i].before = suite_fit_round(seconds[i], TIME_DIGITS);
    if (st == DIT_OK) st = suite_calibration_run_predict(run, &run->fitted, seconds);
    for (int i = 0; i < run->point_count; i++) run->points[i].after = suite_fit_round(seconds[i], TIME_DIGITS);
    free(seconds);
    return st;
}

static dit_status run_fit(suite_calibration_run *run)
{
    bool alone = run->params->stage;
    DIT_TRY(suite_simulate_check(&run->params->simulate));
    if (alone) DIT_TRY(suite_calibration_load(run->params->base, &run->base));
    DIT_TRY(suite_calibration_run_gather(run));
    if (alone) DIT_TRY(suite_calibration_run_take_over(run, 0, run->first - 1));
    DIT_TRY(fit_stages(run));
    if (alone) DIT_TRY(suite_calibration_run_take_over(run, run->last + 1, run->plan.stage_count - 1));
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

/* "least" or "most" if the value lies on that bound to the digits that are written; NULL within them. */
static const char *bound_of(const suite_fit_value *range, double value)
{
    static const double rounding = 1e-3;
    if (value <= range->least * (1 + rounding)) return "least";
    return value >= range->most * (1 - rounding) ? "most" : NULL;
}

static dit_status add_parameter(const suite_calibration_run *run, const suite_planned_stage *stage, int index,
                                cJSON *list)
{
    dit_json_writer w = {0};
    const suite_planned_value *planned = &stage->values[index];
    const suite_fit_value *range = &planned->range;
    const suite_fit_interval *interval = &stage->intervals[index];
    cJSON *entry = dit_json_put_object(&w, list, NULL);
    double value = suite_calibration_find(&run->fitted, planned->what.key, planned->what.name)->value;
    double moved = log(value / range->prior) / range->deviation;
    const char *bound = bound_of(range, value);
    dit_json_put_string(&w, entry, "stage", stage->name);
    add_what(&w, entry, &planned->what);
    dit_json_put_number(&w, entry, "prior", range->prior);
    dit_json_put_number(&w, entry, "value", value);
    dit_json_put_number(&w, entry, "deviation", round_to(moved, 100));
    cJSON *ends = dit_json_put_array(&w, entry, "interval");
    dit_json_put_number(&w, ends, NULL, suite_fit_round(interval->low, INTERVAL_DIGITS));
    dit_json_put_number(&w, ends, NULL, suite_fit_round(interval->high, INTERVAL_DIGITS));
    if (bound) dit_json_put_string(&w, entry, "bound", bound);
    return w.status;
}

static double error_of(const suite_fitted_point *point, double seconds)
{
    return round_to(seconds / point->planned->point->published->value - 1, 1e4);
}

static dit_status add_point(const suite_planned_stage *stage, const suite_fitted_point *point, cJSON *list)
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

static dit_status add_files(const suite_calibration_run *run, cJSON *document)
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

static dit_status add_entries(const suite_calibration_run *run, cJSON *document)
{
    dit_json_writer w = {0};
    cJSON *parameters = dit_json_put_array(&w, document, "parameters");
    cJSON *points = dit_json_put_array(&w, document, "points");
    const suite_fitted_point *point = run->points;
    for (int i = run->first; i <= run->last; i++) {
        const suite_planned_stage *stage = &run->plan.stages[i];
        for (int j = 0; j < stage->value_count; j++) DIT_TRY(add_parameter(run, stage, j, parameters));
        for (int j = 0; j < stage->point_count; j++) DIT_TRY(add_point(stage, point++, points));
    }
    return w.status;
}

static void add_errors(dit_json_writer *w, const suite_calibration_run *run, cJSON *summary, const char *key,
                       bool after, double *errors)
{
    cJSON *entry = dit_json_put_object(w, summary, key);
    for (int i = 0; i < run->point_count; i++) {
        const suite_fitted_point *point = &run->points[i];
        errors[i] = fabs(error_of(point, after ? point->after : point->before));
    }
    dit_json_put_number(w, entry, "median_error", dit_stats_median(errors, run->point_count));
    dit_json_put_number(w, entry, "p90_error", dit_stats_percentile(errors, run->point_count, 0.9));
}

static int count_cases(const suite_calibration_run *run)
{
    int distinct = 0;
    for (int i = 0; i < run->point_count; i++) {
        bool known = false;
        for (int j = 0; j < i && !known; j++)
            known =
                suite_calibration_same_case(run->points[i].planned->point->cases, run->points[j].planned->point->cases);
        distinct += !known;
    }
    return distinct;
}

static dit_status add_summary(const suite_calibration_run *run, cJSON *document)
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

static dit_status write_document(const suite_calibration_run *run, cJSON *document)
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
static dit_status make_document(const suite_calibrate_params *params, dit_status (*work)(suite_calibration_run *),
                                dit_status (*write)(const suite_calibration_run *, cJSON *), cJSON **out)
{
    suite_calibration_run run;
    *out = NULL;
    dit_status st = suite_calibration_run_open(params, &run);
    if (st == DIT_OK && work) st = work(&run);
    dit_json_writer w = {0};
    if (st == DIT_OK) *out = dit_json_new_object(&w);
    if (st == DIT_OK) st = *out ? write(&run, *out) : w.status;
    suite_calibration_run_close(&run);
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

static dit_status write_list(const suite_calibration_run *run, cJSON *document)
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
