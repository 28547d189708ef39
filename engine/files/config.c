#include "engine/files/config.h"

#include "base/json.h"
#include "base/lenient.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dit_config_drop_nulls(cJSON *value)
{
    dit_json_drop_nulls(value);
}

dit_status dit_config_read_file(const char *path, dit_json *out)
{
    return dit_json_read_lenient(path, out);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static dit_status read_field(const dit_config *c, const dit_config_field *field, char *out)
{
    int64_t whole = isnan(field->fallback) ? 0 : (int64_t)field->fallback;
    double number = field->fallback;
    bool flag = field->fallback != 0;
    if (isnan(field->fallback) && !dit_json_member(c->object, field->key))
        return dit_json_fail(c->doc, c->pointer, DIT_ERR_JSON_MISSING, "\"%s\" is missing", field->key);
    switch (field->kind) {
    case DIT_FIELD_INT:
        DIT_TRY(dit_json_optional_int(c->doc, c->object, c->pointer, field->key, (int64_t)field->min,
                                      (int64_t)field->max, &whole));
        memcpy(out + field->offset, &whole, sizeof whole);
        return DIT_OK;
    case DIT_FIELD_NUMBER:
        DIT_TRY(dit_json_optional_number(c->doc, c->object, c->pointer, field->key, field->min, field->max, &number));
        memcpy(out + field->offset, &number, sizeof number);
        return DIT_OK;
    default:
        DIT_TRY(dit_json_optional_bool(c->doc, c->object, c->pointer, field->key, &flag));
        memcpy(out + field->offset, &flag, sizeof flag);
        return DIT_OK;
    }
}

dit_status dit_config_read(const dit_config *config, const dit_config_field *fields, void *out)
{
    for (; fields->key; fields++) DIT_TRY(read_field(config, fields, out));
    return DIT_OK;
}

dit_status dit_config_require_only(const dit_config *config, const dit_config_only *options)
{
    for (; options->key; options++) {
        const cJSON *item = dit_json_member(config->object, options->key);
        char *text = NULL;
        if (!item) continue;
        if (!cJSON_IsString(item)) DIT_TRY(dit_json_canonical(item, &text));
        const char *value = text ? text : item->valuestring;
        dit_status st = DIT_OK;
        if (strcmp(value, options->only) != 0)
            st = DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is %.80s, but only %s is implemented", options->key, value,
                          options->only);
        free(text);
        if (st != DIT_OK) return st;
    }
    return DIT_OK;
}

static dit_status find_list(const dit_config *config, const char *key, int capacity, const cJSON **list, int *count)
{
    *list = NULL;
    DIT_TRY(dit_json_optional_array(config->doc, config->object, config->pointer, key, list));
    *count = *list ? cJSON_GetArraySize(*list) : -1;
    if (*count <= capacity) return DIT_OK;
    return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE, "%s has %d entries; at most %d are allowed",
                         key, *count, capacity);
}

dit_status dit_config_word_at(const dit_config *config, const char *key, int index, const char **out)
{
    const cJSON *item = dit_json_member(config->object, key);
    *out = NULL;
    if (!item) return DIT_OK;
    if (cJSON_IsArray(item)) item = cJSON_GetArrayItem(item, index);
    *out = cJSON_GetStringValue(item);
    if (*out) return DIT_OK;
    return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE, "%s has no word for stage %d", key, index);
}

dit_status dit_config_read_numbers(const dit_config *config, const char *key, double min, double max, int capacity,
                                   double *out, int *count)
{
    const cJSON *list, *item;
    int i = 0;
    DIT_TRY(find_list(config, key, capacity, &list, count));
    cJSON_ArrayForEach(item, list)
    {
        out[i] = cJSON_IsNumber(item) ? item->valuedouble : NAN;
        if (!(out[i] >= min && out[i] <= max))
            return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE, "%s[%d] is not a number in %g..%g",
                                 key, i, min, max);
        i++;
    }
    return DIT_OK;
}

dit_status dit_config_read_ints(const dit_config *config, const char *key, int64_t min, int64_t max, int capacity,
                                int64_t *out, int *count)
{
    const cJSON *list;
    DIT_TRY(find_list(config, key, capacity, &list, count));
    for (int i = 0; i < *count; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);
        double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
        if (!(value >= (double)min && value <= (double)max) || value != floor(value))
            return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE,
                                 "%s[%d] is not an integer in %lld..%lld", key, i, (long long)min, (long long)max);
        out[i] = (int64_t)value;
    }
    return DIT_OK;
}
