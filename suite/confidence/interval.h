/* Interval: what lies around a predicted time, and whether anything may be said around it at all.
 *
 * The interval of the truth is predicted * exp(low) to predicted * exp(high), at the level that the held-out errors of
 * its class support. A machine that no value was fitted on has the errors of machines left out, and no others.
 */
#ifndef DIT_SUITE_CONFIDENCE_INTERVAL_H
#define DIT_SUITE_CONFIDENCE_INTERVAL_H

#include "suite/confidence/ladder.h"

/* What a prediction is of. */
typedef struct {
    suite_error_class of;                /* no SUITE_CLASS_ANY */
    int64_t devices, tokens, parameters; /* tokens of one image or clip, parameters of the model; as in held_out.h   */
    bool attention_assumed;              /* nobody has published how fast attention is on such a chip, nor fitted it */
    bool software_unmeasured; /* too little of the software has been timed on GPUs                          */
    bool extrapolate;         /* go on outside what was checked, and say so                               */
} suite_prediction;

/* Fills .of.fitted, .attention_assumed and .software_unmeasured from the catalogue's accelerator and software profile;
 * the rest is left. Errors: DIT_ERR_NOT_FOUND with the nearest name; DIT_ERR_UNSUPPORTED for an accelerator without a
 * cost model; DIT_ERR_JSON_*. */
dit_status suite_prediction_of(const suite_held_out *held, const char *accelerator, const char *profile,
                               suite_prediction *out);

typedef struct {
    double low, high;    /* of ln(truth / predicted)                                                        */
    double level;        /* that is supported; `wanted` or less                                             */
    double wanted;       /* that was asked for                                                              */
    bool extremes;       /* too few groups for it                                                           */
    suite_ladder ladder; /* that was climbed; .chosen gave the interval                                     */
    int points, groups;  /* of that class                                                                   */
    bool extrapolated;   /* outside what was checked: `why` says in what                                    */
    char why[256];       /* "" inside                                                                       */
    double nine[SUITE_ERROR_QUANTILES]; /* errors at which rates and costs are computed anew, ascending     */
} suite_interval;

/* Finds the interval at `level` (0.9). Errors: DIT_ERR_UNSUPPORTED outside what was checked (more than twice the
 * devices, tokens or model size of any point of the class that speaks; assumed attention; unmeasured software) unless
 * it is to extrapolate; DIT_ERR_NOT_FOUND where no class has enough points; DIT_ERR_USAGE for a level outside 0.5 to
 * 0.99; DIT_ERR_MEMORY. */
dit_status suite_interval_of(const suite_held_out *held, const suite_prediction *prediction, double level,
                             suite_interval *out);

#endif
