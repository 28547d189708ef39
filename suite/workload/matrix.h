/* Matrix: what a workload file declares, checked but not yet multiplied out. Private to workload.c and expand.c. */
#ifndef DIT_SUITE_WORKLOAD_MATRIX_H
#define DIT_SUITE_WORKLOAD_MATRIX_H

#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"
#include "suite/platform/profile.h"
#include "suite/workload/workload.h"

#ifndef SUITE_MAX_CELLS
#define SUITE_MAX_CELLS 100000 /* the fuzzer is built with fewer: what is large is slow, and teaches it nothing */
#endif

/* One factor of the product: an axis, or several tied by zip. All values are arrays of `length`. */
typedef struct {
    int length, axis_count;
    suite_parameter parameters[SUITE_PARAMETER_COUNT];
    const cJSON **values[SUITE_PARAMETER_COUNT]; /* [axis][length], owned */
} suite_dimension;

/* A data file behind a value of the workload; found again by the value's address. */
typedef struct {
    const cJSON *value;
    suite_model model;
    suite_vae vae;     /* the model's, for program vae_decode */
    char pointer[128]; /* where the value stands */
} suite_model_value;
typedef struct {
    const cJSON *value; /* NULL: the default platform */
    suite_platform platform;
} suite_platform_value;
typedef struct {
    const cJSON *value; /* NULL: the default profile */
    suite_profile profile;
} suite_profile_value;

typedef struct suite_matrix {
    const cJSON *defaults[SUITE_PARAMETER_COUNT]; /* NULL where the workload says nothing */
    bool declared[SUITE_PARAMETER_COUNT], varies[SUITE_PARAMETER_COUNT];
    suite_dimension dimensions[SUITE_PARAMETER_COUNT + 1]; /* one more than there can be: read, then refused */
    int dimension_count;
    int64_t cell_count;
    const char *program;
    bool decodes;                       /* program vae_decode: the model axis gives the VAE */
    bool attends;                       /* program attention: a layer, no model */
    const cJSON *exclude, *constraints; /* arrays of strings, or NULL */
    int64_t warmup_runs, iterations, deadline_s;
    bool trace; /* one more run of every case, recorded */
    bool waits; /* simulated: the host waits for the device after every forward of a layer */
    const char
        *scope; /* what a simulation's time covers: denoise; latents: text encoders, too; pipeline: and the VAE */
    suite_model_value *models;
    int model_count;
    suite_platform_value *platforms;
    int platform_count;
    suite_profile_value *profiles;
    int profile_count;
} suite_matrix;

/* Fills cases, dropped and merged_count of a checked workload. */
dit_status suite_expand(suite_workload *workload);
void suite_matrix_free(suite_matrix *matrix);

#endif
