#include "suite/generate/request_impl.h"

#include "base/json_writer.h"
#include "base/lenient.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/vae.h"
#include "suite/generate/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool has_file(const char *folder, const char *file)
{
    char path[SUITE_PATH];
    return suite_path(path, "%s/%s", folder, file) == DIT_OK && access(path, R_OK) == 0;
}

dit_status suite_request_absolute(const char *path, char out[SUITE_PATH])
{
    if (realpath(path, out)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
}

/* The object in a file, alone; the caller deletes it. */
static dit_status read_object(const char *path, cJSON **out)
{
    dit_json doc;
    DIT_TRY(dit_json_read_lenient(path, &doc));
    bool valid = cJSON_IsObject(doc.root);
    if (valid) {
        cJSON_Delete(*out);
        *out = doc.root;
        doc.root = NULL;
    }
    dit_json_release(&doc);
    return valid ? DIT_OK : DIT_FAIL(DIT_ERR_JSON_TYPE, "%s holds no JSON object", path);
}

/* A diffusers folder of one part: its config.json, and itself as the place of the weights. */
static dit_status take_part(const char *folder, cJSON **config, char weights[SUITE_PATH])
{
    char path[SUITE_PATH];
    DIT_TRY(suite_request_absolute(folder, weights));
    DIT_TRY(suite_path(path, "%s/config.json", weights));
    return read_object(path, config);
}

/* A scheduler's config: the file itself, or scheduler_config.json of a folder. */
static dit_status take_scheduler(const char *place, cJSON **out)
{
    char path[SUITE_PATH];
    DIT_TRY(suite_path(path, "%s%s", place, is_folder(place) ? "/scheduler_config.json" : ""));
    return read_object(path, out);
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static void name_after(suite_request_builder *b, const char *folder)
{
    const char *slash = strrchr(folder, '/');
    snprintf(b->name, sizeof b->name, "%.150s", slash ? slash + 1 : folder);
}

/* Reads what model_index.json says of the pipeline's way to run; of the FLUX.2 kleins, those that are not distilled are
 * guided, and Lumina2Pipeline.__call__ has cfg_normalization=True. Wan 2.2 TI2V-5B and LTX-Video are
 * published as pipelines of text, and pictures go to those of pictures, which take the same folders. */
static dit_status take_index(suite_request_builder *b, const char *folder, double *boundary_ratio)
{
    char path[SUITE_PATH];
    dit_json index;
    DIT_TRY(suite_path(path, "%s/model_index.json", folder));
    DIT_TRY(dit_json_read_lenient(path, &index));
    *boundary_ratio = dit_json_number_or(index.root, "boundary_ratio", 0);
    const char *pipeline = dit_json_text_or(index.root, "_class_name", "");
    snprintf(b->class_name, sizeof b->class_name, "%s", pipeline);
    bool klein = strcmp(pipeline, "Flux2KleinPipeline") == 0;
    b->norms_guidance = strcmp(pipeline, "Lumina2Pipeline") == 0;
    b->scale_guides = klein && !cJSON_IsTrue(dit_json_member(index.root, "is_distilled"));
    b->reference_rule = suite_reference_rule_of(pipeline);
    b->refers = strcmp(pipeline, "FluxKontextPipeline") == 0 || b->reference_rule;
    bool expands = strncmp(pipeline, "Wan", 3) == 0 && cJSON_IsTrue(dit_json_member(index.root, "expand_timesteps"));
    b->holds = expands || strcmp(pipeline, "LTXPipeline") == 0 || strcmp(pipeline, "LTXImageToVideoPipeline") == 0;
    b->needs_picture = b->holds && strstr(pipeline, "ImageToVideo") != NULL;
    b->first_apart = strcmp(pipeline, "LTXConditionPipeline") == 0;
    dit_json_release(&index);
    return DIT_OK;
}

/* Reads guider/guider_config.json, which says how the pipeline guides. Errors: DIT_ERR_UNSUPPORTED for other ways than the usual one. */
static dit_status take_guider(suite_request_builder *b, const char *folder)
{
    static const char usual[] = "ClassifierFreeGuidance";
    char path[SUITE_PATH];
    dit_json doc;
    if (!has_file(folder, "guider/guider_config.json")) return DIT_OK;
    DIT_TRY(suite_path(path, "%s/guider/guider_config.json", folder));
    DIT_TRY(dit_json_read_lenient(path, &doc));
    bool plain = strcmp(dit_json_text_or(doc.root, "_class_name", usual), usual) == 0 &&
                 dit_json_number_or(doc.root, "guidance_rescale", 0) == 0 &&
                 dit_json_number_or(doc.root, "start", 0) == 0 && dit_json_number_or(doc.root, "stop", 1) == 1 &&
                 !cJSON_IsTrue(dit_json_member(doc.root, "use_original_formulation"));
    bool off = cJSON_IsFalse(dit_json_member(doc.root, "enabled"));
    b->guider_scale = off ? 1 : dit_json_number_or(doc.root, "guidance_scale", 0);
    dit_json_release(&doc);
    if (plain) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "the guider of %s is not implemented", path),
                          "%s of all steps is, without guidance_rescale and use_original_formulation", usual);
}

