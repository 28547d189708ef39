/* Tags: the flat names that filters, plots and claims may use, and their values. */
#ifndef DIT_SUITE_WORKLOAD_TAGS_H
#define DIT_SUITE_WORKLOAD_TAGS_H

#include "suite/workload/workload.h"

/* Whether `expression` ("world_size <= 2 && method == 'ring'") holds for a case's tags. Errors: DIT_ERR_EXPRESSION,
 * with the nearest tag as hint for an unknown name. */
dit_status suite_tags_test(const cJSON *tags, const char *expression, bool *out);
/* The same for a filter that a person types: bools are values, too; gpus, num_gpus and ranks mean world_size,
 * num_inference_steps means steps; the hint for an unknown name lists all there are. */
dit_status suite_tags_filter(const cJSON *tags, const char *expression, bool *out);
/* Which values the tags that `expression` names have among `count` cases, "world_size is 1, 2, 4 here; ..."; "" when it
 * names none. */
void suite_tags_describe(const suite_case *cases, int count, const char *expression, char *out, size_t size);
typedef struct {
    const char *name, *meaning;
} suite_tag;
/* All tags; the last has no name. A case has those that its program knows. */
const suite_tag *suite_tags(void);
/* Names of the tags, NULL-terminated. */
const char *const *suite_tag_names(void);

#endif
