/* External: what any other engine's run leaves as "ditbench.external/1" (docs/external.md). */
#include "suite/import/import.h"

#include "base/json_writer.h"
#include "reports/records/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 4096, RANKS = 1 << 20 };
static const double most_s = 1e7, most_bytes = 9e15;

/* One object of the file and where it stands. */
typedef struct {
    const dit_json *doc;
    const cJSON *object;
    char pointer[96];
} place;

static dit_status read_engine(const dit_json *doc, suite_imported *out)
{
    static const char *const keys[] = {"name", "version", NULL};
    const cJSON *engine = NULL;
    const char *name = NULL, *version = NULL;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "engine", &engine));
    DIT_TRY(dit_json_only_keys(doc, engine, "/engine", keys));
    DIT_TRY(dit_json_require_string(doc, engine, "/engine", "name", &name));
    DIT_TRY(dit_json_require_string(doc, engine, "/engine", "version", &version));
    if (!name[0] || !version[0] || strcmp(name, "ditbench") == 0)
        return dit_json_fail(doc, "/engine", DIT_ERR_JSON_VALUE,
                             "the engine needs a name that is not ours, and a version");
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->version, sizeof out->version, "%s", version);
    return DIT_OK;
}

/* Whatever the file says of the machine; its id is the digest of it. */
static dit_status read_machine(const dit_json *doc, suite_imported *out)
{
    dit_json_writer w = {0};
    const cJSON *hardware = NULL, *environment = NULL;
    char *text = NULL, hash[DIT_HASH_HEX];
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "hardware", &hardware));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "environment", &environment));
    DIT_TRY(dit_json_canonical(hardware, &text));
    dit_hash(text, strlen(text), hash);
    free(text);
    out->on_gpus = dit_json_member(hardware, "gpus") != NULL;
    out->hardware = cJSON_Duplicate(hardware, true);
    out->environment = environment ? cJSON_Duplicate(environment, true) : cJSON_CreateObject();
    if (!out->hardware || !out->environment) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for imported results");
    cJSON_DeleteItemFromObjectCaseSensitive(out->hardware, "hardware_id");
    dit_json_put_string(&w, out->hardware, "hardware_id", hash);
    return w.status;
}

static dit_status check_tags(const place *run, const cJSON *tags)
{
    const cJSON *tag;
    char pointer[256], inner[160];
    snprintf(inner, sizeof inner, "%s/tags", run->pointer);
    cJSON_ArrayForEach(tag, tags)
    {
        dit_json_pointer_join(pointer, sizeof pointer, inner, tag->string);
        if (!cJSON_IsString(tag) && !cJSON_IsNumber(tag))
            return dit_json_fail(run->doc, pointer, DIT_ERR_JSON_TYPE, "a tag is a text or a number");
    }
    return report_tags_check(run->doc, tags, inner);
}

static dit_status read_seconds(const place *process, double *out, int *count)
{
    const cJSON *list = NULL, *one;
    DIT_TRY(dit_json_optional_array(process->doc, process->object, process->pointer, "latency_s", &list));
    *count = 0;
    cJSON_ArrayForEach(one, list)
    {
        if (!cJSON_IsNumber(one) || one->valuedouble <= 0 || one->valuedouble > most_s || *count == ITERATIONS)
            return dit_json_fail(process->doc, process->pointer, DIT_ERR_JSON_VALUE,
                                 "\"latency_s\" is a list of at most %d positive numbers of seconds", ITERATIONS);
        out[(*count)++] = one->valuedouble;
    }
    return DIT_OK;
}

/* Peak memory of the largest rank, and nothing else that a record could claim. */
static dit_status read_more(const place *process, cJSON **out)
{
    dit_json_writer w = {0};
    double peak = -1;
    DIT_TRY(dit_json_optional_number(process->doc, process->object, process->pointer, "peak_memory_bytes", 0,
                                     most_bytes, &peak));
    cJSON *more = dit_json_new_object(&w);
    if (peak >= 0) dit_json_put_number(&w, dit_json_put_object(&w, more, "memory"), "total_bytes", peak);
    return dit_json_finish(&w, more, out);
}

static dit_status read_process(const place *process, suite_imported *out, suite_imported_case *one)
{
    static const char *const keys[] = {"latency_s", "peak_memory_bytes", "error", NULL};
    const char *error = NULL;
    double seconds[ITERATIONS];
    int count;
    cJSON *more = NULL;
    DIT_TRY(dit_json_only_keys(process->doc, process->object, process->pointer, keys));
    DIT_TRY(dit_json_optional_string(process->doc, process->object, process->pointer, "error", &error));
    DIT_TRY(read_seconds(process, seconds, &count));
    if ((error != NULL) == (count > 0))
        return dit_json_fail(process->doc, process->pointer, DIT_ERR_JSON_VALUE,
                             "a process has times, or an error, and not both");
    if (error) return suite_imported_add_failure(one, error);
    DIT_TRY(read_more(process, &more));
    dit_status st = suite_imported_add_process(out, one, seconds, count, more);
    cJSON_Delete(more);
    return st;
}

