#include "suite/workload/programs/predict.h"

#include "suite/cases/document.h"
#include "suite/workload/programs/program.h"

#include <string.h>

int suite_predict_element_bytes(const char *element)
{
    return strcmp(element, "fp32") == 0 ? 4 : strcmp(element, "fp8") == 0 ? 1 : 2;
}

/* Lays over a simulated case what its software and its element make of it: the messages of its pipelines, and bytes. */
static dit_status add_software(const cJSON *document, const suite_profile *software, suite_prediction *out)
{
    suite_profile named;
    if (!suite_case_simulated(document)) return DIT_OK;
    if (!software) DIT_TRY(suite_profile_load(suite_case_platform(document, "profile"), &named));
    out->parallel.habits = software ? software->habits : named.habits;
    out->simulated_bytes = suite_predict_element_bytes(suite_case_platform(document, "element"));
    return DIT_OK;
}

dit_status suite_predict_case(const dit_json *document, const suite_profile *software, suite_prediction *out)
{
    const cJSON *parallel = cJSON_GetObjectItemCaseSensitive(document->root, "parallel");
    memset(out, 0, sizeof *out);
    out->program = suite_program_of_case(document->root);
    if (parallel) DIT_TRY(dit_parallel_from_json(document, parallel, "/parallel", &out->parallel));
    DIT_TRY(out->program->read(document, out));
    return add_software(document->root, software, out);
}

void suite_predict_volume(const suite_prediction *prediction, int rank, dit_volume_table *out)
{
    memset(out, 0, sizeof *out);
    if (prediction->program->volume) prediction->program->volume(prediction, rank, out);
    if (prediction->simulated_bytes) dit_volume_resize(out, prediction->simulated_bytes);
}

/* ---- over the ranks ---------------------------------------------------------------------------------------------- */

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
    if (!prediction->program->rank_of_kind) return;
    for (int kind = 1, rank; (rank = prediction->program->rank_of_kind(prediction, kind)) >= 0; kind++) {
        suite_predict_volume(prediction, rank, &one);
        widen_table(&one, &out->least, &out->most);
        widen(dit_volume_total_bytes(&one), &out->least_bytes, &out->most_bytes);
    }
}
