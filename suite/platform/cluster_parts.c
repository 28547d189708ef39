/* Accelerators and classes of links: the parts that clusters are put together from. */
#include "suite/catalogue/catalogue.h"
#include "base/json.h"
#include "base/words.h"
#include "suite/catalogue/parameter.h"
#include "suite/catalogue/provenance.h"
#include "suite/paths.h"
#include "suite/platform/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- accelerators ------------------------------------------------------------------------------------------------ */

static dit_status check_peaks(const dit_json *doc)
{
    static const char *const facts[] = {"fp32", "fp16", "bf16", NULL};
    const char *keys[DIT_ACCELERATOR_TYPE_COUNT + 2] = {"note"};
    const cJSON *peaks;
    for (int i = 0; i < DIT_ACCELERATOR_TYPE_COUNT; i++)
        keys[1 + i] = dit_accelerator_type_name((dit_accelerator_type)i);
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "peak_flops_per_s", &peaks));
    return suite_evidence_check(doc, peaks, "/peak_flops_per_s", keys, facts);
}

static dit_status read_accelerator(suite_accelerator *out)
{
    static const char *const keys[] = {"schema",
                                       "name",
                                       "title",
                                       "vendor",
                                       "architecture",
                                       "memory_bytes",
                                       "memory_bandwidth_bytes_per_s",
                                       "peak_flops_per_s",
                                       "streaming_multiprocessors",
                                       "l2_bytes",
                                       "power_w",
                                       "nvlink_bytes_per_s",
                                       "infinity_fabric_bytes_per_s",
                                       "pcie",
                                       "measured",
                                       "notes",
                                       "source",
                                       "cost",
                                       NULL};
    static const char *const facts[] = {"memory_bytes", "memory_bandwidth_bytes_per_s", "streaming_multiprocessors",
                                        "power_w", NULL};
    const dit_json *doc = &out->source;
    DIT_TRY(suite_evidence_check(doc, doc->root, "", keys, facts));
    DIT_TRY(suite_evidence_sources(doc, doc->root, ""));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "title", &out->title));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "vendor", &out->vendor));
    DIT_TRY(check_peaks(doc));
    return dit_accelerator_read(doc, &out->facts);
}

dit_status suite_accelerator_load(const char *name, suite_accelerator *out)
{
    *out = (suite_accelerator){0};
    DIT_TRY(suite_catalogue_read("accelerators", "accelerator", name, "ditbench.accelerator/1", &out->source));
    dit_status st = read_accelerator(out);
    if (st != DIT_OK) suite_accelerator_release(out);
    return st;
}

void suite_accelerator_release(suite_accelerator *accelerator)
{
    dit_json_release(&accelerator->source);
    *accelerator = (suite_accelerator){0};
}

/* ---- classes of links -------------------------------------------------------------------------------------------- */

static const char *const sharing_names[] = {"duplex", "shared", "per-flow", NULL};

static bool suite_link_sharing_from_name(const char *name, suite_link_sharing *out)
{
    for (int i = 0; i < SUITE_LINK_SHARING_COUNT; i++) {
        if (strcmp(name, sharing_names[i]) != 0) continue;
        *out = (suite_link_sharing)i;
        return true;
    }
    return false;
}

static dit_status read_sharing(const dit_json *doc, const cJSON *object, const char *pointer, suite_link_sharing *out)
{
    const char *word;
    char at[256];
    DIT_TRY(dit_json_require_string(doc, object, pointer, "sharing", &word));
    if (suite_link_sharing_from_name(word, out)) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, pointer, "sharing");
    return dit_json_fail_word(doc, at, "sharing", word, sharing_names);
}

/* A number, or "attached". */
static dit_status read_bandwidth(const dit_json *doc, const cJSON *object, const char *pointer, double *out)
{
    static const char key[] = "bandwidth_bytes_per_s";
    const char *word = dit_json_text_or(object, key, NULL);
    *out = 0;
    if (word && strcmp(word, "attached") == 0) return DIT_OK;
    return dit_json_optional_number(doc, object, pointer, key, 1, DIT_ACCELERATOR_MOST_BYTES_PER_S, out);
}

static dit_status read_fitted(const dit_json *doc, const cJSON *object, const char *pointer, suite_link_class *out)
{
    static const char *const keys[] = {
        "bandwidth_efficiency", "many_peers_efficiency", "few_peers_efficiency", "evidence", "source", NULL};
    static const char *const evidences[] = {"assumed", "published", "measured", "fitted", NULL};
    const cJSON *fitted;
    const char *evidence;
    char inside[256], at[512];
    DIT_TRY(dit_json_require_object(doc, object, pointer, "fitted", &fitted));
    dit_json_pointer_join(inside, sizeof inside, pointer, "fitted");
    DIT_TRY(suite_only_keys(doc, fitted, inside, keys));
    out->bandwidth_efficiency = out->many_peers_efficiency = 1;
    DIT_TRY(dit_json_optional_number(doc, fitted, inside, keys[0], 1e-3, 10, &out->bandwidth_efficiency));
    DIT_TRY(dit_json_optional_number(doc, fitted, inside, keys[1], 1e-3, 10, &out->many_peers_efficiency));
    out->few_peers_efficiency = out->many_peers_efficiency;
    DIT_TRY(dit_json_optional_number(doc, fitted, inside, keys[2], 1e-3, 10, &out->few_peers_efficiency));
    DIT_TRY(dit_json_require_string(doc, fitted, inside, "evidence", &evidence));
    for (int i = 0; evidences[i]; i++)
        if (strcmp(evidence, evidences[i]) == 0) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, inside, "evidence");
    return dit_json_fail_word(doc, at, "evidence", evidence, evidences);
}

