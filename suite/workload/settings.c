#include "suite/workload/settings.h"

#include "base/json_writer.h"
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

static dit_status fail_values(const setting *one, const char *what)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--set %s: %s", one->text, what),
                          "write KEY=VALUE, or KEY=VALUE,VALUE for an axis");
}

static dit_status read_values(const char *text, setting *out)
{
    dit_json_writer w = {0};
    cJSON *values = dit_json_new_array(&w);
    for (const char *at = text; w.status == DIT_OK; at++) {
        size_t length = value_length(at);
        if (!length || cJSON_GetArraySize(values) == MOST_VALUES) {
            dit_json_put_status(&w, fail_values(out, length ? "too many values" : "a value is missing"));
            break;
        }
        dit_json_put_item(&w, values, NULL, read_value(at, length));
        at += length;
        if (!*at) break;
    }
    DIT_TRY(dit_json_finish(&w, values, &values));
    out->values = unwrap(out, values);
    return DIT_OK;
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
    dit_json_writer w = {0};
    cJSON *object = dit_json_new_object(&w);
    dit_json_put_null(&w, object, one->key);
    DIT_TRY(dit_json_finish(&w, object, &object));
    snprintf(path, sizeof path, "--set %.100s", one->text);
    dit_status st = suite_only_keys(&place, object, "", suite_parameter_keys());
    cJSON_Delete(object);
    if (st != DIT_OK) return place_error(one, st);
    if (!suite_parameter_from_key(one->key, &parameter)) return DIT_OK;
    for (const cJSON *value = one->values->child; value && st == DIT_OK; value = value->next)
        st = suite_parameter_check(&place, "", parameter, value);
    return st == DIT_OK ? st : place_error(one, st);
}

/* ---- laying over ------------------------------------------------------------------------------------------------- */

static cJSON *section_of(dit_json_writer *w, cJSON *root, const char *key)
{
    cJSON *section = cJSON_GetObjectItemCaseSensitive(root, key);
    return section ? section : dit_json_put_object(w, root, key);
}

/* The values of an array, each once. */
static cJSON *distinct(dit_json_writer *w, const cJSON *array)
{
    cJSON *out = dit_json_new_array(w);
    const cJSON *value, *seen;
    cJSON_ArrayForEach(value, array)
    {
        bool repeated = false;
        cJSON_ArrayForEach(seen, out) repeated = repeated || cJSON_Compare(seen, value, true);
        if (!repeated) dit_json_put_copy(w, out, NULL, value);
    }
    return out;
}

/* A zip that has lost an axis: with one left it is an axis like any other. */
static void settle_group(dit_json_writer *w, cJSON *root, cJSON *group)
{
    if (!group->child || group->child->next) return;
    dit_json_put_item(w, section_of(w, root, "axes"), group->child->string, distinct(w, group->child));
}

static void leave_zip(dit_json_writer *w, cJSON *root, const char *key)
{
    cJSON *zip = cJSON_GetObjectItemCaseSensitive(root, "zip");
    for (int i = cJSON_GetArraySize(zip) - 1; i >= 0; i--) {
        cJSON *group = cJSON_GetArrayItem(zip, i);
        if (!cJSON_HasObjectItem(group, key)) continue;
        cJSON_DeleteItemFromObjectCaseSensitive(group, key);
        settle_group(w, root, group);
        if (!group->child || !group->child->next) cJSON_DeleteItemFromArray(zip, i);
    }
    if (zip && !zip->child) cJSON_DeleteItemFromObjectCaseSensitive(root, "zip");
}

/* Takes a key out of wherever the file has it. */
static void take_out(dit_json_writer *w, cJSON *root, const char *key)
{
    cJSON *axes = cJSON_GetObjectItemCaseSensitive(root, "axes");
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "defaults"), key);
    if (cJSON_HasObjectItem(axes, key)) cJSON_DeleteItemFromObjectCaseSensitive(axes, key);
    if (axes && !axes->child) cJSON_DeleteItemFromObjectCaseSensitive(root, "axes");
    leave_zip(w, root, key);
}

/* Two ways to say one size: the one that was set counts. */
static void take_out_synonyms(dit_json_writer *w, cJSON *root, const char *key)
{
    bool size = strcmp(key, "resolution") == 0, side = strcmp(key, "height_px") == 0 || strcmp(key, "width_px") == 0;
    if (size) take_out(w, root, "height_px");
    if (size) take_out(w, root, "width_px");
    if (side) take_out(w, root, "resolution");
}

static void lay_over(dit_json_writer *w, cJSON *root, const setting *one)
{
    bool single = cJSON_GetArraySize(one->values) == 1;
    const cJSON *value = single ? one->values->child : one->values;
    const char *dot = strchr(one->key, '.');
    if (dot) {
        char section[KEY_BYTES];
        snprintf(section, sizeof section, "%.*s", (int)(dot - one->key), one->key);
        cJSON *object = section_of(w, root, section);
        cJSON_DeleteItemFromObjectCaseSensitive(object, dot + 1);
        dit_json_put_copy(w, object, dot + 1, value);
        return;
    }
    take_out_synonyms(w, root, one->key);
    take_out(w, root, one->key);
    dit_json_put_copy(w, section_of(w, root, single ? "defaults" : "axes"), one->key, value);
}

static void tell(dit_json_writer *w, cJSON *told, const setting *one)
{
    bool single = cJSON_GetArraySize(one->values) == 1;
    cJSON_DeleteItemFromObjectCaseSensitive(told, one->key);
    dit_json_put_copy(w, told, one->key, single ? one->values->child : one->values);
}

static void apply_one(dit_json_writer *w, const char *text, dit_json *workload, cJSON *told)
{
    setting one;
    dit_status st = read_setting(text, &one);
    if (st == DIT_OK && !is_of_section(one.key)) st = check_setting(&one);
    dit_json_put_status(w, st);
    if (st == DIT_OK && cJSON_IsObject(workload->root)) {
        lay_over(w, workload->root, &one);
        tell(w, told, &one);
    }
    cJSON_Delete(one.values);
}

dit_status suite_settings_apply(const suite_strings *settings, dit_json *workload, cJSON **told)
{
    dit_json_writer w = {0};
    *told = NULL;
    if (!settings || !settings->count) return DIT_OK;
    cJSON *object = dit_json_new_object(&w);
    for (int i = 0; i < settings->count && w.status == DIT_OK; i++) apply_one(&w, settings->items[i], workload, object);
    return dit_json_finish(&w, object, told);
}
