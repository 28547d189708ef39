/* Claim names: checks the names in claims and filters before anything has run: metrics, functions, tags and values of
 * tags. */
#ifndef DIT_REPORTS_RECORDS_CLAIM_NAMES_H
#define DIT_REPORTS_RECORDS_CLAIM_NAMES_H

#include "base/expr.h"

/* What is known of the cases that a claim will be judged on. */
typedef struct {
    /* Every tag that a case may have, NULL-terminated; status, evidence, label and the metrics are known beside them.
     */
    const char *const *tags;
    /* Whether a case may have this value of the tag. `open`: the claim also holds where no case has it, as in
     * count(method='ring') == 0. The error names what there is. */
    dit_status (*value)(void *context, const char *tag, const dit_value *value, bool open);
    void *context;
} report_claim_names;

/* Checks the names of a claim's expression: functions, the metrics they fold, the tags of their arguments with their
 * values, and the expressions inside all('...'), any('...') and where='...'. `open`: the expression may name what no
 * case has, as "requires" may. Errors: DIT_ERR_EXPRESSION with text and column, the nearest known name as hint. */
dit_status report_claim_names_check(const char *expr, const report_claim_names *names, bool open);
/* Checks the names of an expression over one case at a time: `where` of a plot, `exclude`, `constraints`. `metrics`: it
 * may name metrics. */
dit_status report_filter_names_check(const char *expr, const report_claim_names *names, bool metrics, bool open);

#endif
