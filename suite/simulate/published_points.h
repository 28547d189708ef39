/* Published points: makes published numbers into cases that can be simulated, and computes how near the simulation
 * comes.
 *
 * A point is understood when it says enough to be one case: a metric of time, a model and a machine that we have, size,
 * steps and degrees. Everything else is skipped with a code and words. Understood points are handed to a predictor;
 * what comes back is compared with what was printed, by pure functions.
 */
#ifndef DIT_SUITE_SIMULATE_PUBLISHED_POINTS_H
#define DIT_SUITE_SIMULATE_PUBLISHED_POINTS_H

#include "base/parallel.h"
#include "suite/platform/calibration.h"
#include "suite/published/published.h"
#include "suite/workload/workload.h"

/* Why a point is skipped: constant, stable code, what it means; in the order in which they are looked for. */
#define SUITE_SKIP_LIST(X)                                                                                             \
    X(NONE, "", "understood")                                                                                          \
    X(METRIC, "metric_not_latency", "not a time of denoising in seconds, not forwards of a layer in a second")         \
    X(ENERGY, "energy_not_predicted", "energy or power, which ci/energy.py predicts")                                  \
    X(VALUE, "no_value", "no number was printed")                                                                      \
    X(METHOD_OTHER, "method_not_ours", "a method that the engine does not have")                                       \
    X(METHOD_UNKNOWN, "method_unknown", "a name that is in no table")                                                  \
    X(MODEL_UNKNOWN, "model_unknown", "no model of the catalogue")                                                     \
    X(MODEL_NOT_BUILT, "model_not_built", "a model whose architecture the engine does not build")                      \
    X(RESOLUTION, "resolution_not_stated", "no size in pixels")                                                        \
    X(LAYER, "layer_not_stated", "an attention layer without its tokens or heads")                                     \
    X(FRAMES, "frames_not_stated", "a clip without its length")                                                        \
    X(STEPS, "steps_not_stated", "no number of steps")                                                                 \
    X(HARDWARE_UNSTATED, "hardware_not_stated", "the accelerator is not named")                                        \
    X(HARDWARE_UNKNOWN, "hardware_unknown", "an accelerator that no platform has")                                     \
    X(INTERCONNECT, "interconnect_not_stated", "several devices, and what joins them is not said or not known")        \
    X(DEVICES, "too_few_devices", "more devices than the machine has")                                                 \
    X(RUNTIME, "runtime_not_ours", "a run time without a software profile")                                            \
    X(DEGREES, "degrees_not_stated", "the method is named, its degrees are not")                                       \
    X(SETTING, "setting_not_ours", "a setting that the engine does not have")                                          \
    X(DISAGREE, "degrees_disagree", "name and degrees of the method contradict each other")                            \
    X(PRODUCT, "degrees_do_not_multiply", "degrees whose product is not the number of devices")                        \
    X(NOT_LEGAL, "not_legal", "a rule of parallelism is broken")                                                       \
    X(PREDICTION, "prediction_failed", "the simulation of it failed")

typedef enum {
#define SUITE_SKIP_ENUM(name, code, text) SUITE_SKIP_##name,
    SUITE_SKIP_LIST(SUITE_SKIP_ENUM)
#undef SUITE_SKIP_ENUM
        SUITE_SKIP_COUNT
} suite_skip;
const char *suite_skip_code(suite_skip skip);
const char *suite_skip_text(suite_skip skip);

/* What is asked about a case. */
typedef enum { SUITE_ASK_SECONDS, SUITE_ASK_DECODE_SECONDS, SUITE_ASK_MEMORY_BYTES } suite_ask;

/* What a predictor is given: one case on one machine. */
typedef struct {
    const suite_published_point *published;
    const char *platform, *profile; /* names of a platform and of a software profile                        */
    const char *mesh;               /* "u2 pp4"                                                             */
    const suite_case *kase; /* program denoise or attention, backend cost; document, label and world size        */
    suite_ask ask;
} suite_point_case;

