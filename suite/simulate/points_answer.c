#include "suite/simulate/points_answer.h"

#include "base/json_writer.h"

#include <stdlib.h>
#include <string.h>

double suite_point_error(const suite_point_result *result)
{
    return result->predicted / result->published - 1;
}

static const char *suite_points_part_name(suite_points_part part)
{
    static const char *const names[] = {"all", "in_fit", "not_in_fit", "latencies", "rates", "memory", "doubtful"};
    return names[part];
}

const char *suite_points_part_title(suite_points_part part)
{
    static const char *const titles[] = {
        "all", "in the fit", "not in the fit", "  latencies", "  rates of layers", "peak memory", "doubtful"};
    return titles[part];
}

/* Points of a part that is smaller than "in the fit" and "not in the fit". */
static bool is_of_kind(const suite_point_result *result, suite_points_part part)
{
    switch (part) {
    case SUITE_POINTS_LATENCIES: return !result->is_rate;
    case SUITE_POINTS_RATES: return result->is_rate;
    default: return true;
    }
}

bool suite_point_is_simulated(const suite_point_result *result)
{
    return !result->skip && result->has_published && result->predicted > 0;
}

bool suite_point_is_judged(const suite_point_result *result)
{
    return suite_point_is_simulated(result) && !result->doubtful && !result->repeated;
}

dit_agreement_point suite_point_agreement(const suite_point_result *result)
{
    return (dit_agreement_point){.printed = result->published,
                                 .predicted = result->predicted,
                                 .rounding = result->rounding,
                                 .panel = result->panel,
                                 .method = result->method,
                                 .in_fit = result->in_fit};
}

static int list_points(const suite_point_result *results, int count, suite_points_part part, dit_agreement_point *out)
{
    int listed = 0;
    for (int i = 0; i < count; i++) {
        const suite_point_result *one = &results[i];
        bool listed_here = part == SUITE_POINTS_DOUBTFUL
                               ? suite_point_is_simulated(one) && one->doubtful
                               : suite_point_is_judged(one) && one->is_memory == (part == SUITE_POINTS_MEMORY) &&
                                     is_of_kind(one, part);
        if (listed_here) out[listed++] = suite_point_agreement(one);
    }
    return listed;
}

dit_status suite_points_judge(const suite_point_result *results, int count, suite_points_part part, dit_agreement *out)
{
    bool whole = part == SUITE_POINTS_ALL || part == SUITE_POINTS_MEMORY || part == SUITE_POINTS_DOUBTFUL;
    dit_agreement_part fit = whole                         ? DIT_AGREEMENT_ALL
                             : part == SUITE_POINTS_IN_FIT ? DIT_AGREEMENT_IN_FIT
                                                           : DIT_AGREEMENT_NOT_IN_FIT;
    dit_agreement_point *points = malloc(((size_t)count + 1) * sizeof *points);
    *out = (dit_agreement){0};
    if (!points) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for published points");
    dit_status st = dit_agreement_judge(points, list_points(results, count, part, points), fit, out);
    free(points);
    return st;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static void add_point(dit_json_writer *w, cJSON *list, const suite_point_result *result)
{
    cJSON *entry = dit_json_put_object(w, list, NULL);
    bool simulated = suite_point_is_simulated(result);
    dit_json_put_int(w, entry, "index", result->index);
    dit_json_put_string(w, entry, "status", simulated ? "simulated" : "skipped");
    if (!simulated) dit_json_put_string(w, entry, "reason", suite_skip_code(result->skip));
    if (!simulated) dit_json_put_string(w, entry, "detail", result->detail);
    if (result->has_published) dit_json_put_number(w, entry, "published", result->published);
    if (simulated) dit_json_put_number(w, entry, "predicted", result->predicted);
    if (simulated) dit_json_put_number(w, entry, "error", suite_point_error(result));
    dit_json_put_bool(w, entry, "in_fit", result->in_fit);
    if (result->doubtful) dit_json_put_bool(w, entry, "doubtful", true);
    if (result->repeated) dit_json_put_bool(w, entry, "repeated", true);
    if (simulated) dit_json_put_string(w, entry, "mesh", result->mesh);
    if (simulated) dit_json_put_string(w, entry, "profile", result->profile);
    if (simulated && result->no_decode) dit_json_put_string(w, entry, "left_out", "decode");
    dit_json_put_string(w, entry, "label", result->label);
}

static dit_status add_statistics(cJSON *summary, const suite_point_result *results, int count, suite_points_part part)
{
    dit_json_writer w = {0};
    dit_agreement s;
    DIT_TRY(suite_points_judge(results, count, part, &s));
    cJSON *entry = dit_json_put_object(&w, summary, suite_points_part_name(part));
    dit_json_put_int(&w, entry, "points", s.points);
    if (s.points) dit_json_put_number(&w, entry, "median_error", s.median_error);
    if (s.points) dit_json_put_number(&w, entry, "p90_error", s.p90_error);
    if (s.points) dit_json_put_number(&w, entry, "worst_error", s.worst_error);
    dit_json_put_int(&w, entry, "pairs", s.pairs);
    dit_json_put_int(&w, entry, "ordered", s.ordered);
    if (s.pairs) dit_json_put_number(&w, entry, "ordered_share", (double)s.ordered / s.pairs);
    dit_json_put_int(&w, entry, "pairs_apart", s.pairs_apart);
    dit_json_put_int(&w, entry, "ordered_apart", s.ordered_apart);
    return w.status;
}

static void add_reasons(dit_json_writer *w, cJSON *summary, const suite_point_result *results, int count)
{
    cJSON *reasons = dit_json_put_object(w, summary, "reasons");
    for (int skip = SUITE_SKIP_NONE + 1; skip < SUITE_SKIP_COUNT; skip++) {
        int skipped = 0;
        for (int i = 0; i < count; i++) skipped += results[i].skip == (suite_skip)skip;
        if (skipped) dit_json_put_int(w, reasons, suite_skip_code((suite_skip)skip), skipped);
    }
}

static dit_status fill_answer(const suite_point_result *results, int count, cJSON *document)
{
    dit_json_writer w = {0};
    cJSON *list = dit_json_put_array(&w, document, "points"), *summary = dit_json_put_object(&w, document, "summary");
    int simulated = 0, repeated = 0;
    for (int i = 0; i < count; i++) add_point(&w, list, &results[i]);
    for (int i = 0; i < count; i++) simulated += suite_point_is_simulated(&results[i]);
    for (int i = 0; i < count; i++) repeated += suite_point_is_simulated(&results[i]) && results[i].repeated;
    dit_json_put_int(&w, summary, "points", count);
    dit_json_put_int(&w, summary, "simulated", simulated);
    dit_json_put_int(&w, summary, "skipped", count - simulated);
    dit_json_put_int(&w, summary, "repeated", repeated);
    add_reasons(&w, summary, results, count);
    for (int part = 0; part < SUITE_POINTS_PART_COUNT; part++)
        DIT_TRY(add_statistics(summary, results, count, (suite_points_part)part));
    return w.status;
}

dit_status suite_points_json(const suite_point_result *results, int count, cJSON **out)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    if (w.status == DIT_OK) dit_json_put_status(&w, fill_answer(results, count, document));
    return dit_json_finish(&w, document, out);
}
