#include "suite/workload/programs/cell_model.h"

#include "base/rows.h"
#include "suite/paths.h"
#include "suite/workload/members.h"

#include <stdio.h>
#include <string.h>

static dit_status resolve_frames(suite_cell *cell)
{
    double frames = 1;
    if (cell->model->video) DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_NUM_FRAMES, &frames));
    cell->num_frames = (int64_t)frames;
    const cJSON *asked = cell->values[SUITE_PARAMETER_NUM_FRAMES];
    if (cell->model->video || !asked || asked->valuedouble <= 1) return DIT_OK;
    return DIT_FAIL(DIT_ERR_CONSTRAINT_RESOLUTION, "num_frames %.0f: %s makes images, not clips", asked->valuedouble,
                    cell->model->name);
}

dit_status suite_cell_resolve_size(suite_cell *cell)
{
    const cJSON *resolution = cell->values[SUITE_PARAMETER_RESOLUTION];
    double height, width;
    DIT_TRY(resolve_frames(cell));
    cell->text_tokens =
        suite_cell_int(cell, SUITE_PARAMETER_TEXT_TOKENS, (int64_t)dit_json_number_or(cell->model->text, "tokens", 0));
    if (resolution) {
        suite_resolution_from_text(resolution->valuestring, &cell->width_px, &cell->height_px);
        return DIT_OK;
    }
    DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_HEIGHT_PX, &height));
    DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_WIDTH_PX, &width));
    cell->height_px = (int64_t)height;
    cell->width_px = (int64_t)width;
    return DIT_OK;
}

cJSON *suite_cell_put_run(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    cJSON *run = dit_json_put_object(w, document, "run");
    dit_json_put_int(w, run, "height_px", cell->height_px);
    dit_json_put_int(w, run, "width_px", cell->width_px);
    if (cell->model->video) dit_json_put_int(w, run, "num_frames", cell->num_frames);
    suite_member_number(w, run, cell, SUITE_PARAMETER_NUM_IMAGES);
    suite_member_number(w, run, cell, SUITE_PARAMETER_SEED);
    return run;
}

static void put_seeded_weights(dit_json_writer *w, const suite_cell *cell, int after, cJSON *parent)
{
    cJSON *weights = dit_json_put_object(w, parent, "weights");
    double seed = 0;
    if (weights) dit_json_put_status(w, suite_cell_number(cell, SUITE_PARAMETER_WEIGHTS_SEED, &seed));
    dit_json_put_string(w, weights, "kind", "seeded");
    dit_json_put_number(w, weights, "seed", seed + after);
}

void suite_cell_put_weights(dit_json_writer *w, const suite_cell *cell, cJSON *parent)
{
    put_seeded_weights(w, cell, 0, parent);
}

/* ---- shipped weights --------------------------------------------------------------------------------------------- */

static const char *asked_prompts(const suite_cell *cell)
{
    const cJSON *prompts = cell->values[SUITE_PARAMETER_PROMPTS];
    return prompts ? prompts->valuestring : NULL;
}

static int64_t images_of(const suite_cell *cell)
{
    double images = 1;
    if (suite_cell_number(cell, SUITE_PARAMETER_NUM_IMAGES, &images) != DIT_OK) dit_error_clear();
    return (int64_t)images;
}

bool suite_cell_is_trained(const suite_cell *cell)
{
    const cJSON *asked = cell->values[SUITE_PARAMETER_WEIGHTS];
    return asked ? strcmp(asked->valuestring, "trained") == 0 : cell->model->weights != NULL;
}

dit_status suite_cell_check_weights(const suite_cell *cell)
{
    const suite_model *model = cell->model;
    const char *prompts = asked_prompts(cell);
    int64_t images = images_of(cell);
    char split[32];
    int count = 0;
    bool edits;
    if (!model->weights && !model->folder && suite_cell_is_trained(cell))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "weights trained: none are shipped for %s", model->variant);
    if (!model->weights && prompts)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "prompts: no text table is shipped for %s, so it understands no captions",
                        model->variant);
    if (model->folder && suite_engine_is_external(cell->engine))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "engine %s is not told of folders", cell->engine->name);
    if (model->weights && suite_engine_is_external(cell->engine))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "engine %s is not told of shipped weights", cell->engine->name);
    if (!prompts) return DIT_OK;
    if (cell->simulated) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "prompts: a simulation makes no pictures");
    suite_prompts_from_text(prompts, split, &count, &edits);
    if (count % images == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "prompts: %d captions are no whole batches of %lld images", count,
                    (long long)images);
}

