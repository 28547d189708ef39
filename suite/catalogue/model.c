#include "suite/catalogue/model.h"

#include "base/architecture.h"
#include "base/json.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t integer_member(const cJSON *object, const char *key)
{
    const cJSON *item = dit_json_member(object, key);
    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : 0;
}

/* The blocks of a config, by the keys of its class. */
static int64_t count_layers(const dit_architecture *architecture, const cJSON *config)
{
    int64_t layers = 0;
    if (!architecture) return integer_member(config, "num_layers") + integer_member(config, "num_single_layers");
    for (int i = 0; i < DIT_BLOCK_KINDS && architecture->kinds[i].key; i++)
        layers += integer_member(config, architecture->kinds[i].key);
    return layers;
}

/* Layers times width squared: what a transformer's parameters grow with. */
static double weight_of(const cJSON *config)
{
    const char *family = dit_json_text_or(config, "_class_name", NULL);
    const dit_architecture *architecture = family ? dit_architecture_find(family) : NULL;
    const char *width = architecture ? architecture->width_key : NULL;
    double hidden = (double)integer_member(config, width ? width : "attention_head_dim");
    if (!width) hidden *= (double)integer_member(config, "num_attention_heads");
    return (double)count_layers(architecture, config) * hidden * hidden;
}

/* Bytes and flops are products of several sizes, and whole numbers of 64 bits. */
static dit_status check_numbers(const dit_json *doc, const char *pointer, const cJSON *object)
{
    const double most = 1 << 20;
    const cJSON *item;
    char at[512], name[32];
    int index = 0;
    cJSON_ArrayForEach(item, object)
    {
        snprintf(name, sizeof name, "%d", index++);
        dit_json_pointer_join(at, sizeof at, pointer, item->string ? item->string : name);
        if (cJSON_IsNumber(item) && fabs(item->valuedouble) > most)
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%g is more than the %.0f that any size here may be",
                                 item->valuedouble, most);
        DIT_TRY(check_numbers(doc, at, item));
    }
    return DIT_OK;
}

static dit_status check_weight(const dit_json *doc, const char *pointer, const cJSON *config)
{
    const double most = 1e14;
    if (weight_of(config) <= most) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                         "layers times the square of the width is %.3g; a model may have at most %.0e",
                         weight_of(config), most);
}

static dit_status check_sizes(const suite_model *model)
{
    static const char *const parts[] = {"latent", "text", "default_run", "config"};
    char at[64];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(at, sizeof at, "/%s", parts[i]);
        DIT_TRY(check_numbers(&model->source, at, dit_json_member(model->source.root, parts[i])));
    }
    return check_weight(&model->source, "/config", model->config);
}

static dit_status read_kind(suite_model *model)
{
    static const char *const kinds[] = {"image", "video", NULL};
    const dit_json *doc = &model->source;
    const cJSON *architecture = NULL;
    double billions = 0;
    const char *kind;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "kind", &kind));
    model->video = strcmp(kind, kinds[1]) == 0;
    if (!model->video && strcmp(kind, kinds[0]) != 0) return dit_json_fail_word(doc, "/kind", "kind", kind, kinds);
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "architecture", &architecture));
    if (!architecture) return DIT_OK;
    DIT_TRY(dit_json_optional_number(doc, architecture, "/architecture", "params_b", 0, 1e6, &billions));
    model->parameters = (int64_t)(billions * 1e9);
    return DIT_OK;
}

static dit_status check_variants(const suite_model *model)
{
    static const char *const keys[] = {"override", "why", NULL};
    const dit_json *doc = &model->source;
    const cJSON *variant, *override;
    const char *why;
    char at[256];
    cJSON_ArrayForEach(variant, model->variants)
    {
        dit_json_pointer_join(at, sizeof at, "/variants", variant->string);
        if (!cJSON_IsObject(variant))
            return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a variant is {\"override\", \"why\"}");
        DIT_TRY(suite_only_keys(doc, variant, at, keys));
        DIT_TRY(dit_json_require_object(doc, variant, at, "override", &override));
        DIT_TRY(dit_json_require_string(doc, variant, at, "why", &why));
    }
    return DIT_OK;
}

