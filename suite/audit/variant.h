/* Variant: one run of a changed case, and the work that it did. */
#ifndef DIT_SUITE_AUDIT_VARIANT_H
#define DIT_SUITE_AUDIT_VARIANT_H

#include "suite/workload/workload.h"

/* How variants are run and judged. */
typedef struct {
    const char *engine;
    double margin;     /* a time may be so much shorter than work asks for, as a share */
    double deadline_s; /* of a run; 0: the case's                                      */
    bool exact_only;   /* judge no time                                                */
    void (*tick)(void *context, double elapsed_s);
    void *context;
} suite_audit_params;

/* How a variant differs from its case. */
typedef struct {
    int steps;  /* of the schedule                                     */
    int height; /* times that of the case; 0: as it is                 */
    int seed;   /* is added                                            */
    bool cold;  /* one image in a fresh process, nothing run before it */
    bool alone; /* one rank                                            */
} suite_variant;

/* What it did. Flops are sums over ranks, of one image; `total` is the model's alone, because a scheduler of higher order
 * does less in its first step. */
typedef struct {
    bool ran, exact;
    char reason[192];                          /* why it did not run */
    double linear, attention, total, steps_ns; /* steps_ns: fastest image, its steps alone */
    char digest[64];
} suite_work;

/* Runs it. Errors: those of suite_single_run; DIT_ERR_MEMORY. */
dit_status suite_variant_run(const suite_case *one, const suite_variant *variant, const suite_audit_params *params,
                             suite_work *out);

#endif
