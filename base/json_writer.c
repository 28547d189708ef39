#include "base/json_writer.h"

#include "base/json_scan.h"

#include <math.h>

static cJSON *created(dit_json_writer *w, cJSON *root)
{
    if (!root) w->status = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a document");
    return root;
}

cJSON *dit_json_new_object(dit_json_writer *w)
{
    return w->status == DIT_OK ? created(w, cJSON_CreateObject()) : NULL;
}

cJSON *dit_json_new_array(dit_json_writer *w)
{
    return w->status == DIT_OK ? created(w, cJSON_CreateArray()) : NULL;
}

void dit_json_put_item(dit_json_writer *w, cJSON *parent, const char *key, cJSON *item)
{
    bool put = w->status == DIT_OK && item &&
               (key ? cJSON_AddItemToObject(parent, key, item) : cJSON_AddItemToArray(parent, item));
    if (put) return;
    cJSON_Delete(item);
    if (w->status == DIT_OK) w->status = DIT_FAIL(DIT_ERR_MEMORY, "no memory for \"%s\"", key ? key : "an item");
}

cJSON *dit_json_put_object(dit_json_writer *w, cJSON *parent, const char *key)
{
    cJSON *child = dit_json_new_object(w);
    dit_json_put_item(w, parent, key, child);
    return w->status == DIT_OK ? child : NULL;
}

cJSON *dit_json_put_array(dit_json_writer *w, cJSON *parent, const char *key)
{
    cJSON *child = dit_json_new_array(w);
    dit_json_put_item(w, parent, key, child);
    return w->status == DIT_OK ? child : NULL;
}

void dit_json_put_int(dit_json_writer *w, cJSON *parent, const char *key, int64_t value)
{
    if (w->status != DIT_OK) return;
    if (value > DIT_JSON_MAX_INTEGER || value < -DIT_JSON_MAX_INTEGER)
        w->status = DIT_FAIL(DIT_ERR_JSON_NUMBER, "\"%s\": %lld is beyond 2^53 and would be rounded",
                             key ? key : "an item", (long long)value);
    else
        dit_json_put_item(w, parent, key, cJSON_CreateNumber((double)value));
}

void dit_json_put_number(dit_json_writer *w, cJSON *parent, const char *key, double value)
{
    if (w->status != DIT_OK) return;
    if (!isfinite(value))
        w->status = DIT_FAIL(DIT_ERR_NONFINITE, "\"%s\": %g cannot be written as JSON", key ? key : "an item", value);
    else
        dit_json_put_item(w, parent, key, cJSON_CreateNumber(value));
}

void dit_json_put_bool(dit_json_writer *w, cJSON *parent, const char *key, bool value)
{
    if (w->status == DIT_OK) dit_json_put_item(w, parent, key, cJSON_CreateBool(value));
}

void dit_json_put_null(dit_json_writer *w, cJSON *parent, const char *key)
{
    if (w->status == DIT_OK) dit_json_put_item(w, parent, key, cJSON_CreateNull());
}

void dit_json_put_string(dit_json_writer *w, cJSON *parent, const char *key, const char *value)
{
    if (w->status == DIT_OK && value) dit_json_put_item(w, parent, key, cJSON_CreateString(value));
}

void dit_json_put_copy(dit_json_writer *w, cJSON *parent, const char *key, const cJSON *item)
{
    if (w->status == DIT_OK && item) dit_json_put_item(w, parent, key, cJSON_Duplicate(item, 1));
}

void dit_json_put_reference(dit_json_writer *w, cJSON *parent, const char *key, const cJSON *item)
{
    cJSON *shared = (cJSON *)(uintptr_t)item; /* cJSON's reference copies what it points to, and changes nothing */
    if (w->status != DIT_OK || !item) return;
    if (key ? cJSON_AddItemReferenceToObject(parent, key, shared) : cJSON_AddItemReferenceToArray(parent, shared))
        return;
    w->status = DIT_FAIL(DIT_ERR_MEMORY, "no memory for \"%s\"", key ? key : "an item");
}

void dit_json_put_status(dit_json_writer *w, dit_status status)
{
    if (w->status == DIT_OK) w->status = status;
}

dit_status dit_json_finish(dit_json_writer *w, cJSON *root, cJSON **out)
{
    *out = w->status == DIT_OK ? root : NULL;
    if (w->status != DIT_OK) cJSON_Delete(root);
    return w->status;
}

dit_status dit_json_finish_file(dit_json_writer *w, cJSON *root, const char *path, bool compact)
{
    if (w->status == DIT_OK) w->status = dit_json_write_file(root, path, compact);
    cJSON_Delete(root);
    return w->status;
}