static dit_status read_weights(suite_model *model, const cJSON *weights)
{
    static const char *const keys[] = {"name", "digest", NULL};
    const dit_json *doc = &model->source;
    DIT_TRY(suite_only_keys(doc, weights, "/weights", keys));
    DIT_TRY(dit_json_require_string(doc, weights, "/weights", "name", &model->weights));
    return dit_json_require_string(doc, weights, "/weights", "digest", &model->weights_digest);
}

static dit_status read_second(suite_model *model, const cJSON *second)
{
    static const char *const keys[] = {"boundary_ratio", NULL};
    DIT_TRY(suite_only_keys(&model->source, second, "/transformer_2", keys));
    return dit_json_require_number(&model->source, second, "/transformer_2", "boundary_ratio", 0, 1,
                                   &model->boundary_ratio);
}

static dit_status read_model(suite_model *model)
{
    static const char *const keys[] = {"schema",        "name",      "title",         "kind",     "architecture",
                                       "latent",        "text",      "vae",           "guidance", "default_run",
                                       "config",        "scheduler", "variants",      "derived",  "source",
                                       "text_encoders", "weights",   "transformer_2", "left_out", NULL};
    static const char *const guidances[] = {"cfg", "distilled", "none", NULL};
    const dit_json *doc = &model->source;
    const cJSON *object = NULL, *encoders = NULL, *weights = NULL, *second = NULL;
    DIT_TRY(suite_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.model/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &model->name));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "title", &model->title));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "guidance", &model->guidance));
    if (dit_words_find(guidances, model->guidance) < 0)
        return dit_json_fail_word(doc, "/guidance", "guidance", model->guidance, guidances);
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "latent", &object));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "text", &object));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "default_run", &object));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "config", &object));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "scheduler", &object));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "variants", &object));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "vae", &model->vae));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "text_encoders", &encoders));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "weights", &weights));
    if (weights) DIT_TRY(read_weights(model, weights));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "transformer_2", &second));
    if (second) DIT_TRY(read_second(model, second));
    DIT_TRY(read_kind(model));
    model->latent = cJSON_GetObjectItemCaseSensitive(doc->root, "latent");
    model->text = cJSON_GetObjectItemCaseSensitive(doc->root, "text");
    model->default_run = cJSON_GetObjectItemCaseSensitive(doc->root, "default_run");
    model->config = cJSON_GetObjectItemCaseSensitive(doc->root, "config");
    model->scheduler = cJSON_GetObjectItemCaseSensitive(doc->root, "scheduler");
    model->variants = cJSON_GetObjectItemCaseSensitive(doc->root, "variants");
    model->text_encoders = cJSON_GetObjectItemCaseSensitive(doc->root, "text_encoders");
    if (model->config && !model->scheduler)
        return dit_json_fail(doc, "/config", DIT_ERR_JSON_MISSING, "a model with a config needs its scheduler too");
    DIT_TRY(check_sizes(model));
    return check_variants(model);
}

/* Lays the file's own variant over its config. */
static dit_status take_variant(suite_model *model, const char *name)
{
    enum { MOST = 32 };
    const char *names[MOST + 1] = {0};
    char at[256], list[400] = "";
    int count = 0;
    const cJSON *variant = dit_json_member(model->variants, name), *one;
    if (variant) {
        dit_json_pointer_join(at, sizeof at, "/variants", name);
        return suite_model_override(model, &model->source, at, dit_json_member(variant, "override"), name);
    }
    cJSON_ArrayForEach(one, model->variants)
    {
        if (count < MOST) names[count++] = one->string;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s~%s", used ? ", " : "", model->name, one->string);
    }
    const char *near = dit_nearest_word(name, names);
    dit_status st = DIT_FAIL(DIT_ERR_NOT_FOUND, "model %s has no variant \"%s\"", model->name, name);
    if (near) return dit_error_hint(st, "did you mean \"%s~%s\"?", model->name, near);
    return dit_error_hint(st, "%s%s", count ? "there are: " : "its file names no variants", list);
}

