#include "suite/workload/layer.h"

#include <stdio.h>
#include <string.h>

static int64_t integer_or(const suite_cell *cell, suite_parameter parameter, int64_t otherwise)
{
    const cJSON *value = cell->values[parameter];
    return cJSON_IsNumber(value) ? (int64_t)value->valuedouble : otherwise;
}

static bool is_on(const suite_cell *cell, suite_parameter parameter)
{
    return cJSON_IsTrue(cell->values[parameter]);
}

void suite_layer_resolve(suite_cell *cell)
{
    const cJSON *layout = cell->values[SUITE_PARAMETER_LAYOUT];
    dit_layer *layer = &cell->layer;
    *layer = (dit_layer){.tokens = integer_or(cell, SUITE_PARAMETER_TOKENS, 1),
                         .heads = integer_or(cell, SUITE_PARAMETER_HEADS, 1),
                         .head_dim = integer_or(cell, SUITE_PARAMETER_HEAD_DIM, 1),
                         .batch = integer_or(cell, SUITE_PARAMETER_BATCH, 1),
                         .causal = is_on(cell, SUITE_PARAMETER_CAUSAL),
                         .packed = is_on(cell, SUITE_PARAMETER_PACKED),
                         .pad_tokens = is_on(cell, SUITE_PARAMETER_PAD_TOKENS),
                         .pad_heads = is_on(cell, SUITE_PARAMETER_PAD_HEADS)};
    layer->kv_heads = integer_or(cell, SUITE_PARAMETER_KV_HEADS, layer->heads);
    dit_ring_method_from_name(cell->attention, &layer->ring);
    if (layout) dit_token_layout_from_name(layout->valuestring, &layer->layout);
    dit_layer_normalise(&cell->parallel, layer);
    if (cell->simulated) layer->packed = is_on(cell, SUITE_PARAMETER_PACKED); /* stacks have exchanges of one rank */
}

static dit_status add_switch(cJSON *object, const char *key, bool value)
{
    return cJSON_AddBoolToObject(object, key, value) ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

dit_status suite_layer_identity(const suite_cell *cell, cJSON *layer)
{
    DIT_TRY(dit_json_add_int(layer, "tokens", cell->layer.tokens));
    DIT_TRY(dit_json_add_int(layer, "heads", cell->layer.heads));
    DIT_TRY(dit_json_add_int(layer, "kv_heads", cell->layer.kv_heads));
    DIT_TRY(dit_json_add_int(layer, "head_dim", cell->layer.head_dim));
    DIT_TRY(dit_json_add_int(layer, "batch", cell->layer.batch));
    return add_switch(layer, "causal", cell->layer.causal);
}

dit_status suite_layer_document(const suite_cell *cell, cJSON *document)
{
    cJSON *layer = cJSON_AddObjectToObject(document, "layer"), *run = cJSON_AddObjectToObject(document, "run");
    double seed;
    if (!layer || !run) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    DIT_TRY(suite_layer_identity(cell, layer));
    DIT_TRY(dit_json_add_string(layer, "layout", dit_token_layout_name(cell->layer.layout)));
    DIT_TRY(add_switch(layer, "packed", cell->layer.packed));
    DIT_TRY(add_switch(layer, "pad_tokens", cell->layer.pad_tokens));
    DIT_TRY(add_switch(layer, "pad_heads", cell->layer.pad_heads));
    DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_SEED, &seed));
    return dit_json_add_number(run, "seed", seed);
}

dit_status suite_layer_tags(const suite_cell *cell, cJSON *tags)
{
    const dit_layer *layer = &cell->layer;
    dit_token_cut cut = dit_token_cut_of(&cell->parallel, layer);
    char name[64];
    double seed;
    dit_layer_name(layer, name);
    DIT_TRY(dit_json_add_string(tags, "model", name));
    DIT_TRY(dit_json_add_string(tags, "base_model", "layer"));
    DIT_TRY(dit_json_add_int(tags, "tokens", layer->tokens));
    DIT_TRY(dit_json_add_int(tags, "heads", layer->heads));
    DIT_TRY(dit_json_add_int(tags, "kv_heads", layer->kv_heads));
    DIT_TRY(dit_json_add_int(tags, "head_dim", layer->head_dim));
    DIT_TRY(dit_json_add_int(tags, "batch", layer->batch));
    DIT_TRY(dit_json_add_string(tags, "causal", layer->causal ? "on" : "off"));
    DIT_TRY(dit_json_add_string(tags, "layout", dit_token_layout_name(layer->layout)));
    DIT_TRY(dit_json_add_string(tags, "packed", layer->packed ? "on" : "off"));
    DIT_TRY(dit_json_add_int(tags, "padded_tokens", cut.r * cut.ring_rows));
    DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_SEED, &seed));
    return dit_json_add_number(tags, "seed", seed);
}

void suite_layer_label(const suite_cell *cell, char *out, size_t size)
{
    const dit_layer *layer = &cell->layer;
    char name[64], batch[32] = "", layout[16] = "";
    dit_layer_name(layer, name);
    if (layer->batch > 1) snprintf(batch, sizeof batch, " B%lld", (long long)layer->batch);
    if (cell->parallel.degree[DIT_AXIS_RING] > 1)
        snprintf(layout, sizeof layout, " %s", dit_token_layout_name(layer->layout));
    bool ring = layer->ring != DIT_RING_MERGE;
    snprintf(out, size, "%s S%lld%s%s%s%s%s%s%s%s", name, (long long)layer->tokens, batch,
             layer->causal ? " causal" : "", layout, layer->packed ? " packed" : "",
             layer->pad_tokens ? " pad_tokens" : "", layer->pad_heads ? " pad_heads" : "", ring ? " " : "",
             ring ? dit_ring_method_name(layer->ring) : "");
}
