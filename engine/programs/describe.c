/* describe: what models weigh and cost, counted by running the engine over shapes alone (kernels/count/).
 *
 * Each entry of "cases" is {"name", "model": {"config", "text": {"tokens"}}, "run": {"height_px", "width_px",
 * "num_frames"}}. The record's "describe" has, in the same order, {"name", "family", "parameters", "image_tokens",
 * "text_tokens", "forwards_per_step", "flops": {"prepare", "linear", "attention", "other"}, "memory": bytes by class},
 * or {"name", "error": {"code", "message"}}. Flops are of one forward of one image, a multiply-add counting two;
 * `prepare` is what is done once per image. Memory is that of one rank in fp32 with every guidance branch in its batch.
 */
#include "engine/models/model.h"
#include "engine/programs/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    dit_facts facts;
    dit_condition_run run;
    int64_t parameters;
    dit_flops prepare, forward; /* of the whole guidance batch */
    int64_t peak[DIT_MEMORY_CLASS_COUNT];
} description;

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static dit_status count_forward(dit_runtime *rt, dit_model *model, description *d)
{
    dit_partition part = model->params.partition;
    dit_condition condition;
    float *latents, *timestep, *output;
    int64_t rows = part.batch * part.image_count;
    DIT_TRY(dit_condition_seed(rt, &part, model->needs, 0, &d->run, &condition));
    DIT_TRY(dit_arena_floats(&rt->step, rows * model->input_channels, &latents));
    DIT_TRY(dit_arena_floats(&rt->step, part.batch, &timestep));
    DIT_TRY(dit_arena_floats(&rt->step, rows * model->output_channels, &output));
    d->parameters = rt->parameters;
    dit_runtime_reset_account(rt);
    DIT_TRY(dit_model_prepare(model, &condition));
    d->prepare = rt->flops;
    rt->flops = (dit_flops){0};
    DIT_TRY(dit_model_forward(model, &(dit_forward_args){.latents = latents, .timestep = timestep, .output = output}));
    d->forward = rt->flops;
    memcpy(d->peak, rt->ledger.peak, sizeof d->peak);
    return DIT_OK;
}

static dit_status count_model(const dit_config *config, description *d)
{
    dit_runtime rt;
    dit_model *model = NULL;
    dit_weights weights = {0};
    DIT_TRY(dit_runtime_init(&(dit_runtime_params){.counting = true, .threads = 1, .facts = d->facts}, &rt));
    dit_status st = dit_model_create(&(dit_model_params){.rt = &rt,
                                                         .config = *config,
                                                         .weights = &weights,
                                                         .partition = dit_partition_of(&rt),
                                                         .latent = d->facts.latent,
                                                         .attention = "auto"},
                                     &model);
    if (st == DIT_OK) st = count_forward(&rt, model, d);
    dit_model_free(model);
    dit_runtime_release(&rt);
    return st;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

static dit_status read_entry(const dit_json *doc, const cJSON *entry, const char *at, dit_config *config,
                             description *d)
{
    const cJSON *model, *run, *text = NULL;
    const dit_model_ops *ops;
    int64_t frames = 1, text_tokens = 0;
    char model_at[64], run_at[64];
    snprintf(model_at, sizeof model_at, "%s/model", at);
    snprintf(run_at, sizeof run_at, "%s/run", at);
    DIT_TRY(dit_json_require_object(doc, entry, at, "model", &model));
    DIT_TRY(dit_json_require_object(doc, entry, at, "run", &run));
    *config = (dit_config){.doc = doc, .pointer = model_at};
    DIT_TRY(dit_json_require_object(doc, model, model_at, "config", &config->object));
    config->pointer = "/cases";
    DIT_TRY(dit_json_optional_object(doc, model, model_at, "text", &text));
    if (text) DIT_TRY(dit_json_optional_int(doc, text, model_at, "tokens", 1, 1 << 20, &text_tokens));
    DIT_TRY(dit_json_require_int(doc, run, run_at, "height_px", 1, 1 << 20, &d->run.height_px));
    DIT_TRY(dit_json_require_int(doc, run, run_at, "width_px", 1, 1 << 20, &d->run.width_px));
    DIT_TRY(dit_json_optional_int(doc, run, run_at, "num_frames", 1, 1 << 20, &frames));
    dit_config_drop_nulls((cJSON *)config->object);
    DIT_TRY(dit_model_read_facts(config, &ops, &d->facts));
    DIT_TRY(dit_latent_resize(&d->facts.latent, d->run.height_px, d->run.width_px, frames));
    if (text_tokens) d->facts.text_tokens = text_tokens;
    dit_model_size_facts(&d->facts);
    return DIT_OK;
}

static dit_status write_description(const description *d, cJSON *out)
{
    double branches = (double)d->facts.guidance_branches;
    const double prepare = (d->prepare.linear + d->prepare.attention + d->prepare.other) / branches;
    cJSON *flops = cJSON_AddObjectToObject(out, "flops"), *memory = cJSON_AddObjectToObject(out, "memory");
    if (!flops || !memory) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    DIT_TRY(dit_json_add_string(out, "family", d->facts.family));
    DIT_TRY(dit_json_add_int(out, "parameters", d->parameters));
    DIT_TRY(dit_json_add_int(out, "image_tokens", d->facts.image_tokens));
    DIT_TRY(dit_json_add_int(out, "text_tokens", d->facts.text_tokens));
    DIT_TRY(dit_json_add_int(out, "forwards_per_step", d->facts.guidance_branches));
    DIT_TRY(dit_json_add_number(flops, "prepare", prepare));
    DIT_TRY(dit_json_add_number(flops, "linear", d->forward.linear / branches));
    DIT_TRY(dit_json_add_number(flops, "attention", d->forward.attention / branches));
    DIT_TRY(dit_json_add_number(flops, "other", d->forward.other / branches));
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++)
        DIT_TRY(dit_json_add_int(memory, dit_memory_class_name((dit_memory_class)i), d->peak[i]));
    return DIT_OK;
}