dit_status suite_model_load(const char *name, suite_model *out)
{
    char file[160];
    const char *variant = strchr(name, '~'), *override = strchr(name, '{');
    *out = (suite_model){0};
    if (override)
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "\"%s\" is the label of an override, not a name", name),
                              "write {\"name\": \"%.*s\", \"as\": \"%.*s\", \"override\": {...}}",
                              (int)(override - name), name, (int)strcspn(override + 1, "}"), override + 1);
    snprintf(file, sizeof file, "%.*s", variant ? (int)(variant - name) : 150, name);
    DIT_TRY(suite_catalogue_open("models", "model", file, &out->source));
    dit_status st = read_model(out);
    if (st == DIT_OK && strcmp(out->name, file) != 0)
        st = dit_json_fail(&out->source, "/name", DIT_ERR_JSON_VALUE,
                           "the file is called %s, but its model is called \"%s\"", file, out->name);
    if (st == DIT_OK) snprintf(out->variant, sizeof out->variant, "%s", file);
    if (st == DIT_OK && variant) st = take_variant(out, variant + 1);
    if (st != DIT_OK) suite_model_release(out);
    return st;
}

void suite_model_release(suite_model *model)
{
    dit_json_release(&model->source);
    *model = (suite_model){0};
}

/* ---- overrides --------------------------------------------------------------------------------------------------- */

static bool same_type(const cJSON *a, const cJSON *b)
{
    if (cJSON_IsNull(a)) return !cJSON_IsObject(b);
    if (cJSON_IsBool(a)) return cJSON_IsBool(b);
    return cJSON_IsNull(b) || (a->type & 0xff) == (b->type & 0xff);
}

/* Every member of `override` replaces the member of the same name and type of `target`. */
static dit_status lay_over(const dit_json *doc, const char *pointer, const cJSON *override, cJSON *target)
{
    const char *keys[128] = {0};
    int count = 0;
    char at[512];
    for (const cJSON *item = target->child; item && count < 127; item = item->next) keys[count++] = item->string;
    DIT_TRY(dit_json_only_keys(doc, override, pointer, keys));
    for (const cJSON *item = override->child; item; item = item->next) {
        dit_json_pointer_join(at, sizeof at, pointer, item->string);
        if (!same_type(dit_json_member(target, item->string), item))
            return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "%s has another JSON type in the model", item->string);
        cJSON *copy = cJSON_Duplicate(item, 1);
        if (!copy || !cJSON_ReplaceItemInObjectCaseSensitive(target, item->string, copy)) {
            cJSON_Delete(copy);
            return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an override");
        }
    }
    return DIT_OK;
}

/* diffusers ties these to each other; a config that breaks them cannot be built. HunyuanDiT's cross_attention_dim is
 * the width of the text. */
static dit_status check_widths(const suite_model *model, const dit_json *doc, const char *pointer)
{
    const char *family = dit_json_text_or(model->config, "_class_name", NULL);
    int64_t hidden =
        integer_member(model->config, "num_attention_heads") * integer_member(model->config, "attention_head_dim");
    int64_t cross = integer_member(model->config, "cross_attention_dim"), rope = 0;
    const cJSON *axes = dit_json_member(model->config, "axes_dims_rope"), *width;
    const dit_architecture *architecture = family ? dit_architecture_find(family) : NULL;
    if (architecture && architecture->cross_is_hidden && cross && cross != hidden)
        return dit_error_hint(
            dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                          "cross_attention_dim %lld is not num_attention_heads x attention_head_dim = %lld",
                          (long long)cross, (long long)hidden),
            "override \"cross_attention_dim\": %lld as well", (long long)hidden);
    if (!cJSON_IsArray(axes)) return DIT_OK;
    cJSON_ArrayForEach(width, axes) rope += cJSON_IsNumber(width) ? (int64_t)width->valuedouble : 0;
    if (rope != integer_member(model->config, "attention_head_dim"))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                             "axes_dims_rope add up to %lld, but attention_head_dim is %lld", (long long)rope,
                             (long long)integer_member(model->config, "attention_head_dim"));
    return DIT_OK;
}

