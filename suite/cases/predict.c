#include "suite/cases/predict.h"

#include "base/case_facts.h"
#include "base/legality.h"
#include "base/mesh.h"
#include "suite/cases/document.h"
#include "suite/platform/platform.h"

#include <string.h>

static bool is_program(const dit_json *document, const char *name)
{
    const char *program = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(document->root, "program"));
    return program && strcmp(program, name) == 0;
}

static dit_status read_decode(const dit_json *document, suite_prediction *out)
{
    int ranks = dit_parallel_world_size(&out->parallel);
    out->kind = SUITE_PREDICT_DECODE;
    if (ranks == 1) return DIT_OK;
    DIT_TRY(dit_rows_from_case(document, document->root, "", &out->rows));
    return dit_rows_check(ranks, &out->rows);
}

static dit_status read_layer(const dit_json *document, suite_prediction *out)
{
    out->kind = SUITE_PREDICT_LAYER;
    DIT_TRY(dit_layer_from_case(document, document->root, "", &out->layer));
    return dit_layer_check(&out->parallel, &out->layer);
}

/* What a device's ranks send and keep, as the engine reads it of a case; 0, which is fp32, elsewhere. */
static int64_t element_bytes(const dit_json *document)
{
    const char *element = suite_case_platform(document->root, "element");
    if (!suite_backend_is_device(suite_case_platform(document->root, "backend"))) return 0;
    if (!element[0]) return strcmp(suite_case_platform(document->root, "backend"), "cuda") == 0 ? 2 : 4;
    return strcmp(element, "fp32") == 0 ? 4 : 2;
}

static dit_status read_sampling(const dit_json *document, suite_prediction *out)
{
    out->kind = SUITE_PREDICT_SAMPLING;
    DIT_TRY(dit_facts_from_case(document, document->root, "", &out->facts));
    out->facts.element_bytes = element_bytes(document);
    return dit_parallel_check(&out->parallel, &out->facts);
}

int suite_predict_element_bytes(const char *element)
{
    return strcmp(element, "fp32") == 0 ? 4 : strcmp(element, "fp8") == 0 ? 1 : 2;
}

void suite_predict_simulated(const suite_profile *software, const char *element, suite_prediction *prediction)
{
    prediction->parallel.habits = software->habits;
    prediction->simulated_bytes = suite_predict_element_bytes(element);
}

static dit_status add_software(const cJSON *document, const suite_profile *software, suite_prediction *out)
{
    suite_profile named;
    if (!suite_case_simulated(document)) return DIT_OK;
    if (!software) DIT_TRY(suite_profile_load(suite_case_platform(document, "profile"), &named));
    suite_predict_simulated(software ? software : &named, suite_case_platform(document, "element"), out);
    return DIT_OK;
}

dit_status suite_predict_case(const dit_json *document, const suite_profile *software, suite_prediction *out)
{
    const cJSON *parallel = cJSON_GetObjectItemCaseSensitive(document->root, "parallel");
    memset(out, 0, sizeof *out);
    if (parallel) DIT_TRY(dit_parallel_from_json(document, parallel, "/parallel", &out->parallel));
    if (is_program(document, "vae_decode")) return read_decode(document, out);
    DIT_TRY(is_program(document, "attention") ? read_layer(document, out) : read_sampling(document, out));
    return add_software(document->root, software, out);
}

void suite_predict_volume(const suite_prediction *prediction, int rank, dit_volume_table *out)
{
    int ranks = dit_parallel_world_size(&prediction->parallel);
    memset(out, 0, sizeof *out);
    switch (prediction->kind) {
    case SUITE_PREDICT_SAMPLING: dit_volume_predict(&prediction->parallel, &prediction->facts, rank, out); break;
    case SUITE_PREDICT_LAYER: dit_layer_volume(&prediction->parallel, &prediction->layer, out); break;
    case SUITE_PREDICT_DECODE:
        if (ranks > 1) dit_rows_predict(&prediction->rows, ranks, rank, out);
    }
    if (prediction->simulated_bytes) dit_volume_resize(out, prediction->simulated_bytes);
}

/* ---- over the ranks ---------------------------------------------------------------------------------------------- */

/* How many ranks tell of all: one of each stage and patch, every one of a decode. */
static int kinds_of_rank(const suite_prediction *prediction)
{
    const dit_parallel *parallel = &prediction->parallel;
    if (prediction->kind == SUITE_PREDICT_LAYER) return 1;
    if (prediction->kind == SUITE_PREDICT_DECODE) return dit_parallel_world_size(parallel);
    return dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) * dit_parallel_degree(parallel, DIT_AXIS_PATCH);
}

static int rank_of_kind(const suite_prediction *prediction, int kind)
{
    const dit_parallel *parallel = &prediction->parallel;
    int coordinates[DIT_AXIS_COUNT] = {0};
    if (prediction->kind != SUITE_PREDICT_SAMPLING) return kind;
    coordinates[DIT_AXIS_PATCH] = kind % dit_parallel_degree(parallel, DIT_AXIS_PATCH);
    coordinates[DIT_AXIS_PIPEFUSION] = kind / dit_parallel_degree(parallel, DIT_AXIS_PATCH);
    return dit_mesh_rank(parallel, coordinates);
}

static void widen(int64_t value, int64_t *least, int64_t *most)
{
    if (value < *least) *least = value;
    if (value > *most) *most = value;
}

static void widen_table(const dit_volume_table *one, dit_volume_table *least, dit_volume_table *most)
{
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        const dit_volume *volume = DIT_VOLUME_AT(one, at);
        dit_volume *low = DIT_VOLUME_AT(least, at), *high = DIT_VOLUME_AT(most, at);
        widen(volume->bytes, &low->bytes, &high->bytes);
        widen(volume->messages, &low->messages, &high->messages);
    }
}

void suite_predict_ranks(const suite_prediction *prediction, suite_predict_range *out)
{
    dit_volume_table one;
    suite_predict_volume(prediction, 0, &one);
    *out = (suite_predict_range){one, one, dit_volume_total_bytes(&one), dit_volume_total_bytes(&one)};
    for (int kind = 1; kind < kinds_of_rank(prediction); kind++) {
        suite_predict_volume(prediction, rank_of_kind(prediction, kind), &one);
        widen_table(&one, &out->least, &out->most);
        widen(dit_volume_total_bytes(&one), &out->least_bytes, &out->most_bytes);
    }
}
