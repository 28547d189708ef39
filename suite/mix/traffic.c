#include "suite/mix/traffic.h"

#include "base/file.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"
#include "suite/console/cli.h"
#include "suite/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 };

static dit_status read_class(const dit_json *doc, const cJSON *one, int index, bool traced, suite_traffic_class *out)
{
    static const char *const keys[] = {"name", "resolution", "num_frames", "steps", "weight", "slo", NULL};
    const char *resolution = NULL, *slo = NULL;
    char at[64], key[96];
    snprintf(at, sizeof at, "/classes/%d", index);
    *out = (suite_traffic_class){.weight = 0};
    if (!cJSON_IsObject(one)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a class is an object");
    DIT_TRY(dit_json_only_keys(doc, one, at, keys));
    DIT_TRY(dit_json_require_string(doc, one, at, "name", &out->name));
    DIT_TRY(dit_json_require_string(doc, one, at, "slo", &slo));
    DIT_TRY(dit_json_optional_string(doc, one, at, "resolution", &resolution));
    if (dit_json_member(one, "num_frames"))
        DIT_TRY(dit_json_require_int(doc, one, at, "num_frames", 1, 1 << 20, &out->num_frames));
    if (dit_json_member(one, "steps")) DIT_TRY(dit_json_require_int(doc, one, at, "steps", 1, 10000, &out->steps));
    if (!traced) DIT_TRY(dit_json_require_number(doc, one, at, "weight", 1e-9, 1e9, &out->weight));
    snprintf(key, sizeof key, "%s/slo", at);
    if (suite_cli_duration(slo, &out->bound_s) != DIT_OK || out->bound_s <= 0)
        return dit_error_hint(dit_json_fail(doc, key, DIT_ERR_JSON_VALUE, "\"%s\" is no time", slo),
                              "write 5s or 500ms");
    snprintf(key, sizeof key, "%s/resolution", at);
    if (resolution && !suite_resolution_from_text(resolution, &out->width_px, &out->height_px))
        return dit_json_fail(doc, key, DIT_ERR_JSON_VALUE, "\"%s\" is not WIDTHxHEIGHT", resolution);
    return DIT_OK;
}

static dit_status check_names(const dit_json *doc, const suite_traffic *traffic)
{
    for (int i = 0; i < traffic->count; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(traffic->classes[i].name, traffic->classes[j].name) == 0)
                return dit_json_fail(doc, "/classes", DIT_ERR_JSON_VALUE, "two classes are called \"%s\"",
                                     traffic->classes[i].name);
    return DIT_OK;
}

/* The file lies beside the document. */
static dit_status read_trace(const dit_json *doc, const char *name, suite_traffic *out)
{
    const char *names[SUITE_TRAFFIC_CLASSES + 1] = {NULL}, *slash = strrchr(doc->path, '/');
    char path[SUITE_PATH];
    if (strchr(name, '/')) return dit_json_fail(doc, "/trace", DIT_ERR_JSON_VALUE, "a trace lies beside this file");
    for (int i = 0; i < out->count; i++) names[i] = out->classes[i].name;
    DIT_TRY(suite_path(path, "%.*s%s", slash ? (int)(slash - doc->path) + 1 : 0, doc->path, name));
    DIT_TRY(suite_trace_read(path, names, &out->trace));
    out->arrivals.law = SUITE_ARRIVALS_TRACE;
    return DIT_OK;
}

static dit_status read_classes(const dit_json *doc, bool traced, suite_traffic *out)
{
    const cJSON *list = dit_json_member(doc->root, "classes"), *one;
    int count = cJSON_GetArraySize(list);
    if (!cJSON_IsArray(list) || count < 1 || count > SUITE_TRAFFIC_CLASSES)
        return dit_json_fail(doc, list ? "/classes" : "", DIT_ERR_JSON_TYPE, "\"classes\" is a list of 1 to %d classes",
                             SUITE_TRAFFIC_CLASSES);
    cJSON_ArrayForEach(one, list)
    {
        DIT_TRY(read_class(doc, one, out->count, traced, &out->classes[out->count]));
        out->weights[out->count] = out->classes[out->count].weight;
        out->bounds_s[out->count] = out->classes[out->count].bound_s;
        out->count++;
    }
    return check_names(doc, out);
}

static dit_status read_policy(const dit_json *doc, suite_traffic *out)
{
    const char *word = suite_queue_policy_names()[SUITE_POLICY_FIFO];
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "policy", &word));
    int policy = dit_words_find(suite_queue_policy_names(), word);
    if (policy < 0) return dit_json_fail_word(doc, "/policy", "policy", word, suite_queue_policy_names());
    out->policy = (suite_queue_policy)policy;
    return DIT_OK;
}