/* Predicts what is asked: seconds of one image or clip, all steps, or of one forward of a layer; seconds of the decode
 * alone; bytes of the device that needs most. Errors: DIT_ERR_INTERRUPTED and DIT_ERR_ENVIRONMENT end everything; any
 * other is about this case alone. */
typedef dit_status (*suite_predictor)(const suite_point_case *one, double *out, void *context);

/* A point as it was understood. Pointers lie in the file, the names and `workload`. release accepts a zeroed one. */
typedef struct {
    const suite_published_point *published;
    suite_skip skip;
    char detail[400];                       /* why it is skipped, with values; "" when it is not */
    const char *model, *platform, *profile; /* NULL: not found; profile as asked for, or the one of its run time */
    const char *family; /* the profile of its run time, before its source says more of the software; NULL as above */
    bool several_nodes; /* its devices are in more than one machine                                              */
    int64_t width_px, height_px;
    bool no_decode; /* the printed time has a decode that the prediction leaves out: no VAE is built */
    bool is_joint;  /* the model's text takes part in its self-attention */
    bool is_layer, is_causal, packed; /* program attention: no model, size or steps; the number is a rate */
    const char *layout;               /* of a layer's tokens                                              */
    bool search;                      /* every legal mesh, of which the fastest counts */
    dit_parallel parallel;            /* degrees and settings; of a search, settings only                   */
    char method[64];                  /* "u2 pp4 M8 W2", or "hybrid" of a search                                  */
    suite_published_habits habits;    /* of its source                                                 */
    double loops;                     /* what is printed is the prediction divided by this: steps, bytes of a unit */
    suite_ask ask;
    suite_workload workload;
    suite_point_case *cases; /* one; of a search every legal mesh */
    int case_count;
} suite_point;

/* Understands a point. `profile` NULL: the profile of the point's run time. A point that is skipped is no error.
 * Errors: DIT_ERR_MEMORY, and mistakes in our own data files. */
dit_status suite_point_understand(const suite_published_names *names, const suite_published_point *published,
                                  const char *profile, suite_point *out);
void suite_point_release(suite_point *point);
/* The label of the only mesh that the point may be of; "" where there are several, or none. */
const char *suite_point_mesh(const suite_point *point);

/* True if values may be fitted to the point, and a fit be judged by it: an understood time, of a run, a loop or a
 * decode, or rate that was printed, counts (suite_published_counts). Peak memory is no time. */
bool suite_point_is_countable(const suite_point *point);

/* What became of a point. */
typedef struct {
    int index;
    suite_skip skip;
    char detail[400];
    bool has_published, in_fit;
    bool is_rate;               /* forwards of a layer in a second; else a latency                  */
    bool is_memory;             /* peak memory of a device                                          */
    bool no_decode;             /* suite_point.no_decode                                            */
    bool doubtful, repeated;    /* by its status: then nothing is judged by it                       */
    double published, rounding; /* as printed, in the point's unit                    */
    double predicted;           /* in the same unit; of points that are not skipped   */
    char panel[320];            /* what is compared with each other: equal but for the method */
    char method[64];            /* suite_point.method                                 */
    char mesh[64];              /* of a search the winner                             */
    char profile[64];           /* the software that was simulated; "" of points that are skipped */
    char label[256];            /* for people                                         */
} suite_point_result;

/* Asks the predictor about every case of a point that is not skipped; the least time counts. With `predict` NULL, *out
 * says how the point was understood, and nothing is predicted. Errors: those that end everything. */
dit_status suite_point_predict(const suite_point *point, suite_predictor predict, void *context,
                               suite_point_result *out);

/* True if values were fitted on a case of the point, whatever file or row that case came from. */
bool suite_point_in_fit(const suite_point *point, const suite_calibration *calibration);

#endif
