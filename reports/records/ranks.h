/* Ranks: what the ranks of one record say together: how much was done of each kind, which rank did it, and where.
 */
#ifndef DIT_REPORTS_RECORDS_RANKS_H
#define DIT_REPORTS_RECORDS_RANKS_H

#include "base/json.h"

/* The member of counts that is no number: a digest of what each rank sends, by axis, collective and phase. Two plans
 * that send the same sums by other ranks differ in it. */
#define REPORT_COUNTS_PLAN "plan"

/* Adds up what all ranks counted in one iteration, as a flat object: "communication_bytes/AXIS/COLLECTIVE/PHASE",
 * "communication_messages/AXIS/COLLECTIVE/PHASE", "operator_calls/OPERATOR", each a number under the metric's name that
 * it is a part of, and REPORT_COUNTS_PLAN. *out is the caller's; NULL where the record counts nothing. Errors:
 * DIT_ERR_JSON_*, DIT_ERR_MEMORY. */
dit_status report_counts_read(const dit_json *doc, const cJSON *record, const char *pointer, cJSON **out);
/* The hosts of the ranks, each once and each followed by a newline, in the order of the ranks. *out is the caller's;
 * NULL where a rank does not say. Errors: DIT_ERR_JSON_*, DIT_ERR_MEMORY. */
dit_status report_hosts_read(const dit_json *doc, const cJSON *record, const char *pointer, char **out);

#endif
