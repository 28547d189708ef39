/* Case: what a denoise run is asked to do, read strictly from its document (results/schema/README.md, "Case"). */
#ifndef DIT_ENGINE_CASE_H
#define DIT_ENGINE_CASE_H

#include "base/json.h"
#include "base/mesh.h"

enum { DIT_CASE_MAX_ITERATIONS = 1000 };

typedef struct {
    const dit_json *doc;
    char case_id[33]; /* hash of the canonical document */
    const cJSON *model_config, *scheduler;
    const char *weights_path; /* NULL: seeded with weights_seed */
    uint64_t weights_seed;
    const char *attention, *backend;
    int threads_per_rank;
    dit_parallel parallel;
    dit_facts facts;
    int64_t height_px, width_px, pack_px; /* pack_px: pixels a token spans in each direction */
    int64_t text_dim, pooled_dim;         /* 0 where the document does not say */
    int steps;
    double guidance_scale;
    uint64_t seed;
    int warmup_runs, iterations;
} dit_case;

/* Pointers stay inside `doc`. Errors: DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_*. */
dit_status dit_case_read(const dit_json *doc, dit_case *out);

#endif
