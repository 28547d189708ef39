#include "suite/platform/calibration.h"

#include "base/json_writer.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"
#include "suite/paths.h"
#include "suite/platform/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what can be fitted ------------------------------------------------------------------------------------------ */

static const struct {
    suite_calibrated_of of;
    const char *key;
    double least, most;
} keys[] = {
#define KEY_ROW(name, of, key, least, most) {SUITE_CALIBRATED_##of, key, least, most},
    SUITE_CALIBRATED_LIST(KEY_ROW)
#undef KEY_ROW
};

static const char *const of_names[] = {"accelerator", "link", "profile", "platform", NULL};

const char *suite_calibrated_of_name(suite_calibrated_of of)
{
    return of_names[of];
}

suite_calibrated_of suite_calibrated_key_of(suite_calibrated_key key)
{
    return keys[key].of;
}

const char *suite_calibrated_key_name(suite_calibrated_key key)
{
    return keys[key].key;
}

void suite_calibrated_key_range(suite_calibrated_key key, double *least, double *most)
{
    *least = keys[key].least;
    *most = keys[key].most;
}

/* ---- what the data files say ------------------------------------------------------------------------------------- */

/* Scales are 1 where a file has none. */
static dit_status accelerator_prior(suite_calibrated_key key, const char *name, double *out)
{
    suite_accelerator accelerator;
    DIT_TRY(suite_accelerator_load(name, &accelerator));
    const cJSON *value = dit_json_member(accelerator.facts.cost, keys[key].key);
    dit_status st = DIT_OK;
    *out = cJSON_IsNumber(value) ? value->valuedouble : 1;
    if (!accelerator.facts.cost) st = DIT_FAIL(DIT_ERR_NOT_FOUND, "accelerator %s has no cost-model parameters", name);
    suite_accelerator_release(&accelerator);
    return st;
}

static dit_status link_prior(suite_calibrated_key key, const char *name, double *out)
{
    suite_link_class link_class;
    DIT_TRY(suite_link_class_load(name, &link_class));
    *out = key == SUITE_CALIBRATED_BANDWIDTH_EFFICIENCY   ? link_class.bandwidth_efficiency
           : key == SUITE_CALIBRATED_FEW_PEERS_EFFICIENCY ? link_class.few_peers_efficiency
                                                          : link_class.many_peers_efficiency;
    return DIT_OK;
}

static dit_status profile_prior(suite_calibrated_key key, const char *name, double *out)
{
    dit_json doc;
    DIT_TRY(suite_profile_read(name, &doc));
    *out = key == SUITE_CALIBRATED_CONV_EFFICIENCY || key == SUITE_CALIBRATED_CONV3D_EFFICIENCY ? 1 : 0;
    dit_status st = dit_json_optional_number(&doc, doc.root, "", keys[key].key, keys[key].least, keys[key].most, out);
    dit_json_release(&doc);
    return st;
}

static dit_status platform_prior(suite_calibrated_key key, const char *name, double *out)
{
    suite_cluster cluster = {0};
    (void)key;
    DIT_TRY(suite_cluster_load(name, &cluster));
    *out = cluster.host_scale;
    suite_cluster_release(&cluster);
    return DIT_OK;
}

