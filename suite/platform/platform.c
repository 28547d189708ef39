#include "suite/platform/platform.h"

#include "base/json.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"
#include "suite/platform/cluster.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool suite_backend_is_device(const char *backend)
{
    return strcmp(backend, "cuda") == 0 || strcmp(backend, "host") == 0;
}

const char *suite_backend_platform(const char *backend)
{
    return strcmp(backend, "cuda") == 0 ? "local-gpu" : strcmp(backend, "host") == 0 ? "host-device" : "local-cpu";
}

enum { MOST_DEVICES = 65536 };
static const int64_t MOST_BYTES = INT64_C(1) << 52;

static int machine_cores(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) return CPU_COUNT(&allowed);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static int64_t machine_memory_bytes(void)
{
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), limit;
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        FILE *file = fopen(limits[i], "r");
        long long value = 0;
        if (!file) continue;
        if (fscanf(file, "%lld", &value) != 1) value = 0; /* "max" */
        fclose(file);
        limit = value;
        if (limit > 0 && limit < bytes) bytes = limit;
    }
    return bytes;
}

/* An integer, or "auto". */
static dit_status read_auto(const dit_json *doc, const char *key, int64_t max, int64_t automatic, int64_t *out)
{
    const cJSON *item = dit_json_member(doc->root, key);
    if (cJSON_IsString(item) && strcmp(item->valuestring, "auto") == 0) {
        *out = automatic;
        return DIT_OK;
    }
    return dit_json_require_int(doc, doc->root, "", key, 1, max, out);
}

static dit_status read_word(const dit_json *doc, const char *key, const char *const *words, char *out, size_t size)
{
    const char *word;
    char pointer[64];
    DIT_TRY(dit_json_require_string(doc, doc->root, "", key, &word));
    snprintf(out, size, "%s", word);
    snprintf(pointer, sizeof pointer, "/%s", key);
    return dit_words_find(words, word) >= 0 ? DIT_OK : dit_json_fail_word(doc, pointer, key, word, words);
}

/* A declared cluster has as many devices, of so much memory each. */
static dit_status read_cluster(const dit_json *doc, suite_platform *out)
{
    suite_cluster cluster;
    suite_accelerator accelerator;
    DIT_TRY(suite_cluster_read(doc, &cluster));
    dit_status st = suite_accelerator_load(cluster.accelerator, &accelerator);
    if (st == DIT_OK && !accelerator.facts.memory_bytes)
        st = dit_json_fail(doc, "/cluster/accelerator", DIT_ERR_JSON_VALUE,
                           "the file of accelerator %s does not state its memory", cluster.accelerator);
    out->devices = cluster.nodes * cluster.devices;
    out->memory_bytes = accelerator.facts.memory_bytes;
    out->memory_per_device = cluster.topology != SUITE_TOPOLOGY_CORES;
    out->max_ranks = cluster.topology == SUITE_TOPOLOGY_CORES ? cluster.ranks : 0;
    suite_accelerator_release(&accelerator);
    suite_cluster_release(&cluster);
    return st;
}

static bool is_auto(const dit_json *doc, const char *key)
{
    const char *word = dit_json_text_or(doc->root, key, NULL);
    return word && strcmp(word, "auto") == 0;
}

/* "auto" devices and their memory are no limit here: which cases there are does not depend on the GPUs of the machine,
 * and a case that finds too few, or too little, is skipped when it is to run (suite_devices_refusal). */
static dit_status read_machine(const dit_json *doc, suite_platform *out)
{
    static const char *const scopes[] = {"host", "device", NULL};
    char scope[16];
    int64_t devices, max_ranks = 0, memory = 0;
    DIT_TRY(read_word(doc, "memory_scope", scopes, scope, sizeof scope));
    out->memory_per_device = strcmp(scope, "device") == 0;
    DIT_TRY(read_auto(doc, "devices", MOST_DEVICES, out->on_device ? MOST_DEVICES : machine_cores(), &devices));
    if (is_auto(doc, "memory_bytes"))
        memory = out->on_device && out->memory_per_device ? MOST_BYTES : machine_memory_bytes();
    DIT_TRY(read_auto(doc, "memory_bytes", MOST_BYTES, memory, &out->memory_bytes));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "max_ranks", 0, MOST_DEVICES, &max_ranks));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "share_devices", &out->share_devices));
    out->devices = (int)devices;
    out->max_ranks = (int)max_ranks;
    if (!out->share_devices || out->on_device) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, "/share_devices", DIT_ERR_JSON_VALUE,
                                        "backend %s has no devices that ranks could share", out->backend),
                          "of cores say max_ranks");
}

/* Two hosts that a shaped link joins, made of this machine (suite/launch/wire.h). */
static dit_status read_link(const dit_json *doc, suite_platform *out)
{
    static const char *const keys[] = {"rate_bits_per_s", "delay_s", NULL};
    static const char at[] = "/link";
    const cJSON *link = NULL;
    int64_t rate = 0;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "link", &link));
    if (!link) return DIT_OK;
    DIT_TRY(suite_only_keys(doc, link, at, keys));
    DIT_TRY(dit_json_require_int(doc, link, at, "rate_bits_per_s", 1000000, INT64_C(1000000000000), &rate));
    DIT_TRY(dit_json_optional_number(doc, link, at, "delay_s", 0, 1, &out->link_delay_s));
    out->link_rate_bits_per_s = (double)rate;
    if (!out->on_device && strcmp(out->launcher, "mpirun") == 0) return DIT_OK;
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "a link is emulated for launcher mpirun and cores only");
}

static dit_status read_platform(const dit_json *doc, suite_platform *out)
{
    static const char *const machine[] = {
        "schema",       "name",         "title",  "backend",       "launcher", "devices", "max_ranks",
        "memory_bytes", "memory_scope", "source", "share_devices", "link",     NULL};
    static const char *const simulated[] = {"schema",   "name",    "title",  "backend",
                                            "launcher", "cluster", "source", NULL};
    static const char *const backends[] = {"cpu", "ref", "cuda", "host", "cost", NULL};
    static const char *const launchers[] = {"mpirun", "srun", "smpirun", "print", NULL};
    const char *name, *title = "";
    bool declared = dit_json_member(doc->root, "cluster") != NULL;
    DIT_TRY(suite_only_keys(doc, doc->root, "", declared ? simulated : machine));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.platform/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &name));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "title", &title));
    DIT_TRY(read_word(doc, "backend", backends, out->backend, sizeof out->backend));
    out->on_device = suite_backend_is_device(out->backend);
    DIT_TRY(read_word(doc, "launcher", launchers, out->launcher, sizeof out->launcher));
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->title, sizeof out->title, "%s", title);
    if (declared) return read_cluster(doc, out);
    DIT_TRY(read_link(doc, out));
    return read_machine(doc, out);
}

dit_status suite_platform_load(const char *name, suite_platform *out)
{
    dit_json doc;
    *out = (suite_platform){0};
    DIT_TRY(suite_catalogue_open("platforms", "platform", name, &doc));
    dit_status st = read_platform(&doc, out);
    if (st == DIT_OK && strcmp(out->name, name) != 0)
        st = dit_json_fail(&doc, "/name", DIT_ERR_JSON_VALUE,
                           "the file is called %s, but its platform is called \"%s\"", name, out->name);
    dit_json_release(&doc);
    return st;
}
