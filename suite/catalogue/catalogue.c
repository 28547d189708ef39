#include "suite/catalogue/catalogue.h"

#include "suite/catalogue/parameter.h"
#include "suite/machine/devices.h"
#include "suite/platform/cluster.h"
#include "suite/session/session.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

static bool is_workloads_folder(const char *path)
{
    char inside[PATH_MAX + 16];
    snprintf(inside, sizeof inside, "%s/models", path);
    return is_folder(inside);
}

/* Walks up from the running binary: build/bin/ditbench lies two folders below the source tree, a test program too;
 * PREFIX/bin/ditbench has PREFIX/share beside it, wherever PREFIX was moved to. */
static bool find_beside_binary(char out[PATH_MAX])
{
    char path[PATH_MAX - 32];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return false;
    path[length] = '\0';
    for (int level = 0; level < 5; level++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) return false;
        *slash = '\0';
        snprintf(out, PATH_MAX, "%s/workloads", path);
        if (is_workloads_folder(out)) return true;
        snprintf(out, PATH_MAX, "%s/share/ditbench/workloads", path);
        if (is_workloads_folder(out)) return true;
    }
    return false;
}

const char *suite_workloads_folder(void)
{
    static _Thread_local char found[PATH_MAX];
    const char *named = getenv("DITBENCH_WORKLOADS");
    if (named && named[0]) {
        if (is_workloads_folder(named)) return named;
        dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "DITBENCH_WORKLOADS=%s has no models/ inside", named),
                       "point it at a workloads folder, or unset it");
        return NULL;
    }
    if (is_workloads_folder("workloads")) return "workloads";
    if (find_beside_binary(found)) return found;
    dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "no workloads folder: not here, not beside the program"),
                   "set DITBENCH_WORKLOADS to the folder that holds models/ and platforms/");
    return NULL;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

typedef struct {
    char **words;
    int count;
} name_list;

static dit_status list_add(name_list *list, const char *word)
{
    char **larger = realloc(list->words, (size_t)(list->count + 2) * sizeof *larger);
    char *copy = strdup(word);
    if (larger) list->words = larger;
    if (!larger || !copy) {
        free(copy);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list of names");
    }
    list->words[list->count++] = copy;
    list->words[list->count] = NULL;
    return DIT_OK;
}

/* "smoke/smoke.json" in folder "smoke" is called "smoke", "cpu/methods.json" "cpu/methods", "papers/usp/usp.json"
 * "papers/usp". */
static dit_status list_add_file(name_list *list, const char *prefix, const char *file)
{
    char name[PATH_MAX + NAME_MAX];
    size_t length = strlen(file);
    if (length < 6 || file[0] == '.' || strcmp(file + length - 5, ".json") != 0) return DIT_OK;
    const char *slash = strrchr(prefix, '/'), *folder = slash ? slash + 1 : prefix;
    bool same = strlen(folder) == length - 5 && strncmp(folder, file, length - 5) == 0;
    if (same)
        snprintf(name, sizeof name, "%s", prefix);
    else if (!prefix[0])
        snprintf(name, sizeof name, "%.*s", (int)(length - 5), file);
    else
        snprintf(name, sizeof name, "%s/%.*s", prefix, (int)(length - 5), file);
    return list_add(list, name);
}

static dit_status list_folder(name_list *list, const char *folder, const char *prefix)
{
    dit_status st = DIT_OK;
    DIR *dir = opendir(folder);
    if (!dir) return DIT_FAIL(DIT_ERR_IO, "cannot read the folder %s", folder);
    for (struct dirent *entry; st == DIT_OK && (entry = readdir(dir));) st = list_add_file(list, prefix, entry->d_name);
    closedir(dir);
    return st;
}

static bool holds_workloads(const char *name)
{
    static const char *const others[] = {"models", "vaes",     "platforms",    "schema",       "accelerators",
                                         "links",  "profiles", "calibrations", "text_encoders"};
    if (name[0] == '.') return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0) return false;
    return true;
}

