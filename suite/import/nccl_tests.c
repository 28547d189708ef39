/* nccl-tests: what its programs write with -J FILE. Each size is a case of its own, out of place and in place; the time
 * is that of one operation in microseconds, of each iteration where -I was given. The environment in the file may hold
 * secrets, so only NCCL_ variables are kept. */
#include "suite/import/import.h"

#include "base/json_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 1 << 16 };
static const double most_us = 1e13;

/* "all_reduce_perf" of "./build/all_reduce_perf" */
static const char *program_of(const dit_json *doc)
{
    const char *path = cJSON_GetStringValue(cJSON_GetArrayItem(dit_json_member(doc->root, "args"), 0));
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "nccl-tests";
}

/* "NCCL 2.28.9" of 22809; before 2.9 the code had another form. */
static void set_version(const dit_json *doc, suite_imported *out)
{
    int64_t code = dit_json_int_or(doc->root, "nccl_version", 0);
    snprintf(out->name, sizeof out->name, "nccl-tests");
    if (code >= 10000)
        snprintf(out->version, sizeof out->version, "NCCL %d.%d.%d", (int)(code / 10000), (int)(code / 100 % 100),
                 (int)(code % 100));
    else if (code > 0)
        snprintf(out->version, sizeof out->version, "NCCL %d.%d.%d", (int)(code / 1000), (int)(code / 100 % 10),
                 (int)(code % 100));
}

/* Names of the devices, and a digest of them that equal machines share. */
static dit_status read_hardware(const cJSON *devices, suite_imported *out)
{
    dit_json_writer w = {0};
    const cJSON *device;
    char *text = NULL, hash[DIT_HASH_HEX];
    cJSON *hardware = dit_json_new_object(&w), *names = dit_json_put_array(&w, hardware, "gpus");
    cJSON_ArrayForEach(device, devices)
        dit_json_put_string(&w, names, NULL, dit_json_text_or(device, "device_info", "unknown"));
    DIT_TRY(dit_json_finish(&w, hardware, &out->hardware));
    DIT_TRY(dit_json_canonical(out->hardware, &text));
    dit_hash(text, strlen(text), hash);
    free(text);
    dit_json_put_string(&w, out->hardware, "hardware_id", hash);
    return w.status;
}

static dit_status read_environment(const dit_json *doc, suite_imported *out)
{
    dit_json_writer w = {0};
    const cJSON *one;
    char key[128];
    cJSON *environment = dit_json_new_object(&w), *variables = dit_json_put_object(&w, environment, "variables");
    cJSON_ArrayForEach(one, dit_json_member(doc->root, "env"))
    {
        const char *text = cJSON_GetStringValue(one), *equals = text ? strchr(text, '=') : NULL;
        if (!equals || strncmp(text, "NCCL_", 5) != 0 || equals - text >= (long)sizeof key) continue;
        snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
        if (!dit_json_member(variables, key)) dit_json_put_string(&w, variables, key, equals + 1);
    }
    dit_json_put_string(&w, environment, "local_start_time", dit_json_text_or(doc->root, "start_time", NULL));
    return dit_json_finish(&w, environment, &out->environment);
}

static cJSON *make_tags(dit_json_writer *w, const dit_json *doc, const cJSON *row, const char *place)
{
    cJSON *tags = dit_json_new_object(w);
    dit_json_put_string(w, tags, "model", program_of(doc));
    dit_json_put_string(w, tags, "method", "collective");
    dit_json_put_int(w, tags, "size_bytes", dit_json_int_or(row, "size", 0));
    dit_json_put_string(w, tags, "element", dit_json_text_or(row, "type", ""));
    dit_json_put_string(w, tags, "reduction", dit_json_text_or(row, "redop", ""));
    dit_json_put_string(w, tags, "place", place);
    return tags;
}

/* The bandwidths as nccl-tests counts them, beside the time. */
static dit_status make_more(const cJSON *body, cJSON **out)
{
    dit_json_writer w = {0};
    cJSON *more = dit_json_new_object(&w), *one = dit_json_put_object(&w, more, "nccl_tests");
    static const char *const keys[] = {"alg_bw", "bus_bw", "nwrong"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        dit_json_put_copy(&w, one, keys[i], dit_json_member(body, keys[i]));
    return dit_json_finish(&w, more, out);
}

static dit_status fail_time(const dit_json *doc, const char *pointer)
{
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "a time is a positive number of microseconds");
}

