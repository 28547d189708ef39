#include "suite/explain/describe.h"

#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/model.h"

#include <stdio.h>
#include <string.h>

/* The rows for people, and the case for the engine: entry i of `cases` belongs to the row named alike. */
typedef struct {
    const suite_describe_params *params;
    cJSON *rows, *cases;
} description;

static cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double number_or(const cJSON *object, const char *key, double otherwise)
{
    const cJSON *item = member(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

/* Flops of one forward at the default run as the model file derives them; 0 where it does not, or the run is another.
 */
static double stated_flops(const suite_model *model, int64_t width, int64_t height, int64_t frames)
{
    bool whole = strcmp(model->variant, model->name) == 0;
    bool standard = (double)width == number_or(model->default_run, "width_px", 0) &&
                    (double)height == number_or(model->default_run, "height_px", 0) &&
                    (double)frames == number_or(model->default_run, "num_frames", 1);
    return whole && standard ? number_or(member(model->source.root, "derived"), "tflops_per_forward", 0) * 1e12 : 0;
}

/* ---- one model --------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t width, height, frames;
} model_size;

static model_size size_of(const suite_describe_params *params, const suite_model *model)
{
    model_size size = {(int64_t)number_or(model->default_run, "width_px", 0),
                       (int64_t)number_or(model->default_run, "height_px", 0),
                       (int64_t)number_or(model->default_run, "num_frames", 1)};
    if (params->width_px) size.width = params->width_px, size.height = params->height_px;
    if (params->num_frames && model->video) size.frames = params->num_frames;
    return size;
}

static dit_status fill_row(cJSON *row, const suite_model *model, const model_size *size)
{
    char resolution[48];
    const char *family = cJSON_GetStringValue(member(model->config, "_class_name"));
    const char *source = cJSON_GetStringValue(member(member(model->source.root, "source"), "architecture"));
    DIT_TRY(dit_json_add_string(row, "name", model->variant));
    DIT_TRY(dit_json_add_string(row, "title", model->title));
    DIT_TRY(dit_json_add_string(row, "kind", model->video ? "video" : "image"));
    cJSON_AddBoolToObject(row, "runnable", model->config != NULL);
    if (family) DIT_TRY(dit_json_add_string(row, "class", family));
    if (model->vae) DIT_TRY(dit_json_add_string(row, "vae", model->vae));
    snprintf(resolution, sizeof resolution, "%lldx%lld", (long long)size->width, (long long)size->height);
    if (size->width && size->height) DIT_TRY(dit_json_add_string(row, "resolution", resolution));
    DIT_TRY(dit_json_add_int(row, "num_frames", size->frames));
    DIT_TRY(dit_json_add_number(row, "steps", number_or(model->default_run, "num_inference_steps", 0)));
    if (model->parameters) DIT_TRY(dit_json_add_int(row, "stated_parameters", model->parameters));
    double flops = stated_flops(model, size->width, size->height, size->frames);
    if (flops > 0) DIT_TRY(dit_json_add_number(row, "stated_flops", flops));
    if (!model->config) DIT_TRY(dit_json_add_string(row, "reason", "architecture facts only, not implemented"));
    return source ? dit_json_add_string(row, "source", source) : DIT_OK;
}

static dit_status add_copy(cJSON *object, const char *key, const cJSON *value)
{
    cJSON *copy = cJSON_Duplicate(value, true);
    if (copy && cJSON_AddItemToObject(object, key, copy)) return DIT_OK;
    cJSON_Delete(copy);
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

static dit_status fill_model(cJSON *part, const suite_model *model)
{
    const cJSON *tokens = member(model->text, "tokens");
    cJSON *weights = cJSON_AddObjectToObject(part, "weights");
    if (!weights) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    DIT_TRY(dit_json_add_string(part, "name", model->variant));
    DIT_TRY(dit_json_add_string(weights, "kind", "seeded"));
    DIT_TRY(dit_json_add_int(weights, "seed", 0));
    if (cJSON_IsNumber(tokens)) {
        cJSON *text = cJSON_AddObjectToObject(part, "text");
        DIT_TRY(dit_json_add_number(text, "tokens", tokens->valuedouble));
    }
    return add_copy(part, "config", model->config);
}

/* {"name", "case"}: the default run at that size, on one rank. */
static dit_status fill_case(cJSON *entry, const suite_model *model, const model_size *size)
{
    cJSON *kase = cJSON_AddObjectToObject(entry, "case"), *part, *run;
    DIT_TRY(dit_json_add_string(entry, "name", model->variant));
    part = cJSON_AddObjectToObject(kase, "model");
    run = cJSON_AddObjectToObject(kase, "run");
    if (!part || !run) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    DIT_TRY(dit_json_add_string(kase, "schema", "ditbench.case/1"));
    DIT_TRY(dit_json_add_string(kase, "program", "denoise"));
    DIT_TRY(fill_model(part, model));
    DIT_TRY(add_copy(kase, "scheduler", model->scheduler));
    DIT_TRY(dit_json_add_int(run, "width_px", size->width));
    DIT_TRY(dit_json_add_int(run, "height_px", size->height));
    DIT_TRY(dit_json_add_int(run, "num_frames", size->frames));
    DIT_TRY(dit_json_add_int(run, "seed", 0));
    DIT_TRY(dit_json_add_number(run, "guidance_scale", number_or(model->default_run, "guidance_scale", 1)));
    return dit_json_add_number(run, "num_inference_steps", number_or(model->default_run, "num_inference_steps", 1));
}

static dit_status add_model(description *d, const suite_model *model)
{
    model_size size = size_of(d->params, model);
    cJSON *row = cJSON_CreateObject(), *entry;
    if (d->params->filter && !strstr(model->variant, d->params->filter)) {
        cJSON_Delete(row);
        return DIT_OK;
    }
    if (!row || !cJSON_AddItemToArray(d->rows, row)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a model");
    DIT_TRY(fill_row(row, model, &size));
    if (!model->config) return DIT_OK;
    entry = cJSON_CreateObject();
    if (!entry || !cJSON_AddItemToArray(d->cases, entry)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    return fill_case(entry, model, &size);
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
static dit_status merge(cJSON *row, const cJSON *counted)
{
    const cJSON *error = member(counted, "error"), *item, *flops = member(counted, "flops");
    if (error) {
        const char *message = cJSON_GetStringValue(member(error, "message"));
        return dit_json_add_string(row, "reason", message ? message : "the engine could not count it");
    }
    cJSON_ArrayForEach(item, counted)
    {
        if (member(row, item->string)) continue; /* the name */
        if (!cJSON_AddItemToObject(row, item->string, cJSON_Duplicate(item, true)))
            return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a model");
    }
    double forward = sum_of(flops) - number_or(flops, "prepare", 0), stated = number_or(row, "stated_flops", 0);
    /* formulas in the literature count products of matrices, those of the text included, and nothing else */
    if (stated > 0)
        DIT_TRY(
            dit_json_add_number(row, "counted_over_stated", (sum_of(flops) - number_or(flops, "other", 0)) / stated));
    DIT_TRY(dit_json_add_number(row, "flops_per_forward", forward));
    DIT_TRY(dit_json_add_number(row, "flops_per_step", forward * number_or(counted, "forwards_per_step", 1)));
    return dit_json_add_number(row, "memory_bytes", sum_of(member(counted, "memory")));
}

static dit_status merge_all(const description *d, const cJSON *record)
{
    const cJSON *counted;
    cJSON *row = d->rows->child;
    cJSON_ArrayForEach(counted, member(record, "describe"))
    {
        const char *name = cJSON_GetStringValue(member(counted, "name"));
        while (row && name && strcmp(cJSON_GetStringValue(member(row, "name")), name) != 0) row = row->next;
        if (!row || !name) return DIT_FAIL(DIT_ERR_INTERNAL, "the engine described a model that it was not asked for");
        DIT_TRY(merge(row, counted));
        row = row->next;
    }
    return DIT_OK;
}

dit_status suite_describe_cases(const cJSON *cases, const suite_single_params *single, cJSON **record)
{
    suite_outcome outcome = {0};
    cJSON *kase = cJSON_CreateObject();
    *record = NULL;
    if (!kase || !cJSON_AddItemReferenceToObject(kase, "cases", (cJSON *)(uintptr_t)cases)) {
        cJSON_Delete(kase);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    }
    dit_status st = dit_json_add_string(kase, "schema", "ditbench.case/1");
    if (st == DIT_OK) st = dit_json_add_string(kase, "program", "describe");
    if (st == DIT_OK) st = suite_single_run(kase, single, &outcome);
    if (st == DIT_OK && outcome.status != DIT_OUTCOME_OK) {
        const char *message = cJSON_GetStringValue(member(outcome.error, "message"));
        st = DIT_FAIL(DIT_ERR_CRASH, "the engine could not count: %s", message ? message : "it failed");
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
    description d = {params, cJSON_CreateArray(), cJSON_CreateArray()};
    char **names = NULL;
    *out = NULL;
    dit_status st = d.rows && d.cases ? suite_catalogue_names("models", &names)
                                      : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list of models");
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