dit_status suite_calibrated_prior(suite_calibrated_key key, const char *name, double *out)
{
    static dit_status (*const priors[])(suite_calibrated_key, const char *, double *) = {accelerator_prior, link_prior,
                                                                                         profile_prior, platform_prior};
    *out = 0;
    return priors[keys[key].of](key, name, out);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static dit_status read_of(const dit_json *doc, const cJSON *object, const char *pointer, suite_calibrated_of *out)
{
    const char *word;
    char at[256];
    DIT_TRY(dit_json_require_string(doc, object, pointer, "of", &word));
    for (int of = 0; of < SUITE_CALIBRATED_OF_COUNT; of++) {
        *out = (suite_calibrated_of)of;
        if (strcmp(word, of_names[of]) == 0) return DIT_OK;
    }
    dit_json_pointer_join(at, sizeof at, pointer, "of");
    return dit_json_fail_word(doc, at, "of", word, of_names);
}

/* One of the keys that `of` has; `at` is the pointer of the word. */
static dit_status take_key(const dit_json *doc, const char *at, suite_calibrated_of of, const char *word,
                           suite_calibrated_key *out)
{
    const char *words[SUITE_CALIBRATED_COUNT + 1] = {0};
    int count = 0;
    for (int key = 0; key < SUITE_CALIBRATED_COUNT; key++) {
        if (keys[key].of != of) continue;
        words[count++] = keys[key].key;
        *out = (suite_calibrated_key)key;
        if (strcmp(word, keys[key].key) == 0) return DIT_OK;
    }
    return dit_json_fail_word(doc, at, "key", word, words);
}

dit_status suite_calibrated_key_find(const dit_json *doc, const char *at, const char *word, suite_calibrated_key *out)
{
    const char *words[SUITE_CALIBRATED_COUNT + 1] = {0};
    for (int key = 0; key < SUITE_CALIBRATED_COUNT; key++) {
        words[key] = keys[key].key;
        *out = (suite_calibrated_key)key;
        if (strcmp(word, keys[key].key) == 0) return DIT_OK;
    }
    return dit_json_fail_word(doc, at, "key", word, words);
}

static dit_status copy_text(const dit_json *doc, const char *at, const char *text, size_t size, char *out)
{
    if (strlen(text) >= size)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "a name has at most %zu characters", size - 1);
    snprintf(out, size, "%s", text);
    return DIT_OK;
}

/* A name that no data file has is an error of this document, with the hint of the catalogue. */
static dit_status take_name(const dit_json *doc, const char *at, const char *name, suite_calibrated *out)
{
    char message[512], hint[256];
    double prior;
    DIT_TRY(copy_text(doc, at, name, sizeof out->name, out->name));
    dit_status st = suite_calibrated_prior(out->key, out->name, &prior);
    if (st != DIT_ERR_NOT_FOUND) return st;
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    snprintf(hint, sizeof hint, "%s", dit_error_last()->hint);
    st = dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s", message);
    return hint[0] ? dit_error_hint(st, "%s", hint) : st;
}

dit_status suite_calibrated_read(const dit_json *doc, const cJSON *object, const char *pointer, suite_calibrated *out)
{
    suite_calibrated_of of;
    const char *key, *name;
    char at[256];
    if (!cJSON_IsObject(object)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(read_of(doc, object, pointer, &of));
    DIT_TRY(dit_json_require_string(doc, object, pointer, "key", &key));
    dit_json_pointer_join(at, sizeof at, pointer, "key");
    DIT_TRY(take_key(doc, at, of, key, &out->key));
    DIT_TRY(dit_json_require_string(doc, object, pointer, "name", &name));
    dit_json_pointer_join(at, sizeof at, pointer, "name");
    return take_name(doc, at, name, out);
}

static dit_status read_value(const dit_json *doc, const cJSON *object, const char *pointer, suite_calibration *out)
{
    static const char *const members[] = {"of",        "name",     "key",   "value", "prior",
                                          "deviation", "interval", "bound", "stage", NULL};
    suite_calibrated one = {0};
    DIT_TRY(suite_calibrated_read(doc, object, pointer, &one));
    DIT_TRY(suite_only_keys(doc, object, pointer, members));
    if (!dit_json_member(object, "value"))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "\"value\" is required");
    DIT_TRY(
        dit_json_optional_number(doc, object, pointer, "value", keys[one.key].least, keys[one.key].most, &one.value));
    if (suite_calibration_find(out, one.key, one.name))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%s of %s has two fitted values", keys[one.key].key,
                             one.name);
    return suite_calibration_set(out, &one);
}

static dit_status read_text(const dit_json *doc, const cJSON *object, const char *pointer, const char *key, size_t size,
                            char *out)
{
    const char *text;
    char at[256];
    DIT_TRY(dit_json_require_string(doc, object, pointer, key, &text));
    dit_json_pointer_join(at, sizeof at, pointer, key);
    return copy_text(doc, at, text, size, out);
}

static dit_status read_case(const dit_json *doc, const cJSON *object, const char *pointer, suite_calibrated_case *out)
{
    if (!cJSON_IsObject(object)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(read_text(doc, object, pointer, "case_id", sizeof out->case_id, out->case_id));
    DIT_TRY(read_text(doc, object, pointer, "platform", sizeof out->platform, out->platform));
    return read_text(doc, object, pointer, "profile", sizeof out->profile, out->profile);
}

static dit_status read_cases(const dit_json *doc, suite_calibration *out)
{
    const cJSON *list = NULL, *item;
    char pointer[64];
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "points", &list));
    out->cases = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *out->cases);
    if (!out->cases) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the points of a calibration");
    cJSON_ArrayForEach(item, list)
    {
        snprintf(pointer, sizeof pointer, "/points/%d", out->case_count);
        DIT_TRY(read_case(doc, item, pointer, &out->cases[out->case_count]));
        out->case_count++;
    }
    return DIT_OK;
}

