/* Likeness: how alike cases change from step to step, by their probes. */
#ifndef DIT_REPORTS_RECORDS_LIKENESS_H
#define DIT_REPORTS_RECORDS_LIKENESS_H

#include "reports/records/records.h"

/* Rank correlations of all pairs of cases, of keys, values and outputs of attention. */
typedef struct {
    double low, high;   /* the lowest lower and the highest upper bound of the 95 % intervals */
    double least, most; /* of the correlations themselves                                     */
    int pairs;
} report_likeness;

/* Compares the maps of changes (report_probe_map) of every two of `count` cases. Errors: those of report_probe_read and
 * dit_redundancy_rank_correlation; DIT_ERR_NOT_FOUND for fewer than two cases. */
dit_status report_likeness_of(const report_case *const *cases, int count, bool on_noise, report_likeness *out);

#endif
