/* Published: reads files of numbers that others printed, and the tables of the names that they use.
 *
 * A file is a list of points (results/published/paper_numbers.json), or {"entries": [...]} of runs on one device
 * (single_gpu_latency.json); results/schema/published.schema.json has both. Such a file comes from outside: a mistake
 * in it is an error with a place, and keys that mean nothing to us are skipped and counted.
 */
#ifndef DIT_SUITE_PUBLISHED_PUBLISHED_H
#define DIT_SUITE_PUBLISHED_PUBLISHED_H

#include "base/axis.h"
#include "base/json.h"
#include "suite/paths.h"

/* Statuses of points that nothing is judged by: one that is not believed, and one that is printed elsewhere, too. */
#define SUITE_PUBLISHED_DOUBTFUL "doubtful"
#define SUITE_PUBLISHED_REPEATED "repeated"

/* One number as it was printed. Texts lie in the file and are never NULL; a text that the file lacks is "". */
typedef struct {
    int index; /* position in the file, from 0 */
    const char *source, *model, *hardware, *interconnect, *method, *metric, *unit, *resolution, *runtime, *provenance,
        *status, *note;
    const char *restated; /* id of the contradiction that says other things of it than were printed; ""  */
    const char *scope;    /* of its latency, where that is not its source's (suite_published_habits); "" */
    int64_t gpus, steps, frames, batch; /* 0: not stated                                                    */
    int degree[DIT_AXIS_COUNT];         /* 0: not stated                                                    */
    int num_pipeline_patch;             /* 0: not stated                                                    */
    int warmup_steps;                   /* -1: not stated                                                   */
    int64_t seq_len, heads, head_dim,
        kv_groups;          /* of an attention layer: query heads per head of k and v; 0: not stated */
    bool search;            /* the best mesh of a sweep, which the source does not name                  */
    const cJSON *cache;     /* settings of a cache as a workload has them, with its decisions; NULL: none  */
    const char *beyond;     /* key of `config` that we have no method for, NULL: none           */
    bool has_value;         /* false: printed as something else, such as out of memory          */
    double value, rounding; /* in `unit`; the most that the digits, or their reading, may be off */
} suite_published_point;

/* True if something may be judged by the point, or fitted to it: its status is neither of the two above. */
bool suite_published_counts(const suite_published_point *point);

/* A file of published numbers. release accepts a zeroed one. */
typedef struct {
    dit_json source;
    suite_published_point *points;
    int count;
    int unknown_keys; /* members that were passed over */
} suite_published;

/* Reads and checks a whole file. Errors: DIT_ERR_IO, DIT_ERR_JSON_* with PATH:LINE:COLUMN and the pointer. */
dit_status suite_published_read(const char *path, suite_published *out);
/* Reads and checks a text in memory; messages call it `path`. Errors: DIT_ERR_JSON_*. */
dit_status suite_published_parse(const char *text, size_t length, const char *path, suite_published *out);
void suite_published_release(suite_published *published);

/* Returns half of the last digit that `value` needs to be printed: 12.5 -> 0.05, 300 -> 0.5. */
double suite_published_rounding(double value);

/* The names that sources use for models, machines, methods and run times: the tables of results/published/. release
 * accepts a zeroed one. */
typedef struct {
    dit_json models, hardware, methods;
    char **catalogue; /* names of models */
    int warmup_steps; /* of methods that have them, where a source does not say */
} suite_published_names;

/* Finds a file of points that a workload names, as a path, beside the workload (whose path is `workload`) or in the
 * folder of published numbers; the first that exists counts. *own: it does not lie in that folder. Errors:
 * DIT_ERR_NOT_FOUND with the places that were looked at; DIT_ERR_ENVIRONMENT. */
dit_status suite_published_find(const char *workload, const char *file, bool *own, char out[SUITE_PATH]);

/* Finds results/published beside the workloads folder, or in the current folder. Errors: DIT_ERR_ENVIRONMENT. */
dit_status suite_published_folder(char out[SUITE_PATH]);

/* Reads the tables of a folder; `folder` NULL: results/published. Errors: DIT_ERR_ENVIRONMENT without the folder,
 * DIT_ERR_IO, DIT_ERR_JSON_* in one of its files. */
dit_status suite_published_names_load(const char *folder, suite_published_names *out);
void suite_published_names_release(suite_published_names *names);

/* True if `model` names one attention layer instead of a model. *causal: with a causal mask. */
bool suite_published_layer(const suite_published_names *names, const char *model, bool *causal);
/* Returns the name of a file of workloads/models, or NULL; then `*why` (never NULL) says what is known about the
 * name. */
const char *suite_published_model(const suite_published_names *names, const char *model, const char **why);

typedef enum {
    SUITE_PUBLISHED_PLATFORM,          /* found                                       */
    SUITE_PUBLISHED_HARDWARE_UNSTATED, /* the source does not name the accelerator    */
    SUITE_PUBLISHED_HARDWARE_UNKNOWN,  /* no row has this name                        */
    SUITE_PUBLISHED_INTERCONNECT,      /* rows have the name, none this interconnect  */
    SUITE_PUBLISHED_DEVICES,           /* rows have both, none so many devices        */
} suite_published_place;
/* Returns the platform to which `gpus` devices of a machine belong. One device needs no interconnect. */
suite_published_place suite_published_platform(const suite_published_names *names, const char *hardware,
                                               const char *interconnect, int64_t gpus, const char **platform);

/* Returns the name of a software profile, or NULL where no profile is like this. */
const char *suite_published_profile(const suite_published_names *names, const char *runtime);

/* How the scripts of a source ran and timed their software, beyond what a point says. */
typedef struct {
    bool known;                  /* a row names the source; false: the row of all others, or none  */
    const char *runtime;         /* where a point names none; NULL: not known                      */
    int pipefusion_warmup_steps; /* -1: not known                                                  */
    const char *scope;           /* of a latency: "pipeline", or "latents" where none were decoded */
    bool tiling;                 /* clips are decoded in tiles                                     */
    int synchronous_more;        /* synchronous steps beyond the warm-up steps that it tells of    */
    bool text_replicated;        /* every sequence rank computes all of a joint text               */
    bool prompts_differ;         /* of the images of a batch                                       */
    const cJSON *profiles;       /* profiles of its software in place of those of run times; NULL  */
    const cJSON *platforms;      /* platforms with its hosts in place of those of hardware.json; NULL */
} suite_published_habits;
/* Returns the first row of "sources" in methods.json with which the point's source begins, and its model where the row
 * has one. Without a row: what xDiT does by itself. */
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
