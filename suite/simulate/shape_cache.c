#include "suite/simulate/shape_cache.h"

#include "base/file.h"
#include "base/json_writer.h"
#include "suite/simulate/shape_prune.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- what all shapes stand on ------------------------------------------------------------------------------------ */

enum { MOST_BYTES = 256 << 20, DIGEST = 64 }; /* hexadecimal digits of the simulator's sources */

/* A digest of everything that was added, in order. */
typedef struct {
    char so_far[DIT_HASH_HEX];
} digest;

static void add_bytes(digest *d, const void *data, size_t bytes)
{
    char own[DIT_HASH_HEX], both[2 * DIT_HASH_HEX];
    dit_hash(data, bytes, own);
    snprintf(both, sizeof both, "%s%s", d->so_far, own);
    dit_hash(both, strlen(both), d->so_far);
}

static void add_text(digest *d, const char *text)
{
    add_bytes(d, text, strlen(text));
}

static dit_status add_file(digest *d, const char *path)
{
    char *text;
    size_t length;
    DIT_TRY(dit_file_read(path, MOST_BYTES, &text, &length));
    add_bytes(d, text, length);
    free(text);
    return DIT_OK;
}

static dit_status add_json(digest *d, const cJSON *item)
{
    char *text = NULL;
    DIT_TRY(dit_json_canonical(item, &text));
    add_text(d, text);
    free(text);
    return DIT_OK;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static dit_status add_folder(digest *d, const char *folder)
{
    struct dirent **entries = NULL;
    char path[SUITE_PATH];
    dit_status st = DIT_OK;
    int count = scandir(folder, &entries, NULL, by_name);
    if (count < 0) return DIT_FAIL(DIT_ERR_IO, "cannot read folder %s", folder);
    for (int i = 0; i < count; i++) {
        bool counts = entries[i]->d_name[0] != '.';
        if (st == DIT_OK && counts) st = suite_path(path, "%s/%s", folder, entries[i]->d_name);
        if (st == DIT_OK && counts) add_text(d, entries[i]->d_name);
        if (st == DIT_OK && counts) st = add_file(d, path);
        free(entries[i]);
    }
    free(entries);
    return st;
}

/* The profile names its census, a folder, and its rule and wrapper, files, by whole paths. Their contents count. */
static dit_status add_named(digest *d, cJSON *profile)
{
    static const char *const keys[] = {"census", "rule", "wrapper"};
    struct stat found;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *path = dit_json_text_or(profile, keys[i], NULL);
        if (!path || stat(path, &found) != 0) continue;
        DIT_TRY(S_ISDIR(found.st_mode) ? add_folder(d, path) : add_file(d, path));
        cJSON_DeleteItemFromObjectCaseSensitive(profile, keys[i]);
    }
    return DIT_OK;
}

static dit_status add_profile(digest *d, const char *folder)
{
    char path[SUITE_PATH];
    dit_json profile = {0};
    DIT_TRY(suite_path(path, "%s/profile.json", folder));
    DIT_TRY(dit_json_read_file(path, &profile));
    dit_status st = add_named(d, profile.root);
    if (st == DIT_OK) st = add_json(d, profile.root);
    dit_json_release(&profile);
    return st;
}

/* What the case is told beside itself: of the links what the platform's file cannot say, and how it is simulated. The
 * files that it names count by their contents, and how many devices a node has follows from the ranks, which are part of
 * each key. */
static dit_status add_told(digest *d, const char *folder)
{
    static const char *const elsewhere[] = {"accelerator", "profile", "devices_per_node"};
    char path[SUITE_PATH];
    dit_json kase = {0};
    DIT_TRY(suite_path(path, "%s/case.json", folder));
    DIT_TRY(dit_json_read_file(path, &kase));
    cJSON *told = cJSON_GetObjectItemCaseSensitive(kase.root, "simulation");
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(told, elsewhere[i]);
    dit_status st = add_json(d, told);
    dit_json_release(&kase);
    return st;
}

/* SimGrid is told apart by its launcher: which file, how large, how old. */
static void add_launcher(digest *d)
{
    char file[SUITE_PATH], text[128];
    struct stat found;
    if (!suite_path_program("smpirun", file) || stat(file, &found) != 0) return;
    snprintf(text, sizeof text, "%lld %lld", (long long)found.st_size, (long long)found.st_mtime);
    add_text(d, text);
}

