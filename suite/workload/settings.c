#include "suite/workload/settings.h"

#include "suite/catalogue/parameter.h"
#include "suite/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 64, MOST_VALUES = 1000 };

/* One KEY=VALUE, read. */
typedef struct {
    const char *text; /* the whole                                   */
    char key[KEY_BYTES];
    cJSON *values; /* array, owned; one value is no axis          */
} setting;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Raises the newest error again with the setting for its place: there is no file, line or column to tell. */
static dit_status place_error(const setting *one, dit_status st)
{
    char message[1024], hint[1200], place[160];
    const char *what = dit_error_last()->message;
    snprintf(place, sizeof place, "--set %.100s:", one->text);
    if (strncmp(what, place, strlen(place)) == 0) what += strlen(place);
    what += strspn(what, "0123456789: "); /* line, column, and the pointer */
    if (what[0] == '/' && strstr(what, ": ")) what = strstr(what, ": ") + 2;
    snprintf(message, sizeof message, "%s", what);
    snprintf(hint, sizeof hint, "%s", dit_error_last()->hint);
    st = DIT_FAIL(st, "%s %s", place, message);
    return hint[0] ? dit_error_hint(st, "%s", hint) : st;
}

/* Length of the value at `text`: up to a comma outside brackets and quotes. */
static size_t value_length(const char *text)
{
    int depth = 0;
    bool quoted = false;
    size_t at = 0;
    for (; text[at] && (quoted || depth > 0 || text[at] != ','); at++) {
        if (text[at] == '\\' && quoted && text[at + 1])
            at++;
        else if (text[at] == '"')
            quoted = !quoted;
        else if (!quoted && strchr("[{", text[at]))
            depth++;
        else if (!quoted && strchr("]}", text[at]))
            depth--;
    }
    return at;
}

/* JSON where it is JSON, else the word itself. */
static cJSON *read_value(const char *text, size_t length)
{
    dit_json document = {0};
    cJSON *value = NULL;
    char *word = strndup(text, length);
    if (word && dit_json_parse(word, length, "--set", &document) == DIT_OK)
        value = cJSON_Duplicate(document.root, true);
    else if (word)
        value = cJSON_CreateString(word);
    dit_json_release(&document);
    dit_error_clear();
    free(word);
    return value;
}

/* A list in brackets stands for its values, but where the parameter itself is a list. */
static cJSON *unwrap(const setting *one, cJSON *values)
{
    suite_parameter parameter;
    const cJSON *first = cJSON_GetArrayItem(values, 0);
    bool is_list = suite_parameter_from_key(one->key, &parameter) && parameter == SUITE_PARAMETER_STAGE_BLOCKS;
    if (is_list || cJSON_GetArraySize(values) != 1 || !cJSON_IsArray(first)) return values;
    cJSON *inner = cJSON_DetachItemFromArray(values, 0);
    cJSON_Delete(values);
    return inner;
}

static dit_status read_values(const char *text, setting *out)
{
    cJSON *values = cJSON_CreateArray();
    for (const char *at = text; values; at++) {
        size_t length = value_length(at);
        if (!length || cJSON_GetArraySize(values) == MOST_VALUES) {
            cJSON_Delete(values);
            return dit_error_hint(
                DIT_FAIL(DIT_ERR_USAGE, "--set %s: %s", out->text, length ? "too many values" : "a value is missing"),
                "write KEY=VALUE, or KEY=VALUE,VALUE for an axis");
        }
        cJSON_AddItemToArray(values, read_value(at, length));
        at += length;
        if (!*at) break;
    }
    out->values = values ? unwrap(out, values) : NULL;
    return out->values ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a setting");
}

static dit_status read_setting(const char *text, setting *out)
{
    *out = (setting){.text = text};
    size_t length = strcspn(text, "=");
    if (!text[length] || length == 0 || length >= KEY_BYTES)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--set %s: this is no KEY=VALUE", text),
                              "for example --set num_inference_steps=50, or --set world_size=1,2,4 for an axis");
    memcpy(out->key, text, length);
    return read_values(text + length + 1, out);
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

static bool is_of_section(const char *key)
{
    return strncmp(key, "measure.", 8) == 0 || strncmp(key, "repeat.", 7) == 0;
}

/* The complaint of a file, about this setting alone. Names of models and platforms are looked up with the file. */
static dit_status check_setting(const setting *one)
{
    char path[160];
    dit_json place = {.path = path};
    suite_parameter parameter;
    dit_status st = DIT_OK;
    snprintf(path, sizeof path, "--set %.100s", one->text);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNullToObject(object, one->key);
    st = suite_only_keys(&place, object, "", suite_parameter_keys());
    cJSON_Delete(object);
    if (st != DIT_OK) return place_error(one, st);
    if (!suite_parameter_from_key(one->key, &parameter)) return DIT_OK;
    for (const cJSON *value = one->values->child; value && st == DIT_OK; value = value->next)
        st = suite_parameter_check(&place, "", parameter, value);
    return st == DIT_OK ? st : place_error(one, st);
}