/* Puts the weights of a part of the model's folder. */
static void put_folder_weights(dit_json_writer *w, const suite_cell *cell, const char *part, cJSON *parent)
{
    char path[SUITE_PATH];
    cJSON *weights = dit_json_put_object(w, parent, "weights");
    dit_json_put_status(w, suite_path(path, "%s/%s", cell->model->folder, part));
    dit_json_put_string(w, weights, "kind", "safetensors");
    dit_json_put_string(w, weights, "path", path);
}

void suite_cell_put_second(dit_json_writer *w, const suite_cell *cell, cJSON *model)
{
    cJSON *second = dit_json_put_object(w, model, "transformer_2");
    dit_json_put_number(w, second, "boundary_ratio", cell->model->boundary_ratio);
    if (suite_cell_is_trained(cell))
        put_folder_weights(w, cell, "transformer_2", second);
    else
        put_seeded_weights(w, cell, 1, second);
}

void suite_cell_put_model_weights(dit_json_writer *w, const suite_cell *cell, cJSON *model)
{
    if (!suite_cell_is_trained(cell)) {
        suite_cell_put_weights(w, cell, model);
        return;
    }
    if (cell->model->folder) {
        put_folder_weights(w, cell, "transformer", model);
        return;
    }
    cJSON *weights = dit_json_put_object(w, model, "weights");
    dit_json_put_string(w, weights, "kind", "shipped");
    dit_json_put_string(w, weights, "name", cell->model->weights);
    dit_json_put_string(w, weights, "digest", cell->model->weights_digest);
}

/* With prompts the codec, too, through which their pictures are judged. */
void suite_cell_put_conditions(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    const char *prompts = asked_prompts(cell);
    char split[32] = "test";
    int count = (int)images_of(cell);
    bool edits = false;
    if (!cell->model->weights) return;
    if (prompts) suite_prompts_from_text(prompts, split, &count, &edits);
    cJSON *conditions = dit_json_put_object(w, document, "conditions");
    dit_json_put_string(w, conditions, "kind", "captions");
    dit_json_put_string(w, conditions, "shipped", cell->model->weights);
    dit_json_put_string(w, conditions, "split", split);
    dit_json_put_int(w, conditions, "count", count);
    if (edits) dit_json_put_bool(w, conditions, "edits", true);
    if (!prompts || !cell->vae) return;
    cJSON *vae = dit_json_put_object(w, document, "vae");
    dit_json_put_reference(w, vae, "config", cell->vae->config);
}

void suite_cell_put_vae(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    cJSON *vae = dit_json_put_object(w, document, "vae");
    dit_json_put_reference(w, vae, "config", cell->vae->config);
    if (cell->model->folder && suite_cell_is_trained(cell))
        put_folder_weights(w, cell, "vae", vae);
    else
        suite_cell_put_weights(w, cell, vae);
    dit_json_put_bool(w, vae, "tiling", suite_cell_is_on(cell, SUITE_PARAMETER_TILING));
    if (suite_cell_splits_frames(cell)) dit_json_put_string(w, vae, "split", dit_decode_splits()[DIT_SPLIT_FRAMES]);
}

bool suite_cell_splits_frames(const suite_cell *cell)
{
    const cJSON *split = cell->values[SUITE_PARAMETER_VAE_SPLIT];
    bool frames = split && strcmp(split->valuestring, dit_decode_splits()[DIT_SPLIT_FRAMES]) == 0;
    return frames && cell->parallel.rows_degree > 1;
}

void suite_cell_put_size_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    char resolution[48];
    snprintf(resolution, sizeof resolution, "%lldx%lld", (long long)cell->width_px, (long long)cell->height_px);
    dit_json_put_string(w, tags, "resolution", resolution);
    dit_json_put_int(w, tags, "height_px", cell->height_px);
    dit_json_put_int(w, tags, "width_px", cell->width_px);
    dit_json_put_int(w, tags, "num_frames", cell->num_frames);
    suite_member_number(w, tags, cell, SUITE_PARAMETER_NUM_IMAGES);
    suite_member_number(w, tags, cell, SUITE_PARAMETER_SEED);
}

void suite_cell_write_subject(const suite_cell *cell, const char *name, char *out, size_t size)
{
    char frames[32] = "";
    if (cell->model->video) snprintf(frames, sizeof frames, " %lldf", (long long)cell->num_frames);
    snprintf(out, size, "%s %lldx%lld%s", name, (long long)cell->width_px, (long long)cell->height_px, frames);
}