static dit_status read_values(const dit_json *doc, suite_calibration *out)
{
    const cJSON *list = NULL, *item;
    char pointer[64];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "parameters", &list));
    cJSON_ArrayForEach(item, list)
    {
        snprintf(pointer, sizeof pointer, "/parameters/%d", index++);
        DIT_TRY(read_value(doc, item, pointer, out));
    }
    return DIT_OK;
}

static dit_status read_document(suite_calibration *out)
{
    static const char *const members[] = {"schema",     "from",   "why",     "plan", "files",
                                          "parameters", "points", "summary", NULL};
    static const char schema[] = "ditbench.calibration/1";
    const dit_json *doc = &out->source;
    if (!cJSON_IsObject(doc->root)) return dit_json_fail(doc, "", DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_require_schema(doc, schema));
    DIT_TRY(suite_only_keys(doc, doc->root, "", members));
    DIT_TRY(read_values(doc, out));
    return read_cases(doc, out);
}

dit_status suite_calibration_take(dit_json *doc, suite_calibration *out)
{
    *out = (suite_calibration){.source = *doc};
    *doc = (dit_json){0};
    dit_status st = read_document(out);
    if (st != DIT_OK) suite_calibration_release(out);
    return st;
}

dit_status suite_calibration_default(char out[SUITE_PATH])
{
    static const char name[] = "results/calibration/published.json";
    const char *workloads = suite_workloads_folder();
    if (!workloads) return dit_error_last()->status;
    DIT_TRY(suite_path(out, "%s/../%s", workloads, name));
    if (access(out, F_OK) == 0 || access(name, F_OK) != 0) return DIT_OK;
    return suite_path(out, "%s", name);
}

dit_status suite_calibration_load(const char *path, suite_calibration *out)
{
    char found[SUITE_PATH];
    dit_json doc;
    *out = (suite_calibration){0};
    if (path && strcmp(path, "none") == 0) return DIT_OK;
    if (!path) {
        DIT_TRY(suite_calibration_default(found));
        if (access(found, F_OK) != 0 && errno == ENOENT) return DIT_OK;
    }
    DIT_TRY(dit_json_read_file(path ? path : found, &doc));
    return suite_calibration_take(&doc, out);
}

void suite_calibration_release(suite_calibration *calibration)
{
    free(calibration->values);
    free(calibration->cases);
    dit_json_release(&calibration->source);
    *calibration = (suite_calibration){0};
}

const char *suite_calibration_path(const suite_calibration *calibration)
{
    return calibration->source.path ? calibration->source.path : "none";
}

const suite_calibrated *suite_calibration_find(const suite_calibration *calibration, suite_calibrated_key key,
                                               const char *name)
{
    for (int i = 0; calibration && i < calibration->value_count; i++) {
        const suite_calibrated *value = &calibration->values[i];
        if (value->key == key && strcmp(value->name, name) == 0) return value;
    }
    return NULL;
}

dit_status suite_calibration_set(suite_calibration *calibration, const suite_calibrated *value)
{
    const suite_calibrated *known = suite_calibration_find(calibration, value->key, value->name);
    if (known) {
        calibration->values[known - calibration->values] = *value;
        return DIT_OK;
    }
    suite_calibrated *grown = realloc(calibration->values, (size_t)(calibration->value_count + 1) * sizeof *grown);
    if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a fitted value");
    calibration->values = grown;
    grown[calibration->value_count++] = *value;
    return DIT_OK;
}

/* ---- laying over ------------------------------------------------------------------------------------------------- */

static void replace_number(dit_json_writer *w, cJSON *object, const suite_calibrated *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, keys[value->key].key);
    dit_json_put_number(w, object, keys[value->key].key, value->value);
}

/* Members of `object` that are keys of `of`, for the thing called `name`. */
static void overlay(dit_json_writer *w, const suite_calibration *calibration, suite_calibrated_of of, const char *name,
                    cJSON *object)
{
    for (int i = 0; calibration && name && i < calibration->value_count; i++) {
        const suite_calibrated *value = &calibration->values[i];
        if (keys[value->key].of == of && strcmp(value->name, name) == 0) replace_number(w, object, value);
    }
}