/* ---- laying over ------------------------------------------------------------------------------------------------- */

static cJSON *section_of(cJSON *root, const char *key)
{
    cJSON *section = cJSON_GetObjectItemCaseSensitive(root, key);
    return section ? section : cJSON_AddObjectToObject(root, key);
}

/* The values of an array, each once. */
static cJSON *distinct(const cJSON *array)
{
    cJSON *out = cJSON_CreateArray();
    const cJSON *value, *seen;
    cJSON_ArrayForEach(value, array)
    {
        bool repeated = false;
        cJSON_ArrayForEach(seen, out) repeated = repeated || cJSON_Compare(seen, value, true);
        if (!repeated) cJSON_AddItemToArray(out, cJSON_Duplicate(value, true));
    }
    return out;
}

/* A zip that has lost an axis: with one left it is an axis like any other. */
static void settle_group(cJSON *root, cJSON *group)
{
    if (!group->child || group->child->next) return;
    cJSON_AddItemToObject(section_of(root, "axes"), group->child->string, distinct(group->child));
}

static void leave_zip(cJSON *root, const char *key)
{
    cJSON *zip = cJSON_GetObjectItemCaseSensitive(root, "zip");
    for (int i = cJSON_GetArraySize(zip) - 1; i >= 0; i--) {
        cJSON *group = cJSON_GetArrayItem(zip, i);
        if (!cJSON_HasObjectItem(group, key)) continue;
        cJSON_DeleteItemFromObjectCaseSensitive(group, key);
        settle_group(root, group);
        if (!group->child || !group->child->next) cJSON_DeleteItemFromArray(zip, i);
    }
    if (zip && !zip->child) cJSON_DeleteItemFromObjectCaseSensitive(root, "zip");
}

/* Takes a key out of wherever the file has it. */
static void take_out(cJSON *root, const char *key)
{
    cJSON *axes = cJSON_GetObjectItemCaseSensitive(root, "axes");
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "defaults"), key);
    if (cJSON_HasObjectItem(axes, key)) cJSON_DeleteItemFromObjectCaseSensitive(axes, key);
    if (axes && !axes->child) cJSON_DeleteItemFromObjectCaseSensitive(root, "axes");
    leave_zip(root, key);
}

/* Two ways to say one size: the one that was set counts. */
static void take_out_synonyms(cJSON *root, const char *key)
{
    bool size = strcmp(key, "resolution") == 0, side = strcmp(key, "height_px") == 0 || strcmp(key, "width_px") == 0;
    if (size) take_out(root, "height_px");
    if (size) take_out(root, "width_px");
    if (side) take_out(root, "resolution");
}

static void lay_over(cJSON *root, const setting *one)
{
    bool single = cJSON_GetArraySize(one->values) == 1;
    cJSON *value = single ? cJSON_Duplicate(one->values->child, true) : cJSON_Duplicate(one->values, true);
    const char *dot = strchr(one->key, '.');
    if (dot) {
        char section[KEY_BYTES];
        snprintf(section, sizeof section, "%.*s", (int)(dot - one->key), one->key);
        cJSON *object = section_of(root, section);
        cJSON_DeleteItemFromObjectCaseSensitive(object, dot + 1);
        cJSON_AddItemToObject(object, dot + 1, value);
        return;
    }
    take_out_synonyms(root, one->key);
    take_out(root, one->key);
    cJSON_AddItemToObject(section_of(root, single ? "defaults" : "axes"), one->key, value);
}

static void tell(cJSON *told, const setting *one)
{
    bool single = cJSON_GetArraySize(one->values) == 1;
    cJSON_DeleteItemFromObjectCaseSensitive(told, one->key);
    cJSON_AddItemToObject(told, one->key, cJSON_Duplicate(single ? one->values->child : one->values, true));
}

static dit_status apply_one(const char *text, dit_json *workload, cJSON *told)
{
    setting one;
    dit_status st = read_setting(text, &one);
    if (st == DIT_OK && !is_of_section(one.key)) st = check_setting(&one);
    if (st == DIT_OK && cJSON_IsObject(workload->root)) {
        lay_over(workload->root, &one);
        tell(told, &one);
    }
    cJSON_Delete(one.values);
    return st;
}

dit_status suite_settings_apply(const suite_strings *settings, dit_json *workload, cJSON **told)
{
    dit_status st = DIT_OK;
    *told = NULL;
    if (!settings || !settings->count) return DIT_OK;
    *told = cJSON_CreateObject();
    if (!*told) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for settings");
    for (int i = 0; i < settings->count && st == DIT_OK; i++) st = apply_one(settings->items[i], workload, *told);
    if (st == DIT_OK) return st;
    cJSON_Delete(*told);
    *told = NULL;
    return st;
}