/* Seconds of each iteration where they were written, else the one mean. */
static dit_status read_times(const dit_json *doc, const char *pointer, const cJSON *body, const cJSON *iterations,
                             double *out, int *count)
{
    const cJSON *times = dit_json_member(iterations, "times_us"), *one;
    const cJSON *mean =
        dit_json_member(body, "time") ? dit_json_member(body, "time") : dit_json_member(body, "cpu_time");
    *count = 0;
    cJSON_ArrayForEach(one, times)
    {
        if (!cJSON_IsNumber(one) || one->valuedouble <= 0 || one->valuedouble > most_us) return fail_time(doc, pointer);
        if (*count < ITERATIONS) out[(*count)++] = one->valuedouble * 1e-6;
    }
    if (*count) return DIT_OK;
    if (!cJSON_IsNumber(mean) || mean->valuedouble < 0 || mean->valuedouble > most_us) return fail_time(doc, pointer);
    if (mean->valuedouble > 0) out[(*count)++] = mean->valuedouble * 1e-6;
    return DIT_OK;
}

static dit_status read_place(const dit_json *doc, const cJSON *row, const char *pointer, const char *place, int ranks,
                             suite_imported *out)
{
    dit_json_writer w = {0};
    suite_imported_case *one = NULL;
    char label[SUITE_IMPORT_LABEL], key[32];
    double *seconds = malloc(ITERATIONS * sizeof *seconds);
    cJSON *more = NULL, *tags;
    int count = 0;
    if (!seconds) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for times");
    const cJSON *body = dit_json_member(row, place);
    snprintf(key, sizeof key, "%s_per_iter", place);
    dit_status st = read_times(doc, pointer, body, dit_json_member(row, key), seconds, &count);
    if (st == DIT_OK && count) {
        tags = make_tags(&w, doc, row, place);
        snprintf(label, sizeof label, "%.40s %lld B %.16s %.16s %s x%d", program_of(doc),
                 (long long)dit_json_int_or(row, "size", 0), dit_json_text_or(row, "type", ""),
                 dit_json_text_or(row, "redop", ""), place, ranks);
        st = w.status == DIT_OK ? suite_imported_add(out, tags, ranks, label, &one) : w.status;
        if (st == DIT_OK) st = make_more(body, &more);
        if (st == DIT_OK && dit_json_number_or(body, "nwrong", 0) > 0)
            st = suite_imported_add_failure(one, "nccl-tests found wrong elements");
        else if (st == DIT_OK)
            st = suite_imported_add_process(out, one, seconds, count, more);
    }
    cJSON_Delete(more);
    free(seconds);
    return st;
}

static dit_status read_rows(const dit_json *doc, int ranks, suite_imported *out)
{
    const cJSON *rows = NULL, *row;
    char pointer[64];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "results", &rows));
    if (!rows) return dit_json_fail(doc, "", DIT_ERR_JSON_MISSING, "nccl-tests writes \"results\" with -J");
    cJSON_ArrayForEach(row, rows)
    {
        snprintf(pointer, sizeof pointer, "/results/%d", index++);
        if (!cJSON_IsObject(row)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "expected an object");
        if (cJSON_IsObject(dit_json_member(row, "out_of_place")))
            DIT_TRY(read_place(doc, row, pointer, "out_of_place", ranks, out));
        if (cJSON_IsObject(dit_json_member(row, "in_place")))
            DIT_TRY(read_place(doc, row, pointer, "in_place", ranks, out));
    }
    return DIT_OK;
}

static dit_status read_nccl_tests(const dit_json *doc, suite_imported *out)
{
    const cJSON *config = NULL, *devices = NULL;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "config", &config));
    DIT_TRY(dit_json_optional_array(doc, config, "/config", "devices", &devices));
    int ranks = cJSON_GetArraySize(devices);
    out->on_gpus = true;
    set_version(doc, out);
    snprintf(out->title, sizeof out->title, "%.60s of nccl-tests on %d device%s", program_of(doc), ranks,
             ranks == 1 ? "" : "s");
    DIT_TRY(read_hardware(devices, out));
    DIT_TRY(read_environment(doc, out));
    return read_rows(doc, ranks ? ranks : 1, out);
}

const suite_import_format suite_import_nccl_tests = {"nccl-tests", "what nccl-tests writes with -J FILE",
                                                     read_nccl_tests};