/* Files of the folder's folders; of those of "papers" one level further. */
static dit_status list_workloads(name_list *list, const char *folder, const char *prefix)
{
    dit_status st = DIT_OK;
    DIR *dir = opendir(folder);
    if (!dir) return DIT_FAIL(DIT_ERR_IO, "cannot read the folder %s", folder);
    for (struct dirent *entry; st == DIT_OK && (entry = readdir(dir));) {
        char inside[PATH_MAX], name[PATH_MAX];
        snprintf(inside, sizeof inside, "%s/%s", folder, entry->d_name);
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "/" : "", entry->d_name);
        if (!holds_workloads(entry->d_name) || !is_folder(inside)) continue;
        st = strcmp(name, "papers") == 0 ? list_workloads(list, inside, name) : list_folder(list, inside, name);
    }
    closedir(dir);
    return st;
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

dit_status suite_catalogue_names(const char *kind, char ***names)
{
    char folder[PATH_MAX];
    name_list list = {0};
    const char *root = suite_workloads_folder();
    *names = NULL;
    if (!root) return DIT_ERR_ENVIRONMENT;
    snprintf(folder, sizeof folder, "%s/%s", root, kind);
    dit_status st = strcmp(kind, "workloads") == 0 ? list_workloads(&list, root, "") : list_folder(&list, folder, "");
    if (st == DIT_OK && !list.words) {
        list.words = calloc(1, sizeof *list.words);
        if (!list.words) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list of names");
    }
    if (st != DIT_OK) {
        suite_names_free(list.words);
        return st;
    }
    if (list.count) qsort(list.words, (size_t)list.count, sizeof *list.words, compare_words);
    *names = list.words;
    return DIT_OK;
}

void suite_names_free(char **names)
{
    for (char **word = names; word && *word; word++) free(*word);
    free(names);
}

/* "there is no KIND "NAME"", the hint naming the nearest, or all when none is near. */
static dit_status fail_not_found(const char *kind, const char *what, const char *name)
{
    char **names, all[400] = "";
    dit_status st = suite_catalogue_names(kind, &names);
    if (st != DIT_OK) return st;
    const char *near = dit_nearest_word(name, (const char *const *)names);
    for (int i = 0; names[i] && strlen(all) + strlen(names[i]) + 3 < sizeof all; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", names[i]);
    st = DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no %s \"%s\"", what, name);
    st = near ? dit_error_hint(st, "did you mean \"%s\"?", near) : dit_error_hint(st, "there are: %s", all);
    suite_names_free(names);
    return st;
}

static bool is_plain_name(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/');
}

bool suite_catalogue_local(const char *kind, const char *name, char path[SUITE_PATH])
{
    static const char *const kinds[] = {"accelerators", "profiles", "platforms", "links", NULL};
    char root[SUITE_PATH], file[SUITE_PATH];
    bool own = false;
    for (int i = 0; kinds[i]; i++) own = own || strcmp(kinds[i], kind) == 0;
    if (!own || suite_session_root(root) != DIT_OK) return false;
    if (suite_path(file, "%s/calibration/%s/%s.json", root, kind, name) != DIT_OK || !is_file(file)) return false;
    memcpy(path, file, sizeof file);
    return true;
}

