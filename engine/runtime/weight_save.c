#include "engine/runtime/weight_save.h"

#include "base/safetensors_save.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const dit_weight_catalogue *catalogue;
    dit_pool *pool;
    uint64_t seed;
} seeded_source;

static dit_status make_seeded(void *context, int index, int64_t first, int64_t count, float *out)
{
    const seeded_source *source = context;
    const dit_parameter *p = &source->catalogue->parameters[index];
    dit_weights_fill(source->pool, source->seed, p->name, first, count, p->fan_in, p->init, out);
    return DIT_OK;
}

dit_status dit_weight_save(const dit_weight_catalogue *catalogue, dit_pool *pool, uint64_t seed, dit_stored_dtype dtype,
                           int64_t shard_bytes, const char *folder, int64_t *bytes)
{
    seeded_source source = {catalogue, pool, seed};
    dit_tensor_plan *plans = calloc((size_t)catalogue->count + 1, sizeof *plans);
    if (!plans) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to save %d parameters", catalogue->count);
    for (int i = 0; i < catalogue->count; i++) {
        const dit_parameter *p = &catalogue->parameters[i];
        plans[i] = (dit_tensor_plan){.name = p->name, .rank = p->rank};
        memcpy(plans[i].shape, p->shape, sizeof p->shape);
    }
    dit_status st = dit_safetensors_save(&(dit_safetensors_plan){.tensors = plans,
                                                                 .count = catalogue->count,
                                                                 .dtype = dtype,
                                                                 .shard_bytes = shard_bytes,
                                                                 .source = {make_seeded, &source}},
                                         folder, bytes);
    free(plans);
    return st;
}
