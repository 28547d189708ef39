/* Workload: holds a declared matrix, parsed strictly and expanded into fully resolved cases.
 *
 * Expansion is pure: equal files, data files and seeds give equal cases, ids and order. Every dropped cell keeps its
 * reason. Nothing is run here.
 */
#ifndef DIT_SUITE_WORKLOAD_WORKLOAD_H
#define DIT_SUITE_WORKLOAD_WORKLOAD_H

#include "base/hash.h"
#include "base/json.h"

enum { SUITE_POINTER = 512 }; /* bytes of a buffer for a JSON pointer */

/* One fully resolved case (results/schema/case.md). */
typedef struct {
    char case_id[DIT_HASH_HEX];
    char reference_id[DIT_HASH_HEX]; /* equal for cases that must give the same image (case without parallel, attention,
                                        platform, measure); "" for programs without one */
    bool is_reference;               /* world size 1: the one-rank reference of its reference_id */
    bool is_oracle;                  /* one rank that emulates an approximate method, or a converged reference
                                        (converged.h); others are held against it, and nobody asked for it */
    bool is_converged;               /* of those, a converged reference */
    bool is_simulated;               /* of a platform with backend cost: compared with nothing, run once */
    char oracle_id[DIT_HASH_HEX];    /* the case that an approximate one must agree with; "" for exact ones */
    char converged_id[DIT_HASH_HEX]; /* the converged reference of its pictures; "": none */
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
    char parameters[DIT_HASH_HEX]; /* of what decides the cases (suite_workload_parameters) */
    const char *notes_for;         /* the parameters that the notes of claims were written for; NULL: none */
    suite_case *cases;
    int case_count;
    suite_dropped *dropped;
    int dropped_count;
    int merged_count;            /* cells that resolved to a case another cell had already given */
    int processes;               /* repeat.processes: fresh process groups per case */
    double until;                /* repeat.until: more of them until half of the interval of the median is at most this
                                    share of it; 0: no more                         */
    int most_processes;          /* repeat.most: with until, at most so many        */
    uint64_t plan_seed;          /* repeat.seed */
    cJSON *settings;             /* what --set laid over the file, {"num_inference_steps": 50}; NULL: nothing */
    const cJSON *plots, *expect; /* inside source; NULL when absent */
    const cJSON *gate;           /* the same: how its numbers are judged (reports/records/gate.h) */
    const cJSON *published;      /* the same: [{"file", "where"}], published numbers to be shown beside the results */
    struct suite_matrix *matrix; /* axes, models and platforms; case documents share the models' configs with it */
} suite_workload;

/* release accepts a zeroed workload. */
void suite_workload_release(suite_workload *workload);
/* Checks that a case is left. Errors: DIT_ERR_WORKLOAD when every cell was dropped, with the reasons counted. */
dit_status suite_workload_require_cases(const suite_workload *workload);
/* Computes the digest of all members of a workload that decide which cases there are and how they run. It leaves out
 * names and texts, figures, claims and published numbers.
 *
 * A note of a claim ("because") tells what came out with the file's own parameters, and with others it may be wrong. So
 * the file names in "notes_for" the digest of the parameters that its notes were written for, the journal keeps both
 * digests, and reports show the notes only where they are equal. Errors: DIT_ERR_MEMORY. */
dit_status suite_workload_parameters(const cJSON *workload, char out[DIT_HASH_HEX]);
/* Checks that a string can name a file: letters, digits, '.', '_' and '-', at most 100. Errors: DIT_ERR_JSON_*. */
dit_status suite_require_identifier(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                    const char **out);

#endif