static dit_status write_problem(dit_status problem, cJSON *out)
{
    cJSON *error = cJSON_AddObjectToObject(out, "error");
    if (!error) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    char message[512];
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    DIT_TRY(dit_json_add_string(error, "code", dit_status_name(problem)));
    return dit_json_add_string(error, "message", message);
}

static dit_status describe_entry(const dit_json *doc, const cJSON *entry, int index, cJSON *list)
{
    description d = {0};
    dit_config config;
    char at[32];
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "name"));
    cJSON *out = cJSON_CreateObject();
    snprintf(at, sizeof at, "/cases/%d", index);
    if (!out || !cJSON_AddItemToArray(list, out)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    DIT_TRY(dit_json_add_string(out, "name", name ? name : ""));
    dit_status st = read_entry(doc, entry, at, &config, &d);
    if (st == DIT_OK) st = count_model(&config, &d);
    if (st == DIT_ERR_MEMORY) return st;
    if (st != DIT_OK) return write_problem(st, out);
    return write_description(&d, out);
}

static dit_status describe_all(const dit_program_args *args, cJSON *record)
{
    static const char *const keys[] = {"schema", "program", "cases", "platform", NULL};
    const cJSON *cases = NULL, *entry;
    int index = 0;
    char path[4096];
    cJSON *list = record ? cJSON_AddArrayToObject(record, "describe") : NULL;
    if (!list) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    DIT_TRY(dit_json_only_keys(args->doc, args->doc->root, "", keys));
    DIT_TRY(dit_json_optional_array(args->doc, args->doc->root, "", "cases", &cases));
    cJSON_ArrayForEach(entry, cases) DIT_TRY(describe_entry(args->doc, entry, index++, list));
    DIT_TRY(dit_json_add_string(record, "schema", "ditbench.record/1"));
    DIT_TRY(dit_json_add_string(record, "program", "describe"));
    snprintf(path, sizeof path, "%s/record.json", args->out_folder);
    return dit_json_write_file(record, path, false);
}

static dit_status describe_run(const dit_program_args *args, bool *skipped)
{
    (void)skipped;
    cJSON *record = cJSON_CreateObject();
    dit_status st = describe_all(args, record);
    cJSON_Delete(record);
    return st;
}

const dit_program dit_program_describe = {
    .name = "describe",
    .help = "parameters, flops and memory of models, counted without computing",
    .run = describe_run,
};
