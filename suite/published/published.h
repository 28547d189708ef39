/* Published: numbers that others printed, read from a file of theirs, and the tables that say what they call things.
 *
 * A file is a list of points (results/published/paper_numbers.json), or {"entries": [...]} of runs on one device
 * (single_gpu_latency.json); results/schema/published.schema.json has both. It is nobody's here: what is wrong with it
 * is an error with a place, keys that mean nothing to us are passed over and counted.
 */
#ifndef DIT_SUITE_PUBLISHED_PUBLISHED_H
#define DIT_SUITE_PUBLISHED_PUBLISHED_H

#include "base/axis.h"
#include "base/json.h"
#include "suite/paths.h"

/* One number as it was printed. Texts are never NULL: "" is what the file does not say. They lie in the file. */
typedef struct {
    int index; /* position in the file, from 0 */
    const char *source, *model, *hardware, *interconnect, *method, *metric, *unit, *resolution, *runtime, *provenance,
        *status, *note;
    int64_t gpus, steps, frames, batch; /* 0: not stated                                                    */
    int degree[DIT_AXIS_COUNT];         /* 0: not stated                                                    */
    int num_pipeline_patch;             /* 0: not stated                                                    */
    int warmup_steps;                   /* -1: not stated                                                   */
    int64_t seq_len, heads, head_dim,
        kv_groups;          /* of an attention layer: query heads per head of k and v; 0: not stated */
    bool search;            /* the best mesh of a sweep, which the source does not name                  */
    const char *beyond;     /* key of `config` that we have no method for, NULL: none           */
    bool has_value;         /* false: printed as something else, such as out of memory          */
    double value, rounding; /* in `unit`; the most that the digits, or their reading, may be off */
} suite_published_point;

/* A file of them. release takes a zeroed one. */
typedef struct {
    dit_json source;
    suite_published_point *points;
    int count;
    int unknown_keys; /* members that were passed over */
} suite_published;

/* Reads and checks a whole file. Errors: DIT_ERR_IO, DIT_ERR_JSON_* with PATH:LINE:COLUMN and the pointer. */
dit_status suite_published_read(const char *path, suite_published *out);
/* The same for a text in memory; `path` is only its name in messages. */
dit_status suite_published_parse(const char *text, size_t length, const char *path, suite_published *out);
void suite_published_release(suite_published *published);

/* Half of the last digit that `value` needs to be printed: 12.5 -> 0.05, 300 -> 0.5. */
double suite_published_rounding(double value);

/* What sources call models, machines, methods and run times: the tables of results/published/ as data. release takes a
 * zeroed one. */
typedef struct {
    dit_json models, hardware, methods;
    char **catalogue; /* names of models */
    int warmup_steps; /* of methods that have them, where a source does not say */
} suite_published_names;

/* A file of points that a workload names: as it stands, beside the workload (whose path is `workload`), or in the folder
 * of published numbers, the first that exists. *own: it is not one of that folder. Errors: DIT_ERR_NOT_FOUND with the places
 * that were looked at; DIT_ERR_ENVIRONMENT. */
dit_status suite_published_find(const char *workload, const char *file, bool *own, char out[SUITE_PATH]);

/* results/published beside the workloads folder, or here. Errors: DIT_ERR_ENVIRONMENT. */
dit_status suite_published_folder(char out[SUITE_PATH]);

/* `folder` NULL: that one. Errors: DIT_ERR_ENVIRONMENT without the folder, DIT_ERR_IO, DIT_ERR_JSON_* in one of its
 * files. */
dit_status suite_published_names_load(const char *folder, suite_published_names *out);
void suite_published_names_release(suite_published_names *names);

/* Whether `model` is one attention layer and no model; *causal: under a mask. */
bool suite_published_layer(const suite_published_names *names, const char *model, bool *causal);
/* Name of a file of workloads/models, or NULL with `*why` (never NULL) saying what is known of the name. */
const char *suite_published_model(const suite_published_names *names, const char *model, const char **why);

typedef enum {
    SUITE_PUBLISHED_PLATFORM,          /* found                                       */
    SUITE_PUBLISHED_HARDWARE_UNSTATED, /* the source does not name the accelerator    */
    SUITE_PUBLISHED_HARDWARE_UNKNOWN,  /* no row has this name                        */
    SUITE_PUBLISHED_INTERCONNECT,      /* rows have the name, none this interconnect  */
    SUITE_PUBLISHED_DEVICES,           /* rows have both, none so many devices        */
} suite_published_place;
/* The platform that `gpus` devices of a machine belong to. One device needs no interconnect. */
suite_published_place suite_published_platform(const suite_published_names *names, const char *hardware,
                                               const char *interconnect, int64_t gpus, const char **platform);

/* Name of a software profile, or NULL where there is none like this. */
const char *suite_published_profile(const suite_published_names *names, const char *runtime);

/* How a source ran and timed its software, beyond what a point says: what its scripts do. */
typedef struct {
    const char *runtime;         /* where a point names none; NULL: not known                      */
    int pipefusion_warmup_steps; /* -1: not known                                                  */
    const char *scope;           /* of a latency: "pipeline", or "latents" where none were decoded */
    bool tiling;                 /* clips are decoded in tiles                                     */
} suite_published_habits;
/* The first row of methods.json's "sources" that the point's source, and its model where the row has one, begin with;
 * none: what xDiT does by itself. */
void suite_published_habits_of(const suite_published_names *names, const suite_published_point *point,
                               suite_published_habits *out);

/* What the words of a method's name say. */
typedef struct {
    int degree[DIT_AXIS_COUNT]; /* 0: no number beside the word; "ulysses-2 x cfg2" gives two */
    int warmup_steps;           /* -1: none                                                   */
    bool search;                /* "hybrid"                                                   */
    char word[32];              /* that makes the method none of ours; "" when there is none  */
    const char *why;            /* what the word means; NULL: it is in no table               */
    const char *layout;         /* of an attention layer's tokens; NULL: none is named        */
    bool packed;                /* its exchanges of q, k and v                                */
} suite_published_method;
void suite_published_method_read(const suite_published_names *names, const char *method, suite_published_method *out);

#endif