/* Where the program says of which sources it is made (engine/rules.mk), their digest; NULL: nowhere. */
static const char *find_digest(const char *program, size_t bytes)
{
    static const char mark[] = "ditbench-engine-sim is made of ";
    const char *end = program + bytes, *at = memmem(program, bytes, mark, sizeof mark - 1);
    if (!at) return NULL;
    at += sizeof mark - 1;
    return (size_t)(end - at) >= DIGEST && strspn(at, "0123456789abcdef") == DIGEST ? at : NULL;
}

/* The simulator counts by the sources that it is made of: a build of another commit that changes none of them gives the
 * same times. One that does not tell counts by its bytes. */
static dit_status add_engine(digest *d, const char *path)
{
    char *program;
    size_t bytes;
    DIT_TRY(dit_file_read(path, MOST_BYTES, &program, &bytes));
    const char *sources = find_digest(program, bytes);
    if (sources)
        add_bytes(d, sources, DIGEST);
    else
        add_bytes(d, program, bytes);
    free(program);
    return DIT_OK;
}

static dit_status add_programs(digest *d, const suite_simulate_params *params)
{
    char engine[SUITE_PATH];
    DIT_TRY(suite_simulate_engine(params->engine, engine));
    add_launcher(d);
    return add_engine(d, engine);
}

static dit_status add_all(digest *d, const suite_simulate_params *params, const char *folder)
{
    static const char *const files[] = {"platform.xml", "accelerator.json"};
    char path[SUITE_PATH];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        DIT_TRY(suite_path(path, "%s/%s", folder, files[i]));
        DIT_TRY(add_file(d, path));
    }
    DIT_TRY(add_profile(d, folder));
    DIT_TRY(add_told(d, folder));
    return add_programs(d, params);
}

dit_status suite_shape_cache_open(const suite_simulate_params *params, const cJSON *document, int world_size,
                                  const char *platform, const char *profile, suite_shape_cache *out)
{
    char folder[SUITE_PATH];
    digest d = {""};
    DIT_TRY(suite_cache_folder("shapes", out->folder));
    DIT_TRY(suite_simulate_folder(folder));
    dit_status st = suite_simulate_prepare(params, folder, document, world_size, platform, profile);
    if (st == DIT_OK) st = add_all(&d, params, folder);
    suite_path_remove(folder);
    if (st == DIT_OK) suite_shape_prune(out->folder, time(NULL));
    memcpy(out->ground, d.so_far, sizeof out->ground);
    return st;
}

/* ---- one shape --------------------------------------------------------------------------------------------------- */

static int64_t steps_of(const cJSON *document)
{
    return dit_json_int_or(dit_json_member(document, "run"), "num_inference_steps", 1);
}

dit_status suite_shape_cache_key(const suite_shape_cache *cache, const cJSON *document, int world_size,
                                 char out[DIT_HASH_HEX])
{
    digest d = {""};
    char ranks[32];
    cJSON *copy = cJSON_Duplicate(document, true);
    if (!copy) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(copy, "run"), "num_inference_steps");
    snprintf(ranks, sizeof ranks, "%d", world_size);
    add_text(&d, cache->ground);
    add_text(&d, ranks);
    dit_status st = add_json(&d, copy);
    memcpy(out, d.so_far, DIT_HASH_HEX);
    cJSON_Delete(copy);
    return st;
}

static dit_status path_of(const suite_shape_cache *cache, const char *key, char out[SUITE_PATH])
{
    return suite_path(out, "%s/%.2s/%s.json", cache->folder, key, key);
}

/* A file of the cache. */
typedef struct {
    const char *key;
    int64_t of_steps; /* of the case that was simulated */
    suite_simulated is;
} shape;

