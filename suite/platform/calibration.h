/* Calibration: lays fitted values over the files of accelerators, links and software profiles.
 *
 * A file of schema ditbench.calibration/1 (results/schema/calibration.schema.json) has the values and the points that
 * they were fitted on. Names and keys are checked against the data files when it is read, so a value that nothing
 * uses is an error.
 */
#ifndef DIT_SUITE_PLATFORM_CALIBRATION_H
#define DIT_SUITE_PLATFORM_CALIBRATION_H

#include "suite/paths.h"
#include "suite/platform/cluster.h"

typedef enum {
    SUITE_CALIBRATED_ACCELERATOR,
    SUITE_CALIBRATED_LINK,
    SUITE_CALIBRATED_PROFILE,
    SUITE_CALIBRATED_PLATFORM,
    SUITE_CALIBRATED_OF_COUNT
} suite_calibrated_of;
const char *suite_calibrated_of_name(suite_calibrated_of of); /* "accelerator", "link", "profile", "platform" */

/* What can be fitted: constant, kind of data file, key in that file, least and most. */
#define SUITE_CALIBRATED_LIST(X)                                                                                       \
    X(GEMM_CEILING, ACCELERATOR, "gemm_ceiling", 1e-3, 1)                                                              \
    X(ATTENTION_SCALE, ACCELERATOR, "attention_scale", 1e-3, 1e3)                                                      \
    X(BANDWIDTH_SCALE, ACCELERATOR, "bandwidth_scale", 1e-3, 1e3)                                                      \
    X(BANDWIDTH_EFFICIENCY, LINK, "bandwidth_efficiency", 1e-3, 10)                                                    \
    X(MANY_PEERS_EFFICIENCY, LINK, "many_peers_efficiency", 1e-3, 10)                                                  \
    X(FEW_PEERS_EFFICIENCY, LINK, "few_peers_efficiency", 1e-3, 10)                                                    \
    X(DISPATCH_S, PROFILE, "dispatch_s", 0, 1)                                                                         \
    X(COLLECTIVE_DISPATCH_S, PROFILE, "collective_dispatch_s", 0, 1)                                                   \
    X(CONV_EFFICIENCY, PROFILE, "conv_efficiency", 1e-3, 1)                                                            \
    X(CONV3D_EFFICIENCY, PROFILE, "conv3d_efficiency", 1e-3, 1)                                                        \
    X(INDEXED_ELEMENTS_PER_CLOCK, PROFILE, "indexed_elements_per_clock", 1e-3, 1e3)                                    \
    X(KERNELS_BEFORE_MESSAGES, PROFILE, "kernels_before_messages", 0, 1)                                               \
    X(HOST_SCALE, PLATFORM, "host_scale", 0.01, 100)

typedef enum {
#define SUITE_CALIBRATED_ENUM(name, of, key, least, most) SUITE_CALIBRATED_##name,
    SUITE_CALIBRATED_LIST(SUITE_CALIBRATED_ENUM)
#undef SUITE_CALIBRATED_ENUM
        SUITE_CALIBRATED_COUNT
} suite_calibrated_key;
/* What has the key, the key itself, and the range of its values. */
suite_calibrated_of suite_calibrated_key_of(suite_calibrated_key key);
const char *suite_calibrated_key_name(suite_calibrated_key key);
void suite_calibrated_key_range(suite_calibrated_key key, double *least, double *most);
/* Finds the key of that name, whatever has it; `at` is the place of the word in `doc`. Errors: DIT_ERR_JSON_VALUE with
 * the nearest name. */
dit_status suite_calibrated_key_find(const dit_json *doc, const char *at, const char *word, suite_calibrated_key *out);

/* One value, for the accelerator, class of links, profile or platform of that name. */
typedef struct {
    suite_calibrated_key key;
    char name[64];
    double value;
} suite_calibrated;

/* A case that values were fitted on. */
typedef struct {
    char case_id[40], platform[64], profile[64];
} suite_calibrated_case;

/* A zeroed calibration has no fitted value, so everything is as the data files say. release accepts a zeroed one. */
typedef struct {
    dit_json source; /* root NULL: not from a file */
    suite_calibrated *values;
    int value_count;
    suite_calibrated_case *cases;
    int case_count;
} suite_calibration;

/* Finds results/calibration/published.json beside the workloads folder, else in the current folder. Errors:
 * DIT_ERR_ENVIRONMENT without a workloads folder. */
dit_status suite_calibration_default(char out[SUITE_PATH]);
/* Reads and checks a file. `path` NULL: the default file, or no values where there is none; "none": no values.
 * Errors: DIT_ERR_IO, DIT_ERR_JSON_* with place and, for names that do not exist, the nearest one as hint. */
dit_status suite_calibration_load(const char *path, suite_calibration *out);
/* Reads and checks a document in memory, and takes it, also on failure. Errors: DIT_ERR_JSON_*. */
dit_status suite_calibration_take(dit_json *doc, suite_calibration *out);
void suite_calibration_release(suite_calibration *calibration);
/* Returns the file from which the values come; "none" without one. */
const char *suite_calibration_path(const suite_calibration *calibration);
/* Reads one value of a list "parameters": {"of", "name", "key"} of `object`, checked as in a file; the value is left.
 */
dit_status suite_calibrated_read(const dit_json *doc, const cJSON *object, const char *pointer, suite_calibrated *out);

/* Reads the value in the data file, from which a fit starts. Errors: DIT_ERR_NOT_FOUND, DIT_ERR_JSON_*. */
dit_status suite_calibrated_prior(suite_calibrated_key key, const char *name, double *out);
/* Returns the fitted value of that key and name; NULL: there is none, or no calibration. */
const suite_calibrated *suite_calibration_find(const suite_calibration *calibration, suite_calibrated_key key,
                                               const char *name);
/* Sets one value, and replaces an earlier one of its key and name. Errors: DIT_ERR_MEMORY. */
dit_status suite_calibration_set(suite_calibration *calibration, const suite_calibrated *value);

/* Each function below lays the values over one thing. With `calibration` NULL, or no values for it, nothing changes. */
/* Changes the document of an accelerator; the document carries the name. Errors: DIT_ERR_MEMORY. */
dit_status suite_calibration_accelerator(const suite_calibration *calibration, cJSON *accelerator);
/* Changes the document of a profile. What the profile takes from another one ("like") follows that one's values.
 * Errors: DIT_ERR_MEMORY; DIT_ERR_JSON_* with place where "like" has other keys than can be fitted, or names no
 * profile. */
dit_status suite_calibration_profile(const suite_calibration *calibration, dit_json *profile);
/* Says whether host_scale was fitted of a cluster's hosts, or its file states it, or devices are the host's own cores.
 * Where not, times that the host decides are guesses. */
bool suite_calibration_knows_host(const suite_calibration *calibration, const suite_cluster *cluster);
/* Changes links, fabric and host of a cluster that has been loaded. */
void suite_calibration_cluster(const suite_calibration *calibration, suite_cluster *cluster);

/* True if values were fitted on the case on that platform with that profile. */
bool suite_calibration_has(const suite_calibration *calibration, const char *case_id, const char *platform,
                           const char *profile);

#endif
