#include "suite/calibrate/judged_points.h"

#include "base/case_facts.h"
#include "suite/simulate/point_class.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void suite_judged_points_release(suite_judged_points *judged)
{
    free(judged->planned);
    free(judged->points);
    free(judged->accelerators);
    free(judged->predicted);
    free(judged->sizes);
    *judged = (suite_judged_points){0};
}

static dit_status add_file(const suite_planned_file *file, suite_judged_points *out)
{
    for (int i = 0; i < file->published.count; i++) {
        if (!suite_point_is_countable(&file->points[i]) || file->points[i].search) continue;
        int at = out->count++;
        out->planned[at] = (suite_planned_point){file->name, "", &file->points[i]};
        out->points[at] = (suite_fitted_point){.planned = &out->planned[at], .accelerator = out->accelerators[at]};
        out->predicted[at] = NAN;
        DIT_TRY(suite_calibration_machine_of(&file->points[i], out->accelerators[at]));
    }
    return DIT_OK;
}

dit_status suite_judged_points_gather(const suite_calibration_plan *plan, suite_judged_points *out)
{
    size_t room = 1;
    *out = (suite_judged_points){0};
    for (int i = 0; i < plan->file_count; i++) room += (size_t)plan->files[i].published.count;
    out->planned = calloc(room, sizeof *out->planned);
    out->points = calloc(room, sizeof *out->points);
    out->accelerators = calloc(room, sizeof *out->accelerators);
    out->predicted = calloc(room, sizeof *out->predicted);
    out->sizes = calloc(room, sizeof *out->sizes);
    if (!out->planned || !out->points || !out->accelerators || !out->predicted || !out->sizes)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for held-out points");
    for (int i = 0; i < plan->file_count; i++)
        if (plan->files[i].judged) DIT_TRY(add_file(&plan->files[i], out));
    return DIT_OK;
}

const char *suite_judged_model(const suite_planned_point *planned)
{
    return planned->point->model ? planned->point->model : "attention layer";
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static double rounded(double value)
{
    return round(value * 1e4) / 1e4 + 0.0;
}

static double printed(const suite_judged_points *judged, int index)
{
    return judged->planned[index].point->published->value;
}

double suite_judged_size(const suite_judged_points *judged, int index)
{
    return fabs(rounded(judged->predicted[index] / printed(judged, index) - 1));
}

double suite_judged_error(const suite_judged_points *judged, int index)
{
    double error = log(printed(judged, index) / judged->predicted[index]);
    return rounded(judged->planned[index].point->is_layer ? -error : error);
}

/* ---- what a point is of ------------------------------------------------------------------------------------------ */

/* Points of one chart err together: those of one source, one machine and one model are of one set. */
static bool same_set(const suite_judged_points *judged, int a, int b)
{
    return strcmp(judged->accelerators[a], judged->accelerators[b]) == 0 &&
           strcmp(suite_judged_model(&judged->planned[a]), suite_judged_model(&judged->planned[b])) == 0 &&
           strcmp(judged->planned[a].point->published->source, judged->planned[b].point->published->source) == 0;
}

/* Whether two layers do the same work on their tokens. */
static bool same_layer(const suite_published_point *a, const suite_published_point *b)
{
    return a->seq_len == b->seq_len && a->heads == b->heads && a->head_dim == b->head_dim &&
           a->kv_groups == b->kv_groups;
}

/* Whether two times span the same work; a layer's is its forward. */
static bool same_scope(const suite_point *x, const suite_point *y)
{
    if (x->is_layer || y->is_layer) return x->is_layer == y->is_layer;
    return strcmp(x->habits.scope, y->habits.scope) == 0;
}

/* Whether two points ask for the same picture in the same sense of time, of whatever machine, mesh and software. */
static bool same_question(const suite_judged_points *judged, int a, int b)
{
    const suite_point *x = judged->planned[a].point, *y = judged->planned[b].point;
    const suite_published_point *p = x->published, *q = y->published;
    return strcmp(suite_judged_model(&judged->planned[a]), suite_judged_model(&judged->planned[b])) == 0 &&
           strcmp(p->metric, q->metric) == 0 && same_scope(x, y) && x->width_px == y->width_px &&
           x->height_px == y->height_px && p->frames == q->frames && p->steps == q->steps &&
           (p->batch ? p->batch : 1) == (q->batch ? q->batch : 1) && x->is_causal == y->is_causal &&
           x->packed == y->packed && same_layer(p, q);
}

/* Number of the first point that is like this one. */
static int first_like(const suite_judged_points *judged, int index,
                      bool (*like)(const suite_judged_points *judged, int a, int b))
{
    for (int i = 0; i < index; i++)
        if (like(judged, i, index)) return i;
    return index;
}

/* How large the model is and how many tokens it attends over; a layer is of no size. */
static dit_status put_sizes(dit_json_writer *w, cJSON *one, const suite_point *point)
{
    dit_json view = {.path = (char *)(uintptr_t) "published point"};
    dit_facts facts = {.image_tokens = point->published->seq_len};
    if (!point->is_layer) DIT_TRY(dit_facts_from_case(&view, point->cases->kase->document, "", &facts));
    dit_json_put_int(w, one, "tokens", facts.image_tokens);
    dit_json_put_int(w, one, "parameters", facts.parameters);
    return DIT_OK;
}

static dit_status put_point(dit_json_writer *w, cJSON *list, const suite_judged_points *judged, int index)
{
    const suite_planned_point *planned = &judged->planned[index];
    const suite_point *point = planned->point;
    cJSON *one = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, one, "file", planned->file);
    dit_json_put_int(w, one, "index", point->published->index);
    dit_json_put_string(w, one, "machine", judged->accelerators[index]);
    dit_json_put_string(w, one, "model", suite_judged_model(planned));
    dit_json_put_int(w, one, "devices", point->published->gpus);
    DIT_TRY(put_sizes(w, one, point));
    dit_json_put_string(w, one, "mesh", point->method);
    dit_json_put_string(w, one, "reach", suite_point_reach(point));
    dit_json_put_string(w, one, "kind", suite_point_kind(point));
    dit_json_put_string(w, one, "software", suite_point_software(point));
    dit_json_put_int(w, one, "set", first_like(judged, index, same_set));
    dit_json_put_int(w, one, "question", first_like(judged, index, same_question));
    double value = point->published->value;
    dit_json_put_number(w, one, "seconds", point->is_layer ? 1 / value : value);
    return DIT_OK;
}

dit_status suite_judged_points_put(dit_json_writer *w, cJSON *list, const suite_judged_points *judged)
{
    for (int i = 0; i < judged->count && w->status == DIT_OK; i++) DIT_TRY(put_point(w, list, judged, i));
    return DIT_OK;
}
