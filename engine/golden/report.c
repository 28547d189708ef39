#include "base/json_writer.h"
#include "engine/golden/golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* bf16 keeps 8 bits, so each rounding is up to 2^-9; a few of them add up over depth. */
double golden_tolerance(const dit_case_platform *platform, double fp32, double times)
{
    static const double rounded = 1e-2;
    return platform->dtype == DIT_DTYPE_FP32 ? fp32 : times * rounded;
}

dit_status golden_add(golden_report *report, const char *name, double error, double tolerance, const char *problem)
{
    dit_json_writer w = {0};
    cJSON *entry = dit_json_put_object(&w, report->tensors, NULL);
    dit_json_put_string(&w, entry, "name", name);
    if (!problem) dit_json_put_number(&w, entry, "rel_l2", error);
    dit_json_put_number(&w, entry, "tolerance", tolerance);
    if (problem) dit_json_put_string(&w, entry, "reason", problem);
    if ((!problem && error <= tolerance) || report->failed) return w.status;
    report->failed = true;
    if (problem)
        snprintf(report->reason, sizeof report->reason, "%s: %s", name, problem);
    else
        snprintf(report->reason, sizeof report->reason, "%s: relative L2 %.3g above %.3g", name, error, tolerance);
    return w.status;
}

/* Relative L2 in double; *finite false when x has NaN or infinity. */
static double distance(const float *x, const float *expected, int64_t elements, bool *finite)
{
    double difference = 0, norm = 0;
    *finite = true;
    for (int64_t i = 0; i < elements; i++) {
        double d = (double)x[i] - expected[i];
        *finite = *finite && isfinite(x[i]);
        difference += d * d;
        norm += (double)expected[i] * expected[i];
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

dit_status golden_compare(golden_report *report, const dit_safetensors *expected, const char *name, const char *label,
                          const float *x, int64_t elements, double tolerance)
{
    dit_tensor_view view;
    char problem[160];
    bool finite;
    if (!label) label = name;
    if (!dit_safetensors_find(expected, name, &view)) return DIT_OK;
    if (view.elements != elements) {
        snprintf(problem, sizeof problem, "the file has %lld elements, but this engine made %lld",
                 (long long)view.elements, (long long)elements);
        return golden_add(report, label, 0, tolerance, problem);
    }
    float *reference = malloc((size_t)(elements + 1) * sizeof *reference);
    if (!reference) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld floats", (long long)elements);
    dit_status st = dit_tensor_read(&view, 0, elements, reference);
    double error = st == DIT_OK ? distance(x, reference, elements, &finite) : 0;
    free(reference);
    if (st != DIT_OK) return st;
    if (finite && error > report->worst) report->worst = error;
    return golden_add(report, label, error, tolerance, finite ? NULL : "this engine's result is not finite");
}

dit_status golden_path(const char *folder, const char *file, char out[GOLDEN_PATH])
{
    if (snprintf(out, GOLDEN_PATH, "%s/%s", folder, file) < GOLDEN_PATH) return DIT_OK;
    return DIT_FAIL(DIT_ERR_IO, "the path %.200s... is too long", folder);
}

bool golden_has_file(const char *folder, const char *file)
{
    char path[GOLDEN_PATH];
    struct stat found;
    return snprintf(path, sizeof path, "%s/%s", folder, file) < GOLDEN_PATH && stat(path, &found) == 0;
}

dit_status golden_open(const char *folder, const char *file, dit_safetensors **out)
{
    char path[GOLDEN_PATH];
    DIT_TRY(golden_path(folder, file, path));
    return dit_safetensors_open(path, out);
}