/* What HunyuanVideo 1.5's pipeline of text adds to its transformer: that there is no picture, and how large clips are. */
static dit_status take_hunyuan_video15(suite_request_builder *b, const char *folder)
{
    enum { USUAL_TARGET = 640 };
    dit_json_writer w = {0};
    if (strcmp(b->class_name, "HunyuanVideo15Pipeline") != 0) return DIT_OK;
    cJSON_DeleteItemFromObjectCaseSensitive(b->config, "task_type");
    dit_json_put_string(&w, b->config, "task_type", "t2v");
    b->target_size = dit_json_int_or(b->config, "target_size", USUAL_TARGET);
    DIT_TRY(w.status);
    return take_guider(b, folder);
}

/* The second transformer of a pipeline that has a boundary_ratio. Its config must be that of the first one. */
static dit_status take_second(suite_request_builder *b, const char *folder, double ratio)
{
    char path[SUITE_PATH];
    cJSON *config = NULL;
    DIT_TRY(suite_path(path, "%s/transformer_2", folder));
    if (!(ratio > 0) || !is_folder(path)) return DIT_OK;
    b->boundary_ratio = ratio;
    DIT_TRY(take_part(path, &config, b->second_weights));
    bool alike = cJSON_Compare(config, b->config, true);
    cJSON_Delete(config);
    if (alike) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_UNSUPPORTED, "transformer and transformer_2 of %s have other configs", folder),
        "two transformers of one config are run: name one of them with --transformer");
}

/* model_index.json and the folders it stands beside. */
static dit_status take_checkpoint(suite_request_builder *b, const char *folder)
{
    char path[SUITE_PATH];
    const suite_request *r = b->r;
    bool decodes = !r->vae && !r->latents_only, prompts = r->prompt_count > 0 && !has_file(folder, "vocabulary.json");
    double ratio;
    b->checkpoint = true;
    name_after(b, folder);
    DIT_TRY(suite_checkpoint_check(folder, decodes, prompts));
    DIT_TRY(suite_path(path, "%s/transformer", folder));
    DIT_TRY(take_part(path, &b->config, b->weights));
    DIT_TRY(take_index(b, folder, &ratio));
    DIT_TRY(take_second(b, folder, ratio));
    DIT_TRY(take_hunyuan_video15(b, folder));
    dit_json_writer w = {0};
    if (b->first_apart) dit_json_put_bool(&w, b->config, "first_frame_apart", true);
    DIT_TRY(w.status);
    DIT_TRY(suite_path(path, "%s/vae", folder));
    if (is_folder(path)) DIT_TRY(take_part(path, &b->vae, b->vae_weights));
    DIT_TRY(suite_path(path, "%s/scheduler", folder));
    return take_scheduler(path, &b->scheduler);
}

/* A model with all that belongs to it in one folder: config.json, weights, scheduler_config.json, and vae/ if it has
 * one. */
