/* Side: one side of a comparison, the cases of a session or of a baseline file with the numbers of every process.
 */
#ifndef DIT_SUITE_COMPARE_SIDE_H
#define DIT_SUITE_COMPARE_SIDE_H

#include "base/hash.h"
#include "base/json.h"
#include "base/outcome.h"
#include "reports/records/gate.h"
#include "suite/paths.h"

/* One case. An absent metric has no values. */
typedef struct {
    char case_id[DIT_HASH_HEX], *label;
    cJSON *tags;
    bool simulated;
    dit_outcome status;   /* of the worst process */
    char *failure;        /* "E_CODE: message"; "" where every process ended ok */
    int process_count;    /* those that ended ok   */
    int64_t *processes;   /* their numbers, ascending */
    double *other_shares; /* per process, of the cores, what others used; NAN: nobody says; NULL: of none */
    double *values[REPORT_METRIC_COUNT]; /* per process, NAN where it has none; NULL: no process has */
    double medians[REPORT_METRIC_COUNT]; /* of them; suite_side_median gives NAN where there are none */
    cJSON *counts; /* what was done of each kind (reports/records/ranks.h); NULL: it does not say     */
    double noise;  /* half-width of the interval of an A/A ratio, as a share; 0: nobody has measured it */
} suite_side_case;

/* release accepts a zeroed one. */
typedef struct {
    char name[SUITE_PATH]; /* what a person calls it: the session's name, or the file */
    cJSON *session;        /* the session line: machine, environment, build; of a baseline what it keeps of it */
    char pairing[64];      /* what sessions share whose processes ran in pairs; "": they did not   */
    int looks;             /* how often their numbers were looked at before a verdict; 1 otherwise */
    double busy_limit;     /* of pairs: the share that others may use before a pair does not count; 0: the usual one */
    char across[512];      /* tags in which the cases of pairs differ on purpose; ""               */
    report_gate gate;      /* how its workload wants its numbers judged */
    bool is_baseline;
    suite_side_case *cases;
    int case_count;
} suite_side;

/* The cases of a journal. Errors: those of reading it. */
dit_status suite_side_load_session(const char *journal, const char *name, suite_side *out);
void suite_side_release(suite_side *side);

/* Takes over `values`, one for each process. Errors: DIT_ERR_MEMORY. */
dit_status suite_side_set_values(suite_side_case *kase, report_metric metric, double *values);
/* Returns the median of the values of a metric, NAN without one. */
double suite_side_median(const suite_side_case *kase, report_metric metric);
/* Case by id; NULL: none. */
const suite_side_case *suite_side_find(const suite_side *side, const char *case_id);
/* True if a case of the side failed: it ended neither ok nor skipped. A simulation that says "out of memory" did not
 * fail. */
bool suite_side_has_failures(const suite_side *side);

#endif