static dit_status read_processes(const place *run, suite_imported *out, suite_imported_case *one)
{
    const cJSON *list = NULL, *item;
    int index = 0;
    DIT_TRY(dit_json_optional_array(run->doc, run->object, run->pointer, "processes", &list));
    if (!cJSON_GetArraySize(list))
        return dit_json_fail(run->doc, run->pointer, DIT_ERR_JSON_MISSING, "a run needs \"processes\", at least one");
    cJSON_ArrayForEach(item, list)
    {
        place process = {run->doc, item, ""};
        snprintf(process.pointer, sizeof process.pointer, "%.60s/processes/%d", run->pointer, index++);
        if (!cJSON_IsObject(item))
            return dit_json_fail(run->doc, process.pointer, DIT_ERR_JSON_TYPE, "expected an object");
        DIT_TRY(read_process(&process, out, one));
    }
    return DIT_OK;
}

static dit_status read_run(const place *run, suite_imported *out)
{
    static const char *const keys[] = {"label", "tags", "processes", NULL};
    const cJSON *tags = NULL;
    const char *label = NULL;
    char text[SUITE_IMPORT_LABEL], pointer[128];
    int64_t ranks = 1;
    suite_imported_case *one = NULL;
    DIT_TRY(dit_json_only_keys(run->doc, run->object, run->pointer, keys));
    DIT_TRY(dit_json_require_object(run->doc, run->object, run->pointer, "tags", &tags));
    DIT_TRY(dit_json_optional_string(run->doc, run->object, run->pointer, "label", &label));
    DIT_TRY(check_tags(run, tags));
    snprintf(pointer, sizeof pointer, "%s/tags", run->pointer);
    DIT_TRY(dit_json_require_int(run->doc, tags, pointer, "world_size", 1, RANKS, &ranks));
    snprintf(text, sizeof text, "%.40s %.20s %.20s, %.60s", dit_json_text_or(tags, "model", "model"),
             dit_json_text_or(tags, "resolution", ""),
             dit_json_text_or(tags, "mesh", dit_json_text_or(tags, "method", "")), out->name);
    DIT_TRY(suite_imported_add(out, cJSON_Duplicate(tags, true), (int)ranks, label ? label : text, &one));
    return read_processes(run, out, one);
}

/* "2026-01-31T12:00:00Z"; parts of a second may follow. */
static dit_status read_started(const dit_json *doc, suite_imported *out)
{
    static const char pattern[] = "0000-00-00T00:00:00";
    const char *text = NULL;
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "started", &text));
    if (!text) return DIT_OK;
    size_t length = strlen(text);
    bool fine = length >= sizeof pattern && length < sizeof out->started && text[length - 1] == 'Z';
    for (size_t i = 0; fine && i < sizeof pattern - 1; i++)
        fine = pattern[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == pattern[i];
    if (!fine || strspn(text + 19, "0123456789.") != length - 20)
        return dit_json_fail(doc, "/started", DIT_ERR_JSON_VALUE, "a time in UTC such as \"2026-01-31T12:00:00Z\"");
    return snprintf(out->started, sizeof out->started, "%s", text), DIT_OK;
}

static dit_status read_external(const dit_json *doc, suite_imported *out)
{
    static const char *const keys[] = {"schema", "title", "started", "engine", "hardware", "environment", "runs", NULL};
    const char *title = "";
    const cJSON *runs = NULL, *item;
    DIT_TRY(dit_json_require_schema(doc, "ditbench.external/1"));
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "title", &title));
    DIT_TRY(read_started(doc, out));
    DIT_TRY(read_engine(doc, out));
    DIT_TRY(read_machine(doc, out));
    snprintf(out->title, sizeof out->title, "%s%s", title[0] ? title : "Imported from ", title[0] ? "" : out->name);
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "runs", &runs));
    int index = 0;
    cJSON_ArrayForEach(item, runs)
    {
        place run = {doc, item, ""};
        snprintf(run.pointer, sizeof run.pointer, "/runs/%d", index++);
        if (!cJSON_IsObject(item)) return dit_json_fail(doc, run.pointer, DIT_ERR_JSON_TYPE, "expected an object");
        DIT_TRY(read_run(&run, out));
    }
    return index ? DIT_OK : dit_json_fail(doc, "", DIT_ERR_JSON_MISSING, "the file needs \"runs\", at least one");
}

const suite_import_format suite_import_external = {"external", "ditbench.external/1, of any other engine",
                                                   read_external};
