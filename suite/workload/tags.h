/* Tags: lists the flat names that filters, plots and claims may use, and reads their values. */
#ifndef DIT_SUITE_WORKLOAD_TAGS_H
#define DIT_SUITE_WORKLOAD_TAGS_H

#include "suite/workload/workload.h"

/* Says whether `expression` ("world_size <= 2 && method == 'ring'") holds for a case's tags. Errors:
 * DIT_ERR_EXPRESSION, with the nearest tag as hint for an unknown name. */
dit_status suite_tags_test(const cJSON *tags, const char *expression, bool *out);
/* Says whether a filter that a person typed holds: bools are values, too; gpus, num_gpus and ranks mean world_size,
 * num_inference_steps means steps; the hint for an unknown name lists all tags. */
dit_status suite_tags_filter(const cJSON *tags, const char *expression, bool *out);
/* Writes which values the tags in `expression` have among `count` cases: "world_size is 1, 2, 4 here; ..."; "" when it
 * names no tag. */
void suite_tags_describe(const suite_case *cases, int count, const char *expression, char *out, size_t size);
typedef struct {
    const char *name, *meaning;
} suite_tag;
/* All tags; the last row has no name. A case has the tags that its program knows. */
const suite_tag *suite_tags(void);
/* Returns the names of the tags, NULL-terminated. */
const char *const *suite_tag_names(void);

#endif
