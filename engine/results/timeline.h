/* Timeline: records one more run of what a program measures. It is no sample, so that recording disturbs none. */
#ifndef DIT_ENGINE_TIMELINE_H
#define DIT_ENGINE_TIMELINE_H

#include "base/json.h"
#include "engine/runtime/runtime.h"

typedef struct {
    dit_runtime *rt;
    const char *case_id, *out_folder;
    dit_status (*run)(void *context, int64_t *latency_ns); /* one iteration. Collective */
    void *context;
} dit_timeline_params;

/* Runs one iteration with a trace, writes trace-rank-N.json and trace.json, and adds the record's member "trace" to the
 * object `record` (NULL on ranks that write none). The account of `rt` is reset before and then holds that of the run.
 * Collective over the world. Errors: the run's; DIT_ERR_MEMORY, DIT_ERR_IO. */
dit_status dit_timeline_take(const dit_timeline_params *params, cJSON *record);

#endif
