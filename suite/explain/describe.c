#include "suite/explain/describe.h"

#include "base/json_writer.h"

#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/model.h"

#include <stdio.h>
#include <string.h>

/* The rows for people, and the case for the engine: entry i of `cases` belongs to the row named alike. */
typedef struct {
    const suite_describe_params *params;
    cJSON *rows, *cases;
} description;

/* Flops of one forward at the default run as the model file derives them; 0 where it does not, or the run is another.
 */
static double stated_flops(const suite_model *model, int64_t width, int64_t height, int64_t frames)
{
    bool whole = strcmp(model->variant, model->name) == 0;
    bool standard = (double)width == dit_json_number_or(model->default_run, "width_px", 0) &&
                    (double)height == dit_json_number_or(model->default_run, "height_px", 0) &&
                    (double)frames == dit_json_number_or(model->default_run, "num_frames", 1);
    return whole && standard
               ? dit_json_number_or(dit_json_member(model->source.root, "derived"), "tflops_per_forward", 0) * 1e12
               : 0;
}

/* ---- one model --------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t width, height, frames;
} model_size;

static model_size size_of(const suite_describe_params *params, const suite_model *model)
{
    model_size size = {(int64_t)dit_json_number_or(model->default_run, "width_px", 0),
                       (int64_t)dit_json_number_or(model->default_run, "height_px", 0),
                       (int64_t)dit_json_number_or(model->default_run, "num_frames", 1)};
    if (params->width_px) size.width = params->width_px, size.height = params->height_px;
    if (params->num_frames && model->video) size.frames = params->num_frames;
    return size;
}

static void fill_row(dit_json_writer *w, cJSON *row, const suite_model *model, const model_size *size)
{
    char resolution[48];
    const char *family = dit_json_text_or(model->config, "_class_name", NULL);
    const char *source = dit_json_text_or(dit_json_member(model->source.root, "source"), "architecture", NULL);
    dit_json_put_string(w, row, "name", model->variant);
    dit_json_put_string(w, row, "title", model->title);
    dit_json_put_string(w, row, "kind", model->video ? "video" : "image");
    dit_json_put_bool(w, row, "runnable", model->config != NULL);
    if (family) dit_json_put_string(w, row, "class", family);
    if (model->vae) dit_json_put_string(w, row, "vae", model->vae);
    snprintf(resolution, sizeof resolution, "%lldx%lld", (long long)size->width, (long long)size->height);
    if (size->width && size->height) dit_json_put_string(w, row, "resolution", resolution);
    dit_json_put_int(w, row, "num_frames", size->frames);
    dit_json_put_number(w, row, "steps", dit_json_number_or(model->default_run, "num_inference_steps", 0));
    if (model->parameters) dit_json_put_int(w, row, "stated_parameters", model->parameters);
    double flops = stated_flops(model, size->width, size->height, size->frames);
    if (flops > 0) dit_json_put_number(w, row, "stated_flops", flops);
    if (!model->config)
        dit_json_put_string(w, row, "reason",
                            "only facts of its architecture are known: it is explained, and cannot be run");
    if (source) dit_json_put_string(w, row, "source", source);
}

static void fill_model(dit_json_writer *w, cJSON *part, const suite_model *model)
{
    const cJSON *tokens = dit_json_member(model->text, "tokens");
    cJSON *weights = dit_json_put_object(w, part, "weights");
    dit_json_put_string(w, part, "name", model->variant);
    dit_json_put_string(w, weights, "kind", "seeded");
    dit_json_put_int(w, weights, "seed", 0);
    if (cJSON_IsNumber(tokens)) {
        cJSON *text = dit_json_put_object(w, part, "text");
        dit_json_put_number(w, text, "tokens", tokens->valuedouble);
    }
    dit_json_put_copy(w, part, "config", model->config);
    if (model->boundary_ratio <= 0) return;
    cJSON *second = dit_json_put_object(w, part, "transformer_2");
    dit_json_put_number(w, second, "boundary_ratio", model->boundary_ratio);
    dit_json_put_copy(w, second, "weights", weights);
}

/* {"name", "case"}: the default run at that size, on one rank. */
static void fill_case(dit_json_writer *w, cJSON *entry, const suite_model *model, const model_size *size)
{
    cJSON *kase = dit_json_put_object(w, entry, "case"), *part, *run;
    dit_json_put_string(w, entry, "name", model->variant);
    part = dit_json_put_object(w, kase, "model");
    run = dit_json_put_object(w, kase, "run");
    dit_json_put_string(w, kase, "schema", "ditbench.case/1");
    dit_json_put_string(w, kase, "program", "denoise");
    fill_model(w, part, model);
    dit_json_put_copy(w, kase, "scheduler", model->scheduler);
    dit_json_put_int(w, run, "width_px", size->width);
    dit_json_put_int(w, run, "height_px", size->height);
    dit_json_put_int(w, run, "num_frames", size->frames);
    dit_json_put_int(w, run, "seed", 0);
    dit_json_put_number(w, run, "guidance_scale", dit_json_number_or(model->default_run, "guidance_scale", 1));
    dit_json_put_copy(w, run, "true_cfg_scale", dit_json_member(model->default_run, "true_cfg_scale"));
    dit_json_put_number(w, run, "num_inference_steps",
                        dit_json_number_or(model->default_run, "num_inference_steps", 1));
    dit_json_put_copy(w, run, "first_frame", dit_json_member(model->default_run, "first_frame"));
    if (!cJSON_IsTrue(dit_json_member(model->default_run, "reference"))) return;
    cJSON *reference = dit_json_put_object(w, run, "reference");
    dit_json_put_int(w, reference, "width_px", size->width);
    dit_json_put_int(w, reference, "height_px", size->height);
}

