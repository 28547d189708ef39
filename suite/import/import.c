#include "suite/import/import.h"

#include "base/json_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const suite_import_format *const formats[] = {&suite_import_external, &suite_import_nccl_tests, NULL};

const suite_import_format *const *suite_import_formats(void)
{
    return formats;
}

const suite_import_format *suite_import_find(const char *name)
{
    for (int i = 0; formats[i]; i++)
        if (strcmp(formats[i]->name, name) == 0) return formats[i];
    return NULL;
}

void suite_imported_release(suite_imported *imported)
{
    for (int i = 0; i < imported->case_count; i++) {
        cJSON_Delete(imported->cases[i].document);
        cJSON_Delete(imported->cases[i].tags);
        cJSON_Delete(imported->cases[i].processes);
    }
    free(imported->cases);
    cJSON_Delete(imported->hardware);
    cJSON_Delete(imported->environment);
    *imported = (suite_imported){0};
}

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for imported results");
}

static void put_engine(dit_json_writer *w, cJSON *object, const suite_imported *imported)
{
    cJSON *engine = dit_json_put_object(w, object, "engine");
    dit_json_put_string(w, engine, "name", imported->name);
    dit_json_put_string(w, engine, "version", imported->version);
}

/* The case document: what ran, in the words of its tags, by whose engine. */
static dit_status make_document(const suite_imported *imported, suite_imported_case *one)
{
    dit_json_writer w = {0};
    char *text = NULL;
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_string(&w, document, "schema", "ditbench.case/1");
    dit_json_put_string(&w, document, "program", "external");
    put_engine(&w, document, imported);
    cJSON *platform = dit_json_put_object(&w, document, "platform");
    dit_json_put_string(&w, platform, "name", "external");
    dit_json_put_string(&w, platform, "backend", imported->on_gpus ? "cuda" : "cpu");
    dit_json_put_copy(&w, document, "parameters", one->tags);
    DIT_TRY(dit_json_finish(&w, document, &one->document));
    DIT_TRY(dit_json_canonical(one->document, &text));
    dit_hash(text, strlen(text), one->case_id);
    free(text);
    return DIT_OK;
}

static dit_status complete_tags(const suite_imported *imported, suite_imported_case *one)
{
    dit_json_writer w = {.status = one->tags ? DIT_OK : no_memory()};
    char engine[2 * SUITE_IMPORT_ENGINE];
    snprintf(engine, sizeof engine, "%s%s%s", imported->name, imported->version[0] ? " " : "", imported->version);
    cJSON_DeleteItemFromObjectCaseSensitive(one->tags, "engine");
    cJSON_DeleteItemFromObjectCaseSensitive(one->tags, "world_size");
    dit_json_put_string(&w, one->tags, "engine", engine);
    dit_json_put_int(&w, one->tags, "world_size", one->world_size);
    if (!dit_json_member(one->tags, "platform")) dit_json_put_string(&w, one->tags, "platform", "external");
    if (!dit_json_member(one->tags, "program")) dit_json_put_string(&w, one->tags, "program", "external");
    return w.status;
}

dit_status suite_imported_add(suite_imported *imported, cJSON *tags, int world_size, const char *label,
                              suite_imported_case **out)
{
    if (imported->case_count == imported->capacity) {
        int capacity = imported->capacity * 2 + 16;
        suite_imported_case *grown = realloc(imported->cases, (size_t)capacity * sizeof *grown);
        if (!grown) return cJSON_Delete(tags), no_memory();
        imported->cases = grown;
        imported->capacity = capacity;
    }
    suite_imported_case *one = &imported->cases[imported->case_count++];
    *one = (suite_imported_case){.tags = tags, .world_size = world_size, .processes = cJSON_CreateArray()};
    snprintf(one->label, sizeof one->label, "%s", label);
    if (!one->processes) return no_memory();
    DIT_TRY(complete_tags(imported, one));
    DIT_TRY(make_document(imported, one));
    for (int i = 0; i + 1 < imported->case_count; i++)
        if (strcmp(imported->cases[i].case_id, one->case_id) == 0)
            return DIT_FAIL(DIT_ERR_JSON_VALUE, "two cases have the tags of \"%s\"", one->label);
    *out = one;
    return DIT_OK;
}

dit_status suite_imported_add_process(suite_imported *imported, suite_imported_case *one, const double *seconds,
                                      int count, const cJSON *more)
{
    dit_json_writer w = {0};
    const cJSON *item;
    for (int i = 0; i < count; i++)
        if (seconds[i] < 1e-9)
            return DIT_FAIL(DIT_ERR_JSON_VALUE, "\"%s\": a time of %g s is less than a nanosecond", one->label,
                            seconds[i]);
    cJSON *process = dit_json_put_object(&w, one->processes, NULL),
          *record = dit_json_put_object(&w, process, "record");
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "evidence", "measured");
    dit_json_put_string(&w, record, "program", "external");
    put_engine(&w, record, imported);
    dit_json_put_int(&w, record, "world_size", one->world_size);
    cJSON *samples = dit_json_put_object(&w, record, "samples"), *list = dit_json_put_array(&w, samples, "latency_ns");
    for (int i = 0; i < count; i++) dit_json_put_int(&w, list, NULL, (int64_t)(seconds[i] * 1e9 + 0.5));
    cJSON_ArrayForEach(item, more) dit_json_put_copy(&w, record, item->string, item);
    return w.status;
}

dit_status suite_imported_add_failure(suite_imported_case *one, const char *message)
{
    dit_json_writer w = {0};
    cJSON *process = dit_json_put_object(&w, one->processes, NULL), *error = dit_json_put_object(&w, process, "error");
    dit_json_put_string(&w, error, "code", "E_EXTERNAL");
    dit_json_put_string(&w, error, "message", message);
    return w.status;
}