static dit_status read_data_file(const char *kind, const char *what, const char *name, dit_json *out)
{
    char path[SUITE_PATH];
    const char *root = suite_workloads_folder();
    if (!root) return DIT_ERR_ENVIRONMENT;
    snprintf(path, sizeof path, "%s/%s/%s.json", root, kind, name);
    if (is_plain_name(name)) suite_catalogue_local(kind, name, path);
    if (!is_plain_name(name) || !is_file(path)) return fail_not_found(kind, what, name);
    return dit_json_read_file(path, out);
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* Names whose last part is `name`, or contains it; as one text, and the first of them. */
static int match_last_part(char *const *names, const char *name, bool whole, char all[600], const char **first)
{
    int count = 0;
    all[0] = '\0';
    for (; *names; names++) {
        const char *part = last_part(*names);
        if (whole ? strcmp(part, name) != 0 : !strstr(part, name)) continue;
        if (!count++) *first = *names;
        if (strlen(all) + strlen(*names) + 3 < 600)
            snprintf(all + strlen(all), 600 - strlen(all), "%s%s", count > 1 ? ", " : "", *names);
    }
    return count;
}

/* The workload whose last part is nearest to a misspelt one; NULL when none is near. */
static const char *nearest_last_part(char *const *names, const char *name)
{
    const char *parts[1000];
    int count = 0;
    while (names[count] && count < 999) parts[count] = last_part(names[count]), count++;
    parts[count] = NULL;
    const char *near = dit_nearest_word(name, parts);
    for (int i = 0; i < count; i++)
        if (near == parts[i]) return names[i];
    return NULL;
}

/* "xdit-scal-flux-16l40" alone, when no other workload ends so; else those that it may mean. */
static dit_status find_by_last_part(const char *root, const char *name, char *path, size_t size)
{
    char **names, all[600];
    const char *found = NULL;
    dit_status st = suite_catalogue_names("workloads", &names);
    if (st != DIT_OK) return st;
    int count = match_last_part(names, name, true, all, &found);
    if (count == 1) {
        snprintf(path, size, "%s/%s.json", root, found);
        if (!is_file(path)) snprintf(path, size, "%s/%s/%s.json", root, found, last_part(found));
    } else {
        if (!count) count = match_last_part(names, name, false, all, &found);
        const char *near = count ? NULL : nearest_last_part(names, name);
        st = DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no workload file or name \"%s\"", name);
        if (count)
            dit_error_hint(st, "there %s %s", count == 1 ? "is" : "are", all);
        else if (near)
            dit_error_hint(st, "did you mean \"%s\"?", near);
        else
            st = fail_not_found("workloads", "workload file or name", name);
    }
    suite_names_free(names);
    return st;
}

dit_status suite_workload_find(const char *name, char *path, size_t size)
{
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    snprintf(path, size, "%s", name);
    if (is_file(path)) return DIT_OK;
    const char *root = suite_workloads_folder();
    if (!root) return DIT_ERR_ENVIRONMENT;
    snprintf(path, size, "%s/%s.json", root, name);
    if (is_file(path)) return DIT_OK;
    snprintf(path, size, "%s/%s/%s.json", root, name, base);
    if (is_file(path)) return DIT_OK;
    return find_by_last_part(root, name, path, size);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static dit_status check_schema(const dit_json *doc, const char *wanted)
{
    const char *schema;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "schema", &schema));
    if (strcmp(schema, wanted) == 0) return DIT_OK;
    return dit_error_hint(
        dit_json_fail(doc, "/schema", DIT_ERR_JSON_VALUE, "schema \"%s\" is not \"%s\"", schema, wanted),
        "this program reads version 1 of that document");
}

dit_status suite_catalogue_read(const char *kind, const char *what, const char *name, const char *schema, dit_json *out)
{
    const char *own;
    *out = (dit_json){0};
    DIT_TRY(read_data_file(kind, what, name, out));
    dit_status st = check_schema(out, schema);
    if (st == DIT_OK) st = dit_json_require_string(out, out->root, "", "name", &own);
    if (st == DIT_OK && strcmp(own, name) != 0)
        st = dit_json_fail(out, "/name", DIT_ERR_JSON_VALUE, "the file is called %s, the %s \"%s\"", name, what, own);
    if (st != DIT_OK) {
        dit_json_release(out);
        *out = (dit_json){0};
    }
    return st;
}

static int64_t integer_member(const cJSON *object, const char *key)
{
    const cJSON *item = member(object, key);
    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : 0;
}

/* Layers times width squared: what a transformer's parameters grow with. */
static double weight_of(const cJSON *config)
{
    double hidden =
        (double)integer_member(config, "num_attention_heads") * (double)integer_member(config, "attention_head_dim");
    int64_t layers = integer_member(config, "num_layers") + integer_member(config, "num_single_layers");
    return (double)layers * hidden * hidden;
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
        suite_pointer_join(at, sizeof at, pointer, item->string ? item->string : name);
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
                         "layers times width squared is %.3g, more than the %.0e that a model may have",
                         weight_of(config), most);
}

