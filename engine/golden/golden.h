/* Golden: folders exported from diffusers, computed again and compared tensor by tensor. One file and one row in
 * programs/golden.c for each kind of folder (model, end to end, VAE, schedulers, operators).
 *
 * A tensor that exists only in the file or only here is not compared; a folder in which nothing was compared fails.
 */
#ifndef DIT_ENGINE_GOLDEN_H
#define DIT_ENGINE_GOLDEN_H

#include "engine/case/platform.h"
#include "engine/files/safetensors.h"

enum { GOLDEN_PATH = 4096 };

/* What was compared so far. */
typedef struct {
    cJSON *tensors; /* [{name, rel_l2, tolerance, reason?}], not owned */
    double worst;   /* relative L2 of what golden_compare compared: fp32 tensors */
    bool failed;
    char reason[512]; /* the first failure */
} golden_report;

/* One kind of folder. */
typedef struct {
    const char *name;
    bool (*recognise)(const char *folder);
    /* Collective. A difference is noted in the report, not a status; DIT_ERR_UNSUPPORTED and DIT_ERR_CONSTRAINT_* make
     * the folder a skip. */
    dit_status (*run)(golden_report *report, const char *folder, const dit_case_platform *platform);
} golden_kind;
extern const golden_kind golden_kind_e2e, golden_kind_vae, golden_kind_model, golden_kind_schedulers, golden_kind_ops;

/* What a right result may differ by: `fp32`, or, where a device computes in less, what its roundings leave of it,
 * `times` over. */
double golden_tolerance(const dit_case_platform *platform, double fp32, double times);

/* ||x - expected|| / ||expected|| in double, of `elements` floats against the file's tensor `name`; a tensor the file
 * does not have is passed over. Another number of elements or a NaN is a failure with its reason. `label`: the name in
 * the report, NULL for `name`. Counts for the worst. Errors: DIT_ERR_MEMORY and what reading the file gives. */
dit_status golden_compare(golden_report *report, const dit_safetensors *expected, const char *name, const char *label,
                          const float *x, int64_t elements, double tolerance);
/* One line of the report: an error measure, or a `problem` (then it failed). */
dit_status golden_add(golden_report *report, const char *name, double error, double tolerance, const char *problem);

/* "FOLDER/FILE". Errors: DIT_ERR_IO when it does not fit. */
dit_status golden_path(const char *folder, const char *file, char out[GOLDEN_PATH]);
bool golden_has_file(const char *folder, const char *file);
/* Opens FOLDER/FILE, a safetensors file. The caller closes it. */
dit_status golden_open(const char *folder, const char *file, dit_safetensors **out);

#endif
