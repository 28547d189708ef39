/* Points' groups: says how near predictions come among points that are alike, such as those of one model on as many
 * devices.
 */
#ifndef DIT_SUITE_SIMULATE_POINTS_GROUPS_H
#define DIT_SUITE_SIMULATE_POINTS_GROUPS_H

#include "suite/simulate/points_answer.h"

enum { SUITE_GROUP_KEYS = 4 };

typedef struct {
    char value[SUITE_GROUP_KEYS][64]; /* of each key, as text                                  */
    double median;                    /* of predicted / published - 1, with its sign           */
    dit_agreement agreement;          /* of all its points                                      */
} suite_points_group;

/* What points are grouped by: names that suite_point_test knows. */
typedef struct {
    char key[SUITE_GROUP_KEYS][32];
    int count;
} suite_group_keys;

/* Reads "model,gpus,mesh". Errors: DIT_ERR_USAGE for a name that points do not have, or too many names. */
dit_status suite_group_keys_read(const char *text, suite_group_keys *out);
/* Makes the groups of points that are judged, in the order in which they first occur; results[i] is what became of
 * points[i]. The caller frees *out. Errors: DIT_ERR_MEMORY. */
dit_status suite_points_groups(const suite_group_keys *keys, const suite_point *points,
                               const suite_point_result *results, int count, suite_points_group **out,
                               int *group_count);
/* Adds "groups": [{"by": {key: value}, "points", "median", "median_error", ...}] to an answer. Errors: DIT_ERR_MEMORY,
 * DIT_ERR_NONFINITE. */
dit_status suite_points_groups_json(const suite_group_keys *keys, const suite_points_group *groups, int group_count,
                                    cJSON *document);

#endif
