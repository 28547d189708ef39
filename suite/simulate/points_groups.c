#include "suite/simulate/points_groups.h"

#include "base/json_writer.h"
#include "base/stats.h"
#include "base/words.h"
#include "suite/simulate/point_variables.h"
#include "suite/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dit_status suite_group_keys_read(const char *text, suite_group_keys *out)
{
    const suite_published_point nothing = {.source = "",
                                           .model = "",
                                           .hardware = "",
                                           .interconnect = "",
                                           .method = "",
                                           .metric = "",
                                           .unit = "",
                                           .resolution = "",
                                           .runtime = "",
                                           .provenance = "",
                                           .status = "",
                                           .note = ""};
    const suite_point bare = {.published = &nothing};
    char word[32], value[8];
    *out = (suite_group_keys){0};
    while (dit_words_next(&text, word, sizeof word)) {
        if (out->count == SUITE_GROUP_KEYS)
            return DIT_FAIL(DIT_ERR_USAGE, "points are grouped by at most %d names", SUITE_GROUP_KEYS);
        if (suite_point_text(&bare, word, value, sizeof value) != DIT_OK)
            return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "points are not grouped by \"%s\"", word),
                                  "any name of --filter will do: model, gpus, mesh, batch, platform, resolution, ...");
        snprintf(out->key[out->count++], sizeof word, "%s", word);
    }
    return out->count ? DIT_OK : DIT_FAIL(DIT_ERR_USAGE, "points are grouped by no name");
}

/* The values that decide a point's group. */
static dit_status read_values(const suite_group_keys *keys, const suite_point *point, suite_points_group *out)
{
    *out = (suite_points_group){0};
    for (int i = 0; i < keys->count; i++) {
        DIT_TRY(suite_point_text(point, keys->key[i], out->value[i], sizeof out->value[i]));
        suite_text_clean(out->value[i]);
    }
    return DIT_OK;
}

static bool is_same_group(const suite_points_group *a, const suite_points_group *b)
{
    return memcmp(a->value, b->value, sizeof a->value) == 0;
}

/* Judges the points that belong to group `group`; `room` has room for all of them. */
static dit_status judge(const suite_point_result *results, const int *group_of, int count, int group,
                        dit_agreement_point *room, double *errors, suite_points_group *out)
{
    int used = 0;
    for (int i = 0; i < count; i++) {
        if (group_of[i] != group) continue;
        errors[used] = suite_point_error(&results[i]);
        room[used++] = suite_point_agreement(&results[i]);
    }
    out->median = dit_stats_median(errors, used);
    return dit_agreement_judge(room, used, DIT_AGREEMENT_ALL, &out->agreement);
}

/* Fills group_of (-1: no group) and the groups' values. */
static dit_status divide(const suite_group_keys *keys, const suite_point *points, const suite_point_result *results,
                         int count, int *group_of, suite_points_group *groups, int *group_count)
{
    for (int i = 0; i < count; i++) {
        suite_points_group *next = &groups[*group_count];
        group_of[i] = -1;
        if (!suite_point_is_judged(&results[i])) continue;
        DIT_TRY(read_values(keys, &points[i], next));
        group_of[i] = 0;
        while (!is_same_group(&groups[group_of[i]], next)) group_of[i]++;
        *group_count += group_of[i] == *group_count;
    }
    return DIT_OK;
}

dit_status suite_points_groups(const suite_group_keys *keys, const suite_point *points,
                               const suite_point_result *results, int count, suite_points_group **out, int *group_count)
{
    size_t room = (size_t)count + 1;
    suite_points_group *groups = calloc(room, sizeof *groups);
    dit_agreement_point *judged = malloc(room * sizeof *judged);
    double *errors = malloc(room * sizeof *errors);
    int *group_of = malloc(room * sizeof *group_of);
    bool enough = groups && judged && errors && group_of;
    dit_status st = enough ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for groups of %d points", count);
    *group_count = 0;
    if (st == DIT_OK) st = divide(keys, points, results, count, group_of, groups, group_count);
    for (int group = 0; group < *group_count && st == DIT_OK; group++)
        st = judge(results, group_of, count, group, judged, errors, &groups[group]);
    free(judged);
    free(errors);
    free(group_of);
    *out = st == DIT_OK ? groups : NULL;
    if (st != DIT_OK) free(groups);
    return st;
}

dit_status suite_points_groups_json(const suite_group_keys *keys, const suite_points_group *groups, int group_count,
                                    cJSON *document)
{
    dit_json_writer w = {0};
    cJSON *list = dit_json_put_array(&w, document, "groups");
    for (int i = 0; i < group_count; i++) {
        const dit_agreement *s = &groups[i].agreement;
        cJSON *entry = dit_json_put_object(&w, list, NULL), *by = dit_json_put_object(&w, entry, "by");
        for (int k = 0; k < keys->count; k++) dit_json_put_string(&w, by, keys->key[k], groups[i].value[k]);
        dit_json_put_int(&w, entry, "points", s->points);
        dit_json_put_number(&w, entry, "median", groups[i].median);
        dit_json_put_number(&w, entry, "median_error", s->median_error);
        dit_json_put_number(&w, entry, "p90_error", s->p90_error);
        dit_json_put_number(&w, entry, "worst_error", s->worst_error);
        dit_json_put_int(&w, entry, "pairs", s->pairs);
        dit_json_put_int(&w, entry, "ordered", s->ordered);
    }
    return w.status;
}
