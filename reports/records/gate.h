/* Gate: what a workload says of how its numbers are judged: which way a metric is better, and how large a change has to
 * be before it matters. Of a metric that the workload does not name, the table of metrics says it.
 */
#ifndef DIT_REPORTS_RECORDS_GATE_H
#define DIT_REPORTS_RECORDS_GATE_H

#include "reports/records/metrics.h"

/* How one metric is judged. */
typedef struct {
    bool named;           /* the workload has a rule for it                                          */
    report_better better; /* REPORT_BETTER_NEITHER: every change that matters is one for the worse    */
    double margin;        /* the share from which on a change matters; NAN: the workload does not say */
} report_gate_rule;

/* A zeroed one has no rules. */
typedef struct {
    report_gate_rule rules[REPORT_METRIC_COUNT];
    int count; /* metrics that have one */
} report_gate;

/* Reads the list "gate" of `object`, which stands at `pointer`: {"metric", "better"?, "margin"?}, the margin in percent.
 * Without such a list there are no rules. Errors: DIT_ERR_JSON_* at the entry; an unknown metric with the nearest one
 * as hint. */
dit_status report_gate_read(const dit_json *doc, const cJSON *object, const char *pointer, report_gate *out);
/* Returns the metric's rule, or that of the table of metrics, which names no margin. */
report_gate_rule report_gate_rule_of(const report_gate *gate, report_metric metric);

#endif
