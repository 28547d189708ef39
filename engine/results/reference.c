#include "engine/results/reference.h"

#include "base/method.h"
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

/* In fp32 sums are added in other orders, over all steps of a run. In 16 bits partial results of rings, sums of tensor
 * ranks and operators of other shapes are rounded by 2^-9, in every block of every step. Guidance takes (1 - g) of one
 * forward and g of the other, whose roundings are independent. */
double dit_reference_tolerance(dit_dtype dtype, double guidance)
{
    static const double rounded = 1e-2;
    if (dtype == DIT_DTYPE_FP32) return DIT_METHOD_EXACT_REL_L2;
    return rounded * sqrt((1 - guidance) * (1 - guidance) + guidance * guidance);
}

dit_status dit_reference_distance(const char *path, const char *name, const float *values, int64_t elements,
                                  double *rel_l2)
{
    dit_distance found;
    DIT_TRY(dit_reference_compare(path, name, values, elements, &found));
    *rel_l2 = found.rel_l2;
    return DIT_OK;
}