static dit_status check_sizes(const suite_model *model)
{
    static const char *const parts[] = {"latent", "text", "default_run", "config"};
    char at[64];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(at, sizeof at, "/%s", parts[i]);
        DIT_TRY(check_numbers(&model->source, at, member(model->source.root, parts[i])));
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
    if (!model->video && strcmp(kind, kinds[0]) != 0) return suite_fail_word(doc, "/kind", "kind", kind, kinds);
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
        suite_pointer_join(at, sizeof at, "/variants", variant->string);
        if (!cJSON_IsObject(variant))
            return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a variant is {\"override\", \"why\"}");
        DIT_TRY(suite_only_keys(doc, variant, at, keys));
        DIT_TRY(dit_json_require_object(doc, variant, at, "override", &override));
        DIT_TRY(dit_json_require_string(doc, variant, at, "why", &why));
    }
    return DIT_OK;
}

static dit_status read_model(suite_model *model)
{
    static const char *const keys[] = {
        "schema",      "name",   "title",     "kind",     "architecture", "latent", "text",          "vae", "guidance",
        "default_run", "config", "scheduler", "variants", "derived",      "source", "text_encoders", NULL};
    static const char *const guidances[] = {"cfg", "distilled", "none", NULL};
    const dit_json *doc = &model->source;
    const cJSON *object = NULL, *encoders = NULL;
    DIT_TRY(suite_only_keys(doc, doc->root, "", keys));
    DIT_TRY(check_schema(doc, "ditbench.model/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &model->name));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "title", &model->title));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "guidance", &model->guidance));
    for (int i = 0; strcmp(model->guidance, guidances[i]) != 0; i++)
        if (!guidances[i + 1]) return suite_fail_word(doc, "/guidance", "guidance", model->guidance, guidances);
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "latent", &object));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "text", &object));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "default_run", &object));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "config", &object));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "scheduler", &object));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "variants", &object));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "vae", &model->vae));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "text_encoders", &encoders));
    DIT_TRY(read_kind(model));
    model->latent = member(doc->root, "latent");
    model->text = member(doc->root, "text");
    model->default_run = member(doc->root, "default_run");
    model->config = member(doc->root, "config");
    model->scheduler = member(doc->root, "scheduler");
    model->variants = member(doc->root, "variants");
    model->text_encoders = member(doc->root, "text_encoders");
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
    const cJSON *variant = member(model->variants, name), *one;
    if (variant) {
        suite_pointer_join(at, sizeof at, "/variants", name);
        return suite_model_override(model, &model->source, at, member(variant, "override"), name);
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
    DIT_TRY(read_data_file("models", "model", file, &out->source));
    dit_status st = read_model(out);
    if (st == DIT_OK && strcmp(out->name, file) != 0)
        st = dit_json_fail(&out->source, "/name", DIT_ERR_JSON_VALUE, "the file is called %s, the model \"%s\"", file,
                           out->name);
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
        suite_pointer_join(at, sizeof at, pointer, item->string);
        if (!same_type(member(target, item->string), item))
            return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "%s has another type in the model", item->string);
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
    const char *family = cJSON_GetStringValue(member(model->config, "_class_name"));
    int64_t hidden =
        integer_member(model->config, "num_attention_heads") * integer_member(model->config, "attention_head_dim");
    int64_t cross = integer_member(model->config, "cross_attention_dim"), rope = 0;
    const cJSON *axes = member(model->config, "axes_dims_rope"), *width;
    bool tied = family && (strncmp(family, "PixArt", 6) == 0 || strncmp(family, "Latte", 5) == 0);
    if (tied && cross && cross != hidden)
        return dit_error_hint(
            dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                          "cross_attention_dim %lld is not num_attention_heads x attention_head_dim = %lld",
                          (long long)cross, (long long)hidden),
            "override \"cross_attention_dim\": %lld as well", (long long)hidden);
    if (!cJSON_IsArray(axes)) return DIT_OK;
    cJSON_ArrayForEach(width, axes) rope += cJSON_IsNumber(width) ? (int64_t)width->valuedouble : 0;
    if (rope != integer_member(model->config, "attention_head_dim"))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE,
                             "axes_dims_rope add up to %lld, attention_head_dim is %lld", (long long)rope,
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
        const cJSON *width = member(model->config, ties[i].config);
        cJSON *text = member(model->text, ties[i].text);
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
                             "model %s has architecture facts only, no config to override", model->name);
    double before = weight_of(model->config);
    DIT_TRY(check_numbers(doc, pointer, override));
    DIT_TRY(lay_over(doc, pointer, override, model->config));
    DIT_TRY(check_weight(doc, pointer, model->config));
    DIT_TRY(check_widths(model, doc, pointer));
    follow_text_widths(model);
    if (before > 0) model->parameters = (int64_t)((double)model->parameters * weight_of(model->config) / before);
    name_variant(model, override, as, doc == &model->source);
    return DIT_OK;
}

