/* Program attention: one attention layer, forward, without a model. */
#include "base/layer.h"
#include "suite/workload/members.h"
#include "suite/workload/programs/cell_mesh.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>
#include <string.h>

/* ---- a cell ------------------------------------------------------------------------------------------------------ */

/* Other ways around a ring have names of their own, which a workload asks for. */
static dit_status resolve_attention(suite_cell *cell)
{
    const cJSON *asked = cell->values[SUITE_PARAMETER_ATTENTION];
    dit_ring_method ring;
    bool standard = asked && strcmp(asked->valuestring, DIT_STANDARD_ATTENTION) == 0;
    if (standard && strcmp(cell->attention, "local") == 0) {
        cell->attention = DIT_STANDARD_ATTENTION;
        return DIT_OK;
    }
    if (!asked || !dit_ring_method_from_name(asked->valuestring, &ring)) return suite_cell_check_attention(cell);
    bool beside_heads = strcmp(cell->attention, "usp") == 0 && ring != DIT_RING_MERGE;
    if (strcmp(cell->attention, "ring") != 0 && !(beside_heads && dit_ring_method_takes_heads(ring)))
        return suite_cell_check_attention(cell);
    cell->attention = dit_ring_method_name(ring);
    return DIT_OK;
}

static void resolve_layer(suite_cell *cell)
{
    const cJSON *layout = cell->values[SUITE_PARAMETER_LAYOUT], *mask = cell->values[SUITE_PARAMETER_MASK];
    dit_layer *layer = &cell->layer;
    *layer = (dit_layer){.tokens = suite_cell_int(cell, SUITE_PARAMETER_TOKENS, 1),
                         .heads = suite_cell_int(cell, SUITE_PARAMETER_HEADS, 1),
                         .head_dim = suite_cell_int(cell, SUITE_PARAMETER_HEAD_DIM, 1),
                         .batch = suite_cell_int(cell, SUITE_PARAMETER_BATCH, 1),
                         .causal = suite_cell_is_on(cell, SUITE_PARAMETER_CAUSAL),
                         .packed = suite_cell_is_on(cell, SUITE_PARAMETER_PACKED),
                         .pad_tokens = suite_cell_is_on(cell, SUITE_PARAMETER_PAD_TOKENS),
                         .pad_heads = suite_cell_is_on(cell, SUITE_PARAMETER_PAD_HEADS)};
    layer->kv_heads = suite_cell_int(cell, SUITE_PARAMETER_KV_HEADS, layer->heads);
    layer->inner_ring = suite_cell_int(cell, SUITE_PARAMETER_INNER_RING, 0);
    dit_ring_method_from_name(cell->attention, &layer->ring);
    layer->whole_scores = strcmp(cell->attention, DIT_STANDARD_ATTENTION) == 0;
    if (mask) dit_mask_from_name(mask->valuestring, &layer->mask);
    if (layout) dit_token_layout_from_name(layout->valuestring, &layer->layout);
    dit_layer_normalise(&cell->parallel, layer);
    if (cell->simulated) /* stacks have exchanges of one rank */
        layer->packed = suite_cell_is_on(cell, SUITE_PARAMETER_PACKED);
}

static dit_status resolve(suite_cell *cell)
{
    DIT_TRY(suite_cell_resolve_mesh(cell));
    DIT_TRY(resolve_attention(cell));
    cell->parallel.ring_method = DIT_RING_MERGE; /* a layer's case says it as its attention */
    suite_cell_resolve_placement(cell);
    resolve_layer(cell);
    if (cell->simulated && cell->layer.mask)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "%s is simulated, and no accelerator's kernel that skips by mask %s has been timed",
                        cell->platform->name, dit_mask_name(cell->layer.mask));
    if (!cell->simulated || !(cell->layer.ring == DIT_RING_WHOLE_ROWS || cell->layer.whole_scores)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is simulated, and %s computes its rows with no operator of the table",
                    cell->platform->name, cell->attention);
}

static dit_status judge(const suite_cell *cell, const cJSON *document)
{
    (void)document;
    return dit_layer_check(&cell->parallel, &cell->layer);
}

