#include "suite/catalogue/folder.h"

#include "base/json_writer.h"
#include "base/lenient.h"
#include "base/rows.h"
#include "suite/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "$DITBENCH_WORKLOADS";

/* A folder under its path on this machine. */
typedef struct {
    suite_model *model;
    const dit_json *doc;
    const char *pointer, *name; /* name: as the workload spells it */
    char path[SUITE_PATH];
} model_folder;

static dit_status find_folder(model_folder *f)
{
    const char *workloads = f->name[0] == '/' ? "" : suite_workloads_folder();
    if (!workloads) return DIT_ERR_ENVIRONMENT;
    DIT_TRY(suite_path(f->path, "%s%s%s", workloads, *workloads ? "/" : "", f->name));
    char index[SUITE_PATH];
    DIT_TRY(suite_path(index, "%s/model_index.json", f->path));
    if (access(index, R_OK) == 0) return DIT_OK;
    return dit_error_hint(dit_json_fail(f->doc, f->pointer, DIT_ERR_NOT_FOUND, "there is no %s", index),
                          "name a folder as diffusers saves a pipeline; a relative path begins at %s",
                          suite_workloads_folder() ? suite_workloads_folder() : "the folder of workloads");
}

/* Reads one JSON file of the folder. */
static dit_status read_part(const model_folder *f, const char *file, dit_json *out)
{
    char path[SUITE_PATH];
    DIT_TRY(suite_path(path, "%s/%s", f->path, file));
    DIT_TRY(dit_json_read_lenient(path, out));
    if (cJSON_IsObject(out->root)) return DIT_OK;
    dit_json_release(out);
    return DIT_FAIL(DIT_ERR_JSON_TYPE, "%s holds no JSON object", path);
}

/* Puts the object of a file of the folder under `key` of the model's own document, which then owns it. */
static dit_status take_part(const model_folder *f, const char *file, const char *key, cJSON **out)
{
    dit_json part;
    dit_json_writer w = {0};
    cJSON *root = f->model->source.root;
    DIT_TRY(read_part(f, file, &part));
    *out = part.root;
    part.root = NULL;
    dit_json_release(&part);
    cJSON_DeleteItemFromObjectCaseSensitive(root, key);
    dit_json_put_item(&w, root, key, *out);
    return w.status;
}

/* ---- transformer and VAE ----------------------------------------------------------------------------------------- */

static dit_status take_transformer(const model_folder *f)
{
    suite_model *model = f->model;
    char own[128];
    if (!model->config)
        return dit_json_fail(f->doc, f->pointer, DIT_ERR_UNSUPPORTED,
                             "model %s has architecture facts only: its family is not built", model->name);
    snprintf(own, sizeof own, "%s", dit_json_text_or(model->config, "_class_name", "-"));
    DIT_TRY(take_part(f, "transformer/config.json", "config", &model->config));
    DIT_TRY(take_part(f, "scheduler/scheduler_config.json", "scheduler", &model->scheduler));
    const char *other = dit_json_text_or(model->config, "_class_name", "-");
    if (strcmp(own, other) == 0) return suite_model_settle_config(model, f->doc, f->pointer);
    return dit_error_hint(dit_json_fail(f->doc, f->pointer, DIT_ERR_JSON_VALUE,
                                        "the transformer of %s is a %s, model %s is a %s", f->name, other, model->name,
                                        own),
                          "name a model of that class");
}

static dit_status set_number(cJSON *object, const char *key, int64_t value)
{
    dit_json_writer w = {0};
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    dit_json_put_int(&w, object, key, value);
    return w.status;
}

/* The latents are those of the folder's VAE. */
static dit_status take_vae(const model_folder *f, suite_vae *vae)
{
    suite_model *model = f->model;
    dit_rows_facts facts;
    dit_json_writer w = {0};
    cJSON *config;
    DIT_TRY(take_part(f, "vae/config.json", "vae_config", &config));
    cJSON *object = dit_json_new_object(&w);
    dit_json_put_reference(&w, object, "config", config);
    DIT_TRY(dit_json_finish(&w, object, &object));
    dit_status st = dit_rows_read(&model->source, object, "", &facts);
    cJSON_Delete(object);
    if (st != DIT_OK) return dit_error_note(st, "in %s/vae/config.json", f->path);
    suite_vae_release(vae);
    *vae = (suite_vae){.name = "of the folder", .title = "of the folder", .config = config, .built = true};
    DIT_TRY(set_number(model->latent, "channels", facts.latent_channels));
    DIT_TRY(set_number(model->latent, "vae_spatial", (facts.patch ? facts.patch : 1) << facts.ups));
    return model->video ? set_number(model->latent, "vae_temporal", facts.temporal) : DIT_OK;
}

/* ---- text encoders ----------------------------------------------------------------------------------------------- */

/* What transformers calls the sizes of a class of text encoders. */
typedef struct {
    const char *type, *layers, *width, *heads, *head_dim, *feed_forward;
    bool gated;
} encoder_names;
static const encoder_names classes[] = {
    {"t5", "num_layers", "d_model", "num_heads", "d_kv", "d_ff", false}, /* gated: feed_forward_proj says */
    {"umt5", "num_layers", "d_model", "num_heads", "d_kv", "d_ff", false},
    {"mt5", "num_layers", "d_model", "num_heads", "d_kv", "d_ff", false},
    {"clip_text_model", "num_hidden_layers", "hidden_size", "num_attention_heads", NULL, "intermediate_size", false},
    {"bert", "num_hidden_layers", "hidden_size", "num_attention_heads", NULL, "intermediate_size", false},
    {"llama", "num_hidden_layers", "hidden_size", "num_attention_heads", "head_dim", "intermediate_size", true},
    {"qwen3", "num_hidden_layers", "hidden_size", "num_attention_heads", "head_dim", "intermediate_size", true},
    {"qwen2_5_vl", "num_hidden_layers", "hidden_size", "num_attention_heads", "head_dim", "intermediate_size", true},
    {"mistral3", "num_hidden_layers", "hidden_size", "num_attention_heads", "head_dim", "intermediate_size", true},
};