static dit_status read_class(const dit_json *doc, const cJSON *object, const char *pointer, suite_link_class *out)
{
    static const char *const keys[] = {"title",     "kind",     "sharing", "bandwidth_bytes_per_s",
                                       "latency_s", "channels", "trees",   "note",
                                       "fitted",    "measured", "source",  NULL};
    static const char *const facts[] = {"bandwidth_bytes_per_s", "latency_s", NULL};
    const char *title, *kind;
    DIT_TRY(suite_evidence_check(doc, object, pointer, keys, facts));
    DIT_TRY(suite_evidence_sources(doc, object, pointer));
    DIT_TRY(dit_json_require_string(doc, object, pointer, "title", &title));
    DIT_TRY(dit_json_require_string(doc, object, pointer, "kind", &kind));
    snprintf(out->name, sizeof out->name, "%s", object->string);
    snprintf(out->kind, sizeof out->kind, "%s", kind);
    if (!dit_json_member(object, "bandwidth_bytes_per_s"))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "a link without bandwidth cannot be simulated");
    DIT_TRY(read_bandwidth(doc, object, pointer, &out->bandwidth_bytes_per_s));
    DIT_TRY(dit_json_optional_number(doc, object, pointer, "latency_s", 0, 10, &out->latency_s));
    out->channels = 1;
    out->trees = true;
    DIT_TRY(dit_json_optional_number(doc, object, pointer, "channels", 1, 1024, &out->channels));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "trees", &out->trees));
    DIT_TRY(read_sharing(doc, object, pointer, &out->sharing));
    return read_fitted(doc, object, pointer, out);
}

static dit_status fail_no_class(const cJSON *classes, const char *name)
{
    enum { MOST = 256 };
    const char *names[MOST + 1] = {0};
    const cJSON *one;
    int count = 0;
    cJSON_ArrayForEach(one, classes) if (count < MOST) names[count++] = one->string;
    return dit_words_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no class of links \"%.60s\"", name), name, names);
}

static dit_status find_class(const dit_json *doc, const char *name, suite_link_class *out)
{
    static const char *const keys[] = {"schema", "name", "title", "classes", "source", NULL};
    const cJSON *classes;
    char pointer[256];
    DIT_TRY(suite_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "classes", &classes));
    const cJSON *object = dit_json_member(classes, name);
    if (!object) return fail_no_class(classes, name);
    dit_json_pointer_join(pointer, sizeof pointer, "/classes", name);
    if (strlen(name) >= sizeof out->name)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "a name of at most %d characters is expected",
                             (int)sizeof out->name - 1);
    return read_class(doc, object, pointer, out);
}

/* A list of links as it was read last. Every link of every machine looks into it, and it is long. */
typedef struct {
    struct stat file;
    dit_json doc;
} kept_list;

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads a list, or leaves the kept one where its file is as it was. The kept list owns what it holds until the file changes. */
static dit_status keep_list(const char *path, dit_status (*read)(const char *path, dit_json *out), kept_list *list)
{
    struct stat now = {0};
    bool there = stat(path, &now) == 0;
    if (there && list->doc.root && is_unchanged(&now, &list->file)) return DIT_OK;
    dit_json_release(&list->doc);
    list->doc = (dit_json){0};
    DIT_TRY(read(path, &list->doc));
    list->file = now;
    return DIT_OK;
}

static dit_status read_shipped_list(const char *path, dit_json *out)
{
    (void)path;
    return suite_catalogue_read("links", "list of links", "links", "ditbench.links/1", out);
}

/* *out becomes the list that has the class: what was measured on this machine, or workloads/links. It is not the caller's. */
static dit_status read_links(const char *name, const dit_json **out)
{
    static kept_list own, shipped;
    char path[SUITE_PATH];
    if (suite_catalogue_local("links", "local", path)) {
        DIT_TRY(keep_list(path, dit_json_read_file, &own));
        *out = &own.doc;
        if (dit_json_member(dit_json_member(own.doc.root, "classes"), name)) return DIT_OK;
    }
    const char *root = suite_workloads_folder();
    if (!root) return DIT_ERR_ENVIRONMENT;
    DIT_TRY(suite_path(path, "%s/links/links.json", root));
    *out = &shipped.doc;
    return keep_list(path, read_shipped_list, &shipped);
}

dit_status suite_link_class_load(const char *name, suite_link_class *out)
{
    const dit_json *doc;
    *out = (suite_link_class){0};
    DIT_TRY(read_links(name, &doc));
    return find_class(doc, name, out);
}
