#include "engine/case.h"

#include "base/hash.h"
#include "engine/config.h"
#include "engine/programs/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEED_BITS = 53 };

static dit_status read_weights(const dit_json *doc, const cJSON *model, dit_case *out)
{
    static const char *const keys[] = {"kind", "seed", "path", NULL};
    const cJSON *weights;
    const char *kind;
    int64_t seed = 0;
    DIT_TRY(dit_json_require_object(doc, model, "/model", "weights", &weights));
    DIT_TRY(dit_json_only_keys(doc, weights, "/model/weights", keys));
    DIT_TRY(dit_json_require_string(doc, weights, "/model/weights", "kind", &kind));
    if (strcmp(kind, "safetensors") == 0)
        return dit_json_require_string(doc, weights, "/model/weights", "path", &out->weights_path);
    if (strcmp(kind, "seeded") != 0)
        return dit_json_fail(doc, "/model/weights/kind", DIT_ERR_JSON_VALUE, "\"%s\" is neither seeded nor safetensors",
                             kind);
    DIT_TRY(dit_json_require_int(doc, weights, "/model/weights", "seed", 0, INT64_C(1) << MAX_SEED_BITS, &seed));
    out->weights_seed = (uint64_t)seed;
    return DIT_OK;
}

static dit_status read_model(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"name", "config", "latent", "text", "guidance", "weights", NULL};
    const cJSON *model, *text;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "model", &model));
    DIT_TRY(dit_json_only_keys(doc, model, "/model", keys));
    DIT_TRY(dit_json_require_object(doc, model, "/model", "config", &out->model_config));
    DIT_TRY(dit_json_require_object(doc, model, "/model", "text", &text));
    DIT_TRY(dit_json_optional_int(doc, text, "/model/text", "dim", 1, 65536, &out->text_dim));
    DIT_TRY(dit_json_optional_int(doc, text, "/model/text", "pooled_dim", 1, 65536, &out->pooled_dim));
    return read_weights(doc, model, out);
}

static dit_status read_run(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"height_px",      "width_px", "num_images", "num_inference_steps",
                                       "guidance_scale", "seed",     NULL};
    const cJSON *run;
    int64_t seed, steps;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "run", &run));
    DIT_TRY(dit_json_only_keys(doc, run, "/run", keys));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "height_px", 1, 1 << 20, &out->height_px));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "width_px", 1, 1 << 20, &out->width_px));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "num_inference_steps", 1, 10000, &steps));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "seed", 0, INT64_C(1) << MAX_SEED_BITS, &seed));
    out->guidance_scale = 1.0;
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "guidance_scale", -1000, 1000, &out->guidance_scale));
    out->steps = (int)steps;
    out->seed = (uint64_t)seed;
    return DIT_OK;
}

static dit_status read_measure(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"warmup_runs", "iterations", NULL};
    const cJSON *measure = NULL;
    int64_t warmup_runs = 1, iterations = 1;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "measure", &measure));
    if (measure) {
        DIT_TRY(dit_json_only_keys(doc, measure, "/measure", keys));
        DIT_TRY(
            dit_json_optional_int(doc, measure, "/measure", "warmup_runs", 0, DIT_CASE_MAX_ITERATIONS, &warmup_runs));
        DIT_TRY(dit_json_optional_int(doc, measure, "/measure", "iterations", 1, DIT_CASE_MAX_ITERATIONS, &iterations));
    }
    out->warmup_runs = (int)warmup_runs;
    out->iterations = (int)iterations;
    return DIT_OK;
}

static dit_status hash_document(const dit_json *doc, char out[33])
{
    char *canonical;
    DIT_TRY(dit_json_canonical(doc->root, &canonical));
    dit_hash(canonical, strlen(canonical), out);
    free(canonical);
    return DIT_OK;
}

dit_status dit_case_read(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"schema",   "program",   "model",    "scheduler", "run",
                                       "parallel", "attention", "platform", "measure",   NULL};
    dit_program_platform platform = {.parallel = &out->parallel};
    memset(out, 0, sizeof *out);
    out->doc = doc;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(hash_document(doc, out->case_id));
    dit_config_drop_nulls(cJSON_GetObjectItemCaseSensitive(doc->root, "model"));
    dit_config_drop_nulls(cJSON_GetObjectItemCaseSensitive(doc->root, "scheduler"));
    DIT_TRY(read_model(doc, out));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "scheduler", &out->scheduler));
    DIT_TRY(read_run(doc, out));
    DIT_TRY(read_measure(doc, out));
    DIT_TRY(dit_program_read_platform(doc, &platform));
    out->attention = platform.attention;
    out->backend = platform.backend;
    out->threads_per_rank = platform.threads;
    DIT_TRY(dit_facts_from_case(doc, doc->root, "", &out->facts));
    out->pack_px = llround(sqrt((double)(out->height_px * out->width_px) / (double)out->facts.image_tokens));
    return DIT_OK;
}