/* The text widths of a case follow from the config. */
static void follow_text_widths(suite_model *model)
{
    static const struct {
        const char *config, *text;
    } ties[] = {{"caption_channels", "dim"},
                {"joint_attention_dim", "dim"},
                {"text_embed_dim", "dim"},
                {"text_dim", "dim"},
                {"pooled_projection_dim", "pooled_dim"}};
    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++) {
        const cJSON *width = dit_json_member(model->config, ties[i].config);
        cJSON *text = cJSON_GetObjectItemCaseSensitive(model->text, ties[i].text);
        if (cJSON_IsNumber(width) && text) cJSON_SetNumberValue(text, width->valuedouble);
    }
}

/* "NAME~VARIANT" of the catalogue, which a workload may write; "NAME{AS}" or "NAME{num_layers=4}" of a workload's own
 * override, which means nothing elsewhere. */
static void name_variant(suite_model *model, const cJSON *override, const char *as, bool of_catalogue)
{
    size_t size = sizeof model->variant, used = strlen(model->variant);
    if (as) {
        snprintf(model->variant + used, size - used, of_catalogue ? "~%s" : "{%s}", as);
        return;
    }
    for (const cJSON *item = override->child; item && used < size; item = item->next) {
        char *value = NULL;
        if (dit_json_canonical(item, &value) != DIT_OK) return;
        used += (size_t)snprintf(model->variant + used, size - used, "%c%s=%s%s", item == override->child ? '{' : ',',
                                 item->string, value, item->next ? "" : "}");
        free(value);
    }
}

dit_status suite_model_override(suite_model *model, const dit_json *doc, const char *pointer, const cJSON *override,
                                const char *as)
{
    if (!model->config)
        return dit_json_fail(doc, pointer, DIT_ERR_UNSUPPORTED,
                             "model %s has architecture facts only, so there is no config to override", model->name);
    double before = weight_of(model->config);
    DIT_TRY(check_numbers(doc, pointer, override));
    DIT_TRY(lay_over(doc, pointer, override, model->config));
    DIT_TRY(check_weight(doc, pointer, model->config));
    DIT_TRY(check_widths(model, doc, pointer));
    follow_text_widths(model);
    model->weights = model->weights_digest = NULL;
    if (before > 0) model->parameters = (int64_t)((double)model->parameters * weight_of(model->config) / before);
    name_variant(model, override, as, doc == &model->source);
    return DIT_OK;
}

dit_status suite_model_settle_config(suite_model *model, const dit_json *doc, const char *pointer)
{
    DIT_TRY(check_numbers(doc, pointer, model->config));
    DIT_TRY(check_weight(doc, pointer, model->config));
    DIT_TRY(check_widths(model, doc, pointer));
    follow_text_widths(model);
    model->weights = model->weights_digest = NULL;
    model->parameters = 0;
    return DIT_OK;
}

dit_status suite_model_scheduler(const suite_model *model, const dit_json *doc, const char *pointer,
                                 const cJSON *override, cJSON **out)
{
    const cJSON *own = dit_json_member(model->scheduler, "_class_name"),
                *other = dit_json_member(override, "_class_name");
    bool replaces = cJSON_IsString(own) && cJSON_IsString(other) && strcmp(own->valuestring, other->valuestring) != 0;
    *out = cJSON_Duplicate(replaces ? override : model->scheduler, 1);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a scheduler");
    if (replaces) return DIT_OK;
    dit_status st = lay_over(doc, pointer, override, *out);
    if (st == DIT_OK) return DIT_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return st;
}