dit_status suite_model_scheduler(const suite_model *model, const dit_json *doc, const char *pointer,
                                 const cJSON *override, cJSON **out)
{
    const cJSON *own = member(model->scheduler, "_class_name"), *other = member(override, "_class_name");
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

/* ---- autoencoders ------------------------------------------------------------------------------------------------ */

static dit_status read_vae(suite_vae *vae)
{
    static const char *const keys[] = {"schema", "name", "title", "config", "source", NULL};
    const dit_json *doc = &vae->source;
    const cJSON *source;
    DIT_TRY(suite_only_keys(doc, doc->root, "", keys));
    DIT_TRY(check_schema(doc, "ditbench.vae/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &vae->name));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "title", &vae->title));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "source", &source));
    return dit_json_require_object(doc, doc->root, "", "config", &vae->config);
}

dit_status suite_vae_load(const char *name, suite_vae *out)
{
    *out = (suite_vae){0};
    DIT_TRY(read_data_file("vaes", "VAE", name, &out->source));
    dit_status st = read_vae(out);
    if (st == DIT_OK && strcmp(out->name, name) != 0)
        st = dit_json_fail(&out->source, "/name", DIT_ERR_JSON_VALUE, "the file is called %s, the VAE \"%s\"", name,
                           out->name);
    if (st != DIT_OK) suite_vae_release(out);
    return st;
}

void suite_vae_release(suite_vae *vae)
{
    dit_json_release(&vae->source);
    *vae = (suite_vae){0};
}

/* ---- platforms --------------------------------------------------------------------------------------------------- */

enum { MOST_DEVICES = 65536 };
static const int64_t MOST_BYTES = INT64_C(1) << 52;

static int machine_cores(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) return CPU_COUNT(&allowed);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static int64_t machine_memory_bytes(void)
{
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), limit;
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        FILE *file = fopen(limits[i], "r");
        long long value = 0;
        if (!file) continue;
        if (fscanf(file, "%lld", &value) != 1) value = 0; /* "max" */
        fclose(file);
        limit = value;
        if (limit > 0 && limit < bytes) bytes = limit;
    }
    return bytes;
}

/* An integer, or "auto". */
static dit_status read_auto(const dit_json *doc, const char *key, int64_t max, int64_t automatic, int64_t *out)
{
    const cJSON *item = member(doc->root, key);
    if (cJSON_IsString(item) && strcmp(item->valuestring, "auto") == 0) {
        *out = automatic;
        return DIT_OK;
    }
    return dit_json_require_int(doc, doc->root, "", key, 1, max, out);
}

static dit_status read_word(const dit_json *doc, const char *key, const char *const *words, char *out, size_t size)
{
    const char *word;
    char pointer[64];
    DIT_TRY(dit_json_require_string(doc, doc->root, "", key, &word));
    for (int i = 0; words[i]; i++) {
        if (strcmp(word, words[i]) != 0) continue;
        snprintf(out, size, "%s", word);
        return DIT_OK;
    }
    snprintf(pointer, sizeof pointer, "/%s", key);
    return suite_fail_word(doc, pointer, key, word, words);
}

/* A declared cluster has as many devices, of so much memory each. */
static dit_status read_cluster(const dit_json *doc, suite_platform *out)
{
    suite_cluster cluster;
    suite_accelerator accelerator;
    DIT_TRY(suite_cluster_read(doc, &cluster));
    dit_status st = suite_accelerator_load(cluster.accelerator, &accelerator);
    if (st == DIT_OK && !accelerator.memory_bytes)
        st = dit_json_fail(doc, "/cluster/accelerator", DIT_ERR_JSON_VALUE, "the memory of a %s is unknown",
                           cluster.accelerator);
    out->devices = cluster.nodes * cluster.devices;
    out->memory_bytes = accelerator.memory_bytes;
    out->memory_per_device = cluster.topology != SUITE_TOPOLOGY_CORES;
    out->max_ranks = cluster.topology == SUITE_TOPOLOGY_CORES ? cluster.ranks : 0;
    suite_accelerator_release(&accelerator);
    suite_cluster_release(&cluster);
    return st;
}

/* Of an accelerator as it says itself, where there is one. */
static int64_t device_memory_bytes(const suite_platform *platform, bool each)
{
    suite_devices devices;
    if (!platform->on_device || !each) return machine_memory_bytes();
    suite_devices_find(NULL, platform->backend, &devices);
    return devices.memory_bytes ? devices.memory_bytes : MOST_BYTES;
}

static bool is_auto(const dit_json *doc, const char *key)
{
    const char *word = cJSON_GetStringValue(member(doc->root, key));
    return word && strcmp(word, "auto") == 0;
}

/* Devices are looked for when a case is to run on them: what cases there are does not depend on the machine. */
static dit_status read_machine(const dit_json *doc, suite_platform *out)
{
    static const char *const scopes[] = {"host", "device", NULL};
    char scope[16];
    int64_t devices, max_ranks = 0, memory = 0;
    DIT_TRY(read_word(doc, "memory_scope", scopes, scope, sizeof scope));
    out->memory_per_device = strcmp(scope, "device") == 0;
    DIT_TRY(read_auto(doc, "devices", MOST_DEVICES, out->on_device ? MOST_DEVICES : machine_cores(), &devices));
    if (is_auto(doc, "memory_bytes")) memory = device_memory_bytes(out, out->memory_per_device);
    DIT_TRY(read_auto(doc, "memory_bytes", MOST_BYTES, memory, &out->memory_bytes));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "max_ranks", 0, MOST_DEVICES, &max_ranks));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "share_devices", &out->share_devices));
    out->devices = (int)devices;
    out->max_ranks = (int)max_ranks;
    if (!out->share_devices || out->on_device) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, "/share_devices", DIT_ERR_JSON_VALUE,
                                        "backend %s has no devices that ranks could share", out->backend),
                          "of cores say max_ranks");
}