static dit_status add_model(description *d, const suite_model *model)
{
    dit_json_writer w = {0};
    model_size size = size_of(d->params, model);
    if (d->params->filter && !strstr(model->variant, d->params->filter)) return DIT_OK;
    fill_row(&w, dit_json_put_object(&w, d->rows, NULL), model, &size);
    if (model->config) fill_case(&w, dit_json_put_object(&w, d->cases, NULL), model, &size);
    return w.status;
}

static dit_status add_named(description *d, const char *name, suite_model *model)
{
    DIT_TRY(suite_model_load(name, model));
    dit_status st = add_model(d, model);
    if (st != DIT_OK) suite_model_release(model);
    return st;
}

static dit_status add_with_variants(description *d, const char *name)
{
    suite_model model, variant;
    const cJSON *one, *all;
    char full[320];
    DIT_TRY(add_named(d, name, &model));
    dit_status st = DIT_OK;
    all = d->params->variants ? model.variants : NULL;
    cJSON_ArrayForEach(one, all)
    {
        snprintf(full, sizeof full, "%.150s~%.150s", name, one->string);
        if (st == DIT_OK) st = add_named(d, full, &variant);
        if (st == DIT_OK) suite_model_release(&variant);
    }
    suite_model_release(&model);
    return st;
}

/* ---- what the engine counted ------------------------------------------------------------------------------------- */

static double sum_of(const cJSON *object)
{
    const cJSON *item;
    double sum = 0;
    cJSON_ArrayForEach(item, object) sum += cJSON_IsNumber(item) ? item->valuedouble : 0;
    return sum;
}

/* Everything the engine said of a model, and the sums people ask for. */
static void merge(dit_json_writer *w, cJSON *row, const cJSON *counted)
{
    const cJSON *error = dit_json_member(counted, "error"), *item, *flops = dit_json_member(counted, "flops");
    if (error) {
        const char *message = dit_json_text_or(error, "message", NULL);
        dit_json_put_string(w, row, "reason", message ? message : "the engine could not count it");
        return;
    }
    cJSON_ArrayForEach(item, counted)
    {
        if (dit_json_member(row, item->string)) continue; /* the name */
        dit_json_put_copy(w, row, item->string, item);
    }
    double forward = sum_of(flops) - dit_json_number_or(flops, "prepare", 0),
           stated = dit_json_number_or(row, "stated_flops", 0);
    /* formulas in the literature count products of matrices, those of the text included, and nothing else */
    if (stated > 0)
        dit_json_put_number(w, row, "counted_over_stated",
                            (sum_of(flops) - dit_json_number_or(flops, "other", 0)) / stated);
    dit_json_put_number(w, row, "flops_per_forward", forward);
    dit_json_put_number(w, row, "flops_per_step", forward * dit_json_number_or(counted, "forwards_per_step", 1));
    dit_json_put_number(w, row, "memory_bytes", sum_of(dit_json_member(counted, "memory")));
}

static dit_status merge_all(const description *d, const cJSON *record)
{
    dit_json_writer w = {0};
    const cJSON *counted;
    cJSON *row = d->rows->child;
    cJSON_ArrayForEach(counted, dit_json_member(record, "describe"))
    {
        const char *name = dit_json_text_or(counted, "name", NULL);
        while (row && name && strcmp(dit_json_text_or(row, "name", NULL), name) != 0) row = row->next;
        if (!row || !name) return DIT_FAIL(DIT_ERR_INTERNAL, "the engine described a model that it was not asked for");
        merge(&w, row, counted);
        row = row->next;
    }
    return w.status;
}

dit_status suite_describe_cases(const cJSON *cases, const suite_single_params *single, cJSON **record)
{
    dit_json_writer w = {0};
    suite_outcome outcome = {0};
    cJSON *kase = dit_json_new_object(&w);
    *record = NULL;
    dit_json_put_reference(&w, kase, "cases", cases);
    dit_json_put_string(&w, kase, "schema", "ditbench.case/1");
    dit_json_put_string(&w, kase, "program", "describe");
    dit_status st = w.status == DIT_OK ? suite_single_run(kase, single, &outcome) : w.status;
    if (st == DIT_OK && outcome.status != DIT_OUTCOME_OK) {
        suite_failure failure = suite_outcome_failure(&outcome);
        st = DIT_FAIL(DIT_ERR_CRASH, "the engine could not count: %s",
                      failure.message[0] ? failure.message : "it failed");
    }
    if (st == DIT_OK) {
        *record = outcome.record;
        outcome.record = NULL;
    }
    suite_outcome_release(&outcome);
    cJSON_Delete(kase);
    return st;
}

static dit_status count(const description *d, const suite_single_params *single)
{
    cJSON *record;
    DIT_TRY(suite_describe_cases(d->cases, single, &record));
    dit_status st = merge_all(d, record);
    cJSON_Delete(record);
    return st;
}

dit_status suite_describe_models(const suite_describe_params *params, const suite_single_params *single, cJSON **out)
{
    dit_json_writer w = {0};
    description d = {params, dit_json_new_array(&w), dit_json_new_array(&w)};
    char **names = NULL;
    *out = NULL;
    dit_status st = w.status == DIT_OK ? suite_catalogue_names("models", &names) : w.status;
    for (char **name = names; st == DIT_OK && *name; name++) st = add_with_variants(&d, *name);
    if (st == DIT_OK && d.cases->child) st = count(&d, single);
    suite_names_free(names);
    cJSON_Delete(d.cases);
    if (st == DIT_OK)
        *out = d.rows;
    else
        cJSON_Delete(d.rows);
    return st;
}
