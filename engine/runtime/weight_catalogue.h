/* Weight catalogue: lists the parameters that a model reads. */
#ifndef DIT_ENGINE_WEIGHT_CATALOGUE_H
#define DIT_ENGINE_WEIGHT_CATALOGUE_H

#include "base/safetensors.h"

/* How a parameter is seeded (weights.h). */
typedef enum { DIT_INIT_LINEAR, DIT_INIT_BIAS, DIT_INIT_NORM, DIT_INIT_TABLE } dit_init;

/* A parameter, whole. */
typedef struct {
    const char *name;
    int rank;
    int64_t shape[DIT_TENSOR_MAX_RANK];
    int64_t fan_in; /* by which its deviation is seeded */
    dit_init init;
} dit_parameter;

typedef struct dit_weight_catalogue {
    dit_parameter *parameters; /* in the order in which the model reads them; names are owned */
    int count;
} dit_weight_catalogue;

/* Adds a parameter, once. Errors: DIT_ERR_MEMORY. release accepts a zeroed one. */
dit_status dit_weight_catalogue_add(dit_weight_catalogue *catalogue, const dit_parameter *parameter);
void dit_weight_catalogue_release(dit_weight_catalogue *catalogue);

#endif
