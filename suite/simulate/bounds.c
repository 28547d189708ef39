#include "suite/simulate/bounds.h"

#include "base/json_writer.h"
#include "suite/simulate/shape_prune.h"

#include <stdio.h>
#include <string.h>

static void read_problem(const cJSON *error, suite_bounds *out)
{
    const char *code = dit_json_text_or(error, "code", "");
    if (!dit_status_from_name(code, &out->status)) out->status = DIT_ERR_INTERNAL;
    snprintf(out->message, sizeof out->message, "%s", dit_json_text_or(error, "message", "its bounds are unknown"));
}

static dit_status read_blocks(const dit_json *doc, const cJSON *entry, const char *at, suite_bounds *out)
{
    const cJSON *list = NULL, *item;
    DIT_TRY(dit_json_optional_array(doc, entry, at, "block_s", &list));
    if (cJSON_GetArraySize(list) > SUITE_BOUND_BLOCKS) return DIT_OK;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "block_s has no number");
        out->block_s[out->block_count++] = item->valuedouble;
    }
    return DIT_OK;
}

static dit_status read_entry(const dit_json *doc, const cJSON *entry, int index, suite_bounds *out)
{
    const struct {
        const char *key;
        double *to;
    } numbers[] = {{"seconds", &out->seconds}, {"device_s", &out->device_s}, {"host_s", &out->host_s},
                   {"wire_s", &out->wire_s},   {"chain_s", &out->chain_s},   {"floor_s", &out->floor_s}};
    const char *largest;
    char at[48];
    snprintf(at, sizeof at, "/bounds/%d", index);
    *out = (suite_bounds){0};
    if (dit_json_member(entry, "error")) {
        read_problem(dit_json_member(entry, "error"), out);
        return DIT_OK;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        DIT_TRY(dit_json_require_number(doc, entry, at, numbers[i].key, 0, 1e18, numbers[i].to));
    DIT_TRY(dit_json_require_string(doc, entry, at, "bound", &largest));
    DIT_TRY(dit_json_require_int(doc, entry, at, "memory_bytes", 0, INT64_C(1) << 53, &out->memory_bytes));
    snprintf(out->largest, sizeof out->largest, "%s", largest);
    return read_blocks(doc, entry, at, out);
}

static dit_status read_bounds(const dit_json *doc, int count, suite_bounds *out)
{
    const cJSON *list = NULL, *entry;
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "bounds", &list));
    if (cJSON_GetArraySize(list) != count)
        return DIT_FAIL(DIT_ERR_INTERNAL, "the engine gave bounds of %d cases, %d were asked for",
                        cJSON_GetArraySize(list), count);
    cJSON_ArrayForEach(entry, list)
    {
        DIT_TRY(read_entry(doc, entry, index, &out[index]));
        index++;
    }
    return DIT_OK;
}

/* Where bounds are kept. */
typedef struct {
    char key[DIT_HASH_HEX], path[SUITE_PATH];
} kept_file;

static dit_status read_kept(const dit_json *doc, const kept_file *kept, int count, suite_bounds *out)
{
    const char *key;
    DIT_TRY(dit_json_require_schema(doc, "ditbench.bounds/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "key", &key));
    if (strcmp(key, kept->key) != 0) return dit_json_fail(doc, "/key", DIT_ERR_JSON_VALUE, "it is of other cases");
    return read_bounds(doc, count, out);
}

/* A file that is torn, damaged or of another key counts as missing. */
static bool find_kept(const kept_file *kept, int count, suite_bounds *out)
{
    dit_json doc = {0};
    bool found = dit_json_read_file(kept->path, &doc) == DIT_OK && read_kept(&doc, kept, count, out) == DIT_OK;
    dit_json_release(&doc);
    dit_error_clear();
    if (found) suite_shape_used(kept->path, time(NULL));
    return found;
}

static dit_status keep(const kept_file *kept, const dit_json *record)
{
    dit_json_writer w = {0};
    char folder[SUITE_PATH];
    DIT_TRY(suite_path(folder, "%s", kept->path));
    *strrchr(folder, '/') = '\0';
    DIT_TRY(suite_path_make(folder));
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "schema", "ditbench.bounds/1");
    dit_json_put_string(&w, root, "key", kept->key);
    dit_json_put_copy(&w, root, "bounds", dit_json_member(record->root, "bounds"));
    return dit_json_finish_file(&w, root, kept->path, true);
}

static dit_status read_outcome(const char *folder, const kept_file *kept, int count, suite_bounds *out)
{
    char path[SUITE_PATH];
    dit_json doc = {0};
    DIT_TRY(suite_path(path, "%s/record.json", folder));
    dit_status st = dit_json_read_file(path, &doc);
    if (st == DIT_OK) st = read_bounds(&doc, count, out);
    /* Perhaps this machine lacked the memory, and has it the next time. */
    for (int i = 0; st == DIT_OK && i < count; i++)
        if (out[i].status == DIT_ERR_MEMORY) kept = NULL;
    if (st == DIT_OK && kept) st = keep(kept, &doc);
    dit_json_release(&doc);
    return st;
}

dit_status suite_bounds_of(const suite_simulate_params *params, const suite_simulate_bounded *cases, int count,
                           const char *platform, const char *profile, const suite_shape_cache *cache, suite_bounds *out)
{
    char folder[SUITE_PATH];
    kept_file kept;
    if (!count) return DIT_OK;
    if (cache) DIT_TRY(suite_shape_cache_bounds(cache, cases, count, kept.key, kept.path));
    if (cache && find_kept(&kept, count, out)) return DIT_OK;
    DIT_TRY(suite_simulate_check(params));
    DIT_TRY(suite_simulate_folder(folder));
    dit_status st = suite_simulate_prepare_bounds(params, folder, cases, count, platform, profile);
    if (st == DIT_OK) st = suite_simulate_run(params, folder, 1);
    if (st == DIT_OK) st = read_outcome(folder, cache ? &kept : NULL, count, out);
    suite_path_remove(folder);
    return st;
}
