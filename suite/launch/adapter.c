#include "suite/launch/adapter.h"

#include "base/hash.h"
#include "base/method.h"
#include "base/safetensors.h"
#include "suite/cases/document.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static bool find_named(const suite_engine *engine, const char *named, suite_adapter *out, char *reason)
{
    bool found = realpath(named, out->program) && access(out->program, X_OK) == 0;
    if (!found)
        snprintf(reason, SUITE_ADAPTER_REASON, "engine %s: %s=%.400s: %s", engine->name, engine->variable, named,
                 strerror(errno));
    return found;
}

static dit_status find_python(const suite_engine *engine, char out[SUITE_PATH])
{
    const char *given = getenv(engine->folder_variable);
    char folder[SUITE_PATH];
    if (given && given[0]) return suite_path(out, "%s/bin/python", given);
    DIT_TRY(suite_cache_folder(engine->folder, folder));
    return suite_path(out, "%s/bin/python", folder);
}

static dit_status find_shipped(const suite_engine *engine, suite_adapter *out)
{
    char path[SUITE_PATH];
    const char *folder = suite_workloads_folder();
    if (!folder) return dit_error_last()->status;
    DIT_TRY(suite_path(path, "%s/engines/%s", folder, engine->adapter));
    if (!realpath(path, out->program)) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "%s: %s", path, strerror(errno));
    DIT_TRY(find_python(engine, out->interpreter));
    if (access(out->interpreter, X_OK) == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_ENVIRONMENT, "there is no %s; run %s, which installs it", out->interpreter,
                    engine->command);
}

bool suite_adapter_find(const suite_engine *engine, suite_adapter *out, char reason[SUITE_ADAPTER_REASON])
{
    const char *named = getenv(engine->variable);
    *out = (suite_adapter){0};
    if (named && named[0]) return find_named(engine, named, out, reason);
    if (find_shipped(engine, out) == DIT_OK) return true;
    snprintf(reason, SUITE_ADAPTER_REASON, "engine %s: %.600s", engine->name, dit_error_last()->message);
    dit_error_clear();
    return false;
}