static dit_status take_bundle(suite_request_builder *b, const char *folder)
{
    char path[SUITE_PATH];
    name_after(b, folder);
    DIT_TRY(take_part(folder, &b->config, b->weights));
    DIT_TRY(suite_path(path, "%s/vae", folder));
    if (is_folder(path)) DIT_TRY(take_part(path, &b->vae, b->vae_weights));
    return take_scheduler(folder, &b->scheduler);
}

/* A folder beside the run's own, by the name e2e.json gives. */
static dit_status take_sibling(suite_request_builder *b, const char *folder, const char *key, cJSON **config,
                               char weights[SUITE_PATH])
{
    const char *name = NULL;
    char path[SUITE_PATH];
    DIT_TRY(dit_json_optional_string(&b->call, b->call.root, "", key, &name));
    if (!name) return DIT_OK;
    if (strchr(name, '/') || name[0] == '.') {
        char at[32];
        snprintf(at, sizeof at, "/%s", key);
        return dit_json_fail(&b->call, at, DIT_ERR_JSON_VALUE, "\"%s\" is not the name of a folder beside this one",
                             name);
    }
    DIT_TRY(suite_path(path, "%s/../%s", folder, name));
    return take_part(path, config, weights);
}

static dit_status take_run(suite_request_builder *b, const char *folder)
{
    const cJSON *scheduler;
    char path[SUITE_PATH];
    name_after(b, folder);
    DIT_TRY(suite_path(path, "%s/e2e.json", folder));
    DIT_TRY(dit_json_read_lenient(path, &b->call));
    DIT_TRY(take_sibling(b, folder, "transformer", &b->config, b->weights));
    DIT_TRY(take_sibling(b, folder, "vae", &b->vae, b->vae_weights));
    DIT_TRY(dit_json_require_object(&b->call, b->call.root, "", "scheduler", &scheduler));
    b->scheduler = cJSON_Duplicate(scheduler, true);
    DIT_TRY(suite_path(path, "%s/inputs.safetensors", folder));
    return b->scheduler ? suite_request_absolute(path, b->inputs) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

static dit_status copy_config(const cJSON *from, cJSON **out)
{
    *out = cJSON_Duplicate(from, true);
    dit_json_drop_nulls(*out);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

/* Names of models that can run; of those, where `start` is given, the ones that begin with it in any case. */
static dit_status runnable_models(const char *start, char ***names)
{
    char **all;
    int kept = 0;
    DIT_TRY(suite_catalogue_names("models", &all));
    for (int i = 0; all[i]; i++) {
        suite_model model;
        bool wanted = !start || strncasecmp(all[i], start, strlen(start)) == 0;
        bool runs = wanted && suite_model_load(all[i], &model) == DIT_OK; /* a broken file is validate's business */
        bool built = runs && model.config;
        if (runs) suite_model_release(&model);
        if (built)
            all[kept++] = all[i];
        else
            free(all[i]);
    }
    all[kept] = NULL;
    dit_error_clear();
    *names = all;
    return DIT_OK;
}

/* A word that is neither a folder nor a model: what it may have meant. */
static dit_status fail_source(const char *source)
{
    static const char folder[] = "a diffusers checkpoint is given as the path of its folder, which holds "
                                 "model_index.json (nothing is downloaded)";
    char **alike, **all, list[300];
    DIT_TRY(runnable_models(source, &alike));
    dit_words_join((const char *const *)alike, list, sizeof list);
    suite_names_free(alike);
    DIT_TRY(runnable_models(NULL, &all));
    const char *near = list[0] ? NULL : dit_nearest_word(source, (const char *const *)all);
    dit_status st = DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no folder %s, and no model of that name", source);
    st = list[0] ? dit_error_hint(st, "models that begin so, with seeded weights: %s; %s", list, folder)
         : near  ? dit_error_hint(st, "did you mean %s? %s", near, folder)
                 : dit_error_hint(st, "`ditbench list models` shows the models; %s", folder);
    suite_names_free(all);
    return st;
}

/* Whether the catalogue has the model that NAME or NAME~VARIANT names. */
static dit_status is_in_catalogue(const char *name, bool *out)
{
    char **names;
    size_t length = strcspn(name, "~");
    *out = false;
    DIT_TRY(suite_catalogue_names("models", &names));
    for (int i = 0; names[i]; i++) *out |= strlen(names[i]) == length && strncmp(names[i], name, length) == 0;
    suite_names_free(names);
    return DIT_OK;
}

static dit_status take_model(suite_request_builder *b, const char *name)
{
    suite_vae vae;
    bool known;
    DIT_TRY(is_in_catalogue(name, &known));
    if (!known) return fail_source(name);
    DIT_TRY(suite_model_load(name, &b->model));
    b->from_catalogue = true;
    if (!b->model.config)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED,
                                       "%s cannot be run: the catalogue has facts about its architecture only, and "
                                       "this family is not supported",
                                       b->model.name),
                              "`ditbench list models` shows what can run");
    snprintf(b->name, sizeof b->name, "%s", b->model.variant);
    DIT_TRY(copy_config(b->model.config, &b->config));
    DIT_TRY(copy_config(b->model.scheduler, &b->scheduler));
    b->boundary_ratio = b->model.boundary_ratio;
    if (!b->model.vae) return DIT_OK;
    DIT_TRY(suite_vae_load(b->model.vae, &vae));
    dit_status st = vae.built ? copy_config(vae.config, &b->vae) : DIT_OK;
    suite_vae_release(&vae);
    return st;
}