static dit_status read_platform(const dit_json *doc, suite_platform *out)
{
    static const char *const machine[] = {"schema",       "name",    "title",         "backend",
                                          "launcher",     "devices", "max_ranks",     "memory_bytes",
                                          "memory_scope", "source",  "share_devices", NULL};
    static const char *const simulated[] = {"schema",   "name",    "title",  "backend",
                                            "launcher", "cluster", "source", NULL};
    static const char *const backends[] = {"cpu", "ref", "cuda", "host", "cost", NULL};
    static const char *const launchers[] = {"mpirun", "srun", "smpirun", "print", NULL};
    const char *name, *title = "";
    bool declared = member(doc->root, "cluster") != NULL;
    DIT_TRY(suite_only_keys(doc, doc->root, "", declared ? simulated : machine));
    DIT_TRY(check_schema(doc, "ditbench.platform/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &name));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "title", &title));
    DIT_TRY(read_word(doc, "backend", backends, out->backend, sizeof out->backend));
    out->on_device = suite_backend_is_device(out->backend);
    DIT_TRY(read_word(doc, "launcher", launchers, out->launcher, sizeof out->launcher));
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->title, sizeof out->title, "%s", title);
    return declared ? read_cluster(doc, out) : read_machine(doc, out);
}

dit_status suite_platform_load(const char *name, suite_platform *out)
{
    dit_json doc;
    *out = (suite_platform){0};
    DIT_TRY(read_data_file("platforms", "platform", name, &doc));
    dit_status st = read_platform(&doc, out);
    if (st == DIT_OK && strcmp(out->name, name) != 0)
        st = dit_json_fail(&doc, "/name", DIT_ERR_JSON_VALUE, "the file is called %s, the platform \"%s\"", name,
                           out->name);
    dit_json_release(&doc);
    return st;
}