static const encoder_names *find_class(const dit_json *config)
{
    const char *type = dit_json_text_or(config->root, "model_type", "");
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].type, type) == 0) return &classes[i];
    return NULL;
}

/* Whether an encoder's pooled text goes through a projection. */
static bool is_projected(const dit_json *config)
{
    const cJSON *first = cJSON_GetArrayItem(dit_json_member(config->root, "architectures"), 0);
    return cJSON_IsString(first) && strstr(first->valuestring, "WithProjection");
}

/* `sizes`: the object of the config that has them. */
static dit_status set_sizes(const dit_json *config, const cJSON *sizes, const encoder_names *names, cJSON *entry)
{
    int64_t width, heads, value;
    DIT_TRY(dit_json_require_int(config, sizes, "", names->width, 1, 1 << 20, &width));
    DIT_TRY(dit_json_require_int(config, sizes, "", names->heads, 1, 1 << 16, &heads));
    DIT_TRY(set_number(entry, "width", width));
    DIT_TRY(set_number(entry, "heads", heads));
    DIT_TRY(dit_json_require_int(config, sizes, "", names->layers, 1, 1000, &value));
    DIT_TRY(set_number(entry, "layers", value));
    DIT_TRY(dit_json_require_int(config, sizes, "", names->feed_forward, 1, 1 << 22, &value));
    DIT_TRY(set_number(entry, "feed_forward", value));
    value = width / heads > 0 ? width / heads : 1;
    if (names->head_dim) DIT_TRY(dit_json_optional_int(config, sizes, "", names->head_dim, 1, 1 << 16, &value));
    DIT_TRY(set_number(entry, "head_dim", value));
    value = heads;
    DIT_TRY(dit_json_optional_int(config, sizes, "", "num_key_value_heads", 1, heads, &value));
    if (value != heads) DIT_TRY(set_number(entry, "key_heads", value));
    if (value == heads) cJSON_DeleteItemFromObjectCaseSensitive(entry, "key_heads");
    if (!dit_json_member(entry, "pooled")) return DIT_OK;
    value = width;
    if (is_projected(config)) DIT_TRY(dit_json_require_int(config, sizes, "", "projection_dim", 1, 1 << 20, &value));
    return set_number(entry, "pooled", value);
}

static dit_status take_encoder(const model_folder *f, int index, cJSON *entry)
{
    char file[64] = "text_encoder/config.json";
    dit_json config;
    dit_json_writer w = {0};
    if (index > 0) snprintf(file, sizeof file, "text_encoder_%d/config.json", index + 1);
    DIT_TRY(read_part(f, file, &config));
    const encoder_names *names = find_class(&config);
    const cJSON *text = dit_json_member(config.root, "text_config"); /* of a model that sees pictures, too */
    dit_status st = names ? set_sizes(&config, cJSON_IsObject(text) ? text : config.root, names, entry)
                          : DIT_FAIL(DIT_ERR_UNSUPPORTED, "text encoder \"%s\" is not built",
                                     dit_json_text_or(config.root, "model_type", "-"));
    bool gated = names && names->gated;
    const char *projection = dit_json_text_or(config.root, "feed_forward_proj", "");
    if (strncmp(projection, "gated", 5) == 0) gated = true;
    cJSON_DeleteItemFromObjectCaseSensitive(entry, "gated");
    dit_json_put_bool(&w, entry, "gated", gated);
    dit_json_release(&config);
    if (st == DIT_OK) st = w.status;
    return st == DIT_OK ? st : dit_error_note(st, "in %s/%s", f->path, file);
}

static dit_status take_encoders(const model_folder *f)
{
    cJSON *entry;
    int index = 0;
    cJSON_ArrayForEach(entry, f->model->text_encoders)
    {
        if (dit_json_member(entry, "layers")) DIT_TRY(take_encoder(f, index, entry));
        index++;
    }
    return DIT_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Keeps the folder's name as cases spell it, in the model's own document. */
static dit_status keep_name(const model_folder *f)
{
    char spelled[SUITE_PATH];
    dit_json_writer w = {0};
    DIT_TRY(suite_path(spelled, "%s%s%s", f->name[0] == '/' ? "" : variable, f->name[0] == '/' ? "" : "/", f->name));
    dit_json_put_string(&w, f->model->source.root, "folder", spelled);
    f->model->folder = dit_json_text_or(f->model->source.root, "folder", NULL);
    return w.status;
}

dit_status suite_model_take_folder(suite_model *model, suite_vae *vae, const dit_json *doc, const char *pointer,
                                   const char *folder, const char *as)
{
    model_folder f = {.model = model, .doc = doc, .pointer = pointer, .name = folder};
    const char *slash = strrchr(folder, '/');
    size_t used = strlen(model->variant);
    DIT_TRY(find_folder(&f));
    DIT_TRY(take_transformer(&f));
    DIT_TRY(take_vae(&f, vae));
    DIT_TRY(take_encoders(&f));
    snprintf(model->variant + used, sizeof model->variant - used, "{%.60s}", as ? as : slash ? slash + 1 : folder);
    return keep_name(&f);
}
