/* Records: holds a session's results as a table of cases, with published numbers beside them.
 *
 * Evidence is measured, simulated or published, and never what a tag or a label says: a case on backend cost is
 * simulated, any other is measured, and a record that says otherwise is refused; published numbers are lines of their
 * own kind. Records that say "fake" are refused, too, but where DITBENCH_HARNESS_TEST is 1.
 */
#ifndef DIT_REPORTS_RECORDS_RECORDS_H
#define DIT_REPORTS_RECORDS_RECORDS_H

#include "base/expr.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/outcome.h"
#include "base/stats.h"
#include "reports/pictures/shown.h"
#include "reports/records/metrics.h"

/* One process of one case. Absent metrics are NAN. */
typedef struct {
    int64_t process, order;
    dit_outcome status;
    double metric[REPORT_METRIC_COUNT];
    double other_share; /* of the cores, that other processes used meanwhile; NAN: nobody says */
    char *hosts;        /* where its ranks ran (ranks.h); NULL: nobody says */
} report_process;

/* What one rank sent, by axis, collective and phase. */
typedef struct {
    char *axis, *collective, *phase;
    double bytes, predicted_bytes, messages, predicted_messages;
} report_traffic;

/* The timeline that the newest process with status ok left; its times are means over ranks. */
typedef struct {
    char *path, *digest; /* NULL: none. The file need not be there */
    int64_t process;
    double linear_s, attention_s, other_s, waiting_s;
    double clock_uncertainty_s, dropped; /* the largest; of all ranks */
} report_trace;

/* The probe of redundancy (records/probe.h) that the newest process with status ok left. */
typedef struct {
    char *path, *digest; /* NULL: none. The file need not be there */
    int64_t process;
} report_probe_file;
/* What a cache decided, as the newest process with status ok says, of rank 0. */
typedef struct {
    char *digits;  /* a digit for each step, 1 for a computed one; NULL: there was no cache */
    char *reasons; /* a letter for each, '.' for a reused one; as long as the digits        */
} report_decisions;
/* Why a process gave no number. */
typedef struct {
    char *code, *message, *hint, *phase, *log;
} report_failure;

/* What a rank runs on, or is simulated on. A simulated case without a record does not say. */
typedef enum { REPORT_ON_UNKNOWN, REPORT_ON_CORES, REPORT_ON_GPUS } report_place;

typedef struct {
    char *engine; /* "diffusers 0.33.1", what an external engine's record says of itself; NULL: ours */
    char *case_id, *label, *evidence; /* evidence: "measured", "simulated"; "published" of a published point; "fake" */
    cJSON *tags;
    report_place place;
    int64_t world_size;
    report_process *processes;
    int process_count, process_capacity, ok_count;
    dit_outcome status; /* ok when every process is; else that of the first one that is not */
    report_failure failure;
    report_traffic *traffic; /* of the newest ok process */
    int traffic_count;
    cJSON *counts; /* what it did of each kind, all ranks (ranks.h); NULL: it does not say */
    report_trace trace;
    report_probe_file probe;
    report_shown shown;
    report_decisions decisions;
    bool projection; /* simulated, and too little of its software was timed on GPUs */
    bool unanswered; /* it is held against a number, and has none itself: out of memory, failed */
    bool communication_mismatch;
    char warning[128];   /* what makes its times doubtful: "throttled: power_cap"; of the newest process that says so */
    int doubtful_count;  /* result lines that say so                                                                  */
    bool oversubscribed; /* more ranks x threads than cores: its times say nothing about scaling */
    dit_summary metric[REPORT_METRIC_COUNT]; /* over ok processes; n = 0 when none has it */
} report_case;

/* A number that somebody printed, as a case. Its evidence is published, and its one metric has the reading error as
 * interval. Status oom says that the source printed "out of memory". */
typedef struct {
    report_case kase; /* case_id: FILE#INDEX */
    char *file, *source, *provenance, *status, *twin_id;
    char *not_compared; /* why nothing is held against it; "": no reason */
    int64_t index;
    report_metric metric; /* REPORT_LATENCY or REPORT_TOTAL_BYTES */
    double value, rounding;
    bool in_fit; /* a calibration was fitted on it */
    char **warnings;
    int warning_count;
    const report_case *twin; /* simulated: the same case, or of a search the fastest; NULL: none in this session */
    char *panel;             /* what is compared with each other: equal but for the method */
} report_published;

typedef struct {
    char *code, *reason, *cell;
} report_dropped;

typedef struct {
    dit_json session; /* the first line */
    report_case *cases;
    int case_count, case_capacity;
    report_published *published; /* by source, then position in their file */
    int published_count, published_capacity;
    report_dropped *dropped;
    int dropped_count, dropped_capacity;
    int result_lines;
    bool torn, complete;
    char *end_reason; /* "" without an end line */
    size_t journal_bytes;
    char journal_hash[DIT_HASH_HEX]; /* of all of them */
    int *buckets;                    /* case_id -> index + 1, while reading */
    int bucket_count;
} report_table;

/* Accepts a zeroed table. */
void report_table_release(report_table *table);

/* Each accepts a zeroed one. */
void report_published_release(report_published *point);
void report_traffic_release(report_case *kase);
void report_trace_release(report_trace *trace);
void report_probe_file_release(report_probe_file *probe);
void report_decisions_release(report_decisions *decisions);

bool report_published_has_value(const report_published *point);
/* True if the source shows the best of a search over meshes. */
bool report_published_is_search(const report_published *point);
/* Tags may not bear the name of what comes from records. Errors: DIT_ERR_JSON_VALUE. */
dit_status report_tags_check(const dit_json *doc, const cJSON *tags, const char *pointer);

bool report_case_is_simulated(const report_case *kase);
bool report_case_is_published(const report_case *kase);
/* True where made-up numbers are taken, for tests of the harness: DITBENCH_HARNESS_TEST is 1. */
bool report_takes_fake(void);
/* True if the fake engine made the numbers up; such a case is in a table only where the harness itself is tested. */
bool report_case_is_fake(const report_case *kase);
/* True if the case is an oracle, with which an approximate method is compared, or a converged reference of pictures:
 * neither is a method itself. Tables show them; figures, claims and speedups leave them out. */
bool report_case_is_oracle(const report_case *kase);
/* True if a search over meshes would try the case: it divides its work along data, cfg, pipefusion, ring and ulysses
 * only. */
bool report_case_is_searched(const report_case *kase);
/* True if two cases make equal images on one machine and software: they differ in method, mesh and number of ranks at
 * most. */
bool report_case_same_work(const report_case *one, const report_case *other);
/* Writes a tag as text ("" when absent) into `out`. Numbers print without exponent. "status", "evidence" and "label"
 * are tags too. Returns false when the case has no such tag. */
bool report_case_tag(const report_case *kase, const char *tag, char *out, size_t capacity);
/* Reads the number of a numeric tag. Returns false when the tag is absent or not a number. */
bool report_case_number(const report_case *kase, const char *tag, double *out);
/* Reads what expressions see of a case: its tags, and the case value of a metric by name. Returns DIT_ERR_NOT_FOUND,
 * without an error message, when the case has neither. Strings belong to the case. */
dit_status report_case_value(const report_case *kase, const char *name, dit_value *out);
/* Returns the text at a path of the session line ("suite/commit"); "" when it is absent or not a text. */
const char *report_session_text(const report_table *table, const char *path);

#endif
