#include "suite/simulate/published_lines.h"

#include "base/json_writer.h"
#include "base/log.h"
#include "suite/paths.h"
#include "suite/published/contradictions.h"
#include "suite/simulate/point_variables.h"
#include "suite/text.h"

#include <stdio.h>
#include <string.h>

/* What is needed of one selection. */
typedef struct {
    const suite_workload *workload;
    const suite_calibration *calibration;
    const suite_published_names *names;
    const char *file, *where; /* where NULL: all     */
    const cJSON *assume;      /* NULL: nothing       */
    suite_published published;
    dit_json contradictions; /* root NULL: none */
    int index;               /* of the selection */
    bool own;                /* the file is not one of results/published */
    int missed;              /* points of it that stand nowhere */
    char first[400];         /* the first of them, and why */
} selection;

/* ---- what is printed --------------------------------------------------------------------------------------------- */

/* Metrics that a line may have, by what sources call them; `factor` makes bytes or seconds of a unit. */
static const struct {
    const char *metric, *unit, *line_metric;
    double factor;
} metrics[] = {
    {"latency", "s", "latency_s", 1},
    {"latency_dit_forward", "s", "latency_s", 1},
    {"latency_per_step", "s", "latency_s", 1},
    {"latency", "OOM", "latency_s", 0},
    {"throughput", "iter/s", "latency_s", 1},
    {"throughput", "OOM", "latency_s", 0},
    {"peak_memory", "GB", "peak_memory_bytes", 1e9},
    {"peak_memory", "MB", "peak_memory_bytes", 1e6},
    {"peak_memory", "OOM", "peak_memory_bytes", 0},
};
enum { METRIC_COUNT = sizeof metrics / sizeof *metrics };

/* Row of the table, or -1; a number must have a value, a lack of memory none. */
static int metric_of(const suite_published_point *point)
{
    for (int i = 0; i < METRIC_COUNT; i++) {
        if (strcmp(point->metric, metrics[i].metric) != 0 || strcmp(point->unit, metrics[i].unit) != 0) continue;
        return (metrics[i].factor > 0) == (point->has_value && point->value > 0) ? i : -1;
    }
    return -1;
}

static bool is_per_step(const suite_published_point *point)
{
    return strcmp(point->metric, "latency_per_step") == 0;
}

static bool is_rate(const suite_published_point *point)
{
    return strcmp(point->metric, "throughput") == 0;
}

/* Denoising alone, without what comes around it. */
static bool is_of_loop(const suite_published_point *point)
{
    return is_per_step(point) || strcmp(point->metric, "latency_dit_forward") == 0;
}

static void add_value(dit_json_writer *w, cJSON *line, const suite_published_point *point, int metric)
{
    double factor = metrics[metric].factor * (is_per_step(point) && point->steps ? (double)point->steps : 1);
    dit_json_put_string(w, line, "metric", metrics[metric].line_metric);
    if (factor == 0) {
        dit_json_put_bool(w, line, "out_of_memory", true);
        return;
    }
    double value = point->value * factor, rounding = point->rounding * factor;
    if (is_rate(point)) rounding /= value * value, value = 1 / value; /* what one takes */
    dit_json_put_number(w, line, "value", value);
    dit_json_put_number(w, line, "rounding", rounding);
}

/* ---- what it is of ----------------------------------------------------------------------------------------------- */

/* Whether a case of the session computes the same, and its time covers the same: all that decides the image, how it is
 * shared and what is timed. */
static bool is_same_case(const cJSON *one, const cJSON *other)
{
    static const char *const parts[] = {"program", "run",   "parallel", "attention", "scheduler",
                                        "model",   "layer", "vae",      "measure",   "cache"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const cJSON *a = dit_json_member(one, parts[i]), *b = dit_json_member(other, parts[i]);
        if ((a || b) && !cJSON_Compare(a, b, true)) return false;
    }
    return true;
}

static const suite_case *find_twin(const suite_workload *workload, const suite_point *point)
{
    if (point->search) return NULL;
    for (int i = 0; i < workload->case_count; i++) {
        const suite_case *one = &workload->cases[i];
        if (!one->is_simulated || one->world_size != point->cases[0].kase->world_size) continue;
        if (strcmp(dit_json_text_or(one->tags, "platform", ""), point->platform) != 0) continue;
        if (strcmp(dit_json_text_or(one->tags, "profile", ""), point->profile) != 0) continue;
        if (is_same_case(one->document, point->cases[0].kase->document)) return one;
    }
    return NULL;
}

