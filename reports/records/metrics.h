/* Metrics: the one table of what a record can say in numbers, with unit and direction.
 *
 * The value of a process comes from its record; the value of a case is the median over its processes. speedup,
 * efficiency and the errors of simulated cases are made afterwards, by comparing cases.
 */
#ifndef DIT_REPORTS_RECORDS_METRICS_H
#define DIT_REPORTS_RECORDS_METRICS_H

#include "base/json.h"
#include "reports/text.h"

typedef enum {
    REPORT_LATENCY,
    REPORT_STEP,
    REPORT_COMPUTE,
    REPORT_EXPOSED_COMMUNICATION,
    REPORT_OTHER,
    REPORT_COMMUNICATION_BYTES,
    REPORT_COMMUNICATION_MESSAGES,
    REPORT_PREDICTED_BYTES,
    REPORT_WEIGHTS_BYTES,
    REPORT_STATE_BYTES,
    REPORT_ACTIVATIONS_BYTES,
    REPORT_COMM_BUFFER_BYTES,
    REPORT_TOTAL_BYTES,
    REPORT_RSS_BYTES,
    REPORT_DEVICE_RESERVED_BYTES,
    REPORT_DEVICE_UNPLANNED_BLOCKS,
    REPORT_REL_L2,
    REPORT_PSNR,
    REPORT_ORACLE_REL_L2,
    REPORT_FLOPS,
    REPORT_GFLOP_PER_S,
    REPORT_IMAGES_PER_HOUR,
    REPORT_SPEEDUP,
    REPORT_EFFICIENCY,
    REPORT_OPERATOR_REL_L2,
    REPORT_ATTENTION_FLOPS,
    REPORT_FLOPS_MAX_OVER_MEAN,
    REPORT_IDLE_SHARE,
    REPORT_IDLE_SLOT_SHARE,
    REPORT_WAITING_SHARE,
    REPORT_TEXT_ENCODER,
    REPORT_DENOISE,
    REPORT_VAE_DECODE,
    REPORT_ERROR_TO_PUBLISHED,
    REPORT_ERROR_TO_MEASURED,
    REPORT_METRIC_COUNT
} report_metric;

typedef enum { REPORT_BETTER_LOWER, REPORT_BETTER_HIGHER, REPORT_BETTER_NEITHER } report_better;

typedef struct {
    const char *name; /* "latency_s": claims and CSV spell it so */
    report_unit unit;
    report_better better;
    bool timing;         /* depends on a clock: a verdict on it needs n >= 6    */
    bool comparison;     /* only cases with a counterpart have it               */
    const char *path;    /* "memory/weights_bytes" inside the record, or NULL   */
    double factor;       /* path's unit to ours                                 */
    const char *meaning; /* one clause for the page                             */
} report_metric_info;

const report_metric_info *report_metric_get(report_metric metric);
bool report_metric_from_name(const char *name, report_metric *out);
const char *report_better_name(report_better better);

/* The numbers of one record (results/schema/README.md) into `out`; NAN where it says nothing. `num_images` is what one
 * iteration makes. Errors: DIT_ERR_JSON_* where a value has the wrong type or is negative. */
dit_status report_metrics_read(const dit_json *doc, const cJSON *record, const char *pointer, double num_images,
                               double out[REPORT_METRIC_COUNT]);

/* Rows of what one rank sent, and where they stand. */
typedef struct {
    const cJSON *rows; /* NULL: the record says nothing */
    char pointer[256];
} report_rank_rows;
/* Those of the rank that sent most bytes: stages of a pipeline and patches at the edge send less than others. In
 * records without "ranks" those of "communication". Errors: DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE. */
dit_status report_busiest_rank(const dit_json *doc, const cJSON *record, const char *pointer, report_rank_rows *out);

#endif