static dit_status read_traffic(const dit_json *doc, suite_traffic *out)
{
    static const char *const keys[] = {"schema", "name",   "title", "classes", "arrivals",
                                       "trace",  "policy", "seed",  NULL};
    const char *law = "poisson", *trace = NULL;
    int64_t seed = 7;
    if (!cJSON_IsObject(doc->root)) return dit_json_fail(doc, "", DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.traffic/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &out->name));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "title", &out->title));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "trace", &trace));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "arrivals", &law));
    if (dit_json_member(doc->root, "seed"))
        DIT_TRY(dit_json_require_int(doc, doc->root, "", "seed", 0, (int64_t)1 << 53, &seed));
    DIT_TRY(read_policy(doc, out));
    if (trace && dit_json_member(doc->root, "arrivals"))
        return dit_json_fail(doc, "/trace", DIT_ERR_JSON_VALUE,
                             "a trace says when requests arrive: leave out \"arrivals\"");
    DIT_TRY(read_classes(doc, trace != NULL, out));
    out->arrivals = (suite_arrivals){.seed = (uint64_t)seed};
    if (suite_arrivals_parse(law, &out->arrivals) != DIT_OK)
        return dit_json_fail(doc, "/arrivals", DIT_ERR_JSON_VALUE, "\"%s\" is not poisson, regular or gamma:CV", law);
    return trace ? read_trace(doc, trace, out) : DIT_OK;
}

/* The arrivals point into the traffic itself. */
static void point_arrivals(suite_traffic *traffic)
{
    traffic->arrivals.class_count = traffic->count;
    traffic->arrivals.weights = traffic->weights;
    traffic->arrivals.trace = &traffic->trace;
}

dit_status suite_traffic_parse(const char *text, size_t length, const char *path, suite_traffic *out)
{
    *out = (suite_traffic){.title = ""};
    dit_status st = dit_json_parse(text, length, path, &out->source);
    if (st == DIT_OK) st = read_traffic(&out->source, out);
    if (st != DIT_OK) suite_traffic_release(out);
    point_arrivals(out);
    return st;
}

dit_status suite_traffic_load(const char *name, suite_traffic *out)
{
    char path[SUITE_PATH], *text;
    size_t length;
    dit_json found;
    *out = (suite_traffic){.title = ""};
    if (strchr(name, '/') || strstr(name, ".json")) {
        DIT_TRY(suite_path(path, "%s", name));
    } else {
        DIT_TRY(suite_catalogue_open("traffic", "traffic", name, &found)); /* names the nearest */
        dit_json_release(&found);
        DIT_TRY(suite_path(path, "%s/traffic/%s.json", suite_workloads_folder(), name));
    }
    DIT_TRY(dit_file_read(path, MOST_BYTES, &text, &length));
    dit_status st = suite_traffic_parse(text, length, path, out);
    free(text);
    return st;
}

void suite_traffic_release(suite_traffic *traffic)
{
    suite_trace_release(&traffic->trace);
    dit_json_release(&traffic->source);
    *traffic = (suite_traffic){.title = ""};
}

double suite_traffic_share(const suite_traffic *traffic, int class_index)
{
    return suite_arrivals_share(&traffic->arrivals, class_index);
}