dit_status suite_calibration_accelerator(const suite_calibration *calibration, cJSON *accelerator)
{
    dit_json_writer w = {0};
    cJSON *cost = cJSON_GetObjectItemCaseSensitive(accelerator, "cost");
    const char *name = dit_json_text_or(accelerator, "name", NULL);
    if (cost) overlay(&w, calibration, SUITE_CALIBRATED_ACCELERATOR, name, cost);
    return w.status;
}

/* A member of "like": a key of profiles, and the profile whose value it follows. */
static dit_status read_like(const dit_json *profile, const cJSON *like, suite_calibrated *out)
{
    char at[256];
    dit_json_pointer_join(at, sizeof at, "/like", like->string);
    DIT_TRY(take_key(profile, at, SUITE_CALIBRATED_PROFILE, like->string, &out->key));
    if (cJSON_IsString(like)) return take_name(profile, at, like->valuestring, out);
    return dit_error_hint(dit_json_fail(profile, at, DIT_ERR_JSON_TYPE, "expected the name of a profile"),
                          "as in \"like\": {\"conv_efficiency\": \"pytorch-eager\"}");
}

dit_status suite_calibration_profile(const suite_calibration *calibration, dit_json *profile)
{
    dit_json_writer w = {0};
    const cJSON *likes = NULL, *like;
    DIT_TRY(dit_json_optional_object(profile, profile->root, "", "like", &likes));
    cJSON_ArrayForEach(like, likes)
    {
        suite_calibrated followed;
        DIT_TRY(read_like(profile, like, &followed));
        const suite_calibrated *value = suite_calibration_find(calibration, followed.key, followed.name);
        if (value) replace_number(&w, profile->root, value);
    }
    const char *name = dit_json_text_or(profile->root, "name", NULL);
    overlay(&w, calibration, SUITE_CALIBRATED_PROFILE, name, profile->root);
    return w.status;
}

static void overlay_link(const suite_calibration *calibration, suite_link *link)
{
    suite_link_class *own = &link->link_class;
    const suite_calibrated *value =
        suite_calibration_find(calibration, SUITE_CALIBRATED_BANDWIDTH_EFFICIENCY, own->name);
    if (value) {
        link->bandwidth_bytes_per_s *= value->value / own->bandwidth_efficiency;
        own->bandwidth_efficiency = value->value;
    }
    bool alike = own->few_peers_efficiency == own->many_peers_efficiency;
    value = suite_calibration_find(calibration, SUITE_CALIBRATED_MANY_PEERS_EFFICIENCY, own->name);
    if (value) own->many_peers_efficiency = value->value;
    if (value && alike) own->few_peers_efficiency = value->value;
    value = suite_calibration_find(calibration, SUITE_CALIBRATED_FEW_PEERS_EFFICIENCY, own->name);
    if (value) own->few_peers_efficiency = value->value;
}

bool suite_calibration_knows_host(const suite_calibration *calibration, const suite_cluster *cluster)
{
    return cluster->knows_host || cluster->topology == SUITE_TOPOLOGY_CORES ||
           suite_calibration_find(calibration, SUITE_CALIBRATED_HOST_SCALE, cluster->host);
}

void suite_calibration_cluster(const suite_calibration *calibration, suite_cluster *cluster)
{
    const suite_calibrated *host = suite_calibration_find(calibration, SUITE_CALIBRATED_HOST_SCALE, cluster->host);
    if (host) cluster->host_scale = host->value;
    for (int i = 0; i < cluster->link_count; i++) overlay_link(calibration, &cluster->links[i]);
    if (cluster->nodes > 1) overlay_link(calibration, &cluster->fabric);
}

/* ---- the cases of the fit ---------------------------------------------------------------------------------------- */

bool suite_calibration_has(const suite_calibration *calibration, const char *case_id, const char *platform,
                           const char *profile)
{
    for (int i = 0; calibration && i < calibration->case_count; i++) {
        const suite_calibrated_case *one = &calibration->cases[i];
        if (strcmp(one->case_id, case_id) == 0 && strcmp(one->platform, platform) == 0 &&
            strcmp(one->profile, profile) == 0)
            return true;
    }
    return false;
}
