#include "suite/catalogue/text_encoder.h"

#include "base/json_writer.h"
#include "base/request.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *key;
    int64_t most;
} facts[] = {
    {"layers", 1000}, {"width", 1 << 20}, {"heads", 1 << 16}, {"head_dim", 1 << 16}, {"feed_forward", 1 << 22}};
enum { FACTS = sizeof facts / sizeof *facts };

/* Width of the pooled text: that of the projection, where the class has one. */
static int64_t pooled_width(const dit_json *file)
{
    const cJSON *config = dit_json_member(file->root, "config");
    bool projected = strstr(dit_json_text_or(config, "_class_name", ""), "WithProjection") != NULL;
    return dit_json_int_or(projected ? config : file->root, projected ? "projection_dim" : "width", 1);
}

static dit_status copy_facts(const dit_json *file, cJSON *entry)
{
    dit_json_writer w = {0};
    static const char *const keys[] = {"schema",       "name",  "title",  "layers", "width",     "heads", "head_dim",
                                       "feed_forward", "gated", "config", "source", "key_heads", NULL};
    bool gated = false;
    DIT_TRY(suite_only_keys(file, file->root, "", keys));
    for (int i = 0; i < FACTS; i++) {
        int64_t value;
        DIT_TRY(dit_json_require_int(file, file->root, "", facts[i].key, 1, facts[i].most, &value));
        dit_json_put_int(&w, entry, facts[i].key, value);
    }
    DIT_TRY(dit_json_optional_bool(file, file->root, "", "gated", &gated));
    dit_json_put_bool(&w, entry, "gated", gated);
    int64_t heads = dit_json_int_or(entry, "heads", 1), key_heads = heads;
    DIT_TRY(dit_json_optional_int(file, file->root, "", "key_heads", 1, heads, &key_heads));
    if (key_heads != heads) dit_json_put_int(&w, entry, "key_heads", key_heads);
    if (!dit_json_is_true(entry, "pooled")) return w.status;
    cJSON_DeleteItemFromObjectCaseSensitive(entry, "pooled");
    dit_json_put_int(&w, entry, "pooled", pooled_width(file));
    return w.status;
}

static dit_status resolve(const dit_json *model, cJSON *entry, const char *at, int runs)
{
    dit_json_writer w = {0};
    static const char *const keys[] = {"name", "tokens", "skip", "states", "crop", "pooled", NULL};
    bool pooled = false;
    int64_t skip = 0, crop = 0, states, last;
    const char *name;
    int64_t tokens;
    dit_json file = {0};
    if (!cJSON_IsObject(entry)) return dit_json_fail(model, at, DIT_ERR_JSON_TYPE, "expected {\"name\", \"tokens\"}");
    DIT_TRY(suite_only_keys(model, entry, at, keys));
    DIT_TRY(dit_json_require_string(model, entry, at, "name", &name));
    DIT_TRY(dit_json_require_int(model, entry, at, "tokens", 1, 1 << 20, &tokens));
    DIT_TRY(dit_json_optional_int(model, entry, at, "skip", 0, 1000, &skip));
    DIT_TRY(dit_json_optional_int(model, entry, at, "crop", 0, tokens - 1, &crop));
    DIT_TRY(dit_json_optional_bool(model, entry, at, "pooled", &pooled));
    DIT_TRY(suite_catalogue_read("text_encoders", "text encoder", name, "ditbench.text_encoder/1", &file));
    dit_status st = copy_facts(&file, entry);
    dit_json_release(&file);
    if (st == DIT_OK)
        st = dit_request_read_states(model, entry, at, dit_json_int_or(entry, "layers", 0), &states, &last);
    dit_json_put_int(&w, entry, "runs", runs);
    return st == DIT_OK ? w.status : st;
}

dit_status suite_text_encoders_resolve(const dit_json *model, cJSON *list, int runs)
{
    char at[64];
    int index = 0;
    for (cJSON *entry = list ? list->child : NULL; entry; entry = entry->next) {
        snprintf(at, sizeof at, "/text_encoders/%d", index++);
        DIT_TRY(resolve(model, entry, at, runs));
    }
    return DIT_OK;
}

cJSON *suite_text_encoders_plain(const cJSON *list)
{
    static const char *const shared[] = {"key_heads", "skip", "states", "crop", "pooled"};
    cJSON *copy = cJSON_Duplicate(list, true), *entry;
    cJSON_ArrayForEach(entry, copy) for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(entry, shared[i]);
    return copy;
}