static dit_status read_shape(const dit_json *doc, shape *out)
{
    static const char *const keys[] = {"schema",          "key",      "steps",      "seconds",      "step_s",
                                       "steps_simulated", "decode_s", "sent_bytes", "memory_bytes", NULL};
    const double longest = 1e18;
    const int64_t most = INT64_C(1) << 53;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.shape/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "key", &out->key));
    DIT_TRY(dit_json_require_number(doc, doc->root, "", "seconds", 0, longest, &out->is.seconds));
    DIT_TRY(dit_json_require_number(doc, doc->root, "", "step_s", 0, longest, &out->is.step_s));
    DIT_TRY(dit_json_require_number(doc, doc->root, "", "decode_s", 0, longest, &out->is.decode_seconds));
    DIT_TRY(dit_json_require_int(doc, doc->root, "", "steps", 1, 100000, &out->of_steps));
    DIT_TRY(dit_json_require_int(doc, doc->root, "", "steps_simulated", 1, 100000, &out->is.steps));
    DIT_TRY(dit_json_require_int(doc, doc->root, "", "sent_bytes", 0, most, &out->is.sent_bytes));
    return dit_json_require_int(doc, doc->root, "", "memory_bytes", 0, most, &out->is.memory_bytes);
}

/* Makes of it what another number of steps takes. Returns false where that is not known. */
static bool stretch(const shape *kept, int64_t steps, suite_simulated *out)
{
    *out = kept->is;
    if (steps == kept->of_steps) return true;
    if (!(kept->is.step_s > 0) || steps <= kept->is.steps) return false;
    out->seconds += (double)(steps - kept->of_steps) * kept->is.step_s;
    out->sent_bytes = 0; /* what a step sends was not kept */
    return true;
}

static bool read_file(const char *path, const char *key, int64_t steps, suite_simulated *out)
{
    dit_json doc = {0};
    shape kept = {0};
    bool found = dit_json_read_file(path, &doc) == DIT_OK && read_shape(&doc, &kept) == DIT_OK &&
                 strcmp(kept.key, key) == 0 && stretch(&kept, steps, out);
    dit_json_release(&doc);
    return found;
}

bool suite_shape_cache_find(const suite_shape_cache *cache, const cJSON *document, int world_size, suite_simulated *out)
{
    char key[DIT_HASH_HEX], path[SUITE_PATH];
    bool found = suite_shape_cache_key(cache, document, world_size, key) == DIT_OK &&
                 path_of(cache, key, path) == DIT_OK && read_file(path, key, steps_of(document), out);
    if (found) suite_shape_used(path, time(NULL));
    if (!found) dit_error_clear(); /* it is simulated then */
    return found;
}

dit_status suite_shape_cache_keep(const suite_shape_cache *cache, const cJSON *document, int world_size,
                                  const suite_simulated *simulated)
{
    dit_json_writer w = {0};
    char key[DIT_HASH_HEX], path[SUITE_PATH], folder[SUITE_PATH];
    DIT_TRY(suite_shape_cache_key(cache, document, world_size, key));
    DIT_TRY(suite_path(folder, "%s/%.2s", cache->folder, key));
    DIT_TRY(suite_path_make(folder));
    DIT_TRY(path_of(cache, key, path));
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "schema", "ditbench.shape/1");
    dit_json_put_string(&w, root, "key", key);
    dit_json_put_int(&w, root, "steps", steps_of(document));
    dit_json_put_number(&w, root, "seconds", simulated->seconds);
    dit_json_put_number(&w, root, "step_s", simulated->step_s);
    dit_json_put_int(&w, root, "steps_simulated", simulated->steps);
    dit_json_put_number(&w, root, "decode_s", simulated->decode_seconds);
    dit_json_put_int(&w, root, "sent_bytes", simulated->sent_bytes);
    dit_json_put_int(&w, root, "memory_bytes", simulated->memory_bytes);
    return dit_json_finish_file(&w, root, path, true);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

dit_status suite_shape_cache_bounds(const suite_shape_cache *cache, const suite_simulate_bounded *cases, int count,
                                    char key[DIT_HASH_HEX], char path[SUITE_PATH])
{
    digest d = {""};
    char ranks[64];
    add_text(&d, "bounds");
    add_text(&d, cache->ground);
    for (int i = 0; i < count; i++) {
        snprintf(ranks, sizeof ranks, "%d %d %d", cases[i].world_size, cases[i].blocks, cases[i].ranks != NULL);
        add_text(&d, ranks);
        DIT_TRY(add_json(&d, cases[i].document));
        if (cases[i].ranks) DIT_TRY(add_json(&d, cases[i].ranks));
    }
    memcpy(key, d.so_far, DIT_HASH_HEX);
    return path_of(cache, key, path);
}