static void replace_text(dit_json_writer *w, cJSON *object, const char *key, const char *text)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    dit_json_put_string(w, object, key, text);
}

/* A search has no mesh of its own; what else it shares with any of its cases stays. */
static void forget_mesh(dit_json_writer *w, cJSON *tags)
{
    static const char *const of_mesh[] = {"mesh",        "attention",          "joint_text",
                                          "stale_steps", "num_pipeline_patch", "attn_layer_num_for_pp"};
    for (size_t i = 0; i < sizeof of_mesh / sizeof *of_mesh; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(tags, of_mesh[i]);
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        cJSON_DeleteItemFromObjectCaseSensitive(tags, dit_axis_key((dit_axis)axis));
    replace_text(w, tags, "method", "hybrid");
}

/* The tags of its case, on the machine and with the software that the source had; `method` NULL: the case's. */
static void add_tags(dit_json_writer *w, cJSON *line, const suite_point *point, const char *method)
{
    cJSON *tags = cJSON_Duplicate(point->cases[0].kase->tags, true);
    dit_json_put_item(w, line, "tags", tags);
    if (w->status != DIT_OK) return; /* there are no tags then */
    replace_text(w, tags, "platform", point->platform);
    replace_text(w, tags, "profile", point->profile);
    replace_text(w, tags, "element", "fp16");
    if (point->search) forget_mesh(w, tags);
    if (method) replace_text(w, tags, "method", method);
}

/* ---- what speaks against it -------------------------------------------------------------------------------------- */

/* "WHAT: BELIEVE" */
static void add_warning(dit_json_writer *w, cJSON *line, const char *what, const char *believe)
{
    char text[2000];
    cJSON *list = cJSON_GetObjectItemCaseSensitive(line, "warnings");
    snprintf(text, sizeof text, "%.1000s: %.900s", what, believe);
    suite_text_clean(text);
    if (!list) list = dit_json_put_array(w, line, "warnings");
    dit_json_put_string(w, list, NULL, text);
}

/* What a time covers, in words; the scopes of a workload's "measure". */
static const char *scope_words(const char *scope)
{
    if (strcmp(scope, "denoise") == 0) return "the denoising steps alone";
    if (strcmp(scope, "latents") == 0) return "everything up to the latents";
    return strcmp(scope, "pipeline") == 0 ? "the whole pipeline" : scope;
}

/* A case that names no scope times the denoising steps. */
static const char *scope_of(const suite_case *one)
{
    const char *scope = dit_json_text_or(dit_json_member(one->document, "measure"), "scope", "");
    return scope[0] ? scope : "denoise";
}

/* Where the source's time covers other parts of a run than the session's times, the two are not compared. */
static void add_scope(dit_json_writer *w, cJSON *line, const suite_workload *workload, const suite_point *point)
{
    const char *there = scope_of(point->cases[0].kase);
    const char *here = workload->case_count ? scope_of(&workload->cases[0]) : there;
    char text[256];
    if (strcmp(dit_json_text_or(line, "metric", ""), "latency_s") != 0) return;
    if (strcmp(here, there) == 0) return;
    snprintf(text, sizeof text, "the source times %.80s, this session times %.80s", scope_words(there),
             scope_words(here));
    suite_text_put(w, line, "not_compared", text);
}

/* Whatever speaks against the number. */
static void add_warnings(dit_json_writer *w, cJSON *line, const selection *chosen, const suite_published_point *point)
{
    const dit_json *contradictions = &chosen->contradictions;
    const cJSON *one;
    cJSON_ArrayForEach(one, dit_json_member(contradictions->root, "contradictions"))
    {
        if (!suite_contradictions_concern(contradictions, one, chosen->file, point->index)) continue;
        add_warning(w, line, dit_json_text_or(one, "what", ""), dit_json_text_or(one, "believe", ""));
    }
}

/* ---- one point --------------------------------------------------------------------------------------------------- */

/* `method` NULL: one of ours. A point of another one is nobody's twin: it stands under its own name. */
static dit_status fill_line(const selection *chosen, const suite_point *point, int metric, const char *method,
                            cJSON *line)
{
    dit_json_writer w = {0};
    const suite_published_point *published = point->published;
    const suite_case *twin = method ? NULL : find_twin(chosen->workload, point);
    suite_point_result result;
    DIT_TRY(suite_point_predict(point, NULL, NULL, &result)); /* for the label alone */
    suite_text_put(&w, line, "file", chosen->file);
    dit_json_put_int(&w, line, "index", published->index);
    suite_text_put(&w, line, "source", published->source);
    if (method)
        snprintf(result.label, sizeof result.label, "%.80s on %d of %.60s", method, (int)published->gpus,
                 point->platform);
    suite_text_put(&w, line, "label", result.label);
    add_value(&w, line, published, metric);
    suite_text_put(&w, line, "provenance", published->provenance);
    if (published->status[0]) suite_text_put(&w, line, "status", published->status);
    dit_json_put_bool(&w, line, "in_fit", suite_point_in_fit(point, chosen->calibration));
    if (twin) dit_json_put_string(&w, line, "case_id", twin->case_id);
    add_tags(&w, line, point, method);
    add_scope(&w, line, chosen->workload, point);
    add_warnings(&w, line, chosen, published);
    return w.status;
}

/* An error of the expression, with its place in the workload. */
static dit_status fail_where(const selection *chosen, dit_status st)
{
    char at[64], message[1024], hint[512];
    snprintf(at, sizeof at, "/published/%d/where", chosen->index);
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    snprintf(hint, sizeof hint, "%s", dit_error_last()->hint);
    return dit_error_hint(dit_json_fail(&chosen->workload->source, at, st, "%s", message), "%s", hint);
}

/* ---- what it leaves out ------------------------------------------------------------------------------------------ */

static void assume_count(const cJSON *assume, const char *key, int64_t *count)
{
    const cJSON *value = dit_json_member(assume, key);
    if (*count == 0 && value) *count = (int64_t)value->valuedouble;
}

/* What the workload assumes of everything that the source does not state. */
static suite_published_point fill_in(const selection *chosen, const suite_published_point *printed)
{
    const char *hardware = dit_json_text_or(chosen->assume, "hardware", ""),
               *interconnect = dit_json_text_or(chosen->assume, "interconnect", "");
    suite_published_point filled = *printed;
    const char *platform;
    assume_count(chosen->assume, "steps", &filled.steps);
    assume_count(chosen->assume, "frames", &filled.frames);
    suite_published_place place =
        suite_published_platform(chosen->names, printed->hardware, printed->interconnect, printed->gpus, &platform);
    if (hardware[0] && place == SUITE_PUBLISHED_HARDWARE_UNSTATED)
        filled.hardware = hardware, filled.interconnect = interconnect;
    return filled;
}

static void warn_of_assumed(dit_json_writer *w, cJSON *line, const suite_published_point *printed,
                            const suite_published_point *filled)
{
    char text[256];
    snprintf(text, sizeof text, "%lld are assumed", (long long)filled->steps);
    if (filled->steps != printed->steps) add_warning(w, line, "the source does not state the number of steps", text);
    snprintf(text, sizeof text, "%lld are assumed", (long long)filled->frames);
    if (filled->frames != printed->frames) add_warning(w, line, "the source does not state the number of frames", text);
    snprintf(text, sizeof text, "%.100s, %.100s is assumed", filled->hardware, filled->interconnect);
    if (filled->hardware != printed->hardware) add_warning(w, line, "the source does not state the hardware", text);
}

/* A point of somebody's own file that stands nowhere: the first says why. */
static void note_missed(selection *chosen, const suite_published_point *point, const char *why)
{
    if (chosen->missed++ == 0) snprintf(chosen->first, sizeof chosen->first, "/%d: %.300s", point->index, why);
}

/* The software of somebody's own points, where neither they nor a row of the tables says more of it: that of the
 * workload's simulated cases, if it is one. NULL: what a point says. */
static const char *own_profile(const selection *chosen, const suite_published_point *point)
{
    const suite_workload *workload = chosen->workload;
    const char *profile = NULL;
    suite_published_habits habits;
    if (!chosen->own || point->runtime[0]) return NULL;
    suite_published_habits_of(chosen->names, point, &habits);
    if (habits.known) return NULL;
    for (int i = 0; i < workload->case_count; i++) {
        const char *one = dit_json_text_or(workload->cases[i].tags, "profile", NULL);
        if (!one || !workload->cases[i].is_simulated) continue;
        if (profile && strcmp(profile, one) != 0) return NULL;
        profile = one;
    }
    return profile;
}

/* A method that no table knows is placed by its machine, model and size alone, as the best of a search is. */
static dit_status understand_unknown(const selection *chosen, suite_published_point as_time, suite_point *out)
{
    suite_point_release(out);
    as_time.search = as_time.gpus > 1;
    as_time.method = as_time.search ? "hybrid" : "single";
    as_time.beyond = NULL;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) as_time.degree[axis] = as_time.search ? 0 : 1;
    return suite_point_understand(chosen->names, &as_time, own_profile(chosen, &as_time), out);
}

