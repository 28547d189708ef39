#include "engine/results/reference.h"

#include "base/safetensors.h"

#include <math.h>
#include <stdlib.h>

static dit_distance distance(const float *values, const float *reference, int64_t elements)
{
    double difference = 0, norm = 0, low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < elements; i++) {
        double delta = (double)values[i] - reference[i];
        difference += delta * delta;
        norm += (double)reference[i] * reference[i];
        low = fmin(low, reference[i]), high = fmax(high, reference[i]);
    }
    dit_distance out = {.rel_l2 = norm > 0 ? sqrt(difference / norm) : sqrt(difference), .psnr_db = INFINITY};
    if (difference > 0)
        out.psnr_db = high > low ? 10 * log10((high - low) * (high - low) * (double)elements / difference) : 0;
    return out;
}

dit_status dit_reference_compare(const char *path, const char *name, const float *values, int64_t elements,
                                 dit_distance *out)
{
    dit_safetensors *file;
    dit_tensor_view view;
    DIT_TRY(dit_safetensors_open(path, &file));
    float *reference = malloc((size_t)(elements + 1) * sizeof *reference);
    dit_status st = reference ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the reference");
    if (st == DIT_OK && (!dit_safetensors_find(file, name, &view) || view.elements != elements))
        st = DIT_FAIL(DIT_ERR_SHAPE, "%s has no tensor %s of %lld elements", path, name, (long long)elements);
    if (st == DIT_OK) st = dit_tensor_read(&view, 0, elements, reference);
    if (st == DIT_OK) *out = distance(values, reference, elements);
    free(reference);
    dit_safetensors_close(file);
    return st;
}

dit_status dit_reference_distance(const char *path, const char *name, const float *values, int64_t elements,
                                  double *rel_l2)
{
    dit_distance found;
    DIT_TRY(dit_reference_compare(path, name, values, elements, &found));
    *rel_l2 = found.rel_l2;
    return DIT_OK;
}
