/* Held out: reads what predictions were wrong by (results/calibration/holdout.json), strictly.
 *
 * `ditbench calibrate --from published --holdout` writes the file. An error is ln(published / predicted) of times, so
 * that the truth is the prediction times exp(error).
 */
#ifndef DIT_SUITE_CONFIDENCE_HELD_OUT_H
#define DIT_SUITE_CONFIDENCE_HELD_OUT_H

#include "base/hash.h"
#include "base/json.h"
#include "suite/confidence/error_class.h"

/* A published time. Texts lie in the source. */
typedef struct {
    const char *file, *model, *mesh;
    int index;                           /* in that file                                                      */
    int machine;                         /* in machines                                                       */
    int set;                             /* equal for points of one source, machine and model                 */
    int question;                        /* equal for points that ask for the same picture                    */
    int family;                          /* equal for those that do so on one mesh, with one software          */
    int64_t devices, tokens, parameters; /* tokens of one image or clip                                       */
    double seconds;                      /* as printed                                                        */
    suite_error_class kind_of;           /* .fitted means nothing here: an error says how it was predicted    */
} suite_held_point;

typedef struct {
    int point;    /* in points */
    double error; /* ln(published / predicted) */
} suite_held_error;

/* release accepts a zeroed one. */
typedef struct {
    dit_json source;
    char hash[DIT_HASH_HEX]; /* of the file's bytes                                                    */
    const char *plan_hash;   /* of the plan that was fitted                                            */
    const char **machines;   /* [machine_count] accelerators, each once                                */
    bool *is_fitted;         /* [machine_count] whether the plan has points of it: it was left out once */
    int machine_count;
    suite_held_point *points;
    int point_count;
    suite_held_error *outside; /* points outside the fit, of machines inside it                          */
    int outside_count;
    suite_held_error *left_out; /* points of a machine, predicted by a fit that had none of it            */
    int left_out_count;
} suite_held_out;

/* Reads a file; `path` NULL: holdout.json beside the default calibration. Errors: DIT_ERR_IO, DIT_ERR_ENVIRONMENT;
 * DIT_ERR_JSON_* with place, also for an error that names no point and a point that has two errors. */
dit_status suite_held_out_read(const char *path, suite_held_out *out);
/* Reads a text in memory; messages call it `path`. Errors: DIT_ERR_JSON_*, DIT_ERR_MEMORY. */
dit_status suite_held_out_parse(const char *text, size_t length, const char *path, suite_held_out *out);
void suite_held_out_release(suite_held_out *held);

/* Whether values were fitted on points of the accelerator: only then are the errors of fitted machines its own. */
bool suite_held_out_is_fitted(const suite_held_out *held, const char *accelerator);
/* What errors of one kind move together: a point's set if its machine is in the fit, else its machine. */
int suite_held_out_group(const suite_held_out *held, bool fitted, int point);

#endif