/* Everything but the number decides the place: a memory, and a lack of it, are placed like a time. */
static dit_status take_point(selection *chosen, const suite_published_point *printed, cJSON *lines)
{
    dit_json_writer w = {0};
    const suite_published_point filled = fill_in(chosen, printed), *published = &filled;
    suite_published_point as_time = filled;
    suite_point point;
    bool kept = true;
    int metric = metric_of(published);
    as_time.metric = is_of_loop(published) ? "latency_dit_forward" : "latency", as_time.unit = "s";
    if (is_rate(published)) as_time.metric = published->metric, as_time.unit = "iter/s";
    as_time.has_value = true, as_time.value = 1;
    if (metric < 0 && chosen->own)
        note_missed(chosen, printed, "a report does not compare numbers of its metric and unit");
    if (metric < 0 || (chosen->where && suite_point_ruled_out(published, chosen->where))) return DIT_OK;
    DIT_TRY(suite_point_understand(chosen->names, &as_time, own_profile(chosen, printed), &point));
    bool unknown = chosen->own && point.skip == SUITE_SKIP_METHOD_UNKNOWN;
    if (unknown) DIT_TRY(understand_unknown(chosen, as_time, &point));
    point.published = published;
    dit_status st = chosen->where ? suite_point_test(&point, chosen->where, &kept) : DIT_OK;
    if (st != DIT_OK) st = fail_where(chosen, st);
    if (st == DIT_OK && kept && point.skip && chosen->own) note_missed(chosen, printed, point.detail);
    if (st == DIT_OK && kept && !point.skip) {
        cJSON *line = dit_json_put_object(&w, lines, NULL);
        st = line ? fill_line(chosen, &point, metric, unknown ? printed->method : NULL, line) : w.status;
        warn_of_assumed(&w, line, printed, published);
        if (st == DIT_OK) st = w.status;
    }
    suite_point_release(&point);
    return st;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static dit_status take_selection(selection *chosen, cJSON *lines)
{
    char path[SUITE_PATH];
    DIT_TRY(suite_published_find(chosen->workload->source.path, chosen->file, &chosen->own, path));
    dit_status st = suite_contradictions_points(&chosen->contradictions, path, &chosen->published);
    for (int i = 0; st == DIT_OK && i < chosen->published.count; i++)
        st = take_point(chosen, &chosen->published.points[i], lines);
    suite_published_release(&chosen->published);
    if (st == DIT_OK && chosen->missed)
        dit_log_warning("%s: %d point%s not drawn; %s%s", chosen->file, chosen->missed,
                        chosen->missed == 1 ? " is" : "s are", chosen->missed == 1 ? "" : "the first, ", chosen->first);
    return st;
}

static dit_status take_all(const suite_workload *workload, const suite_calibration *calibration, cJSON *lines)
{
    suite_published_names names = {0};
    dit_json contradictions = {0};
    const cJSON *one;
    int index = 0;
    dit_status st = suite_published_names_load(NULL, &names);
    if (st == DIT_OK) st = suite_contradictions_read(&contradictions);
    cJSON_ArrayForEach(one, workload->published)
    {
        selection chosen = {.workload = workload,
                            .calibration = calibration,
                            .names = &names,
                            .file = dit_json_text_or(one, "file", ""),
                            .where = dit_json_text_or(one, "where", NULL),
                            .assume = dit_json_member(one, "assume"),
                            .contradictions = contradictions,
                            .index = index};
        if (st == DIT_OK) st = take_selection(&chosen, lines);
        index++;
    }
    dit_json_release(&contradictions);
    suite_published_names_release(&names);
    return st;
}

dit_status suite_published_lines(const suite_workload *workload, const suite_calibration *calibration, cJSON **out)
{
    *out = NULL;
    if (!workload->published) return DIT_OK;
    dit_json_writer w = {0};
    cJSON *lines = dit_json_new_array(&w);
    if (w.status == DIT_OK) dit_json_put_status(&w, take_all(workload, calibration, lines));
    return dit_json_finish(&w, lines, out);
}
