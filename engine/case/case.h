/* Case: what a sampling run is asked to do, read strictly from its document (results/schema/README.md, "Case"). */
#ifndef DIT_ENGINE_CASE_H
#define DIT_ENGINE_CASE_H

#include "base/dtype.h"
#include "base/json.h"
#include "base/facts.h"
#include "base/parallel.h"
#include "engine/runtime/condition.h"

enum { DIT_CASE_MAX_ITERATIONS = 1000 };

typedef struct {
    const dit_json *doc;
    char case_id[33];                            /* hash of the canonical document */
    const cJSON *model_config, *scheduler, *vae; /* vae: NULL, or {"config", "weights", "tiling"}              */
    const char *weights_path;                    /* NULL: seeded with weights_seed                             */
    uint64_t weights_seed;
    const char *conditions_path; /* embeddings (and latents) by the pipelines' names; NULL: seeded with `seed` */
    const char *attention, *backend;
    dit_dtype dtype; /* of a device's activations and weights; fp32 elsewhere */
    bool fp8_linear; /* of a device: linear layers in fp8; the result is approximate */
    bool graphs;     /* a device may record forwards and launch them */
    int threads_per_rank;
    dit_parallel parallel;
    dit_parallel emulated; /* whose staleness the one rank is to emulate; its canonical form once it is settled */
    bool emulates;
    dit_facts facts;
    bool has_facts;      /* the document says model.latent and model.text: `facts` come from it, else from the config */
    int64_t text_tokens; /* 0 where the document does not say                              */
    int64_t num_images, num_frames;
    dit_condition_run run;
    int steps;
    uint64_t seed;
    int warmup_runs, iterations;
    bool for_guest; /* the document is for a guest of the engine (engine/runtime/guest.h) and no other run */
    bool trace;     /* one more run, recorded as a timeline */
} dit_case;

/* Pointers stay inside `doc`. Errors: DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_*. */
dit_status dit_case_read(const dit_json *doc, dit_case *out);
/* When facts are complete: what is emulated must be legal for them. Does nothing where nothing is.
 * Errors: DIT_ERR_CONSTRAINT_*. */
dit_status dit_case_settle_emulated(dit_case *kase);
/* Steps of the mesh, or of what is emulated, that work with K and V of the step before; 0: the latents are exact. */
int dit_case_stale_steps(const dit_case *kase);
/* Whether the latents are to differ from one rank's: by stale steps, or by linear layers in fp8. */
bool dit_case_is_approximate(const dit_case *kase);
/* The scale by which two forwards are put together; 1 where there is one. */
double dit_case_guidance(const dit_case *kase);
/* {"kind":"seeded","seed":N} or {"kind":"safetensors","path":P} at `pointer`; *path NULL for seeded. */
dit_status dit_case_read_weights(const dit_json *doc, const cJSON *object, const char *pointer, const char **path,
                                 uint64_t *seed);
/* `measure`: warm-up runs, iterations, and whether there is a trace. */
dit_status dit_case_read_measure(const dit_json *doc, dit_case *out);
/* case_id: the hash of the canonical document. */
dit_status dit_case_hash(const dit_json *doc, char out[33]);

#endif
