/* Probe: reads how much every layer of one case changed from step to step (results/schema/record.md, "probe"). */
#ifndef DIT_REPORTS_RECORDS_PROBE_H
#define DIT_REPORTS_RECORDS_PROBE_H

#include "base/redundancy.h"
#include "reports/records/records.h"

enum { REPORT_PROBE_POINTS = 4, REPORT_PROBE_MEASURES = 5, REPORT_PROBE_L1 = 0, REPORT_PROBE_RELATIVE = 2 };
/* Names of the points: "K", "V", "attention", "block"; the first three are those of the paper. */
extern const char *const report_probe_points[REPORT_PROBE_POINTS];

typedef struct {
    int prompts, steps, layers;                                 /* steps: of the run; there is one change less */
    double *change[REPORT_PROBE_POINTS][REPORT_PROBE_MEASURES]; /* [prompts][layers][steps - 1]: image rows, all
                                                                    guidance branches                            */
    double *input, *output; /* [prompts][steps - 1]: relative change of what the first block gives its attention, and
                               of what the model predicts before guidance                                       */
    double *ratios; /* [steps - 1], mean over prompts: length of what all blocks add, over that of the step before */
    double *cost;   /* [steps][steps], mean over prompts: what reusing row's residual in column's step would change  */
    double *places; /* [steps - 1]: (t + 1) / (steps - 1) of the change from step t                               */
    double *noise;  /* [steps - 1]: noise over signal of the step that has changed                                   */
} report_probe;

/* The digest of a probe's file, for one that no record names. Errors: DIT_ERR_IO, DIT_ERR_SAFETENSORS_*. */
dit_status report_probe_digest(const char *path, char out[48]);
/* Reads the probe of a case. Nothing in the file is trusted. Errors: DIT_ERR_NOT_FOUND when the case has none, or its
 * file is not there; DIT_ERR_INTEGRITY for another digest than the record's; DIT_ERR_SAFETENSORS_*, DIT_ERR_SHAPE,
 * DIT_ERR_NONFINITE; DIT_ERR_MEMORY. release accepts a zeroed probe. */
dit_status report_probe_read(const report_case *kase, report_probe *out);
void report_probe_release(report_probe *probe);
/* How much a point changes by the paper's measure, the mean of |now - before|; on_noise: placed by noise, else by the
 * share of the steps. It belongs to the probe. */
dit_redundancy_map report_probe_map(const report_probe *probe, int point, bool on_noise);

#endif