const suite_engine *suite_engine_of_case(const cJSON *document)
{
    const char *name = suite_case_engine(document);
    return name[0] ? suite_engine_find(name) : NULL;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static void fail(suite_outcome *out, dit_outcome status, dit_status code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void fail(suite_outcome *out, dit_outcome status, dit_status code, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    suite_outcome_set_error(out, status, code, message);
}

/* That the record says of what it is: the engine that the case names, its version, the case's program. */
static bool check_names(const suite_adapter_run *run, suite_outcome *out)
{
    const cJSON *engine = dit_json_member(out->record, "engine");
    const char *wanted = suite_case_engine(run->document), *said = dit_json_text_or(engine, "name", "");
    const char *program = dit_json_text_or(run->document, "program", ""),
               *ran = dit_json_text_or(out->record, "program", "");
    if (strcmp(said, wanted) != 0)
        fail(out, DIT_OUTCOME_FAILED, DIT_ERR_JSON_VALUE, "record.json: engine.name is \"%.60s\", the case is of %s",
             said, wanted);
    else if (!dit_json_text_or(engine, "version", "")[0])
        fail(out, DIT_OUTCOME_FAILED, DIT_ERR_JSON_MISSING, "record.json: engine.version is missing");
    else if (strcmp(ran, program) != 0)
        fail(out, DIT_OUTCOME_FAILED, DIT_ERR_JSON_VALUE, "record.json: program is \"%.60s\", the case is of %s", ran,
             program);
    return !out->error;
}

static bool check_samples(const suite_adapter_run *run, suite_outcome *out)
{
    const cJSON *list = dit_json_member(dit_json_member(out->record, "samples"), "latency_ns"), *item;
    const cJSON *wanted = dit_json_member(dit_json_member(run->document, "measure"), "iterations");
    bool positive = true;
    cJSON_ArrayForEach(item, list) positive =
        positive && cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble == floor(item->valuedouble);
    if (!cJSON_IsArray(list) || !positive)
        fail(out, DIT_OUTCOME_FAILED, DIT_ERR_JSON_VALUE,
             "record.json: samples.latency_ns is not a list of whole nanoseconds");
    else if (cJSON_IsNumber(wanted) && cJSON_GetArraySize(list) != wanted->valueint)
        fail(out, DIT_OUTCOME_FAILED, DIT_ERR_JSON_VALUE,
             "record.json: samples.latency_ns has %d samples, the case asks for %d iterations",
             cJSON_GetArraySize(list), wanted->valueint);
    return !out->error;
}

/* ---- the latents ------------------------------------------------------------------------------------------------- */

/* The numbers of a file of latents; the caller frees them, also after a failure. */
typedef struct {
    float *values;
    int64_t elements;
} latents;

static dit_status copy_latents(const dit_safetensors *file, const char *path, latents *out)
{
    dit_tensor_view view;
    if (!dit_safetensors_find(file, "latents_final", &view))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "%s has no tensor latents_final", path);
    if (view.dtype != DIT_STORED_F32)
        return DIT_FAIL(DIT_ERR_SAFETENSORS_DTYPE, "%s: latents_final is of type %s, not F32", path,
                        dit_stored_dtype_name(view.dtype));
    out->elements = view.elements;
    out->values = malloc((size_t)(view.elements + 1) * sizeof *out->values);
    if (!out->values) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld latents", (long long)view.elements);
    return dit_tensor_read(&view, 0, view.elements, out->values);
}

static dit_status read_latents(const char *path, latents *out)
{
    dit_safetensors *file;
    DIT_TRY(dit_safetensors_open(path, &file));
    dit_status st = copy_latents(file, path, out);
    dit_safetensors_close(file);
    return st;
}

static double relative_l2(const latents *own, const latents *reference)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < own->elements; i++) {
        double delta = (double)own->values[i] - reference->values[i];
        difference += delta * delta;
        norm += (double)reference->values[i] * reference->values[i];
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

/* A whole other engine has the limit that exact methods of ours have in the case's dtype. */
static double tolerance_of(const cJSON *document)
{
    const cJSON *run = dit_json_member(document, "run");
    dit_dtype dtype = DIT_DTYPE_FP32;
    dit_dtype_from_name(suite_case_platform(document, "element"), &dtype);
    const double apart = dit_json_number_or(run, "true_cfg_scale", 1);
    return dit_method_tolerance(dtype, apart > 1 ? apart : dit_json_number_or(run, "guidance_scale", 1));
}

/* Puts `validation` in place of what the adapter may have said. rel_l2: below 0 without a reference. */
static void put_validation(const latents *own, double rel_l2, double tolerance, suite_outcome *out)
{
    char hash[DIT_HASH_HEX], digest[DIT_HASH_HEX + 8];
    dit_hash(own->values, (size_t)own->elements * sizeof *own->values, hash);
    snprintf(digest, sizeof digest, "xxh3:%s", hash);
    cJSON_DeleteItemFromObjectCaseSensitive(out->record, "validation");
    cJSON *validation = dit_json_put_object(&out->writer, out->record, "validation");
    dit_json_put_string(&out->writer, validation, "latent_digest", digest);
    dit_json_put_bool(&out->writer, validation, "finite", true);
    if (rel_l2 < 0) {
        dit_json_put_string(&out->writer, validation, "reason", "no one-rank reference was given");
        return;
    }
    dit_json_put_number(&out->writer, validation, "rel_l2", rel_l2);
    dit_json_put_number(&out->writer, validation, "tolerance", tolerance);
    dit_json_put_bool(&out->writer, validation, "pass", rel_l2 <= tolerance);
    if (rel_l2 > tolerance)
        fail(out, DIT_OUTCOME_INVALID, DIT_ERR_MISMATCH,
             "latents differ from the one-rank reference by relative L2 %.3g, %.3g is allowed", rel_l2, tolerance);
}

static dit_status compare_latents(const suite_adapter_run *run, latents *own, latents *reference, suite_outcome *out)
{
    char path[SUITE_PATH];
    DIT_TRY(suite_path(path, "%s/latents.safetensors", run->out_dir));
    DIT_TRY(read_latents(path, own));
    if (run->reference) DIT_TRY(read_latents(run->reference, reference));
    if (run->reference && own->elements != reference->elements)
        return DIT_FAIL(DIT_ERR_SHAPE, "latents_final has %lld elements, the one-rank reference %lld",
                        (long long)own->elements, (long long)reference->elements);
    put_validation(own, run->reference ? relative_l2(own, reference) : -1, tolerance_of(run->document), out);
    return DIT_OK;
}

static void check_latents(const suite_adapter_run *run, suite_outcome *out)
{
    latents own = {0}, reference = {0};
    dit_status st = compare_latents(run, &own, &reference, out);
    if (st != DIT_OK) {
        suite_outcome_set_error(out, DIT_OUTCOME_INVALID, st, dit_error_last()->message);
        dit_error_clear();
    }
    free(own.values);
    free(reference.values);
}

void suite_adapter_check(const suite_adapter_run *run, suite_outcome *out)
{
    char path[SUITE_PATH];
    if (!check_names(run, out) || !check_samples(run, out)) return;
    check_latents(run, out);
    dit_status st = suite_path(path, "%s/record.json", run->out_dir);
    if (st == DIT_OK) st = dit_json_write_file(out->record, path, false);
    dit_json_put_status(&out->writer, st);
}
