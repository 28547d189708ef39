/* Audit: did a fast run do the work? Runs variants of a case and holds their flops, latents and times against each other.
 *
 * Flops are counted by the operators as they run, so that they are exact: a step that is left out is missing in them. A
 * time is judged on one side only. A run may be slower than its work asks for, because a machine is busy, but not faster
 * by more than the margin; what is too fast is run again, and the fastest of all tries counts.
 */
#ifndef DIT_SUITE_AUDIT_AUDIT_H
#define DIT_SUITE_AUDIT_AUDIT_H

#include "suite/audit/variant.h"

typedef enum {
    SUITE_AUDIT_OK,
    SUITE_AUDIT_FAILED,
    SUITE_AUDIT_LEFT_OUT,
    SUITE_AUDIT_VERDICT_COUNT
} suite_audit_verdict;

/* One check. `check` and `claim` live as long as the program. */
typedef struct {
    const char *check, *claim;
    char found[256];
    suite_audit_verdict verdict;
} suite_audit_row;

enum { SUITE_AUDIT_MOST_ROWS = 12 };

/* True if a case can be audited: a sampling loop that is measured, and no oracle. */
bool suite_audit_takes(const suite_case *one);
/* Runs the variants of a case, one after the other. Errors: those of suite_single_run; DIT_ERR_MEMORY. A variant that
 * fails is a row: failed where the case itself does not run, left out where this machine or the method refuses it. */
dit_status suite_audit_case(const suite_case *one, const suite_audit_params *params,
                            suite_audit_row rows[SUITE_AUDIT_MOST_ROWS], int *count);
const char *suite_audit_verdict_name(suite_audit_verdict verdict);

#endif
