/* Workload: a declared matrix, parsed strictly and expanded into fully resolved cases.
 *
 * Expansion is pure: the same file, data files and seed give the same cases, ids and order. Every dropped cell keeps
 * its reason. Nothing is run here.
 */
#ifndef DIT_SUITE_WORKLOAD_WORKLOAD_H
#define DIT_SUITE_WORKLOAD_WORKLOAD_H

#include "base/hash.h"
#include "base/json.h"
#include "suite/text.h"

/* One fully resolved case (results/schema/README.md, "Case"). */
typedef struct {
    char case_id[DIT_HASH_HEX];
    char reference_id[DIT_HASH_HEX]; /* equal for cases that must give the same image (case without parallel, attention,
                                        platform, measure); "" for programs without one */
    bool is_reference;               /* world size 1: the one-rank reference of its reference_id */
    bool is_oracle;                  /* one rank that emulates an approximate method; nothing a user asked for */
    bool is_simulated;               /* of a platform with backend cost: compared with nothing, run once */
    char oracle_id[DIT_HASH_HEX];    /* the case that an approximate one must agree with; "" for exact ones */
    cJSON *document;                 /* the case */
    cJSON *tags;                     /* flat {"model","resolution","method",...}: what plots and filters see */
    char label[160];                 /* for people: "pixart-alpha-xl-2 256x256 u2" */
    int world_size;
    int64_t deadline_s;
    int64_t predicted_bytes;        /* closed form: sent over one whole image by the rank that sends most */
    int64_t predicted_least_bytes;  /* by the one that sends least */
    int64_t predicted_memory_bytes; /* estimate of the peak per rank; 0: none          */
} suite_case;

typedef struct {
    cJSON *cell;     /* the axis values of the cell */
    cJSON *tags;     /* as of a case; NULL when it was dropped before it had any */
    dit_status code; /* DIT_ERR_CONSTRAINT_*, or DIT_ERR_UNSUPPORTED for what the engine does not build yet */
    char reason[512];
} suite_dropped;

typedef struct {
    dit_json source;
    char name[128], title[256], hash[DIT_HASH_HEX];
    char parameters[DIT_HASH_HEX]; /* of what decides the cases (notes.h) */
    const char *notes_for;         /* the parameters that the notes of claims were written for; NULL: none */
    suite_case *cases;
    int case_count;
    suite_dropped *dropped;
    int dropped_count;
    int merged_count;            /* cells that resolved to a case another cell had already given */
    int processes;               /* repeat.processes: fresh process groups per case */
    uint64_t plan_seed;          /* repeat.seed */
    cJSON *settings;             /* what --set laid over the file, {"num_inference_steps": 50}; NULL: nothing */
    const cJSON *plots, *expect; /* inside source; NULL when absent */
    const cJSON *published;      /* the same: [{"file", "where"}], published numbers to be shown beside the results */
    struct suite_matrix *matrix; /* axes, models and platforms; case documents share the models' configs with it */
} suite_workload;

/* Parses and expands. `path` is a file, or a name looked up under the workloads folder ("smoke", "cpu/methods").
 * Case documents live as long as the workload: copy (cJSON_Duplicate) what should outlive it.
 * Errors: DIT_ERR_NOT_FOUND, DIT_ERR_IO, DIT_ERR_JSON_*, DIT_ERR_WORKLOAD, DIT_ERR_EXPRESSION with PATH:LINE:COLUMN.
 * release takes a zeroed one. */
dit_status suite_workload_load(const char *path, suite_workload *out);
/* The same with values of the command line laid over the file (suite/workload/settings.h); the hash is that of what results. */
dit_status suite_workload_load_set(const char *path, const suite_strings *settings, suite_workload *out);
void suite_workload_release(suite_workload *workload);
/* Errors: DIT_ERR_WORKLOAD when every cell was dropped, with the reasons counted. */
dit_status suite_workload_require_cases(const suite_workload *workload);
/* Asks every case for a timeline, as "measure": {"trace": true} does; case ids change with it. Errors:
 * DIT_ERR_MEMORY. */
dit_status suite_workload_trace(suite_workload *workload);
/* The same for a text in memory; `path` is only its name in messages. */
dit_status suite_workload_parse(const char *text, size_t length, const char *path, suite_workload *out);
/* Whether `expression` ("world_size <= 2 && method == 'ring'") holds for a case's tags. Errors: DIT_ERR_EXPRESSION,
 * with the nearest tag as hint for an unknown name. */
dit_status suite_tags_test(const cJSON *tags, const char *expression, bool *out);
/* The same for a filter that a person types: bools are values, too; gpus, num_gpus and ranks mean world_size,
 * num_inference_steps means steps; the hint for an unknown name lists all there are. */
dit_status suite_tags_filter(const cJSON *tags, const char *expression, bool *out);
/* Which values the tags that `expression` names have among `count` cases, "world_size is 1, 2, 4 here; ..."; "" when it
 * names none. */
void suite_tags_describe(const suite_case *cases, int count, const char *expression, char *out, size_t size);
/* Names of the tags, NULL-terminated. */
const char *const *suite_tag_names(void);
/* Finds the folder with the data files (models/, platforms/, schema/): $DITBENCH_WORKLOADS, ./workloads, the one beside
 * the source tree of the running binary, PREFIX/share/ditbench/workloads. NULL with an error when there is none. */
const char *suite_workloads_folder(void);

/* One planned process: which case, which repetition. */
typedef struct {
    int case_index, process, block, order;
} suite_run_item;
/* Randomised blocks: block p holds process p of every case in a shuffled order (seeded); within block 0 the one-rank
 * references and the oracles come first so that later cases can state their distance to them. An oracle is no
 * measurement: it has one process. Neither is a simulation, which gives the same again: one process, behind the others
 * of block 0, so that none runs beside a measurement, those that send most first. *items from malloc. */
dit_status suite_plan(const suite_workload *workload, suite_run_item **items, int *count);

#endif
