#include "suite/catalogue/text_encoder.h"

#include "base/json_writer.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"

#include <stdio.h>

static const struct {
    const char *key;
    int64_t most;
} facts[] = {
    {"layers", 1000}, {"width", 1 << 20}, {"heads", 1 << 16}, {"head_dim", 1 << 16}, {"feed_forward", 1 << 22}};
enum { FACTS = sizeof facts / sizeof *facts };

static dit_status copy_facts(const dit_json *file, cJSON *entry)
{
    dit_json_writer w = {0};
    static const char *const keys[] = {"schema",   "name",         "title", "layers", "width",  "heads",
                                       "head_dim", "feed_forward", "gated", "config", "source", NULL};
    bool gated = false;
    DIT_TRY(suite_only_keys(file, file->root, "", keys));
    for (int i = 0; i < FACTS; i++) {
        int64_t value;
        DIT_TRY(dit_json_require_int(file, file->root, "", facts[i].key, 1, facts[i].most, &value));
        dit_json_put_int(&w, entry, facts[i].key, value);
    }
    DIT_TRY(dit_json_optional_bool(file, file->root, "", "gated", &gated));
    dit_json_put_bool(&w, entry, "gated", gated);
    return w.status;
}

static dit_status resolve(const dit_json *model, cJSON *entry, const char *at, int runs)
{
    dit_json_writer w = {0};
    static const char *const keys[] = {"name", "tokens", NULL};
    const char *name;
    int64_t tokens;
    dit_json file = {0};
    if (!cJSON_IsObject(entry)) return dit_json_fail(model, at, DIT_ERR_JSON_TYPE, "expected {\"name\", \"tokens\"}");
    DIT_TRY(suite_only_keys(model, entry, at, keys));
    DIT_TRY(dit_json_require_string(model, entry, at, "name", &name));
    DIT_TRY(dit_json_require_int(model, entry, at, "tokens", 1, 1 << 20, &tokens));
    DIT_TRY(suite_catalogue_read("text_encoders", "text encoder", name, "ditbench.text_encoder/1", &file));
    dit_status st = copy_facts(&file, entry);
    dit_json_release(&file);
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