dit_status suite_request_take_source(suite_request_builder *b)
{
    char folder[SUITE_PATH];
    const char *source = b->r->source;
    if (!source) return DIT_OK;
    if (!is_folder(source) && strchr(source, '/'))
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no folder %s", source),
                              "nothing is downloaded: name a checkpoint folder on this disk, or a model of "
                              "`ditbench list models`");
    if (!is_folder(source)) return take_model(b, source);
    DIT_TRY(suite_request_absolute(source, folder));
    if (has_file(folder, "model_index.json")) return take_checkpoint(b, folder);
    if (has_file(folder, "e2e.json")) return take_run(b, folder);
    if (has_file(folder, "config.json") && has_file(folder, "scheduler_config.json")) return take_bundle(b, folder);
    return suite_checkpoint_refuse(source);
}

dit_status suite_request_take_options(suite_request_builder *b)
{
    const suite_request *r = b->r;
    if (r->transformer) {
        DIT_TRY(take_part(r->transformer, &b->config, b->weights));
        b->boundary_ratio = 0;
        name_after(b, b->weights);
    }
    if (r->vae) DIT_TRY(take_part(r->vae, &b->vae, b->vae_weights));
    if (r->scheduler) DIT_TRY(take_scheduler(r->scheduler, &b->scheduler));
    if (r->weights) DIT_TRY(suite_request_absolute(r->weights, b->weights));
    if (r->inputs) DIT_TRY(suite_request_absolute(r->inputs, b->inputs));
    if (!b->config)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "there is no model: give SOURCE or --transformer"),
                              "`ditbench list models` shows names");
    if (!b->scheduler)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE,
                     "there is no scheduler: give one with --scheduler, because --transformer does not name one"),
            "add --scheduler FILE, a scheduler_config.json");
    return DIT_OK;
}

dit_status suite_request_find_text(suite_request_builder *b)
{
    const char *places[] = {b->weights, b->r->source};
    if (!b->r->prompt_count && !b->r->split) return DIT_OK;
    if (b->inputs[0] && b->r->inputs)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--prompt and --inputs both say what the picture shows"),
                              "give one of them");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i] && places[i][0] && has_file(places[i], "vocabulary.json"))
            return suite_request_absolute(places[i], b->text_table);
    if (!b->r->split && b->r->source && suite_checkpoint_reads_prompts(b->r->source))
        return suite_request_absolute(b->r->source, b->pipeline);
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_UNSUPPORTED, "--prompt: there is no text encoder, and %s has no text table", b->name),
        "name a diffusers folder with tokenizer/ and text_encoder/, or give embeddings that an encoder made with "
        "--inputs "
        "(prompt_embeds, ...); a text table is vocabulary.json and text.safetensors beside the model");
}