static void predict_memory(const suite_cell *cell, int64_t bytes[4])
{
    dit_layer_memory(&cell->parallel, &cell->layer, bytes);
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

static void put_shape(dit_json_writer *w, const suite_cell *cell, cJSON *object)
{
    dit_json_put_int(w, object, "tokens", cell->layer.tokens);
    dit_json_put_int(w, object, "heads", cell->layer.heads);
    dit_json_put_int(w, object, "kv_heads", cell->layer.kv_heads);
    dit_json_put_int(w, object, "head_dim", cell->layer.head_dim);
    dit_json_put_int(w, object, "batch", cell->layer.batch);
}

/* Cases without a mask keep their ids. */
static void put_mask(dit_json_writer *w, const suite_cell *cell, cJSON *object)
{
    if (cell->layer.mask) dit_json_put_string(w, object, "mask", dit_mask_name(cell->layer.mask));
}

static void put_document(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    (void)workload;
    cJSON *layer = dit_json_put_object(w, document, "layer");
    cJSON *run = dit_json_put_object(w, document, "run");
    put_shape(w, cell, layer);
    dit_json_put_bool(w, layer, "causal", cell->layer.causal);
    dit_json_put_string(w, layer, "layout", dit_token_layout_name(cell->layer.layout));
    dit_json_put_bool(w, layer, "packed", cell->layer.packed);
    dit_json_put_bool(w, layer, "pad_tokens", cell->layer.pad_tokens);
    dit_json_put_bool(w, layer, "pad_heads", cell->layer.pad_heads);
    put_mask(w, cell, layer);
    if (cell->layer.inner_ring) dit_json_put_int(w, layer, "inner_ring", cell->layer.inner_ring);
    suite_member_number(w, run, cell, SUITE_PARAMETER_SEED);
}

/* How tokens are laid out and sent changes nothing about the result. */
static void put_identity(dit_json_writer *w, const suite_cell *cell, const cJSON *document, cJSON *out)
{
    suite_member_shared(w, out, document, "run");
    cJSON *layer = dit_json_put_object(w, out, "layer");
    put_shape(w, cell, layer);
    dit_json_put_bool(w, layer, "causal", cell->layer.causal);
    put_mask(w, cell, layer);
}

static void put_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    const dit_layer *layer = &cell->layer;
    dit_token_cut cut = dit_token_cut_of(&cell->parallel, layer);
    char name[64];
    dit_layer_name(layer, name);
    dit_json_put_string(w, tags, "model", name);
    dit_json_put_string(w, tags, "base_model", "layer");
    put_shape(w, cell, tags);
    dit_json_put_string(w, tags, "causal", layer->causal ? "on" : "off");
    dit_json_put_string(w, tags, "mask", dit_mask_name(layer->mask));
    dit_json_put_string(w, tags, "layout", dit_token_layout_name(layer->layout));
    dit_json_put_string(w, tags, "packed", layer->packed ? "on" : "off");
    dit_json_put_int(w, tags, "inner_ring", layer->inner_ring);
    dit_json_put_string(w, tags, "context_first", cell->parallel.context_first ? "on" : "off");
    dit_json_put_int(w, tags, "padded_tokens", cut.r * cut.ring_rows);
    suite_member_number(w, tags, cell, SUITE_PARAMETER_SEED);
    suite_cell_put_mesh_tags(w, cell, tags);
}

/* "layer:32x128 S4096 causal zigzag packed u2": what has an effect. */
static void write_label(const suite_cell *cell, char *out, size_t size)
{
    const dit_layer *layer = &cell->layer;
    char name[64], batch[32] = "", layout[16] = "", inner[32] = "";
    dit_layer_name(layer, name);
    if (layer->batch > 1) snprintf(batch, sizeof batch, " B%lld", (long long)layer->batch);
    if (cell->parallel.degree[DIT_AXIS_RING] > 1)
        snprintf(layout, sizeof layout, " %s", dit_token_layout_name(layer->layout));
    bool named = layer->ring != DIT_RING_MERGE || layer->whole_scores;
    if (layer->inner_ring) snprintf(inner, sizeof inner, " inner%lld", (long long)layer->inner_ring);
    snprintf(out, size, "%s S%lld%s%s%s%s%s%s%s%s%s%s%s%s %s", name, (long long)layer->tokens, batch,
             layer->causal ? " causal" : "", layer->mask ? " " : "", layer->mask ? dit_mask_name(layer->mask) : "",
             layout, layer->packed ? " packed" : "", layer->pad_tokens ? " pad_tokens" : "",
             layer->pad_heads ? " pad_heads" : "", named ? " " : "", named ? cell->attention : "", inner,
             cell->parallel.context_first ? " context-first" : "", cell->mesh);
}

/* ---- the closed form --------------------------------------------------------------------------------------------- */

static dit_status read_case(const dit_json *document, suite_prediction *out)
{
    DIT_TRY(dit_layer_from_case(document, document->root, "", &out->layer));
    return dit_layer_check(&out->parallel, &out->layer);
}

static void predict_volume(const suite_prediction *prediction, int rank, dit_volume_table *out)
{
    dit_layer_volume(&prediction->parallel, &prediction->layer, rank, out);
}

static int rank_of_kind(const suite_prediction *prediction, int kind)
{
    bool differ = dit_layer_ranks_differ(&prediction->layer);
    return kind < (differ ? dit_parallel_world_size(&prediction->parallel) : 1) ? kind : -1;
}

const suite_program suite_program_attention = {
    .name = "attention",
    .meaning = "one attention layer, forward, without a model",
    .reads = SUITE_READS_ATTEND,
    .result = "latents",
    .has_waits = true,
    .resolve = resolve,
    .document = put_document,
    .ranks = suite_cell_put_mesh,
    .tags = put_tags,
    .judge = judge,
    .memory = predict_memory,
    .label = write_label,
    .identity = put_identity,
    .read = read_case,
    .volume = predict_volume,
    .rank_of_kind = rank_of_kind,
};
