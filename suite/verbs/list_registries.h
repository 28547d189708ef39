/* List registries: makes rows for `ditbench list` of what the programs themselves know by name. Private to
 * verb_list.c. */
#ifndef DIT_SUITE_VERBS_LIST_REGISTRIES_H
#define DIT_SUITE_VERBS_LIST_REGISTRIES_H

#include "base/json.h"

/* Each appends an object for each entry to `rows`. Errors: DIT_ERR_MEMORY; those of links also DIT_ERR_JSON_*. */
dit_status suite_list_metrics(cJSON *rows);    /* name, unit, better, needs, meaning         */
dit_status suite_list_tags(cJSON *rows);       /* name, meaning                              */
dit_status suite_list_kinds(cJSON *rows);      /* name, title, x, panel: kinds of figures    */
dit_status suite_list_programs(cJSON *rows);   /* name, parameters, meaning                  */
dit_status suite_list_parameters(cJSON *rows); /* name, value, least, greatest, programs, platforms */
dit_status suite_list_caches(cJSON *rows);     /* name, kind, meaning                        */
dit_status suite_list_links(cJSON *rows);      /* name, kind, gb_per_s, latency_us, title    */

#endif
