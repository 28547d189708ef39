/* Calibration: fitted values, laid over what the files of accelerators, links and software profiles say.
 *
 * A file of schema ditbench.calibration/1 (results/schema/calibration.schema.json) has the values and the points that
 * they were fitted on. Names and keys are checked against the data files when it is read, so a value that nothing takes
 * is an error, never passed over.
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

/* What can be fitted: constant, of, key, least and most. The key is that of the data file. */
#define SUITE_CALIBRATED_LIST(X)                                                                                       \
    X(GEMM_CEILING, ACCELERATOR, "gemm_ceiling", 1e-3, 1)                                                              \
    X(ATTENTION_SCALE, ACCELERATOR, "attention_scale", 1e-3, 1e3)                                                      \
    X(BANDWIDTH_SCALE, ACCELERATOR, "bandwidth_scale", 1e-3, 1e3)                                                      \
    X(BANDWIDTH_EFFICIENCY, LINK, "bandwidth_efficiency", 1e-3, 10)                                                    \
    X(MANY_PEERS_EFFICIENCY, LINK, "many_peers_efficiency", 1e-3, 10)                                                  \
    X(DISPATCH_S, PROFILE, "dispatch_s", 0, 1)                                                                         \
    X(COLLECTIVE_DISPATCH_S, PROFILE, "collective_dispatch_s", 0, 1)                                                   \
    X(CONV_EFFICIENCY, PROFILE, "conv_efficiency", 1e-3, 1)                                                            \
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

/* One value: of the accelerator, class of links, profile or platform of that name. */
typedef struct {
    suite_calibrated_key key;
    char name[64];
    double value;
} suite_calibrated;

/* A case that values were fitted on. */
typedef struct {
    char case_id[40], platform[64], profile[64];
} suite_calibrated_case;

/* Zeroed: nothing is fitted, everything is as the data files have it. release takes a zeroed one. */
typedef struct {
    dit_json source; /* root NULL: not from a file */
    suite_calibrated *values;
    int value_count;
    suite_calibrated_case *cases;
    int case_count;
} suite_calibration;

/* results/calibration/published.json beside the workloads folder; here, where there is none. Errors:
 * DIT_ERR_ENVIRONMENT without a workloads folder. */
dit_status suite_calibration_default(char out[SUITE_PATH]);
/* Reads and checks a file. `path` NULL: the default one, and nothing where there is none; "none": nothing.
 * Errors: DIT_ERR_IO, DIT_ERR_JSON_* with place and, for names that do not exist, the nearest one as hint. */
dit_status suite_calibration_load(const char *path, suite_calibration *out);
/* The same for a document in memory, which is taken, also on failure. */
dit_status suite_calibration_take(dit_json *doc, suite_calibration *out);
void suite_calibration_release(suite_calibration *calibration);
/* The file that the values are from; "none" without one. */
const char *suite_calibration_path(const suite_calibration *calibration);
/* Reads one value of a list "parameters": {"of", "name", "key"} of `object`, checked as in a file; the value is left.
 */
dit_status suite_calibrated_read(const dit_json *doc, const cJSON *object, const char *pointer, suite_calibrated *out);

/* What the data file says, which is where a fit starts. Errors: DIT_ERR_NOT_FOUND, DIT_ERR_JSON_*. */
dit_status suite_calibrated_prior(suite_calibrated_key key, const char *name, double *out);
/* The value of that key and name; NULL: none, also without a calibration. */
const suite_calibrated *suite_calibration_find(const suite_calibration *calibration, suite_calibrated_key key,
                                               const char *name);
/* Sets one value; one of the same key and name is replaced. Errors: DIT_ERR_MEMORY. */
dit_status suite_calibration_set(suite_calibration *calibration, const suite_calibrated *value);

/* Each lays the values over one thing, `calibration` NULL or without values for it: nothing changes. */
/* The document of an accelerator, whose name it carries. Errors: DIT_ERR_MEMORY. */
dit_status suite_calibration_accelerator(const suite_calibration *calibration, cJSON *accelerator);
/* That of a profile; what it takes from another ("like") follows that one's values. Errors: DIT_ERR_MEMORY;
 * DIT_ERR_JSON_* with place where "like" has other keys than can be fitted, or names no profile. */
dit_status suite_calibration_profile(const suite_calibration *calibration, dit_json *profile);
/* Links, fabric and host of a cluster that has been loaded. */
void suite_calibration_cluster(const suite_calibration *calibration, suite_cluster *cluster);

/* Whether the case on that platform with that profile is one of those that values were fitted on. */
bool suite_calibration_has(const suite_calibration *calibration, const char *case_id, const char *platform,
                           const char *profile);

#endif
