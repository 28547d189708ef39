/* Golden: computes folders exported from diffusers again and compares tensor by tensor. Each kind of folder (model, end
 * to end, text encoder, VAE, schedulers, operators) has a file and a row in programs/golden.c.
 *
 * A tensor that only the file has, or only this engine, is not compared. A folder in which nothing was compared fails.
 */
#ifndef DIT_ENGINE_GOLDEN_H
#define DIT_ENGINE_GOLDEN_H

#include "engine/case/platform.h"
#include "base/safetensors.h"

enum { GOLDEN_PATH = 4096 };

/* What was compared so far. */
typedef struct {
    cJSON *tensors; /* [{name, rel_l2, tolerance, reason?}], not owned */
    double worst;   /* the largest relative L2 that golden_compare found */
    bool failed;
    char reason[512]; /* the first failure */
} golden_report;

/* One kind of folder. */
typedef struct {
    const char *name;
    bool (*recognise)(const char *folder);
    /* Computes and compares. Collective. A difference goes into the report and is no error status; DIT_ERR_UNSUPPORTED
     * and DIT_ERR_CONSTRAINT_* skip the folder. */
    dit_status (*run)(golden_report *report, const char *folder, const dit_case_platform *platform);
} golden_kind;
extern const golden_kind golden_kind_e2e, golden_kind_text, golden_kind_vae, golden_kind_model, golden_kind_schedulers,
    golden_kind_ops;

/* Returns how far a right result may differ: `fp32`, or `times` the roundings of a device that computes in fewer
 * bits. */
double golden_tolerance(const dit_case_platform *platform, double fp32, double times);

/* Compares `elements` floats with the file's tensor `name`, by ||x - expected|| / ||expected|| in double; it skips a
 * tensor that the file does not have. Another number of elements, or a NaN, fails with that reason. `label`: the name
 * in the report, NULL for `name`. Errors: DIT_ERR_MEMORY, those of reading the file. */
dit_status golden_compare(golden_report *report, const dit_safetensors *expected, const char *name, const char *label,
                          const float *x, int64_t elements, double tolerance);
/* Adds one line to the report: an error measure, or a `problem`, which fails. */
dit_status golden_add(golden_report *report, const char *name, double error, double tolerance, const char *problem);

/* Writes "FOLDER/FILE". Errors: DIT_ERR_IO when it does not fit. */
dit_status golden_path(const char *folder, const char *file, char out[GOLDEN_PATH]);
bool golden_has_file(const char *folder, const char *file);
/* Opens FOLDER/FILE, a safetensors file. The caller closes it. */
dit_status golden_open(const char *folder, const char *file, dit_safetensors **out);

#endif
